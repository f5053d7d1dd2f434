"""Products over a concatenation whose replicated blocks are given at their natural batch.

    W cat(a, b) = W_a a + W_b b

so each block meets its own slice of the weight at its own size, and only the (usually narrower) product is mapped.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Callable, Optional, Sequence, Tuple, Union

import torch
import torch.nn.functional as F
from torch import Tensor

from .maps import Map

#: A tensor as it is, or a tensor with the map (or maps, applied in order) that replicates it.
Block = Union[Tensor, Tuple[Tensor, Map], Tuple[Tensor, Map, Map]]


def cat_linear(blocks: Sequence[Block], weight: Tensor, bias: Optional[Tensor] = None) -> Tensor:
    """`F.linear(torch.cat(blocks, dim=-1), weight, bias)` without the concatenation and without its copies.

    Args:
        blocks: in the order of the concatenation, each `x` of shape [..., K_i] or `(x, map)`; after their maps all
            agree in every axis but the last. A map acts on any axis but the last.
        weight: [M, K] with K the sum of the K_i, as in `nn.Linear`.
        bias: [M] or None.

    Returns:
        [..., M]. Equal to the original up to the order of the additions. Blocks of different dtypes are promoted as
        `torch.cat` does.

    Raises:
        ValueError: no block, widths that do not sum to K, rows that disagree, a map on the last axis.
        IndexError: an index out of range.

    Example:
        >>> ikbo_lens.cat_linear([(user, ikbo_lens.repeats(n)), cand], fc.weight, fc.bias)
    """
    if bias is not None and tuple(bias.shape) != tuple(weight.shape[:1]):
        raise ValueError(f"cat_linear: bias has shape {tuple(bias.shape)}, the weight needs [{weight.shape[0]}].")
    return _contract("cat_linear", blocks, weight, -1, lambda x, w, first: F.linear(x, w, bias if first else None))


def linear_compression(blocks: Sequence[Block], weight: Tensor) -> Tensor:
    """`weight @ torch.cat(blocks, dim=-2)`: compresses a list of embeddings without copying the replicated ones.

    This is the linear compression block of Wukong-style rankers.

    Args:
        blocks: in the order of the concatenation, each `x` of shape [..., K_i, D] or `(x, map)`; after their maps all
            agree in every axis but the last but one. A map acts on any axis but the last two.
        weight: [M, K] with K the sum of the K_i.

    Returns:
        [..., M, D].

    Raises: as `cat_linear`.

    Example:
        >>> ikbo_lens.linear_compression([(user, ikbo_lens.index(cand_to_user)), cand], self.weight)
    """
    return _contract("linear_compression", blocks, weight, -2, lambda x, w, _first: torch.matmul(w, x))


@dataclass(frozen=True)
class _Part:
    x: Tensor
    maps: Tuple[Map, ...]
    #: Shape of the block after its maps.
    shape: Tuple[int, ...]


def _contract(
    name: str, blocks: Sequence[Block], weight: Tensor, axis: int, product: Callable[[Tensor, Tensor, bool], Tensor]
) -> Tensor:
    parts = [_part(name, i, block, axis) for i, block in enumerate(blocks)]
    _agree(name, parts, weight, axis)
    dtype = functools.reduce(torch.promote_types, (p.x.dtype for p in parts))
    widths = [p.x.shape[axis] for p in parts]
    # A term without a map owns rows of the full size, so the others can be added into it in place.
    terms = sorted(zip(parts, weight.split(widths, dim=1)), key=lambda term: len(term[0].maps) > 0)

    out = None
    for part, w in terms:
        y = product(part.x.to(dtype), w, out is None)
        for m in part.maps[:-1]:
            y = m.apply(y)
        if out is None:
            # A stride-0 view cannot be added to: contiguous() writes it, and does nothing for the others.
            out = part.maps[-1].apply(y).contiguous() if part.maps else y
        else:
            out = part.maps[-1].add_to(out, y) if part.maps else out.add_(y)
    return out


def _part(name: str, i: int, block: Block, axis: int) -> _Part:
    x, maps = (block, ()) if isinstance(block, Tensor) else (block[0], tuple(block[1:]))
    if not isinstance(x, Tensor) or not all(isinstance(m, Map) for m in maps):
        raise TypeError(f"{name}: block {i} must be a tensor or (tensor, map), a map as ikbo_lens.repeats makes it.")
    if x.dim() < -axis:
        raise ValueError(f"{name}: block {i} has shape {tuple(x.shape)}, it needs at least {-axis} axes.")
    shape = tuple(x.shape)
    for m in maps:
        if m.axis(len(shape)) >= len(shape) + axis:
            raise ValueError(f"{name}: block {i} has {m}, but its last {-axis} axes take part in the product.")
        shape = m.shape(shape)
    return _Part(x, maps, shape)


def _agree(name: str, parts: Sequence[_Part], weight: Tensor, axis: int) -> None:
    if not parts:
        raise ValueError(f"{name}: expected at least one block.")
    if weight.dim() != 2:
        raise ValueError(f"{name}: weight must be [M, K], not of shape {tuple(weight.shape)}.")
    widths = [p.x.shape[axis] for p in parts]
    if sum(widths) != weight.shape[1]:
        raise ValueError(
            f"{name}: the blocks are {' + '.join(map(str, widths))} = {sum(widths)} wide, the weight of shape "
            f"{tuple(weight.shape)} needs {weight.shape[1]}. Check the order and number of the blocks."
        )
    first = parts[0].shape
    for i, part in enumerate(parts):
        if len(part.shape) != len(first) or any(
            a != b for k, (a, b) in enumerate(zip(part.shape, first)) if k != len(first) + axis
        ):
            raise ValueError(
                f"{name}: after its map, block {i} has shape {part.shape} and block 0 has {first}. All blocks must "
                f"agree in every axis but {axis}: check the map of the one that is too short or too long."
            )
