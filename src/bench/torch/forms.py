"""The forms in which a PyTorch user would write each operator, on one problem's operands. No timing here."""

import importlib
import math
import warnings

from cublas import Proposals


def published(module):
    try:
        return importlib.import_module(f"ikbo.ops.{module}")
    except ImportError as error:
        raise RuntimeError(f"the package ikbo of FBGEMM's experimental/ikbo cannot be imported: {error}") from None


def package():
    """ikbo_lens; an error where it says that its kernels do not run."""
    try:
        found = importlib.import_module("ikbo_lens")
    except ImportError:
        raise RuntimeError("ikbo_lens is not installed in this Python: pip install kernels/python") from None
    found.use("native")  # at any size
    warnings.filterwarnings("error", message="ikbo_lens: ", category=RuntimeWarning)
    return found


class Problem:
    """Operands on the device, and the forms that compute on them. Every form takes one set of inputs."""

    def __init__(self, torch, device, question):
        self.torch, self.device = torch, device
        self.dims, self.op, self.repeats = question["dims"], question["op"], question["repeats"]
        self.dtype = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[question["dtype"]]
        self.files = question["files"]
        self.short_index = torch.from_file(self.files["index"], size=self.dims["B"], dtype=torch.int32).to(device)
        self.index = self.short_index.long()
        first = self.attention_operands() if self.op == "attention" else self.linear_operands()
        self.sets = [first] + [{name: x.clone() for name, x in first.items()} for _ in range(question["sets"] - 1)]
        self.forms = {}

    def read(self, name, *shape):
        mapped = self.torch.from_file(self.files[name], size=math.prod(shape), dtype=self.dtype)
        return mapped.view(shape).to(self.device, copy=True)

    def copies(self, x):
        """The copy as people write it: repeat_interleave for equal groups, else indexing."""
        return x.repeat_interleave(self.repeats, 0) if self.repeats else x[self.index]

    def form(self, name):
        """`compile-FORM` is FORM under torch.compile."""
        if name not in self.forms:
            plain = name.removeprefix("compile-")
            form = getattr(self, plain.replace("-", "_"))
            self.forms[name] = form if plain == name else self.torch.compile(form, dynamic=False)
        return self.forms[name]

    # Concat-linear and linear compression: x[user] beside x[candidate], times W.

    def linear_operands(self):
        d = self.dims
        columns = (d["N"],) if self.op == "linear-compression" else ()
        self.weight = self.read("weight", d["M"], d["Ku"] + d["Kc"])
        # Whole matrices, as a decomposed model holds them.
        self.user_weight, self.candidate_weight = self.weight[:, : d["Ku"]].contiguous(), self.weight[:, d["Ku"] :].contiguous()
        x = {"user": self.read("user", d["U"], d["Ku"], *columns), "candidate": self.read("candidate", d["B"], d["Kc"], *columns)}
        if d["Ku"] % 8 or d["Kc"] % 8:
            self.padded_user_weight, self.padded_candidate_weight = self.padded(self.user_weight), self.padded(self.candidate_weight)
            x |= {f"padded_{name}": self.padded(value) for name, value in x.items()}
        return x

    def padded(self, x):
        """K, the second axis of every operand here, with zeros up to a multiple of 8."""
        after = [0, -x.shape[1] % 8]
        return self.torch.nn.functional.pad(x, [0, 0] * (x.dim() - 2) + after).contiguous()

    def product(self, x, weight):
        return self.torch.nn.functional.linear(x, weight) if self.op == "concat-linear" else self.torch.matmul(weight, x)

    def as_written(self, x):
        if self.op == "attention":
            return self.attend(x["q"], self.copies(x["k"]), self.copies(x["v"]))
        return self.product(self.torch.cat([self.copies(x["user"]), x["candidate"]], 1), self.weight)

    def decomposed(self, x):
        return self.product(x["candidate"], self.candidate_weight).add_(self.product(x["user"], self.user_weight)[self.index])

    def decomposed_padded(self, x):
        user = self.product(x["padded_user"], self.padded_user_weight)
        return self.product(x["padded_candidate"], self.padded_candidate_weight).add_(user[self.index])

    def candidate_operands(self, x):
        """(weight, candidates) of the part that no form can leave out, K padded before."""
        padded = "padded_candidate" in x
        return self.padded_candidate_weight if padded else self.candidate_weight, x["padded_candidate" if padded else "candidate"]

    def candidate_alone(self, x):
        """The candidates' product without any user's part."""
        weight, candidate = self.candidate_operands(x)
        if self.op == "concat-linear":
            return self.product(candidate, weight)
        return self.torch.bmm(weight.expand(len(candidate), -1, -1), candidate)

    def candidate_fastest(self, x):
        """The same by the first algorithm that cuBLAS proposes. What is timed is the fastest of `choices`."""
        return self.proposals()(0, *self.candidate_operands(x))

    def choices(self, name):
        """Forms of which the fastest stands for form `name`; None where it stands for itself."""
        if name != "candidate-fastest":
            return None
        proposals = self.proposals()
        by = lambda number: lambda x: proposals(number, *self.candidate_operands(x))
        own = {f"{name} {number}": by(number) for number in range(len(proposals))}
        self.forms |= own
        return [*own, "candidate-alone"]

    def proposals(self):
        if not hasattr(self, "known_proposals"):
            self.known_proposals = Proposals(self.torch, *self.candidate_operands(self.sets[0]))
        return self.known_proposals

    def ikbo_lens(self, x):
        """As rewritten code calls it: weights and maps are taken in by every call."""
        lens = package()
        user_of = lens.repeats(self.repeats) if self.repeats else lens.index(self.short_index)
        if self.op == "attention":
            grouped = {"enable_gqa": True} if self.dims["H"] != self.dims["Hkv"] else {}
            return lens.attention(*(x[name].transpose(1, 2) for name in "qkv"), user_of, **grouped).transpose(1, 2)
        call = lens.cat_linear if self.op == "concat-linear" else lens.linear_compression
        return call([(x["user"], user_of), x["candidate"]], self.weight)

    def upstream(self, x):
        """The published Triton kernels, where the package `ikbo` of FBGEMM's experimental/ikbo can be imported. K padded before
        where it is not a multiple of 8, as for the other arms that they are compared with."""
        d = self.dims
        if self.op == "attention":
            triton_flash_attn_ikbo_tma = published("triton_ikbo_fa").triton_flash_attn_ikbo_tma
            rows = [x[name].flatten(0, 1) for name in "qkv"]
            out = triton_flash_attn_ikbo_tma(*rows, self.short_index, d["Q"], d["S"])
            return out.view(d["B"], d["Q"], d["H"], d["D"])
        triton_ikbo_lce = published("triton_ikbo_lce").triton_ikbo_lce
        if "padded_user" in x:
            weights = self.padded_candidate_weight, self.padded_user_weight
            return triton_ikbo_lce(*weights, x["padded_candidate"], x["padded_user"], self.short_index)
        return triton_ikbo_lce(self.candidate_weight, self.user_weight, x["candidate"], x["user"], self.short_index)

    # Attention: operands are [batch, rows, heads, width], as projections leave them; the transposes are views.

    def attention_operands(self):
        d = self.dims
        keys = (d["U"], d["S"], d["Hkv"], d["D"])
        return {"q": self.read("q", d["B"], d["Q"], d["H"], d["D"]), "k": self.read("k", *keys), "v": self.read("v", *keys)}

    def attend(self, q, k, v):
        grouped = {"enable_gqa": True} if self.dims["H"] != self.dims["Hkv"] else {}
        attention = self.torch.nn.functional.scaled_dot_product_attention
        return attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), **grouped).transpose(1, 2)

    def folded(self, x):
        """Candidates of a user as more query rows: a view, since they are neighbours."""
        d = self.dims
        out = self.attend(x["q"].view(d["U"], self.repeats * d["Q"], d["H"], d["D"]), x["k"], x["v"])
        return out.reshape(d["B"], d["Q"], d["H"], d["D"])

    def with_backend(self, name, form, x):
        from torch.nn.attention import SDPBackend, sdpa_kernel

        with sdpa_kernel(getattr(SDPBackend, name)):
            return form(x)

    def flash(self, x):
        return self.with_backend("FLASH_ATTENTION", self.as_written, x)

    def cudnn(self, x):
        return self.with_backend("CUDNN_ATTENTION", self.as_written, x)

    def folded_flash(self, x):
        return self.with_backend("FLASH_ATTENTION", self.folded, x)

    def folded_cudnn(self, x):
        return self.with_backend("CUDNN_ATTENTION", self.folded, x)

    def varlen(self, x):
        """Candidates sorted by user, then one sequence per user. Offsets and order count as known; the gathers do not."""
        from torch.nn.attention.varlen import varlen_attn

        d, order, torch = self.dims, self.order(), self.torch
        q = x["q"] if order is None else x["q"][order]
        keys, (queries, offsets, longest) = x["k"].flatten(0, 1), self.offsets()
        grouped = {"enable_gqa": True} if d["H"] != d["Hkv"] else {}
        out = varlen_attn(q.flatten(0, 1), keys, x["v"].flatten(0, 1), queries, offsets, longest, d["S"], **grouped)
        out = out.view(d["B"], d["Q"], d["H"], d["D"])
        return out if order is None else torch.empty_like(out).index_copy_(0, order, out)

    def order(self):
        """None where candidates are in the order of their users already."""
        if not hasattr(self, "known_order"):
            sorted_already = bool((self.index[1:] >= self.index[:-1]).all())
            self.known_order = None if sorted_already else self.index.argsort(stable=True)
        return self.known_order

    def offsets(self):
        """Offsets of the users' queries and keys, and the longest user's queries."""
        if not hasattr(self, "known_offsets"):
            d, torch = self.dims, self.torch
            counts = torch.bincount(self.index, minlength=d["U"]) * d["Q"]
            queries = torch.nn.functional.pad(counts.cumsum(0), [1, 0]).int()
            keys = torch.arange(d["U"] + 1, device=self.device, dtype=torch.int32) * d["S"]
            self.known_offsets = (queries, keys, int(counts.max()))
        return self.known_offsets
