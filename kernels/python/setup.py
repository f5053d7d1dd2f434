"""The rest is in pyproject.toml. This takes the native library along where the checkout that this folder lies in has
built it; without it the package is pure Python and runs as PyTorch operators."""

from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parents[2]
BUILT = [ROOT / "dist" / "libikbo.so", ROOT / "build" / "native" / "libikbo.so"]
LIBRARY = next((path for path in BUILT if path.is_file() and (ROOT / "native" / "include" / "ikbo.h").is_file()), None)


class BuildPy(build_py):
    def run(self):
        super().run()
        if LIBRARY and not self.editable_mode:  # an editable install finds the library in the checkout
            self.copy_file(str(LIBRARY), str(Path(self.build_lib) / "ikbo_lens" / LIBRARY.name))


class WithLibrary(Distribution):
    def has_ext_modules(self):
        return LIBRARY is not None


setup(cmdclass={"build_py": BuildPy}, distclass=WithLibrary)
