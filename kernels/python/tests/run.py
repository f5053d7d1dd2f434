"""Runs the unit tests of this folder and prints one JSON line per test: {"name", "ok", "skipped", "detail"}."""

import json
import pathlib
import sys
import unittest

import torch

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]


class Lines(unittest.TestResult):
    """A failed subtest fails its test; the first three are shown."""

    def startTest(self, test):
        super().startTest(test)
        self.problems, self.skip = [], ""

    def addSkip(self, test, reason):
        self.skip = reason

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.problems.append(f"{subtest}\n{self._exc_info_to_string(err, test)}")

    def addError(self, test, err):
        self.problems.append(self._exc_info_to_string(err, test))

    addFailure = addError

    def stopTest(self, test):
        shown = "\n".join(self.problems[:3])
        detail = self.skip or f"{len(self.problems)} problems\n{shown}"
        line = {"name": test.id(), "ok": not self.problems, "skipped": self.skip != "", "detail": detail}
        print(json.dumps(line), flush=True)
        super().stopTest(test)


if __name__ == "__main__":
    torch.set_num_threads(1)  # many small products: threads would wait for each other
    unittest.defaultTestLoader.discover(str(HERE)).run(Lines())
