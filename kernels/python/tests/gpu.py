"""The operators on a CUDA device: checks against fp64 and against PyTorch's form, then times. Needs torch with CUDA and
libikbo.so built with its kernels: IKBO_LENS_LIBRARY=build/native/libikbo.so python3 kernels/python/tests/gpu.py

Prints a line per check, PASS or FAIL, and exits with 1 when one failed."""

import pathlib
import statistics
import sys
import time
import traceback
import warnings

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import ikbo_lens  # noqa: E402
from ikbo_lens import attention, cat_linear, linear_compression  # noqa: E402
from ikbo_lens.devices import Device  # noqa: E402

CUDA = torch.device("cuda")
HALVES = (torch.bfloat16, torch.float16)
FAILED = []
#: Kernels that ran, in order: nothing may pass by falling back unseen.
RAN = []
run_native = Device.run


def recording(self, *args, **options):
    operator = run_native(self, *args, **options)
    RAN.append(operator.kernel())
    return operator


Device.run = recording


def check(function):
    RAN.clear()
    start = time.time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            note = function() or ""
        torch.cuda.synchronize()
        print(f"PASS {function.__name__} ({time.time() - start:.1f} s) {note}", flush=True)
    except Exception as error:
        FAILED.append(function.__name__)
        print(f"FAIL {function.__name__}: {type(error).__name__}: {error}", flush=True)
        traceback.print_exc(limit=4, file=sys.stdout)


def random(*shape, dtype=torch.bfloat16):
    return torch.randn(shape, device=CUDA).to(dtype)


def expect(holds, what):
    if not holds:
        raise AssertionError(what)


def error(got, exact):
    return float((got.double() - exact).norm() / exact.norm().clamp(min=1e-30))


def as_good_as_pytorch(form, exact, what):
    """The native result against fp64: no worse than 1.2 times PyTorch's form in the same type."""
    ran = len(RAN)
    got = form()
    expect(got.numel() == 0 or len(RAN) > ran, f"{what}: the library was not called")
    ikbo_lens.use("torch")
    try:
        theirs = form()
    finally:
        ikbo_lens.use("auto")
    expect(got.shape == theirs.shape and got.dtype == theirs.dtype, f"{what}: {got.shape} {got.dtype}")
    mine, allowed = error(got, exact), 1.2 * error(theirs, exact) + 1e-4
    expect(mine <= allowed, f"{what}: error {mine:.2e}, allowed {allowed:.2e}")


def maps(users, rows):
    """Maps of `users` rows onto `rows`, a multiple of `users`."""
    index = torch.randint(-users, users, (rows,), device=CUDA)
    yield "index64", ikbo_lens.index(index)
    yield "index32", ikbo_lens.index(torch.randint(0, users, (rows,), device=CUDA, dtype=torch.int32))
    yield "repeats", ikbo_lens.repeats(rows // users)
    yield "tile", ikbo_lens.tile(rows // users)
    uneven = torch.zeros(users, dtype=torch.long, device=CUDA)
    uneven[-1] = rows
    yield "repeats(counts)", ikbo_lens.repeats(uneven)
    if users == 1:
        yield "expand", ikbo_lens.expand(rows)


@check
def products_equal_fp64():
    shapes = ((256, 8, 64, 64, 64), (130, 13, 57, 33, 21), (1, 1, 8, 8, 8), (96, 1, 512, 128, 256), (300, 300, 40, 24, 8), (1000, 4, 7, 9, 33))
    for dtype in HALVES:
        for rows, users, ku, kc, m in shapes:
            user, cand, w, b = random(users, ku, dtype=dtype), random(rows, kc, dtype=dtype), random(m, ku + kc, dtype=dtype), random(m, dtype=dtype)
            for name, a_map in maps(users, rows):
                exact = F.linear(torch.cat([a_map.apply(user), cand], 1).double(), w.double(), b.double())
                what = f"cat_linear {dtype} {(rows, users, ku, kc, m)} {name}"
                as_good_as_pytorch(lambda: cat_linear([(user, a_map), cand], w, b), exact, what)
            fields, slots = random(users, ku, 24, dtype=dtype), random(rows, kc, 24, dtype=dtype)
            for name, a_map in maps(users, rows):
                exact = w.double() @ torch.cat([slots, a_map.apply(fields)], 1).double()
                swapped = torch.cat([w[:, kc:], w[:, :kc]], 1)
                what = f"linear_compression {dtype} {(rows, users, ku, kc, m)} {name}"
                as_good_as_pytorch(lambda: linear_compression([slots, (fields, a_map)], w), exact, what)
                exact = swapped.double() @ torch.cat([a_map.apply(fields), slots], 1).double()
                as_good_as_pytorch(lambda: linear_compression([(fields, a_map), slots], swapped), exact, what)
    return f"kernels {sorted(set(RAN))}"


@check
def attention_equals_fp64():
    for dtype in HALVES:
        for rows, users, length, keys, heads, key_heads, width in (
            (64, 4, 16, 256, 2, 2, 128), (36, 6, 1, 33, 4, 2, 64), (5, 5, 3, 17, 1, 1, 64), (12, 1, 7, 100, 6, 2, 128), (24, 3, 2, 50, 2, 2, 40),
        ):
            q = random(rows, length, heads, width, dtype=dtype).transpose(1, 2)
            k, v = (random(users, keys, key_heads, width, dtype=dtype).transpose(1, 2) for _ in range(2))
            for name, a_map in maps(users, rows):
                kk, vv = (a_map.apply(x).double().repeat_interleave(heads // key_heads, 1) for x in (k, v))
                exact = torch.softmax(q.double() @ kk.mT * width**-0.5, -1) @ vv
                what = f"attention {dtype} {(rows, users, length, keys, heads, key_heads, width)} {name}"
                as_good_as_pytorch(lambda: attention(q, k, v, a_map, enable_gqa=True), exact, what)
    return f"kernels {sorted(set(RAN))}"


@check
def warp_specialized_kernels_are_chosen():
    m = ikbo_lens.repeats(32)
    cat_linear([(random(8, 512), m), random(256, 512)], random(512, 1024), random(512))
    linear_compression([(random(8, 200, 64), m), random(256, 120, 64)], random(64, 320))
    attention(random(256, 2, 4, 64), random(8, 2, 128, 64), random(8, 2, 128, 64), m)
    # Slices whose rows no copy engine can start from: other kernels, the same values.
    wide = random(256, 600)
    user, w = random(8, 512), random(512, 1024)
    got = cat_linear([(user, m), wide[:, 3:515]], w)
    expect(error(got, F.linear(torch.cat([m.apply(user), wide[:, 3:515]], 1).double(), w.double())) < 1e-2, "a slice")
    return str(RAN)


@check
def edge_sizes():
    for rows, users, ku, kc, m in ((0, 2, 8, 8, 8), (0, 0, 8, 8, 8), (4, 2, 0, 8, 8), (4, 2, 8, 0, 8), (4, 2, 8, 8, 0), (1, 1, 1, 1, 1), (1, 2, 8, 8, 8)):
        user, cand, w, b = random(users, ku), random(rows, kc), random(m, ku + kc), random(m)
        index = torch.zeros(rows, dtype=torch.int32, device=CUDA)
        got = cat_linear([(user, ikbo_lens.index(index)), cand], w, b)
        want = F.linear(torch.cat([user[index.long()], cand], 1), w, b)
        expect(got.shape == want.shape and torch.allclose(got, want, atol=0.1, rtol=0.05), f"cat_linear {(rows, users, ku, kc, m)}")
        fields, slots = random(users, ku, 16), random(rows, kc, 16)
        got, want = linear_compression([(fields, ikbo_lens.index(index)), slots], w), w @ torch.cat([fields[index.long()], slots], 1)
        expect(got.shape == want.shape and torch.allclose(got, want, atol=0.1, rtol=0.05), f"linear_compression {(rows, users, ku, kc, m)}")
    empty = attention(random(0, 2, 3, 64), random(2, 2, 5, 64), random(2, 2, 5, 64), ikbo_lens.index(torch.zeros(0, dtype=torch.long, device=CUDA)))
    expect(empty.shape == (0, 2, 3, 64), "attention of nothing")


@check
def wrong_indices_are_reported_and_not_read():
    user, cand, w = random(4, 64), random(8, 64), random(64, 128)
    q, k = random(8, 1, 2, 64), random(4, 1, 32, 64)
    for wrong in (4, -5, 2**31 - 1):
        for dtype in (torch.int32, torch.int64):
            index = torch.zeros(8, dtype=dtype, device=CUDA)
            index[5] = wrong
            m = ikbo_lens.index(index)
            for form in (
                lambda: cat_linear([(user, m), cand], w),
                lambda: linear_compression([(user[..., None].expand(4, 64, 8), m), cand[..., None].expand(8, 64, 8)], w),
                lambda: attention(q, k, k, m),
            ):
                try:
                    form()
                except IndexError as reported:
                    expect(f"holds {wrong}" in str(reported), str(reported))
                else:
                    raise AssertionError(f"index {wrong} was accepted")
    torch.cuda.synchronize()  # the device is still in order
    cat_linear([(user, ikbo_lens.repeats(2)), cand], w)


@check
def changes_behind_torch_are_seen():
    user, cand, w, index = random(4, 64), random(8, 64), random(64, 128), torch.zeros(8, dtype=torch.long, device=CUDA)
    form = lambda: cat_linear([(user, ikbo_lens.index(index)), cand], w)
    for change in (lambda: w.data.mul_(0.5), lambda: index.fill_(3), lambda: user.data.neg_()):
        change()
        expect(error(form(), F.linear(torch.cat([user[index], cand], 1).double(), w.double())) < 1e-2, "a stale operand")


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
        with torch.no_grad(), warnings.catch_warnings():
            if mapped:  # said in a warning: attention through an index becomes copies in a graph
                warnings.simplefilter("ignore", RuntimeWarning)
            graph = torch.cuda.CUDAGraph()
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                ours(*inputs)
            torch.cuda.current_stream().wait_stream(side)
            RAN.clear()
            with torch.cuda.graph(graph):
                out = ours(*inputs)
            expect(len(RAN) == (2 if mapped else 3), f"captured {RAN}")
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
        expect(error(out, F.linear(torch.cat([user[index], cand], 1).double(), w.double())) < 1e-2, "graphs disturb each other")


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
        ikbo_lens.use("auto")
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
        ikbo_lens.use("auto")
        outs = [attention(q, k, k, m) for _ in range(3)]
    texts = [str(w.message) for w in caught]
    expect(len(texts) == 1 and "a multiple of 8, not 12" in texts[0], str(texts))
    want = F.scaled_dot_product_attention(q, m.apply(k), m.apply(k))
    expect(all(error(out, want.double()) < 1e-2 for out in outs), "another result")
    expect(RAN == [], str(RAN))


def milliseconds(forms, seconds=0.15):
    """Median of batches, back to back, all forms in turns: what a caller sees, host time included where it is longer."""
    times = {name: [] for name in forms}
    counts = {}
    for name, form in forms.items():
        for _ in range(3):
            form()
        torch.cuda.synchronize()
        start = time.perf_counter()
        form()
        torch.cuda.synchronize()
        counts[name] = max(1, int(seconds / 5 / (time.perf_counter() - start)))
    for _ in range(5):
        for name, form in forms.items():
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(counts[name]):
                form()
            torch.cuda.synchronize()
            times[name].append((time.perf_counter() - start) / counts[name] * 1e3)
    return {name: statistics.median(values) for name, values in times.items()}


def chosen(backend, form):
    def call():
        ikbo_lens.use(backend)
        return form()

    return call


def replayed(form):
    """`form` in a CUDA graph: what the device alone takes. None where it cannot be captured."""
    form()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            form()
    except Exception:
        torch.cuda.synchronize()
        return None
    return graph.replay


def line(what, forms):
    """Calls one by one, and replays of graphs of them."""
    graphs = {f"{name}, graph": replayed(form) for name, form in forms.items()}
    times = milliseconds({**forms, **{name: replay for name, replay in graphs.items() if replay}})
    ratios = [f"{times['ikbo'] / times['pytorch form']:.2f}"]
    if "ikbo, graph" in times and "pytorch form, graph" in times:
        ratios.append(f"{times['ikbo, graph'] / times['pytorch form, graph']:.2f}")
    print(f"TIME {what:58}", "  ".join(f"{name} {ms:.4f}" for name, ms in times.items()), " ikbo/pytorch form", *ratios, flush=True)


def host_time(rows, users, ku, kc, m, calls=40):
    """Where the host spends a call: few enough calls that it never waits for the device."""
    user, cand, w, b = random(users, ku), random(rows, kc), random(m, ku + kc), random(m)
    form = lambda: cat_linear([(user, ikbo_lens.repeats(rows // users)), cand], w, b)
    operator, spent = [], {"prepare": [], "run": []}
    Device.run = lambda self, *args, **options: operator.append(run_native(self, *args, **options)) or operator[-1]
    form()
    Device.run = run_native

    def timed(function, into):
        def call(*args):
            start = time.perf_counter()
            status = function(*args)
            into.append(time.perf_counter() - start)
            return status

        return call

    verbs = operator[0]
    verbs.prepare, verbs.run = timed(verbs.prepare, spent["prepare"]), timed(verbs.run, spent["run"])
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(calls):
        form()
    whole = (time.perf_counter() - start) / calls
    torch.cuda.synchronize()
    parts = ", ".join(f"{name} {statistics.median(values) * 1e6:.0f}" for name, values in spent.items())
    print(f"TIME host, cat_linear {(rows, users, ku, kc, m)} repeats: {whole * 1e6:.0f} us a call, of which {parts}", flush=True)


@torch.no_grad()
def times():
    warnings.simplefilter("ignore", RuntimeWarning)
    print(f"TIME on {torch.cuda.get_device_name()}, torch {torch.__version__}; ms a call, maps and weights taken in by every call")
    for rows, users, ku, kc, m in ((65536, 960, 512, 512, 512), (262144, 3750, 1024, 256, 512), (65536, 64, 4096, 256, 1024), (4096, 64, 512, 512, 512), (512, 8, 256, 64, 128)):
        user, cand, w, b = random(users, ku), random(rows, kc), random(m, ku + kc), random(m)
        index = torch.sort(torch.randint(0, users, (rows,), device=CUDA)).values
        equal = [("repeats", ikbo_lens.repeats(rows // users))] if rows % users == 0 else []
        for name, a_map in [("index", ikbo_lens.index(index)), *equal]:
            form = lambda: cat_linear([(user, a_map), cand], w, b)
            written = lambda: F.linear(torch.cat([a_map.apply(user), cand], 1), w, b)
            line(f"cat_linear {(rows, users, ku, kc, m)} {name}", {"ikbo": chosen("auto", form), "pytorch form": chosen("torch", form), "as written": written})
    for batch, ratio in ((1024, 64), (128, 64)):
        fields, slots, w = random(batch // ratio, 1178, 256), random(batch, 866, 256), random(433, 2044)
        for name, a_map in (("index", ikbo_lens.index(torch.randint(0, batch // ratio, (batch,), device=CUDA))), ("repeats", ikbo_lens.repeats(ratio))):
            form = lambda: linear_compression([(fields, a_map), slots], w)
            line(f"linear_compression B {batch} {name}", {"ikbo": chosen("auto", form), "pytorch form": chosen("torch", form)})
    for rows, users, length, keys in ((2048, 32, 64, 1024), (2048, 32, 1, 1024), (256, 4, 64, 512)):
        q = random(rows, length, 2, 128).transpose(1, 2)
        k, v = (random(users, keys, 2, 128).transpose(1, 2) for _ in range(2))
        for name, a_map in (("index", ikbo_lens.index(torch.randint(0, users, (rows,), device=CUDA))), ("repeats", ikbo_lens.repeats(rows // users))):
            form = lambda: attention(q, k, v, a_map)
            line(f"attention {(rows, users, length, keys)} {name}", {"ikbo": chosen("auto", form), "pytorch form": chosen("torch", form)})
    ikbo_lens.use("auto")
    user, cand, w = random(4, 64), random(64, 64), random(64, 128)
    for name, a_map in (("index", ikbo_lens.index(torch.zeros(64, dtype=torch.long, device=CUDA))), ("repeats", ikbo_lens.repeats(16))):
        form = lambda: cat_linear([(user, a_map), cand], w)
        line(f"the least problem, cat_linear {name}", {"ikbo": chosen("auto", form), "pytorch form": chosen("torch", form)})
    ikbo_lens.use("auto")
    for shape in ((64, 4, 64, 64, 64), (4096, 64, 512, 512, 512)):
        host_time(*shape)
    start = time.perf_counter()
    for rows in range(65, 85):
        cat_linear([(user[:1], ikbo_lens.expand(rows)), random(rows, 64)], w)
    torch.cuda.synchronize()
    print(f"TIME first call of a new shape {(time.perf_counter() - start) / 20 * 1e3:.3f} ms")


if __name__ == "__main__":
    print(ikbo_lens.backend())
    try:
        times()
    except Exception:
        FAILED.append("times")
        traceback.print_exc(file=sys.stdout)
    print(f"FAIL {len(FAILED)} failed: {', '.join(FAILED)}" if FAILED else "PASS all")
    sys.exit(1 if FAILED else 0)
