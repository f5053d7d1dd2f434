"""Devices of the native library. Each keeps the operators that it has made, because making one allocates its workspace.

An operator is kept per shape and per stream, so that two streams never share a workspace. One that takes part in a CUDA
graph belongs to that graph alone and lives as long as the process.
"""

from __future__ import annotations

import ctypes as c
import os
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import Callable, Dict, Hashable, Optional, Tuple

import torch

from . import abi
from .capture import capture_id, outside_capture
from .library import Library, library

#: Workspace kept on a device for later calls; beyond it, what was not used for longest goes.
KEPT_BYTES = 512 << 20


class Refused(Exception):
    """The library or the device has no kernel for this; the text says what and why."""


@dataclass
class Operator:
    """An operator that the library has made for one shape."""

    name: str
    handle: c.c_void_p
    workspace: int
    prepare: Callable[..., int]
    run: Callable[..., int]
    prepared: bool = False

    def kernel(self) -> str:
        """The kernel that ran last."""
        return library().functions.ikbo_op_kernel(self.handle).decode()


class Device:
    """The CPU or a GPU, opened in the native library. Safe to use from several threads."""

    def __init__(self, loaded: Library, device: torch.device):
        self._library, self._device = loaded, device
        self._lock = threading.Lock()
        self._kept: "OrderedDict[Hashable, Operator]" = OrderedDict()
        self._of_graphs: "dict[Hashable, Operator]" = {}
        self._refused: "dict[Hashable, str]" = {}
        self._handle = c.c_void_p()
        ordinal = -1 if device.type == "cpu" else device.index
        self._check(loaded.functions.ikbo_device_open(ordinal, c.byref(self._handle)))

    def describe(self) -> str:
        """Name and features, as the library sees them."""
        info = abi.DeviceInfo()
        self._check(self._library.functions.ikbo_device_describe(self._handle, c.byref(info)))
        return f"{info.name.decode()}, {info.detail.decode()}"

    def run(
        self, name: str, key: Hashable, shape: Callable[[], c.Structure], args: c.Structure, data_free: bool = False
    ) -> Operator:
        """Runs operator `name` on torch's current stream. `key` stands for what `shape` makes, once for each key.

        Weights and maps are taken in again by every call: they may have changed in ways that torch does not see.
        `data_free`: there are none, so the operator is prepared once.
        Raises Refused, IndexError for an index out of range, MemoryError, RuntimeError for what the driver says.
        """
        if self._device.type == "cpu":
            with self._lock:
                operator = self._kept_for((name, key), shape)
                self._prepare(operator, args, None, data_free)
                self._check(operator.run(operator.handle, c.byref(args), None))
                return operator
        # An index, and the stream as an address: both cost the host several microseconds less.
        with torch.cuda.device(self._device.index), self._lock:
            stream = torch._C._cuda_getCurrentRawStream(self._device.index)
            with outside_capture():
                if torch.cuda.is_current_stream_capturing():
                    operator = self._of_graph((name, key, stream, capture_id(stream)), shape)
                    # What does not depend on data is not for the graph to repeat.
                    aside = torch.cuda.Stream().cuda_stream if data_free else stream
                else:
                    operator, aside = self._kept_for((name, key, stream), shape), stream
                self._prepare(operator, args, aside, data_free)
            self._check(operator.run(operator.handle, c.byref(args), stream))
            return operator

    def _prepare(self, operator: Operator, args: c.Structure, stream: Optional[int], data_free: bool) -> None:
        if data_free and operator.prepared:
            return
        operator.prepared = False
        self._check(operator.prepare(operator.handle, c.byref(args), stream))
        operator.prepared = True

    def _kept_for(self, key: Tuple, shape: Callable[[], c.Structure]) -> Operator:
        operator = self._kept.get(key)
        if operator is None:
            operator = self._kept[key] = self._create(key, shape)
            self._make_room()
        else:
            self._kept.move_to_end(key)
        return operator

    def _of_graph(self, key: Tuple, shape: Callable[[], c.Structure]) -> Operator:
        operator = self._of_graphs.get(key)
        if operator is None:
            operator = self._of_graphs[key] = self._create(key, shape)
        return operator

    def _create(self, key: Tuple, shape: Callable[[], c.Structure]) -> Operator:
        """`key` starts with the operator's name and the key of its shape."""
        name = key[0]
        if key[:2] in self._refused:
            raise Refused(self._refused[key[:2]])
        functions, handle, made = self._library.functions, c.c_void_p(), shape()
        create, prepare, run = (getattr(functions, f"ikbo_{name}_{verb}") for verb in ("create", "prepare", "run"))
        status = create(self._handle, c.byref(made), c.byref(handle))
        if status == abi.OUT_OF_MEMORY and self._device.type == "cuda":
            torch.cuda.empty_cache()  # what torch holds back is not the library's to use
            status = create(self._handle, c.byref(made), c.byref(handle))
        if status == abi.UNSUPPORTED:
            self._refused[key[:2]] = self._library.error()
        self._check(status)
        return Operator(name, handle, functions.ikbo_op_workspace_bytes(handle), prepare, run)

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


_opening = threading.Lock()
_opened: Dict[Tuple[str, Optional[int]], Device] = {}
_forked = False


def _after_fork() -> None:
    """The threads of the library stay in the parent: waiting for them would last for ever."""
    global _forked
    _forked = len(_opened) > 0
    _opened.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)


def device_of(x: torch.device) -> Device:
    """The native device for torch's `x`, opened at first use. Raises Refused where there is none."""
    index = torch.cuda.current_device() if x.type == "cuda" and x.index is None else x.index
    found = _opened.get((x.type, index))
    if found is not None:
        return found
    if library().missing:
        raise Refused(library().missing)
    if _forked:
        raise Refused("this process was forked from one in which the library's threads were running; spawn it instead")
    if x.type not in ("cpu", "cuda"):
        raise Refused(f"the native library has no kernels for device type {x.type}")
    with _opening:
        if (x.type, index) not in _opened:
            _opened[x.type, index] = Device(library(), torch.device(x.type, index))
        return _opened[x.type, index]
