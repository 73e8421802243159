"""How a case fared in the runs before and after: where it began to fail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

import msgspec

from rightcall.errors import StoreError
from rightcall.reporting.pages import HistoryEntry, Links, case_key, when
from rightcall.reporting.store import Run
from rightcall.values.results import Verdict

from ._library import Library

_SEARCHED = 200
_VERDICTS = 200_000
"""How many runs, and how many verdicts in them, are looked at: what a library keeps in memory."""
_BEFORE, _AFTER = 20, 8


class _Past(msgspec.Struct, frozen=True):
    """How the case fared in one run."""

    name: str
    run: Run
    key: str
    verdict: Verdict


def history_of(
    library: Library, name: str, run: Run, case_id: str, now: datetime, links: Links
) -> tuple[HistoryEntry, ...]:
    """The verdicts of a case in runs of the same eval set, the oldest first, with the run in which it began to fail.

    Shown are this run, those right before and after it, and the one in which it began, however long ago, as far as
    the search goes. A run that does not have the case, or cannot be read, is left out. Where no other run has it,
    there is no history.
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
    return tuple([_entry(past, older, began, search.is_complete, now, links) for past in reversed(shown)])


def _entry(past: _Past, older: list[_Past], began: int, is_complete: bool, now: datetime, links: Links) -> HistoryEntry:
    is_beginning = older[0].verdict != "passed" and past is older[began]
    before = older[began + 1] if began + 1 < len(older) else None
    return HistoryEntry(
        run=past.run.short_id,
        href=links.case(past.name, past.key),
        when=when(past.run.header.started, now),
        verdict=past.verdict,
        is_this=past is older[0],
        began=is_beginning and before is not None,
        is_first=is_beginning and before is None and is_complete,
        changed=links.compare(before.name, past.name) if is_beginning and before is not None else "",
    )


class _Search:
    """Looks for a case in runs of an eval set, until it has looked at as much as it may."""

    def __init__(self, library: Library, evalset: str, case_id: str) -> None:
        self._library = library
        self._evalset = evalset
        self._case_id = case_id
        self._runs_left = _SEARCHED
        self._verdicts_left = _VERDICTS
        self.is_complete = True
        """Whether nothing was left out so far because there was too much of it."""

    def among(self, names: Iterable[str]) -> Iterator[_Past]:
        """The runs that have it, in the order of their names."""
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
    """How many runs ago the case stopped passing, given the runs from this one back; all where it never passed."""
    failing = 0
    while older[0].verdict != "passed" and failing + 1 < len(older) and older[failing + 1].verdict != "passed":
        failing += 1
    return failing
