"""Runs pairs of versions of a model file and compares what their outermost modules return.

    python compare_models.py ORIGINAL.py REWRITTEN.py [ORIGINAL.py REWRITTEN.py ...]

Both files run as scripts with the same seed; the outputs of every outermost `nn.Module` call are compared in order, and the
bytes that operators allocate are counted. Prints one JSON line a pair: {"ok", "outputs", "maxError", "relative", "bytes":
[before, after]}, or {"ok": false, "error"} when the outputs differ in number, shape or dtype, or a file does not run. Not ok
is also a difference above 1e-4 of the output's norm (fp32 reassociation is about 1e-6). Exit code 1 unless all are ok.
"""

import contextlib
import io
import json
import runpy
import sys

import torch
from torch.nn.modules import module as hooks
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

LIMIT = 1e-4


class Allocations(TorchDispatchMode):
    """Adds up the bytes of every storage that an operator returns for the first time."""

    def __init__(self):
        super().__init__()
        self.bytes = 0
        self.seen = set()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        old = {t.untyped_storage()._cdata for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)}
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor) and tensor.untyped_storage()._cdata not in old:
                self.bytes += tensor.untyped_storage().nbytes()
        return result


def run(path):
    """The outputs of the outermost module calls of a script, and the bytes allocated inside them."""
    depth, outputs, allocated = 0, [], 0
    mode = None

    def before(module, args):
        nonlocal depth, mode
        if depth == 0:
            mode = Allocations()
            mode.__enter__()
        depth += 1

    def after(module, args, output):
        nonlocal depth, allocated
        depth -= 1
        if depth == 0:
            mode.__exit__(None, None, None)
            allocated += mode.bytes
            outputs.extend(leaf.detach().clone() for leaf in tree_leaves(output) if isinstance(leaf, torch.Tensor))

    torch.manual_seed(0)
    handles = [hooks.register_module_forward_pre_hook(before), hooks.register_module_forward_hook(after)]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(path, run_name="__main__")
    finally:
        for handle in handles:
            handle.remove()
    return outputs, allocated


def compare(original, rewritten):
    (left, before), (right, after) = run(original), run(rewritten)
    shapes = [[(tuple(t.shape), str(t.dtype)) for t in side] for side in (left, right)]
    if not left or shapes[0] != shapes[1]:
        return {"ok": False, "error": f"outputs differ in shape: {shapes[0]} and {shapes[1]}"}
    gaps = [a.double() - b.double() for a, b in zip(left, right)]
    worst = max(gap.norm().item() / max(a.double().norm().item(), 1e-30) for gap, a in zip(gaps, left))
    largest = max(gap.abs().max().item() if gap.numel() else 0.0 for gap in gaps)
    ok = worst <= LIMIT  # False for NaN, too.
    return {"ok": ok, "outputs": len(left), "maxError": largest, "relative": worst, "bytes": [before, after]}


def main(paths):
    results = []
    for original, rewritten in zip(paths[::2], paths[1::2]):
        try:
            results.append(compare(original, rewritten))
        except Exception as error:
            results.append({"ok": False, "error": f"{type(error).__name__}: {error}"})
        print(json.dumps(results[-1]), flush=True)
    return 0 if all(result["ok"] for result in results) else 1


if __name__ == "__main__":
    if len(sys.argv) < 3 or len(sys.argv) % 2 == 0:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
