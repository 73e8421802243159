"""How a case fared in the runs before and after: where it began to fail."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from rightcall.errors import StoreError
from rightcall.pages import HistoryEntry, Links, case_key, when
from rightcall.results import Verdict
from rightcall.store import Run

from ._library import Library

_MOST_RUNS = 30
_SEARCHED = 300


def history_of(
    library: Library, name: str, run: Run, case_id: str, now: datetime, links: Links
) -> tuple[HistoryEntry, ...]:
    """The verdicts of a case in runs of the same eval set, the oldest first, with the run in which it began to fail.

    Looked at are this run and those before and after it, within bounds. A run that does not have the case, or cannot
    be read, is left out. Where no other run has it, there is no history.
    """
    names = library.names()
    place = names.index(name) if name in names else 0
    near = names[max(0, place - _SEARCHED // 2) : place + _SEARCHED // 2]
    found: list[tuple[str, Run, Verdict]] = []
    for other, candidate in library.readable(near):
        if candidate.header.evalset == run.header.evalset:
            verdict = _verdicts(library, other, candidate).get(case_id)
            if verdict is not None:
                found.append((other, candidate, verdict))
    return _entries(_around(found, name), name, case_key(case_id), now, links) if len(found) > 1 else ()


def _verdicts(library: Library, name: str, run: Run) -> Mapping[str, Verdict]:
    try:
        return library.verdicts(name, run)
    except StoreError:
        return {}  # the page of that run says what is wrong with it


def _around(found: list[tuple[str, Run, Verdict]], name: str) -> list[tuple[str, Run, Verdict]]:
    """At most so many, the oldest first, among them the one that is asked about."""
    found.reverse()
    place = next((number for number, (other, _, _) in enumerate(found) if other == name), len(found) - 1)
    end = min(len(found), max(place + 1 + _MOST_RUNS // 3, _MOST_RUNS))
    return found[max(0, end - _MOST_RUNS) : end]


def _entries(
    found: list[tuple[str, Run, Verdict]], name: str, key: str, now: datetime, links: Links
) -> tuple[HistoryEntry, ...]:
    began = _beginning([verdict for _, _, verdict in found], [other for other, _, _ in found], name)
    return tuple(
        [
            HistoryEntry(
                run=run.short_id,
                href=links.case(other, key),
                when=when(run.header.started, now),
                verdict=verdict,
                is_this=other == name,
                began=place == began,
                changed=links.compare(found[place - 1][0], other) if place == began else "",
            )
            for place, (other, run, verdict) in enumerate(found)
        ]
    )


def _beginning(verdicts: list[Verdict], names: list[str], name: str) -> int | None:
    """Where the row of runs begins in which the case has not passed up to this one; none where it passes, or before
    which nobody knows.
    """
    if name not in names or verdicts[names.index(name)] == "passed":
        return None
    place = names.index(name)
    while place > 0 and verdicts[place - 1] != "passed":
        place -= 1
    return place if place > 0 else None
