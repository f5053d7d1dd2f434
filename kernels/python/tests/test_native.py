"""The native library through torch.ops.ikbo_lens, on the CPU, against PyTorch's form. Skipped where it is not built."""

import contextlib
import io
import os
import sys
import unittest
import warnings
from unittest import mock

import torch
import torch.nn.functional as F
from reference import assert_close, cases, gradients

import ikbo_lens
from ikbo_lens import abi, attention, cat_linear, devices, linear_compression
from ikbo_lens.devices import Device
from ikbo_lens.library import library

# The package's function of that name hides its module.
backend = sys.modules["ikbo_lens.backend"]
ops = torch.ops.ikbo_lens
NATIVE = (torch.float32, torch.float16, torch.bfloat16)


def operators_in(graph):
    return [str(node.target) for node in graph.nodes if "ikbo_lens" in str(node.target)]


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


class Operators(Case):
    def test_every_map_equals_the_pytorch_form(self):
        for dtype in NATIVE:
            for name, users, m, rows in cases():
                for lead in ((), (3,)):
                    with self.subTest(f"{dtype} {name} lead={lead}"):
                        user, cand = torch.randn(users, *lead, 5).to(dtype), torch.randn(rows, *lead, 3).to(dtype)
                        w, b = torch.randn(6, 8).to(dtype), torch.randn(6).to(dtype)
                        self.in_both(lambda: cat_linear([(user, m), cand], w, b), dtype=dtype)
                        user, cand = torch.randn(users, *lead, 4, 9).to(dtype), torch.randn(rows, *lead, 3, 9).to(dtype)
                        w = torch.randn(2, 7).to(dtype)
                        self.in_both(lambda: linear_compression([(user, m), cand], w), dtype=dtype)
                        self.in_both(lambda: linear_compression([cand, (user, m)], w), dtype=dtype)
                with self.subTest(f"attention {dtype} {name}"):
                    q = torch.randn(rows, 4, 3, 8).to(dtype)
                    k, v = torch.randn(users, 2, 5, 8).to(dtype), torch.randn(users, 2, 5, 8).to(dtype)
                    self.in_both(lambda: attention(q, k, v, m, enable_gqa=True, scale=0.3), dtype=dtype)
                    self.in_both(lambda: attention(q[:, 0], k[:, 0], v[:, 0], m), dtype=dtype)

    def test_the_library_did_it(self):
        """Nothing above can pass by falling back: the operators are called, and their kernels have names."""
        seen, run = [], Device.run
        Device.run = lambda self, name, *args, **kw: seen.append((name, run(self, name, *args, **kw).kernel()))
        self.addCleanup(setattr, Device, "run", run)
        x, m = torch.randn(2, 4), ikbo_lens.repeats(3)
        cat_linear([(x, m), torch.randn(6, 4)], torch.randn(5, 8))
        linear_compression([(torch.randn(2, 4, 8), m), torch.randn(6, 3, 8)], torch.randn(5, 7))
        attention(torch.randn(6, 1, 8), torch.randn(2, 5, 8), torch.randn(2, 5, 8), m)
        self.assertEqual([name for name, _ in seen], ["concat_linear", "linear_compression", "attention"])
        for _, kernel in seen:
            self.assertRegex(kernel, "^cpu ")

    def test_strides_are_taken_as_they_are(self):
        user, cand = torch.randn(2, 12)[:, 2:6], torch.randn(3, 6).t()
        w, b = torch.randn(5, 20)[:, 3:10], torch.randn(10)[::2]
        idx = torch.tensor([1, 0, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1])[::2]
        self.in_both(lambda: cat_linear([(user, ikbo_lens.index(idx)), cand], w, b))
        self.in_both(lambda: cat_linear([user[:1].expand(6, 4), cand], w, b))
        user, cand = torch.randn(8, 2, 4).permute(1, 2, 0), torch.randn(6, 6, 8)[:, ::2]
        self.in_both(lambda: linear_compression([(user, ikbo_lens.index(idx)), cand], w))
        # As projections leave them, and at an address that no copy engine likes.
        q, k, v = (torch.randn(n, s, 2, 8).transpose(1, 2) for n, s in ((6, 3), (2, 5), (2, 5)))
        self.in_both(lambda: attention(q, k, v, ikbo_lens.index(idx)))
        # The result lies in memory as the queries do, whatever they are.
        self.assertTrue(attention(q, k, v, ikbo_lens.index(idx)).transpose(1, 2).is_contiguous())
        self.assertTrue(attention(q.contiguous(), k, v, ikbo_lens.index(idx)).is_contiguous())
        odd = torch.randn(2 * 5 * 2 * 8 + 1)[1:].view(2, 5, 2, 8).transpose(1, 2)
        self.in_both(lambda: attention(q, odd, v, ikbo_lens.index(idx)))

    def test_no_operand_is_copied(self):
        from torch.utils._python_dispatch import TorchDispatchMode

        made, known = [], set()

        class Made(TorchDispatchMode):
            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                out = func(*args, **(kwargs or {}))
                storage = out.untyped_storage().data_ptr() if isinstance(out, torch.Tensor) else None
                if "ikbo_lens" not in str(func) and storage not in known and getattr(out, "numel", int)() > 1:
                    made.append(func)
                known.add(storage)
                return out

        user, cand, w = torch.randn(2, 9)[:, :4], torch.randn(6, 9)[:, :3], torch.randn(5, 9)[:, :7]
        q, k, v = (torch.randn(n, 1, 2, 8).transpose(1, 2) for n in (6, 2, 2))
        idx = torch.tensor([1, 0, 0, 0, 1, 1])
        known.update(x.untyped_storage().data_ptr() for x in (user, cand, w, q, k, v, idx))
        with Made():
            cat_linear([(user, ikbo_lens.index(idx)), cand], w)
            attention(q, k, v, ikbo_lens.index(idx))
        self.assertEqual(made, [])

    def test_many_blocks_without_a_map_or_with_maps_alone(self):
        blocks = [torch.randn(4, i) for i in range(1, 17)]
        self.in_both(lambda: cat_linear(blocks, torch.ones(3, 136)))
        m = ikbo_lens.index(torch.tensor([0, 0, 1]))
        x, w = torch.randn(2, 4), torch.randn(3, 8)
        self.in_both(lambda: cat_linear([(x, m), (x, m)], w))

    def test_data_changed_behind_torch_is_seen(self):
        """Weights through .data and an index that NumPy writes: no version of a tensor tells of these."""
        x, w, idx = torch.randn(2, 4), torch.randn(3, 4), torch.tensor([0, 0, 0])
        form = lambda: cat_linear([(x, ikbo_lens.index(idx))], w)
        self.in_both(form)
        w.data.mul_(2)
        self.in_both(form)
        idx.numpy()[:] = 1
        self.in_both(form)
        idx.numpy()[1] = 2
        with self.assertRaisesRegex(IndexError, "holds 2, but axis 0"):
            form()

    def test_an_index_out_of_range_is_an_error_and_is_not_read(self):
        user, cand, w = torch.randn(2, 4), torch.randn(3, 3), torch.randn(5, 7)
        q, k = torch.randn(3, 1, 8), torch.randn(2, 5, 8)
        for dtype in (torch.int32, torch.int64):
            for wrong in (2, -3, 2**31 - 1, -(2**31)):
                m = ikbo_lens.index(torch.tensor([0, wrong, 1], dtype=dtype))
                for form in (
                    lambda: cat_linear([(user, m), cand], w),
                    lambda: linear_compression([(user.view(2, 4, 1), m), cand.view(3, 3, 1)], w),
                    lambda: attention(q, k, k, m),
                ):
                    with self.subTest(f"{wrong}"), self.assertRaisesRegex(IndexError, f"holds {wrong}, but axis 0"):
                        form()

    def test_more_workspace_than_is_kept(self):
        kept, devices.KEPT_BYTES = devices.KEPT_BYTES, 1 << 12
        self.addCleanup(setattr, devices, "KEPT_BYTES", kept)
        for _ in range(2):
            for rows in range(1, 9):
                self.in_both(lambda: cat_linear([torch.ones(rows, 40)], torch.ones(30, 40)))
        self.assertLess(len(devices.device_of(torch.device("cpu"))._kept), 3)

    def test_threads_share_a_device(self):
        from concurrent.futures import ThreadPoolExecutor

        w = torch.randn(8, 8)
        xs = [torch.randn(4, 8) for _ in range(32)]
        with ThreadPoolExecutor(4) as pool:
            for x, got in zip(xs, pool.map(lambda x: cat_linear([x], w), xs)):
                assert_close(self, got, F.linear(x, w), torch.float32)


class Raw(Case):
    """torch.ops.ikbo_lens called directly: the library gets addresses, so nothing may pass that is not what it says."""

    def test_wrong_operands(self):
        x, w, i = torch.randn(2, 4), torch.randn(3, 4), torch.tensor([0, 1, 1])
        k = torch.randn(2, 5, 1, 8)
        for call, message in (
            (lambda: ops.cat_linear([x.half()], [None], [1], w, None), "one dtype"),
            (lambda: ops.cat_linear([x], [i.float()], [1], w, None), "int32 or int64"),
            (lambda: ops.cat_linear([x[:, :3]], [None], [1], w, None), "widths do not sum"),
            (lambda: ops.cat_linear([x, x], [i, i[:2]], [1, 1], torch.randn(3, 8), None), "not one entry a row"),
            (lambda: ops.cat_linear([x], [None], [1], w, torch.randn(2)), "bias is not one entry"),
            (lambda: ops.cat_linear([k], [None], [1], w, None), "must be matrices"),
            (lambda: ops.linear_compression(k[0], k[0], None, 1, w, False), "disagree"),
            (lambda: ops.attention(k, k, k[:, :4], None, 1, 1.0), "disagree"),
        ):
            with self.subTest(message), self.assertRaisesRegex(ValueError, message):
                call()

    def test_opcheck(self):
        """Schemas, fake kernels and autograd registration, by torch's own test; `Models` has the tracing."""
        tests = ("test_schema", "test_autograd_registration", "test_faketensor")
        i = torch.tensor([1, 0, 1], dtype=torch.int32)
        grad = lambda *shape: torch.randn(*shape, requires_grad=True)
        for op, args in (
            (ops.cat_linear, ([grad(2, 4), grad(3, 2)], [i, None], [1, 1], grad(5, 6), grad(5))),
            (ops.cat_linear, ([grad(2, 4), grad(6, 2)], [None, None], [3, 1], grad(5, 6), None)),
            (ops.linear_compression, (grad(2, 4, 8), grad(3, 2, 8), i, 1, grad(5, 6), False)),
            (ops.linear_compression, (grad(2, 4, 8), grad(6, 2, 8), None, 3, grad(5, 6), True)),
            (ops.attention, (grad(3, 2, 2, 8), grad(2, 5, 1, 8), grad(2, 5, 1, 8), i, 1, 0.3)),
        ):
            torch.library.opcheck(op, args, test_utils=tests)

    def test_gradcheck_in_double(self):
        """The library takes no doubles, so this is the gradient of the formulas over PyTorch's form."""
        warnings.simplefilter("ignore", RuntimeWarning)
        i = torch.tensor([1, -2, 1, 1])
        grad = lambda *shape: torch.randn(*shape, dtype=torch.float64, requires_grad=True)
        check = torch.autograd.gradcheck
        user, cand, w, b = grad(2, 3), grad(4, 2), grad(4, 5), grad(4)
        self.assertTrue(check(lambda u, c, w, b: ops.cat_linear([u, c], [i, None], [1, 1], w, b), (user, cand, w, b)))
        repeated = lambda u, c, w, b: ops.cat_linear([c, u], [None, None], [1, 2], w, b)
        self.assertTrue(check(repeated, (user, cand, w, b)))
        user, cand = grad(2, 3, 2), grad(4, 2, 2)
        for first in (False, True):
            for index, repeats in ((i, 1), (None, 2)):
                op = lambda u, c, w: ops.linear_compression(u, c, index, repeats, w, first)
                self.assertTrue(check(op, (user, cand, w)))
        q, k, v = grad(4, 2, 2, 4), grad(2, 3, 1, 4), grad(2, 3, 1, 4)
        for index, repeats in ((i, 1), (None, 2)):
            self.assertTrue(check(lambda q, k, v: ops.attention(q, k, v, index, repeats, 0.5), (q, k, v)))

    def test_gradients_of_gradients(self):
        warnings.simplefilter("ignore", RuntimeWarning)
        i = torch.tensor([1, 0, 1])
        args = [torch.randn(*s, dtype=torch.float64, requires_grad=True) for s in ((2, 3), (3, 2), (2, 5))]
        op = lambda u, c, w: ops.cat_linear([u, c], [i, None], [1, 1], w, None)
        self.assertTrue(torch.autograd.gradgradcheck(op, args))


class Ranker(torch.nn.Module):
    """All three operators, written for ikbo_lens or as plain PyTorch."""

    def __init__(self, plain):
        super().__init__()
        self.plain = plain
        self.fc = torch.nn.Linear(12, 16)
        self.weight = torch.nn.Parameter(torch.randn(4, 7) / 3)

    def forward(self, user, cand, fields, slots, keys, idx):
        m = ikbo_lens.index(idx)
        if self.plain:
            h = self.fc(torch.cat([user[idx], cand], -1))
            c = self.weight @ torch.cat([fields[idx], slots], 1)
            k = keys[idx]
            a = F.scaled_dot_product_attention(h[:, None], k, k)
        else:
            h = cat_linear([(user, m), cand], self.fc.weight, self.fc.bias)
            c = linear_compression([(fields, m), slots], self.weight)
            a = attention(h[:, None], keys, keys, m)
        return torch.relu(h).sum(-1) + c.flatten(1).sum(-1) + a.flatten(1).sum(-1)

    @staticmethod
    def inputs(rows=6):
        shapes = ((2, 8), (rows, 4), (2, 5, 16), (rows, 2, 16), (2, 9, 16))
        return [*(torch.randn(*s) for s in shapes), torch.randint(0, 2, (rows,))]


class Models(Case):
    def setUp(self):
        super().setUp()
        self.model, self.plain = Ranker(False), Ranker(True)
        self.plain.load_state_dict(self.model.state_dict())

    def test_gradients_equal_those_of_the_plain_model(self):
        inputs = Ranker.inputs()
        for x in inputs[:-1]:
            x.requires_grad_()
        wanted = [[*inputs[:-1], *model.parameters()] for model in (self.model, self.plain)]
        got, want = self.model(*inputs), self.plain(*inputs)
        assert_close(self, got, want, torch.float32)
        for a, b in zip(gradients(got, wanted[0]), gradients(want, wanted[1])):
            assert_close(self, a, b, torch.float32)

    def test_compile_sees_the_operators_and_keeps_one_graph(self):
        for dynamic in (False, True):
            torch._dynamo.reset()
            seen = []

            def backend(graph, _inputs):
                seen.extend(operators_in(graph.graph))
                return graph.forward

            compiled = torch.compile(self.model, fullgraph=True, dynamic=dynamic, backend=backend)
            with torch.no_grad():
                for rows in (6, 10):
                    inputs = Ranker.inputs(rows)
                    assert_close(self, compiled(*inputs), self.plain(*inputs), torch.float32)
            names = {name.split(".")[-1] for name in seen}
            self.assertEqual(names, {"cat_linear", "linear_compression", "attention"})
            self.assertEqual(len(seen), 3 if dynamic else 6)

    def test_compiled_training_step(self):
        torch._dynamo.reset()
        compiled = torch.compile(self.model, fullgraph=True, backend="aot_eager")
        inputs = Ranker.inputs()
        got = gradients(compiled(*inputs), list(self.model.parameters()))
        for a, b in zip(got, gradients(self.plain(*inputs), list(self.plain.parameters()))):
            assert_close(self, a, b, torch.float32)

    def test_export_round_trip_with_a_dynamic_batch(self):
        batch = torch.export.Dim("batch", min=2, max=64)
        dynamic = [None, {0: batch}, None, {0: batch}, None, {0: batch}]
        with torch.no_grad():
            program = torch.export.export(self.model, tuple(Ranker.inputs()), dynamic_shapes=dynamic)
        self.assertEqual(len(operators_in(program.graph)), 3)
        file = io.BytesIO()
        torch.export.save(program, file)
        file.seek(0)
        loaded = torch.export.load(file).module()
        inputs = Ranker.inputs(11)
        assert_close(self, loaded(*inputs), self.plain(*inputs), torch.float32)

    def test_other_worlds_of_tensors_take_the_pytorch_form(self):
        user, cand, w = torch.randn(2, 4), torch.randn(3, 6, 3), torch.randn(5, 7)
        form = lambda c: cat_linear([(user, ikbo_lens.repeats(3)), c], w)
        assert_close(self, torch.func.vmap(form)(cand), torch.stack([form(c) for c in cand]), torch.float32)
        value, tangent = torch.func.jvp(form, (cand[0],), (cand[1],))
        assert_close(self, tangent, F.linear(cand[1], w[:, 4:]), torch.float32)


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
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(BaseException):
                code = 0 if any("forked" in text for text in self.said(self.all_three_twice)) else 2
            os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_another_abi(self):
        self.start_anew()
        if library().missing:
            self.skipTest(library().missing)
        self.forget()
        with mock.patch.object(abi, "VERSION", 99):
            self.assertRegex(ikbo_lens.backend().cpu, "has ABI version 1, this package needs 99; build both from one")

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
            (lambda: cat_linear([torch.ones(2, 1)] * 17, torch.ones(3, 17)), "up to 16 blocks, not 17"),
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
