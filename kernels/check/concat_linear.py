"""Concat-linear: a problem with its reference, the checks, and the arms of the timing."""

import itertools
import random
from dataclasses import dataclass

import torch

import native
from cublas_arms import cublas_arms
from guard import Guarded, limit, normal, relative_error


@dataclass(frozen=True)
class Block:
    width: int
    map: str = "none"  # none, repeats, index, all
    sources: int = 0  # rows of the source; 0: as many as the output has
    index_dtype: torch.dtype = torch.int32
    order: str = "random"  # blocks (equal groups), sorted, random
    padding: int = 0  # elements between rows


@dataclass(frozen=True)
class Shape:
    rows: int
    outputs: int
    blocks: tuple
    bias: bool = True
    activation: str = "identity"
    dtype: torch.dtype = torch.bfloat16
    out_padding: int = 0
    weight_padding: int = 0

    def __str__(self):
        dtype = {torch.bfloat16: "bf16", torch.float16: "fp16"}[self.dtype]
        blocks = " + ".join(f"{b.map}({b.sources or self.rows}x{b.width})" for b in self.blocks)
        return f"{dtype} rows {self.rows} M{self.outputs} {blocks} {'bias ' if self.bias else ''}{self.activation}"


ACTIVATIONS = {
    "identity": lambda x: x,
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "silu": torch.nn.functional.silu,
}


class Problem:
    def __init__(self, shape, seed=0):
        s = self.shape = shape
        g = torch.Generator("cuda").manual_seed(seed)
        depth = sum(b.width for b in s.blocks)
        self.guards, self.x, self.index, self.rows_of = {}, [], [], []
        for i, b in enumerate(s.blocks):
            sources = b.sources or s.rows
            guard = self.guards[f"x{i}"] = Guarded((sources, b.width + b.padding), s.dtype)
            guard.tensor[:, : b.width] = normal((sources, b.width), s.dtype, g)
            self.x.append(guard.tensor[:, : b.width])
            index = None
            if b.map == "index":
                index = torch.randint(0, sources, (s.rows,), device="cuda", generator=g)
                if b.order == "sorted":
                    index = index.sort().values
                elif b.order == "blocks":
                    index = torch.arange(s.rows, device="cuda") * sources // s.rows
                index = index.to(b.index_dtype)
            self.index.append(index)
            self.rows_of.append(native.rows_of(b.map, s.rows, sources, index, "cuda"))
        self.weight = Guarded((s.outputs, depth + s.weight_padding), s.dtype)
        self.weight.tensor[:, :depth] = normal((s.outputs, depth), s.dtype, g, depth**-0.5)
        self.bias = normal((s.outputs,), s.dtype, g)
        self.out = self.guards["out"] = Guarded((s.rows, s.outputs + s.out_padding), s.dtype)

    @property
    def result(self):
        return self.out.tensor[:, : self.shape.outputs]

    def weights(self):
        at, parts = 0, []
        for b in self.shape.blocks:
            parts.append(self.weight.tensor[:, at : at + b.width])
            at += b.width
        return parts

    def finish(self, y):
        if self.shape.bias:
            y = y + self.bias.to(y.dtype)
        return ACTIVATIONS[self.shape.activation](y)

    def reference(self):
        return self.finish(sum((x.double() @ w.double().T)[rows] for x, w, rows in zip(self.x, self.weights(), self.rows_of)))

    def eager(self):
        return self.finish(sum((x @ w.T)[rows] for x, w, rows in zip(self.x, self.weights(), self.rows_of)))

    def native(self, library, stage, tile=0):
        s = self.shape
        shape = native.abi.ConcatLinearShape(
            dtype=native.DTYPES[s.dtype], activation=native.ACTIVATIONS[s.activation], stage=native.STAGES[stage],
            blocks=len(s.blocks), has_bias=s.bias, tile=tile, rows=s.rows, outputs=s.outputs,
            weight_stride=self.weight.tensor.stride(0), out_stride=self.out.tensor.stride(0),
        )  # fmt: skip
        args = native.abi.ConcatLinearArgs(weight=self.weight.tensor.data_ptr(), out=self.out.tensor.data_ptr())
        if s.bias:
            args.bias = self.bias.data_ptr()
        for i, (b, x, index) in enumerate(zip(s.blocks, self.x, self.index)):
            kind, bits, repeats = native.map_fields(b.map, s.rows, x.shape[0], index)
            shape.block[i] = native.abi.Block(x.shape[0], b.width, x.stride(0), kind, bits, repeats)
            args.x[i] = x.data_ptr()
            if index is not None:
                args.index[i] = index.data_ptr()
        return library.operator("concat_linear", shape, args, self)


def fits_warp_specialized(s):
    direct = [b for b in s.blocks if b.map == "none"]
    strides = [b.width + b.padding for b in direct] + [s.outputs, s.outputs + s.out_padding]
    return 1 <= len(direct) <= 8 and all(stride % 8 == 0 for stride in strides)


def check(library, shape, stages, repeats=3):
    """Returns (stage, failure or None, error, allowed error) for each stage."""
    problem = Problem(shape)
    reference = problem.reference()
    # In a small output, one rounding more or less decides.
    allowed = limit(relative_error(problem.eager(), reference), 1e-4 if reference.numel() > 1000 else 2e-3)
    results = []
    for stage in stages:
        if stage == "warp-specialized" and not fits_warp_specialized(shape):
            continue
        failures = []
        problem.out.poison()
        with problem.native(library, stage) as run:
            run()
            torch.cuda.synchronize()
            error = relative_error(problem.result, reference)
            if not error <= allowed:
                failures.append(f"error {error:.2e}, allowed {allowed:.2e}")
            if not bool((problem.out.tensor[:, shape.outputs :].contiguous().view(torch.int16) == -1).all()):
                failures.append("wrote between the rows")
            first = problem.result.clone()
            for _ in range(repeats):
                problem.out.poison()
                run()
                if not bool((problem.result.contiguous().view(torch.int16) == first.view(torch.int16)).all()):
                    failures.append("a repeat differs")
                    break
            failures += [f"wrote outside {name}" for name, guard in problem.guards.items() if not guard.intact()]
            failures += leaks(problem, run)
        results.append((stage, "; ".join(failures) or None, error, allowed))
    return results


def leaks(problem, run):
    """NaN in one row of each source may only reach the rows of y that it feeds."""
    kept, touched = [], torch.zeros(problem.shape.rows, dtype=torch.bool, device="cuda")
    for x, rows in zip(problem.x, problem.rows_of):
        at = x.shape[0] // 2
        kept.append((x, at, x[at].clone()))
        x[at] = float("nan")
        touched |= rows == at
    run()
    torch.cuda.synchronize()
    bad = not bool(torch.isfinite(problem.result[~touched]).all())
    lost = not bool(problem.result[touched].isnan().all())
    for x, at, row in kept:
        x[at] = row
    return ["NaN leaked to a neighbour"] * bad + ["NaN was lost"] * lost


def edge_shapes(count):
    rng = random.Random(20261130)
    sizes = {
        "rows": [1, 2, 63, 64, 65, 127, 128, 129, 1000, 5000],
        "outputs": [1, 7, 8, 64, 72, 128, 136, 256, 320, 512, 520, 1024],
        "width": [1, 8, 15, 17, 64, 72, 128, 250, 256, 264, 512, 1024, 1096],
        "kind": ["none", "index", "repeats", "all"],
        "activation": list(ACTIVATIONS),
        "bias": [True, False],
        "dtype": [torch.bfloat16, torch.float16],
        "count": [1, 2, 2, 3, 5],
        "index_dtype": [torch.int32, torch.int64],
        "out_padding": [0, 0, 8, 3],
        "padding": [0, 0, 8, 1],
    }
    decks = {name: itertools.cycle(rng.sample(values, len(values))) for name, values in sizes.items()}

    def pick(name):
        return rng.choice(sizes[name]) if rng.random() < 0.3 else next(decks[name])

    # Few tiles behind a long mapped block: a cluster that starts late may get none.
    yield Shape(256, 512, (Block(512, "repeats", 4), Block(320)), bias=True)
    # A long mapped block within the launch and one before it, and one of several chunks in tiles that are not halved.
    yield Shape(700, 1024, (Block(4096, "index", 256), Block(256)))
    yield Shape(700, 1024, (Block(4096, "index", 1024), Block(256)))
    yield Shape(700, 128, (Block(256, "index", 256), Block(64)))
    # As many blocks as there can be, eight of them without a map.
    kinds = [Block(8) if i < 8 else Block(24, ("index", "all", "repeats")[i % 3], (7, 1, 50)[i % 3]) for i in range(native.abi.MAX_BLOCKS)]
    yield Shape(200, 136, tuple(kinds), dtype=torch.float16)
    for i in range(count):
        rows, outputs, blocks = pick("rows"), pick("outputs"), []
        for _ in range(pick("count")):
            kind, width = pick("kind"), pick("width")
            if i % 2 == 0 and not blocks:
                kind, width = "none", max(8, width // 8 * 8)
            sources = {"none": 0, "all": 1, "index": rng.choice([1, 2, 33, 700])}.get(kind)
            if sources is None:
                sources = rng.choice([d for d in range(1, rows + 1) if rows % d == 0])
            blocks.append(Block(width, kind, sources, pick("index_dtype"), rng.choice(["random", "sorted"]), pick("padding") if i % 3 == 0 else 0))
        if i % 2 == 0:
            outputs = max(8, outputs // 8 * 8)
        yield Shape(rows, outputs, tuple(blocks), pick("bias"), pick("activation"), pick("dtype"), pick("out_padding") if i % 3 == 0 else 0)


def beyond_32_bits():
    """Millions of rows, and an output of more than 2^31 elements."""
    return Shape(3_000_001, 768, (Block(128, "index", 40_000), Block(64)))


# rows, users, user width, candidate width, outputs
PUBLISHED = [(65536, 960, 512, 512, 512), (262144, 3750, 1024, 256, 512), (65536, 64, 4096, 256, 1024)]


def published(dtype, order="blocks", bias=False):
    for rows, users, user_width, width, outputs in PUBLISHED:
        yield Shape(rows, outputs, (Block(user_width, "index", users, torch.int32, order), Block(width)), bias=bias, dtype=dtype)


def arms(library, shape, stages, stack):
    """The opponents, and our stages, for a user block followed by a candidate block."""
    problem = Problem(shape)
    (user, candidate), (wu, wc), users = problem.x, [w.contiguous() for w in problem.weights()], problem.rows_of[0]
    weight = problem.weight.tensor.contiguous()
    direct = 2.0 * shape.rows * candidate.shape[1] * shape.outputs
    flops = direct + 2.0 * user.shape[0] * user.shape[1] * shape.outputs
    out = torch.empty((shape.rows, shape.outputs), dtype=shape.dtype, device="cuda")
    product = lambda: torch.mm(candidate, wc.T, out=out)
    yield "cuBLAS candidate GEMM alone", product, direct
    yield from cublas_arms(wc.contiguous(), candidate.contiguous(), direct)
    yield "torch cat + linear", lambda: torch.nn.functional.linear(torch.cat([user[users], candidate], 1), weight), flops
    yield "torch decomposed", lambda: (user @ wu.T)[users] + candidate @ wc.T, flops
    yield "torch addmm with the gathered part", lambda: torch.addmm((user @ wu.T)[users], candidate, wc.T), flops
    for stage in stages:
        run = stack.enter_context(problem.native(library, stage))
        yield f"{stage}: {run.kernel}", run, flops
