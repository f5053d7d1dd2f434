"""The arm of the benchmark that calls this package."""

import importlib.util
import pathlib
import sys
import tempfile
import unittest

import torch
from native_case import Case
from reference import assert_close

FORMS = pathlib.Path(__file__).parents[3] / "src" / "bench" / "torch" / "forms.py"


def load():
    # Run as a program, it finds the modules beside it.
    sys.path.insert(0, str(FORMS.parent))
    spec = importlib.util.spec_from_file_location("forms", FORMS)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Benchmark(Case):
    def test_the_arm_computes_what_is_written(self):
        forms = load()
        linear = {"B": 12, "U": 3, "Ku": 20, "Kc": 14, "M": 17, "N": 24}
        attention = {"B": 12, "U": 3, "Q": 5, "S": 7, "H": 4, "Hkv": 2, "D": 16}
        sizes = {"user": 3 * 20 * 24, "candidate": 12 * 14 * 24, "weight": 17 * 34, "q": 12 * 5 * 4 * 16}
        with tempfile.TemporaryDirectory() as folder:
            files = {name: f"{folder}/{name}" for name in (*sizes, "k", "v", "index")}
            for name in (*sizes, "k", "v"):
                torch.randn(sizes.get(name, 3 * 7 * 2 * 16)).numpy().tofile(files[name])
            torch.randint(0, 3, (12,), dtype=torch.int32).numpy().tofile(files["index"])
            for op, dims in (("concat-linear", linear), ("linear-compression", linear), ("attention", attention)):
                for repeats in (None, 4):
                    question = dict(op=op, dims=dims, repeats=repeats, dtype="fp32", files=files, sets=1)
                    problem = forms.Problem(torch, torch.device("cpu"), question)
                    got, want = (problem.form(name)(problem.sets[0]) for name in ("ikbo-lens", "as-written"))
                    assert_close(self, got, want, torch.float32)


if __name__ == "__main__":
    unittest.main()
