"""The C ABI (native/include/ikbo.h) through ctypes, for tensors that torch holds. Used by the GPU checks and timings only."""

import ctypes as c
import os
import sys
from contextlib import contextmanager
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
from ikbo_lens import abi  # noqa: E402

DTYPES = abi.DTYPES
MAPS = {"none": abi.NONE, "repeats": abi.REPEATS, "index": abi.INDEX, "all": abi.ALL}
STAGES = {"materialized": 0, "decomposed": 1, "aligned": 2, "fused": 3, "warp-specialized": 4, "best": abi.BEST}
ACTIVATIONS = {"identity": 0, "relu": 1, "gelu": 2, "silu": 3}


class IkboError(RuntimeError):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Library:
    def __init__(self, path=None):
        self.lib = c.CDLL(path or os.environ["IKBO_LIBRARY"])
        abi.declare(self.lib)
        torch.cuda.current_stream()  # torch makes the primary context first
        self.device = c.c_void_p()
        self.check(self.lib.ikbo_device_open(c.c_int32(torch.cuda.current_device()), c.byref(self.device)))

    def check(self, status):
        if status != 0:
            raise IkboError(status, self.lib.ikbo_last_error().decode())

    @contextmanager
    def operator(self, name, shape, args, owner=None):
        """Creates and prepares; yields a function that runs on torch's current stream, with `.kernel` and `.workspace`. The
        function keeps `owner`, and with it the tensors that the arguments point to, alive."""
        op = c.c_void_p()
        self.check(getattr(self.lib, f"ikbo_{name}_create")(self.device, c.byref(shape), c.byref(op)))
        try:
            stream = torch.cuda.current_stream().cuda_stream
            self.check(getattr(self.lib, f"ikbo_{name}_prepare")(op, c.byref(args), stream))
            torch.cuda.synchronize()  # callers run it on streams of their own
            run_native = getattr(self.lib, f"ikbo_{name}_run")

            def run():
                self.check(run_native(op, c.byref(args), torch.cuda.current_stream().cuda_stream))

            run.owner = owner
            run.kernel = self.lib.ikbo_op_kernel(op).decode()
            run.shape_class = self.lib.ikbo_op_class(op).decode()
            run.workspace = self.lib.ikbo_op_workspace_bytes(op)
            yield run
            torch.cuda.synchronize()
        finally:
            self.lib.ikbo_op_destroy(op)


def tuned_file(library):
    """Where the library looks for choices measured on this machine."""
    return library.lib.ikbo_tuned_file(library.device).decode()


def map_fields(kind, rows, source_rows, index=None):
    """(map_kind, index_bits, repeats) of a map; `index` is a tensor for kind "index"."""
    bits = 0 if index is None else index.element_size() * 8
    return MAPS[kind], bits, -(-rows // source_rows) if kind == "repeats" else 0


def rows_of(kind, rows, source_rows, index, device):
    """The source row of every output row, as torch sees it."""
    if kind == "index":
        return index.long()
    at = torch.arange(rows, device=device)
    return {"none": at, "repeats": at // -(-rows // source_rows), "all": torch.zeros_like(at)}[kind]
