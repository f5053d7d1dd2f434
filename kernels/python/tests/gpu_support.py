"""What the checks on a GPU share: how they report, and which kernels ran."""

import sys
import time
import traceback
import warnings

import torch

import ikbo_lens
from ikbo_lens.devices import Device

CUDA = torch.device("cuda")
HALVES = (torch.bfloat16, torch.float16)
FAILED = []
#: Kernels that ran, in order: nothing may pass by falling back unseen.
RAN = []
run_native = Device.run


def recording(self, *args, **options):
    operator = run_native(self, *args, **options)
    RAN.append(operator.kernel())
    return operator


Device.run = recording
ikbo_lens.use("native")  # also where a problem is too small for it to pay


def check(function):
    RAN.clear()
    start = time.time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            note = function() or ""
        torch.cuda.synchronize()
        print(f"PASS {function.__name__} ({time.time() - start:.1f} s) {note}", flush=True)
    except Exception as error:
        FAILED.append(function.__name__)
        print(f"FAIL {function.__name__}: {type(error).__name__}: {error}", flush=True)
        traceback.print_exc(limit=4, file=sys.stdout)


def random(*shape, dtype=torch.bfloat16, device=CUDA):
    return torch.randn(shape, device=device).to(dtype)


def expect(holds, what):
    if not holds:
        raise AssertionError(what)


def error(got, exact):
    return float((got.double() - exact).norm() / exact.norm().clamp(min=1e-30))


def as_good_as_pytorch(form, exact, what):
    """The native result against fp64: no worse than 1.2 times PyTorch's form in the same type."""
    ran = len(RAN)
    got = form()
    expect(got.numel() == 0 or len(RAN) > ran, f"{what}: the library was not called")
    ikbo_lens.use("torch")
    try:
        theirs = form()
    finally:
        ikbo_lens.use("native")
    expect(got.shape == theirs.shape and got.dtype == theirs.dtype, f"{what}: {got.shape} {got.dtype}")
    mine, allowed = error(got, exact), 1.2 * error(theirs, exact) + 1e-4
    expect(mine <= allowed, f"{what}: error {mine:.2e}, allowed {allowed:.2e}")


def maps(users, rows):
    """Maps of `users` rows onto `rows`, a multiple of `users`."""
    index = torch.randint(-users, users, (rows,), device=CUDA)
    yield "index64", ikbo_lens.index(index)
    yield "index32", ikbo_lens.index(torch.randint(0, users, (rows,), device=CUDA, dtype=torch.int32))
    yield "repeats", ikbo_lens.repeats(rows // users)
    yield "tile", ikbo_lens.tile(rows // users)
    uneven = torch.zeros(users, dtype=torch.long, device=CUDA)
    uneven[-1] = rows
    yield "repeats(counts)", ikbo_lens.repeats(uneven)
    if users == 1:
        yield "expand", ikbo_lens.expand(rows)
