"""Two GPUs of one host: every operator on both, from two threads, whatever the current device is. Skipped where there is one."""

import ctypes
import threading

import torch
import torch.nn.functional as F
from gpu_support import RAN, check, error, expect, random

import ikbo_lens
from ikbo_lens import abi, attention, cat_linear, linear_compression
from ikbo_lens.devices import device_of
from ikbo_lens.library import library

BOTH = [torch.device("cuda", i) for i in range(2)]


def on_two_devices(function):
    if torch.cuda.device_count() < 2:
        print(f"SKIP {function.__name__}: fewer than two GPUs", flush=True)
        return function
    try:
        return check(function)
    finally:
        torch.cuda.set_device(0)


def operators(device):
    """(name, call, exact result) of each operator on `device`."""
    index = torch.randint(0, 16, (512,), device=device)
    m = ikbo_lens.index(index)
    user, cand, w = (random(*shape, device=device) for shape in ((16, 512), (512, 256), (128, 768)))
    yield "cat_linear", lambda: cat_linear([(user, m), cand], w), F.linear(torch.cat([user[index], cand], 1).double(), w.double())
    fields, slots, v = (random(*shape, device=device) for shape in ((16, 200, 64), (512, 120, 64), (64, 320)))
    exact = v.double() @ torch.cat([fields[index], slots], 1).double()
    yield "linear_compression", lambda: linear_compression([(fields, m), slots], v), exact
    q, k = random(512, 2, 4, 64, device=device), random(16, 2, 128, 64, device=device)
    exact = F.scaled_dot_product_attention(q.double(), k[index].double(), k[index].double())
    yield "attention", lambda: attention(q, k, k, m), exact


def current_context():
    found = ctypes.c_void_p()
    expect(ctypes.CDLL("libcuda.so.1").cuCtxGetCurrent(ctypes.byref(found)) == 0, "cuCtxGetCurrent failed")
    return found.value


@on_two_devices
def two_threads_use_both_devices():
    sets = [list(operators(device)) for device in BOTH]
    for device in BOTH:
        torch.cuda.synchronize(device)
    problems = []

    def work(thread):
        try:
            torch.cuda.set_device(1 - thread)  # not the one that comes first here
            order = BOTH if thread == 0 else BOTH[::-1]
            streams = [torch.cuda.Stream(device) for device in order]
            first = {}
            for _ in range(20):
                outs = {}
                for device, stream in zip(order, streams):
                    for name, call, _ in sets[device.index]:
                        with torch.cuda.stream(stream):  # makes its device current meanwhile
                            outs[name, device.index] = call()
                expect(torch.cuda.current_device() == 1 - thread, "the current device changed")
                for device in order:
                    torch.cuda.synchronize(device)
                for key, out in outs.items():
                    expect(torch.equal(out, first.setdefault(key, out)), f"{key} differs between calls")
            for device in order:
                for name, _, exact in sets[device.index]:
                    out = first[name, device.index]
                    expect(out.device == device, f"{name}: the result is on {out.device}")
                    expect(error(out, exact) < 1e-2, f"{name} on {device}: error {error(out, exact):.1e}")
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
    expect(len(RAN) == 2 * 20 * 2 * 3, f"{len(RAN)} calls reached the library")
    return f"kernels {sorted(set(RAN))}"


@on_two_devices
def the_current_device_does_not_matter_and_stays():
    for current in BOTH:
        torch.cuda.set_device(current)
        torch.empty(1, device=current)
        context = current_context()
        for device in BOTH:
            for name, call, exact in operators(device):
                out = call()
                expect(out.device == device, f"{name}: the result is on {out.device}")
                expect(error(out, exact) < 1e-2, f"{name} on {device} while {current} is current")
                expect(torch.cuda.current_device() == current.index, f"{name} on {device}: the current device changed")
        torch.empty(1, device=current)
        expect(current_context() == context, "the current context changed")
    expect(len(RAN) == 12, str(RAN))


@on_two_devices
def contexts_are_those_of_torch():
    """Memory of the library and of torch belong to one context on each device."""
    driver, functions = ctypes.CDLL("libcuda.so.1"), library().functions
    functions.ikbo_alloc.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p)]
    functions.ikbo_free.argtypes = [ctypes.c_void_p, ctypes.c_void_p]

    def context_of(address):
        found = ctypes.c_void_p()
        status = driver.cuPointerGetAttribute(ctypes.byref(found), 1, ctypes.c_uint64(address))  # CU_POINTER_ATTRIBUTE_CONTEXT
        expect(status == 0, f"cuPointerGetAttribute: {status}")
        return found.value

    contexts = set()
    for device in BOTH:
        theirs, ours = torch.ones(1024, device=device), ctypes.c_void_p()
        handle = device_of(device)._handle
        expect(functions.ikbo_alloc(handle, 4096, ctypes.byref(ours)) == 0, library().error())
        with torch.cuda.device(device):
            torch.cuda.synchronize()
            expect(context_of(theirs.data_ptr()) == context_of(ours.value) == current_context(), f"{device}: two contexts")
        contexts.add(current_context() if device.index == torch.cuda.current_device() else context_of(ours.value))
        functions.ikbo_free(handle, ours)
    expect(len(contexts) == 2, "both devices share a context")


@on_two_devices
def tensors_of_two_devices_are_refused():
    user, cand, w = random(4, 64, device=BOTH[0]), random(8, 64, device=BOTH[1]), random(64, 128, device=BOTH[0])
    forms = {
        "operands": lambda: cat_linear([(user, ikbo_lens.repeats(2)), cand], w),
        "an index": lambda: cat_linear([(user, ikbo_lens.index(torch.zeros(8, dtype=torch.long, device=BOTH[1]))), cand.to(BOTH[0])], w),
        "an operator's operands": lambda: torch.ops.ikbo_lens.linear_compression(user[..., None], cand[..., None], None, 2, w, False),
    }
    for what, form in forms.items():
        try:
            form()
        except (RuntimeError, ValueError) as refusal:
            expect("device" in str(refusal), f"{what}: {refusal}")
        else:
            raise AssertionError(f"{what} on two devices were accepted")
    # The library itself, given the address of the other device.
    mine = [random(*shape, device=BOTH[0]) for shape in ((4, 64, 8), (8, 64, 8), (64, 128), (8, 64, 8))]
    for i in range(len(mine)):
        mixed = [x.to(BOTH[1]) if k == i else x for k, x in enumerate(mine)]
        sizes = dict(map_kind=abi.REPEATS, repeats=2, batch=8, users=4, outputs=64, columns=8, user_width=64, candidate_width=64)
        made = abi.LinearCompressionShape(dtype=abi.DTYPES[torch.bfloat16], stage=abi.BEST, weight_stride=128, **sizes)
        args = abi.LinearCompressionArgs(mixed[0].data_ptr(), mixed[1].data_ptr(), None, mixed[2].data_ptr(), mixed[3].data_ptr())
        try:
            device_of(BOTH[0]).run("linear_compression", ("mixed",), lambda: made, args)
        except RuntimeError as refusal:
            expect("is memory of CUDA device 1, but the operator is one of CUDA device 0" in str(refusal), str(refusal))
            expect("linear compression bf16, B 8, U 4" in str(refusal), str(refusal))
        else:
            raise AssertionError("an address of the other device was accepted")
    for device in BOTH:
        for name, call, exact in operators(device):
            expect(error(call(), exact) < 1e-2, f"{name} on {device} afterwards")


@on_two_devices
def graphs_on_the_second_device():
    index = torch.randint(-16, 16, (512,), device=BOTH[1])
    user, cand, w = (random(*shape, device=BOTH[1]) for shape in ((16, 512), (512, 256), (128, 768)))
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.device(1), torch.cuda.graph(graph, stream=torch.cuda.Stream(1)):
        torch.cuda.set_device(0)  # the stream of device 1 is captured on
        out = cat_linear([(user, ikbo_lens.index(index)), cand], w)
        torch.cuda.set_device(1)
    expect(len(RAN) == 1, str(RAN))
    for current in (0, 1):
        torch.cuda.set_device(current)
        user.normal_()
        index.random_(-16, 16)
        graph.replay()
        torch.cuda.synchronize(1)
        exact = F.linear(torch.cat([user[index], cand], 1).double(), w.double())
        expect(error(out, exact) < 1e-2, f"a replay while device {current} is current")


@on_two_devices
def compiled_and_trained_on_the_second_device():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = torch.nn.Linear(128, 64)

        def forward(self, user, cand, index):
            return cat_linear([(user, ikbo_lens.index(index)), cand], self.fc.weight, self.fc.bias)

    model = Model().to(BOTH[1], torch.bfloat16)
    user, cand, index = random(4, 64, device=BOTH[1]), random(32, 64, device=BOTH[1]), torch.randint(0, 4, (32,), device=BOTH[1])
    want = F.linear(torch.cat([user[index], cand], 1), model.fc.weight, model.fc.bias)
    for form in (torch.compile(model, backend="aot_eager", fullgraph=True), torch.export.export(model, (user, cand, index)).module()):
        with torch.no_grad():
            got = form(user, cand, index)
        expect(got.device == BOTH[1] and torch.allclose(got, want, atol=0.1, rtol=0.05), "another result")
    expect(len(RAN) >= 2, str(RAN))
    (grad,) = torch.autograd.grad(model(user, cand, index).float().sum(), [model.fc.weight])
    (plain,) = torch.autograd.grad(want.float().sum(), [model.fc.weight])
    expect(error(grad, plain.double()) < 2e-2, "another gradient")
