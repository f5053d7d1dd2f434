"""Models of all operators under torch.compile, torch.export and training."""

import io
import unittest

import torch
import torch.nn.functional as F
from native_case import Case
from reference import assert_close, gradients

import ikbo_lens
from ikbo_lens import attention, cat_linear, linear_compression


def operators_in(graph):
    return [str(node.target) for node in graph.nodes if "ikbo_lens" in str(node.target)]


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


if __name__ == "__main__":
    unittest.main()
