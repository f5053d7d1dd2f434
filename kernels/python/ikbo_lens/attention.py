"""Attention of many queries over few keys: each row of the batch names the row of key and value that it reads."""

from __future__ import annotations

from typing import Iterator, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from .maps import Map


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    kv_map: Map,
    attn_mask: Optional[Tensor] = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
) -> Tensor:
    """`F.scaled_dot_product_attention(query, kv_map.apply(key), kv_map.apply(value), ...)` without the two copies.

    Queries that share a row of key and value are folded into one longer query axis, so each key is read once per group.
    Groups of different sizes are padded to the next power of two, at most doubling the work on queries.

    Args:
        query: [B, ..., L, D].
        key: [U, ..., S, D].
        value: [U, ..., S, Dv].
        kv_map: maps axis 0 of key and value, U rows, onto the B rows of query.
        attn_mask: as for `F.scaled_dot_product_attention`, broadcastable to [B, ..., L, S]; bool (True takes part) or
            of query's dtype (added).
        dropout_p, is_causal, scale, enable_gqa: as there.

    Returns:
        [B, ..., L, Dv].

    Raises:
        ValueError: fewer than three axes, ranks that differ, a map of another axis than 0, or one that does not give B
            rows; mask and is_causal together.
        IndexError: an index out of range.

    Example:
        >>> ikbo_lens.attention(q, k, v, ikbo_lens.index(cand_to_user))
    """
    _check(query, key, value, kv_map, attn_mask, is_causal)
    users = key.shape[0]
    options = {"dropout_p": dropout_p, "scale": scale, **({"enable_gqa": True} if enable_gqa else {})}
    if is_causal:  # the folded axis holds several queries, each with a triangle of its own
        attn_mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
    per_row = False
    if attn_mask is not None and attn_mask.dim() == query.dim():
        per_row = attn_mask.shape[0] != 1
        attn_mask = attn_mask if per_row else attn_mask.squeeze(0)

    groups = _equal_groups(kv_map, users)
    if groups is not None:
        mask = _split(attn_mask, kv_map, groups) if per_row else attn_mask
        out = _folded(_split(query, kv_map, groups), key, value, mask, per_row, options)
        # Contiguous, as the attention of the copies would be: callers may rely on it for a view.
        return (out.transpose(0, 1) if kv_map.kind == "tile" else out).flatten(0, 1).contiguous()

    pieces, places = [], []
    for members, slots, filled in _buckets(kv_map.rows(users, query.device), users):
        mask = attn_mask[slots] if per_row else attn_mask
        out = _folded(query[slots], key[members], value[members], mask, per_row, options)
        pieces.append(out[filled])
        places.append(slots[filled])
    if not places:
        return F.scaled_dot_product_attention(query, key[:0], value[:0], **options)
    return torch.cat(pieces)[torch.argsort(torch.cat(places))]


def _equal_groups(kv_map: Map, users: int) -> Optional[Tuple[int, int]]:
    """(users, rows per user) where strides alone can split the batch, else None."""
    if isinstance(kv_map.arg, Tensor):
        return None
    if kv_map.kind == "expand":
        return (1, kv_map.arg) if users == 1 else (users, 1)
    return users, kv_map.arg


def _split(x: Tensor, kv_map: Map, groups: Tuple[int, int]) -> Tensor:
    """[B, ...] as [U, n, ...], by strides: a tile puts the rows of one user U apart."""
    if kv_map.kind == "tile":
        return x.unflatten(0, groups[::-1]).transpose(0, 1)
    return x.unflatten(0, groups)


def _folded(q: Tensor, k: Tensor, v: Tensor, mask: Optional[Tensor], per_row: bool, options: dict) -> Tensor:
    """Attention of q [U, n, ..., L, D] over k [U, ..., S, D] as U problems of n * L queries: [U, n, ..., L, Dv].

    `mask` is [U, n, ..., L, S] when `per_row`, else without the first two axes.
    """
    n, length = q.shape[1], q.shape[-2]
    if per_row:
        mask = mask.expand(*mask.shape[:-2], length, mask.shape[-1]).movedim(1, -3).flatten(-3, -2)
    elif mask is not None and mask.dim() >= 2 and mask.shape[-2] != 1:
        mask = mask.unsqueeze(-3).expand(*mask.shape[:-2], n, *mask.shape[-2:]).flatten(-3, -2)
    out = F.scaled_dot_product_attention(q.movedim(1, -3).flatten(-3, -2), k, v, attn_mask=mask, **options)
    return out.unflatten(-2, (n, length)).movedim(-3, 1)


def _buckets(rows: Tensor, users: int) -> Iterator[Tuple[Tensor, Tensor, Tensor]]:
    """Groups the batch by user. Yields, per padded group size: the users [g], their rows of the batch [g, size], and
    which of those are real [g, size]. A padded place repeats a row of its own group, so that its values, dropped in the
    end, are no worse than that row's (a NaN from elsewhere would spoil the gradient)."""
    counts = torch.bincount(rows, minlength=users)
    starts = counts.cumsum(0) - counts
    by_user = torch.argsort(rows, stable=True)
    powers = 2 ** torch.arange(63, device=rows.device)
    padded = powers[torch.bucketize(counts, powers)]
    for size in torch.unique(padded[counts > 0]).tolist():
        members = ((padded == size) & (counts > 0)).nonzero().squeeze(1)
        place, count = torch.arange(size, device=rows.device), counts[members].unsqueeze(1)
        slots = by_user[starts[members].unsqueeze(1) + torch.minimum(place, count - 1)]
        yield members, slots, place < count


def _check(
    query: Tensor, key: Tensor, value: Tensor, kv_map: Map, mask: Optional[Tensor], is_causal: bool
) -> None:
    """Raises for what the docstring of `attention` names."""
    if not isinstance(kv_map, Map) or kv_map.dim != 0:
        raise ValueError(f"attention: kv_map must map axis 0 of key and value, not {kv_map}.")
    if query.dim() < 3 or key.dim() != query.dim() or value.dim() != query.dim():
        raise ValueError(
            f"attention: query, key and value need the same rank of at least 3, not the shapes {tuple(query.shape)}, "
            f"{tuple(key.shape)}, {tuple(value.shape)}."
        )
    if key.shape[0] != value.shape[0]:
        raise ValueError(f"attention: key has {key.shape[0]} rows and value {value.shape[0]}; one map serves both.")
    kv_map.check(key)
    mapped = kv_map.shape(tuple(key.shape))
    if len(mapped) != key.dim() or mapped[0] != query.shape[0]:
        raise ValueError(
            f"attention: {kv_map} turns the {key.shape[0]} rows of key into {mapped[:len(mapped) - key.dim() + 1]}, "
            f"query has {query.shape[0]} rows. The map needs one entry per row of query."
        )
    if mask is not None and is_causal:
        raise ValueError("attention: give attn_mask or is_causal, not both, as for F.scaled_dot_product_attention.")
    full = mask is not None and mask.dim() == query.dim()
    if mask is not None and (mask.dim() > query.dim() or (full and mask.shape[0] not in (1, query.shape[0]))):
        raise ValueError(
            f"attention: attn_mask of shape {tuple(mask.shape)} does not broadcast to the {query.shape[0]} rows of "
            "query. Pass a mask for each row, or one for all."
        )
