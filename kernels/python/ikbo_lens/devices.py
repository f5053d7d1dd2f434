"""Devices of the native library. Each keeps the operators that it has made, because making one allocates its workspace.

An operator is kept per shape and per stream, so that two streams never share a workspace. One that takes part in a CUDA
graph belongs to that graph alone and lives as long as the process.
"""

from __future__ import annotations

import ctypes as c
import functools
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Hashable, Tuple

import torch

from . import abi
from .capture import capture_id, capturing, outside
from .library import Library, library

#: Workspace kept on a device for later calls; beyond it, what was not used for longest goes.
KEPT_BYTES = 512 << 20


class Refused(Exception):
    """The library or the device has no kernel for this; the text says what and why."""


@dataclass
class _Operator:
    handle: c.c_void_p
    workspace: int = 0
    prepared: bool = False


class Device:
    """The CPU or a GPU, opened in the native library. Safe to use from several threads."""

    def __init__(self, loaded: Library, device: torch.device):
        self._library, self._device = loaded, device
        self._lock = threading.Lock()
        self._kept: "OrderedDict[Hashable, _Operator]" = OrderedDict()
        self._of_graphs: "dict[Hashable, _Operator]" = {}
        self._handle = c.c_void_p()
        ordinal = -1 if device.type == "cpu" else device.index
        self._check(loaded.functions.ikbo_device_open(ordinal, c.byref(self._handle)))

    def describe(self) -> str:
        """Name and features, as the library sees them."""
        info = abi.DeviceInfo()
        self._check(self._library.functions.ikbo_device_describe(self._handle, c.byref(info)))
        return f"{info.name.decode()}, {info.detail.decode()}"

    def run(self, name: str, shape: c.Structure, args: c.Structure, data_free: bool = False) -> str:
        """Runs operator `name` on torch's current stream and returns the name of its kernel.

        Weights and maps are taken in again by every call: they may have changed in ways that torch does not see.
        `data_free`: there are none, so the operator is prepared once.
        Raises Refused, IndexError for an index out of range, MemoryError, RuntimeError for what the driver says.
        """
        stream = torch.cuda.current_stream(self._device).cuda_stream if self._device.type == "cuda" else 0
        captured = capturing(self._device)
        functions = self._library.functions
        with self._lock:
            with outside(captured):
                operator = self._operator(name, shape, stream, captured)
                if not (data_free and operator.prepared):
                    operator.prepared = False
                    # What does not depend on data is not for the graph to repeat.
                    aside = torch.cuda.Stream(self._device).cuda_stream if captured and data_free else stream
                    self._check(getattr(functions, f"ikbo_{name}_prepare")(operator.handle, c.byref(args), aside))
                    operator.prepared = True
            self._check(getattr(functions, f"ikbo_{name}_run")(operator.handle, c.byref(args), stream))
            return functions.ikbo_op_kernel(operator.handle).decode()

    def _operator(self, name: str, shape: c.Structure, stream: int, captured: bool) -> _Operator:
        key: Tuple[Hashable, ...] = (name, bytes(shape), stream)
        if captured:
            key = (*key, capture_id(stream))
            if key not in self._of_graphs:
                self._of_graphs[key] = self._create(name, shape)
            return self._of_graphs[key]
        if key not in self._kept:
            self._kept[key] = self._create(name, shape)
            self._make_room()
        self._kept.move_to_end(key)
        return self._kept[key]

    def _create(self, name: str, shape: c.Structure) -> _Operator:
        functions, handle = self._library.functions, c.c_void_p()
        create = getattr(functions, f"ikbo_{name}_create")
        status = create(self._handle, c.byref(shape), c.byref(handle))
        if status == abi.OUT_OF_MEMORY and self._device.type == "cuda":
            torch.cuda.empty_cache()  # what torch holds back is not the library's to use
            status = create(self._handle, c.byref(shape), c.byref(handle))
        self._check(status)
        return _Operator(handle, functions.ikbo_op_workspace_bytes(handle))

    def _make_room(self) -> None:
        """Frees the operators that were not used for longest; never the newest."""
        surplus = sum(operator.workspace for operator in self._kept.values()) - KEPT_BYTES
        while surplus > 0 and len(self._kept) > 1:
            if self._device.type == "cuda":
                torch.cuda.synchronize(self._device)
            _, oldest = self._kept.popitem(last=False)
            surplus -= oldest.workspace
            self._library.functions.ikbo_op_destroy(oldest.handle)

    def _check(self, status: int) -> None:
        if status == 0:
            return
        text = self._library.error()
        if status == abi.BAD_INDEX:
            raise IndexError(f"ikbo_lens: {text}.")
        if status in (abi.UNSUPPORTED, abi.NO_DEVICE):
            raise Refused(text)
        raise (MemoryError if status == abi.OUT_OF_MEMORY else RuntimeError)(f"ikbo_lens: the native library: {text}.")


@functools.lru_cache(maxsize=None)
def _opened(kind: str, index: int) -> Device:
    return Device(library(), torch.device(kind, index) if kind == "cuda" else torch.device(kind))


def device_of(x: torch.device) -> Device:
    """The native device for torch's `x`, opened at first use. Raises Refused where there is none."""
    if library().missing:
        raise Refused(library().missing)
    if x.type not in ("cpu", "cuda"):
        raise Refused(f"the native library has no kernels for device type {x.type}")
    return _opened(x.type, torch.cuda.current_device() if x.type == "cuda" and x.index is None else x.index or 0)
