"""What the servers have in common: pages that end, ids in order, times as texts, documents on one line.

Some searches return a limited number of traces and have no pages, as those of Tempo and Jaeger. One that returns as
many traces as it may has left some out. Its window is then cut in two, and both halves are searched, until each
returns less.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import TypeVar

import msgspec

from rightcall.errors import InputError, TraceServerError

from ._address import Query
from ._marks import Mark
from ._web import TooLargeError, Web

_MOST_PAGES = 1_000_000
_MICROSECOND = 1000
Item = TypeVar("Item")
MOST = 500
"""Traces that a search is asked for."""
SECOND = 10**9
DAY = 86_400 * SECOND
LOOKS_BACK = 7 * DAY
"""How far back a search looks by default, and the longest window of one search. Both keep weeks of traces,
and fail at windows of years: Tempo has `query_frontend.search.max_duration`, which is 168 hours by default, and
Jaeger asks Elasticsearch for an index a day, whose names do not fit into one request."""
Search = Callable[[int, int], dict[str, int]]
"""Returns the start of each trace that a window has, by id; `MOST` of them at the most."""


def bounded_pages(page: Callable[[str | None], tuple[Sequence[Item], str | None]]) -> Iterator[Item]:
    """Yield the items of all pages. A cursor that comes again ends it with an error instead of a loop.

    Args:
        page: Returns the items at a cursor (`None` for the first page), and the cursor of the next page.

    Raises:
        TraceServerError: the pages do not end.
    """
    cursor: str | None = None
    seen: set[str] = set()
    for _ in range(_MOST_PAGES):
        items, cursor = page(cursor)
        yield from items
        if not cursor:
            return
        if cursor in seen:
            raise TraceServerError("the server's pages do not end: it returned the same cursor twice")
        seen.add(cursor)
    raise TraceServerError(f"the server has more than {_MOST_PAGES:,} pages; ask for less with since, until or limit")


def chronological(newest_first: Iterable[str], limit: int | None) -> list[str]:
    """Return ids, the oldest first and each once; of more than the limit, the newest."""
    unique: dict[str, None] = {}
    for each in newest_first:
        unique[each] = None
        if limit is not None and len(unique) == limit:
            break
    return list(unique)[::-1]


def batches(items: Sequence[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items, a page at a time."""
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch


def iso_time(nanoseconds: int | None) -> str | None:
    """Return a time as ISO 8601, in UTC and with microseconds."""
    if nanoseconds is None:
        return None
    seconds, rest = divmod(nanoseconds, 10**9)
    moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // _MICROSECOND)
    return moment.isoformat().replace("+00:00", "Z")


class _Kept(msgspec.Struct):
    spans: msgspec.Raw = msgspec.Raw(b"")
    observations: msgspec.Raw = msgspec.Raw(b"")
    traces: list[_Kept] = []


def recorded_part(document: bytes) -> bytes:
    """Return what was recorded of a trace: some servers give the verdicts that were put on it in the same document.

    MLflow has assessments beside `traces[].spans`, version 3 of Langfuse scores beside `observations`.
    """
    try:
        whole = msgspec.json.decode(document, type=_Kept)
    except msgspec.ValidationError:
        return document
    parts = [bytes(part) for each in (whole, *whole.traces) for part in (each.spans, each.observations)]
    return b"\n".join(parts) if any(parts) else document


def one_line(document: msgspec.Raw | bytes) -> bytes:
    """Return JSON without line breaks."""
    text = bytes(document)
    return msgspec.json.format(text, indent=-1) if b"\n" in text or b"\r" in text else text


class SpanServer:
    """A server that stores spans only, and no verdicts."""

    def __init__(self, web: Web) -> None:
        self._web = web

    def document(self, trace_id: str) -> bytes | None:
        """Return a trace, whole; none if the server does not have it. Raises `TraceServerError`."""
        raise NotImplementedError

    def documents(self, trace_ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield each trace, whole, with its id. Raises `TraceServerError`."""
        for trace_id in trace_ids:
            document = self.document(trace_id)
            if document is not None:
                yield trace_id, document

    def push(self, marks: Sequence[Mark]) -> None:
        """Refuse verdicts. Raises `InputError`."""
        name = type(self).__name__
        raise InputError(
            f"{name} cannot store verdicts; send them to a server for logs: --push-to otlp+http://localhost:4318"
        )


class TooLongError(TraceServerError):
    """The window of a search is longer than the server allows."""


def searched(search: Search, query: Query, *, now: Callable[[], int] = time.time_ns) -> list[str]:
    """Return the ids of all traces in the window of a query, the oldest first.

    Args:
        search: Searches one window.
        query: The window, and how many of the newest are wanted.
        now: What says which time it is, in nanoseconds.

    Raises:
        TraceServerError: one second has more traces than a search returns.
    """
    end = query.until_ns if query.until_ns is not None else now() + SECOND
    begin = query.since_ns if query.since_ns is not None else end - LOOKS_BACK
    windows = [(start, min(start + LOOKS_BACK, end)) for start in range(begin, end, LOOKS_BACK)]
    found: dict[str, int] = {}
    while windows and (query.limit is None or len(found) < query.limit):
        since, until = windows.pop()  # the latest comes first
        part = _part(search, since, until)
        if part is None:
            middle = (since + until) // 2
            windows += [(since, middle), (middle, until)]
        else:
            found |= part
    oldest_first = sorted(found, key=lambda trace_id: (found[trace_id], trace_id))
    return oldest_first[-query.limit :] if query.limit is not None else oldest_first


def _part(search: Search, since: int, until: int) -> dict[str, int] | None:
    """Return what a window has, or `None` if it has to be cut in two."""
    is_small = until - since <= SECOND
    try:
        part = search(since, until)
    except (TooLargeError, TooLongError):
        if is_small:
            raise
        return None
    if len(part) < MOST:
        return part
    if is_small:
        raise TraceServerError(f"more than {MOST} traces began in one second, and no search returns more; give filter=")
    return None
