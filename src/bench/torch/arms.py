"""PyTorch's own ways to compute what the benchmark measures, timed on request. One JSON question a line on stdin, one
answer a line on stdout; a failure is answered as {"error": text}. Ends when stdin does."""

import ctypes
import json
import signal
import sys
import time

from forms import Problem
from timer import Timer

answers = sys.stdout
sys.stdout = sys.stderr  # what libraries print must not look like an answer


#: What makes a turn, beside the form.
TURN = ("calls", "discarded", "flushBytes", "idle", "settle")


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
        self.timer, self.chosen = Timer(torch, self.device), {}
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
        return self.turn(self.fastest(question), question)

    def fastest(self, question):
        """The form to time: of several that compute the same, the fastest in turns like the one asked for. The best three of a first
        turn each take another; what they take in both decides."""
        regime = (question["form"], *(question[key] for key in TURN))
        if regime not in self.chosen:
            names = self.problem.choices(question["form"])
            times = {name: self.rested(name, question) for name in self.equal(names)} if names else {}
            for name in sorted(times, key=times.get)[:3]:
                times[name] = (times[name] + self.rested(name, question)) / 2
            self.chosen[regime] = min(sorted(times, key=times.get)[:3], key=times.get) if times else question["form"]
        return self.chosen[regime]

    def rested(self, name, question):
        self.turn(name, {**question, "settle": 0})  # captures and warms it
        time.sleep(question["idle"] / 1000)
        return self.turn(name, question)["milliseconds"]

    def equal(self, names):
        """Those of `names` that run, and give what the first one gives up to the order of the sums."""
        results, first = [], None
        for name in names:
            try:
                out = self.problem.form(name)(self.problem.sets[0]).float()
                self.torch.cuda.synchronize()
            except RuntimeError:
                continue
            first = out if first is None else first
            if float((out - first).norm()) <= 1e-2 * float(first.norm()):
                results.append(name)
        return results

    def turn(self, name, question):
        """One turn, as the benchmark's own arms take it (sampler.ts); whoever asks has let the card rest."""
        form, sets = self.problem.form(name), self.problem.sets
        call = lambda i: form(sets[i % len(sets)])
        start = time.perf_counter()
        while True:  # until the power limit has set in, where that is asked for; the last sample counts
            milliseconds, captured = self.timer.milliseconds(name, call, *(question[key] for key in ("calls", "discarded", "flushBytes")))
            if (time.perf_counter() - start) * 1000 >= question["settle"]:
                return {"milliseconds": milliseconds, "captured": captured}

    def ceiling(self, question):
        """A large product and a large copy; bytes read and bytes written both count."""
        n, size = question["size"], question["copyBytes"]
        a, b = (self.torch.randn(n, n, device=self.device).to(self.problem.dtype) for _ in range(2))
        source, target = (self.torch.ones(size, dtype=self.torch.uint8, device=self.device) for _ in range(2))

        def best(name, call):
            call(0)
            return min(self.timer.milliseconds(name, call, 1, 0, 0)[0] for _ in range(5))

        product, copy = best("product", lambda i: self.torch.matmul(a, b)), best("copy", lambda i: target.copy_(source))
        return {"gflops": 2 * n**3 / product / 1e6, "gbytes": 2 * size / copy / 1e6}


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
