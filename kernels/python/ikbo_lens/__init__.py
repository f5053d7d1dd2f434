"""Linear layers and attention over tensors at their natural batch.

In ranking, one user meets many candidates. Instead of copying the user's rows once per candidate, pass them as they are
with a map that says where they go: `repeats`, `tile`, `index` or `expand`.
"""

from .attention import attention
from .backend import Backend, backend, use
from .linear import cat_linear, linear_compression
from .maps import Map, expand, index, repeats, tile

__all__ = [
    "Backend",
    "Map",
    "attention",
    "backend",
    "cat_linear",
    "expand",
    "index",
    "linear_compression",
    "repeats",
    "tile",
    "use",
]
__version__ = "0.1.0"
