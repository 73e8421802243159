"""The spans of one run: those that begin in a context, and in whatever it starts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rightcall.errors import LimitError, MissingExtraError

from ._flowing import current, flowing
from ._marks import tools_are_marked

if TYPE_CHECKING:
    from rightcall.limits import Limits
    from rightcall.reading import Turn
    from rightcall.values.trajectory import Trajectory

SpanKey = tuple[int, int]
"""The ids of a trace and of a span in it."""
Watch = Callable[[Any], None]
"""What is told of each span of a capture, when it begins and when it ends."""

_owners: dict[SpanKey, Scope] = {}


class Captured:
    """What one capture has seen so far. It ends with the `with` block, and what begins later is not in it."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._kept: tuple[Any, ...] | None = None

    @property
    def spans(self) -> tuple[Any, ...]:
        """The spans in the order they began, as `read_spans` takes them; unfinished ones as they stood at the end."""
        return self._scope.spans() if self._kept is None else self._kept

    @property
    def left_out(self) -> int:
        """How many spans were not kept, because of the limit `captured_spans`."""
        return self._scope.left_out

    def trajectory(self, messages: Any = None) -> Trajectory:
        """The trajectory of the spans, completed by a log of messages if there is one.

        Where tools of this process are marked, no calls seen are no calls. Which of two calls began first is always
        known, since they were seen to begin: also where a clock that stands still, as in tests with a frozen time, says
        that they began together.

        Raises:
            InputError: the messages are not a log of messages.
            LimitError: there were more spans than are kept. Calls may be missing, so nothing can be said about them.
        """
        turns = [self.turn(messages=messages)]
        limits = self._scope.limits
        return captured_trajectory(turns, is_conversation=False, tools_are_seen=tools_are_marked(), limits=limits)

    def turn(self, **others: Any) -> Turn:
        """The spans as one turn of a conversation, with what else is known of it.

        Raises:
            LimitError: there were more spans than are kept. Calls may be missing, so nothing can be said about them.
        """
        from rightcall.reading import Turn

        most, left_out = self._scope.limits.captured_spans, self.left_out
        if left_out:
            raise LimitError(f"{most + left_out:,} spans in one run; the limit is {most:,} (captured_spans)")
        return Turn(spans=self.spans, **others)

    @contextmanager
    def here(self) -> Iterator[None]:
        """Have what begins in this block be captured, too, where it is run in another context than the capture.

        Event loops that others keep run tasks in contexts older than the capture, which then know nothing of it.
        """
        token = current.set(self._scope)
        try:
            yield
        finally:
            _restore(token)

    def close(self) -> None:
        """Keep the spans as they are now, and take no more."""
        self._kept = self._scope.close()


class Scope:
    """Where a capture reaches: what contexts hold, and threads that live on. Once it is closed it holds nothing."""

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
        """The spans so far."""
        with self._lock:
            return tuple(self._spans)

    def holds(self, span: Any) -> bool:
        """Whether a span that has just begun is among those captured, or would be but for the limit."""
        return self.left_out > 0 or _key_of(span.get_span_context()) in self._keys

    def open_one(self) -> Scope | None:
        """This scope while it is open; after that the innermost one around it that is."""
        found: Scope | None = self
        while found is not None and not found.is_open:
            found = found._outer
        return found

    def knows(self, key: SpanKey) -> bool:
        """Whether a span of this scope, or of one around it, has these ids."""
        return key in self._keys or (self._outer is not None and self._outer.knows(key))

    def add(self, span: Any, key: SpanKey, owner: Scope | None = None) -> None:
        """Keep a span that begins, here and in the scopes around this one; `owner` is the innermost of them."""
        with self._lock:
            if self.is_open and len(self._spans) < self.limits.captured_spans:
                self._spans.append(span if key not in self._keys else _Twin(span))
                self._keys.add(key)
                owner = _owners[key] = owner or self
            elif self.is_open:
                self.left_out += 1
        if self._outer is not None:
            self._outer.add(span, key, owner)
        self.tell(span)

    def tell(self, span: Any) -> None:
        """Call the watcher, if there is one: a span has begun or ended."""
        if self._watch is not None and self.is_open:
            self._watch(span)

    def close(self) -> tuple[Any, ...]:
        """Take no more spans, and hand over those there are, as they are now."""
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
        return tuple([span if span.end_time is not None else _as_it_stands(span) for span in spans])


@contextmanager
def capture(limits: Limits | None = None, watch: Watch | None = None) -> Iterator[Captured]:
    """Capture the spans that begin inside the `with` block, and nothing else.

    Spans of our decorators, and of every instrumentation that uses OpenTelemetry's SDK, whatever tracer provider it
    uses, and whether or not it would sample or export them: those that begin in this context, in tasks, threads and
    executors that are used from it, and below a span of this capture. Captures may run at the same time, and may
    nest; then the outer ones get the spans, too. Whoever else gets spans still gets theirs.

    Args:
        limits: How many spans are kept (`captured_spans`), and the budgets for reading them.
        watch: Is told of each span when it begins and when it ends, in the thread where that happens.

    Raises:
        MissingExtraError: OpenTelemetry's SDK is not installed.
    """
    try:
        from ._telemetry import capturing
    except ImportError:
        raise MissingExtraError("capturing spans needs opentelemetry-sdk: pip install 'rightcall[run]'") from None
    from rightcall.limits import DEFAULT_LIMITS

    outer = current.get()
    scope = Scope(outer.open_one() if outer is not None else None, limits or DEFAULT_LIMITS, watch)
    captured = Captured(scope)
    with capturing, flowing:
        token = current.set(scope)
        try:
            yield captured
        finally:
            captured.close()
            _restore(token)


def captured_trajectory(
    turns: Sequence[Turn], *, is_conversation: bool, tools_are_seen: bool, limits: Limits | None = None
) -> Trajectory:
    """The trajectory of turns that were captured, as `read_turns` reads them.

    Raises:
        InputError: messages or documents of a turn are of no format known.
    """
    from ._reading import read_as_begun  # the readers are not loaded by a program that only marks its tools

    return read_as_begun(turns, is_conversation, tools_are_seen, limits)


def note_span(span: Any) -> None:
    """Give a span that has just begun to the capture it belongs to.

    That is the one of the context it began in, unless its parent says otherwise: a thread that serves many cases has
    the context of the one that started it, or none.
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
    """Tell the captures that a span belongs to that it has ended."""
    owner = _owners.get(_key_of(span.context))
    while owner is not None:
        owner.tell(span)
        owner = owner._outer


def _key_of(context: Any) -> SpanKey:
    return (context.trace_id, context.span_id)


def _restore(token: Any) -> None:
    try:
        current.reset(token)
    except ValueError:
        # Left in another context than it was entered in, as fixtures of asynchronous tests are. In the first one
        # the capture stays where it is; closed, it takes nothing.
        current.set(None)


def _as_it_stands(span: Any) -> Any:
    """A copy of an unfinished span that does not change any more."""
    from ._telemetry import copy_of

    return copy_of(span)


class _Twin:
    """A span whose ids another one of the run has, because somebody seeded the generator of ids: it gets its own."""

    def __init__(self, span: Any) -> None:
        from ._telemetry import other_ids

        self._span = span
        self.context = other_ids(span.context)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._span, name)
