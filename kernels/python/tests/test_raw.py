"""torch.ops.ikbo_lens, called directly."""

import unittest
import warnings

import torch
from native_case import Case

ops = torch.ops.ikbo_lens


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


if __name__ == "__main__":
    unittest.main()
