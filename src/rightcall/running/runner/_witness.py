"""The spans of jobs while they run, in memory that outlives their worker: all that is known of one that is killed.

The parent makes the memory, maps nothing, and reads a page of it only if its job is killed or dies. So a worker tells
of each span when it begins and when it ends, and neither side spends a system call on it.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar

import msgspec

from rightcall.errors import InputError
from rightcall.reading import raw_span, raw_spans
from rightcall.running.agents import AgentAnswer
from rightcall.values.decoding import load_json
from rightcall.values.trajectory import RawSpan, span_text

if TYPE_CHECKING:
    from mmap import mmap

PAGE_BYTES = 4 << 20
"""Bytes of spans that are told of one run of a case while it runs; the rest is in its result only."""
_MOST_LINES = PAGE_BYTES // 64
"""Lines of a page that are read. One with a span is longer than 64 bytes; an agent may write millions of others."""
_END = b"\0"
"""What follows the last line of a page. JSON has no such character."""

Item = TypeVar("Item")


class Seen(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One line of a page: a span of a job that has just begun or ended. The later of two with the same id counts."""

    number: int
    turn: Annotated[int, msgspec.Meta(ge=0)]
    span: Any
    """`None` for one that cannot be written."""


class Outbox(Generic[Item]):
    """Hands over items one after the other, from any thread, and never waits for another one.

    Who finds an item being handed over leaves its own to that thread. It may be this very thread, in the middle of
    an item, when garbage collection ends a span.
    """

    def __init__(self, hand_over: Callable[[Item], None]) -> None:
        self._hand_over = hand_over
        self._lock = threading.Lock()
        self._left: deque[Item] = deque()

    def put(self, item: Item) -> None:
        """Hand over an item, now or after those before it."""
        self._left.append(item)
        while self._left and self._lock.acquire(blocking=False):
            try:
                while self._left:
                    self._hand_over(self._left.popleft())
            finally:
                self._lock.release()


def map_pages(descriptor: int) -> mmap:
    """Map the pages that the parent made into this process, and close their descriptor: the agent cannot replace it."""
    from mmap import mmap  # only a worker maps them

    pages = mmap(descriptor, 0)
    os.close(descriptor)
    return pages


class Page:
    """The page of one job, as its worker writes it."""

    def __init__(self, pages: mmap, size: int, index: int, number: int) -> None:
        self._pages = pages
        self._head = f"[{number},".encode()
        self._place = index * size
        self._until = self._place + size
        self._process = os.getpid()
        self._outbox = Outbox(self._write)

    def add(self, turn: int, span: RawSpan) -> None:
        """Add a span, unless the page is full. A fork of this process adds nothing: it is not the worker."""
        if os.getpid() == self._process:
            self._outbox.put(b"%b%d,%b]\n" % (self._head, turn, span_text(span) or b"null"))

    def _write(self, line: bytes) -> None:
        end = self._place + len(line)
        if end >= self._until:
            return
        # The first byte comes last: until then, the page ends where it ended, even if the process dies in between.
        self._pages[self._place + 1 : end + 1] = line[1:] + _END
        self._pages[self._place] = line[0]
        self._place = end


def read_page(descriptor: int, size: int, index: int, number: int) -> list[Seen]:
    """Return what a worker has told of a job. Lines of an earlier job, and what is not a line at all, tell nothing."""
    text = os.pread(descriptor, size, index * size).partition(_END)[0]
    found = []
    for line in text.split(b"\n", _MOST_LINES)[:_MOST_LINES]:
        # The agent may write anything into the memory of its worker.
        with suppress(InputError, msgspec.ValidationError):
            seen = msgspec.convert(load_json(line), Seen)
            if seen.number == number:
                found.append(seen)
    return found


class Witness:
    """Tells of the spans of one run of a case as they begin and end.

    A process that dies or is killed sends no result, so this is all that is known of such a case. A span that cannot be
    read is not told of, and never costs a result.
    """

    def __init__(self, page: Page) -> None:
        self._page = page
        self._turn = 0
        self._documents: list[bytes] = []
        self._ended: dict[int, tuple[Any, RawSpan]] = {}

    def begin(self, turn: int) -> None:
        """Note that a turn begins."""
        self._turn = turn
        self._documents = []
        self._ended = {}

    def answer(self) -> AgentAnswer:
        """Return what an external agent has sent in this turn, if it gave no answer that contains it."""
        return AgentAnswer(documents=tuple(self._documents))

    def see(self, span: Any) -> None:
        """Tell of a span that has begun or ended in this process."""
        try:
            seen = raw_span(span)
            if seen.end_ns is not None:
                self._ended[id(span)] = span, seen
            self._page.add(self._turn, seen)
        except Exception:  # noqa: BLE001 - an agent may have put anything into its spans
            return

    def ended(self, span: Any) -> RawSpan | None:
        """Return a span as it was when it ended in this turn: what has ended does not change."""
        held, seen = self._ended.get(id(span), (None, None))
        return seen if held is span else None

    def see_document(self, document: bytes) -> None:
        """Tell of the spans that an external agent sent."""
        self._documents.append(document)
        try:
            for span in raw_spans(document):
                self._page.add(self._turn, span)
        except Exception:  # noqa: BLE001 - an agent may send anything; the trajectory will report it
            return
