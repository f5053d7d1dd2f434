"""Checks and times the CUDA kernels on this machine's GPU: `IKBO_LIBRARY=build/libikbo.so python3 kernels/check --help`.

Exit code 1 when a check failed. Needs torch with CUDA."""

import argparse
import contextlib
import datetime
import json
import subprocess
import sys
import time

import torch

import linear_compression
import native
import timing

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


def card():
    query = "name,driver_version,clocks.sm,clocks.mem,power.draw,temperature.gpu"
    words = subprocess.run(["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    return {"nvidia-smi": words, "date": datetime.date.today().isoformat(), "torch": torch.__version__}


def check_linear_compression(library, options):
    failures, checked, worst = [], 0, 0.0

    def record(shape, results):
        nonlocal checked, worst
        for stage, failure, error, allowed in results:
            checked += 1
            worst = max(worst, error / (1.2 * allowed + 1e-4))
            if failure:
                failures.append(f"{shape} [{stage}]: {failure}")
                print("FAIL", failures[-1], flush=True)

    stages = options.stages
    for dtype in options.dtypes:
        small = linear_compression.Shape(batch=8, users=2, dtype=DTYPES[dtype])
        record(small, linear_compression.check(library, small, stages))
    for shape in linear_compression.edge_shapes(options.edges):
        record(shape, linear_compression.check(library, shape, stages))
    for dtype in options.dtypes:
        full = linear_compression.Shape(users=15, dtype=DTYPES[dtype], map="index", order="random")
        sample = torch.randint(0, full.batch, (64,), device="cuda")
        record(full, linear_compression.check(library, full, stages, repeats=options.repeats, sample=sample, neighbours=False))
    failures += linear_compression.rejects_bad_index(library)
    print(f"linear compression: {checked} checks, {len(failures)} failed; largest error {worst:.2f} of the allowed one")
    return failures


def time_linear_compression(library, options):
    records = []
    for dtype in options.dtypes:
        shape = linear_compression.Shape(dtype=DTYPES[dtype])
        with contextlib.ExitStack() as stack:
            arms = list(linear_compression.arms(library, shape, options.timed, stack))
            results = timing.measure(arms, options.regimes)
        print(timing.table(f"linear compression {shape}", results, arms[0][0]), flush=True)
        records.append({"shape": str(shape), "arms": results})
    return records


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", help="path of libikbo.so; default: the environment's IKBO_LIBRARY")
    parser.add_argument("--dtypes", nargs="+", default=["bf16", "fp16"], choices=DTYPES)
    parser.add_argument("--stages", nargs="+", default=list(native.STAGES)[:5], help="stages to check")
    parser.add_argument("--timed", nargs="+", default=["warp-specialized"], help="stages to time")
    parser.add_argument("--regimes", nargs="*", default=["flush", "burst", "sustained"])
    parser.add_argument("--edges", type=int, default=64, help="edge shapes to check")
    parser.add_argument("--repeats", type=int, default=50, help="repeats at full size that must be bit-identical")
    parser.add_argument("--no-check", action="store_true")
    parser.add_argument("--no-time", action="store_true")
    parser.add_argument("--json", help="file for the times")
    options = parser.parse_args()
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False

    library = native.Library(options.library)
    start, failures, record = time.time(), [], {"card": card(), "regimes": options.regimes}
    if not options.no_check:
        failures += check_linear_compression(library, options)
    print(f"checks took {time.time() - start:.1f} s", flush=True)
    if not options.no_time:
        record["linear compression"] = time_linear_compression(library, options)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(record, file, indent=1)
    for failure in failures:
        print("FAILED", failure)
    sys.exit(1 if failures else 0)


main()
