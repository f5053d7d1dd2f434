"""The operators on a CUDA device: checks against fp64 and against PyTorch's form, then times. Needs torch with CUDA and
libikbo.so built with its kernels: IKBO_LENS_LIBRARY=build/native/libikbo.so python3 kernels/python/tests/gpu.py

Prints a line per check, PASS or FAIL, and exits with 1 when one failed."""

import pathlib
import sys
import traceback

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import gpu_devices  # noqa: E402, F401: each check runs as its module loads
import gpu_runtime  # noqa: E402, F401
import gpu_times  # noqa: E402
import gpu_values  # noqa: E402, F401
from gpu_support import FAILED  # noqa: E402

import ikbo_lens  # noqa: E402

if __name__ == "__main__":
    print(ikbo_lens.backend())
    try:
        gpu_times.times()
    except Exception:
        FAILED.append("times")
        traceback.print_exc(file=sys.stdout)
    print(f"FAIL {len(FAILED)} failed: {', '.join(FAILED)}" if FAILED else "PASS all")
    sys.exit(1 if FAILED else 0)
