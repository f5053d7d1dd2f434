"""What runs, and what is said, where the native library cannot."""

import multiprocessing
import os
import pathlib
import subprocess
import sys
import unittest
import warnings
from unittest import mock

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import ikbo_lens
from ikbo_lens import abi, attention, cat_linear, devices, linear_compression
from ikbo_lens.library import library

# The package's function of that name hides its module.
backend = sys.modules["ikbo_lens.backend"]


class Fallback(unittest.TestCase):
    def start_anew(self, **env):
        """As in a new process with these environment variables."""
        patched = mock.patch.dict(os.environ, env)
        patched.start()
        self.addCleanup(self.forget)
        self.addCleanup(patched.stop)
        self.forget()

    def forget(self):
        library.cache_clear()
        devices._opened.clear()
        backend._choice = None
        backend._warned.clear()
        backend._decided.clear()

    def said(self, form):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            form()
        return [str(warning.message) for warning in caught]

    def all_three_twice(self):
        x, m, w = torch.ones(2, 1, 4), ikbo_lens.repeats(2), torch.ones(3, 4)
        for _ in range(2):
            cat_linear([(x[:, 0], m)], w)
            linear_compression([(x, m), torch.ones(4, 3, 4)], torch.ones(5, 4))
            attention(torch.ones(4, 1, 4), x, x, m)

    def test_one_warning_without_a_gpu(self):
        self.start_anew(IKBO_LENS_BACKEND="auto")
        with mock.patch("torch.cuda.is_available", lambda: False):
            texts = self.said(self.all_three_twice)
            self.assertEqual(len(texts), 1, texts)
            self.assertIn(f"run as PyTorch operators: {library().missing or 'there is no CUDA device'}", texts[0])

    def test_one_warning_without_a_library(self):
        for choice in ("auto", "native"):
            self.start_anew(IKBO_LENS_LIBRARY="/nowhere/libikbo.so", IKBO_LENS_BACKEND=choice)
            texts = self.said(self.all_three_twice)
            self.assertEqual(len(texts), 1, texts)
            self.assertIn("IKBO_LENS_LIBRARY names no file (looked for /nowhere/libikbo.so)", texts[0])
            self.assertIn("/nowhere/libikbo.so", str(ikbo_lens.backend()))

    def test_no_warning_where_pytorch_was_chosen(self):
        self.start_anew(IKBO_LENS_LIBRARY="/nowhere/libikbo.so", IKBO_LENS_BACKEND="torch")
        self.assertEqual(self.said(self.all_three_twice), [])
        self.assertEqual(ikbo_lens.backend().cpu, "PyTorch operators, as chosen")

    def test_a_file_that_is_no_library(self):
        self.start_anew(IKBO_LENS_LIBRARY=__file__)
        self.assertRegex(str(ikbo_lens.backend()), "cannot be used: .*invalid ELF header")

    def test_a_forked_process_does_not_wait_for_its_parents_threads(self):
        self.start_anew(IKBO_LENS_BACKEND="native")
        if library().missing:
            self.skipTest(library().missing)
        self.all_three_twice()
        child = multiprocessing.get_context("fork").Process(target=self.forked, daemon=True)
        child.start()
        child.join(20)
        self.assertEqual(child.exitcode, 0)  # None: it still waits

    def forked(self):
        torch.set_num_threads(1)  # PyTorch's own threads are not there either
        sys.exit(0 if any("forked" in text for text in self.said(self.all_three_twice)) else 2)

    def test_a_forked_process_ends(self):
        """Its copy of the library has no threads to wait for."""
        if library().missing:
            self.skipTest(library().missing)
        code = """if True:
            import os, sys, torch, ikbo_lens
            ikbo_lens.use("native")
            ikbo_lens.cat_linear([torch.ones(300, 40)], torch.ones(30, 40))
            child = os.fork()
            sys.exit(0 if child == 0 else os.waitpid(child, 0)[1])"""
        package = str(pathlib.Path(ikbo_lens.__file__).parents[1])
        run = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": package}, timeout=60)
        self.assertEqual(run.returncode, 0)

    def test_small_problems_on_a_gpu_are_left_to_pytorch(self):
        """The decision alone, on tensors without memory: it needs no GPU."""
        self.start_anew(IKBO_LENS_BACKEND="auto")
        with mock.patch.object(backend, "wanted", lambda *_: True), FakeTensorMode():
            x = [torch.empty(2, 3, device="cuda", dtype=torch.bfloat16)]
            here = mock.patch("torch.cuda.current_device", lambda: 0)
            with here, mock.patch("torch.cuda.is_current_stream_capturing", lambda: False):
                self.assertFalse(backend.native("cat_linear", x, 10**10))
                self.assertTrue(backend.native("cat_linear", x, 10**11))
                self.assertTrue(backend.native("attention", x, None))
                ikbo_lens.use("native")
                self.assertTrue(backend.native("cat_linear", x, 1))
                ikbo_lens.use("auto")
            with here, mock.patch("torch.cuda.is_current_stream_capturing", lambda: True):
                self.assertTrue(backend.native("cat_linear", x, 1))

    def test_another_abi(self):
        self.start_anew()
        if library().missing:
            self.skipTest(library().missing)
        self.forget()
        expected = f"has ABI version {abi.VERSION}, this package needs 99; build both from one"
        with mock.patch.object(abi, "VERSION", 99):
            self.assertRegex(ikbo_lens.backend().cpu, expected)

    def test_what_the_kernels_do_not_take_is_said_once(self):
        if library().missing:
            self.skipTest(library().missing)
        ikbo_lens.use("native")
        self.addCleanup(ikbo_lens.use, "auto")
        x, w, m = torch.randn(2, 1, 4), torch.randn(3, 4), ikbo_lens.repeats(2)
        fields = torch.randn(2, 2, 4)
        q = torch.randn(4, 3, 4)
        for form, message in (
            (lambda: cat_linear([(x.double(), m)], w.double()), "cat_linear .*: on cpu it takes .*, not float64"),
            (lambda: cat_linear([torch.ones(2, 1)] * 65, torch.ones(3, 65)), "up to 64 blocks, not 65"),
            (lambda: linear_compression([(fields, m), (fields, m)], w), "not 2 with and 0 without"),
            (lambda: attention(q, x, x, m, is_causal=True), "is_causal"),
            (lambda: attention(q, x, x, m, attn_mask=torch.ones(3, 1, dtype=torch.bool)), "no mask"),
            (lambda: attention(q, x, x[..., :2], m), "one shape"),
        ):
            with self.subTest(message):
                texts = self.said(lambda: (form(), form()))
                self.assertEqual(len(texts), 1, texts)
                self.assertRegex(texts[0], message)

    def test_there_is_no_such_backend(self):
        with self.assertRaisesRegex(ValueError, "no backend 'cuda'; there are auto, native, torch"):
            ikbo_lens.use("cuda")


if __name__ == "__main__":
    unittest.main()
