"""The operators as PyTorch sees them: torch.ops.ikbo_lens.{cat_linear, linear_compression, attention}.

They take blocks whose leading axes are one, with maps in the form that the native library knows: source row `row //
repeats`, or `index[row]` where there is an index. What the library refuses runs as PyTorch operators, with one warning.
Gradients are those of the decomposed form: what belongs to one source row is summed first, then multiplied.
"""

from __future__ import annotations

from typing import Sequence

import torch
from torch import Tensor

from . import attention, cat_linear, linear_compression

_OPERATORS = {"cat_linear": cat_linear, "linear_compression": linear_compression, "attention": attention}

for _name, _operator in _OPERATORS.items():
    # Schemas are written out: they must not depend on how a release of PyTorch reads annotations.
    torch.library.define(f"ikbo_lens::{_name}", _operator.SCHEMA)
    torch.library.impl(f"ikbo_lens::{_name}", ("cpu", "cuda"), _operator.run)
    torch.library.register_fake(f"ikbo_lens::{_name}", _operator.fake)
    torch.library.register_autograd(f"ikbo_lens::{_name}", _operator.backward, setup_context=_operator.setup)


def call(name: str, tensors: Sequence[Tensor], *args: object) -> Tensor:
    """Operator `name` on `args`; `tensors` are those of them that a gradient may be wanted of.

    PyTorch's dispatcher takes longer than some of the kernels. Where it has nothing to do, it is left out.
    """
    if (
        torch.compiler.is_compiling()
        or torch._C._len_torch_dispatch_stack() > 0
        or torch.jit.is_tracing()
        or any(type(x) not in (Tensor, torch.nn.Parameter) or x.is_neg() for x in tensors)
        or (torch.is_grad_enabled() and any(x.requires_grad for x in tensors))
    ):
        return getattr(torch.ops.ikbo_lens, name)(*args)
    return _OPERATORS[name].run(*args)
