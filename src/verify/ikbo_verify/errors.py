"""What can come between a question and its answer, and how it is told."""


class Problem(Exception):
    """Why nothing was compared."""


class Broken(Exception):
    """The original runs and the rewritten file does not: that is a result."""


def describe(error):
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:300]}"
