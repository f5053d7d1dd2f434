"""A file as a module from a given text, with its package around it: the file itself is only read."""

import ast
import importlib
import linecache
import os
import sys
import types


def module_name(file):
    """Dotted name of a file and the folder that it is relative to: up to the first folder that is no package."""
    folder, name = os.path.split(file)
    if name.endswith(".ipynb"):
        return os.path.splitext(name)[0], folder  # Belongs to no package, whatever is beside it.
    parts = [] if name == "__init__.py" else [os.path.splitext(name)[0]]
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        parts.insert(0, package)
    return ".".join(parts), folder


def load(file, text, label, name=None, select=lambda tree: tree):
    """The module that `text` makes in the place of `file`. `label` names this version in tracebacks, `select` takes from
    its syntax tree what is run."""
    dotted, _ = module_name(file)
    package = dotted if os.path.basename(file) == "__init__.py" else dotted.rpartition(".")[0]
    if package and package != dotted:
        importlib.import_module(package)
    filename = f"{file} ({label})"
    module = types.ModuleType(name or dotted)
    module.__file__, module.__package__ = file, package
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    sys.modules[module.__name__] = module
    exec(compile(select(ast.parse(text, filename)), filename, "exec"), module.__dict__)
    return module
