"""Proves rewrites numerically. Reads JSON lines on stdin: {"name", "before", "after", "proof", "autocast"}, the texts of a
file before and after its rewrite and of its proof, and prints per line {"name", "problems", "peaks", "samples"}.

The proof has build(module), which makes the callable under test, and samples(), which yields (title, arguments). Every
sample is run in fp32 and bf16 (and, for a case with "autocast", in fp32 under it), forward and backward, and compared with
the original run in fp64: the rewrite may not be further from it than the original by more than reassociation explains. A
proof of a rewrite that widens a parameter also has narrow(gradient), which takes the new part away.
"""

import json
import linecache
import os
import sys
import types
import warnings

import torch

sys.path.append(os.path.join(os.path.dirname(__file__), "../../src/verify"))
from ikbo_verify.compare import allowance, distance  # noqa: E402
from ikbo_verify.memory import peak_bytes  # noqa: E402

warnings.filterwarnings("ignore")
torch.set_num_threads(1)


def load(text, name):
    module = types.ModuleType(name)
    sys.modules[name] = module
    # Without a modification time the entry stays: TorchScript reads the source through it.
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    exec(compile(text, name, "exec"), module.__dict__)
    return module


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    return [t for v in value for t in tensors(v)] if isinstance(value, (list, tuple, type({}.values()))) else []


def run(model, arguments, dtype, mixed=False):
    """Outputs, inputs after the call, and gradients of a fixed functional of the outputs."""
    given = [a.detach().to(dtype).requires_grad_() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in arguments]
    if isinstance(model, torch.nn.Module):
        model = model.to(dtype)
        leaves = list(model.parameters())
    else:
        leaves = []
    leaves += [a for a in given if isinstance(a, torch.Tensor) and a.requires_grad]
    torch.manual_seed(7)
    with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
        out = tensors(model(*given))
    loss = sum((o.double() * torch.linspace(-1, 1, o.numel(), dtype=torch.float64).reshape(o.shape)).sum() for o in out if o.requires_grad)
    grads = torch.autograd.grad(loss, leaves, allow_unused=True) if isinstance(loss, torch.Tensor) and loss.requires_grad else []
    return [o.detach() for o in out], [g if g is None else g.detach() for g in grads]


def compare(what, before, after, exact, dtype, problems):
    if len(before) != len(after):
        problems.append(f"{what}: {len(after)} tensors, {len(before)} before")
        return
    for i, (b, a, e) in enumerate(zip(before, after, exact)):
        if (b is None) != (a is None):
            problems.append(f"{what} {i}: {'missing' if a is None else 'new'}")
        if b is None or a is None:
            continue
        if b.shape != a.shape or b.dtype != a.dtype:
            problems.append(f"{what} {i}: {tuple(a.shape)} {a.dtype}, before {tuple(b.shape)} {b.dtype}")
            continue
        if "output" in what and b.is_contiguous() and not a.is_contiguous():
            problems.append(f"{what} {i}: no longer contiguous, a view of it may fail")
        if not torch.equal(torch.isfinite(b), torch.isfinite(a)):
            problems.append(f"{what} {i}: other elements are finite")
            continue
        if not distance(a, e) <= allowance(b, e, dtype):
            problems.append(f"{what} {i}: {distance(a, e):.3g} from fp64, the original {distance(b, e):.3g}")


def prove(case):
    problems, peaks = [], None
    before, after = load(case["before"], "before"), load(case["after"], "after")
    proof = load(case["proof"], "proof")

    def make(module):
        torch.manual_seed(0)
        return proof.build(module)

    narrow = getattr(proof, "narrow", None)
    one, other = make(before), make(after)
    if isinstance(one, torch.nn.Module):
        if list(one.state_dict()) != list(other.state_dict()):
            problems.append(f"state_dict changed: {list(other.state_dict())}, before {list(one.state_dict())}")
        elif narrow is None:
            other.load_state_dict(one.state_dict())
    samples = 0
    for title, arguments in proof.samples():
        samples += 1
        modes = [(torch.float32, False), (torch.bfloat16, False)] + [(torch.float32, True)] * case.get("autocast", False)
        for dtype, mixed in modes:
            rounding = torch.bfloat16 if mixed else dtype
            what = f"{title} {'autocast' if mixed else dtype}"
            rounded = [a.to(dtype) if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in arguments]
            exact_model = make(before)
            if isinstance(exact_model, torch.nn.Module):
                exact_model.to(dtype)
            exact, exact_grads = run(exact_model, rounded, torch.float64)
            got, errors = [], []
            for module in (before, after):
                try:
                    got.append(run(make(module), rounded, dtype, mixed))
                except Exception as error:
                    errors.append(f"{what}: {module.__name__} raises {error!r}")
            # Some models do not run under autocast at all.
            if not (mixed and len(errors) == 2):
                problems += errors
            if len(got) == 2:
                (b, bg), (a, ag) = got
                ag = ag if narrow is None else [narrow(g) for g in ag]
                compare(f"{what} output", b, a, exact, rounding, problems)
                compare(f"{what} gradient", bg, ag, exact_grads, rounding, problems)
    if samples == 0:
        problems.append("the proof yields no sample")
    if hasattr(proof, "large"):
        arguments = proof.large()
        peaks = [peak_bytes(lambda model=make(module): model(*arguments)) for module in (before, after)]
    return {"name": case["name"], "problems": problems[:8], "peaks": peaks, "samples": samples}


for line in sys.stdin:
    case = json.loads(line)
    try:
        result = prove(case)
    except Exception as error:
        import traceback

        result = {"name": case["name"], "problems": [traceback.format_exc(limit=-3)], "peaks": None, "samples": 0}
    print(json.dumps(result), flush=True)
