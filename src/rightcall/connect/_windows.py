"""Searches that return a limited number of traces and have no pages, as those of Tempo and Jaeger.

A search that returns as many traces as it may has left some out. Its window is then cut in two, and both halves are
searched, until each returns less.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from rightcall.errors import TraceServerError

from ._address import Query
from ._web import TooLargeError

MOST = 500
"""Traces that a search is asked for."""
SECOND = 10**9
DAY = 86_400 * SECOND
LOOKS_BACK = 7 * DAY
"""How far back a search looks that is not told, and the longest window of one search. Both keep weeks of traces,
and fail at windows of years: Tempo has `query_frontend.search.max_duration`, which is 168 hours by default, and
Jaeger asks Elasticsearch for an index a day, whose names do not fit into one request."""

Search = Callable[[int, int], dict[str, int]]
"""Returns the start of each trace that a window has, by id; `MOST` of them at the most."""


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
        raise TraceServerError(f"a second has more than {MOST} traces, which no search returns; give filter=")
    return None
