"""Capture the spans of one run: those that begin in a context, and in the tasks and threads it starts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rightcall.errors import LimitError, missing_package

from ._context_propagation import current, thread_patches
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
"""The innermost open scope of each span that was captured: children that begin in a foreign thread are found by it."""


class Captured:
    """The spans that one capture has seen so far. It ends with the `with` block; later spans are not in it."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._kept: tuple[Any, ...] | None = None

    @property
    def spans(self) -> tuple[Any, ...]:
        """The spans in the order they began, as `read_spans` takes them; unfinished ones as they were at the end."""
        return self._scope.spans() if self._kept is None else self._kept

    @property
    def left_out(self) -> int:
        """How many spans were dropped because of the limit `captured_spans`."""
        return self._scope.left_out

    def trajectory(self, messages: Any = None) -> Trajectory:
        """Return the trajectory of the spans, completed by a log of messages if there is one.

        If any tool of this process is marked, no calls seen means no calls made. The order of calls is always known,
        because each was seen to begin, even with a clock that does not move, as in tests with a frozen time.

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
        """Capture what begins in this block as well, although it runs in another context than the capture.

        An event loop that was started before the capture runs tasks in a context that does not know of it.
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
    """The reach of a capture, held by contexts and by threads that outlive it. Once closed, it holds no spans."""

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
        """Whether a span of this scope, or of one around it, has these ids."""
        return key in self._keys or (self._outer is not None and self._outer.knows(key))

    def add(self, span: Any, key: SpanKey, owner: Scope | None = None) -> None:
        """Keep a span that begins, here and in the scopes around this one; `owner` is the innermost scope."""
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
        """Call the watcher, if there is one: a span has begun or ended."""
        if self._watch is not None and self.is_open:
            self._watch(span)

    def close(self) -> tuple[Any, ...]:
        """Accept no more spans, and return those there are, as they are now."""
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

    Spans of our decorators and of every instrumentation that uses OpenTelemetry's SDK are captured, with any tracer
    provider and whether or not it would sample or export them: those that begin in this context, in tasks, threads and
    executors used from it, and below a span of this capture. Captures may run at the same time, and may nest; then
    the outer ones get the spans, too. Exporters and processors of the program still get their spans.

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
    # Not at the top: a program that only marks its tools must not pay for the readers.
    from rightcall.limits import DEFAULT_LIMITS
    from rightcall.reading import read_turns

    path = read_turns(
        turns, is_conversation=is_conversation, tools_are_seen=tools_are_seen, limits=limits or DEFAULT_LIMITS
    )
    return _as_begun(path, [span for turn in turns for span in turn.spans]) if _has_ties(path) else path


def note_span(span: Any) -> None:
    """Give a span that has just begun to the capture it belongs to.

    That is the capture of its context, unless its parent belongs to another one: a thread that serves many cases has
    the context of the case that started it, or none.
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
        # The block was left in another context than it was entered in, as fixtures of pytest-asyncio are. The first
        # context keeps the scope, which is closed and accepts nothing.
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
