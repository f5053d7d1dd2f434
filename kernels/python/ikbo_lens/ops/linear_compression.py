"""ikbo_lens::linear_compression: user [U, Ku, N], candidate [B, Kc, N], weight [M, Ku + Kc] -> [B, M, N]."""

from __future__ import annotations

from typing import Optional, Sequence

import torch
from torch import Tensor

from .. import abi, decomposed
from ..devices import device_of
from .common import as_rows, check, check_alike, either, map_kind, maps_of, pointer, row_stride, sum_rows

SCHEMA = "(Tensor user, Tensor candidate, Tensor? index, SymInt repeats, Tensor weight, bool candidate_first) -> Tensor"


def run(
    user: Tensor, candidate: Tensor, index: Optional[Tensor], repeats: int, weight: Tensor, candidate_first: bool
) -> Tensor:
    batch, width, columns = candidate.shape
    out = fake(user, candidate, index, repeats, weight, candidate_first)
    check_alike("linear_compression", [user, candidate, weight], [index])
    fits = user.dim() == 3 and user.shape[2] == columns and user.shape[1] + width == weight.shape[1]
    check("linear_compression", fits, "the sizes of user, candidate and weight disagree")
    check("linear_compression", index is None or index.shape == (batch,), "the index is not one entry a candidate")
    if batch == 0:
        return out
    user, candidate, weight = user.contiguous(), candidate.contiguous(), as_rows(weight)
    kind, bits = map_kind(user, repeats, index)
    stride = row_stride(weight)
    key = (out.dtype, *user.shape, *candidate.shape, kind, bits, repeats, weight.shape[0], stride, candidate_first)

    def shape() -> abi.LinearCompressionShape:
        return abi.LinearCompressionShape(
            dtype=abi.DTYPES[out.dtype],
            stage=abi.BEST,
            map_kind=kind,
            index_bits=bits,
            repeats=repeats,
            batch=batch,
            users=user.shape[0],
            outputs=out.shape[1],
            columns=columns,
            user_width=user.shape[1],
            candidate_width=width,
            weight_stride=stride,
            candidate_first=candidate_first,
        )

    def native(index: Sequence[Optional[Tensor]]) -> None:
        pointers = (user.data_ptr(), candidate.data_ptr(), pointer(index[0]), weight.data_ptr(), out.data_ptr())
        device_of(out.device).run("linear_compression", key, shape, abi.LinearCompressionArgs(*pointers))

    def pytorch() -> Tensor:
        blocks = [(user, *maps_of([index], [repeats])), (candidate, ())]
        return decomposed.contract(blocks[::-1] if candidate_first else blocks, weight, None, -2)

    return either("linear_compression", native, pytorch, out, [index], [user])


def fake(user, candidate, index, repeats, weight, candidate_first):
    return weight.new_empty((candidate.shape[0], weight.shape[0], candidate.shape[2]))


def setup(ctx, inputs, output):
    user, candidate, index, ctx.repeats, weight, ctx.candidate_first = inputs
    ctx.save_for_backward(user, candidate, weight, index)


def backward(ctx, grad):
    user, candidate, weight, index = ctx.saved_tensors
    needs_user, needs_candidate, _, _, needs_weight, _ = ctx.needs_input_grad
    widths = [user.shape[1], candidate.shape[1]]
    order = [1, 0] if ctx.candidate_first else [0, 1]
    parts = weight.split([widths[i] for i in order], dim=1)
    sums = sum_rows(grad, index, ctx.repeats, user.shape[0])
    grad_user = parts[order[0]].mT @ sums if needs_user else None
    grad_candidate = parts[order[1]].mT @ grad if needs_candidate else None
    grad_weight = None
    if needs_weight:
        pieces = [torch.einsum("umn,ukn->mk", sums, user), torch.einsum("bmn,bkn->mk", grad, candidate)]
        grad_weight = torch.cat([pieces[i] for i in order], dim=1)
    return grad_user, grad_candidate, None, None, grad_weight, None
