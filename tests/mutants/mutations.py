"""Small mistakes that could be made in a module, each as a change of its text."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

_SIGNS: dict[type[ast.AST], tuple[str, tuple[str, ...]]] = {
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Lt: ("<", ("<=", ">=")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<=")),
    ast.GtE: (">=", (">", "<")),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
    ast.And: ("and", ("or",)),
    ast.Or: ("or", ("and",)),
    ast.Add: ("+", ("-",)),
    ast.Sub: ("-", ("+",)),
    ast.Mult: ("*", ("+",)),
    ast.Div: ("/", ("*",)),
    ast.FloorDiv: ("//", ("*",)),
    ast.Mod: ("%", ("*",)),
    ast.BitAnd: ("&", ("|",)),
    ast.BitOr: ("|", ("&",)),
    ast.LShift: ("<<", (">>",)),
    ast.RShift: (">>", ("<<",)),
}
_TWINS = {"min": "max", "max": "min", "any": "all", "all": "any"}
_NOTHING = {"None", "True", "False"}
_EMPTY = {"''": '"-"', "b''": 'b"-"', "[]": "[None]", "()": "(None,)", "{}": "{None: None}", "0": "", "0.0": ""}
"""What is returned for something empty, which most callers take for nothing; numbers are changed as constants."""
_BOUNDS = ("MOST", "LONGEST", "LARGEST", "DEEPEST", "LOOKED_AT")
"""What the name of a bound begins with."""
_FAR = 20
"""From which place on the end of a slice is a bound, as in `text[:80]`."""
_TYPING = {"TypeVar", "ParamSpec", "NewType", "cast"}


@dataclass(frozen=True)
class Mutation:
    """A change of a text. The first four fields tell it from all others, wherever the lines have moved to."""

    file: str
    function: str
    before: str
    """The lines that are changed, with single spaces."""
    after: str
    line: int
    source: str
    """The whole module with the mistake in it."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        return self.file, self.function, self.before, self.after


def mutations(file: str, source: str) -> list[Mutation]:
    """Every mistake that is tried in a module, in the order of its text."""
    tree = ast.parse(source)
    _note_estimates(tree)
    found: dict[tuple[str, str, str, str], Mutation] = {}
    for function, change in _Finder().of(tree):
        mutation = _replaced(file, source, function, change)
        # Two equal lines of one function have one key; the first stands for both.
        if mutation.key not in found and not _is_comment(tree, mutation):
            found[mutation.key] = mutation
    return list(found.values())


def _is_comment(tree: ast.Module, mutation: Mutation) -> bool:
    """Whether what was changed is a sign within a comment between two values."""
    return "#" in mutation.before and ast.dump(ast.parse(mutation.source)) == ast.dump(tree)


def _replaced(file: str, source: str, function: str, change: _Change) -> Mutation:
    # Columns of the syntax tree count bytes.
    lines = source.encode().splitlines(keepends=True)
    before = b"".join(lines[change.line - 1 : change.end_line])
    end = len(before) - len(lines[change.end_line - 1]) + change.end_column
    old = before[change.column : end]
    # Between two values there may be parentheses and comments beside the sign.
    new = old.replace(change.sign.encode(), change.text.encode(), 1) if change.sign else change.text.encode()
    after = before[: change.column] + new + before[end:]
    mutated = b"".join([*lines[: change.line - 1], after, *lines[change.end_line :]])
    return Mutation(file, function, _plain(before), _plain(after), change.line, mutated.decode())


def _plain(text: bytes) -> str:
    return " ".join(text.decode().split())


@dataclass(frozen=True)
class _Change:
    """A text for another, or, with a `sign`, for that sign within the other."""

    text: str
    line: int
    column: int
    end_line: int
    end_column: int
    sign: str = ""

    @classmethod
    def of(cls, node: ast.expr | ast.stmt, text: str) -> _Change:
        return cls(text, node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)

    @classmethod
    def between(cls, left: ast.expr, sign: ast.AST, right: ast.expr) -> Iterator[_Change]:
        old, others = _SIGNS.get(type(sign), ("", ()))
        for text in others:
            yield cls(text, left.end_lineno or 0, left.end_col_offset or 0, right.lineno, right.col_offset, old)


class _Finder:
    """Walks a module, and says what could be written in the place of what."""

    def __init__(self) -> None:
        self._function: list[str] = []

    def of(self, node: ast.AST) -> Iterator[tuple[str, _Change]]:
        named = isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        if named:
            self._function.append(node.name)  # type: ignore[attr-defined]
        name = ".".join(self._function)
        yield from [(name, change) for change in _changes(node)]
        for below in _inside(node):
            yield from self.of(below)
        if named:
            self._function.pop()


def _inside(node: ast.AST) -> Iterable[ast.AST]:
    """What of a node is code: no docstrings, annotations, decorators, texts for people, or hints for type checkers."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [*node.args.defaults, *[each for each in node.args.kw_defaults if each is not None], *node.body]
    if isinstance(node, ast.ClassDef):
        return node.body
    if isinstance(node, ast.AnnAssign):
        return [node.value] if node.value is not None and "TypeAlias" not in ast.dump(node.annotation) else []
    if isinstance(node, ast.Assign) and any(isinstance(each, ast.Name) and _is_idle(each.id) for each in node.targets):
        return []
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return node.orelse
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _TYPING:
        return []
    if isinstance(node, ast.keyword) and node.arg == "strict":  # it says what is known, and changes nothing
        return []
    if isinstance(node, (ast.JoinedStr, ast.Import, ast.ImportFrom, ast.Raise)):
        return []
    return [each for each in ast.iter_child_nodes(node) if not _is_estimate(each)]


def _is_estimate(node: ast.AST) -> bool:
    """Whether a value is a number in what is spent of a budget, the figure of a bound, or stands for a missing time.

    How many steps a piece of work is worth is an estimate, and one more changes neither a verdict nor a trajectory.
    That steps are spent, and by the size of what, is no estimate: those mistakes are made. Of `_MOST_SHAPES = 1024`,
    1025 is as good, and of `text[:80]` so is 81; what is compared with a bound, and how, is tried. A missing time is
    the first of all, as 0, in `span.start_ns or 0`: no trace is of the first nanosecond of 1970, so that 1 is the same.
    """
    return getattr(node, "is_estimate", False)


def _note_estimates(tree: ast.Module) -> None:
    for node in ast.walk(tree):
        for each in _estimates(node):
            if isinstance(each, ast.Constant):
                each.is_estimate = True  # type: ignore[attr-defined]


def _estimates(node: ast.AST) -> list[ast.AST]:
    if isinstance(node, ast.Call):
        is_spent = getattr(node.func, "attr", getattr(node.func, "id", "")).strip("_") == "spend"
        return [each for given in node.args for each in ast.walk(given)] if is_spent else []
    if isinstance(node, ast.Slice):
        ends = [each for end in (node.lower, node.upper) if end for each in ast.walk(end)]
        numbers = [each for each in ends if isinstance(each, ast.Constant)]
        return [each for each in numbers if isinstance(each.value, int) and each.value >= _FAR]
    if isinstance(node, ast.IfExp):
        return [node.orelse] if ast.unparse(node.orelse) == "0" and _estimates(node.body) else []
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        time, otherwise = node.values[0], node.values[-1]
        is_time = isinstance(time, ast.Attribute) and time.attr.endswith(("_ns", "_nano"))
        return [otherwise] if is_time and ast.unparse(otherwise) == "0" else []
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return [node.value] if node.targets[0].id.lstrip("_").startswith(_BOUNDS) else []
    return []


def _is_idle(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _changes(node: ast.AST) -> Iterator[_Change]:
    for left, sign, right in _signs(node):
        yield from _Change.between(left, sign, right)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield _Change.of(node, f"({ast.unparse(node.operand)})")
    elif isinstance(node, ast.Constant):
        yield from _constants(node)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _TWINS:
        yield _Change.of(node.func, _TWINS[node.func.id])
    elif isinstance(node, (ast.If, ast.IfExp, ast.While, ast.comprehension)):
        yield from _conditions(node)
    elif isinstance(node, ast.stmt):
        yield from _statements(node)


def _signs(node: ast.AST) -> Iterable[tuple[ast.expr, ast.AST, ast.expr]]:
    """Every sign between two values."""
    if isinstance(node, ast.Compare):
        return zip([node.left, *node.comparators], node.ops, node.comparators, strict=False)
    if isinstance(node, ast.BoolOp):
        return [(left, node.op, right) for left, right in pairwise(node.values)]
    return [(node.left, node.op, node.right)] if isinstance(node, ast.BinOp) else []


def _constants(node: ast.Constant) -> Iterator[_Change]:
    if isinstance(node.value, bool):
        yield _Change.of(node, str(not node.value))
    elif isinstance(node.value, (int, float)):
        yield _Change.of(node, repr(node.value + 1))


def _conditions(node: ast.If | ast.IfExp | ast.While | ast.comprehension) -> Iterator[_Change]:
    tests = node.ifs if isinstance(node, ast.comprehension) else [node.test]
    for test in tests:
        # The others are turned round where they are looked at as comparisons and negations.
        if not isinstance(test, (ast.Compare, ast.UnaryOp)) and ast.unparse(test) != "TYPE_CHECKING":
            yield _Change.of(test, f"not ({ast.unparse(test)})")


def _statements(node: ast.stmt) -> Iterator[_Change]:
    # Of a boolean, nothing is as good as no; it is turned round as a constant.
    if isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) not in _NOTHING:
        returned = _EMPTY.get(ast.unparse(node.value), "None")
        yield from [_Change.of(node, f"return {returned}")] if returned else []
    elif _is_effect(node):
        yield _Change.of(node, "pass")


def _is_effect(node: ast.stmt) -> bool:
    """Whether a statement can be left out and the names of the function are still there."""
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign):
        return not any(isinstance(each, (ast.Name, ast.Tuple)) for each in node.targets)
    if isinstance(node, ast.Raise):
        return node.exc is None or not ast.unparse(node.exc).startswith("AssertionError(")  # what cannot happen
    return isinstance(node, (ast.AugAssign, ast.Continue, ast.Break, ast.Delete))
