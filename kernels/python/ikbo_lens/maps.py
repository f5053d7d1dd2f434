"""Maps: which row of a small tensor stands at each position of a replicated axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Tuple, Union

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Map:
    """Where the rows of axis `dim` go. Make one with `repeats`, `tile`, `index` or `expand`."""

    kind: Literal["repeats", "tile", "index", "expand"]
    arg: Union[int, Tensor]
    dim: int = 0

    def shape(self, source: Tuple[int, ...]) -> Tuple[int, ...]:
        """Shape of `apply(x)` for an `x` of shape `source`.

        Raises IndexError when `dim` is not an axis of it, ValueError when the map does not fit the axis.
        """
        axis = self.axis(len(source))
        size = source[axis]
        return source[:axis] + self._sizes(size) + source[axis + 1 :]

    def axis(self, rank: int) -> int:
        """`dim` counted from the front, for a tensor of `rank` axes. Raises IndexError."""
        if not -rank <= self.dim < rank:
            raise IndexError(f"{self}: dim is {self.dim}, but the tensor has {rank} axes")
        return self.dim % rank

    def apply(self, x: Tensor) -> Tensor:
        """The replicated tensor itself: the copy (for `expand` the view) that the operators here avoid."""
        self.check(x)
        axis = self.axis(x.dim())
        if self.kind == "expand":
            return x.expand(self.shape(tuple(x.shape)))
        if self.kind == "repeats":
            return x.repeat_interleave(self.arg, dim=axis)
        if self.kind == "tile":
            return x.repeat([self.arg if i == axis else 1 for i in range(x.dim())])
        # Indexing and not index_select: x[idx] takes negative indices and an index of any rank.
        return x[(slice(None),) * axis + (self.arg.long(),)]

    def check(self, x: Tensor) -> None:
        """Raises IndexError or ValueError when the map does not fit `x`. Bounds are read on the CPU only: on another
        device that would wait for it, and the gather itself reports them there."""
        self.shape(tuple(x.shape))
        # A tensor without data (FakeTensor and its like) is another type.
        if self.kind == "index" and type(self.arg) is Tensor and not torch.compiler.is_compiling():
            if self.arg.device.type == "cpu":
                self.check_bounds(x)

    def check_bounds(self, x: Tensor) -> None:
        """Raises IndexError when the index names a row that `x` does not have; waits for the device."""
        size = x.shape[self.axis(x.dim())]
        low, high = (int(self.arg.min()), int(self.arg.max())) if self.arg.numel() else (0, -1)
        if low < -size or high >= size:
            wrong = high if high >= size else low
            raise IndexError(
                f"{self}: the index holds {wrong}, but axis {self.axis(x.dim())} of the tensor of shape "
                f"{tuple(x.shape)} has {size} rows. Pass indices in [0, {size})."
            )

    def add_to(self, out: Tensor, part: Tensor) -> Tensor:
        """`out += apply(part)`, in place, without writing the copy where plain strides can express it.

        `out` has shape `shape(part.shape)` and must own its memory.
        """
        axis = self.axis(part.dim())
        if self.kind == "repeats" and not isinstance(self.arg, Tensor):
            out.unflatten(axis, (part.shape[axis], self.arg)).add_(part.unsqueeze(axis + 1))
            return out
        if self.kind == "tile":
            out.unflatten(axis, (self.arg, part.shape[axis])).add_(part.unsqueeze(axis))
            return out
        return out.add_(self.apply(part))

    def rows(self, size: int, device: torch.device) -> Tensor:
        """The map of an axis of `size` rows as int64 indices in [0, size). Raises as `check`."""
        return Map(self.kind, self.arg).apply(torch.arange(size, device=device))

    def _sizes(self, size: int) -> Tuple[int, ...]:
        if self.kind == "expand":
            if size != 1 and size != self.arg:
                raise ValueError(
                    f"{self}: only an axis of size 1 expands, this one has {size}. Use repeats(n) to repeat each row "
                    "or tile(n) to repeat all rows."
                )
            return (self.arg,)
        if self.kind == "index":
            return tuple(self.arg.shape)
        if not isinstance(self.arg, Tensor):
            return (size * self.arg,)
        if self.arg.numel() not in (1, size):
            raise ValueError(
                f"{self}: {self.arg.numel()} counts for {size} rows. Pass one count per row of the tensor."
            )
        total = int(self.arg.sum())
        return (total if self.arg.numel() == size else total * size,)

    def __str__(self) -> str:
        arg = f"<{self.arg.dtype}, shape {tuple(self.arg.shape)}>" if isinstance(self.arg, Tensor) else self.arg
        return f"ikbo_lens.{self.kind}({arg}, dim={self.dim})"


def repeats(n: Union[int, Tensor], dim: int = 0) -> Map:
    """Each row `n` times in a row: row `i` of the result is row `i // n`, as `x.repeat_interleave(n, dim)`.

    `n`: an int >= 0, or a 1-D integer tensor with one count per row (uneven groups, zeros allowed).
    Raises TypeError for other types, ValueError for negative counts.
    """
    if isinstance(n, Tensor):
        if n.dtype not in (torch.int64, torch.int32) or n.dim() > 1:
            raise TypeError(
                f"ikbo_lens.repeats: counts must be 1-D int64 or int32, not {n.dtype} of shape {tuple(n.shape)}."
            )
        if n.device.type == "cpu" and bool((n < 0).any()):
            raise ValueError(f"ikbo_lens.repeats: counts must not be negative, the smallest is {int(n.min())}.")
        return Map("repeats", n.reshape(-1), dim)
    return Map("repeats", _count("repeats", n), dim)


def tile(n: int, dim: int = 0) -> Map:
    """All rows `n` times: row `i` of the result is row `i % len(x)`, as `x.repeat(n, 1)`. `n` is an int >= 0."""
    return Map("tile", _count("tile", n), dim)


def index(idx: Tensor, dim: int = 0) -> Map:
    """Row `i` of the result is row `idx[i]`, as `x[idx]` or `x.index_select(dim, idx)`.

    `idx`: int64 or int32, any rank (its axes take the place of `dim`), any order, repeats and negative indices allowed.
    Raises TypeError for other types: a boolean mask selects rows and does not map them.
    """
    if not isinstance(idx, Tensor):
        raise TypeError(f"ikbo_lens.index: idx must be a tensor, not {type(idx).__name__}. Use torch.as_tensor(idx).")
    if idx.dtype not in (torch.int64, torch.int32):
        raise TypeError(f"ikbo_lens.index: idx must be int64 or int32, not {idx.dtype}. Use idx.long().")
    return Map("index", idx, dim)


def expand(n: int, dim: int = 0) -> Map:
    """One row for all `n` positions: axis `dim` of size 1 stands for `n`, as `x.expand(n, -1)`. `n` is an int >= 0."""
    return Map("expand", _count("expand", n), dim)


def _count(name: str, n: object) -> int:
    # Sizes are ints or, under torch.compile and export, SymInts; a bool is neither.
    if isinstance(n, bool) or not isinstance(n, (int, torch.SymInt)):
        raise TypeError(f"ikbo_lens.{name}: expected an int, not {type(n).__name__}.")
    if n < 0:
        raise ValueError(f"ikbo_lens.{name}: expected a size of 0 or more, not {n}.")
    return n
