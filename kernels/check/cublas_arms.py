"""cuBLAS's algorithms for one product, as arms of the timing: PyTorch takes the first that cuBLAS proposes, which is seldom the fastest."""

import torch

import timing  # finds the benchmark's own modules, which asks in the same way
from cublas import Proposals

#: Which is the fastest depends on how warm the card is: so many of the fastest take part.
KEPT = 3


def cublas_arms(weight, x, flops):
    proposals = Proposals(torch, weight, x)
    by = lambda number: lambda: proposals(number, weight, x)
    arms = []
    for number in range(len(proposals)):
        try:
            by(number)()
            torch.cuda.synchronize()
            arms.append((f"cuBLAS algorithm {number} of {len(proposals)}", by(number), flops))
        except RuntimeError:
            continue
    times = timing.flush_loop(arms, rounds=1)
    return sorted(arms, key=lambda arm: times[arm[0]])[:KEPT]
