"""The C ABI of libikbo (native/include/ikbo.h) in ctypes: its structures and the signatures of what is called."""

from __future__ import annotations

import ctypes as c
from typing import Dict, List, Tuple, Type

import torch

VERSION = 3
MAX_BLOCKS = 64
BEST = 100  # ikbo_stage: picks by shape
NONE, REPEATS, INDEX, ALL, INDEX_FROM_END = range(5)  # ikbo_map_kind
INVALID, BAD_INDEX, UNSUPPORTED, NO_DEVICE, OUT_OF_MEMORY, DRIVER = range(1, 7)  # ikbo_status
DTYPES = {torch.float32: 0, torch.float16: 1, torch.bfloat16: 2}


def _fields(kind: type, names: str) -> List[Tuple[str, type]]:
    return [(name, kind) for name in names.split()]


class DeviceInfo(c.Structure):
    _fields_ = [
        ("name", c.c_char * 128),
        ("detail", c.c_char * 256),
        *_fields(c.c_int32, "ordinal capability units"),
        *_fields(c.c_int64, "memory_bytes cache_bytes"),
    ]


class Block(c.Structure):
    _fields_ = [
        *_fields(c.c_int64, "source_rows width row_stride"),
        *_fields(c.c_int32, "map_kind index_bits"),
        ("repeats", c.c_int64),
    ]


class ConcatLinearShape(c.Structure):
    _fields_ = [
        *_fields(c.c_int32, "dtype activation stage blocks has_bias tile"),
        *_fields(c.c_int64, "rows outputs"),
        ("block", Block * MAX_BLOCKS),
        *_fields(c.c_int64, "weight_stride out_stride"),
    ]


class ConcatLinearArgs(c.Structure):
    _fields_ = [
        ("x", c.c_void_p * MAX_BLOCKS),
        ("index", c.c_void_p * MAX_BLOCKS),
        *_fields(c.c_void_p, "weight bias out"),
    ]


class LinearCompressionShape(c.Structure):
    _fields_ = [
        *_fields(c.c_int32, "dtype stage map_kind index_bits"),
        *_fields(c.c_int64, "repeats batch users outputs columns user_width candidate_width weight_stride"),
        *_fields(c.c_int32, "candidate_first tile"),
    ]


class LinearCompressionArgs(c.Structure):
    _fields_ = _fields(c.c_void_p, "user candidate index weight out")


class AttentionShape(c.Structure):
    _fields_ = [
        *_fields(c.c_int32, "dtype stage map_kind index_bits"),
        *_fields(c.c_int64, "repeats batch users queries heads key_heads head_width keys total_keys"),
        *_fields(c.c_int32, "ragged want_lse"),
        ("scale", c.c_float),
        ("tile", c.c_int32),
    ]


class AttentionArgs(c.Structure):
    _fields_ = _fields(c.c_void_p, "q k v key_offsets index out lse")


OPERATORS: Dict[str, Tuple[Type[c.Structure], Type[c.Structure]]] = {
    "concat_linear": (ConcatLinearShape, ConcatLinearArgs),
    "linear_compression": (LinearCompressionShape, LinearCompressionArgs),
    "attention": (AttentionShape, AttentionArgs),
}


def declare(library: c.CDLL) -> None:
    """Gives the functions of `library` their signatures. Raises AttributeError when one is missing."""
    handle = c.c_void_p
    library.ikbo_abi_version.restype = c.c_int32
    for name in ("ikbo_version", "ikbo_last_error"):
        getattr(library, name).restype = c.c_char_p
    library.ikbo_device_open.argtypes = [c.c_int32, c.POINTER(handle)]
    library.ikbo_device_describe.argtypes = [handle, c.POINTER(DeviceInfo)]
    library.ikbo_op_workspace_bytes.argtypes = [handle]
    library.ikbo_op_workspace_bytes.restype = c.c_size_t
    for name in ("ikbo_op_kernel", "ikbo_op_class", "ikbo_tuned_file"):
        getattr(library, name).argtypes = [handle]
        getattr(library, name).restype = c.c_char_p
    library.ikbo_op_destroy.argtypes = [handle]
    library.ikbo_op_destroy.restype = None
    for name, (shape, args) in OPERATORS.items():
        getattr(library, f"ikbo_{name}_create").argtypes = [handle, c.POINTER(shape), c.POINTER(handle)]
        for verb in ("prepare", "run"):
            getattr(library, f"ikbo_{name}_{verb}").argtypes = [handle, c.POINTER(args), handle]
