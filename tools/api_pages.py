"""The pages of the Python interface, from docstrings: signatures, fields, methods, what is raised.

They are made while the site is built (`tools/site.py`), so that they are never out of date.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import rightcall
from rightcall import steps

_LONGEST_DEFAULT = 40
_SECTION = re.compile(r"^(Raises|Returns|Args|Yields):$")

GROUPS: dict[str, tuple[str, str, list[str]]] = {
    "checks": (
        "Checks",
        "Functions that judge calls in a test or a script. [Assertions](../assertions.md) shows them at work.",
        ["check", "calls", "soft", "evaluate", "judge", "gate", "CheckFailedError", "NotMeasuredError"],
    ),
    "reading": (
        "Reading",
        "Functions that turn traces and logs into trajectories, and what a trajectory is.",
        ["read", "read_spans", "read_messages", "Trajectory", "ToolCall"],
    ),
    "tracing": (
        "Tracing",
        "Functions that record the calls of tools in Python, as in [this guide](../../guides/trace-your-tools.md).",
        ["tool", "traced", "capture"],
    ),
    "eval-sets": (
        "Eval sets",
        "Cases on disk, and their results.",
        ["load_eval_set", "EvalSet", "Case", "CaseResult", "EvaluationResult", "Finding", "explain"],
    ),
    "evaluators": (
        "Evaluator classes",
        "The evaluators used most. [Every evaluator](../evaluators.md) has a page with its formula and settings, and "
        "all of them are [called the same way](../evaluators.md#calling-an-evaluator).",
        [
            *("EVALUATORS", "evaluator_type", "evaluator", "Judgement", "ToolCallOrderEvaluator"),
            *("ToolCallCountEvaluator", "ToolCallArgsEvaluator", "ToolCallOutputEvaluator", "ToolTrajectoryEvaluator"),
            *("ForbiddenTools", "ToolPrecision", "ToolRecall", "ToolF1", "FinalOutput", "LlmJudgeTrajectory"),
            "LlmJudgeOutput",
        ],
    ),
    "errors": (
        "Exceptions",
        "What Rightcall raises: a `RightcallError`, and `CheckFailedError` from checks, which is an `AssertionError`.",
        ["RightcallError", "InputError", "DocumentError", "ConfigurationError", "CriteriaError"],
    ),
}
"""The pages: title, first sentence, and the names of `rightcall` on each."""


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    made = {
        f"{name}.md": _page(title, sentence, [(each, getattr(rightcall, each)) for each in names], "rightcall")
        for name, (title, sentence, names) in GROUPS.items()
    }
    named = [(name, value) for name, value in vars(steps).items() if inspect.isfunction(value) and name[0] != "_"]
    sentence = "Functions that write [steps](../steps.md) in Python: `from rightcall.steps import optional`."
    made["steps.md"] = _page("Steps", sentence, named, "rightcall.steps")
    return made


def _page(title: str, sentence: str, names: list[tuple[str, Any]], door: str) -> str:
    parts = [f"# {title}\n\n{sentence}\n"]
    parts += [f"## {name}\n\n{_entry(name, value, door)}" for name, value in names]
    return "\n".join(parts)


def _entry(name: str, value: Any, door: str) -> str:
    if not inspect.isclass(value) and not callable(value):
        return f"`{door}.{name}`: a mapping from type ids to evaluator classes, imported when they are looked up.\n"
    text = f"```py\n{signature(name, value)}\n```\n\n{described(inspect.getdoc(value) or '')}"
    if inspect.isclass(value):
        rows = [f"| `{field}` | `{kind}` | {doc} |" for field, kind, doc in fields_of(value)]
        if rows:
            text += "\n| field | type | meaning |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n"
        for method, function in methods_of(value):
            text += f"\n### {name}.{method}\n\n```py\n{signature(method, function)}\n```\n\n"
            text += described(inspect.getdoc(function) or "")
    return text


def signature(name: str, value: Any) -> str:
    """Return the name and parameters of a function or class, on several lines where they are many."""
    if isinstance(value, property):
        returned = inspect.signature(value.fget).return_annotation if value.fget is not None else ""
        return f"{name}: {returned}"
    if inspect.isclass(value) and (issubclass(value, Exception) or hasattr(value, "__struct_fields__")):
        return f"class {name}"  # its fields are listed below
    found = inspect.signature(value)
    parameters = [each for each in found.parameters.values() if each.name not in ("self", "cls")]
    shown = [_parameter(each) for each in parameters]
    for marker, kind in (("/", inspect.Parameter.POSITIONAL_ONLY), ("*", inspect.Parameter.KEYWORD_ONLY)):
        places = [place for place, each in enumerate(parameters) if each.kind is kind]
        has_rest = any([each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters])
        if places and not (marker == "*" and has_rest):
            shown.insert(places[0] if marker == "*" else places[-1] + 1, marker)
    returned = "" if found.return_annotation in (inspect.Signature.empty, None) else f" -> {found.return_annotation}"
    returned = "" if inspect.isclass(value) else returned.replace("'", "")
    one_line = f"{name}({', '.join(shown)}){returned}"
    if len(one_line) <= 88:
        return one_line
    return f"{name}(\n" + "".join([f"    {each},\n" for each in shown]) + f"){returned}"


def _parameter(parameter: inspect.Parameter) -> str:
    text = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "") + parameter.name
    if parameter.annotation is not inspect.Parameter.empty:
        text += f": {parameter.annotation}"
    if parameter.default is inspect.Parameter.empty:
        return text
    default = repr(parameter.default)
    if len(default) > _LONGEST_DEFAULT or " object at 0x" in default:
        default = f"{type(parameter.default).__name__}()"
    return f"{text} = {default}"


def described(docstring: str) -> str:
    """Return a docstring as Markdown: its sections become lists."""
    lines, made, inside = docstring.splitlines(), list[str](), False
    for line in lines:
        if _SECTION.match(line):
            made += [f"**{line}**", ""]
            inside = True
        elif inside and line.startswith("        "):
            made[-1] += " " + line.strip()
        elif inside and line.startswith("    "):
            name, colon, rest = line.strip().partition(":")
            made.append(f"- `{name}`:{rest}" if colon else f"- {line.strip()}")
        else:
            made.append(line)
    return textwrap.dedent("\n".join(made)).strip() + "\n"


def fields_of(kind: type) -> Iterator[tuple[str, str, str]]:
    """Yield the public fields that a class declares: name, type, and the docstring below it."""
    try:
        [tree] = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    except (OSError, TypeError):
        return
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    for place, node in enumerate(body):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        annotation = ast.unparse(node.annotation)
        if node.target.id.startswith("_") or annotation.startswith("ClassVar"):
            continue
        below = body[place + 1] if place + 1 < len(body) else None
        is_doc = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        doc = inspect.cleandoc(str(below.value.value)) if is_doc else ""  # type: ignore[union-attr]
        yield node.target.id, annotation.replace("|", "\\|"), " ".join(doc.split()).replace("|", "\\|")


def methods_of(kind: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that a class declares itself, and that have a docstring.

    What a parent class asks of it is not for users to call.
    """
    inherited = {name for parent in kind.__mro__[1:] for name in vars(parent)}
    for name, value in vars(kind).items():
        plain = value.__func__ if isinstance(value, (classmethod, staticmethod)) else value
        if (
            not name.startswith("_")
            and name not in inherited
            and inspect.getdoc(plain)
            and (inspect.isfunction(plain) or isinstance(plain, property))
        ):
            yield name, plain
