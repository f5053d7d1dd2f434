"""What the operators must equal: the code that they replace, written out."""

import torch

import ikbo_lens

DTYPES = (torch.float32, torch.bfloat16)


def assert_close(case, got, want, dtype):
    """Equal up to the order of the additions: tight in fp32, a few bf16 roundings in bf16."""
    case.assertEqual(got.shape, want.shape)
    case.assertEqual(got.dtype, want.dtype)
    if want.numel() == 0:
        return
    case.assertTrue(bool(torch.isfinite(want).all()), "the reference itself is not finite")
    worst = float((got.detach().double() - want.detach().double()).abs().max())
    case.assertLess(worst, (1e-5 if dtype == torch.float32 else 3e-2) * (1 + float(want.detach().abs().max())))


def maps(users, generator):
    """(name, map, number of rows it gives) for a source of `users` rows: every kind, with empty and uneven groups."""
    for n in (0, 1, 3):
        yield f"repeats({n})", ikbo_lens.repeats(n), users * n
        yield f"tile({n})", ikbo_lens.tile(n), users * n
    if users == 1:
        for n in (0, 1, 5):
            yield f"expand({n})", ikbo_lens.expand(n), n
    counts = torch.randint(0, 4, (users,), generator=generator)
    yield "repeats(counts)", ikbo_lens.repeats(counts), int(counts.sum())
    yield "index(empty)", ikbo_lens.index(torch.zeros(0, dtype=torch.long)), 0
    if users:
        unsorted = torch.randint(-users, users, (7,), generator=generator)
        yield "index(unsorted)", ikbo_lens.index(unsorted), 7
        yield "index(one user)", ikbo_lens.index(torch.full((9,), users - 1, dtype=torch.int32)), 9


def cases():
    generator = torch.Generator().manual_seed(0)
    for users in (0, 1, 2, 5):
        for name, m, rows in maps(users, generator):
            yield f"U={users} {name}", users, m, rows


def gradients(out, inputs):
    """Gradients of a fixed, non-uniform functional of `out`."""
    if not out.requires_grad:
        return [None] * len(inputs)
    weight = torch.linspace(-1, 1, out.numel()).reshape(out.shape)
    return torch.autograd.grad((out.float() * weight).sum(), inputs, allow_unused=True)
