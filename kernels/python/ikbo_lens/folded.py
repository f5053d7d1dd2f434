"""The PyTorch form of attention: queries that share keys become one longer query axis."""

from __future__ import annotations

from typing import Iterator, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from .capture import capturing
from .maps import Map


def attend(
    query: Tensor, key: Tensor, value: Tensor, kv_map: Optional[Map], attn_mask: Optional[Tensor], options: dict
) -> Tensor:
    """`F.scaled_dot_product_attention(query, kv_map.apply(key), kv_map.apply(value), attn_mask, **options)`; shapes as
    for `ikbo_lens.attention`. Groups of different sizes are padded to the next power of two, at most doubling the work
    on queries."""
    users = key.shape[0]
    if kv_map is None:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=attn_mask, **options).contiguous()
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

    if torch.compiler.is_compiling() or capturing(query.device):
        # The sizes of the groups are not known, so the copies have to be made.
        return F.scaled_dot_product_attention(
            query, kv_map.apply(key), kv_map.apply(value), attn_mask=attn_mask, **options
        ).contiguous()

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
