"""Tools of agents that use UiPath's own decorators.

Their `@mockable` asks whoever is in a context variable of UiPath's package. While somebody stands in for tools, or
observes them, we are there. Nothing is imported: an agent that does not use the package has not loaded it.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from rightcall.running.tracing import Answer, let_flow, observer, plain_arguments, stand_in

_MODULE = "uipath.eval.mocks._mock_context"


@contextmanager
def answering_uipath() -> Iterator[None]:
    """Be who UiPath's `@mockable` asks, if that is there."""
    variable = getattr(sys.modules.get(_MODULE), "mocker_context", None)
    if not isinstance(variable, ContextVar):
        yield
        return
    let_flow(variable)
    token = variable.set(_Mocker())
    try:
        yield
    finally:
        variable.reset(token)


class _Mocker:
    """Answers as UiPath's mockers do."""

    async def response(self, func: Callable[..., Any], params: dict[str, Any], invocation: Any) -> Any:
        """The answer to a call; where nobody has one, what the function itself gives back.

        Raises:
            UiPathNoMockFoundError: nobody has one, or wants to know: UiPath's decorator then calls the function.
        """
        args, kwargs = invocation
        tool, named = str(params.get("name")), plain_arguments(func, args, kwargs)
        asked, told = stand_in.get(), observer.get()
        answer = asked(tool, named) if asked is not None else None
        if answer is not None:
            return answer.given()
        nobody = getattr(sys.modules.get(_MODULE), "UiPathNoMockFoundError", None)
        if told is None and nobody is not None:
            raise nobody
        try:
            value = func(*args, **kwargs)
            value = await value if inspect.isawaitable(value) else value
        except Exception as error:
            if told is not None:
                told(tool, named, Answer(error=error))
            raise
        if told is not None:
            told(tool, named, Answer(value))
        return value
