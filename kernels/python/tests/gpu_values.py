"""Results on a GPU against fp64: every operator, map and kind of kernel, sizes 0 and 1, wrong indices."""

import torch
import torch.nn.functional as F
from gpu_support import CUDA, HALVES, RAN, as_good_as_pytorch, check, error, expect, maps, random

import ikbo_lens
from ikbo_lens import attention, cat_linear, linear_compression


@check
def products_equal_fp64():
    shapes = (
        (256, 8, 64, 64, 64),
        (130, 13, 57, 33, 21),
        (1, 1, 8, 8, 8),
        (96, 1, 512, 128, 256),
        (300, 300, 40, 24, 8),
        (1000, 4, 7, 9, 33),
    )
    for dtype in HALVES:
        for rows, users, ku, kc, m in shapes:
            user, cand, w, b = (
                random(users, ku, dtype=dtype),
                random(rows, kc, dtype=dtype),
                random(m, ku + kc, dtype=dtype),
                random(m, dtype=dtype),
            )
            for name, a_map in maps(users, rows):
                exact = F.linear(torch.cat([a_map.apply(user), cand], 1).double(), w.double(), b.double())
                what = f"cat_linear {dtype} {(rows, users, ku, kc, m)} {name}"
                as_good_as_pytorch(lambda: cat_linear([(user, a_map), cand], w, b), exact, what)
            fields, slots = random(users, ku, 24, dtype=dtype), random(rows, kc, 24, dtype=dtype)
            for name, a_map in maps(users, rows):
                exact = w.double() @ torch.cat([slots, a_map.apply(fields)], 1).double()
                swapped = torch.cat([w[:, kc:], w[:, :kc]], 1)
                what = f"linear_compression {dtype} {(rows, users, ku, kc, m)} {name}"
                as_good_as_pytorch(lambda: linear_compression([slots, (fields, a_map)], w), exact, what)
                exact = swapped.double() @ torch.cat([a_map.apply(fields), slots], 1).double()
                as_good_as_pytorch(lambda: linear_compression([(fields, a_map), slots], swapped), exact, what)
    return f"kernels {sorted(set(RAN))}"


@check
def attention_equals_fp64():
    for dtype in HALVES:
        for rows, users, length, keys, heads, key_heads, width in (
            (64, 4, 16, 256, 2, 2, 128),
            (36, 6, 1, 33, 4, 2, 64),
            (5, 5, 3, 17, 1, 1, 64),
            (12, 1, 7, 100, 6, 2, 128),
            (24, 3, 2, 50, 2, 2, 40),
        ):
            q = random(rows, length, heads, width, dtype=dtype).transpose(1, 2)
            k, v = (random(users, keys, key_heads, width, dtype=dtype).transpose(1, 2) for _ in range(2))
            for name, a_map in maps(users, rows):
                kk, vv = (a_map.apply(x).double().repeat_interleave(heads // key_heads, 1) for x in (k, v))
                exact = torch.softmax(q.double() @ kk.mT * width**-0.5, -1) @ vv
                what = f"attention {dtype} {(rows, users, length, keys, heads, key_heads, width)} {name}"
                as_good_as_pytorch(lambda: attention(q, k, v, a_map, enable_gqa=True), exact, what)
    return f"kernels {sorted(set(RAN))}"


@check
def warp_specialized_kernels_are_chosen():
    m = ikbo_lens.repeats(32)
    cat_linear([(random(8, 512), m), random(256, 512)], random(512, 1024), random(512))
    linear_compression([(random(8, 200, 64), m), random(256, 120, 64)], random(64, 320))
    attention(random(256, 2, 4, 64), random(8, 2, 128, 64), random(8, 2, 128, 64), m)
    # Slices whose rows no copy engine can start from: other kernels, the same values.
    wide = random(256, 600)
    user, w = random(8, 512), random(512, 1024)
    got = cat_linear([(user, m), wide[:, 3:515]], w)
    expect(error(got, F.linear(torch.cat([m.apply(user), wide[:, 3:515]], 1).double(), w.double())) < 1e-2, "a slice")
    return str(RAN)


@check
def edge_sizes():
    for rows, users, ku, kc, m in (
        (0, 2, 8, 8, 8),
        (0, 0, 8, 8, 8),
        (4, 2, 0, 8, 8),
        (4, 2, 8, 0, 8),
        (4, 2, 8, 8, 0),
        (1, 1, 1, 1, 1),
        (1, 2, 8, 8, 8),
    ):
        user, cand, w, b = random(users, ku), random(rows, kc), random(m, ku + kc), random(m)
        index = torch.zeros(rows, dtype=torch.int32, device=CUDA)
        got = cat_linear([(user, ikbo_lens.index(index)), cand], w, b)
        want = F.linear(torch.cat([user[index.long()], cand], 1), w, b)
        expect(
            got.shape == want.shape and torch.allclose(got, want, atol=0.1, rtol=0.05),
            f"cat_linear {(rows, users, ku, kc, m)}",
        )
        fields, slots = random(users, ku, 16), random(rows, kc, 16)
        got, want = linear_compression([(fields, ikbo_lens.index(index)), slots], w), w @ torch.cat(
            [fields[index.long()], slots], 1
        )
        expect(
            got.shape == want.shape and torch.allclose(got, want, atol=0.1, rtol=0.05),
            f"linear_compression {(rows, users, ku, kc, m)}",
        )
    empty = attention(
        random(0, 2, 3, 64),
        random(2, 2, 5, 64),
        random(2, 2, 5, 64),
        ikbo_lens.index(torch.zeros(0, dtype=torch.long, device=CUDA)),
    )
    expect(empty.shape == (0, 2, 3, 64), "attention of nothing")


@check
def wrong_indices_are_reported_and_not_read():
    user, cand, w = random(4, 64), random(8, 64), random(64, 128)
    q, k = random(8, 1, 2, 64), random(4, 1, 32, 64)
    for wrong in (4, -5, 2**31 - 1):
        for dtype in (torch.int32, torch.int64):
            index = torch.zeros(8, dtype=dtype, device=CUDA)
            index[5] = wrong
            m = ikbo_lens.index(index)
            for form in (
                lambda: cat_linear([(user, m), cand], w),
                lambda: linear_compression(
                    [(user[..., None].expand(4, 64, 8), m), cand[..., None].expand(8, 64, 8)], w
                ),
                lambda: attention(q, k, k, m),
            ):
                try:
                    form()
                except IndexError as reported:
                    expect(f"holds {wrong}" in str(reported), str(reported))
                else:
                    raise AssertionError(f"index {wrong} was accepted")
    torch.cuda.synchronize()  # the device is still in order
    cat_linear([(user, ikbo_lens.repeats(2)), cand], w)


@check
def an_index_on_the_cpu_is_taken():
    """As `x[index]` takes it."""
    user, cand, w, index = random(4, 64), random(8, 64), random(64, 128), torch.randint(-4, 4, (8,))
    m = ikbo_lens.index(index)
    exact = F.linear(torch.cat([user[index], cand], 1).double(), w.double())
    as_good_as_pytorch(lambda: cat_linear([(user, m), cand], w), exact, "cat_linear")
    fields, slots = random(4, 64, 24), random(8, 64, 24)
    exact = w.double() @ torch.cat([fields[index], slots], 1).double()
    as_good_as_pytorch(lambda: linear_compression([(fields, m), slots], w), exact, "linear_compression")
    q, k = random(8, 1, 2, 64), random(4, 1, 32, 64)
    exact = F.scaled_dot_product_attention(q.double(), k[index].double(), k[index].double())
    as_good_as_pytorch(lambda: attention(q, k, k, m), exact, "attention")


@check
def changes_behind_torch_are_seen():
    user, cand, w, index = random(4, 64), random(8, 64), random(64, 128), torch.zeros(8, dtype=torch.long, device=CUDA)
    form = lambda: cat_linear([(user, ikbo_lens.index(index)), cand], w)
    for change in (lambda: w.data.mul_(0.5), lambda: index.fill_(3), lambda: user.data.neg_()):
        change()
        expect(
            error(form(), F.linear(torch.cat([user[index], cand], 1).double(), w.double())) < 1e-2, "a stale operand"
        )
