"""The history of a case: its verdicts in runs of the same eval set, and where it began to fail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

from rightcall.errors import StoreError
from rightcall.reporting.pages import HistoryEntry, Links, case_key, moment
from rightcall.reporting.store import RunFolder
from rightcall.values.results import Verdict

from ._library import Library

_SEARCHED = 200
_MOST_VERDICTS = 200_000
"""The number of runs, and of verdicts in them, that are searched: as much as a library keeps in memory."""
_BEFORE, _AFTER = 20, 8


def history_of(
    library: Library, name: str, run: RunFolder, case_id: str, now: datetime, links: Links
) -> tuple[HistoryEntry, ...]:
    """Return the verdicts of a case in runs of the same eval set, the oldest first, and where it began to fail.

    These are this run, the runs right before and after it, and the run in which the case began to fail, within the
    limits of the search. A run without the case, or one that cannot be read, is left out. If no other run has the
    case, the history is empty.
    """
    names = library.names()
    place = names.index(name) if name in names else 0
    search = _Search(library, run.header.evalset, case_id)
    newer = list(search.among(reversed(names[max(0, place - _AFTER) : place])))
    older = list(search.among(names[place:]))
    if not older or len(older) + len(newer) < 2:
        return ()
    began = _beginning(older)
    shown = [*reversed(newer), *older[: _BEFORE + 1], *older[max(_BEFORE + 1, began) : began + 2]]
    return tuple([_history_entry(past, older, began, search.is_complete, now, links) for past in reversed(shown)])


class _Past(msgspec.Struct, frozen=True):
    """The verdict of the case in one run."""

    name: str
    run: RunFolder
    key: str
    verdict: Verdict


def _history_entry(
    past: _Past, older: list[_Past], began: int, is_complete: bool, now: datetime, links: Links
) -> HistoryEntry:
    is_beginning = older[0].verdict != "passed" and past is older[began]
    before = older[began + 1] if began + 1 < len(older) else None
    return HistoryEntry(
        run=past.run.short_id,
        href=links.case(past.name, past.key),
        when=moment(past.run.header.started, now),
        verdict=past.verdict,
        is_this=past is older[0],
        began=is_beginning and before is not None,
        is_first=is_beginning and before is None and is_complete,
        changed=links.compare(before.name, past.name) if is_beginning and before is not None else "",
    )


class _Search:
    """A search for a case in runs of an eval set, bounded by runs and verdicts."""

    def __init__(self, library: Library, evalset: str, case_id: str) -> None:
        self._library = library
        self._evalset = evalset
        self._case_id = case_id
        self._runs_left = _SEARCHED
        self._verdicts_left = _MOST_VERDICTS
        self.is_complete = True
        """Whether nothing was left out so far because there was too much of it."""

    def among(self, names: Iterable[str]) -> Iterator[_Past]:
        """Yield the runs that have it, in the order of their names."""
        for name in names:
            if self._runs_left <= 0 or self._verdicts_left <= 0:
                self.is_complete = False
                return
            self._runs_left -= 1
            past = self._past(name)
            if past is not None:
                yield past

    def _past(self, name: str) -> _Past | None:
        try:
            run = self._library.run(name)
            if run is None or run.header.evalset != self._evalset:
                return None
            verdicts = self._library.verdicts(name, run)
        except StoreError:
            return None  # the page of that run says what is wrong with it
        self._verdicts_left -= len(verdicts)
        verdict = verdicts.get(self._case_id)
        return _Past(name, run, case_key(self._case_id), verdict) if verdict is not None else None


def _beginning(older: list[_Past]) -> int:
    """Return how many runs ago the case stopped passing, counted from this run back; all of them if it never passed."""
    failing = 0
    while older[0].verdict != "passed" and failing + 1 < len(older) and older[failing + 1].verdict != "passed":
        failing += 1
    return failing
