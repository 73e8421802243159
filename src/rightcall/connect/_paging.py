"""What the servers have in common: pages that end, ids in order, times as texts, documents on one line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import TypeVar

import msgspec

from rightcall.errors import TraceServerError

_MOST_PAGES = 1_000_000
_MICROSECOND = 1000

Item = TypeVar("Item")


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
            raise TraceServerError("the server's pages do not end: it gives the same cursor twice")
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
