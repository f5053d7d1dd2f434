"""Times of calls on a stream or on the processor. On CUDA the calls are captured into a graph, as those of the bundled kernels are, so
that nobody's launches are timed. `ikbo bench` times PyTorch's arms with it, and kernels/check everything."""

import ctypes
import statistics
import sys
import time


class Timer:
    def __init__(self, torch, device):
        self.torch, self.cuda, self.device, self.scratch = torch, device.type == "cuda", device, None
        self.recordings, self.pool = {}, None

    def milliseconds(self, name, call, calls, discarded, flush_bytes):
        """(milliseconds of one call(i), captured): the mean of all calls, or the median of those after the first `discarded`. Where the
        cache is flushed before each call, the flush is not counted. A form that cannot be captured is called as it is, and `captured`
        says so. `name` says which calls are the same."""
        if flush_bytes and (self.scratch is None or self.scratch.numel() != flush_bytes):
            self.scratch = self.torch.empty(flush_bytes, dtype=self.torch.uint8, device=self.device)
        captured = False
        if self.cuda:
            key = (name, calls, flush_bytes)
            if key not in self.recordings:
                self.recordings[key] = self.record(call, calls, flush_bytes)
            replay, pairs, captured = self.recordings[key]
            self.torch.cuda.synchronize()
            replay()
            self.torch.cuda.synchronize()
            times = [first.elapsed_time(last) for first, last in pairs]
        else:
            times = self.by_clock(call, calls, flush_bytes)
        return statistics.median(times[discarded:]) if discarded else sum(times) / calls, captured

    def by_clock(self, call, calls, flush_bytes):
        times = []
        for i in range(calls):
            if flush_bytes:
                self.scratch.fill_(i % 251)
            start = time.perf_counter()
            call(i)
            times.append((time.perf_counter() - start) * 1000)
        return times

    def flush(self, i):
        """By the driver, as before the bundled kernels: the same for all."""
        to, size = ctypes.c_uint64(self.scratch.data_ptr()), ctypes.c_size_t(self.scratch.numel())
        stream = ctypes.c_void_p(self.torch.cuda.current_stream().cuda_stream)
        status = driver().cuMemsetD8Async(to, ctypes.c_ubyte(i % 251), size, stream)
        if status != 0:
            raise RuntimeError(f"the driver answers {status} to: flush the cache")

    def record(self, call, calls, flush_bytes):
        """(replay, pairs of events, captured). One pair around all calls, or one around each where the cache is flushed."""
        torch = self.torch

        def pairs(external):
            event = lambda: torch.cuda.Event(enable_timing=True, external=external)
            return [(event(), event()) for _ in range(calls if flush_bytes else 1)]

        def issue(events):
            for i in range(calls):
                if flush_bytes:
                    self.flush(i)
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


def driver():
    return ctypes.CDLL("nvcuda.dll" if sys.platform == "win32" else "libcuda.so.1")
