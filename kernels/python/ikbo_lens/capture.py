"""CUDA graph capture: what torch does not show of it, asked of the driver."""

from __future__ import annotations

import ctypes as c
import functools

import torch

_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED


@functools.lru_cache(maxsize=1)
def _driver() -> c.CDLL:
    return c.CDLL("libcuda.so.1")


def capturing(device: torch.device) -> bool:
    """Whether torch's current stream of this device is being captured into a graph."""
    if device.type != "cuda":
        return False
    if device.index is None or device.index == torch.cuda.current_device():
        return torch.cuda.is_current_stream_capturing()
    with torch.cuda.device(device):
        return torch.cuda.is_current_stream_capturing()


def capture_id(stream: int) -> int:
    """The number of the capture that `stream` takes part in, different for every graph of the process."""
    status, number = c.c_int(), c.c_uint64()
    result = _driver().cuStreamGetCaptureInfo_v2(c.c_void_p(stream), c.byref(status), c.byref(number), None, None, None)
    if result != 0:
        raise RuntimeError(f"ikbo_lens: the driver does not tell which graph is being captured (CUDA error {result}).")
    return number.value


class outside_capture:
    """Lets this thread allocate and wait while a stream, this thread's or another's, is captured; as torch's own
    allocator does. A context, and a class since every call enters it."""

    def __enter__(self) -> None:
        self._mode = c.c_int(_RELAXED)
        _driver().cuThreadExchangeStreamCaptureMode(c.byref(self._mode))

    def __exit__(self, *_: object) -> None:
        _driver().cuThreadExchangeStreamCaptureMode(c.byref(self._mode))
