"""Checks and times the CUDA kernels on this machine's GPU: `IKBO_LIBRARY=build/libikbo.so python3 kernels/check --help`.

Exit code 1 when a check failed. Needs torch with CUDA."""

import argparse
import contextlib
import datetime
import json
import subprocess
import sys
import time
from dataclasses import replace

import torch

import attention
import concat_linear
import linear_compression
import native
import timing
import tune

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def card():
    query = "name,driver_version,clocks.sm,clocks.mem,power.draw,temperature.gpu"
    words = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    return {"nvidia-smi": words, "date": datetime.date.today().isoformat(), "torch": torch.__version__}


class Tally:
    """Counts the checks of one operator and keeps the failures."""

    def __init__(self, operator):
        self.operator, self.failures, self.checked, self.worst = operator, [], 0, 0.0

    def record(self, shape, results):
        for stage, failure, error, allowed in results:
            self.checked += 1
            self.worst = max(self.worst, error / allowed)
            if failure:
                self.failures.append(f"{self.operator} {shape} [{stage}]: {failure}")
                print("FAIL", self.failures[-1], flush=True)

    def close(self):
        print(f"{self.operator}: {self.checked} checks, {len(self.failures)} failed; largest error {self.worst:.2f} of the allowed one", flush=True)
        return self.failures


def check_linear_compression(library, options):
    tally = Tally("linear compression")
    for dtype in options.dtypes:
        small = linear_compression.Shape(batch=8, users=2, dtype=DTYPES[dtype])
        tally.record(small, linear_compression.check(library, small, options.stages))
    for shape in linear_compression.edge_shapes(options.edges):
        tally.record(shape, linear_compression.check(library, shape, options.stages))
    for dtype in options.dtypes if options.repeats else []:
        full = linear_compression.Shape(dtype=DTYPES[dtype], order="random")
        sample = torch.randint(0, full.batch, (64,), device="cuda")
        tally.record(full, linear_compression.check(library, full, options.stages, options.repeats, sample, neighbours=False))
    if options.repeats:
        large = linear_compression.beyond_32_bits()
        sample = torch.randint(0, large.batch, (64,), device="cuda")
        tally.record(large, linear_compression.check(library, large, options.stages, 2, sample, neighbours=False))
    tally.failures += linear_compression.rejects_bad_index(library)
    return tally.close()


def check_concat_linear(library, options):
    tally = Tally("concat-linear")
    for shape in concat_linear.edge_shapes(options.edges):
        tally.record(shape, concat_linear.check(library, shape, options.stages))
    for dtype in options.dtypes if options.repeats else []:
        for shape in concat_linear.published(DTYPES[dtype], order="random", bias=True):
            tally.record(shape, concat_linear.check(library, shape, options.stages, options.repeats))
    if options.repeats:
        large = concat_linear.beyond_32_bits()
        tally.record(large, concat_linear.check(library, large, options.stages, 2))
    return tally.close()


def check_attention(library, options):
    tally = Tally("attention")
    for shape in attention.edge_shapes(3 * options.edges):
        tally.record(shape, attention.check(library, shape, options.stages))
    for dtype in options.dtypes if options.repeats else []:
        full = attention.Shape(users=36, map="index", order="uneven", dtype=DTYPES[dtype])
        sample = torch.randint(0, full.batch, (64,), device="cuda")
        tally.record(full, attention.check(library, full, options.stages, options.repeats, sample, neighbours=False))
    if options.repeats:
        large = attention.beyond_32_bits()
        sample = torch.randint(0, large.batch, (64,), device="cuda")
        tally.record(large, attention.check(library, large, options.stages, 2, sample, neighbours=False))
    tally.failures += attention.rejects_bad_input(library)
    return tally.close()


def time_arms(module, library, shape, options, *opponents, regimes=None):
    """With several libraries, the later ones' arms are marked by their place in the list."""
    with contextlib.ExitStack() as stack:
        arms = list(module.arms(library[0], shape, options.timed, stack, *opponents))
        for i, other in enumerate(library[1:], 1):
            arms += [(f"[{i}] {name}", run, flops) for name, run, flops in list(module.arms(other, shape, options.timed, stack, *opponents))[-len(options.timed) :]]
        counted = 60 if module is attention else 100  # as `ikbo bench` does: those of attention are the longer ones
        results = timing.measure(arms, regimes or options.regimes, counted)
    rivals = [name for name, _, _ in arms if name.startswith("cuBLAS")]
    print(timing.table(str(shape), results, rivals or [arms[0][0]]), flush=True)
    return {"shape": str(shape), "arms": results}


def time_linear_compression(library, options):
    return [time_arms(linear_compression, library, linear_compression.Shape(dtype=DTYPES[dtype]), options) for dtype in options.dtypes]


def sweep_linear_compression(library, options):
    """Time per candidate over batches and ratios; a fresh set of arms for each shape."""
    base = linear_compression.Shape(dtype=DTYPES[options.dtypes[0]])
    batches = [replace(base, batch=batch, users=-(-batch // 70)) for batch in (256, 512, 1024, 2048, 4096)]
    ratios = [replace(base, users=-(-base.batch // ratio)) for ratio in (2, 10, 100, 1000)]
    return [time_arms(linear_compression, library, shape, options, regimes=["flush"]) for shape in batches + ratios]


def time_concat_linear(library, options):
    shapes = [shape for dtype in options.dtypes for shape in concat_linear.published(DTYPES[dtype])]
    return [time_arms(concat_linear, library, shape, options) for shape in shapes]


def time_attention(library, options):
    shapes = [pair for dtype in options.dtypes for pair in attention.published(DTYPES[dtype])]
    return [time_arms(attention, library, shape, options, opponents) for shape, opponents in shapes]


OPERATORS = {
    "linear-compression": (check_linear_compression, time_linear_compression),
    "concat-linear": (check_concat_linear, time_concat_linear),
    "attention": (check_attention, time_attention),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operators", nargs="+", default=list(OPERATORS), choices=OPERATORS)
    parser.add_argument("--library", nargs="+", default=[None], help="libikbo.so (default: IKBO_LIBRARY); more are only timed, beside the first")
    parser.add_argument("--dtypes", nargs="+", default=["bf16", "fp16"], choices=DTYPES)
    parser.add_argument("--stages", nargs="+", default=list(native.STAGES)[:5], help="stages to check")
    parser.add_argument("--timed", nargs="+", default=["warp-specialized"], help="stages to time")
    parser.add_argument("--regimes", nargs="*", default=["flush", "burst", "sustained"])
    parser.add_argument("--edges", type=int, default=64, help="edge shapes to check")
    parser.add_argument("--repeats", type=int, default=200, help="repeats at full size that must be bit-identical")
    parser.add_argument("--sweep", action="store_true", help="also time linear compression over batches and ratios")
    parser.add_argument(
        "--tune", nargs="?", const="", metavar="FILE",
        help="measure which kernel and tile each class of shapes gets by default, and write that to this machine's cache "
        "($XDG_CACHE_HOME/ikbo-lens/tuned, read by every process that opens the device later) or to FILE; nothing else is done",
    )  # fmt: skip
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--no-time", action="store_true")
    parser.add_argument("--json", help="file for the times")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False

    library = [native.Library(path) for path in options.library]
    if options.tune is not None:
        named = [operator.replace("-", "_") for operator in options.operators]
        tune.tune(library[0], named, [DTYPES[dtype] for dtype in options.dtypes], card()["nvidia-smi"].split(",")[0], options.tune or None)
        return
    start, failures, record = time.time(), [], {"card": card(), "regimes": options.regimes}
    if not options.no_check:
        for operator in options.operators:
            failures += OPERATORS[operator][0](library[0], options)
        print(f"checks took {time.time() - start:.1f} s", flush=True)
    if not options.no_time:
        for operator in options.operators:
            record[operator] = OPERATORS[operator][1](library, options)
    if options.sweep:
        record["sweep"] = sweep_linear_compression(library, options)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(record, file, indent=1)
    for failure in failures:
        print("FAILED", failure)
    sys.exit(1 if failures else 0)


main()
