"""The product `weight times x` by every algorithm that cuBLAS proposes for it. PyTorch takes the first proposal; which one is the
fastest depends on the card and on how warm it is, so an opponent that is to be the best has to be looked for."""

import ctypes as c

#: Proposals to ask for; cuBLAS has fewer for most products.
MOST = 64
WORKSPACE_BYTES = 32 << 20  # what PyTorch gives it on the same card

_FLOAT32, _COMPUTE_FLOAT32 = 0, 68  # cudaDataType_t, cublasComputeType_t
_TYPES = {"torch.float16": 2, "torch.bfloat16": 14}
_TRANSPOSE_A, _BATCH_COUNT, _BATCH_STRIDE, _MAX_WORKSPACE = 3, 5, 6, 1  # attributes of a product, of a matrix, of a preference
_TRANSPOSED = 1


class _Proposal(c.Structure):  # cublasLtMatmulHeuristicResult_t
    _fields_ = [
        ("algorithm", c.c_uint64 * 8),
        ("workspace", c.c_size_t),
        ("state", c.c_int),
        ("waves", c.c_float),
        ("reserved", c.c_int * 4),
    ]


class Proposals:
    """The proposals for operands of these sizes, cuBLAS's own choice first. Raises RuntimeError where cuBLAS is not there
    or does not take them."""

    def __init__(self, torch, weight, x):
        """weight [M, K]; x [B, K, N] for out [B, M, N], or x [B, K] for out [B, M]. 16-bit types, contiguous, on one GPU."""
        self.torch, self.matrices = torch, x.dim() == 3
        try:
            self.lib = c.CDLL(f"libcublasLt.so.{torch.version.cuda.split('.')[0]}")
        except (OSError, AttributeError) as error:
            raise RuntimeError(f"cuBLAS cannot be loaded: {error}") from None
        if str(x.dtype) not in _TYPES:
            raise RuntimeError(f"cuBLAS is asked for products of 16-bit types, not of {x.dtype}")
        self.type = _TYPES[str(x.dtype)]
        self.workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=x.device)
        self.handle, self.product = c.c_void_p(), c.c_void_p()
        self._check("create", self.lib.cublasLtCreate(c.byref(self.handle)))
        self._check("describe", self.lib.cublasLtMatmulDescCreate(c.byref(self.product), _COMPUTE_FLOAT32, _FLOAT32))
        rows, width = weight.shape
        # cuBLAS counts columns first: a matrix in rows is its transpose there.
        if self.matrices:
            batch, _, columns = x.shape
            self.shape = (batch, rows, columns)
            self.layouts = (
                self._layout(columns, width, batch, width * columns),
                self._layout(width, rows, batch, 0),
                self._layout(columns, rows, batch, rows * columns),
            )
        else:
            self.shape = (x.shape[0], rows)
            self._set("MatmulDesc", self.product, _TRANSPOSE_A, c.c_int32(_TRANSPOSED))
            self.layouts = (self._layout(width, rows), self._layout(width, x.shape[0]), self._layout(rows, x.shape[0]))
        self.found = self._ask()

    def __len__(self):
        return len(self.found)

    def __call__(self, number, weight, x):
        proposal, one, zero = self.found[number], c.c_float(1), c.c_float(0)
        a, b, d = self.layouts
        left, right = (x, weight) if self.matrices else (weight, x)
        out = x.new_empty(self.shape)
        pointer = lambda tensor: c.c_void_p(tensor.data_ptr())
        stream = c.c_void_p(self.torch.cuda.current_stream().cuda_stream)
        status = self.lib.cublasLtMatmul(
            self.handle, self.product, c.byref(one), pointer(left), a, pointer(right), b, c.byref(zero), pointer(out), d,
            pointer(out), d, proposal.algorithm, pointer(self.workspace), c.c_size_t(WORKSPACE_BYTES), stream,
        )  # fmt: skip
        self._check("multiply", status)
        return out

    def _ask(self):
        preference, found, count = c.c_void_p(), (_Proposal * MOST)(), c.c_int()
        self._check("prefer", self.lib.cublasLtMatmulPreferenceCreate(c.byref(preference)))
        self._set("MatmulPreference", preference, _MAX_WORKSPACE, c.c_size_t(WORKSPACE_BYTES))
        a, b, d = self.layouts
        status = self.lib.cublasLtMatmulAlgoGetHeuristic(
            self.handle, self.product, a, b, d, d, preference, MOST, found, c.byref(count)
        )
        self.lib.cublasLtMatmulPreferenceDestroy(preference)
        self._check("propose", status)
        return [found[i] for i in range(count.value) if found[i].state == 0]

    def _layout(self, rows, columns, batch=1, stride=0):
        layout = c.c_void_p()
        status = self.lib.cublasLtMatrixLayoutCreate(
            c.byref(layout), self.type, c.c_uint64(rows), c.c_uint64(columns), c.c_int64(rows)
        )
        self._check("describe a matrix", status)
        self._set("MatrixLayout", layout, _BATCH_COUNT, c.c_int32(batch))
        self._set("MatrixLayout", layout, _BATCH_STRIDE, c.c_int64(stride))
        return layout

    def _set(self, kind, handle, attribute, value):
        setter = getattr(self.lib, f"cublasLt{kind}SetAttribute")
        self._check("set an attribute", setter(handle, attribute, c.byref(value), c.c_size_t(c.sizeof(value))))

    def _check(self, what, status):
        if status != 0:
            raise RuntimeError(f"cuBLAS answers {status} to: {what}")
