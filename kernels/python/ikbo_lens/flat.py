"""Blocks with any leading axes, as the native operators take them: one leading axis, and a map that acts on it."""

from __future__ import annotations

import math
from typing import List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from .maps import Map


def flat_rows(x: Tensor, inner: int) -> Tensor:
    """`x` with all axes but the last `inner` made one; a view where strides allow."""
    if x.dim() == inner + 1:
        return x
    lead = x.shape[: x.dim() - inner]
    return x.reshape(math.prod(lead), *x.shape[x.dim() - inner :])


def flat_map(maps: Sequence[Map], lead: Tuple[int, ...], x: Tensor) -> Tuple[int, Optional[Tensor]]:
    """(repeats, index) of the rows of `flat_rows(x)`, whose leading axes are `lead`: row `i` of the mapped block is row
    `index[i]`, or row `i // repeats` where there is no index."""
    if not maps:
        return 1, None
    if len(maps) == 1:
        found = _simple(maps[0], lead, x.dim())
        if found is not None:
            repeats, index = found
            # Torch takes an index on the CPU for tensors anywhere; one on another device it refuses, as the operators do.
            return repeats, index.to(x.device) if index is not None and index.device.type == "cpu" else index
    rows = torch.arange(math.prod(lead), device=x.device).reshape(lead)
    rank = x.dim()
    for m in maps:
        before = rows.dim()
        rows = Map(m.kind, m.arg, m.axis(rank)).apply(rows)
        rank += rows.dim() - before
    return 1, rows.reshape(-1)


def _simple(m: Map, lead: Tuple[int, ...], rank: int) -> Optional[Tuple[int, Optional[Tensor]]]:
    """Where no index has to be made."""
    axis = m.axis(rank)
    if m.kind == "index":
        return (1, m.arg.reshape(-1)) if len(lead) == 1 else None
    last = math.prod(lead[axis + 1 :]) == 1
    if not last or isinstance(m.arg, Tensor):
        return None
    if m.kind == "repeats":
        return m.arg, None
    if m.kind == "expand":
        return (m.arg if lead[axis] == 1 else 1), None
    return (m.arg, None) if math.prod(lead) == 1 else None


def autocast(tensors: List[Tensor]) -> List[Tensor]:
    """The tensors as `F.linear` would see them under `torch.autocast`."""
    kind = tensors[0].device.type
    if not torch.is_autocast_enabled(kind):
        return tensors
    dtype = torch.get_autocast_dtype(kind)
    return [x.to(dtype) if x.is_floating_point() and x.dtype != torch.float64 else x for x in tensors]
