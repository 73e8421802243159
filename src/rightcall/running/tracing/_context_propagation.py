"""Context variables that follow a call into other threads: the capture, the tool stub and the tool observer.

Python copies the context into tasks and into `asyncio.to_thread`, but neither into threads nor into executors
(`contextvars` documentation; `Thread` has had a `context` argument only since 3.14). While a capture or a stub is
active, our variables follow there too, and so does the current span. Nothing else does, so that an agent finds what it
would find without us.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar, Token
from typing import Any, NamedTuple, Protocol, TypeAlias


class Change(Protocol):
    """Something that can be put in place and removed again."""

    def put(self) -> None:
        """Put the change in place."""

    def remove(self) -> None:
        """Undo the change."""


class Patch:
    """Replaces one attribute of a class for a while.

    If other code replaces the attribute after us, its version stays, and ours stays below it. So a replacement has to
    do nothing while the patch is removed, and must not act twice when the patch is put in place again.
    """

    __slots__ = ("_made", "_make", "_name", "_original", "_owner")

    def __init__(self, owner: type, name: str, make: Callable[[Any], Any]) -> None:
        self._owner = owner
        self._name = name
        self._make = make
        self._made: Any = None
        self._original: Any = None

    def put(self) -> None:
        """Replace the attribute with the result of `make(attribute)`."""
        self._original = vars(self._owner).get(self._name)
        self._made = self._make(self._original)
        setattr(self._owner, self._name, self._made)

    def remove(self) -> None:
        """Put the original attribute back, unless other code has replaced ours."""
        if vars(self._owner).get(self._name) is self._made:
            if self._original is None:
                delattr(self._owner, self._name)
            else:
                setattr(self._owner, self._name, self._original)
        self._made = self._original = None


def bound(function: Any, instance: Any) -> Any:
    """Return a class's function as a method of an instance.

    Calling `function(instance)` is not the same when the attribute is a descriptor of another library. `wrapt`, on
    which OpenTelemetry's instrumentations are built, puts such objects there.
    """
    return function.__get__(instance, type(instance))


class SharedPatches:
    """A context manager that puts patches in place for its first user and removes them after its last."""

    __slots__ = ("_changes", "_list", "_lock", "_users")

    def __init__(self, changes: Callable[[], Sequence[Change]]) -> None:
        self._list = changes
        self._changes: Sequence[Change] | None = None
        self._lock = threading.Lock()
        self._users = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._changes is None:
                self._changes = self._list()
            if self._users == 0:
                for change in self._changes:
                    change.put()
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                for change in reversed(self._changes or ()):
                    change.remove()


class ToolAnswer(NamedTuple):
    """The result of a tool call: a value, or the exception that was raised."""

    value: Any = None
    error: BaseException | None = None
    has_inner: bool = False
    """Whether the tool called other tools meanwhile, as one does that asks another agent."""

    def given(self) -> Any:
        """Return the value, or raise the exception."""
        if self.error is not None:
            raise self.error
        return self.value


ToolStub: TypeAlias = Callable[[str, dict[str, Any]], ToolAnswer | None]
"""Answers a call, given the tool's name and its arguments as plain JSON values; None lets the real tool run."""

ToolObserver: TypeAlias = Callable[[str, dict[str, Any], ToolAnswer], None]
"""Receives the calls of real tools: name, arguments as plain JSON values, and the result as it was."""

current: ContextVar[Any] = ContextVar("rightcall_capture", default=None)
"""The scope of the innermost capture in this context."""

tool_stub: ContextVar[ToolStub | None] = ContextVar("rightcall_stand_in", default=None)
"""The stub that answers for the tools in this context, if there is one."""

tool_observer: ContextVar[ToolObserver | None] = ContextVar("rightcall_observer", default=None)
"""The observer of real tools in this context, if there is one."""

dispatching: ContextVar[frozenset[str]] = ContextVar("rightcall_dispatching", default=frozenset())
"""The tools that a framework is carrying out in this context. Stubs and observers have seen these calls already."""

_PROPAGATED: list[ContextVar[Any]] = [current, tool_stub, tool_observer, dispatching]


_NOTHING: dict[ContextVar[Any], Any] = {dispatching: frozenset()}
"""What a variable has in a thread that is in no case; None for those that are not listed."""


class CallContext:
    """The values that follow one call into another thread."""

    __slots__ = ("_span_context", "_values")

    def __init__(self) -> None:
        self._values = [(variable, variable.get(_NOTHING.get(variable))) for variable in _PROPAGATED]
        telemetry = sys.modules.get("opentelemetry.context")
        self._span_context = telemetry.get_current() if telemetry is not None else None

    def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a function with these values set, and leave the thread as it was."""
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


def propagate(variable: ContextVar[Any]) -> None:
    """Propagate another context variable as well; it is None in threads where it has no value."""
    if variable not in _PROPAGATED:
        _PROPAGATED.append(variable)


def is_traced() -> bool:
    """Whether a span would be seen: there is a capture, or the program has configured a tracer provider."""
    if current.get() is not None:
        return True
    telemetry = sys.modules.get("opentelemetry.trace")
    return telemetry is not None and getattr(telemetry, "_TRACER_PROVIDER", None) is not None


def is_idle() -> bool:
    """Whether a call can go straight to its function: no stub, no observer, and no span would be seen."""
    return tool_stub.get() is None and tool_observer.get() is None and not is_traced()


def _has_context() -> bool:
    return any([bool(variable.get(None)) for variable in _PROPAGATED])


def _patches() -> list[Patch]:
    from concurrent.futures import ThreadPoolExecutor
    from threading import Thread

    return [Patch(ThreadPoolExecutor, "submit", _submit), Patch(Thread, "start", _start)]


thread_patches = SharedPatches(_patches)
"""While it is entered, the variables above follow calls into threads and executors."""


def _submit(original: Callable[..., Any]) -> Callable[..., Any]:
    def submit(self: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if not _has_context() or _is_other_interpreter(self):
            return bound(original, self)(function, *args, **kwargs)
        followed = CallContext()
        # The executor may start a thread now that serves other calls later: it must not inherit our values.
        tokens: list[tuple[ContextVar[Any], Token[Any]]] = [
            (each, each.set(_NOTHING.get(each))) for each in tuple(_PROPAGATED)
        ]
        try:
            return bound(original, self)(followed.run, function, *args, **kwargs)
        finally:
            for variable, token in tokens:
                variable.reset(token)

    return submit


def _is_other_interpreter(executor: Any) -> bool:
    """Whether an executor runs calls in another interpreter (Python 3.14), which our objects cannot enter."""
    module = sys.modules.get("concurrent.futures.interpreter")
    return module is not None and isinstance(executor, module.InterpreterPoolExecutor)


def _start(original: Callable[..., Any]) -> Callable[..., Any]:
    def start(self: Any) -> None:
        if not _has_context():
            bound(original, self)()
            return
        followed, run, own = CallContext(), self.run, self.__dict__.get("run")

        def restore() -> None:
            self.__dict__.pop("run", None)
            if own is not None:
                self.run = own

        def run_with_context() -> None:
            restore()
            followed.run(run)

        # `run` is replaced on the instance, not on the class: subclasses override it, and this thread alone is ours.
        self.run = run_with_context
        try:
            bound(original, self)()
        except BaseException:  # a thread that did not start, for whatever reason, keeps its own `run`
            restore()
            raise

    return start
