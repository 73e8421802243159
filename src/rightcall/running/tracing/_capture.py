"""Capture the spans of one run: those that begin in a context, and in the tasks and threads it starts.

Python copies the context into tasks and into `asyncio.to_thread`, but neither into threads nor into executors
(`contextvars` documentation; `Thread` has had a `context` argument only since 3.14). While a capture or a stub is
active, our context variables and the current span are copied there, too. Nothing else is, so that an agent finds the
same context as without us.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from rightcall.errors import LimitError, missing_package

from ._tool_marks import tools_are_marked

if TYPE_CHECKING:
    from rightcall.limits import Limits
    from rightcall.reading import Turn
    from rightcall.values.trajectory import Trajectory


SpanKey = tuple[int, int]
"""A trace id and a span id."""
Watch = Callable[[Any], None]
"""Called with each span of a capture, when it begins and when it ends."""

_owners: dict[SpanKey, Scope] = {}
"""The innermost open scope of each captured span, to find the scope of children that begin in an unrelated thread."""


class Captured:
    """The spans of one capture so far. The capture ends with the `with` block; later spans are not in it."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._kept: tuple[Any, ...] | None = None

    @property
    def spans(self) -> tuple[Any, ...]:
        """The spans in the order they began, for `read_spans`; unfinished ones as they were when the capture ended."""
        return self._scope.spans() if self._kept is None else self._kept

    @property
    def left_out(self) -> int:
        """How many spans were dropped because of the limit `captured_spans`."""
        return self._scope.left_out

    def trajectory(self, messages: Any = None) -> Trajectory:
        """Return the trajectory of the spans, completed by a log of messages if there is one.

        If any function of this process is marked as a tool, no captured calls means that none were made. The order of
        calls is always known, even if a test has frozen the clock, because it is the order in which their spans began.

        Raises:
            InputError: the messages are not a log of messages.
            LimitError: spans were dropped, so calls may be missing and nothing can be said about them.
        """
        turns = [self.turn(messages=messages)]
        limits = self._scope.limits
        return captured_trajectory(turns, is_conversation=False, tools_are_seen=tools_are_marked(), limits=limits)

    def turn(self, **others: Any) -> Turn:
        """Return the spans as one turn of a conversation, with other data about that turn.

        Raises:
            LimitError: spans were dropped, so calls may be missing and nothing can be said about them.
        """
        from rightcall.reading import Turn

        most, left_out = self._scope.limits.captured_spans, self.left_out
        if left_out:
            raise LimitError(f"{most + left_out:,} spans in one run; the limit is {most:,} (captured_spans)")
        return Turn(spans=self.spans, **others)

    @contextmanager
    def here(self) -> Iterator[None]:
        """Capture spans in this block as well, although it runs in another context.

        This is for tasks of an event loop that was started before the capture: their context does not have it.
        """
        token = current.set(self._scope)
        try:
            yield
        finally:
            _restore(token)

    def close(self) -> None:
        """Keep the spans as they are now, and accept no more."""
        self._kept = self._scope.close()


class Scope:
    """The state of a capture. Contexts and threads may refer to it after its end; once closed, it has no spans."""

    def __init__(self, outer: Scope | None, limits: Limits, watch: Watch | None = None) -> None:
        self.limits = limits
        self._watch = watch
        self.is_open = True
        self.left_out = 0
        self._outer = outer
        self._lock = threading.Lock()
        self._spans: list[Any] = []
        self._keys: set[SpanKey] = set()

    def spans(self) -> tuple[Any, ...]:
        """Return the spans so far."""
        with self._lock:
            return tuple(self._spans)

    def holds(self, span: Any) -> bool:
        """Whether a span that has just begun is captured, or would be without the limit."""
        return self.left_out > 0 or _key_of(span.get_span_context()) in self._keys

    def open_one(self) -> Scope | None:
        """Return this scope if it is open, else the innermost open one around it."""
        found: Scope | None = self
        while found is not None and not found.is_open:
            found = found._outer
        return found

    def knows(self, key: SpanKey) -> bool:
        """Whether this scope, or one around it, has a span with these ids."""
        return key in self._keys or (self._outer is not None and self._outer.knows(key))

    def add(self, span: Any, key: SpanKey, owner: Scope | None = None) -> None:
        """Add a span that has begun to this scope and those around it; `owner` is the innermost scope that has it."""
        with self._lock:
            if self.is_open and len(self._spans) < self.limits.captured_spans:
                self._spans.append(span if key not in self._keys else _Twin(span))
                self._keys.add(key)
                owner = _owners[key] = owner or self
            elif self.is_open:
                self.left_out += 1
        if self._outer is not None:
            self._outer.add(span, key, owner)
        self.notify(span)

    def notify(self, span: Any) -> None:
        """Tell the watcher, if there is one, that a span has begun or ended."""
        if self._watch is not None and self.is_open:
            self._watch(span)

    def close(self) -> tuple[Any, ...]:
        """Accept no more spans, and return the spans so far, as they are now."""
        with self._lock:
            self.is_open = False
            spans, keys = self._spans, self._keys
            self._spans, self._keys = [], set()
        heir = self.open_one()
        for key in keys:
            if _owners.get(key) is self:
                if heir is None:
                    del _owners[key]
                else:
                    _owners[key] = heir
        return tuple([span if span.end_time is not None else _snapshot(span) for span in spans])


@contextmanager
def capture(limits: Limits | None = None, watch: Watch | None = None) -> Iterator[Captured]:
    """Capture the spans that begin inside the `with` block, and nothing else.

    This includes spans of our decorators and of every instrumentation that uses OpenTelemetry's SDK, with any tracer
    provider, whether or not it would sample or export them. They have to begin in this context, in tasks, threads and
    executors used from it, or below a span of this capture. Captures may run at the same time, and may nest; then the
    outer ones get the spans, too. Exporters and processors of the program still get their spans.

    Args:
        limits: How many spans are kept (`captured_spans`), and the budgets for reading them.
        watch: Called with each span when it begins and when it ends, in the thread where that happens.

    Raises:
        MissingExtraError: OpenTelemetry's SDK is not installed.
    """
    try:
        from ._telemetry import sdk_patches
    except ImportError:
        raise missing_package("capturing spans needs opentelemetry-sdk") from None
    from rightcall.limits import DEFAULT_LIMITS

    outer = current.get()
    scope = Scope(outer.open_one() if outer is not None else None, limits or DEFAULT_LIMITS, watch)
    captured = Captured(scope)
    with sdk_patches, thread_patches:
        token = current.set(scope)
        try:
            yield captured
        finally:
            captured.close()
            _restore(token)


def captured_trajectory(
    turns: Sequence[Turn], *, is_conversation: bool, tools_are_seen: bool, limits: Limits | None = None
) -> Trajectory:
    """Return the trajectory of turns whose spans were captured, and so are in the order in which they began.

    Raises:
        InputError: the messages or documents of a turn have an unknown format.
    """
    # Not at the top: a program that only marks its tools should not import the readers.
    from rightcall.limits import DEFAULT_LIMITS
    from rightcall.reading import read_turns

    path = read_turns(
        turns, is_conversation=is_conversation, tools_are_seen=tools_are_seen, limits=limits or DEFAULT_LIMITS
    )
    return _as_begun(path, [span for turn in turns for span in turn.spans]) if _has_ties(path) else path


def note_span(span: Any) -> None:
    """Add a span that has just begun to the capture it belongs to.

    That is the capture of its context, unless its parent belongs to another one: a thread that serves many cases has
    the context of the case that started it, or of none.
    """
    here = current.get()
    if here is not None and not here.is_open:
        here = here.open_one()
    above = span.parent
    if above is not None:
        parent = _key_of(above)
        if here is None or not here.knows(parent):
            here = _owners.get(parent, here)
    if here is not None:
        here.add(span, _key_of(span.context))


def note_end(span: Any) -> None:
    """Notify the captures that a span belongs to that it has ended."""
    owner = _owners.get(_key_of(span.context))
    while owner is not None:
        owner.notify(span)
        owner = owner._outer


def _key_of(context: Any) -> SpanKey:
    return (context.trace_id, context.span_id)


def _restore(token: Any) -> None:
    try:
        current.reset(token)
    except ValueError:
        # The block was entered in another context, as happens with fixtures of pytest-asyncio. That context keeps the
        # scope, which is closed and accepts nothing.
        current.set(None)


def _snapshot(span: Any) -> Any:
    """Return a copy of an unfinished span that no longer changes."""
    from ._telemetry import copy_of

    return copy_of(span)


class _Twin:
    """A span with new ids, for one whose ids are taken: an agent that seeds `random` gets the same ids again."""

    def __init__(self, span: Any) -> None:
        from ._telemetry import other_ids

        self._span = span
        self.context = other_ids(span.context)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._span, name)


def _has_ties(path: Trajectory) -> bool:
    starts = [call.start_ns for call in path.calls]
    return len(set(starts)) < len(starts)


def _as_begun(path: Trajectory, spans: Sequence[Any]) -> Trajectory:
    """Order calls that have the same start time by the order in which their spans began."""
    import msgspec

    places = {f"{span.context.span_id:016x}": place for place, span in enumerate(spans)}
    calls: list[Any] = []
    for _, tied in groupby(path.calls, key=lambda call: call.start_ns):
        together = list(tied)
        if all([call.span_id in places for call in together]):
            together.sort(key=lambda call: places[str(call.span_id)])
        calls += together
    return msgspec.structs.replace(path, calls=tuple(calls), unordered=())


class Change(Protocol):
    """A change that can be applied and undone."""

    def put(self) -> None:
        """Apply the change."""

    def remove(self) -> None:
        """Undo the change."""


class Patch:
    """Replaces one attribute of a class temporarily.

    If other code wraps the attribute after us, its wrapper stays, and calls ours. So a replacement must do nothing
    while the patch is removed, and must not act twice when the patch is applied again.
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
    """Return a function of a class as a method of an instance.

    Calling `function(instance)` is not the same if the function is a descriptor of another library, such as the
    wrappers of `wrapt`, which OpenTelemetry's instrumentations use.
    """
    return function.__get__(instance, type(instance))


class SharedPatches:
    """A context manager that applies patches for its first user and removes them after its last."""

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
    """Whether the tool called other tools meanwhile, such as one that runs another agent."""

    def given(self) -> Any:
        """Return the value, or raise the error."""
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
"""The tools that a framework is running in this context, whose calls stubs and observers have already seen."""

_PROPAGATED: list[ContextVar[Any]] = [current, tool_stub, tool_observer, dispatching]


_NOTHING: dict[ContextVar[Any], Any] = {dispatching: frozenset()}
"""The value of a variable outside of any case, if it is not None."""


class CallContext:
    """The values of context variables that a call takes into another thread."""

    __slots__ = ("_span_context", "_values")

    def __init__(self) -> None:
        self._values = [(variable, variable.get(_NOTHING.get(variable))) for variable in _PROPAGATED]
        telemetry = sys.modules.get("opentelemetry.context")
        self._span_context = telemetry.get_current() if telemetry is not None else None

    def run(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call a function with these values set, and restore the previous ones."""
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
    """Whether a decorator has nothing to do: there is no stub and no observer, and no span would be seen."""
    return tool_stub.get() is None and tool_observer.get() is None and not is_traced()


def _has_context() -> bool:
    return any([bool(variable.get(None)) for variable in _PROPAGATED])


def _patches() -> list[Patch]:
    from concurrent.futures import ThreadPoolExecutor
    from threading import Thread

    return [Patch(ThreadPoolExecutor, "submit", _submit), Patch(Thread, "start", _start)]


thread_patches = SharedPatches(_patches)
"""Copies the context variables above into threads and executors while it is entered."""


def _submit(original: Callable[..., Any]) -> Callable[..., Any]:
    def submit(self: Any, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if not _has_context() or _is_other_interpreter(self):
            return bound(original, self)(function, *args, **kwargs)
        followed = CallContext()
        # The executor may start a thread now, which serves other calls later: it must not inherit our values.
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

        # `run` is replaced on the instance, not on the class: subclasses override it, and only this thread is meant.
        self.run = run_with_context
        try:
            bound(original, self)()
        except BaseException:  # a thread that did not start, for whatever reason, keeps its own `run`
            restore()
            raise

    return start
