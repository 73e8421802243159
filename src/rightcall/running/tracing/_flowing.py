"""What belongs to a call follows it into other threads.

Python copies the context into tasks and into `asyncio.to_thread`, but neither into threads nor into executors. While
somebody needs it, ours follows there too: the capture, who stands in for tools, who observes them, and the current
span. Nothing else does, so that an agent finds what it would find without us.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any

from ._patching import Changes, Patch, bound
from ._standing import observer, stand_in

current: ContextVar[Any] = ContextVar("rightcall_capture", default=None)
"""The scope of the innermost capture of this context."""

_FLOWING: list[ContextVar[Any]] = [current, stand_in, observer]


class Flow:
    """What follows one call into another thread."""

    __slots__ = ("_span_context", "_values")

    def __init__(self) -> None:
        self._values = [(variable, variable.get(None)) for variable in _FLOWING]
        telemetry = sys.modules.get("opentelemetry.context")
        self._span_context = telemetry.get_current() if telemetry is not None else None

    def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a function with what followed, and leave the thread as it was."""
        tokens = [(variable, variable.set(value)) for variable, value in self._values]
        telemetry = sys.modules.get("opentelemetry.context")
        attached = telemetry.attach(self._span_context) if telemetry is not None and self._span_context else None
        try:
            return function(*args, **kwargs)
        finally:
            if telemetry is not None and attached is not None:
                telemetry.detach(attached)
            for variable, token in tokens:
                variable.reset(token)


def let_flow(variable: ContextVar[Any]) -> None:
    """Have a variable of somebody else follow calls as well; it is None where nothing is in it."""
    if variable not in _FLOWING:
        _FLOWING.append(variable)


def is_anything_flowing() -> bool:
    """Whether this context has anything that others should have."""
    return current.get() is not None or stand_in.get() is not None or observer.get() is not None


def is_traced() -> bool:
    """Whether somebody would see a span: there is a capture, or the program has configured a tracer provider."""
    if current.get() is not None:
        return True
    telemetry = sys.modules.get("opentelemetry.trace")
    return telemetry is not None and getattr(telemetry, "_TRACER_PROVIDER", None) is not None


def is_idle() -> bool:
    """Whether nobody is interested in calls: nobody stands in or observes, and nobody would see a span."""
    return stand_in.get() is None and observer.get() is None and not is_traced()


def _patches() -> list[Patch]:
    from concurrent.futures import ThreadPoolExecutor
    from threading import Thread

    return [Patch(ThreadPoolExecutor, "submit", _submit), Patch(Thread, "start", _start)]


flowing = Changes(_patches)
"""While it is open, what belongs to a call follows it into threads and executors."""


def _submit(original: Callable[..., Any]) -> Callable[..., Any]:
    def submit(self: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if not is_anything_flowing() or _is_elsewhere(self):
            return bound(original, self)(function, *args, **kwargs)
        flow = Flow()
        # A thread that the executor starts now will serve others later: it must not take anything with it.
        tokens: list[tuple[ContextVar[Any], Token[Any]]] = [(each, each.set(None)) for each in tuple(_FLOWING)]
        try:
            return bound(original, self)(flow.run, function, *args, **kwargs)
        finally:
            for variable, token in tokens:
                variable.reset(token)

    return submit


def _is_elsewhere(executor: Any) -> bool:
    """Whether what an executor runs is in another interpreter (Python 3.14), where nothing of ours can be."""
    module = sys.modules.get("concurrent.futures.interpreter")
    return module is not None and isinstance(executor, module.InterpreterPoolExecutor)


def _start(original: Callable[..., Any]) -> Callable[..., Any]:
    def start(self: Any) -> None:
        if not is_anything_flowing():
            bound(original, self)()
            return
        flow, run, own = Flow(), self.run, self.__dict__.get("run")

        def restore() -> None:
            self.__dict__.pop("run", None)
            if own is not None:
                self.run = own

        def run_with_it() -> None:
            restore()
            flow.run(run)

        self.run = run_with_it
        try:
            bound(original, self)()
        except BaseException:
            restore()
            raise

    return start
