"""Which function to call so that the lines of a finding run."""

import ast
import sys


def outermost(tree, line):
    """(class name or None, function node) of the outermost function around a line, or None at module level."""

    def search(nodes, owner):
        for node in nodes:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))], default=0)
            if not first <= line <= node.end_lineno:
                continue
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return owner, node
            inner = [child for child in ast.iter_child_nodes(node) if hasattr(child, "lineno")]
            name = f"{owner}.{node.name}" if owner and isinstance(node, ast.ClassDef) else getattr(node, "name", owner)
            found = search(inner, name if isinstance(node, ast.ClassDef) else owner)
            if found:
                return found
        return None

    return search(tree.body, None)


def calls(node, name):
    """Whether a function calls `name(...)` or `x.name(...)`."""
    functions = [call.func for call in ast.walk(node) if isinstance(call, ast.Call)]
    return any(name == getattr(f, "id", getattr(f, "attr", None)) for f in functions)


def target_of(text, broadcast, consumer):
    """Qualified name of the function to call, or None: the one around the broadcast, or its caller that has the sink."""
    tree = ast.parse(text)
    first = outermost(tree, broadcast)
    last = outermost(tree, consumer) if consumer else None
    chosen = first
    if first and last and first[1] is not last[1] and calls(last[1], first[1].name):
        chosen = last
    if not chosen:
        return None
    owner, node = chosen
    return f"{owner}.{node.name}" if owner else node.name


class Reached:
    """Records which lines of a file run."""

    def __init__(self, filename):
        self.filename = filename
        self.lines = set()

    def trace(self, frame, event, argument):
        if frame.f_code.co_filename != self.filename:
            return None
        if event == "line":
            self.lines.add(frame.f_lineno)
        return self.trace

    def __enter__(self):
        sys.settrace(self.trace)
        return self

    def __exit__(self, *error):
        sys.settrace(None)
