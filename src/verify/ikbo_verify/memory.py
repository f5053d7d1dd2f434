"""What a call holds in memory, by torch's own records."""

import torch


def default_device():
    """Where code runs when nothing is said: the current GPU if torch can use one."""
    return f"cuda:{torch.cuda.current_device()}" if torch.cuda.is_available() else "cpu"


def source_of(device):
    """How the peaks of a device are measured, and on which card."""
    if device == "cpu":
        return "most bytes that torch's CPU allocator held during one call (torch.profiler, profile_memory)"
    card = torch.cuda.get_device_name(device)
    return f"most bytes that torch's CUDA allocator held on {device}, {card}, during one call (torch.cuda.max_memory_allocated)"


class Peak:
    """`bytes` is the most that torch's allocator held within the block, beyond what was there before."""

    def __init__(self, device):
        self.device = device
        self.bytes = 0

    def __enter__(self):
        if self.device == "cpu":
            self.profile = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True)
            self.profile.__enter__()
        else:
            torch.cuda.synchronize(self.device)
            torch.cuda.reset_peak_memory_stats(self.device)
            self.before = torch.cuda.memory_allocated(self.device)
        return self

    def __exit__(self, *error):
        if self.device == "cpu":
            self.profile.__exit__(None, None, None)
            self.bytes = held_at_most(self.profile)
        else:
            torch.cuda.synchronize(self.device)
            self.bytes = torch.cuda.max_memory_allocated(self.device) - self.before


def peak_bytes(call, device="cpu"):
    """The peak of one call."""
    with torch.no_grad(), Peak(device) as peak:
        call()
    return peak.bytes


def held_at_most(profile):
    """The largest sum of the allocations and releases that a memory profile recorded, in bytes."""
    events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
    held = peak = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        peak = max(peak, held)
    return peak
