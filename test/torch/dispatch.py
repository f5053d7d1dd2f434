"""Which operators write memory when a module runs. Reads cases as JSON lines {name, text, inputs} from stdin.

Answers {name, wrote}: of the operators that PyTorch dispatches in a forward without gradients, those that gave a new tensor, with
its number of elements. Products, random numbers and views are left out: what stays are copies.
"""

import json
import sys

import torch
from torch.utils._python_dispatch import TorchDispatchMode

PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "convolution", "_trilinear", "einsum"}


class Written(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.found = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = function.overloadpacket.__name__
        known = {x.untyped_storage().data_ptr() for x in args if isinstance(x, torch.Tensor)}
        known |= {x.untyped_storage().data_ptr() for a in args if isinstance(a, (list, tuple)) for x in a if isinstance(x, torch.Tensor)}
        for made in result if isinstance(result, (list, tuple)) else [result]:
            if not isinstance(made, torch.Tensor) or name in PRODUCTS or "attention" in name:
                continue
            if made.untyped_storage().data_ptr() not in known:
                self.found.append([name, made.untyped_storage().nbytes() // made.element_size()])
        return result


for line in sys.stdin:
    case = json.loads(line)
    torch.manual_seed(0)
    scope = {}
    exec(case["text"], scope)  # noqa: S102: the cases are those of the test
    model = scope["Model"]()
    inputs = eval(case["inputs"], scope)  # noqa: S307
    with torch.no_grad(), Written() as written:
        model(*inputs)
    print(json.dumps({"name": case["name"], "wrote": written.found}), flush=True)
