"""Which form of the operators runs, and why: the native kernels or PyTorch's operators."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import Dict, Literal, Optional, Sequence, Set, Tuple

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor

from .capture import capturing
from .devices import Refused, device_of
from .library import library

Choice = Literal["auto", "native", "torch"]
_CHOICES = ("auto", "native", "torch")
#: Operations from which "auto" takes the kernels on CUDA, when they are called one by one: below, PyTorch's form of the
#: operator takes the host less time, measured on an H200 (README).
LARGE = 20e9
_DTYPES = {"cpu": (torch.float32, torch.float16, torch.bfloat16), "cuda": (torch.float16, torch.bfloat16)}
_PLAIN = (Tensor, torch.nn.Parameter, FakeTensor, FunctionalTensor)
_BY_CHOICE = 'on the CPU the native kernels are slower for some shapes and processors; use("native") takes them'
_exporting = getattr(torch.compiler, "is_exporting", lambda: False)
_choice: Optional[Choice] = None
_warned: Set[str] = set()
_decided: Dict[Tuple[str, str, torch.dtype], bool] = {}


@dataclass(frozen=True)
class Backend:
    """What runs the operators. `str()` of it is for people."""

    choice: Choice
    #: Path of libikbo, or None.
    library: Optional[str]
    #: "native kernels: DEVICE" or "PyTorch operators: REASON".
    cpu: str
    cuda: str

    def __str__(self) -> str:
        lines = (("library", self.library or library().missing), ("cpu", self.cpu), ("cuda", self.cuda))
        return "\n".join([f"ikbo_lens ({self.choice})", *(f"  {name:8} {text}" for name, text in lines)])


def backend() -> Backend:
    """Which form runs on the CPU and on the current GPU, and why."""
    loaded = library()
    path = f"{loaded.path} ({loaded.version})" if loaded.functions else None
    return Backend(choice(), path, _report("cpu"), _report("cuda"))


def use(wanted: Choice) -> None:
    """Chooses for this process: "auto" (native kernels on CUDA where they pay), "native" (always) or "torch" (never).

    The environment variable IKBO_LENS_BACKEND does the same from outside. Raises ValueError for another word.
    Functions that torch.compile has compiled before keep what they were compiled with.
    """
    global _choice
    _choice = _known(wanted)
    _warned.clear()
    _decided.clear()


def choice() -> Choice:
    return _choice or _known(os.environ.get("IKBO_LENS_BACKEND", "auto"))


def warn_once(text: str) -> None:
    """Each text once in a process, or since the last `use`."""
    if text not in _warned:
        _warned.add(text)
        warnings.warn(f"ikbo_lens: {text} ikbo_lens.backend() says more.", RuntimeWarning, stacklevel=3)


def native(name: str, tensors: Sequence[Tensor], operations: Optional[int] = None) -> bool:
    """Whether operator `name` is to be tried in the library on `tensors`. `operations`: what it adds and multiplies, a
    source row once; None where no number of them is too small."""
    first = tensors[0]
    if not plain(tensors) or not wanted(name, first.device.type, first.dtype):
        return False
    return operations is None or first.device.type == "cpu" or _large(first.device, operations)


def _large(device: torch.device, operations: int) -> bool:
    if _named() == "native":
        return True
    if torch.compiler.is_compiling():
        return _exporting() or operations >= LARGE  # an exported program is not bound to the sizes of its example
    return capturing(device) or operations >= LARGE  # a graph has no host time to save


@torch.compiler.assume_constant_result
def _named() -> Choice:
    return choice()


def plain(tensors: Sequence[Tensor]) -> bool:
    """Whether an operator that sees nothing but addresses and sizes may take these: other subclasses of Tensor,
    transforms and forward-mode tangents are PyTorch's own affair."""
    first = tensors[0]
    if any(type(x) not in _PLAIN or x.layout != torch.strided for x in tensors):
        return False
    if first.device.type not in _DTYPES or any(x.device != first.device or x.dtype != first.dtype for x in tensors):
        return False
    return torch.compiler.is_compiling() or not _transformed()


def _known(wanted: str) -> Choice:
    if wanted not in _CHOICES:
        raise ValueError(f"ikbo_lens: there is no backend {wanted!r}; there are {', '.join(_CHOICES)}.")
    return wanted  # type: ignore[return-value]


def _transformed() -> bool:
    """Within torch.func transforms or forward-mode differentiation."""
    return torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0


@torch.compiler.assume_constant_result  # a decision for the process: torch.compile need not look inside
def wanted(name: str, kind: str, dtype: torch.dtype) -> bool:
    """Whether choice, device and type speak for the library; says once why not, where one might expect it."""
    decided = _decided.get((name, kind, dtype))
    if decided is None:
        decided = _decided[name, kind, dtype] = _decide(name, kind, dtype)
    return decided


def _decide(name: str, kind: str, dtype: torch.dtype) -> bool:
    if choice() == "torch":
        return False
    reason = _refusal(kind)
    if reason:
        if reason != _BY_CHOICE:
            warn_once(f"the operators run as PyTorch operators: {reason}.")
        return False
    if dtype in _DTYPES[kind]:
        return True
    known = " and ".join(str(known)[6:] for known in _DTYPES[kind])
    warn_once(f"{name} runs as PyTorch operators: on {kind} it takes {known}, not {str(dtype)[6:]}.")
    return False


def _refusal(kind: str) -> str:
    """Why no native kernel is tried on this kind of device; empty where one is."""
    if kind not in _DTYPES:
        return f"there are no kernels for device type {kind}"
    if kind == "cpu" and choice() == "auto":
        missing = library().missing or ("" if torch.cuda.is_available() else "there is no CUDA device")
        return missing or _BY_CHOICE
    if kind == "cuda" and not torch.cuda.is_available():
        return library().missing or "there is no CUDA device"
    try:
        device_of(torch.device(kind))
        return ""
    except Refused as reason:
        return str(reason)


def _report(kind: str) -> str:
    if choice() == "torch":
        return "PyTorch operators, as chosen"
    reason = _refusal(kind)
    if reason:
        return f"PyTorch operators: {reason}"
    where = f" from {LARGE / 1e9:.0f} GFLOP and in graphs" if kind == "cuda" and choice() == "auto" else ""
    return f"native kernels{where}: {device_of(torch.device(kind)).describe()}"
