"""In which precision code computes, whatever it is given: it may cast."""

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from ikbo_verify.compare import tensors


class Coarsest(TorchDispatchMode):
    """`dtype` is the coarsest floating-point type of what the operators within the block give, or what it was to begin with."""

    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        result = operator(*args, **(kwargs or {}))
        for one in tensors(result):
            if one.is_floating_point() and torch.finfo(one.dtype).eps > torch.finfo(self.dtype).eps:
                self.dtype = one.dtype
        return result
