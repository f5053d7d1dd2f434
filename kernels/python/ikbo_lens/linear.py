"""Products over a concatenation whose replicated blocks are given at their natural batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple, Union

from torch import Tensor

from . import abi, decomposed
from .backend import native, warn_once
from .flat import autocast, flat_map, flat_rows
from .maps import Map
from .ops import call

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
    parts = _checked("cat_linear", blocks, weight, -1)
    tensors = autocast([*(p.x for p in parts), weight, *([] if bias is None else [bias])])
    if not native("cat_linear", tensors, _operations(parts, weight)) or not _few("cat_linear", parts):
        return decomposed.contract([(p.x, p.maps) for p in parts], weight, bias, -1)
    xs, (weight, *biases) = tensors[: len(parts)], tensors[len(parts) :]
    repeats, index = zip(*(flat_map(p.maps, tuple(p.x.shape[:-1]), p.x) for p in parts))
    flat = [flat_rows(x, 1) for x in xs]
    bias = biases[0] if biases else None
    out = call("cat_linear", tensors, flat, list(index), list(repeats), weight, bias)
    return out.reshape(*parts[0].shape[:-1], weight.shape[0])


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
    parts = _checked("linear_compression", blocks, weight, -2)
    *xs, weight_ = autocast([*(p.x for p in parts), weight])
    if not native("linear_compression", [*xs, weight_], _operations(parts, weight)) or not _one_mapped(parts):
        return decomposed.contract([(p.x, p.maps) for p in parts], weight, None, -2)
    user = 0 if parts[0].maps else 1
    repeats, index = flat_map(parts[user].maps, tuple(parts[user].x.shape[:-2]), parts[user].x)
    flat = [flat_rows(x, 2) for x in xs]
    args = (flat[user], flat[1 - user], index, repeats, weight_, user == 1)
    out = call("linear_compression", [*xs, weight_], *args)
    return out.reshape(*parts[0].shape[:-2], *out.shape[1:])


@dataclass(frozen=True)
class _Part:
    x: Tensor
    maps: Tuple[Map, ...]
    #: Shape of the block after its maps.
    shape: Tuple[int, ...]


def _operations(parts: List[_Part], weight: Tensor) -> int:
    return 2 * weight.shape[0] * sum(p.x.numel() for p in parts)


def _few(name: str, parts: List[_Part]) -> bool:
    if len(parts) <= abi.MAX_BLOCKS:
        return True
    warn_once(f"{name} runs as PyTorch operators: it takes up to {abi.MAX_BLOCKS} blocks, not {len(parts)}.")
    return False


def _one_mapped(parts: List[_Part]) -> bool:
    mapped = sum(1 for p in parts if p.maps)
    if len(parts) == 2 and mapped == 1:
        return True
    if mapped:
        warn_once(
            "linear_compression runs as PyTorch operators: the kernel takes one block with a map and one without, not "
            f"{mapped} with and {len(parts) - mapped} without."
        )
    return False


def _checked(name: str, blocks: Sequence[Block], weight: Tensor, axis: int) -> List[_Part]:
    parts = [_part(name, i, block, axis) for i, block in enumerate(blocks)]
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
    return parts


def _part(name: str, i: int, block: Block, axis: int) -> _Part:
    listed = isinstance(block, (tuple, list)) and len(block) > 0
    x, maps = (block[0], tuple(block[1:])) if listed else (block, ())
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
