"""The tools that a project gives its agent, found by reading its source; nothing of it is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import msgspec

_MOST_FILES = 50
_MOST_CHARACTERS = 200_000
_MOST_TOOLS = 20
_MARKS = {"tool", "function_tool", "tool_plain"}
"""What decorators of tools are called in LangChain, OpenAI Agents and pydantic-ai, with or without an object before."""
_GIVEN_BY_FRAMEWORK = {"self", "cls", "ctx", "context", "tool_context", "config", "state", "runtime", "wrapper"}
_CONTEXTS = ("Context", "ContextWrapper", "Injected", "RunnableConfig", "ToolRuntime")
_TYPES = ("str", "int", "float", "bool")


class Parameter(msgspec.Struct, frozen=True):
    """An argument that has to be given: its name, and its type if it is a plain one."""

    name: str
    type: str | None


class SeenTool(msgspec.Struct, frozen=True):
    """A function that an agent can call."""

    name: str
    parameters: tuple[Parameter, ...]


def tools_in(modules: Iterable[str]) -> tuple[SeenTool, ...]:
    """The tools in the texts of modules: functions marked as such, and those listed as `tools`, in order.

    A module that is too long or no Python tells nothing.
    """
    trees = [tree for tree in map(_tree, _few(modules)) if tree is not None]
    listed = {name for tree in trees for name in _listed(tree)}
    found: dict[str, SeenTool] = {}
    for node in [node for tree in trees for node in ast.walk(tree)]:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and (_is_marked(node) or node.name in listed):
            found.setdefault(node.name, SeenTool(node.name, tuple(_parameters(node))))
    return tuple(found.values())[:_MOST_TOOLS]


def _few(modules: Iterable[str]) -> Iterator[str]:
    for number, text in enumerate(modules):
        if number < _MOST_FILES and len(text) <= _MOST_CHARACTERS:
            yield text


def _tree(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # text that is not Python, or is made to be hard to read


def _listed(tree: ast.Module) -> Iterator[str]:
    """The names in `tools=[…]`, as an argument or on a line of its own."""
    for node in ast.walk(tree):
        named = [node.arg] if isinstance(node, ast.keyword) else []
        if isinstance(node, ast.Assign):
            named = [one.id for one in node.targets if isinstance(one, ast.Name)]
        if "tools" in named and isinstance(node, (ast.keyword, ast.Assign)):
            yield from _names(node.value)


def _names(value: ast.expr) -> list[str]:
    listed = value.elts if isinstance(value, (ast.List, ast.Tuple)) else []
    return [one.id for one in listed if isinstance(one, ast.Name)]


def _is_marked(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    marks = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
    return any(
        (isinstance(mark, ast.Name) and mark.id in _MARKS) or (isinstance(mark, ast.Attribute) and mark.attr in _MARKS)
        for mark in marks
    )


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Parameter]:
    given = [*node.args.posonlyargs, *node.args.args]
    needed = given[: len(given) - len(node.args.defaults)]
    needed += [one for one, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if default is None]
    for one in needed:
        annotation = ast.unparse(one.annotation) if one.annotation is not None else "str"
        if one.arg not in _GIVEN_BY_FRAMEWORK and not any(context in annotation for context in _CONTEXTS):
            yield Parameter(one.arg, annotation if annotation in _TYPES else None)
