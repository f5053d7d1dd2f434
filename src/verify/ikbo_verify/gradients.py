"""Gradients before and after: of the results, weighted by fixed random numbers, by parameters and floating-point arguments.

Random, so that those of a sum over many rows neither vanish nor grow with the rows; the same on both sides.
"""

import torch
from torch.utils._pytree import tree_map

from ikbo_verify.compare import differs, largest_error, tensors
from ikbo_verify.errors import describe

SEED = 0


class Ready:
    """A function with its arguments and the parameters that it uses, by name, in one dtype."""

    def __init__(self, callee, arguments, parameters):
        self.callee, self.arguments, self.parameters = callee, arguments, parameters

    def __call__(self):
        torch.manual_seed(SEED)
        with torch.no_grad():
            return self.callee(**self.arguments)

    def gradients(self, dtype):
        """By name, those of one more call; None for what no result depends on. Empty where no result has any."""
        leaves, given = dict(self.parameters), {}
        for name, value in self.arguments.items():

            def as_leaf(one):
                if not isinstance(one, torch.Tensor) or not one.is_floating_point():
                    return one
                leaf = one.detach().clone().requires_grad_()
                leaves[name if isinstance(value, torch.Tensor) else f"{name}, tensor {len(leaves)}"] = leaf
                return leaf.clone()  # May be written into.

            given[name] = tree_map(as_leaf, value)
        torch.manual_seed(SEED)
        with torch.enable_grad():
            return taken(tensors(self.callee(**given)), leaves, dtype)


def taken(results, leaves, dtype, keep=False):
    """Gradients of `results` by `leaves`, both as they are. `keep`: somebody else goes back through them, too."""
    generator = torch.Generator().manual_seed(SEED)
    weighted = []
    for result in results:
        weight = torch.randn(result.shape, generator=generator).to(dtype)
        if result.requires_grad and result.is_floating_point():
            weighted.append((result, weight.to(result.device, result.dtype)))
    if not weighted or not leaves:
        return {}
    outputs, weights = zip(*weighted)
    found = torch.autograd.grad(outputs, list(leaves.values()), weights, retain_graph=keep or None, allow_unused=True)
    return {name: gradient for name, gradient in zip(leaves, found)}


def compare_gradients(before, after, exact, dtype):
    """`before`, `after` and `exact` (None, where there is none) give gradients by name when called."""
    try:
        old = before()
    except Exception as error:
        return {"skipped": f"the original gives none: {describe(error)}"}
    count = sum(gradient is not None for gradient in old.values())
    if count == 0:
        return {"skipped": "none flows to the results of the original"}
    try:
        true = exact() if exact else {}
    except Exception:
        true = {}  # Code that insists on a dtype.
    try:
        new = after()
    except Exception as error:
        if isinstance(error, torch.cuda.OutOfMemoryError) or "allocate memory" in str(error):
            return {"skipped": describe(error)}
        return {"count": count, "maxError": None, "problem": f"the rewritten code gives no gradients: {describe(error)}"}
    return judged(old, new, true, dtype)


def judged(old, new, true, dtype):
    """The largest difference, and the first one that reassociation does not explain."""
    problem, pairs = None, []
    scale = max(1.0, *(float(g.double().square().mean().sqrt()) for g in old.values() if g is not None and g.numel()), 1.0)
    for name, gradient in old.items():
        other = corner(new.get(name), gradient)
        if gradient is None or other is None:
            text = None if gradient is other else "is no longer there" if other is None else "was not there"
        else:
            pairs.append((gradient, other))
            text = differs(gradient, other, true.get(name), dtype, scale)
        problem = problem or (text and f"gradient of {name}: {text}")
    olds, news = [b for b, _ in pairs], [a for _, a in pairs]
    largest = largest_error(olds, [torch.zeros_like(b) for b in olds])
    return {"count": len(pairs), "maxError": largest_error(olds, news), "largest": largest, "problem": problem}


def corner(wide, narrow):
    """Of a parameter that has become wider, what was there before."""
    if wide is None or narrow is None or wide.shape == narrow.shape or wide.ndim != narrow.ndim:
        return wide
    return wide[tuple(slice(size) for size in narrow.shape)]


def widened(state, own):
    """A saved state for a module that has wider parameters: the rest of them stays as it was drawn."""
    fitted = {}
    for name, value in state.items():
        wide = own[name]
        fitted[name] = value
        grown = isinstance(value, torch.Tensor) and isinstance(wide, torch.Tensor) and wide.ndim == value.ndim
        if grown and wide.shape != value.shape and all(w >= v for w, v in zip(wide.shape, value.shape)):
            fitted[name] = wide.detach().clone()
            corner(fitted[name], value).copy_(value)
    return fitted
