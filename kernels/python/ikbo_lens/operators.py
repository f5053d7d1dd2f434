"""The operators as PyTorch sees them: torch.ops.ikbo_lens.{cat_linear, linear_compression, attention}.

They take blocks whose leading axes are one, with maps in the form that the native library knows: source row `row //
repeats`, or `index[row]` where there is an index. What the library refuses runs as PyTorch operators, with one warning.
Gradients are those of the decomposed form: what belongs to one source row is summed first, then multiplied.
"""

from __future__ import annotations

from typing import Callable, List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from . import abi, decomposed, folded
from .backend import wanted, warn_once
from .capture import capturing
from .devices import Refused, device_of
from .maps import Map

# Schemas are written out: they must not depend on how a release of PyTorch reads annotations.
torch.library.define(
    "ikbo_lens::cat_linear", "(Tensor[] x, Tensor?[] index, SymInt[] repeats, Tensor weight, Tensor? bias) -> Tensor"
)
torch.library.define(
    "ikbo_lens::linear_compression",
    "(Tensor user, Tensor candidate, Tensor? index, SymInt repeats, Tensor weight, bool candidate_first) -> Tensor",
)
torch.library.define(
    "ikbo_lens::attention", "(Tensor q, Tensor k, Tensor v, Tensor? index, SymInt repeats, float scale) -> Tensor"
)

# --- cat_linear: x_i [source rows, K_i], weight [M, K], bias [M] -> [rows, M]


def _cat_linear(
    x: List[Tensor], index: List[Optional[Tensor]], repeats: List[int], weight: Tensor, bias: Optional[Tensor]
) -> Tensor:
    out = _cat_linear_fake(x, index, repeats, weight, bias)
    rows, outputs = out.shape
    _check_alike("cat_linear", [*x, weight, bias], index)
    _check("cat_linear", sum(block.shape[1] for block in x) == weight.shape[1], "the widths do not sum to the weight's")
    _check("cat_linear", all(i is None or i.shape == (rows,) for i in index), "an index is not one entry a row")
    if rows == 0:
        return out
    x, weight, bias = [_rows(block) for block in x], _rows(weight), bias if bias is None else bias.contiguous()
    blocks = tuple((*block.shape, _stride(block), *_map(block, n, i), n) for block, n, i in zip(x, repeats, index))
    key = (out.dtype, rows, outputs, _stride(weight), bias is not None, blocks)

    def shape() -> abi.ConcatLinearShape:
        made = abi.ConcatLinearShape(
            dtype=abi.DTYPES[out.dtype], stage=abi.BEST, blocks=len(x), has_bias=bias is not None, rows=rows,
            outputs=outputs, weight_stride=_stride(weight), out_stride=outputs,
        )
        for i, block in enumerate(blocks):
            made.block[i] = abi.Block(*block)
        return made

    def native(index: Sequence[Optional[Tensor]]) -> None:
        args = abi.ConcatLinearArgs(weight=weight.data_ptr(), bias=_pointer(bias), out=out.data_ptr())
        for i, block in enumerate(x):
            args.x[i], args.index[i] = block.data_ptr(), _pointer(index[i])
        device_of(out.device).run("concat_linear", key, shape, args)

    def pytorch() -> Tensor:
        return decomposed.contract(list(zip(x, _maps(index, repeats))), weight, bias, -1)

    return _either("cat_linear", native, pytorch, out, index, x)


def _cat_linear_fake(x, index, repeats, weight, bias):
    rows = index[0].shape[0] if index[0] is not None else x[0].shape[0] * repeats[0]
    return weight.new_empty((rows, weight.shape[0]))


def _cat_linear_setup(ctx, inputs, output):
    x, index, ctx.repeats, weight, bias = inputs
    ctx.has_bias = bias is not None
    ctx.save_for_backward(weight, *x, *index)


def _cat_linear_backward(ctx, grad):
    blocks = len(ctx.repeats)
    weight, x, index = ctx.saved_tensors[0], ctx.saved_tensors[1 : 1 + blocks], ctx.saved_tensors[1 + blocks :]
    parts = weight.split([block.shape[1] for block in x], dim=1)
    sums = [_sum_rows(grad, i, n, block.shape[0]) for block, i, n in zip(x, index, ctx.repeats)]
    needs_x, _, _, needs_weight, _ = ctx.needs_input_grad
    grad_x = [s @ w if needed else None for s, w, needed in zip(sums, parts, needs_x)]
    grad_weight = torch.cat([s.mT @ block for s, block in zip(sums, x)], dim=1) if needs_weight else None
    grad_bias = grad.sum(0) if ctx.has_bias else None
    return grad_x, None, None, grad_weight, grad_bias


# --- linear_compression: user [U, Ku, N], candidate [B, Kc, N], weight [M, Ku + Kc] -> [B, M, N]


def _linear_compression(
    user: Tensor, candidate: Tensor, index: Optional[Tensor], repeats: int, weight: Tensor, candidate_first: bool
) -> Tensor:
    batch, width, columns = candidate.shape
    out = _linear_compression_fake(user, candidate, index, repeats, weight, candidate_first)
    _check_alike("linear_compression", [user, candidate, weight], [index])
    fits = user.shape[2] == columns and user.shape[1] + width == weight.shape[1]
    _check("linear_compression", fits, "the sizes of user, candidate and weight disagree")
    _check("linear_compression", index is None or index.shape == (batch,), "the index is not one entry a candidate")
    if batch == 0:
        return out
    user, candidate, weight = user.contiguous(), candidate.contiguous(), _rows(weight)
    kind, bits = _map(user, repeats, index)
    key = (out.dtype, *user.shape, *candidate.shape, kind, bits, repeats, weight.shape[0], _stride(weight), candidate_first)

    def shape() -> abi.LinearCompressionShape:
        return abi.LinearCompressionShape(
            dtype=abi.DTYPES[out.dtype], stage=abi.BEST, map_kind=kind, index_bits=bits, repeats=repeats, batch=batch,
            users=user.shape[0], outputs=out.shape[1], columns=columns, user_width=user.shape[1], candidate_width=width,
            weight_stride=_stride(weight), candidate_first=candidate_first,
        )

    def native(index: Sequence[Optional[Tensor]]) -> None:
        pointers = (user.data_ptr(), candidate.data_ptr(), _pointer(index[0]), weight.data_ptr(), out.data_ptr())
        device_of(out.device).run("linear_compression", key, shape, abi.LinearCompressionArgs(*pointers))

    def pytorch() -> Tensor:
        blocks = [(user, *_maps([index], [repeats])), (candidate, ())]
        return decomposed.contract(blocks[::-1] if candidate_first else blocks, weight, None, -2)

    return _either("linear_compression", native, pytorch, out, [index], [user])


def _linear_compression_fake(user, candidate, index, repeats, weight, candidate_first):
    return weight.new_empty((candidate.shape[0], weight.shape[0], candidate.shape[2]))


def _linear_compression_setup(ctx, inputs, output):
    user, candidate, index, ctx.repeats, weight, ctx.candidate_first = inputs
    ctx.save_for_backward(user, candidate, weight, index)


def _linear_compression_backward(ctx, grad):
    user, candidate, weight, index = ctx.saved_tensors
    needs_user, needs_candidate, _, _, needs_weight, _ = ctx.needs_input_grad
    widths = [user.shape[1], candidate.shape[1]]
    order = [1, 0] if ctx.candidate_first else [0, 1]
    parts = weight.split([widths[i] for i in order], dim=1)
    sums = _sum_rows(grad, index, ctx.repeats, user.shape[0])
    grad_user = parts[order[0]].mT @ sums if needs_user else None
    grad_candidate = parts[order[1]].mT @ grad if needs_candidate else None
    grad_weight = None
    if needs_weight:
        pieces = [torch.einsum("umn,ukn->mk", sums, user), torch.einsum("bmn,bkn->mk", grad, candidate)]
        grad_weight = torch.cat([pieces[i] for i in order], dim=1)
    return grad_user, grad_candidate, None, None, grad_weight, None


# --- attention: q [B, Q, H, D], k and v [U, S, Hkv, D] -> [B, Q, H, D]


def _attention(q: Tensor, k: Tensor, v: Tensor, index: Optional[Tensor], repeats: int, scale: float) -> Tensor:
    batch, queries, heads, width = q.shape
    users, keys, key_heads, _ = k.shape
    out = q.new_empty(q.shape)
    _check_alike("attention", [q, k, v], [index])
    _check("attention", k.shape == v.shape and k.shape[3] == width, "the sizes of q, k and v disagree")
    _check("attention", index is None or index.shape == (batch,), "the index is not one entry a row of q")
    if batch == 0:
        return out
    q, k, v = (_aligned(x.contiguous()) for x in (q, k, v))
    kind, bits = _map(k, repeats, index)
    key = (q.dtype, *q.shape, *k.shape, kind, bits, repeats, scale)

    def shape() -> abi.AttentionShape:
        return abi.AttentionShape(
            dtype=abi.DTYPES[q.dtype], stage=abi.BEST, map_kind=kind, index_bits=bits, repeats=repeats, batch=batch,
            users=users, queries=queries, heads=heads, key_heads=key_heads, head_width=width, keys=keys, scale=scale,
        )

    def native(index: Sequence[Optional[Tensor]]) -> None:
        if index[0] is not None and capturing(q.device):
            raise Refused("attention through an index plans on the host, which a CUDA graph cannot capture")
        args = abi.AttentionArgs(
            q=q.data_ptr(), k=k.data_ptr(), v=v.data_ptr(), index=_pointer(index[0]), out=out.data_ptr()
        )
        device_of(q.device).run("attention", key, shape, args, data_free=index[0] is None)

    def pytorch() -> Tensor:
        return _attention_in_pytorch(q, k, v, index, repeats, scale)

    return _either("attention", native, pytorch, out, [index], [k])


def _attention_in_pytorch(q, k, v, index, repeats, scale):
    grouped = {"enable_gqa": True} if q.shape[2] != k.shape[2] else {}
    kv_map = next(iter(_maps([index], [repeats])[0]), None)
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    return folded.attend(q, k, v, kv_map, None, {"scale": scale, **grouped}).transpose(1, 2).contiguous()


def _attention_fake(q, k, v, index, repeats, scale):
    return q.new_empty(q.shape)


def _attention_setup(ctx, inputs, output):
    q, k, v, index, ctx.repeats, ctx.scale = inputs
    ctx.save_for_backward(q, k, v, index)


def _attention_backward(ctx, grad):
    """With the probabilities written out and computed anew, in fp32 at least: `ikbo_lens.attention` leaves training to
    PyTorch's attention, so this is for those who call the operator by its name."""
    q, k, v, index = ctx.saved_tensors
    rows = lambda x: x if index is None and ctx.repeats == 1 else _maps([index], [ctx.repeats])[0][0].apply(x)
    group, wide = q.shape[2] // k.shape[2], torch.promote_types(q.dtype, torch.float32)
    heads = [x.to(wide).transpose(1, 2) for x in (q, rows(k), rows(v), grad)]
    qh, kh, vh, gh = (x if i in (0, 3) else x.repeat_interleave(group, 1) for i, x in enumerate(heads))
    p = torch.softmax(qh @ kh.mT * ctx.scale, -1)
    gp = gh @ vh.mT
    gs = p * (gp - (gp * p).sum(-1, keepdim=True)) * ctx.scale

    def to_keys(x: Tensor) -> Tensor:  # [B, H, S, D] to the users' [U, S, Hkv, D]
        summed = x.unflatten(1, (k.shape[2], group)).sum(2).transpose(1, 2)
        return _sum_rows(summed, index, ctx.repeats, k.shape[0]).to(k.dtype)

    return (gs @ kh).transpose(1, 2).to(q.dtype), to_keys(gs.mT @ qh), to_keys(p.mT @ gh), None, None, None


# --- shared


def call(name: str, tensors: Sequence[Tensor], *args: object) -> Tensor:
    """Operator `name` on `args`; `tensors` are those of them that a gradient may be wanted of.

    PyTorch's dispatcher takes longer than some of the kernels. Where it has nothing to do, it is left out.
    """
    if (
        torch.compiler.is_compiling()
        or torch._C._len_torch_dispatch_stack() > 0
        or torch.jit.is_tracing()
        or any(type(x) not in (Tensor, torch.nn.Parameter) for x in tensors)
        or (torch.is_grad_enabled() and any(x.requires_grad for x in tensors))
    ):
        return getattr(torch.ops.ikbo_lens, name)(*args)
    return _IMPLEMENTATIONS[name](*args)


def _either(
    name: str,
    native: Callable[[Sequence[Optional[Tensor]]], None],
    pytorch: Callable[[], Tensor],
    out: Tensor,
    index: List[Optional[Tensor]],
    sources: List[Tensor],
) -> Tensor:
    """`out`, filled by the library; or the PyTorch form, where the library refuses. Raises IndexError."""
    if not wanted(name, out.device.type, out.dtype):
        return pytorch()
    try:
        if any(i is not None for i in index) and capturing(out.device):
            native(_counted(index, sources))
            return out
        try:
            native(index)
        except IndexError:
            for i, x in zip(index, sources):
                if i is not None:
                    Map("index", i).check_bounds(x)
            native(_counted(index, sources))
        return out
    except Refused as reason:
        warn_once(f"{name} runs as PyTorch operators: {reason}.")
        return pytorch()


def _counted(index: Sequence[Optional[Tensor]], sources: Sequence[Tensor]) -> List[Optional[Tensor]]:
    """Negative indices counted from the end, as torch reads them and the library does not."""
    return [i if i is None else torch.where(i < 0, i + x.shape[0], i) for i, x in zip(index, sources)]


def _check(name: str, holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(f"torch.ops.ikbo_lens.{name}: {what}.")


def _check_alike(name: str, tensors: Sequence[Optional[Tensor]], index: Sequence[Optional[Tensor]]) -> None:
    """The library gets addresses alone: of one type, on one device."""
    first, *others = (x for x in tensors if x is not None)
    alike = all(x.dtype == first.dtype and x.device == first.device for x in others)
    _check(name, alike, "all tensors must have one dtype and be on one device")
    integral = all(i is None or (i.dtype in (torch.int32, torch.int64) and i.device == first.device) for i in index)
    _check(name, integral, "an index must be int32 or int64, on the device of the tensors")


def _map(source: Tensor, repeats: int, index: Optional[Tensor]) -> Tuple[int, int]:
    """Kind of the map in the ABI, and the bits of its index."""
    if index is not None:
        return abi.INDEX, 8 * index.element_size()
    if repeats == 1:
        return abi.NONE, 0
    return (abi.ALL if source.shape[0] == 1 else abi.REPEATS), 0


def _maps(index: Sequence[Optional[Tensor]], repeats: Sequence[int]) -> List[Tuple[Map, ...]]:
    return [(Map("index", i),) if i is not None else (Map("repeats", n),) if n != 1 else () for i, n in zip(index, repeats)]


def _rows(x: Tensor) -> Tensor:
    """A matrix as the library reads it: rows apart by any stride that is no less than their width, elements adjacent."""
    adjacent = x.stride(1) == 1 or x.shape[1] <= 1
    return x if adjacent and (x.stride(0) >= x.shape[1] or x.shape[0] <= 1) else x.contiguous()


def _stride(x: Tensor) -> int:
    return x.stride(0) if x.shape[0] > 1 else max(x.stride(0), x.shape[1])


def _aligned(x: Tensor) -> Tensor:
    """At an address that the copy engine of a GPU can start from."""
    return x if x.data_ptr() % 16 == 0 else x.clone()


def _pointer(x: Optional[Tensor]) -> Optional[int]:
    return None if x is None else x.data_ptr()


def _sum_rows(grad: Tensor, index: Optional[Tensor], repeats: int, sources: int) -> Tensor:
    """The gradient of the source rows: the transpose of the map, summed in fp32 at least."""
    if index is None:
        return grad if repeats == 1 else grad.unflatten(0, (sources, repeats)).sum(1)
    wide = torch.promote_types(grad.dtype, torch.float32)
    rows = torch.where(index < 0, index + sources, index).long()
    total = grad.new_zeros((sources, *grad.shape[1:]), dtype=wide)
    return total.index_add(0, rows, grad.to(wide)).to(grad.dtype)


_IMPLEMENTATIONS = {"cat_linear": _cat_linear, "linear_compression": _linear_compression, "attention": _attention}
_FAKES = {"cat_linear": _cat_linear_fake, "linear_compression": _linear_compression_fake, "attention": _attention_fake}
_BACKWARDS = {
    "cat_linear": (_cat_linear_setup, _cat_linear_backward),
    "linear_compression": (_linear_compression_setup, _linear_compression_backward),
    "attention": (_attention_setup, _attention_backward),
}
for _name, _implementation in _IMPLEMENTATIONS.items():
    _setup, _backward = _BACKWARDS[_name]
    torch.library.impl(f"ikbo_lens::{_name}", ("cpu", "cuda"), _implementation)
    torch.library.register_fake(f"ikbo_lens::{_name}", _FAKES[_name])
    torch.library.register_autograd(f"ikbo_lens::{_name}", _backward, setup_context=_setup)
