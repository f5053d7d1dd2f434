"""The operators in the native library, on the CPU, against PyTorch's form."""

import unittest

import torch
import torch.nn.functional as F
from native_case import Case
from reference import assert_close, cases

import ikbo_lens
from ikbo_lens import abi, attention, cat_linear, devices, linear_compression
from ikbo_lens.devices import Device

NATIVE = (torch.float32, torch.float16, torch.bfloat16)


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
        blocks = [torch.randn(4, i) for i in range(1, abi.MAX_BLOCKS + 1)]
        w = torch.randn(3, sum(x.shape[1] for x in blocks))
        self.in_both(lambda: cat_linear(blocks, w))
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


if __name__ == "__main__":
    unittest.main()
