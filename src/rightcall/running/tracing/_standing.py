"""Who answers in the place of a tool, and who is told what the real one did."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeAlias


class Answer(NamedTuple):
    """What a tool gave back: a value, or the exception that it raised."""

    value: Any = None
    error: BaseException | None = None

    def given(self) -> Any:
        """The value. Raises the exception, where there is one."""
        if self.error is not None:
            raise self.error
        return self.value


StandIn: TypeAlias = Callable[[str, dict[str, Any]], Answer | None]
"""Answers a call, given the tool's name and its arguments as plain JSON values; None lets the real tool run."""

Observer: TypeAlias = Callable[[str, dict[str, Any], Answer], None]
"""Is told what a real tool gave back: name, arguments as plain JSON values, and the outcome as it was."""

stand_in: ContextVar[StandIn | None] = ContextVar("rightcall_stand_in", default=None)
"""Who answers for the tools in this context, if anybody does."""

observer: ContextVar[Observer | None] = ContextVar("rightcall_observer", default=None)
"""Who is told of the outcomes of real tools in this context, if anybody is."""
