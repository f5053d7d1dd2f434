"""Attention: a problem with its reference, the checks, and the arms of the timing."""

import itertools
import random
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import native
from guard import Guarded, limit, normal, relative_error


@dataclass(frozen=True)
class Shape:
    batch: int = 2048
    users: int = 32
    queries: int = 64
    keys: int = 2048
    heads: int = 2
    key_heads: int = 2
    width: int = 128
    map: str = "repeats"
    index_dtype: torch.dtype = torch.int32
    order: str = "sorted"  # sorted, reversed, random, same, uneven (8 to 120 candidates a user, shuffled)
    lengths: str = "dense"  # dense, ragged (0 to keys), empty (no user has keys)
    data: str = "normal"  # normal, rising (later blocks outgrow the first), falling
    dtype: torch.dtype = torch.bfloat16

    def __str__(self):
        dtype = {torch.bfloat16: "bf16", torch.float16: "fp16"}[self.dtype]
        order = f" {self.order} {str(self.index_dtype)[6:]}" if self.map == "index" else ""
        return (
            f"{dtype} B{self.batch} U{self.users} Q{self.queries} S{self.keys} H{self.heads}/{self.key_heads} D{self.width} "
            f"{self.map}{order} {self.lengths} {self.data}"
        )

    def flops(self, lengths_of_rows):
        return 4.0 * self.queries * self.heads * self.width * float(lengths_of_rows.sum())


def uneven_index(batch, users, generator):
    """Group sizes drawn evenly from 8 to 120, scaled to the batch, in random order."""
    sizes = torch.randint(8, 121, (users,), generator=generator, device="cuda").double()
    sizes = (sizes * batch / sizes.sum()).floor().clamp(min=1).long()
    while int(sizes.sum()) != batch:
        at = int(torch.randint(0, users, (1,), generator=generator, device="cuda"))
        step = 1 if int(sizes.sum()) < batch else -1
        if int(sizes[at]) + step >= 1:
            sizes[at] += step
    index = torch.repeat_interleave(torch.arange(users, device="cuda"), sizes)
    return index[torch.randperm(batch, generator=generator, device="cuda")]


class Problem:
    def __init__(self, shape, seed=0):
        s = self.shape = shape
        g = torch.Generator("cuda").manual_seed(seed)
        self.offsets = None
        rows = s.users * s.keys
        lengths = torch.full((s.users,), s.keys, device="cuda", dtype=torch.int64)
        if s.lengths != "dense":
            lengths = torch.randint(0, s.keys + 1, (s.users,), generator=g, device="cuda") if s.lengths == "ragged" else torch.zeros_like(lengths)
            if s.users > 2 and s.lengths == "ragged":
                lengths[0], lengths[1] = s.keys, 0
            self.offsets = F.pad(lengths.cumsum(0), (1, 0)).to(torch.int32)
            rows = int(lengths.sum())
        self.lengths = lengths
        self.starts = F.pad(lengths.cumsum(0), (1, 0))
        size = (rows, s.key_heads, s.width)
        k = normal(size, s.dtype, g)
        if s.data != "normal" and rows:
            at = torch.arange(rows, device="cuda") - torch.repeat_interleave(self.starts[:-1], lengths)
            part = at / torch.repeat_interleave(lengths, lengths).clamp(min=1)
            high = part < 0.3 if s.data == "rising" else part > 0.7  # the kernel takes the last keys first
            k[high] *= 40
        self.k, self.v = Guarded(size, s.dtype, k), Guarded(size, s.dtype, normal(size, s.dtype, g))
        size = (s.batch, s.queries, s.heads, s.width)
        self.q, self.out = Guarded(size, s.dtype, normal(size, s.dtype, g)), Guarded(size, s.dtype)
        self.lse = Guarded((s.batch, s.heads, s.queries * 2), torch.int16)  # fp32, as pairs
        self.index = None
        if s.map == "index":
            index = torch.randint(0, s.users, (s.batch,), device="cuda", generator=g)
            self.index = {
                "sorted": lambda: index.sort().values,
                "reversed": lambda: index.sort(descending=True).values,
                "random": lambda: index,
                "same": lambda: torch.full_like(index, s.users - 1),
                "uneven": lambda: uneven_index(s.batch, s.users, g),
            }[s.order]().to(s.index_dtype)
        self.user_of = native.rows_of(s.map, s.batch, s.users, self.index, "cuda")
        self.scale = s.width**-0.5

    def keys_of(self, user):
        """([H, S, D], [H, S, D]) of one user, every query head with its own copy."""
        s, at = self.shape, slice(int(self.starts[user]), int(self.starts[user + 1]))
        return (t.tensor[at].transpose(0, 1).repeat_interleave(s.heads // s.key_heads, 0) for t in (self.k, self.v))

    def by_user(self, candidates, attend):
        """attend(q [n, H, Q, D], k, v) for the candidates of each user; results in the order of `candidates`."""
        results = [None] * len(candidates)
        users = self.user_of[candidates].tolist()
        for user in sorted(set(users)):
            places = [i for i, u in enumerate(users) if u == user]
            q = self.q.tensor[candidates[places]].transpose(1, 2)
            for place, result in zip(places, attend(q, *self.keys_of(user))):
                results[place] = result
        return results

    def reference(self, candidates):
        """(out [n, Q, H, D], log-sum-exp [n, H, Q]) in fp64."""

        def attend(q, k, v):
            if k.shape[1] == 0:
                return [(torch.zeros_like(x).double(), torch.full(x.shape[:2], -torch.inf, device="cuda").double()) for x in q]
            scores = torch.matmul(q.double(), k.double().transpose(1, 2)) * self.scale
            out = torch.matmul(scores.softmax(-1), v.double())
            return list(zip(out, scores.logsumexp(-1)))

        pairs = self.by_user(candidates, attend)
        return torch.stack([out.transpose(0, 1) for out, _ in pairs]), torch.stack([lse for _, lse in pairs])

    def eager(self, candidates, backend=SDPBackend.MATH):
        def attend(q, k, v):
            if k.shape[1] == 0:
                return list(torch.zeros_like(q))
            if backend is None:
                scores = torch.matmul(q, k.transpose(1, 2)) * self.scale
                return list(torch.matmul(scores.softmax(-1), v))
            with sdpa_kernel(backend):
                return list(F.scaled_dot_product_attention(q, k.expand(len(q), -1, -1, -1), v.expand(len(q), -1, -1, -1)))

        return torch.stack([out.transpose(0, 1) for out in self.by_user(candidates, attend)])

    def native(self, library, stage, lse=False, tile=0):
        s = self.shape
        kind, bits, repeats = native.map_fields(s.map, s.batch, s.users, self.index)
        shape = native.abi.AttentionShape(
            dtype=native.DTYPES[s.dtype], stage=native.STAGES[stage], map_kind=kind, index_bits=bits, repeats=repeats,
            batch=s.batch, users=s.users, queries=s.queries, heads=s.heads, key_heads=s.key_heads, head_width=s.width, keys=s.keys,
            total_keys=0 if self.offsets is None else int(self.offsets[-1]), ragged=self.offsets is not None, want_lse=lse, scale=self.scale, tile=tile,
        )  # fmt: skip
        args = native.abi.AttentionArgs(
            self.q.tensor.data_ptr(), self.k.tensor.data_ptr(), self.v.tensor.data_ptr(),
            0 if self.offsets is None else self.offsets.data_ptr(), 0 if self.index is None else self.index.data_ptr(),
            self.out.tensor.data_ptr(), self.lse.tensor.data_ptr() if lse else 0,
        )  # fmt: skip
        return library.operator("attention", shape, args, self)


def stages_of(shape, stages):
    """Of the named stages, those that attention has for the shape."""
    known = ("materialized", "decomposed", "fused", "warp-specialized") if shape.width in (64, 128) else ("materialized", "decomposed")
    return [stage for stage in stages if stage in known]


def check(library, shape, stages, repeats=3, sample=None, neighbours=True):
    """Returns (stage, failure or None, error, allowed error) for each stage."""
    problem = Problem(shape)
    candidates = torch.arange(shape.batch, device="cuda") if sample is None else sample
    reference, lse_reference = problem.reference(candidates)
    allowed = limit(relative_error(problem.eager(candidates, None), reference))
    results = []
    named = stages_of(shape, stages)
    builds = (2, 3) if "warp-specialized" in named and shape.width == 128 else ()  # whatever the sizes would choose
    for stage, tile in [(stage, 0) for stage in named] + [("warp-specialized", tile) for tile in builds]:
        failures = []
        problem.out.poison()
        problem.lse.poison()
        with problem.native(library, stage, lse=True, tile=tile) as run:
            run()
            torch.cuda.synchronize()
            error = relative_error(problem.out.tensor[candidates], reference)
            if not error <= allowed:
                failures.append(f"error {error:.2e}, allowed {allowed:.2e}")
            if bool(problem.out.tensor.isnan().any()):
                failures.append("an element was not written")
            lse = problem.lse.tensor.view(torch.float32)[candidates].double()
            finite = torch.isfinite(lse_reference)
            wrong = float((lse - lse_reference)[finite].abs().max()) if bool(finite.any()) else 0.0
            if not wrong <= 2e-2 + 1e-5 * float(lse_reference[finite].abs().max() if bool(finite.any()) else 0):
                failures.append(f"log-sum-exp off by {wrong:.2e}")
            if not bool((lse[~finite] == lse_reference[~finite]).all()):
                failures.append("log-sum-exp of a user without keys is not -inf")
            first = problem.out.tensor.clone()
            for _ in range(repeats):
                problem.out.tensor.view(torch.int16).fill_(-1)
                run()
                if not bool((problem.out.tensor.view(torch.int16) == first.view(torch.int16)).all()):
                    failures.append("a repeat differs")
                    break
            guards = {"out": problem.out, "lse": problem.lse, "q": problem.q, "k": problem.k, "v": problem.v}
            failures += [f"wrote outside {name}" for name, guard in guards.items() if not guard.intact()]
        if neighbours:
            failures += leaks(library, problem, stage, first, tile)
        results.append((f"{stage} {tile}" if tile else stage, "; ".join(failures) or None, error, allowed))
    return results


def leaks(library, problem, stage, clean, tile):
    """NaN in one candidate's queries and NaN or infinities in one user's keys and values reach nobody else, bit for bit."""
    s = problem.shape
    failures = []
    for user, value in itertools.product({0, s.users // 2, s.users - 1}, (float("nan"), float("inf"))):
        at = slice(int(problem.starts[user]), int(problem.starts[user + 1]))
        kept = problem.k.tensor[at].clone(), problem.v.tensor[at].clone(), problem.q.tensor[0].clone()
        problem.k.tensor[at], problem.v.tensor[at], problem.q.tensor[0] = value, value, value
        problem.out.poison()
        try:
            with problem.native(library, stage, tile=tile) as run:
                run()
                torch.cuda.synchronize()
                others = problem.user_of != user
                others[0] = False
                if not bool((problem.out.tensor[others].view(torch.int16) == clean[others].view(torch.int16)).all()):
                    failures.append(f"{value} of user {user} leaked to a neighbor")
                touched = ~others & (problem.lengths[problem.user_of] > 0)
                if value != value and not bool(problem.out.tensor[touched].isnan().all()):
                    failures.append("NaN was lost")
        finally:
            problem.k.tensor[at], problem.v.tensor[at], problem.q.tensor[0] = kept
    return failures


def edge_shapes(count):
    """Every listed size at least once, combined at random (fixed seed)."""
    rng = random.Random(20261129)
    sizes = {
        "keys": [1, 15, 16, 127, 128, 175, 176, 177, 500, 512, 1000, 4096],
        "heads": [(1, 1), (2, 2), (4, 1), (6, 2), (8, 1)],
        "width": [64, 128, 64, 128, 128, 40, 256],
        "queries": [1, 16, 32, 64, 128, 200, 63, 5],
        "batch": [1, 2, 3, 8, 33, 70, 300],
        "users": [1, 2, 3, 7],
        "map": ["repeats", "index", "all", "none", "index"],
        "index_dtype": [torch.int32, torch.int64],
        "order": ["sorted", "reversed", "random", "same"],
        "lengths": ["dense", "ragged", "dense", "ragged", "ragged", "empty"],
        "data": ["normal", "normal", "rising", "falling"],
        "dtype": [torch.bfloat16, torch.float16],
    }
    decks = {name: itertools.cycle(rng.sample(values, len(values))) for name, values in sizes.items()}
    # Many short units on every multiprocessor.
    for dtype, width in itertools.product(sizes["dtype"], (64, 128)):
        yield Shape(batch=300, users=300, queries=1, keys=15, heads=6, key_heads=2, width=width, dtype=dtype)
        yield Shape(batch=2000, users=1000, queries=3, keys=100, heads=6, key_heads=2, width=width, dtype=dtype)
    for _ in range(count):
        pick = {name: next(deck) for name, deck in decks.items()}
        for name, values in sizes.items():
            if rng.random() < 0.3:
                pick[name] = rng.choice(values)
        if pick["batch"] > 8 and pick["keys"] > 1000:
            pick["batch"] = 8
        if pick["batch"] > 70:  # more tiles than run at a time
            pick["queries"] = min(pick["queries"], 64)
        pick["heads"], pick["key_heads"] = pick["heads"]
        if pick["map"] == "none":
            pick["users"] = pick["batch"]
        elif pick["map"] == "repeats":
            pick["users"] = max(u for u in range(1, pick["users"] + 1) if pick["batch"] % u == 0)
        yield Shape(**pick)


def beyond_32_bits():
    """Queries and an output of more than 2^31 elements."""
    return Shape(batch=140_000, users=2000, keys=64, map="index", order="random")


def published(dtype):
    """The shapes of the benchmark, with the opponents of each."""
    for keys in (512, 1024, 2048, 4096, 8192):
        yield Shape(keys=keys, dtype=dtype), ("folded cudnn",)
    yield Shape(users=36, map="index", order="uneven", dtype=dtype), ("varlen",)
    yield Shape(batch=512, heads=8, dtype=dtype), ("folded cudnn",)
    yield Shape(width=64, dtype=dtype), ("folded cudnn",)


def rejects_bad_input(library):
    """Indices and key offsets out of range are reported by prepare."""
    failures = []
    for stage in ("decomposed", "warp-specialized"):
        problem = Problem(Shape(batch=9, users=3, queries=4, keys=8, map="index", lengths="ragged"))
        for tensor, at, value, status in ((problem.index, 4, 3, 2), (problem.index, 4, -1, 2), (problem.offsets, 0, 1, 1), (problem.offsets, 2, 0, 1)):
            kept = tensor[at].clone()
            tensor[at] = value
            try:
                with problem.native(library, stage):
                    failures.append(f"attention {stage}: {value} at {at} was accepted")
            except native.IkboError as error:
                if error.status != status:
                    failures.append(f"attention {stage}: {error}")
            tensor[at] = kept
    return failures


def arms(library, shape, stages, stack, opponents=("folded cudnn", "indexed flash")):
    """The opponents, and our stages, as (name, function, FLOP) on one set of inputs. FLOPs are the operator's true ones. The
    exit stack keeps our operators open."""
    s = shape
    problem = Problem(s)
    flops = s.flops(problem.lengths[problem.user_of])
    if s.lengths == "dense":
        q = problem.q.tensor
        k, v = (t.tensor.view(s.users, s.keys, s.key_heads, s.width) for t in (problem.k, problem.v))
        gqa = s.heads != s.key_heads
        if "folded cudnn" in opponents and s.map == "repeats":
            folded = q.view(s.users, -1, s.heads, s.width).transpose(1, 2)

            def fold(backend):
                def run():
                    with sdpa_kernel(backend):
                        return F.scaled_dot_product_attention(folded, k.transpose(1, 2), v.transpose(1, 2), enable_gqa=gqa)

                return run

            yield "torch SDPA cuDNN, candidates folded into the queries", fold(SDPBackend.CUDNN_ATTENTION), flops
        if "indexed flash" in opponents:

            def indexed():
                with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
                    at = problem.user_of
                    return F.scaled_dot_product_attention(q.transpose(1, 2), k[at].transpose(1, 2), v[at].transpose(1, 2), enable_gqa=gqa)

            yield "torch index K and V, SDPA flash", indexed, flops
        if "varlen" in opponents:
            from torch.nn.attention.varlen import varlen_attn

            order = problem.user_of.argsort(stable=True)
            counts = torch.bincount(problem.user_of, minlength=s.users) * s.queries
            cu_q = F.pad(counts.cumsum(0), (1, 0)).to(torch.int32)
            cu_k = torch.arange(s.users + 1, device="cuda", dtype=torch.int32) * s.keys
            sorted_q, longest = q[order].flatten(0, 1), int(counts.max())
            yield (
                "torch varlen_attn, queries already sorted by user",
                lambda: varlen_attn(sorted_q, k.flatten(0, 1), v.flatten(0, 1), cu_q, cu_k, longest, s.keys),
                flops,
            )
    for stage in stages:
        run = stack.enter_context(problem.native(library, stage))
        run.problem = problem  # the operator knows only addresses
        yield f"{stage}: {run.kernel}", run, flops
