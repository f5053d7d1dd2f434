"""Runs a file before and after a rewrite and compares. Reads JSON lines on stdin, prints one JSON line for each.

A job has `file` (absolute), `original` and `rewritten` (its texts), `folders` (where imports are looked for), `broadcast`
[first line, last line], `consumer` (a line of the same file, or null), `call` (qualified name of the function to call, or
null to choose), `script` (run the file as a program instead), `sizes`, `arguments` (expressions by parameter), `device`
(null: the GPU if there is one), `cells` (of a notebook, whose texts are its cells as one program: number and first line of
each; else null), `keepsGradients` (false: other gradients are no fault).

The answer has `ok`, `call` (what was run, as Python), `torch`, `python`, `runs` (one per dtype: errors of the results and of
their gradients, peak memory); or `missing` (arguments that could not be made, with ways to state them), or `problem` (one
line, why nothing was compared). What user code prints
goes to stderr. Compilers are off: the eager original is what the rewrite is held against.
"""

import json
import os
import sys

# The package's own folder must not shadow the user's modules.
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")
os.environ.setdefault("PYTORCH_JIT", "0")
sys.dont_write_bytecode = True
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)


def main():
    try:
        import torch
    except Exception as error:
        problem = f"PyTorch cannot be imported by {sys.executable}: {type(error).__name__}: {error}"
        for _ in sys.stdin:
            print(json.dumps({"ok": False, "noTorch": True, "problem": problem}), file=answers)
        return
    from ikbo_verify.run import Problem, verify

    sys.path.pop(0)
    for line in sys.stdin:
        job = json.loads(line)
        path = list(sys.path)
        modules = set(sys.modules)
        sys.path[:0] = job["folders"]
        sys.path += job["packages"]
        try:
            answer = verify(job)
        except Problem as error:
            answer = {"ok": False, "problem": str(error)}
        except SystemExit as error:
            answer = {"ok": False, "problem": f"the code ended the process (exit {error.code})"}
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            file = getattr(sys.modules[name], "__file__", None) or ""
            if any(file.startswith(folder + os.sep) and "site-packages" not in file for folder in job["folders"]):
                del sys.modules[name]  # The next job may name another file so.
        print(json.dumps({"torch": torch.__version__, "python": sys.executable, **answer}), file=answers)


main()
