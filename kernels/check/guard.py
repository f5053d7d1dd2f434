"""Tensors surrounded by canaries, so that reads and writes outside show."""

import torch

PAD = 4096  # elements on either side; a multiple of 16 bytes for every type


class Guarded:
    """`tensor` lies between two runs of NaN; `intact()` says whether nobody wrote there."""

    def __init__(self, shape, dtype, fill=None, offset=0):
        count = 1
        for size in shape:
            count *= size
        self.store = torch.empty(count + 2 * PAD + offset, dtype=dtype, device="cuda")
        self.poison()
        self.count, self.offset = count, offset
        self.tensor = self.store[PAD + offset : PAD + offset + count].view(shape)
        if fill is not None:
            self.tensor.copy_(fill)

    def poison(self):
        self.store.view(torch.int16).fill_(-1)  # 0xffff: a NaN in both 16-bit types

    def intact(self):
        bits = self.store.view(torch.int16)
        return bool((bits[: PAD + self.offset] == -1).all()) and bool((bits[PAD + self.offset + self.count :] == -1).all())


def normal(shape, dtype, generator, scale=1.0):
    return (torch.randn(shape, device="cuda", generator=generator) * scale).to(dtype)


def limit(eager, allowance=1e-4):
    """The largest accepted error: 1.2 times that of the eager decomposed form in the same type, and an allowance."""
    return 1.2 * eager + allowance


def relative_error(out, reference):
    """L2 norm of the error over that of the reference; infinite when anything is not finite where the reference is."""
    out = out.double()
    if not bool(torch.isfinite(out).eq(torch.isfinite(reference)).all()):
        return float("inf")
    norm = float(reference.norm())
    return float((out - reference).norm()) / (norm if norm > 0 else 1.0)
