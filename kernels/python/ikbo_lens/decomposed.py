"""The PyTorch form of the products: W cat(a, b) = W_a a + W_b b.

Each block meets its own slice of the weight at its own size, and only the (usually narrower) product is mapped.
"""

from __future__ import annotations

import functools
from typing import Optional, Sequence, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from .maps import Map

#: A block and the maps that replicate it, in order.
Term = Tuple[Tensor, Tuple[Map, ...]]


def contract(blocks: Sequence[Term], weight: Tensor, bias: Optional[Tensor], axis: int) -> Tensor:
    """The product of `weight` [M, K] with the concatenation of the mapped blocks along `axis`.

    `axis` -1: `F.linear(cat, weight, bias)`; -2: `weight @ cat`, which has no bias. At least one block; their widths
    sum to K.
    """
    dtype = functools.reduce(torch.promote_types, (x.dtype for x, _ in blocks))
    widths = [x.shape[axis] for x, _ in blocks]
    # A term without a map owns rows of the full size, so the others can be added into it in place.
    terms = sorted(zip(blocks, weight.split(widths, dim=1)), key=lambda term: len(term[0][1]) > 0)

    out = None
    for (x, maps), w in terms:
        x = x.to(dtype)
        y = torch.matmul(w, x) if axis == -2 else F.linear(x, w, bias if out is None else None)
        for m in maps[:-1]:
            y = m.apply(y)
        if out is None:
            # A stride-0 view cannot be added to: contiguous() writes it, and does nothing for the others.
            out = maps[-1].apply(y).contiguous() if maps else y
        else:
            out = maps[-1].add_to(out, y) if maps else out.add_(y)
    return out
