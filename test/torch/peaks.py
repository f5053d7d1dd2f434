"""What a rewrite saves of memory. Reads JSON lines on stdin: {"name", "before", "after", "proof", "cost"}, the texts of a file
before and after its rewrite and of its proof, and the cost that the finding states, an expression over the variables of
`forward`. Prints per line {"name", "before", "after", "stated", "problem"}: the largest number of bytes that torch's
allocator holds during a call of either, and the cost at the sizes of that call; null where its names are not variables.

The cost counts two bytes an element where the text says nothing of the dtype; the call runs in single precision.
"""

import json
import os
import sys
import types
import warnings

import torch

sys.path.append(os.path.join(os.path.dirname(__file__), "../../src/verify"))
from ikbo_verify.memory import peak_bytes  # noqa: E402

warnings.filterwarnings("ignore")
torch.set_num_threads(1)


def load(text, name):
    module = types.ModuleType(name)
    exec(compile(text, name, "exec"), module.__dict__)
    return module


def variables(module, model, arguments):
    """The variables of `forward` when it returns, those that it was given first: names may be bound again."""
    found = {}

    def watch(frame, event, _):
        if event in ("call", "return") and frame.f_code.co_filename == module.__name__:
            for name, value in frame.f_locals.items():
                found.setdefault(name, value)

    sys.setprofile(watch)
    try:
        with torch.no_grad():
            model(*arguments)
    finally:
        sys.setprofile(None)
    return found


def measure(case):
    proof = load(case["proof"], "proof")
    arguments = proof.large()
    peaks, stated = [], None
    for name in ("before", "after"):
        module = load(case[name], name)
        torch.manual_seed(0)
        model = proof.build(module)
        known = variables(module, model, arguments)
        if name == "before":
            try:
                stated = 2 * eval(case["cost"], {"torch": torch}, known)
            except (NameError, SyntaxError, IndexError, AttributeError, TypeError):
                stated = None
        peaks.append(peak_bytes(lambda: model(*arguments)))
    return {"name": case["name"], "before": peaks[0], "after": peaks[1], "stated": stated, "problem": None}


for line in sys.stdin:
    case = json.loads(line)
    try:
        result = measure(case)
    except Exception as error:
        result = {"name": case["name"], "before": 0, "after": 0, "stated": None, "problem": repr(error)}
    print(json.dumps(result), flush=True)
