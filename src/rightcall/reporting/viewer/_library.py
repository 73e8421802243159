"""The runs on show: found by name, read as far as needed, and cached, with an index of each journal."""

from __future__ import annotations

import os
import stat
from array import array
from collections import OrderedDict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from sys import intern
from typing import Any, Generic, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from rightcall.errors import StoreError
from rightcall.reporting.changes import Steadiness
from rightcall.reporting.pages import (
    CaseRow,
    Changes,
    Group,
    ListedCase,
    RowCounter,
    RunCounts,
    ToolTotal,
    case_key,
    key_of,
    row_of,
    steadiness_of,
)
from rightcall.reporting.reports import Problem
from rightcall.reporting.store import (
    JournalLine,
    RunFigures,
    RunFolder,
    SpanIndex,
    list_runs,
    open_run,
    read_figures,
    run_folder,
)
from rightcall.values.redaction import redacted, redacted_address, redacted_text, redacted_value
from rightcall.values.results import (
    GRAVITY,
    Aggregates,
    CaseResult,
    EvaluatorTotals,
    Quarantine,
    Tally,
    Totals,
    Verdict,
    measures_of,
)
from rightcall.values.trajectory import ToolCall

_ROWS = 60_000
_HEADERS = 500
_VERDICTS = 250_000
_CHANGES = 50_000
_PATHS = 50_000
_FILES = ("run.json", "cases.jsonl", "spans.jsonl")
ALONE = "run"
"""The name of a single run, whose folder may have any name."""
_UNKNOWN = -1
# Fits the signed 64-bit column; times in a trace may be any integers.
_LONGEST = 2**62


class Weighted(Protocol):
    """A value that knows its weight: how much memory it takes."""

    @property
    def weight(self) -> int:
        """The current weight; it may grow."""


Counted = TypeVar("Counted", bound=Weighted)


class _Header(msgspec.Struct, frozen=True):
    run: RunFolder
    stamp: tuple[int, ...]
    weight: int = 1


class _Verdicts(msgspec.Struct, frozen=True):
    verdicts: Mapping[str, Verdict]
    rate: float | None
    stamp: tuple[int, ...]

    @property
    def weight(self) -> int:
        return 1 + len(self.verdicts)


class _Changes(msgspec.Struct, frozen=True):
    changes: Changes
    stamps: tuple[tuple[int, ...], ...]

    @property
    def weight(self) -> int:
        return self.changes.weight


class _Paths(msgspec.Struct, frozen=True):
    counted: Weighted
    stamp: tuple[int, ...]

    @property
    def weight(self) -> int:
        return self.counted.weight


class _Figures(msgspec.Struct, frozen=True):
    figures: RunFigures
    stamp: tuple[int, ...]

    @property
    def weight(self) -> int:
        return self.figures.weight


class Library:
    """A folder of runs, or the folder of a single run.

    A run has the name of its folder. Other folders, and symbolic links, are not shown. Caches are bounded, so memory
    does not grow with the number of runs. Secrets are redacted, unless `redacts` is false.
    """

    def __init__(self, folder: Path, *, redacts: bool = True, rows: int = _ROWS, headers: int = _HEADERS) -> None:
        self.folder = folder
        self.redacts = redacts
        self.is_alone = (folder / _FILES[0]).is_file()
        self._headers: WeightedCache[_Header] = WeightedCache(headers)
        self._indices: WeightedCache[Index] = WeightedCache(rows)
        self._verdicts: WeightedCache[_Verdicts] = WeightedCache(_VERDICTS)
        self._changes: WeightedCache[_Changes] = WeightedCache(_CHANGES)
        self._paths: WeightedCache[_Paths] = WeightedCache(_PATHS)
        self._figures: WeightedCache[_Figures] = WeightedCache(_VERDICTS)

    @property
    def kept(self) -> dict[str, int]:
        """The number of entries in each cache."""
        return {
            "headers": len(self._headers),
            "indices": len(self._indices),
            "verdicts": len(self._verdicts),
            "changes": len(self._changes),
            "paths": len(self._paths),
            "figures": len(self._figures),
        }

    def names(self) -> list[str]:
        """Return the names of all runs, the newest first. Raises `StoreError`."""
        if self.is_alone:
            return [ALONE]
        return [folder.name for folder in reversed(list_runs(self.folder)) if _is_plain(folder)]

    def run(self, name: str) -> RunFolder | None:
        """Return a run with its current header; `None` if there is no run of this name. Raises `StoreError`."""
        folder = self._folder(name)
        if folder is None:
            return None
        stamp = _stamp(folder / _FILES[0])
        kept = self._headers.get(name)
        if kept is None or kept.stamp != stamp:
            opened = open_run(str(folder))
            kept = _Header(_redacted_run(opened) if self.redacts else opened, stamp)
            self._headers.put(name, kept)
        return kept.run

    def index(self, name: str, run: RunFolder) -> Index:
        """Return the index of a run, up to date with its journal. Raises `StoreError`."""
        index = self._indices.get(name)
        stamp = _stamp(run.folder / _FILES[1])
        if index is None or not index.goes_on_with(run, stamp):
            index = Index(run, redacts=self.redacts)
        try:
            index.extend(run, stamp)
        except StoreError:
            self._indices.drop(name)  # nothing counts that was read from a journal changed by another program
            raise
        self._indices.put(name, index)
        return index

    def verdicts(self, name: str, run: RunFolder) -> Mapping[str, Verdict]:
        """Return the verdict of each case of a run so far. Raises `StoreError`."""
        return self._counted(name, run).verdicts

    def rate(self, name: str, run: RunFolder) -> float | None:
        """Return the pass rate of a run so far; for a finished run, that in its header. Raises `StoreError`."""
        header = run.header
        if header.sample is not None and header.totals is not None:
            return header.totals.rate
        is_known = header.finished is not None and header.rate is not None
        return header.rate if is_known else self._counted(name, run).rate

    def _counted(self, name: str, run: RunFolder) -> _Verdicts:
        is_growing = run.header.finished is None and run.is_being_written
        stamp = (*_stamps(run.folder), is_growing)
        kept = self._verdicts.get(name)
        if kept is None or kept.stamp != stamp:
            tally = run.tally()
            kept = _Verdicts(tally.verdicts(), tally.rate(), stamp)
            self._verdicts.put(name, kept)
        return kept

    def figures(self, name: str, run: RunFolder) -> RunFigures:
        """Return the figures of a finished run, without its cases in quarantine. Raises `StoreError`."""
        stamp = _stamps(run.folder)
        kept = self._figures.get(name)
        if kept is None or kept.stamp != stamp:
            kept = _Figures(read_figures(run.folder, run.quarantined), stamp)
            self._figures.put(name, kept)
        return kept.figures

    def changes(self, key: Sequence[str], make: Callable[[], Changes]) -> Changes:
        """Return the changes between two runs, from the cache if both journals are unchanged.

        `key` has the names of both runs, and the ignored arguments.
        """
        before, after, *_ = key
        place = "\0".join(key)
        folders = [self._folder(name) for name in (before, after)]
        stamps = tuple([_stamps(folder) for folder in folders if folder is not None])
        kept = self._changes.get(place)
        if kept is None or kept.stamps != stamps:
            kept = _Changes(make(), stamps)
            self._changes.put(place, kept)
        return kept.changes

    def paths(self, key: str, run: RunFolder, make: Callable[[], Counted]) -> Counted:
        """Return path counts of a run, from the cache if its journal is unchanged."""
        stamp = _stamps(run.folder)
        kept = self._paths.get(key)
        if kept is None or kept.stamp != stamp:
            kept = _Paths(make(), stamp)
            self._paths.put(key, kept)
        return kept.counted  # type: ignore[return-value] # `make` returns the same type for the same key

    def readable(self, names: list[str]) -> Iterator[tuple[str, RunFolder]]:
        """Yield the runs whose headers can be read."""
        for name in names:
            try:
                run = self.run(name)
            except StoreError:
                continue  # its own page shows what is wrong with it
            if run is not None:
                yield name, run

    def _folder(self, name: str) -> Path | None:
        # Names come from addresses. `run_folder` accepts only names of runs, so no name leads out of the folder.
        if self.is_alone:
            return self.folder if name == ALONE and _has_plain_files(self.folder) else None
        folder = run_folder(self.folder, name)
        return folder if folder is not None and _is_plain(folder) else None


def _is_plain(folder: Path) -> bool:
    return not folder.is_symlink() and _has_plain_files(folder)


def _has_plain_files(folder: Path) -> bool:
    """Return whether the files of a run are regular: a link could lead anywhere, and a pipe would never end."""
    return all(_kind(folder / file) in (None, stat.S_IFREG) for file in _FILES)


def _kind(path: Path) -> int | None:
    try:
        return stat.S_IFMT(os.lstat(path).st_mode)
    except OSError:
        return None


def _stamps(folder: Path) -> tuple[int, ...]:
    """Return a value that changes with the results of a run: the header determines which journal lines count."""
    return _stamp(folder / _FILES[0]) + _stamp(folder / _FILES[1])


def _stamp(path: Path) -> tuple[int, ...]:
    """Return a value that changes with a file: its inode, size and modification time."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_size, found.st_mtime_ns


def _redacted_run(run: RunFolder) -> RunFolder:
    """Return a run without secrets in its header: an agent may be a URL with a password."""
    header = run.header
    cleaned = {name: redacted_text(getattr(header, name) or "") for name in ("evalset", "branch")}
    agent, options = redacted_address(header.agent), redacted_value(header.options)
    return replace(run, header=replace(header, **cleaned, agent=agent, options=options))


Kept = TypeVar("Kept", bound=Weighted)


class WeightedCache(Generic[Kept]):
    """An LRU cache bounded by total weight. The newest entry is never evicted."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[str, Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: str) -> Kept | None:
        """Return the value under a key, and make it the newest."""
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, key: str, value: Kept) -> None:
        """Store a value, and evict the oldest ones until the rest fits. Put a value again after it has grown."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        # Add up weights each time because they grow: the index of a running run is extended in place.
        while len(self._entries) > 1 and sum(each.weight for each in self._entries.values()) > self._capacity:
            self._entries.popitem(last=False)

    def drop(self, key: str) -> None:
        """Remove the value under a key, if there is one."""
        self._entries.pop(key, None)


class CallPlace(msgspec.Struct, frozen=True):
    """One call: its journal line, its position in the result, its duration, and whether it failed."""

    line: int
    position: int
    nanoseconds: int | None
    is_error: bool


class Columns:
    """The calls of many results, as columns. A call takes 21 bytes, whatever is in it."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._tools = array("I")
        self._lines = array("I")
        self._positions = array("I")
        self._times = array("q")
        self._errors = array("b")

    def __len__(self) -> int:
        return len(self._tools)

    def add(self, line: int, calls: Sequence[ToolCall], names: Sequence[str]) -> None:
        """Add the calls of the result on a line, under these names."""
        for position, (call, name) in enumerate(zip(calls, names, strict=True)):
            self._tools.append(self._numbers.setdefault(name, len(self._numbers)))
            self._lines.append(line)
            self._positions.append(position)
            self._times.append(_duration(call))
            self._errors.append(call.error is not None or call.suspected_error)

    def tools(self) -> list[str]:
        """Return the names of the tools that were called."""
        return list(self._numbers)

    def counts(self, lines: Container[int]) -> dict[str, tuple[int, int]]:
        """Return the number of calls of each tool on these lines, and of calls that failed."""
        calls, errors = [0] * len(self._numbers), [0] * len(self._numbers)
        for tool, line, is_error in zip(self._tools, self._lines, self._errors, strict=True):
            if line in lines:
                calls[tool] += 1
                errors[tool] += is_error
        return {name: (calls[tool], errors[tool]) for name, tool in self._numbers.items() if calls[tool]}

    def of_tool(self, name: str) -> Iterator[CallPlace]:
        """Yield the calls of one tool, in the order of the lines."""
        wanted = self._numbers.get(name)
        for place, tool in enumerate(self._tools):
            if tool == wanted:
                taken = self._times[place]
                yield CallPlace(
                    self._lines[place],
                    self._positions[place],
                    None if taken == _UNKNOWN else taken,
                    bool(self._errors[place]),
                )


def _duration(call: ToolCall) -> int:
    """Return the duration of a call, or -1 if unknown. A trace may have any integer, and clocks may run backwards."""
    if call.start_ns is None or call.end_ns is None or call.end_ns < call.start_ns:
        return _UNKNOWN
    return min(call.end_ns - call.start_ns, _LONGEST)


class Entry(msgspec.Struct, frozen=True):
    """A row, and the position of its result in the journal."""

    row: CaseRow
    begin: int
    number: int
    written: tuple[str, int, int]
    """The location of the case: its file, line and column."""
    mark: int
    """The hash of its line."""
    measures: tuple[int, ...]
    """The results of its evaluators, as numbers in the index's list of distinct ones."""


class Index:
    """The rows of a run, read once, and extended as its journal grows.

    If a case was run again, the last line counts. An incomplete last line is read later. Rows are sorted by verdict,
    the worst first, then by position in the eval set, then by repeat.
    """

    def __init__(self, run: RunFolder, *, redacts: bool = True) -> None:
        self.run = run
        self._stamp: tuple[int, ...] = ()
        self._was_over = False
        self._redacts = redacts
        self.columns = Columns()
        self._entries: dict[str, Entry] = {}
        self._lines: dict[int, str] = {}
        self._reading = run.reading()
        self._seen: dict[tuple[str, Verdict, float | None], int] = {}
        self._sorted: list[Entry] | None = None
        self._grouping = RowCounter()
        self._spans = SpanIndex(run.folder)
        self._named: dict[str, str | None] = {}
        self._tools: tuple[ToolTotal, ...] | None = None
        self._cases: list[ListedCase] | None = None
        self._steadiness: Steadiness | None = None
        self._latest: tuple[int, CaseResult] | None = None
        """The last result and the mark of its line, cached because a case with 10,000 calls is viewed page by page."""

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def weight(self) -> int:
        """Its memory, in rows. Fifty calls in columns take as much as a row, and so does one in the cached result."""
        kept = self._latest[1].trajectory if self._latest is not None else None
        return len(self._entries) + len(self.columns) // 50 + (len(kept.calls) if kept is not None else 0)

    def let_go(self) -> None:
        """Drop the cached result, so that the rows of many runs fit into memory."""
        self._latest = None

    def extend(self, run: RunFolder, stamp: tuple[int, ...] = ()) -> None:
        """Read new lines of the journal; `stamp` identifies the file by its inode, size and time.

        Raises:
            StoreError: the journal cannot be read, or another program has changed it.
        """
        self.run, self._stamp, self._was_over = run, stamp, run.header.finished is not None
        for line in self._reading.lines():
            self._take(line)
            self._sorted = self._tools = self._cases = self._steadiness = None

    def goes_on_with(self, run: RunFolder, stamp: tuple[int, ...]) -> bool:
        """Return whether the journal still begins with what was read, so that only the rest has to be read.

        The journal of a finished run does not grow, so a new stamp means reading it again. The same holds if more was
        read than is sealed, and the writer has ended.
        """
        if run.header.finished is not None and self._was_over:
            return stamp == self._stamp
        seal = run.header.journal
        if seal is not None and self._reading.end > seal.length and not run.is_being_written:
            return False
        return stamp[:1] == self._stamp[:1] and stamp[1] >= self._reading.end

    def entries(self) -> list[Entry]:
        """Return every row, in order."""
        if self._sorted is None:
            self._sorted = sorted(self._entries.values(), key=_place)
        return self._sorted

    def cases(self) -> list[ListedCase]:
        """Return each case once, with the verdicts of its repeats, the worst first."""
        if self._cases is None:
            tally = Tally(self.run.needed, self.run.needed_of)
            rows: dict[str, list[CaseRow]] = {}
            for entry in self.entries():
                rows.setdefault(entry.row.key.partition(".")[0], []).append(entry.row)
                tally.count(entry.row.case_id, entry.row.verdict, entry.row.repeat)
            apart = self.run.quarantined
            listed = [_listed(found, tally.verdict(found[0].case_id), apart) for found in rows.values()]
            self._cases = listed if self.run.header.sample is None else list(map(_generally, listed))
            self._cases.sort(key=lambda case: GRAVITY[case.verdict])
        return self._cases

    def steadiness(self) -> Steadiness:
        """Return the trials of all cases."""
        if self._steadiness is None:
            self._steadiness = steadiness_of(self.cases())
        return self._steadiness

    def entry(self, key: str) -> Entry | None:
        """Return the row with this key."""
        return self._entries.get(key)

    def entry_on(self, line: int) -> Entry | None:
        """Return the row whose result is on a line; `None` if a later line replaced it."""
        key = self._lines.get(line)
        return self._entries[key] if key is not None else None

    def repeats(self, case_id: str) -> list[Entry]:
        """Return every row of a case, by repeat."""
        key = case_key(case_id)
        found = [entry for name, entry in self._entries.items() if name.partition(".")[0] == key]
        return sorted(found, key=lambda entry: entry.row.repeat)

    def result(self, entry: Entry) -> CaseResult:
        """Read the whole result of a row from the journal, redacted if needed. Raises `StoreError`."""
        latest = self._latest
        if latest is None or latest[0] != entry.mark or self.run.mark_at(entry.begin) != entry.mark:
            latest = self._latest = entry.mark, self._shown(self.recorded(entry))
        return latest[1]

    def recorded(self, entry: Entry) -> CaseResult:
        """Read the result of a row unredacted, for edits: redacted values must not be expected. Raises `StoreError`."""
        line = next(self.run.lines(entry.begin, entry.number - 1), None)
        if line is None or line.mark != entry.mark:
            raise StoreError(f"{self.run.folder}: the journal has changed while it was read; look again")
        return line.entry.result

    def spans(self, result: CaseResult) -> tuple[Mapping[str, Any], int]:
        """Return the spans of a result, and the number of spans that were not kept. Raises `StoreError`."""
        found = self._spans.spans(result.case_id, result.repeat)
        return _RedactedSpans(found) if self._redacts else found, found.left_out

    def tools(self) -> tuple[ToolTotal, ...]:
        """Return the number of calls and of failed calls of each tool so far, the most called first."""
        if self._tools is None:
            counts = self.columns.counts(self._lines)
            totals = [ToolTotal(name, calls, errors) for name, (calls, errors) in counts.items()]
            self._tools = tuple(sorted(totals, key=lambda total: (-total.calls, total.name)))
        return self._tools

    def totals(self) -> Totals:
        """Return the number of cases so far, by verdict."""
        tally = Tally(self.run.needed, self.run.needed_of, {case_key(each) for each in self.run.quarantined})
        for entry in self._entries.values():
            tally.count(entry.row.key.partition(".")[0], entry.row.verdict)
        return tally.totals()

    def evaluators(self) -> dict[str, EvaluatorTotals]:
        """Return the totals of each evaluator so far."""
        seen, aggregates = list(self._seen), Aggregates()
        for entry in self._entries.values():
            aggregates.add([seen[number] for number in entry.measures])
        return aggregates.by_evaluator()

    def counts(self) -> RunCounts:
        """Return the totals so far; for a run that keeps only examples, the totals of all its results."""
        header = self.run.header
        if header.sample is None or header.totals is None:
            return replace(self._grouping.counts(self.totals(), self.evaluators()), tools=self.tools())
        groups = tuple(
            [Group(Problem(code, self._name(tool)).general, results) for code, tool, results in header.sample.groups]
        )
        counted = self._grouping.counts(header.totals, header.evaluators)
        return replace(counted, tools=self.tools(), groups=groups, calls=None)

    def tool(self, key: str) -> str | None:
        """Return the name of the tool with this key."""
        return next((name for name in self.columns.tools() if key_of(name) == key), None)

    def _shown(self, result: CaseResult) -> CaseResult:
        return redacted(result) if self._redacts else result

    def _name(self, name: str) -> str:
        """Return the name of a tool, redacted if needed; the same object if nothing is redacted."""
        if self._redacts and name not in self._named:
            shown = redacted_text(name)
            self._named[name] = None if shown == name else shown
        return self._named.get(name) or name

    def _take(self, line: JournalLine) -> None:
        result = line.entry.result
        calls = result.trajectory.calls if result.trajectory is not None else ()
        names = [self._name(call.name) for call in calls]
        # The row of a passed case shows only names and a title, so the slow redaction of the whole result is skipped.
        is_plain = result.passed and all([call.name is name for call, name in zip(calls, names, strict=True)])
        shown = result if is_plain else self._shown(result)
        if not is_plain:
            self._latest = line.mark, shown
        row = row_of(shown)
        if is_plain and self._redacts and row.title:
            row = replace(row, title=redacted_text(row.title))
        before = self._entries.pop(row.key, None)
        if before is not None:
            del self._lines[before.number]
            self._grouping.remove(before.row)
        self._grouping.add(row)
        source = result.source
        # Names of files and evaluators, and most results, repeat in every row, so rows share these objects.
        measures = [(intern(name), verdict, score) for name, verdict, score in measures_of(result.results)]
        self._entries[row.key] = Entry(
            row,
            line.begin,
            line.number,
            (intern(source.file), source.line, source.column),
            line.mark,
            tuple([self._seen.setdefault(measure, len(self._seen)) for measure in measures]),
        )
        self._lines[line.number] = row.key
        self.columns.add(line.number, calls, names)


class _RedactedSpans(Mapping[str, Any]):
    """Spans that are redacted when they are accessed: most are not shown."""

    def __init__(self, spans: Mapping[str, Any]) -> None:
        self._spans = spans

    def __getitem__(self, span_id: str) -> Any:
        return redacted_value(msgspec.to_builtins(self._spans[span_id]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._spans)

    def __len__(self) -> int:
        return len(self._spans)


def _listed(rows: list[CaseRow], verdict: Verdict, quarantined: Mapping[str, Quarantine]) -> ListedCase:
    shown = next((row for row in rows if row.verdict == verdict), rows[0])
    in_order = sorted(rows, key=lambda row: row.repeat)
    return ListedCase(
        row=shown,
        verdict=verdict,
        verdicts=tuple([row.verdict for row in in_order]),
        quarantine=quarantined.get(shown.case_id),
    )


def _generally(case: ListedCase) -> ListedCase:
    """Return a case with general problems, by which all results are counted if only examples are kept."""
    return replace(case, row=replace(case.row, problems=tuple([each.general for each in case.row.problems])))


def _place(entry: Entry) -> tuple[int, tuple[str, int, int], int, str]:
    return GRAVITY[entry.row.verdict], entry.written, entry.row.repeat, entry.row.key
