"""PyTorch's own ways to compute what the benchmark measures, timed on request. One JSON question a line on stdin, one
answer a line on stdout; a failure is answered as {"error": text}. Ends when stdin does."""

import ctypes
import json
import math
import signal
import sys
import time

answers = sys.stdout
sys.stdout = sys.stderr  # what libraries print must not look like an answer


class Problem:
    """Operands, on the device, and the forms that compute on them. Every form takes one set of inputs."""

    def __init__(self, torch, device, question):
        self.torch, self.device = torch, device
        self.dims, self.op, self.repeats = question["dims"], question["op"], question["repeats"]
        self.dtype = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[question["dtype"]]
        self.files = question["files"]
        d = self.dims
        self.index = torch.from_file(self.files["index"], size=d["B"], dtype=torch.int32).to(device).long()
        if self.op == "attention":
            first = {
                "q": self.read("q", d["B"], d["Q"], d["H"], d["D"]),
                "k": self.read("k", d["U"], d["S"], d["Hkv"], d["D"]),
                "v": self.read("v", d["U"], d["S"], d["Hkv"], d["D"]),
            }
        else:
            columns = (d["N"],) if self.op == "linear-compression" else ()
            first = {"user": self.read("user", d["U"], d["Ku"], *columns), "candidate": self.read("candidate", d["B"], d["Kc"], *columns)}
            self.weight = self.read("weight", d["M"], d["Ku"] + d["Kc"])
            self.user_weight = self.weight[:, : d["Ku"]]
            self.candidate_weight = self.weight[:, d["Ku"] :]
        self.sets = [first] + [{name: x.clone() for name, x in first.items()} for _ in range(question["sets"] - 1)]
        self.compiled = {}

    def read(self, name, *shape):
        mapped = self.torch.from_file(self.files[name], size=math.prod(shape), dtype=self.dtype)
        return mapped.view(shape).to(self.device, copy=True)

    def copies(self, x):
        """The copy as people write it: repeat_interleave for equal groups, else indexing."""
        return x.repeat_interleave(self.repeats, 0) if self.repeats else x[self.index]

    def attend(self, q, k, v):
        """All of [batch, rows, heads, width], as projections leave them; the transposes are views."""
        grouped = {"enable_gqa": True} if self.dims["H"] != self.dims["Hkv"] else {}
        attention = self.torch.nn.functional.scaled_dot_product_attention
        return attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), **grouped).transpose(1, 2)

    def as_written(self, x):
        if self.op == "attention":
            return self.attend(x["q"], self.copies(x["k"]), self.copies(x["v"]))
        both = self.torch.cat([self.copies(x["user"]), x["candidate"]], 1)
        return self.torch.nn.functional.linear(both, self.weight) if self.op == "concat-linear" else self.torch.matmul(self.weight, both)

    def decomposed(self, x):
        if self.op == "concat-linear":
            linear = self.torch.nn.functional.linear
            return linear(x["candidate"], self.candidate_weight) + self.copies(linear(x["user"], self.user_weight))
        matmul = self.torch.matmul
        return matmul(self.candidate_weight, x["candidate"]) + self.copies(matmul(self.user_weight, x["user"]))

    def folded(self, x):
        """Candidates of a user as more query rows: a view, since they are neighbours."""
        d = self.dims
        out = self.attend(x["q"].view(d["U"], self.repeats * d["Q"], d["H"], d["D"]), x["k"], x["v"])
        return out.reshape(d["B"], d["Q"], d["H"], d["D"])

    def form(self, name):
        forms = {"as-written": self.as_written, "decomposed": self.decomposed, "folded": self.folded}
        if name in forms:
            return forms[name]
        if name not in self.compiled:
            plain = forms["as-written" if name == "compile" else name.removeprefix("compile-")]
            self.compiled[name] = self.torch.compile(plain, dynamic=False)
        return self.compiled[name]


class Timer:
    def __init__(self, torch, device):
        self.torch, self.cuda, self.device, self.scratch = torch, device.type == "cuda", device, None

    def milliseconds(self, call, calls, flush_bytes):
        """Mean time of a call; where the cache is flushed before each, the flush is not counted."""
        if flush_bytes and (self.scratch is None or self.scratch.numel() != flush_bytes):
            self.scratch = self.torch.empty(flush_bytes, dtype=self.torch.uint8, device=self.device)
        if not self.cuda:
            total = 0.0
            for i in range(calls):
                if flush_bytes:
                    self.scratch.fill_(i % 251)
                start = time.perf_counter()
                call(i)
                total += time.perf_counter() - start
            return total * 1000 / calls
        event = lambda: self.torch.cuda.Event(enable_timing=True)
        pairs = []
        self.torch.cuda.synchronize()
        for i in range(calls):
            if flush_bytes:
                self.scratch.fill_(i % 251)
            if flush_bytes or i == 0:
                pairs.append((event(), event()))
                pairs[-1][0].record()
            call(i)
            if flush_bytes or i == calls - 1:
                pairs[-1][1].record()
        self.torch.cuda.synchronize()
        return sum(first.elapsed_time(last) for first, last in pairs) / calls


class Session:
    def hello(self, question):
        try:
            import torch
        except ImportError:
            raise RuntimeError(f"{sys.executable} has no PyTorch") from None
        self.torch = torch
        torch.set_grad_enabled(False)
        name = question["device"]
        if name != "cpu" and not torch.cuda.is_available():
            raise RuntimeError(f"PyTorch {torch.__version__} of {sys.executable} has no CUDA")
        if name == "cpu":
            torch.set_num_threads(question["threads"])
        else:
            torch.cuda.set_device(name)
        self.device = torch.device(name)
        self.timer = Timer(torch, self.device)
        return {"torch": torch.__version__}

    def load(self, question):
        self.problem = Problem(self.torch, self.device, question)
        return {}

    def run(self, question):
        cuda = self.device.type == "cuda"
        if cuda:
            self.torch.cuda.reset_peak_memory_stats()
        out = self.problem.form(question["form"])(self.problem.sets[0]).contiguous().cpu()
        with open(question["out"], "wb") as file:
            file.write((ctypes.c_char * out.nbytes).from_address(out.data_ptr()))
        return {"peakBytes": self.torch.cuda.max_memory_allocated() if cuda else None}

    def sample(self, question):
        form, sets = self.problem.form(question["form"]), self.problem.sets
        return {"milliseconds": self.timer.milliseconds(lambda i: form(sets[i % len(sets)]), question["calls"], question["flushBytes"])}

    def ceiling(self, question):
        n = question["size"]
        a, b = (self.torch.randn(n, n, device=self.device).to(self.problem.dtype) for _ in range(2))
        call = lambda i: self.torch.matmul(a, b)
        call(0)
        return {"gflops": 2 * n**3 / min(self.timer.milliseconds(call, 1, 0) for _ in range(5)) / 1e6}


def die_with_parent():
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def main():
    die_with_parent()
    session = Session()
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = getattr(session, question["type"])(question)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0] if not isinstance(error, RuntimeError) else str(error).splitlines()[0]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


main()
