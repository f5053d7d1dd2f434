"""What a function of a notebook needs, so that the cells that load data and train do not run with it.

The cells are one program. A top-level statement is needed when it binds a name that the function or a needed statement
reads, or changes what such a name holds (`Ranker.forward = f`, `config.update(...)`). Of a name that is bound twice, the
definition with the finding is the one that is called.
"""

import ast
import dis
import types


def place(job, line):
    """A line as people know it: of a notebook, the line of its cell."""
    cell = max((cell for cell in job["cells"] or [] if cell["line"] <= line), key=lambda cell: cell["line"], default=None)
    return f"line {line - cell['line'] + 1} of cell {cell['number']}" if cell else f"line {line}"


def futures_first(tree):
    """`from __future__ import ...` may stand in any cell, but only at the beginning of a program."""
    tree.body.sort(key=lambda node: not (isinstance(node, ast.ImportFrom) and node.module == "__future__"))
    return tree


def needed(tree, roots, line):
    """The module with only what `roots` (names) need. `line` is one of the finding's. Raises SyntaxError."""
    own = next((node for node in tree.body if first_line(node) <= line <= node.end_lineno), None)
    own_names = binds(own) if own else set()
    others = [node for node in tree.body if node is own or not own_names & binds(node)]
    imported = {name for node in others if isinstance(node, (ast.Import, ast.ImportFrom)) for name in binds(node)}
    names, kept = set(roots), set()
    fresh = True
    while fresh:
        fresh = [node for node in others if node not in kept and is_needed(node, names, imported)]
        kept.update(fresh)
        names.update(*(reads(node) for node in fresh))
    return ast.Module([node for node in others if node in kept], tree.type_ignores)


def first_line(node):
    return min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])


def is_needed(node, names, imported):
    if isinstance(node, ast.ImportFrom) and (node.module == "__future__" or node.names[0].name == "*"):
        return True
    if binds(node) & names:
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value.func
        # Methods of a value that is needed; of modules, only where imports are looked for.
        return ast.unparse(call).startswith("sys.path.") or (root_of(call) in names - imported and isinstance(call, ast.Attribute))
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return any(isinstance(one, (ast.Attribute, ast.Subscript)) and root_of(one) in names for one in targets)


def root_of(node):
    """`a` of `a.b[0].c`, or None."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return getattr(node, "id", None)


def code_of(node):
    return compile(ast.Module([node], []), "cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def nested(code):
    """The code with that of all functions and classes in it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from nested(inner)


def binds(node):
    """Names of the module that a statement binds."""
    top, *inner = nested(code_of(node))
    bound = {step.argval for step in dis.get_instructions(top) if step.opname in ("STORE_NAME", "STORE_GLOBAL")}
    return bound | {step.argval for code in inner for step in dis.get_instructions(code) if step.opname == "STORE_GLOBAL"}


def reads(node):
    """Names of the module that a statement, or a function or class in it, reads."""
    loads = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")
    return {step.argval for code in nested(code_of(node)) for step in dis.get_instructions(code) if step.opname in loads}


def names_in(expression):
    """Names that a stated argument reads."""
    try:
        return {node.id for node in ast.walk(ast.parse(expression.strip(), mode="eval")) if isinstance(node, ast.Name)}
    except SyntaxError:
        return set()  # A shape such as `[N] < U`, or an error that its evaluation reports.
