"""The C ABI (native/include/ikbo.h) through ctypes, for tensors that torch holds. Used by the GPU checks and timings only."""

import ctypes as c
import os
from contextlib import contextmanager

import torch

DTYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}
MAPS = {"none": 0, "repeats": 1, "index": 2, "all": 3}
STAGES = {"materialized": 0, "decomposed": 1, "aligned": 2, "fused": 3, "warp-specialized": 4, "best": 100}
ACTIVATIONS = {"identity": 0, "relu": 1, "gelu": 2, "silu": 3}
MAX_BLOCKS = 16


class LinearCompressionShape(c.Structure):
    _fields_ = [
        *((name, c.c_int32) for name in ("dtype", "stage", "map_kind", "index_bits")),
        *((name, c.c_int64) for name in ("repeats", "batch", "users", "outputs", "columns", "user_width", "candidate_width", "weight_stride")),
        *((name, c.c_int32) for name in ("candidate_first", "reserved")),
    ]


class LinearCompressionArgs(c.Structure):
    _fields_ = [(name, c.c_void_p) for name in ("user", "candidate", "index", "weight", "out")]


class Block(c.Structure):
    _fields_ = [
        *((name, c.c_int64) for name in ("source_rows", "width", "row_stride")),
        *((name, c.c_int32) for name in ("map_kind", "index_bits")),
        ("repeats", c.c_int64),
    ]


class ConcatLinearShape(c.Structure):
    _fields_ = [
        *((name, c.c_int32) for name in ("dtype", "activation", "stage", "blocks", "has_bias", "reserved")),
        *((name, c.c_int64) for name in ("rows", "outputs")),
        ("block", Block * MAX_BLOCKS),
        *((name, c.c_int64) for name in ("weight_stride", "out_stride")),
    ]


class ConcatLinearArgs(c.Structure):
    _fields_ = [
        ("x", c.c_void_p * MAX_BLOCKS),
        ("index", c.c_void_p * MAX_BLOCKS),
        *((name, c.c_void_p) for name in ("weight", "bias", "out")),
    ]


class IkboError(RuntimeError):
    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class Library:
    def __init__(self, path=None):
        self.lib = c.CDLL(path or os.environ["IKBO_LIBRARY"])
        self.lib.ikbo_last_error.restype = c.c_char_p
        self.lib.ikbo_op_kernel.restype = c.c_char_p
        self.lib.ikbo_op_kernel.argtypes = [c.c_void_p]
        self.lib.ikbo_op_destroy.argtypes = [c.c_void_p]
        self.lib.ikbo_op_workspace_bytes.restype = c.c_size_t
        self.lib.ikbo_op_workspace_bytes.argtypes = [c.c_void_p]
        for operator in ("linear_compression", "concat_linear"):
            for verb in ("prepare", "run"):
                getattr(self.lib, f"ikbo_{operator}_{verb}").argtypes = [c.c_void_p, c.c_void_p, c.c_void_p]
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
            run.workspace = self.lib.ikbo_op_workspace_bytes(op)
            yield run
            torch.cuda.synchronize()
        finally:
            self.lib.ikbo_op_destroy(op)


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
