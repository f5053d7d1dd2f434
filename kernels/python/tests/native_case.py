"""A test of the native library on the CPU, skipped where it is not built."""

import unittest
import warnings

import torch
from reference import assert_close

import ikbo_lens
from ikbo_lens.library import library


class Case(unittest.TestCase):
    def setUp(self):
        if library().missing:
            self.skipTest(library().missing)
        torch.manual_seed(4)
        ikbo_lens.use("native")
        self.addCleanup(ikbo_lens.use, "auto")
        # What falls back says so, and these tests are not about that form.
        caught = warnings.catch_warnings()
        caught.__enter__()
        self.addCleanup(caught.__exit__, None, None, None)
        warnings.simplefilter("error", RuntimeWarning)

    def in_both(self, form, *args, dtype=torch.float32):
        """`form` in the library and in PyTorch's operators: equal results."""
        got = form(*args)
        ikbo_lens.use("torch")
        want = form(*args)
        ikbo_lens.use("native")
        assert_close(self, got, want, dtype)
        return got
