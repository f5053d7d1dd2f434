"""Three regimes on a power-capped card: burst after idle, flushing the cache between launches, sustained. All arms take
turns, so that drift hits them alike. Times are milliseconds; medians."""

import statistics
import time

import torch

FLUSH_BYTES = 256 << 20


def graph_of(run, launches):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(launches):
            run()
    return graph


def events(count):
    return [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(count)]


def flush_loop(arms, rounds=40, warmup=5):
    scratch = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    pairs = {name: events(rounds) for name, _, _ in arms}
    graphs = {name: graph_of(run, 1) for name, run, _ in arms}
    for i in range(rounds):
        for name, _, _ in arms:
            scratch.fill_(i)
            begin, end = pairs[name][i]
            begin.record()
            graphs[name].replay()
            end.record()
        if i % 8 == 7:
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    return {name: statistics.median(b.elapsed_time(e) for b, e in pairs[name][warmup:]) for name, _, _ in arms}


def replay_time(graph, launches):
    begin, end = events(1)[0]
    begin.record()
    graph.replay()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / launches


def burst(arms, launches=20, rounds=3, idle=0.3):
    graphs = {name: graph_of(run, launches) for name, run, _ in arms}
    times = {name: [] for name, _, _ in arms}
    for _ in range(rounds):
        for name, _, _ in arms:
            time.sleep(idle)
            times[name].append(replay_time(graphs[name], launches))
    return {name: statistics.median(values) for name, values in times.items()}


def sustained(arms, launches=20, seconds=0.6):
    result = {}
    for name, run, _ in arms:
        graph = graph_of(run, launches)
        once = replay_time(graph, launches) * launches * 1e-3
        times = [replay_time(graph, launches) for _ in range(max(4, int(seconds / once)))]
        result[name] = statistics.median(times[len(times) // 2 :])
    return result


def measure(arms, regimes=("flush", "burst", "sustained")):
    """{arm: {regime: ms, "tflops": on the flush loop}}"""
    functions = {"flush": flush_loop, "burst": burst, "sustained": sustained}
    results = {name: {} for name, _, _ in arms}
    for regime in regimes:
        for name, ms in functions[regime](arms).items():
            results[name][regime] = ms
    for name, _, flops in arms:
        if "flush" in results[name]:
            results[name]["tflops"] = flops / results[name]["flush"] * 1e-9
    return results


def table(title, results, baselines):
    """`baselines`: of these the fastest is what the last column counts in."""
    flush = [results[name]["flush"] for name in baselines if "flush" in results.get(name, {})]
    lines = [f"{title}", f"{'':60} {'flush':>8} {'burst':>8} {'sustained':>9} {'TFLOP/s':>8} {'x base':>7}"]
    for name, r in results.items():
        cells = [f"{r[k]:{w}.4f}" if k in r else " " * w for k, w in (("flush", 8), ("burst", 8), ("sustained", 9))]
        ratio = f"{r['flush'] / min(flush):7.3f}" if flush and "flush" in r else ""
        lines.append(f"{name[:60]:60} {' '.join(cells)} {r.get('tflops', 0):8.0f} {ratio}")
    return "\n".join(lines)
