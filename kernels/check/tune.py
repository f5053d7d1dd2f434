"""Measures every kernel and tile that a shape may get, and writes the fastest as a row of choices (native/src/tuned.h)."""

import contextlib
import datetime
import os
import tempfile
from dataclasses import replace

import torch

import attention
import concat_linear
import linear_compression
import native
import timing

#: Tiles of stage 4 beside the one that follows from the sizes (0).
TILES = {
    "linear_compression": (0, 64, 96, 128, 160, 192),
    "concat_linear": (0, 64, 128, 192),
    "attention": (0, 1, 2, 3),
}
STAGES = ("decomposed", "aligned", "fused")
#: What another kernel must gain over the derived choice: less is noise.
GAIN = 0.03


def shapes(dtype):
    """(operator, problem class, shape): the published shapes, their sweeps, and small ones."""
    base = linear_compression.Shape(dtype=dtype)
    for batch in (16, 64, 128, 256, 512, 1024, 2048, 4096):
        yield "linear_compression", linear_compression.Problem, replace(base, batch=batch, users=-(-batch // 70))
    for ratio in (2, 10, 1000):
        yield "linear_compression", linear_compression.Problem, replace(base, users=-(-base.batch // ratio))
    for batch in (64, 512, 4096):
        small = replace(base, batch=batch, users=-(-batch // 64), outputs=128, columns=64, user_width=512, candidate_width=256)
        yield "linear_compression", linear_compression.Problem, small
    for user_width, width, outputs in ((512, 512, 512), (256, 64, 128), (1024, 256, 512), (4096, 256, 1024)):
        for rows in (256, 1024, 4096, 16384, 65536, 262144):
            blocks = (concat_linear.Block(user_width, "index", rows // 64, torch.int32, "blocks"), concat_linear.Block(width))
            yield "concat_linear", concat_linear.Problem, concat_linear.Shape(rows, outputs, blocks, bias=True, dtype=dtype)
    for width in (64, 128):
        for batch, queries in ((64, 1), (64, 64), (256, 64), (2048, 1), (2048, 64)):
            for keys in (128, 512, 2048):
                base = attention.Shape(batch=batch, users=batch // 64, queries=queries, keys=keys, width=width, dtype=dtype)
                yield "attention", attention.Problem, base


def row(library, operator, problem):
    """(class, text, times over that of stage 1) of one problem, or None where there is nothing to choose."""
    with contextlib.ExitStack() as stack:
        arms, choices, kernels = [], {}, set()
        for stage, tile in [("warp-specialized", tile) for tile in TILES[operator]] + [(stage, 0) for stage in STAGES]:
            try:
                run = stack.enter_context(problem.native(library, stage, tile=tile))
            except native.IkboError as error:
                if error.status != native.abi.UNSUPPORTED:
                    raise
                continue
            if (stage, run.kernel) in kernels:
                continue
            kernels.add((stage, run.kernel))
            name = f"{stage} {tile} {run.kernel}"
            arms.append((name, run, 0))
            choices[name] = (native.STAGES[stage], tile, run)
        if len(arms) < 2:
            return None
        times = timing.flush_loop(arms, rounds=1)
        derived, best = arms[0][0], min(times, key=times.get)
        chosen = best if times[best] < (1 - GAIN) * times[derived] else derived
        first = next(time for name, time in times.items() if name.startswith("decomposed"))
        stage, tile, run = choices[chosen]
        note = f"{run.kernel}: {times[chosen] * 1e3:.1f} us; derived {times[derived] * 1e3:.1f}, stage 1 {first * 1e3:.1f}"
        return run.shape_class, f"{run.shape_class} = {stage} {tile}   {note}", times[chosen] / first


def tune(library, operators, dtypes, card, path=None):
    """Adds the rows to `path`, or to this machine's own file; others that are there stay."""
    path = path or native.tuned_file(library)
    found, slowest = {}, (0.0, "")
    for dtype in dtypes:
        for operator, make, shape in shapes(dtype):
            result = row(library, operator, make(shape)) if operator in operators else None
            if result:
                found[result[0]] = result[1]
                slowest = max(slowest, (result[2], result[0]))
                print(result[1], flush=True)
    kept = []
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="replace") as file:
            kept = [line for line in file.read().splitlines() if "=" in line and line.split("=")[0].strip() not in found]
    head = [f"# Measured on {card}, {datetime.date.today().isoformat()}, by: python3 kernels/check --tune"]
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=os.path.dirname(os.path.abspath(path)), delete=False, encoding="utf-8") as file:
        file.write("\n".join(head + sorted([*kept, *found.values()])) + "\n")
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)
    print(f"{len(found)} rows in {path}; the slowest against stage 1: {slowest[0]:.2f} of its time ({slowest[1]})", flush=True)
