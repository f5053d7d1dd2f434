"""ikbo_lens::cat_linear: x_i [source rows, K_i], weight [M, sum K_i], bias [M] -> [rows, M]."""

from __future__ import annotations

from typing import List, Optional, Sequence

import torch
from torch import Tensor

from .. import abi, decomposed
from ..devices import device_of
from .common import as_rows, check, check_alike, either, map_kind, maps_of, pointer, row_stride, sum_rows

SCHEMA = "(Tensor[] x, Tensor?[] index, SymInt[] repeats, Tensor weight, Tensor? bias) -> Tensor"


def run(
    x: List[Tensor], index: List[Optional[Tensor]], repeats: List[int], weight: Tensor, bias: Optional[Tensor]
) -> Tensor:
    out = fake(x, index, repeats, weight, bias)
    rows, outputs = out.shape
    check_alike("cat_linear", [*x, weight, bias], index)
    check("cat_linear", all(m.dim() == 2 for m in (*x, weight)), "the blocks and the weight must be matrices")
    check("cat_linear", bias is None or bias.shape == (outputs,), "the bias is not one entry an output")
    fits = sum(block.shape[1] for block in x) == weight.shape[1]
    check("cat_linear", fits, "the widths do not sum to the weight's")
    check("cat_linear", all(i is None or i.shape == (rows,) for i in index), "an index is not one entry a row")
    if rows == 0:
        return out
    x, weight, bias = [as_rows(block) for block in x], as_rows(weight), bias if bias is None else bias.contiguous()
    blocks = tuple((*b.shape, row_stride(b), *map_kind(b, n, i), n) for b, n, i in zip(x, repeats, index))
    key = (out.dtype, rows, outputs, row_stride(weight), bias is not None, blocks)

    def shape() -> abi.ConcatLinearShape:
        made = abi.ConcatLinearShape(
            dtype=abi.DTYPES[out.dtype],
            stage=abi.BEST,
            blocks=len(x),
            has_bias=bias is not None,
            rows=rows,
            outputs=outputs,
            weight_stride=row_stride(weight),
            out_stride=outputs,
        )
        for i, block in enumerate(blocks):
            made.block[i] = abi.Block(*block)
        return made

    def native(index: Sequence[Optional[Tensor]]) -> None:
        args = abi.ConcatLinearArgs(weight=weight.data_ptr(), bias=pointer(bias), out=out.data_ptr())
        for i, block in enumerate(x):
            args.x[i], args.index[i] = block.data_ptr(), pointer(index[i])
        device_of(out.device).run("concat_linear", key, shape, args)

    def pytorch() -> Tensor:
        return decomposed.contract(list(zip(x, maps_of(index, repeats))), weight, bias, -1)

    return either("cat_linear", native, pytorch, out, index, x)


def fake(x, index, repeats, weight, bias):
    rows = index[0].shape[0] if index[0] is not None else x[0].shape[0] * repeats[0]
    return weight.new_empty((rows, weight.shape[0]))


def setup(ctx, inputs, output):
    x, index, ctx.repeats, weight, bias = inputs
    ctx.has_bias = bias is not None
    ctx.save_for_backward(weight, *x, *index)


def backward(ctx, grad):
    blocks = len(ctx.repeats)
    weight, x, index = ctx.saved_tensors[0], ctx.saved_tensors[1 : 1 + blocks], ctx.saved_tensors[1 + blocks :]
    parts = weight.split([block.shape[1] for block in x], dim=1)
    sums = [sum_rows(grad, i, n, block.shape[0]) for block, i, n in zip(x, index, ctx.repeats)]
    needs_x, _, _, needs_weight, _ = ctx.needs_input_grad
    grad_x = [s @ w if needed else None for s, w, needed in zip(sums, parts, needs_x)]
    grad_weight = torch.cat([s.mT @ block for s, block in zip(sums, x)], dim=1) if needs_weight else None
    grad_bias = grad.sum(0) if ctx.has_bias else None
    return grad_x, None, None, grad_weight, grad_bias
