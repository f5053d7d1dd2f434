"""ikbo_lens::attention: q [B, Q, H, D], k and v [U, S, Hkv, D] -> [B, Q, H, D]."""

from __future__ import annotations

from typing import Optional, Sequence

import torch
from torch import Tensor

from .. import abi, folded
from ..devices import device_of
from .common import check, check_alike, either, map_kind, maps_of, pointer, sum_rows

SCHEMA = "(Tensor q, Tensor k, Tensor v, Tensor? index, SymInt repeats, float scale) -> Tensor"


def run(q: Tensor, k: Tensor, v: Tensor, index: Optional[Tensor], repeats: int, scale: float) -> Tensor:
    batch, queries, heads, width = q.shape
    users, keys, key_heads, _ = k.shape
    out = q.new_empty(q.shape)
    check_alike("attention", [q, k, v], [index])
    check("attention", k.shape == v.shape and k.shape[3] == width, "the sizes of q, k and v disagree")
    check("attention", index is None or index.shape == (batch,), "the index is not one entry a row of q")
    if batch == 0:
        return out
    q, k, v = (_aligned(x.contiguous()) for x in (q, k, v))
    kind, bits = map_kind(k, repeats, index)
    key = (q.dtype, *q.shape, *k.shape, kind, bits, repeats, scale)

    def shape() -> abi.AttentionShape:
        return abi.AttentionShape(
            dtype=abi.DTYPES[q.dtype],
            stage=abi.BEST,
            map_kind=kind,
            index_bits=bits,
            repeats=repeats,
            batch=batch,
            users=users,
            queries=queries,
            heads=heads,
            key_heads=key_heads,
            head_width=width,
            keys=keys,
            scale=scale,
        )

    def native(index: Sequence[Optional[Tensor]]) -> None:
        args = abi.AttentionArgs(
            q=q.data_ptr(), k=k.data_ptr(), v=v.data_ptr(), index=pointer(index[0]), out=out.data_ptr()
        )
        device_of(q.device).run("attention", key, shape, args, data_free=index[0] is None)

    def pytorch() -> Tensor:
        return _in_pytorch(q, k, v, index, repeats, scale)

    return either("attention", native, pytorch, out, [index], [k])


def _in_pytorch(q, k, v, index, repeats, scale):
    grouped = {"enable_gqa": True} if q.shape[2] != k.shape[2] else {}
    kv_map = next(iter(maps_of([index], [repeats])[0]), None)
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return folded.attend(q, k, v, kv_map, None, {"scale": scale, **grouped}).transpose(1, 2).contiguous()


def fake(q, k, v, index, repeats, scale):
    return q.new_empty(q.shape)


def setup(ctx, inputs, output):
    q, k, v, index, ctx.repeats, ctx.scale = inputs
    ctx.save_for_backward(q, k, v, index)


def backward(ctx, grad):
    """With the probabilities written out and computed anew, in fp32 at least: `ikbo_lens.attention` leaves training to
    PyTorch's attention, so this is for those who call the operator by its name."""
    q, k, v, index = ctx.saved_tensors
    rows = lambda x: x if index is None and ctx.repeats == 1 else maps_of([index], [ctx.repeats])[0][0].apply(x)
    group, wide = q.shape[2] // k.shape[2], torch.promote_types(q.dtype, torch.float32)
    heads = [x.to(wide).transpose(1, 2) for x in (q, rows(k), rows(v), grad)]
    qh, kh, vh, gh = (x if i in (0, 3) else x.repeat_interleave(group, 1) for i, x in enumerate(heads))
    p = torch.softmax(qh @ kh.mT * ctx.scale, -1)
    gp = gh @ vh.mT
    gs = p * (gp - (gp * p).sum(-1, keepdim=True)) * ctx.scale

    def to_keys(x: Tensor) -> Tensor:  # [B, H, S, D] to the users' [U, S, Hkv, D]
        summed = x.unflatten(1, (k.shape[2], group)).sum(2).transpose(1, 2)
        return sum_rows(summed, index, ctx.repeats, k.shape[0]).to(k.dtype)

    return (gs @ kh).transpose(1, 2).to(q.dtype), to_keys(gs.mT @ qh), to_keys(p.mT @ gh), None, None, None


def _aligned(x: Tensor) -> Tensor:
    """At an address that the copy engine of a GPU can start from."""
    return x if x.data_ptr() % 16 == 0 else x.clone()
