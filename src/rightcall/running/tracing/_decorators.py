"""The decorators `traced`, `tool`, `mockable` and `mock_tool_span`, to be used alone or together, in any order.

With any number of them, a call opens one span, is answered once, and is recorded once. Names, docstrings, signatures
and types stay as they are. Without a capture, mocks or a configured tracer provider, a decorated function does what it
did before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import MethodType
from typing import Any, TypeVar, overload

from ._tool_marks import Marks, marks_of, new_marks
from ._wrapper import wrap

Function = TypeVar("Function", bound="Callable[..., Any] | classmethod[Any, Any, Any] | staticmethod[Any, Any]")


@overload
def traced(function: Function, /) -> Function: ...
@overload
def traced(name: str | None = None, *, span_type: str | None = None) -> Callable[[Function], Function]: ...
def traced(name: Any = None, *, span_type: str | None = None) -> Any:
    """Make each call of a function a span with its input and output, but not a tool call.

    Use it as `@traced`, `@traced()` or `@traced("name")`; the name is the span's. With `span_type="tool"`, as in
    UiPath's samples, the function is a tool under its own name.
    """
    is_tool = span_type is not None and span_type.lower() == "tool"

    def marked(marks: Marks, given: str | None) -> Marks:
        return marks._replace(is_traced=True, is_tool=marks.is_tool or is_tool, span_name=given or marks.span_name)

    return _decorator(name, marked)


@overload
def tool(function: Function, /) -> Function: ...
@overload
def tool(name: str | None = None) -> Callable[[Function], Function]: ...
def tool(name: Any = None) -> Any:
    """Make each call of a function a tool call, with `tool.name`, `input.value` and `output.value` in its span.

    Use it as `@tool`, `@tool()` or `@tool("name")`; the name is the tool's, also in mocks.
    """
    return _decorator(name, lambda marks, given: marks._replace(is_tool=True, tool_name=given or marks.tool_name))


@overload
def mock_tool_span(function: Function, /) -> Function: ...
@overload
def mock_tool_span(name: str | None = None) -> Callable[[Function], Function]: ...
def mock_tool_span(name: Any = None) -> Any:
    """The same as `tool`, under its name in UiPath's samples."""
    return tool(name)


@overload
def mockable(function: Function, /) -> Function: ...
@overload
def mockable(
    *, name: str | None = None, example_calls: Iterable[Any] | None = None
) -> Callable[[Function], Function]: ...
def mockable(function: Any = None, /, *, name: str | None = None, example_calls: Iterable[Any] | None = None) -> Any:
    """Let a function be mocked. Alone it opens no span: use it where something else already records the call.

    Use it as `@mockable`, `@mockable()` or `@mockable(example_calls=[…])`. The examples show what calls return; they
    help to write mocks.
    """

    def marked(marks: Marks, given: str | None) -> Marks:
        examples = marks.example_calls if example_calls is None else tuple(example_calls)
        return marks._replace(is_mockable=True, tool_name=given or marks.tool_name, example_calls=examples)

    decorate = _decorator(name, marked)
    return decorate if function is None else decorate(function)


def _decorator(given: Any, mark: Callable[[Marks, str | None], Marks]) -> Any:
    """Return a decorator that marks; if it was used without parentheses, apply it at once."""
    if given is None or isinstance(given, str):
        return lambda function: _decorated(function, lambda marks: mark(marks, given or None))
    return _decorated(given, lambda marks: mark(marks, None))


def _decorated(function: Any, mark: Callable[[Marks], Marks]) -> Any:
    if isinstance(function, (classmethod, staticmethod)):
        return type(function)(_decorated(function.__func__, mark))
    if isinstance(function, MethodType):
        return MethodType(_decorated(function.__func__, mark), function.__self__)
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"only functions can be decorated, not {function!r:.80}")
    marks = marks_of(function)
    if marks is None:
        return wrap(mark(new_marks(function)))
    made = wrap(mark(marks))
    made.__dict__.update({key: value for key, value in vars(function).items() if key not in vars(made)})
    return made
