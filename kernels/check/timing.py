"""Times arms in the three regimes of `ikbo bench` (docs/benchmark.md), in turns like its own and by the same code: each arm once a round,
burst and flush on a card that has rested. Times are milliseconds; medians over the rounds."""

import statistics
import sys
import time
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).resolve().parents[2] / "src/bench/torch"))
from timer import Timer  # noqa: E402

FLUSH_BYTES = 256 << 20
IDLE_SECONDS = 0.3
DISCARDED = 20
SETTLE_SECONDS = 0.12


def turns(arms, rounds, turn):
    """{arm: median over the rounds of turn(timer, name, call)}; the first turn of each arm does not count."""
    timer = Timer(torch, torch.device("cuda", torch.cuda.current_device()))
    calls = {name: (lambda i, run=run: run()) for name, run, _ in arms}
    times = {name: [] for name in calls}
    for name, call in calls.items():
        call(0)
        turn(timer, name, call, rest=False)
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(turn(timer, name, call, rest=True))
    return {name: statistics.median(values) for name, values in times.items()}


def flush_loop(arms, rounds=5, counted=100):
    def turn(timer, name, call, rest):
        time.sleep(IDLE_SECONDS if rest else 0)
        return timer.milliseconds(name, call, DISCARDED + counted, DISCARDED, FLUSH_BYTES)[0]

    return turns(arms, rounds, turn)


def burst(arms, rounds=5, launches=20):
    def turn(timer, name, call, rest):
        time.sleep(IDLE_SECONDS if rest else 0)
        return timer.milliseconds(name, call, launches, 0, 0)[0]

    return turns(arms, rounds, turn)


def sustained(arms, rounds=5, launches=20):
    def turn(timer, name, call, rest):
        start = time.perf_counter()
        while True:
            last = timer.milliseconds(name, call, launches, 0, 0)[0]
            if not rest or time.perf_counter() - start >= SETTLE_SECONDS:
                return last

    return turns(arms, rounds, turn)


def measure(arms, regimes=("flush", "burst", "sustained"), counted=100):
    """{arm: {regime: ms, "tflops": on the flush loop}}; `counted`: launches of the flush loop that count."""
    functions = {"flush": lambda arms: flush_loop(arms, counted=counted), "burst": burst, "sustained": sustained}
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
