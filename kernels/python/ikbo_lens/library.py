"""Finds and loads libikbo, the native library.

The first of these that exists is taken; what is wrong with it is then said, and no other is tried:

1. the file that the environment variable IKBO_LENS_LIBRARY names,
2. libikbo.so beside this package (`pip install` puts it there when it has been built),
3. where this package lies in a checkout: dist/libikbo.so, then build/native/libikbo.so.
"""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path
from typing import List, Optional

from . import abi

NAME = "libikbo.so"


class Library:
    """The loaded library, or the reason why there is none."""

    def __init__(self, path: Optional[Path], functions: Optional[ctypes.CDLL], missing: str):
        self.path, self.functions, self.missing = path, functions, missing

    @property
    def version(self) -> str:
        return self.functions.ikbo_version().decode() if self.functions else ""

    def error(self) -> str:
        """What went wrong in the last call of this thread."""
        return self.functions.ikbo_last_error().decode(errors="replace")


def places() -> List[Path]:
    """Where the library may be, in order."""
    named = os.environ.get("IKBO_LENS_LIBRARY")
    if named:
        return [Path(named)]
    package = Path(__file__).resolve().parent
    beside = [package / NAME]
    root = package.parent.parent.parent
    if (root / "native" / "include" / "ikbo.h").is_file():
        beside += [root / "dist" / NAME, root / "build" / "native" / NAME]
    return beside


@functools.lru_cache(maxsize=1)
def library() -> Library:
    """Looked for once in a process."""
    tried = places()
    path = next((place for place in tried if place.is_file()), None)
    if path is None:
        named = os.environ.get("IKBO_LENS_LIBRARY")
        hint = "IKBO_LENS_LIBRARY names no file" if named else "the native library is not built"
        return Library(None, None, f"{hint} (looked for {', '.join(map(str, tried))})")
    try:
        functions = ctypes.CDLL(str(path))
        abi.declare(functions)
    except (OSError, AttributeError) as error:
        return Library(path, None, f"{path} cannot be used: {error}")
    version = functions.ikbo_abi_version()
    if version != abi.VERSION:
        needed = f"this package needs {abi.VERSION}; build both from one checkout"
        return Library(path, None, f"{path} has ABI version {version}, {needed}")
    return Library(path, functions, "")
