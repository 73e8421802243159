"""What the decorators say about a function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ._binding import Binding

_KEY = "__rightcall__"
_MAKER = f"{__package__}._wrapping"
_is_any_tool = [False]


class Marks(NamedTuple):
    """What the decorators of one function say, however many there are and whatever their order."""

    function: Callable[..., Any]
    """The function itself, without any of our decorators."""
    name: str
    """The function's own name."""
    binding: Binding
    is_traced: bool = False
    is_tool: bool = False
    is_mockable: bool = False
    span_name: str | None = None
    tool_name: str | None = None
    example_calls: tuple[Any, ...] = ()
    """Calls that show what the tool gives back, for whoever mocks it."""

    @property
    def tool(self) -> str:
        """The name by which calls are recorded, and by which mocks know the tool."""
        return self.tool_name or self.name

    @property
    def span(self) -> str:
        """The name of the span of a call."""
        return self.span_name or self.tool

    @property
    def opens_span(self) -> bool:
        """Whether a call is a span. A function that is only mockable leaves that to whoever calls it."""
        return self.is_traced or self.is_tool

    @property
    def may_be_mocked(self) -> bool:
        """Whether somebody may answer for the function."""
        return self.is_tool or self.is_mockable


def marks_of(function: Any) -> Marks | None:
    """What our decorators say about a function that they made; None for every other."""
    marks = getattr(function, _KEY, None)
    # Decorators of others copy attributes from what they wrap: only a function of our own counts.
    is_ours = getattr(function, "__globals__", {}).get("__name__") == _MAKER
    return marks if isinstance(marks, Marks) and is_ours else None


def new_marks(function: Callable[..., Any]) -> Marks:
    """The marks of a function that has none yet."""
    return Marks(function, _name_of(function), Binding(function))


def tools_are_marked() -> bool:
    """Whether any function of this program is marked as a tool: then a run without spans is one without calls."""
    return _is_any_tool[0]


def attach_marks(wrapper: Callable[..., Any], marks: Marks) -> None:
    """Leave marks with the wrapper that they are about."""
    _is_any_tool[0] |= marks.is_tool
    setattr(wrapper, _KEY, marks)


def _name_of(function: Any) -> str:
    """The name of a function, of what a partial application applies, or of a callable object's class."""
    while not hasattr(function, "__name__") and hasattr(function, "func"):
        function = function.func
    return getattr(function, "__name__", None) or type(function).__name__
