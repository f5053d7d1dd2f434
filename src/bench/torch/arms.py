"""PyTorch's own ways to compute what the benchmark measures, timed on request. One JSON question a line on stdin, one
answer a line on stdout; a failure is answered as {"error": text}. Ends when stdin does."""

import ctypes
import json
import signal
import sys
import time

from forms import Problem

answers = sys.stdout
sys.stdout = sys.stderr  # what libraries print must not look like an answer


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
