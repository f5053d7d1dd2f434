"""Times on a GPU: the library and PyTorch's form of each operator, called one by one and replayed from CUDA graphs."""

import statistics
import time
import warnings

import torch
import torch.nn.functional as F
from gpu_support import CUDA, random, run_native

import ikbo_lens
from ikbo_lens import attention, cat_linear, linear_compression
from ikbo_lens.devices import Device


def milliseconds(forms, seconds=0.15):
    """Median of batches, back to back, all forms in turns: what a caller sees, host time included."""
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
    print(
        f"TIME {what:58}",
        "  ".join(f"{name} {ms:.4f}" for name, ms in times.items()),
        " ikbo/pytorch form",
        *ratios,
        flush=True,
    )


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
    print(
        f"TIME host, cat_linear {(rows, users, ku, kc, m)} repeats: {whole * 1e6:.0f} us a call, of which {parts}",
        flush=True,
    )


@torch.no_grad()
def times():
    warnings.simplefilter("ignore", RuntimeWarning)
    Device.run = run_native
    print(f"TIME on {torch.cuda.get_device_name()}, torch {torch.__version__}; ms a call, maps and weights included")
    for rows, users, ku, kc, m in (
        (65536, 960, 512, 512, 512),
        (262144, 3750, 1024, 256, 512),
        (65536, 64, 4096, 256, 1024),
        (4096, 64, 512, 512, 512),
        (512, 8, 256, 64, 128),
    ):
        user, cand, w, b = random(users, ku), random(rows, kc), random(m, ku + kc), random(m)
        index = torch.sort(torch.randint(0, users, (rows,), device=CUDA)).values
        equal = [("repeats", ikbo_lens.repeats(rows // users))] if rows % users == 0 else []
        for name, a_map in [("index", ikbo_lens.index(index)), *equal]:
            form = lambda: cat_linear([(user, a_map), cand], w, b)
            written = lambda: F.linear(torch.cat([a_map.apply(user), cand], 1), w, b)
            line(
                f"cat_linear {(rows, users, ku, kc, m)} {name}",
                {"ikbo": chosen("native", form), "pytorch form": chosen("torch", form), "as written": written},
            )
    for batch, ratio in ((1024, 64), (128, 64)):
        fields, slots, w = random(batch // ratio, 1178, 256), random(batch, 866, 256), random(433, 2044)
        for name, a_map in (
            ("index", ikbo_lens.index(torch.randint(0, batch // ratio, (batch,), device=CUDA))),
            ("repeats", ikbo_lens.repeats(ratio)),
        ):
            form = lambda: linear_compression([(fields, a_map), slots], w)
            line(
                f"linear_compression B {batch} {name}",
                {"ikbo": chosen("native", form), "pytorch form": chosen("torch", form)},
            )
    for rows, users, length, keys in ((2048, 32, 64, 1024), (2048, 32, 1, 1024), (256, 4, 64, 512)):
        q = random(rows, length, 2, 128).transpose(1, 2)
        k, v = (random(users, keys, 2, 128).transpose(1, 2) for _ in range(2))
        for name, a_map in (
            ("index", ikbo_lens.index(torch.randint(0, users, (rows,), device=CUDA))),
            ("repeats", ikbo_lens.repeats(rows // users)),
        ):
            form = lambda: attention(q, k, v, a_map)
            line(
                f"attention {(rows, users, length, keys)} {name}",
                {"ikbo": chosen("native", form), "pytorch form": chosen("torch", form)},
            )
    ikbo_lens.use("native")
    user, cand, w = random(4, 64), random(64, 64), random(64, 128)
    for name, a_map in (
        ("index", ikbo_lens.index(torch.zeros(64, dtype=torch.long, device=CUDA))),
        ("repeats", ikbo_lens.repeats(16)),
    ):
        form = lambda: cat_linear([(user, a_map), cand], w)
        line(
            f"the least problem, cat_linear {name}",
            {"ikbo": chosen("native", form), "pytorch form": chosen("torch", form)},
        )
    ikbo_lens.use("native")
    for shape in ((64, 4, 64, 64, 64), (4096, 64, 512, 512, 512)):
        host_time(*shape)
    start = time.perf_counter()
    for rows in range(65, 85):
        cat_linear([(user[:1], ikbo_lens.expand(rows)), random(rows, 64)], w)
    torch.cuda.synchronize()
    print(f"TIME first call of a new shape {(time.perf_counter() - start) / 20 * 1e3:.3f} ms")
