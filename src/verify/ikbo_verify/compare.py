"""When two results are the same."""

import torch
from torch.utils._pytree import tree_leaves


def tensors(value):
    """Every tensor in a result, in a fixed order."""
    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def distance(got, want):
    """Euclidean distance in fp64."""
    return float((got.double() - want.double()).norm()) if want.numel() else 0.0


def allowance(before, exact, dtype, scale=1.0):
    """How far from `exact` (fp64) a reassociated result may be: a small multiple of the original's own distance, or some
    roundings of terms of the size of the result, which may have cancelled (inputs are of the size of `scale`)."""
    size = float(exact.double().norm()) + 0.25 * scale * exact.numel() ** 0.5
    return 2 * distance(before, exact) + 6 * torch.finfo(dtype).eps * size


# Without a result in fp64: reassociation through a deep model, as a share of the result's norm, in roundings, and what of
# it is believed in half precision.
ROUNDINGS = 1000
SHARE_OF_HALF = 0.05


def without_truth(before, dtype, scale):
    """How far from each other the results of two programs may be that compute in `dtype`."""
    share = min(ROUNDINGS * torch.finfo(dtype).eps, SHARE_OF_HALF)
    return share * (float(before.double().norm()) + 0.01 * scale * before.numel() ** 0.5)


def differs(before, after, exact, dtype, scale=1.0):
    """Why `after` is not the same result as `before`, or None. `exact` is the original's in fp64, None where there is none."""
    if before.shape != after.shape or before.dtype != after.dtype:
        return f"{tuple(after.shape)} {after.dtype}, before {tuple(before.shape)} {before.dtype}"
    if not torch.equal(torch.isfinite(before), torch.isfinite(after)):
        return "other elements are finite"
    if not before.is_floating_point():
        return None if torch.equal(before, after) else "other values"
    if exact is None:
        far = distance(after, before)
        return None if far <= without_truth(before, dtype, scale) else f"{far:.3g} apart"
    if not distance(after, exact) <= allowance(before, exact, dtype, scale):
        return f"{distance(after, exact):.3g} from fp64, the original {distance(before, exact):.3g}"
    return None


def largest_error(before, after):
    """Largest absolute difference of any element."""
    gaps = [(b.double() - a.double()).abs() for b, a in zip(before, after) if b.shape == a.shape and b.numel()]
    return max((float(gap[gap.isfinite()].max()) for gap in gaps if gap.isfinite().any()), default=0.0)
