"""Attention of many queries over few keys: each row of the batch names the row of key and value that it reads."""

from __future__ import annotations

from typing import Optional

import torch
from torch import Tensor

from . import folded
from .backend import native, plain, warn_once
from .flat import flat_map
from .maps import Map
from .ops import call


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

    Each row of key and value is read once for all the queries that share it.

    Args:
        query: [B, ..., L, D].
        key: [U, ..., S, D].
        value: [U, ..., S, Dv].
        kv_map: maps axis 0 of key and value, U rows, onto the B rows of query.
        attn_mask: as for `F.scaled_dot_product_attention`, broadcastable to [B, ..., L, S]; bool (True takes part) or
            of query's dtype (added).
        dropout_p, is_causal, scale, enable_gqa: as there.

    Returns:
        [B, ..., L, Dv]. Contiguous, or, where the kernel made it, in the order in memory that query has.

    Raises:
        ValueError: fewer than three axes, ranks that differ, a map of another axis than 0, or one that does not give B
            rows; mask and is_causal together.
        IndexError: an index out of range.

    Example:
        >>> ikbo_lens.attention(q, k, v, ikbo_lens.index(cand_to_user))
    """
    _check(query, key, value, kv_map, attn_mask, is_causal)
    # Groups of unknown sizes cannot be traced, so the operator hides them from torch.compile.
    hidden = isinstance(kv_map.arg, Tensor) and torch.compiler.is_compiling() and plain([query, key, value])
    # PyTorch's form of unequal groups waits for the device, so there the kernel is faster at any size.
    equal = not isinstance(kv_map.arg, Tensor)
    operations = 4 * query.numel() * key.shape[-2] if equal else None
    if hidden or native("attention", [query, key, value], operations):
        if _computes(query, key, value, attn_mask, dropout_p, is_causal):
            return _native(query, key, value, kv_map, scale, enable_gqa)
    if is_causal:  # the folded axis holds several queries, each with a triangle of its own
        attn_mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
    options = {"dropout_p": dropout_p, "scale": scale, **({"enable_gqa": True} if enable_gqa else {})}
    return folded.attend(query, key, value, kv_map, attn_mask, options)


def _computes(
    query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor], dropout_p: float, is_causal: bool
) -> bool:
    """Whether the kernel computes this; where not, says once why."""
    if torch.is_grad_enabled() and any(x.requires_grad for x in (query, key, value)):
        return False  # PyTorch's backward needs what its own forward keeps: computing both would be slower
    reason = ""
    if mask is not None:
        reason = "it takes no mask"
    elif is_causal and query.shape[-2] > 1:
        reason = "it does not take is_causal with more than one query"
    elif dropout_p > 0:
        reason = "it has no dropout"
    elif value.shape != key.shape or query.shape[-1] != key.shape[-1]:
        reason = "keys and values need one shape"
    elif query.dim() > 4:
        reason = f"it takes 3 or 4 axes, not {query.dim()}"
    if reason:
        warn_once(f"attention runs as PyTorch operators: {reason}.")
    return not reason


def _native(query: Tensor, key: Tensor, value: Tensor, kv_map: Map, scale: Optional[float], gqa: bool) -> Tensor:
    """The kernel takes heads behind rows, as projections leave them; a transpose of that is no copy here."""
    heads = [x.unsqueeze(1) if x.dim() == 3 else x for x in (query, key, value)]
    if heads[1].shape[1] != heads[0].shape[1] and not gqa:
        heads[1:] = (x.expand(-1, heads[0].shape[1], -1, -1) for x in heads[1:])
    repeats, index = flat_map([kv_map], (key.shape[0],), key)
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    out = call("attention", heads, *(x.transpose(1, 2) for x in heads), index, repeats, scale).transpose(1, 2)
    out = out.squeeze(1) if query.dim() == 3 else out
    return out.contiguous() if query.is_contiguous() else out


def _check(query: Tensor, key: Tensor, value: Tensor, kv_map: Map, mask: Optional[Tensor], is_causal: bool) -> None:
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
