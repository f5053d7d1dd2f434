"""Makes the arguments of a constructor and of a function from what is stated about them, as Python expressions.

A parameter gets, in this order: what the caller states (`user=[U, D]`, an expression, a size), a shape from its jaxtyping
annotation or from the docstring (`query [B, D], keys (B, T, D)`, the forms that the analysis reads), its default. Anything
else is missing: it is named together with the ways to state it, and nothing is guessed.
"""

import ast
import inspect
import re

SHAPE = re.compile(r"\[([^\[\]]*)\]\s*(?:<\s*(\w+)|(bool))?")
IN_DOCSTRING = re.compile(r"\b(\w+)`{0,2}\s*:?\s*[\[(]([A-Za-z]\w*(?:\s*,\s*\w+)+)[\])]")


class Unknown(Exception):
    """A size without a value; the argument is its name."""


def size_of(text, sizes):
    """The value of `2*D + 1`. Raises Unknown for a name without a value, ValueError for anything but sums and products."""

    def value(node):
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return node.value
        if isinstance(node, ast.Name):
            if node.id not in sizes:
                raise Unknown(node.id)
            return sizes[node.id]
        if isinstance(node, ast.BinOp):
            left, right = value(node.left), value(node.right)
            operators = {ast.Add: "__add__", ast.Sub: "__sub__", ast.Mult: "__mul__", ast.FloorDiv: "__floordiv__"}
            if type(node.op) in operators:
                return getattr(left, operators[type(node.op)])(right)
        raise ValueError(f"{text} is not a size")

    return value(ast.parse(text.strip(), mode="eval").body)


def tensor_of(text, sizes):
    """`[N, D]` as an expression that makes such a tensor; `[N] < U` holds integers below U, `[N] bool` a mask."""
    match = SHAPE.fullmatch(text.strip())
    dims = [size_of(part, sizes) for part in match[1].split(",") if part.strip()]
    shape = ", ".join(map(str, dims))
    if match[2]:
        return f"randint(0, {size_of(match[2], sizes)}, ({shape}{',' if len(dims) == 1 else ''}))"
    return f"rand({shape}) < 0.5" if match[3] else f"randn({shape})"


def stated_shape(parameter, docstring):
    """The shape that the code itself states of a parameter, as `[B, D]`, or None."""
    annotation = parameter.annotation
    dims, kinds = getattr(annotation, "dim_str", None), getattr(annotation, "dtypes", ())
    if dims is not None and all("float" in str(kind) for kind in kinds):
        parts = [part.split("=")[-1] for part in dims.split()]
        if all(re.fullmatch(r"\w+", part) for part in parts):
            return f"[{', '.join(parts)}]"
    for name, inside in IN_DOCSTRING.findall(docstring or ""):
        dims = [dim.strip() for dim in inside.split(",")]
        if name == parameter.name and all(re.fullmatch(r"[A-Z]\w*|\d+", dim) for dim in dims):
            return f"[{', '.join(dims)}]"
    return None


def arguments_of(function, where, stated, sizes, missing, docstring=""):
    """Expressions by parameter name, in order. Appends to `missing`, and to `sizes` the sizes that parameters are.

    `stated` maps names to `[N, D]` or to Python; `sizes` names to integers; `where` names the function for people.
    """
    parameters = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "self" and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    made = {}
    # Sizes first: shapes are made of them.
    for parameter in parameters:
        name, default = parameter.name, parameter.default
        if name in sizes and name not in stated and (default in (parameter.empty, None) or type(default) is int):
            made[name] = str(sizes[name])
        elif type(default) is int:
            sizes.setdefault(name, default)
        text = stated.get(name, "")
        if re.fullmatch(r"\d+", text):
            sizes[name] = int(text)
    for parameter in parameters:
        name = parameter.name
        if name in made:
            continue
        text = stated.get(name) or stated_shape(parameter, docstring)
        if text is None:
            if parameter.default is parameter.empty:
                missing.append({"parameter": name, "of": where, **how_to_state(parameter)})
        elif SHAPE.fullmatch(text.strip()):
            try:
                made[name] = tensor_of(text, sizes)
            except Unknown as size:
                known = f"{size} of {name} {text}"
                missing.append({"parameter": known, "of": where, "what": "a size", "how": f"--shape {size}=64"})
        else:
            made[name] = text
    return {parameter.name: made[parameter.name] for parameter in parameters if parameter.name in made}


def how_to_state(parameter):
    name, annotation = parameter.name, str(parameter.annotation)
    number, tensor = f"--shape {name}=64", f"--arg '{name}=[N, 64]'"
    if annotation in ("<class 'int'>", "int"):
        return {"what": "a size", "how": number}
    if "LongTensor" in annotation or "Int" in annotation:
        return {"what": "an integer tensor", "how": f"--arg '{name}=[N] < 8'"}
    if "Tensor" in annotation:
        return {"what": "a tensor", "how": tensor}
    return {"what": "of a kind that the code does not say", "how": f"{number}, {tensor}, or --arg '{name}=PYTHON'"}
