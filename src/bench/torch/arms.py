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
    """Mean milliseconds of a call. On CUDA the calls are captured into a graph, as those of the bundled kernels are, so that
    nobody's launches are timed; a form that cannot be captured is called as it is, and `captured` says so."""

    def __init__(self, torch, device):
        self.torch, self.cuda, self.device, self.scratch = torch, device.type == "cuda", device, None
        self.recordings, self.pool = {}, None

    def milliseconds(self, name, call, calls, flush_bytes):
        """(milliseconds, captured). Where the cache is flushed before each call, the flush is not counted."""
        if flush_bytes and (self.scratch is None or self.scratch.numel() != flush_bytes):
            self.scratch = self.torch.empty(flush_bytes, dtype=self.torch.uint8, device=self.device)
        if not self.cuda:
            return self.by_clock(call, calls, flush_bytes), False
        key = (name, calls, flush_bytes)
        if key not in self.recordings:
            self.recordings[key] = self.record(call, calls, flush_bytes)
        replay, pairs, captured = self.recordings[key]
        self.torch.cuda.synchronize()
        replay()
        self.torch.cuda.synchronize()
        return sum(first.elapsed_time(last) for first, last in pairs) / calls, captured

    def by_clock(self, call, calls, flush_bytes):
        total = 0.0
        for i in range(calls):
            if flush_bytes:
                self.scratch.fill_(i % 251)
            start = time.perf_counter()
            call(i)
            total += time.perf_counter() - start
        return total * 1000 / calls

    def record(self, call, calls, flush_bytes):
        """(replay, pairs of events, captured). One pair around all calls, or one around each where the cache is flushed."""
        torch = self.torch

        def pairs(external):
            event = lambda: torch.cuda.Event(enable_timing=True, external=external)
            return [(event(), event()) for _ in range(calls if flush_bytes else 1)]

        def issue(events):
            for i in range(calls):
                if flush_bytes:
                    self.scratch.fill_(i % 251)
                    events[i][0].record()
                call(i)
                if flush_bytes:
                    events[i][1].record()

        def timed(run, events):
            def replay():
                if not flush_bytes:
                    events[0][0].record()
                run()
                if not flush_bytes:
                    events[0][1].record()

            return replay

        if self.pool is None:
            self.pool = torch.cuda.graph_pool_handle()
        try:
            events, graph = pairs(bool(flush_bytes)), torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.pool):  # one pool: graphs never run at the same time, and results are not read
                issue(events)
            return timed(graph.replay, events), events, True
        except RuntimeError:
            torch.cuda.synchronize()
            events = pairs(False)
            return timed(lambda: issue(events), events), events, False


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
        return self.settled(self.fastest(question), question)

    def fastest(self, question):
        """The form to time: of several that compute the same, the fastest in this regime."""
        regime = (question["form"], question["calls"], question["flushBytes"], question["settle"])
        if regime not in self.chosen:
            names = self.problem.choices(question["form"])
            times = {name: self.settled(name, question)["milliseconds"] for name in self.equal(names)} if names else {}
            self.chosen[regime] = min(times, key=times.get) if times else question["form"]
        return self.chosen[regime]

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

    def settled(self, name, question):
        form, sets = self.problem.form(name), self.problem.sets
        call = lambda i: form(sets[i % len(sets)])
        start = time.perf_counter()
        while True:  # until the power limit has set in, where that is asked for; the last sample counts
            milliseconds, captured = self.timer.milliseconds(name, call, question["calls"], question["flushBytes"])
            if (time.perf_counter() - start) * 1000 >= question["settle"]:
                return {"milliseconds": milliseconds, "captured": captured}

    def ceiling(self, question):
        """A large product and a large copy; bytes read and bytes written both count."""
        n, size = question["size"], question["copyBytes"]
        a, b = (self.torch.randn(n, n, device=self.device).to(self.problem.dtype) for _ in range(2))
        source, target = (self.torch.ones(size, dtype=self.torch.uint8, device=self.device) for _ in range(2))

        def best(name, call):
            call(0)
            return min(self.timer.milliseconds(name, call, 1, 0)[0] for _ in range(5))

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
