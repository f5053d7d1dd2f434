import unittest

import torch
import torch.nn.functional as F
from reference import DTYPES, assert_close, cases, gradients

import ikbo_lens
from ikbo_lens import cat_linear, linear_compression


def tensor(*shape, dtype=torch.float32):
    return torch.randn(*shape).to(dtype).requires_grad_()


class CatLinear(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def check(self, got, want, inputs, dtype):
        assert_close(self, got, want, dtype)
        for a, b in zip(gradients(got, inputs), gradients(want, inputs)):
            assert_close(self, a, b, dtype)

    def test_every_map_equals_the_copy(self):
        for dtype in DTYPES:
            for name, users, m, rows in cases():
                for lead in ((), (3,), (2, 0)):
                    with self.subTest(f"{dtype} {name} lead={lead}"):
                        user, cand = tensor(users, *lead, 4, dtype=dtype), tensor(rows, *lead, 3, dtype=dtype)
                        w, b = tensor(6, 7, dtype=dtype), tensor(6, dtype=dtype)
                        want = F.linear(torch.cat([m.apply(user), cand], dim=-1), w, b)
                        self.check(cat_linear([(user, m), cand], w, b), want, [user, cand, w, b], dtype)

    def test_mapped_block_last_and_in_the_middle(self):
        user, a, b = tensor(2, 4), tensor(6, 3), tensor(6, 5)
        w = tensor(2, 12)
        m = ikbo_lens.repeats(3)
        want = F.linear(torch.cat([a, m.apply(user), b], dim=-1), w)
        self.check(cat_linear([a, (user, m), b], w), want, [user, a, b, w], torch.float32)

    def test_all_blocks_mapped(self):
        user, page, bias = tensor(2, 4), tensor(1, 3), tensor(5)
        w = tensor(5, 7)
        for maps in (
            (ikbo_lens.index(torch.tensor([1, 0, 1])), ikbo_lens.expand(3)),
            (ikbo_lens.tile(2), ikbo_lens.tile(4)),
        ):
            for blocks in ([(user, maps[0]), (page, maps[1])],):
                want = F.linear(torch.cat([maps[0].apply(user), maps[1].apply(page)], dim=-1), w, bias)
                self.check(cat_linear(blocks, w, bias), want, [user, page, w, bias], torch.float32)

    def test_one_expanded_block_owns_its_memory(self):
        page, w = tensor(1, 3), tensor(5, 3)
        out = cat_linear([(page, ikbo_lens.expand(4))], w)
        torch.relu_(out)
        assert_close(self, out, torch.relu(F.linear(page.expand(4, -1), w)), torch.float32)

    def test_two_maps_compose(self):
        user, cand, w = tensor(2, 4), tensor(12, 3), tensor(5, 7)
        sessions, groups = ikbo_lens.index(torch.tensor([1, 0, 1, 1])), ikbo_lens.repeats(3)
        want = F.linear(torch.cat([groups.apply(sessions.apply(user)), cand], dim=-1), w)
        self.check(cat_linear([(user, sessions, groups), cand], w), want, [user, cand, w], torch.float32)

    def test_inner_axis_and_index_of_two_axes(self):
        target, history, w = tensor(2, 1, 4), tensor(2, 6, 3), tensor(5, 7)
        want = F.linear(torch.cat([target.expand(-1, 6, -1), history], dim=-1), w)
        got = cat_linear([(target, ikbo_lens.expand(6, dim=1)), history], w)
        self.check(got, want, [target, history, w], torch.float32)
        user, idx = tensor(3, 4), torch.tensor([[0, 2, 2, 1, 0, 0], [1, 1, 1, 0, 2, -1]])
        want = F.linear(torch.cat([user[idx], history], dim=-1), w)
        self.check(cat_linear([(user, ikbo_lens.index(idx)), history], w), want, [user, history, w], torch.float32)

    def test_blocks_of_width_zero(self):
        user, cand, w, b = tensor(2, 0), tensor(6, 3), tensor(5, 3), tensor(5)
        want = F.linear(torch.cat([user.repeat_interleave(3, 0), cand], dim=-1), w, b)
        self.check(cat_linear([(user, ikbo_lens.repeats(3)), cand], w, b), want, [cand, w, b], torch.float32)

    def test_promotes_as_cat_does(self):
        user, cand, w = torch.ones(2, 4, dtype=torch.int64), torch.randn(6, 3), torch.randn(5, 7)
        want = F.linear(torch.cat([user.repeat_interleave(3, 0), cand], dim=-1), w)
        assert_close(self, cat_linear([(user, ikbo_lens.repeats(3)), cand], w), want, torch.float32)

    def test_under_autocast(self):
        user, cand, fc = torch.randn(2, 4), torch.randn(6, 3), torch.nn.Linear(7, 5)
        with torch.autocast("cpu", torch.bfloat16):
            got = cat_linear([(user, ikbo_lens.repeats(3)), cand], fc.weight, fc.bias)
            want = fc(torch.cat([user.repeat_interleave(3, 0), cand], dim=-1))
        assert_close(self, got, want, torch.bfloat16)

    def test_errors_say_what_and_where(self):
        user, cand, w = torch.randn(2, 4), torch.randn(6, 3), torch.randn(5, 7)
        repeats, index = ikbo_lens.repeats, ikbo_lens.index
        for blocks, weight, bias, error, message in (
            ([], w, None, ValueError, "at least one block"),
            ([(user, repeats(2)), cand], w, None, ValueError, r"block 1 has shape \(6, 3\) and block 0 has \(4, 4\)"),
            ([(user, repeats(3)), cand], w[:, 1:], None, ValueError, r"= 7 wide, the weight of shape \(5, 6\) needs 6"),
            ([(user, repeats(3)), cand], w[0], None, ValueError, r"weight must be \[M, K\]"),
            ([(user, repeats(3)), cand], w, torch.randn(4), ValueError, "bias has shape"),
            ([(user, repeats(3, dim=1)), cand], w, None, ValueError, "take part in the product"),
            ([(user, repeats(3, dim=2)), cand], w, None, IndexError, "dim is 2, but the tensor has 2 axes"),
            ([(user, index(torch.tensor([0, 1, 2, 0, 0, 0]))), cand], w, None, IndexError, r"holds 2.*has 2 rows"),
            ([(user, index(torch.tensor([0, -3, 1, 0, 0, 0]))), cand], w, None, IndexError, "holds -3"),
            ([(user, 3), cand], w, None, TypeError, "block 0 must be a tensor or"),
            ([1, cand], w, None, TypeError, "block 0 must be a tensor or"),
            ([(user, ikbo_lens.expand(6)), cand], w, None, ValueError, "only an axis of size 1 expands"),
            ([(user, repeats(torch.tensor([3, 2, 1]))), cand], w, None, ValueError, "3 counts for 2 rows"),
            ([torch.tensor(1.0), cand], w, None, ValueError, "at least 1 axes"),
        ):
            with self.subTest(message), self.assertRaisesRegex(error, message):
                cat_linear(blocks, weight, bias)


class LinearCompression(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(2)

    def test_every_map_equals_the_copy(self):
        for dtype in DTYPES:
            for name, users, m, rows in cases():
                with self.subTest(f"{dtype} {name}"):
                    user, cand = tensor(users, 4, 8, dtype=dtype), tensor(rows, 3, 8, dtype=dtype)
                    w = tensor(2, 7, dtype=dtype)
                    want = w @ torch.cat([m.apply(user), cand], dim=1)
                    got = linear_compression([(user, m), cand], w)
                    assert_close(self, got, want, dtype)
                    for a, b in zip(gradients(got, [user, cand, w]), gradients(want, [user, cand, w])):
                        assert_close(self, a, b, dtype)

    def test_errors_say_what_and_where(self):
        user, cand, w = torch.randn(2, 4, 8), torch.randn(6, 3, 8), torch.randn(5, 7)
        for blocks, error, message in (
            ([(user, ikbo_lens.repeats(3)), cand[..., :7]], ValueError, "agree in every axis but -2"),
            ([(user, ikbo_lens.repeats(3, dim=1)), cand], ValueError, "last 2 axes take part"),
            ([user[0, 0]], ValueError, "at least 2 axes"),
        ):
            with self.subTest(message), self.assertRaisesRegex(error, message):
                linear_compression(blocks, w)


class Maps(unittest.TestCase):
    def test_bad_arguments(self):
        for make, error, message in (
            (lambda: ikbo_lens.repeats(-1), ValueError, "0 or more"),
            (lambda: ikbo_lens.repeats(True), TypeError, "expected an int"),
            (lambda: ikbo_lens.tile(1.5), TypeError, "expected an int, not float"),
            (lambda: ikbo_lens.repeats(torch.tensor([1, -1])), ValueError, "must not be negative"),
            (lambda: ikbo_lens.repeats(torch.tensor([1.0])), TypeError, "int64 or int32"),
            (lambda: ikbo_lens.index([0, 1]), TypeError, "torch.as_tensor"),
            (lambda: ikbo_lens.index(torch.tensor([True])), TypeError, "not torch.bool"),
        ):
            with self.subTest(message), self.assertRaisesRegex(error, message):
                make()

    def test_no_copy_of_full_width_is_allocated(self):
        """The largest tensor made is the result: B*M elements, not the B*K of the concatenation."""
        from torch.utils._python_dispatch import TorchDispatchMode

        class Largest(TorchDispatchMode):
            elements = 0

            def __torch_dispatch__(self, func, types, args=(), kwargs=None):
                out = func(*args, **(kwargs or {}))
                if isinstance(out, torch.Tensor) and out._base is None:
                    self.elements = max(self.elements, out.untyped_storage().nbytes() // out.element_size())
                return out

        user, cand, w = torch.randn(4, 64), torch.randn(400, 16), torch.randn(8, 80)
        with torch.no_grad(), Largest() as mode:
            cat_linear([(user, ikbo_lens.repeats(100)), cand], w)
        self.assertEqual(mode.elements, 400 * 8)


if __name__ == "__main__":
    unittest.main()
