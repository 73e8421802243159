"""The paths of rows, counted by column: the calls of a row are a slice of bytes, and equal slices are one path."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from rightcall.errors import InputError
from rightcall.reporting.paths import PathCounts, ToolFacts
from rightcall.values.results import Verdict

from ._coded_batch import Calls
from ._rows import conforming, plain_rows, trajectory_of, with_readable_texts

FIELDS = ("name", "internal", "error", "suspected_error", "source", "output", "unrecorded", "start_ns", "end_ns")
"""The fields of calls that paths need, if arguments are not compared."""
_PASSED, _FAILED, _UNJUDGED = range(3)
_PLACE = {"passed": _PASSED, "failed": _FAILED}
_WIDTHS = {"B": 1 << 8, "H": 1 << 16, "I": 1 << 32}
"""Types of numbers, and how many different names each can distinguish."""
_TYPES = {"B": pa.uint8(), "H": pa.uint16(), "I": pa.uint32()}


class ColumnPaths:
    """Counts the paths of any number of batches into one `PathCounts`, which has them when it is `finish`ed.

    A name has the same number in all batches, so paths are compared as bytes, and become names once, at the end.
    """

    def __init__(self, counts: PathCounts) -> None:
        self.counts = counts
        self.unreadable = 0
        """Rows that could not be read. They count as runs whose calls were not recorded."""
        self._numbers: dict[str | None, int] = {}
        self._width = "B"
        self._routes: list[Counter[bytes]] = [Counter(), Counter(), Counter()]

    def add(self, batch: pa.RecordBatch, verdicts: Sequence[Verdict | None] | None = None) -> None:
        """Count the rows of a batch, with their verdicts if these are known. Raises `InputError`."""
        if self.counts.with_args:
            self._add_singly(batch, range(batch.num_rows), verdicts)
            return
        known = conforming(batch, FIELDS)
        try:
            calls = Calls(known, ())
        except UnicodeDecodeError:  # as in scoring: hardly any name is not UTF-8, and looking takes time
            known = with_readable_texts(known)
            calls = Calls(known, ())
        odd = calls.odd_rows(known, any_names=True)
        self._count(calls, odd, verdicts)
        self._look_at_calls(calls, odd)
        self._add_singly(batch, sorted(odd), verdicts)

    def finish(self) -> PathCounts:
        """Return the counts of everything that was added."""
        names = [name or "" for name in self._numbers]
        for route in dict.fromkeys([key for routes in self._routes for key in routes]):
            ends = [routes[route] for routes in self._routes]
            self.counts.add_route(tuple([names[number] for number in array(self._width, route)]), ends)
        self._routes = [Counter(), Counter(), Counter()]
        return self.counts

    def _count(self, calls: Calls, odd: set[int], verdicts: Sequence[Verdict | None] | None) -> None:
        for name in calls.vocabulary:
            self._numbers.setdefault(name, len(self._numbers))
        while len(self._numbers) > _WIDTHS[self._width]:
            self._widen()
        codes = calls.numbered(self._numbers, _TYPES[self._width])
        size = array(self._width).itemsize
        bounds = calls.bounds if size == 1 else [bound * size for bound in calls.bounds]
        # Slices are made and counted without a step of Python for each row (0.2 s for a million rows of ten calls).
        slices: Iterable[bytes] = map(codes.__getitem__, map(slice, bounds, bounds[1:]))
        rows = len(bounds) - 1
        if verdicts is None and not odd:
            self._routes[_UNJUDGED].update(slices)
            return
        kept = list(slices)
        places = [_UNJUDGED] * rows if verdicts is None else [_PLACE.get(each or "", _UNJUDGED) for each in verdicts]
        for row in odd:
            places[row] = -1
        for place, routes in enumerate(self._routes):
            routes.update(compress(kept, [each == place for each in places]))

    def _widen(self) -> None:
        wider = "H" if self._width == "B" else "I"
        for place, routes in enumerate(self._routes):
            widened = {array(wider, array(self._width, key)).tobytes(): runs for key, runs in routes.items()}
            self._routes[place] = Counter(widened)
        self._width = wider

    def _look_at_calls(self, calls: Calls, odd: set[int]) -> None:
        failed = _mask(calls, _failed(calls))
        for tool, facts in _facts(calls, failed, odd):
            self.counts.add_facts(tool, facts)
        starts, ends = calls.field("start_ns"), calls.field("end_ns")
        if starts is None or ends is None or starts.null_count == len(starts):
            return
        times = pc.subtract(ends, starts)
        kept = pc.and_kleene(pc.greater_equal(times, 0), calls.outside(odd)).fill_null(False)
        for place, name in enumerate(calls.vocabulary):
            chosen = times.filter(pc.and_(kept, pc.equal(calls.indices, place)))
            if len(chosen):
                self.counts.times.add_all(name or "", chosen.to_pylist())

    def _add_singly(
        self, batch: pa.RecordBatch, rows: Sequence[int], verdicts: Sequence[Verdict | None] | None
    ) -> None:
        """Count rows one by one that have more than calls in order, or less."""
        if not rows:
            return
        chosen = batch.take(pa.array(rows, pa.int64()))
        for number, row in zip(rows, plain_rows(chosen), strict=True):
            verdict = None if verdicts is None else verdicts[number]
            try:
                self.counts.add(trajectory_of(row, leniently=True), verdict)
            except InputError:
                self.unreadable += 1
                ends = [0, 0, 0]
                ends[_PLACE.get(verdict or "", _UNJUDGED)] = 1
                self.counts.add_route(None, ends)


def _failed(calls: Calls) -> Any:
    """Return a mask of the calls that failed, or seem to have; `None` if no column shows it."""
    errors, suspected = calls.field("error"), calls.field("suspected_error")
    found = None if errors is None or errors.null_count == len(errors) else pc.is_valid(errors)
    if suspected is not None and suspected.true_count:
        marked = suspected.fill_null(False)
        found = marked if found is None else pc.or_(found, marked)
    return found


def _mask(calls: Calls, found: Any) -> list[int]:
    places: list[int] = [] if found is None else pc.indices_nonzero(found).to_pylist()
    return places


def _facts(calls: Calls, failed: list[int], odd: set[int]) -> Iterator[tuple[str, ToolFacts]]:
    """Return facts about the calls of each tool; only calls that failed, or whose outcome is unknown, are visited."""
    errors, begins = calls.field("error"), calls.bounds
    names = calls.vocabulary
    found: dict[str, ToolFacts] = {}
    seen: set[tuple[int, str, str]] = set()
    has_error = errors.is_valid().to_pylist() if errors is not None and failed else []
    for place in failed:
        row = bisect_right(begins, place) - 1
        if row in odd:
            continue
        name = names[calls.places[place]] or ""
        facts = found.setdefault(name, ToolFacts())
        facts.errors += 1
        facts.suspected += not (has_error and has_error[place])
        facts.error_runs += (row, name, "error") not in seen
        seen.add((row, name, "error"))
        follows = place + 1 < begins[row + 1] and calls.places[place + 1] == calls.places[place]
        if follows and (row, name, "again") not in seen:
            facts.retry_runs += 1
            seen.add((row, name, "again"))
    known = set(failed)
    for place in _mask(calls, _unknown(calls)):
        if place not in known and bisect_right(begins, place) - 1 not in odd:
            found.setdefault(names[calls.places[place]] or "", ToolFacts()).unknown += 1
    return iter(found.items())


def _unknown(calls: Calls) -> Any:
    """Return a mask of the calls whose outcome the trace does not show: see `is_unknown`."""
    source, output, unrecorded = [calls.field(name) for name in ("source", "output", "unrecorded")]
    found = None
    if source is not None and source.null_count < len(source):
        found = pc.is_valid(source) if output is None else pc.and_(pc.is_valid(source), pc.is_null(output))
    if unrecorded is not None and len(unrecorded.flatten()):
        lost = pa.array(["error" in (each or ()) for each in unrecorded.to_pylist()], pa.bool_())
        found = lost if found is None else pc.or_(found, lost)
    return found
