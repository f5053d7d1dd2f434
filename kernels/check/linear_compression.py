"""Linear compression: a problem with its reference, the checks, and the arms of the timing."""

import itertools
import random
from dataclasses import dataclass

import torch

import native
from cublas_arms import cublas_arms
from guard import Guarded, limit, normal, relative_error


@dataclass(frozen=True)
class Shape:
    batch: int = 1024
    users: int = 15
    outputs: int = 433
    columns: int = 256
    user_width: int = 1178
    candidate_width: int = 866
    map: str = "index"
    index_dtype: torch.dtype = torch.int32
    order: str = "blocks"  # blocks (equal groups), sorted, reversed, random, same
    candidate_first: bool = False
    dtype: torch.dtype = torch.bfloat16
    weight_padding: int = 0

    def __str__(self):
        dtype = {torch.bfloat16: "bf16", torch.float16: "fp16"}[self.dtype]
        order = f" {self.order} {str(self.index_dtype)[6:]}" if self.map == "index" else ""
        first = " candidate-first" if self.candidate_first else ""
        return f"{dtype} B{self.batch} U{self.users} M{self.outputs} N{self.columns} Ku{self.user_width} Kc{self.candidate_width} {self.map}{order}{first}"


class Problem:
    def __init__(self, shape, seed=0):
        s = self.shape = shape
        g = torch.Generator("cuda").manual_seed(seed)
        depth = s.user_width + s.candidate_width
        self.user = Guarded((s.users, s.user_width, s.columns), s.dtype, normal((s.users, s.user_width, s.columns), s.dtype, g))
        self.candidate = Guarded((s.batch, s.candidate_width, s.columns), s.dtype, normal((s.batch, s.candidate_width, s.columns), s.dtype, g))
        self.weight = Guarded((s.outputs, depth + s.weight_padding), s.dtype)
        self.weight.tensor[:, :depth] = normal((s.outputs, depth), s.dtype, g, depth**-0.5)
        self.out = Guarded((s.batch, s.outputs, s.columns), s.dtype)
        self.index = None
        if s.map == "index":
            index = torch.randint(0, s.users, (s.batch,), device="cuda", generator=g)
            index = {
                "blocks": lambda: torch.arange(s.batch, device="cuda") * s.users // s.batch,
                "sorted": lambda: index.sort().values,
                "reversed": lambda: index.sort(descending=True).values,
                "random": lambda: index,
                "same": lambda: torch.full_like(index, s.users - 1),
            }[s.order]()
            self.index = index.to(s.index_dtype)
        self.user_of = native.rows_of(s.map, s.batch, s.users, self.index, "cuda")

    def weights(self):
        """(user columns, candidate columns)."""
        s, w = self.shape, self.weight.tensor
        depth = s.user_width + s.candidate_width
        split = s.candidate_width if s.candidate_first else s.user_width
        first, second = w[:, :split], w[:, split:depth]
        return (second, first) if s.candidate_first else (first, second)

    def reference(self, sample=None):
        """fp64, for all candidates or for the given ones."""
        wu, wc = (w.double() for w in self.weights())
        at = slice(None) if sample is None else sample
        return torch.matmul(wc, self.candidate.tensor[at].double()) + torch.matmul(wu, self.user.tensor.double())[self.user_of[at]]

    def eager(self):
        wu, wc = self.weights()
        return torch.matmul(wc, self.candidate.tensor) + torch.matmul(wu, self.user.tensor)[self.user_of]

    def native(self, library, stage, tile=0):
        s = self.shape
        kind, bits, repeats = native.map_fields(s.map, s.batch, s.users, self.index)
        shape = native.abi.LinearCompressionShape(
            dtype=native.DTYPES[s.dtype], stage=native.STAGES[stage], map_kind=kind, index_bits=bits, repeats=repeats,
            batch=s.batch, users=s.users, outputs=s.outputs, columns=s.columns, user_width=s.user_width,
            candidate_width=s.candidate_width, weight_stride=self.weight.tensor.stride(0), candidate_first=s.candidate_first,
            tile=tile,
        )  # fmt: skip
        args = native.abi.LinearCompressionArgs(
            self.user.tensor.data_ptr(), self.candidate.tensor.data_ptr(), 0 if self.index is None else self.index.data_ptr(),
            self.weight.tensor.data_ptr(), self.out.tensor.data_ptr(),
        )  # fmt: skip
        return library.operator("linear_compression", shape, args, self)


def check(library, shape, stages, repeats=3, sample=None, neighbours=True):
    """Returns (stage, failure or None, error, allowed error) for each stage."""
    problem = Problem(shape)
    reference = problem.reference(sample)
    at = slice(None) if sample is None else sample
    allowed = limit(relative_error(problem.eager()[at], reference))
    results = []
    for stage in stages:
        if stage == "warp-specialized" and shape.columns % 8:
            continue
        failures = []
        problem.out.poison()
        with problem.native(library, stage) as run:
            run()
            torch.cuda.synchronize()
            error = relative_error(problem.out.tensor[at], reference)
            if not error <= allowed:
                failures.append(f"error {error:.2e}, allowed {allowed:.2e}")
            if bool(problem.out.tensor.isnan().any()):
                failures.append("an element was not written")
            first = problem.out.tensor.clone()
            for _ in range(repeats):
                problem.out.tensor.view(torch.int16).fill_(-1)
                run()
                if not bool((problem.out.tensor.view(torch.int16) == first.view(torch.int16)).all()):
                    failures.append("a repeat differs")
                    break
            guards = {"out": problem.out, "candidate": problem.candidate, "user": problem.user}
            failures += [f"wrote outside {name}" for name, guard in guards.items() if not guard.intact()]
        if neighbours:
            failures += leaks(library, problem, stage)
        results.append((stage, "; ".join(failures) or None, error, allowed))
    return results


def leaks(library, problem, stage):
    """NaN and infinities in one candidate and one user may only reach that candidate and that user's candidates."""
    s = problem.shape
    if s.batch < 3 or s.users < 2:
        return []
    kept = problem.candidate.tensor[1].clone(), problem.user.tensor[0].clone()
    problem.candidate.tensor[1].fill_(float("nan"))
    problem.user.tensor[0].fill_(float("inf"))
    try:
        with problem.native(library, stage) as run:
            run()
            torch.cuda.synchronize()
            clean = problem.user_of != 0
            clean[1] = False
            bad = not bool(torch.isfinite(problem.out.tensor[clean]).all())
            lost = not bool(problem.out.tensor[1].isnan().all())
    finally:
        problem.candidate.tensor[1], problem.user.tensor[0] = kept
    return ["NaN leaked to a neighbour"] * bad + ["NaN was lost"] * lost


def edge_shapes(count):
    """Every listed size at least once, combined at random (fixed seed)."""
    rng = random.Random(20261129)
    sizes = {
        "outputs": [1, 7, 8, 63, 64, 65, 128, 216, 224, 225, 432, 433, 434, 448, 512, 1000],
        "candidate_width": [1, 8, 15, 16, 17, 64, 866, 872, 1024, 2048],
        "user_width": [1, 8, 15, 16, 17, 64, 866, 872, 1024, 2048],
        "columns": [8, 64, 200, 256, 320, 5, 72],
        "batch": [1, 2, 3, 65, 150],
        "users": [1, 2, 7, 65],
        "map": ["repeats", "index", "all", "none"],
        "index_dtype": [torch.int32, torch.int64],
        "order": ["blocks", "sorted", "reversed", "random", "same"],
        "candidate_first": [False, True],
        "dtype": [torch.bfloat16, torch.float16],
        "weight_padding": [0, 3, 8],
    }
    decks = {name: itertools.cycle(rng.sample(values, len(values))) for name, values in sizes.items()}
    for _ in range(count):
        pick = {name: next(deck) for name, deck in decks.items()}
        for name, values in sizes.items():
            if rng.random() < 0.3:
                pick[name] = rng.choice(values)
        if pick["map"] == "none":
            pick["users"] = pick["batch"]
        elif pick["map"] == "repeats":
            pick["users"] = max(u for u in range(1, pick["users"] + 1) if pick["batch"] % u == 0)
        yield Shape(**pick)


def beyond_32_bits():
    """An output of more than 2^31 elements."""
    return Shape(batch=20000, users=300, user_width=64, candidate_width=72, map="index", order="random")


def rejects_bad_index(library):
    """An index out of range is reported by prepare."""
    problem = Problem(Shape(batch=9, users=3, outputs=8, columns=8, user_width=8, candidate_width=8, map="index"))
    failures = []
    for value in (3, -1):
        problem.index[4] = value
        try:
            with problem.native(library, "best"):
                failures.append(f"index {value} of 3 users was accepted")
        except native.IkboError as error:
            if error.status != 2 or str(value) not in str(error):
                failures.append(f"index {value}: {error}")
    return failures


def arms(library, shape, stages, stack):
    """The opponents, and our stages, as (name, function, FLOPs) on one set of inputs; FLOPs are the operator's true ones. The
    exit stack keeps our operators open."""
    s = shape
    problem = Problem(s)
    wu, wc = problem.weights()
    user, candidate = problem.user.tensor, problem.candidate.tensor
    pad = -s.candidate_width % 8
    wc_padded = torch.nn.functional.pad(wc, (0, pad)).contiguous()
    candidate_padded = torch.nn.functional.pad(candidate, (0, 0, 0, pad)).contiguous()
    wu_padded = torch.nn.functional.pad(wu, (0, -s.user_width % 8)).contiguous()
    user_padded = torch.nn.functional.pad(user, (0, 0, 0, -s.user_width % 8)).contiguous()
    out = torch.empty_like(problem.out.tensor)
    flops = 2.0 * s.outputs * s.columns * (s.batch * s.candidate_width + s.users * s.user_width)
    gemm_flops = 2.0 * s.outputs * s.columns * s.batch * s.candidate_width
    expanded = wc_padded.expand(s.batch, -1, -1)
    product = lambda: torch.bmm(expanded, candidate_padded, out=out)
    yield "cuBLAS candidate GEMM alone", product, gemm_flops
    yield from cublas_arms(wc_padded, candidate_padded, gemm_flops)
    yield "torch decomposed, padded", lambda: torch.matmul(wc_padded, candidate_padded).add_(torch.matmul(wu_padded, user_padded)[problem.user_of]), flops
    for stage in stages:
        run = stack.enter_context(problem.native(library, stage))
        yield f"{stage}: {run.kernel}", run, flops
