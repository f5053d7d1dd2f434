"""PyTorch's machinery around the operators on a GPU: streams, graphs, torch.compile, gradients, autocast, warnings."""

import threading
import warnings

import torch
import torch.nn.functional as F
from gpu_support import CUDA, RAN, check, error, expect, random

import ikbo_lens
from ikbo_lens import attention, cat_linear, linear_compression


@check
def streams_do_not_share_workspace():
    streams = [torch.cuda.Stream() for _ in range(3)]
    w = random(512, 1024)
    sets = [(random(16, 512), random(4096, 512), torch.randint(0, 16, (4096,), device=CUDA)) for _ in streams]
    torch.cuda.synchronize()
    outs = [[] for _ in streams]
    for _ in range(10):
        for stream, (user, cand, index), out in zip(streams, sets, outs):
            with torch.cuda.stream(stream):
                out.append(cat_linear([(user, ikbo_lens.index(index)), cand], w))
    torch.cuda.synchronize()
    for (user, cand, index), out in zip(sets, outs):
        expect(error(out[0], F.linear(torch.cat([user[index], cand], 1).double(), w.double())) < 1e-2, "a wrong result")
        expect(all(torch.equal(out[0], other) for other in out), "results differ between streams or calls")


class Ranker(torch.nn.Module):
    def __init__(self, plain=False, mapped_attention=False):
        super().__init__()
        self.plain, self.mapped_attention = plain, mapped_attention
        self.fc = torch.nn.Linear(128, 64)
        self.weight = torch.nn.Parameter(torch.randn(8, 24) / 5)

    def forward(self, user, cand, fields, slots, keys, index):
        m, groups = ikbo_lens.index(index), ikbo_lens.repeats(len(cand) // len(keys))
        kv_map = m if self.mapped_attention else groups
        if self.plain:
            h = self.fc(torch.cat([user[index], cand], -1))
            c = self.weight @ torch.cat([fields[index], slots], 1)
            k = kv_map.apply(keys)
            a = F.scaled_dot_product_attention(h[:, None], k, k)
        else:
            h = cat_linear([(user, m), cand], self.fc.weight, self.fc.bias)
            c = linear_compression([(fields, m), slots], self.weight)
            a = attention(h[:, None], keys, keys, kv_map)
        return torch.relu(h).float().sum(-1) + c.flatten(1).float().sum(-1) + a.flatten(1).float().sum(-1)


def ranker(**options):
    torch.manual_seed(0)
    models = [Ranker(plain, **options).to(CUDA, torch.bfloat16) for plain in (False, True)]
    models[1].load_state_dict(models[0].state_dict())
    shapes = ((4, 64), (32, 64), (4, 16, 32), (32, 8, 32), (4, 20, 64))
    return *models, [*(random(*shape) for shape in shapes), torch.randint(0, 4, (32,), device=CUDA)]


def close(got, want):
    return torch.allclose(got, want, atol=0.5, rtol=0.05)


@check
def cuda_graphs_replay_on_new_data():
    for mapped in (False, True):
        ours, plain, inputs = ranker(mapped_attention=mapped)
        with torch.no_grad():
            graph = torch.cuda.CUDAGraph()
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                ours(*inputs)
            torch.cuda.current_stream().wait_stream(side)
            RAN.clear()
            with torch.cuda.graph(graph):
                out = ours(*inputs)
            expect(len(RAN) == 3, f"captured {RAN}")
            for _ in range(3):
                for x in inputs[:-1]:
                    x.normal_()
                inputs[-1].random_(0, 4)
                ours.weight.data.mul_(1.1)
                plain.load_state_dict(ours.state_dict())
                graph.replay()
                expect(close(out, plain(*inputs)), "a replay does not see its new inputs")


@check
def two_graphs_do_not_share_workspace():
    w = random(512, 1024)
    sets, graphs = [], []
    for _ in range(2):
        user, cand, index = random(16, 512), random(8192, 512), torch.randint(0, 16, (8192,), device=CUDA)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):  # without a call before it: the workspace is made while capturing
            out = cat_linear([(user, ikbo_lens.index(index)), cand], w)
        sets.append((user, cand, index, out))
        graphs.append(graph)
    streams = [torch.cuda.Stream() for _ in graphs]
    torch.cuda.synchronize()
    for _ in range(20):
        for stream, graph in zip(streams, graphs):
            with torch.cuda.stream(stream):
                graph.replay()
    torch.cuda.synchronize()
    for user, cand, index, out in sets:
        expect(
            error(out, F.linear(torch.cat([user[index], cand], 1).double(), w.double())) < 1e-2,
            "graphs disturb each other",
        )


@check
def calls_beside_a_capture_of_another_thread():
    user, cand, w = random(16, 64), random(96, 64), random(64, 128)
    index = torch.randint(0, 16, (96,), device=CUDA)
    outs, graph = [], torch.cuda.CUDAGraph()

    def call():
        with torch.no_grad(), torch.cuda.stream(torch.cuda.Stream()):
            outs.append(cat_linear([(user, ikbo_lens.index(index)), cand], w))

    # In the default mode torch itself may not allocate in the other thread.
    with torch.no_grad(), torch.cuda.graph(graph, capture_error_mode="thread_local"):
        outs.append(cat_linear([(user, ikbo_lens.repeats(6)), cand], w))
        other = threading.Thread(target=call)
        other.start()
        other.join()
    graph.replay()
    torch.cuda.synchronize()
    expect(len(outs) == 2, "the call beside the capture failed")
    for out, a_map in zip(outs, (ikbo_lens.repeats(6), ikbo_lens.index(index))):
        want = F.linear(torch.cat([a_map.apply(user), cand], 1).double(), w.double())
        expect(error(out, want) < 1e-2, "a wrong result")


@check
def compiled_models():
    done = []
    for backend in ("aot_eager", "cudagraphs", "inductor"):
        torch._dynamo.reset()
        ours, plain, inputs = ranker()
        compiled = torch.compile(ours, fullgraph=True, backend=backend)
        try:
            with torch.no_grad():
                for _ in range(4):
                    got = compiled(*inputs).clone()
                    inputs[-1].random_(0, 4)
                    want = plain(*inputs)
                    got = compiled(*inputs).clone()
                    expect(close(got, want), f"{backend}: another result")
            done.append(backend)
        except AssertionError:
            raise
        except Exception as reason:
            if backend != "inductor":
                raise
            done.append(f"inductor does not run here: {type(reason).__name__}")
    return ", ".join(done)


@check
def exported_models():
    ours, plain, inputs = ranker()
    with torch.no_grad():
        program = torch.export.export(ours, tuple(inputs))
        called = [str(node.target) for node in program.graph.nodes if "ikbo_lens" in str(node.target)]
        expect(len(called) == 3, f"exported {called}")
        RAN.clear()
        got = program.module()(*inputs)
        expect(len(RAN) == 3, f"ran {RAN}")
        expect(close(got, plain(*inputs)), "another result")
    return ", ".join(called)


@check
def gradients_equal_those_of_the_plain_model():
    ours, plain, inputs = ranker()
    got, want = (torch.autograd.grad(model(*inputs).sum(), list(model.parameters())) for model in (ours, plain))
    for a, b in zip(got, want):
        expect(error(a, b.double()) < 2e-2, f"{error(a, b.double()):.1e}")


@check
def autocast_and_fp32():
    user, cand, fc = torch.randn(4, 64, device=CUDA), torch.randn(8, 64, device=CUDA), torch.nn.Linear(128, 64).to(CUDA)
    m = ikbo_lens.repeats(2)
    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
        got = cat_linear([(user, m), cand], fc.weight, fc.bias)
    expect(got.dtype == torch.bfloat16 and len(RAN) == 1, "autocast is not followed")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ikbo_lens.use("native")
        for _ in range(3):
            cat_linear([(user, m), cand], fc.weight, fc.bias)
    texts = [str(w.message) for w in caught]
    expect(len(texts) == 1 and "bfloat16, not float32" in texts[0], str(texts))


@check
def what_no_kernel_takes_is_said_once():
    q, k = random(6, 2, 3, 12), random(2, 2, 5, 12)
    m = ikbo_lens.repeats(3)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ikbo_lens.use("native")
        outs = [attention(q, k, k, m) for _ in range(3)]
    texts = [str(w.message) for w in caught]
    expect(len(texts) == 1 and "a multiple of 8, not 12" in texts[0], str(texts))
    want = F.scaled_dot_product_attention(q, m.apply(k), m.apply(k))
    expect(all(error(out, want.double()) < 1e-2 for out in outs), "another result")
    expect(RAN == [], str(RAN))
