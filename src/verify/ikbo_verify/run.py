"""The comparison itself: the same call on the same data, before and after."""

import contextlib
import inspect
import io
import os
import sys

import torch
from torch.nn.modules import module as hooks
from torch.utils._pytree import tree_map

from ikbo_verify.arguments import arguments_of
from ikbo_verify.compare import differs, largest_error, tensors
from ikbo_verify.errors import Broken, Problem, describe
from ikbo_verify.gradients import SEED, Ready, compare_gradients, taken, widened
from ikbo_verify.load import load, module_name
from ikbo_verify.memory import Peak, default_device, peak_bytes, source_of
from ikbo_verify.notebook import futures_first, names_in, needed, place
from ikbo_verify.precision import Coarsest
from ikbo_verify.target import Reached, target_of

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
# Of a program, from how many of its outermost calls gradients are taken.
GRADIENT_CALLS = 8


def verify(job):
    _, top = module_name(job["file"])
    job["folders"].append(top)
    if top not in sys.path:
        sys.path.insert(0, top)
    if job["cells"]:
        os.chdir(top)  # As a notebook's kernel does.
    job["device"] = job["device"] or default_device()
    try:
        return as_script(job) if job["script"] else as_call(job)
    except Broken as error:
        run = {"dtype": "both", "maxError": None, "problem": str(error), "peakBytes": None}
        return {"ok": False, "call": job["call"] or "the file", "memory": "not measured", "runs": [run]}


def versions(job, name):
    """The modules before and after; of a notebook, what the function `name` needs. Raises Problem when one cannot be imported."""
    made = []
    roots = set().union({name.partition(".")[0]}, *map(names_in, job["arguments"].values()))
    select = (lambda tree: futures_first(needed(tree, roots, job["broadcast"][0]))) if job["cells"] else (lambda tree: tree)
    for label in ("original", "rewritten"):
        try:
            made.append(load(job["file"], job[label], label, select=select))
        except Exception as error:
            again = lambda: load(job["file"], job["original"], "original", select=select)
            raise failure(label, "cannot be imported", error, again) from error
    return made


def failure(label, what, error, again):
    """
    What an error in one of the two files means: a package that is not there says nothing about the rewrite, nor does a file
    that can run only once in a process (it registers an operator), as `again` finds out with the original.
    """
    text = f"the {label} file {what}: {describe(error)}"
    if label == "original" or isinstance(error, ModuleNotFoundError):
        hint = "; install it with: pip install kernels/python" if "ikbo_lens" in str(error) else ""
        return Problem(text + hint)
    try:
        again()
    except BaseException as same:
        if describe(same) == describe(error):
            return Problem(f"the file {what} twice in one process: {describe(error)}")
    return Broken(text)


class Call:
    """One function of one module with the expressions of its arguments."""

    def __init__(self, module, name, job, missing):
        self.module = module
        *owners, self.function = name.split(".")
        holder = module
        for part in owners:
            holder = getattr(holder, part, None)
        function = inspect.getattr_static(holder, self.function, None) if holder else None
        if function is None:
            raise Problem(f"{name} is not in the file; name the function or method to call with --call")
        self.static = isinstance(function, (staticmethod, classmethod))
        self.owner = holder if owners else None
        self.name = name
        sizes, stated = dict(job["sizes"]), job["arguments"]
        self.construct = None
        if self.owner is not None and not self.static:
            docstring = f"{self.owner.__doc__ or ''}\n{self.owner.__init__.__doc__ or ''}"
            self.construct = arguments_of(self.owner.__init__, f"{'.'.join(owners)}()", stated, sizes, missing, docstring)
        callee = getattr(holder, self.function)
        docstring = f"{getattr(callee, '__doc__', None) or ''}\n{(self.owner.__doc__ or '') if self.owner else ''}"
        self.arguments = arguments_of(callee, name, stated, sizes, missing, docstring)
        self.sizes = sizes
        self.state = None

    def text(self):
        show = lambda given: ", ".join(f"{name}={value}" for name, value in given.items())
        if self.construct is None:
            return f"{self.name}({show(self.arguments)})"
        owner = self.name.rpartition(".")[0]
        return f"{owner}({show(self.construct)}).{self.function}({show(self.arguments)})"

    def values(self, expressions):
        torch.manual_seed(SEED)
        helpers = {"torch": torch, "rand": torch.rand, "randn": torch.randn, "randint": torch.randint}
        scope = {**self.sizes, **self.module.__dict__, **helpers}
        made = {}
        for name, expression in expressions.items():
            try:
                made[name] = eval(expression, scope)
            except Exception as error:
                raise Problem(f"the argument {name}={expression} cannot be made: {describe(error)}") from error
        return made

    def prepare(self, dtype, exact, device, state):
        """A call without arguments in `dtype`, or in fp64 on the same rounded data."""
        run_dtype = torch.float64 if exact else dtype
        cast = lambda value: round_to(value, dtype, run_dtype, device)
        arguments = tree_map(cast, self.values(self.arguments))
        callee = getattr(self.owner, self.function) if self.owner else getattr(self.module, self.function)
        parameters = {}
        if self.construct is not None:
            given = self.values(self.construct)
            torch.manual_seed(SEED)
            instance = self.owner(**given)
            if isinstance(instance, torch.nn.Module):
                if state is not None:
                    if list(instance.state_dict()) != list(state):
                        raise Broken("the rewritten class has other parameters: a checkpoint would not load")
                    instance.load_state_dict(widened(state, instance.state_dict()))
                instance = instance.eval().to(dtype).to(device, run_dtype)
            callee = instance if self.function in ("forward", "__call__") else getattr(instance, self.function)
            self.state = instance.state_dict() if isinstance(instance, torch.nn.Module) else None
            if isinstance(instance, torch.nn.Module):
                parameters = {name: one for name, one in instance.named_parameters() if one.requires_grad}
        return Ready(callee, arguments, parameters)


def round_to(value, dtype, run_dtype, device):
    if not isinstance(value, torch.Tensor):
        return value
    return (value.to(dtype).to(run_dtype) if value.is_floating_point() else value).to(device)


def as_call(job):
    try:
        name = job["call"] or target_of(job["original"], job["broadcast"][0], job["consumer"])
    except SyntaxError as error:
        raise Problem(f"the original file cannot be imported: {describe(error)} in {place(job, error.lineno)}")
    if name is None:
        raise Problem("the finding is at module level: run the whole file instead with --main")
    before, after = versions(job, name)
    missing = []
    calls = [Call(before, name, job, missing), Call(after, name, job, [])]
    if missing:
        return {"ok": False, "call": name, "missing": missing}
    runs = [compare(job, calls, label) for label in DTYPES]
    compared = [run for run in runs if "maxError" in run]
    if not compared:
        elsewhere = "" if job["device"] == "cpu" else f" (on {job['device']}; --device cpu runs it there)"
        raise Problem(f"{calls[0].text()} does not run: {runs[0]['skipped']}{elsewhere}")
    return {"call": calls[0].text(), "memory": source_of(job["device"]), **judgement(job, runs)}


def judgement(job, runs):
    """Gradients decide nothing where the condition of the rewrite says that none may be taken."""
    keeps = job["keepsGradients"]
    decide = [run for run in runs if "maxError" in run]
    decide += [run["gradients"] for run in decide if keeps and "problem" in (run.get("gradients") or {})]
    return {"ok": all(run["problem"] is None for run in decide), "keepsGradients": keeps, "runs": runs}


def compare(job, calls, label):
    """One dtype: the original in fp64 as the truth, then both versions."""
    dtype, device = DTYPES[label], job["device"]
    filename = f"{job['file']} (original)"
    original, rewritten = calls
    try:
        call = original.prepare(dtype, False, device, None)
        state = original.state
        with Reached(filename) as reached, Coarsest(dtype) as coarsest:
            before = tensors(call())
    except Problem:
        raise
    except Exception as error:
        return {"dtype": label, "skipped": describe(error)}
    first, last = job["broadcast"]
    if reached.lines.isdisjoint(range(first, last + 1)):
        raise Problem(f"{original.text()} does not reach {place(job, first)}: name what to call with --call, or run the file with --main")
    if not before:
        raise Problem(f"{original.text()} returns no tensor to compare")
    try:
        truth = original.prepare(dtype, True, device, None)
        exact = tensors(truth())
    except Exception:
        truth, exact = None, [None] * len(before)  # Code that insists on a dtype.
    try:
        again = rewritten.prepare(dtype, False, device, state)
        after = tensors(again())
    except (Problem, Broken):
        raise
    except Exception as error:
        return {"dtype": label, "maxError": None, "problem": f"the rewritten code fails: {describe(error)}", "peakBytes": None}
    if len(before) != len(after):
        problem = f"{len(after)} tensors, {len(before)} before"
    else:
        problem = first_difference(before, after, exact, coarsest.dtype)
    error = largest_error(before, after)
    del before, after, exact
    peaks = [peak_bytes(call, device), peak_bytes(again, device)]
    wanted = [one and (lambda one=one: one.gradients(coarsest.dtype)) for one in (call, again, truth)]
    gradients = None if problem else compare_gradients(*wanted, coarsest.dtype)
    return {"dtype": label, "maxError": error, "problem": problem, "peakBytes": peaks, "gradients": gradients}


def first_difference(before, after, exact, dtype):
    found = [differs(b, a, e, dtype) for b, a, e in zip(before, after, exact)]
    return next((f"result {i + 1}: {text}" for i, text in enumerate(found) if text), None)


def as_script(job):
    """Runs the file as a program, before and after: what its outermost modules return is compared, as written."""
    sides = [run_script(job, label) for label in ("original", "rewritten")]
    (before, reached, peaks, old, dtype), (after, _, peaks_after, new, _) = sides
    device = max(peaks, key=peaks.get, default="cpu")
    first, last = job["broadcast"]
    if reached.isdisjoint(range(first, last + 1)):
        raise Problem(f"running the file does not reach {place(job, first)}")
    if not before:
        raise Problem("running the file calls no nn.Module whose results could be compared")
    if len(before) != len(after):
        problem = f"{len(after)} tensors, {len(before)} before"
    else:
        problem = first_difference(before, after, [None] * len(before), dtype)
    peak_bytes = [peaks[device], peaks_after.get(device, 0)]
    gradients = None if problem else compare_gradients(lambda: old, lambda: new, None, dtype)
    run = {"dtype": "as written", "maxError": largest_error(before, after), "problem": problem, "peakBytes": peak_bytes, "gradients": gradients}
    return {"call": "the file as a program", "memory": source_of(device), **judgement(job, [run])}


def run_script(job, label):
    """What the outermost module calls returned, the lines that ran, by device the largest peak of one of those calls,
    gradients of the first calls by name, and the coarsest type that was computed in."""
    depth, count, outputs, peaks, gradients = 0, 0, [], {}, {}
    peak = None

    def enter(module, arguments):
        nonlocal depth, peak
        depth += 1
        if depth == 1:
            peak = Peak(device_of(module, arguments))
            peak.__enter__()

    def leave(module, arguments, output):
        nonlocal depth, count
        depth -= 1
        if depth == 0:
            peak.__exit__()
            peaks[peak.device] = max(peak.bytes, peaks.get(peak.device, 0))
            outputs.extend(tensor.detach().clone() for tensor in tensors(output))
            count += 1
            if count <= GRADIENT_CALLS:
                gradients.update(of_program(count, module, arguments, tensors(output)))

    torch.manual_seed(SEED)
    own = sys.modules["__main__"]
    handles = [hooks.register_module_forward_pre_hook(enter), hooks.register_module_forward_hook(leave)]
    try:
        quiet = contextlib.redirect_stdout(io.StringIO())
        with Reached(f"{job['file']} ({label})") as reached, Coarsest(torch.float32) as coarsest, quiet:
            load(job["file"], job[label], label, "__main__", futures_first)
    except (Exception, SystemExit) as error:
        if not (isinstance(error, SystemExit) and error.code in (None, 0)):
            again = lambda: load(job["file"], job["original"], "original", "__main__", futures_first)
            raise failure(label, "does not run", error, again) from error
    finally:
        for handle in handles:
            handle.remove()
        sys.modules["__main__"] = own
    return outputs, reached.lines, peaks, gradients, coarsest.dtype


def of_program(count, module, arguments, results):
    """Gradients of one call of a program, which goes on as if none had been taken."""
    leaves = {**dict(module.named_parameters()), **{f"argument {i + 1}": one for i, one in enumerate(tensors(arguments))}}
    leaves = {f"{name} in call {count}": one for name, one in leaves.items() if one.requires_grad}
    try:
        return {name: one if one is None else one.clone() for name, one in taken(results, leaves, torch.float32, keep=True).items()}
    except RuntimeError:
        return {}


def device_of(module, arguments):
    """The GPU that a call runs on, else the CPU."""
    held = [*tensors(arguments), *module.parameters()]
    return next((str(one.device) for one in held if one.is_cuda), "cpu")
