"""What the operators share: which form runs, what the library can be given, and the transpose of a map."""

from __future__ import annotations

from typing import Callable, List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from .. import abi
from ..backend import wanted, warn_once
from ..devices import Refused
from ..maps import Map


def either(
    name: str,
    native: Callable[[Sequence[Optional[Tensor]]], None],
    pytorch: Callable[[], Tensor],
    out: Tensor,
    index: List[Optional[Tensor]],
    sources: List[Tensor],
) -> Tensor:
    """`out`, filled by the library; or the PyTorch form, where the library refuses. Raises IndexError.

    `native` gets the indices as the library reads them: adjacent.
    """
    if not wanted(name, out.device.type, out.dtype):
        return pytorch()
    index = [i if i is None else i.contiguous() for i in index]
    try:
        try:
            native(index)
        except IndexError:  # in PyTorch's words
            for i, x in zip(index, sources):
                if i is not None:
                    Map("index", i).check_bounds(x)
            raise
        return out
    except Refused as reason:
        warn_once(f"{name} runs as PyTorch operators: {reason}.")
        return pytorch()


def check(name: str, holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"torch.ops.ikbo_lens.{name}: {what}.")


def check_alike(name: str, tensors: Sequence[Optional[Tensor]], index: Sequence[Optional[Tensor]]) -> None:
    """The library gets addresses alone: of one type, on one device."""
    first, *others = (x for x in tensors if x is not None)
    alike = all(x.dtype == first.dtype and x.device == first.device for x in others)
    check(name, alike, "all tensors must have one dtype and be on one device")
    integral = all(i is None or (i.dtype in (torch.int32, torch.int64) and i.device == first.device) for i in index)
    check(name, integral, "an index must be int32 or int64, on the device of the tensors")


def map_kind(source: Tensor, repeats: int, index: Optional[Tensor]) -> Tuple[int, int]:
    """Kind of the map in the ABI, and the bits of its index."""
    if index is not None:
        return abi.INDEX_FROM_END, 8 * index.element_size()
    if repeats == 1:
        return abi.NONE, 0
    return (abi.ALL if source.shape[0] == 1 else abi.REPEATS), 0


def maps_of(index: Sequence[Optional[Tensor]], repeats: Sequence[int]) -> List[Tuple[Map, ...]]:
    """The same maps for PyTorch's form."""
    either_kind = lambda i, n: Map("repeats", n) if i is None else Map("index", i)
    return [() if i is None and n == 1 else (either_kind(i, n),) for i, n in zip(index, repeats)]


def as_rows(x: Tensor) -> Tensor:
    """A matrix as the library reads it: elements adjacent, rows apart by no less than their width."""
    adjacent = x.stride(1) == 1 or x.shape[1] <= 1
    return x if adjacent and (x.stride(0) >= x.shape[1] or x.shape[0] <= 1) else x.contiguous()


def row_stride(x: Tensor) -> int:
    return x.stride(0) if x.shape[0] > 1 else max(x.stride(0), x.shape[1])


def pointer(x: Optional[Tensor]) -> Optional[int]:
    return None if x is None else x.data_ptr()


def sum_rows(grad: Tensor, index: Optional[Tensor], repeats: int, sources: int) -> Tensor:
    """The gradient of the source rows: the transpose of the map, summed in fp32 at least."""
    if index is None:
        return grad if repeats == 1 else grad.unflatten(0, (sources, repeats)).sum(1)
    wide = torch.promote_types(grad.dtype, torch.float32)
    rows = torch.where(index < 0, index + sources, index).long()
    total = grad.new_zeros((sources, *grad.shape[1:]), dtype=wide)
    return total.index_add(0, rows, grad.to(wide)).to(grad.dtype)
