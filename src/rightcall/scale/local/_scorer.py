"""Files of traces in, results of cases out; a file that cannot be read costs that file."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from rightcall.cases.evalsets import Case
from rightcall.cases.verdicts import (
    AllCases,
    CaseFinder,
    Match,
    Seen,
    has_async_evaluators,
    judge,
    not_measured_result,
    recorded_repeat,
)
from rightcall.errors import InputError, missing_package
from rightcall.reading import Reading, check_not_server, check_size
from rightcall.scale.request import Request
from rightcall.values.results import CaseResult, Measure, measures_of, success_of
from rightcall.values.trajectory import Trajectory, is_trajectory

if TYPE_CHECKING:
    from concurrent.futures import Future

    from rightcall.cases.verdicts import JudgingExecutor


_AHEAD = 64
"""How many trajectories are judged at once where evaluators wait for a model."""

Evidence: TypeAlias = Literal["", "bad", "all"]
"""Which results another process sends whole: none, those that did not pass, or all."""

_WORTH_A_POOL = 1 << 25
"""Fewer bytes than this are read before other processes have begun."""
_HELD = 256
"""How many trajectories that name no case are held in memory, to be joined by their order. More are read again."""
_PARQUET = b"PAR1"
_HEAD = 1 << 20


class Scored(msgspec.Struct, frozen=True):
    """The result of a trajectory."""

    result: CaseResult
    """Whole, unless the result comes from another process: then without its trajectory and evaluations."""
    trace_id: str | None = None
    evidence: str | None = None
    """What the result lacks, as JSON, if it comes from another process and was asked for."""
    measures: tuple[Measure, ...] = ()
    """What each evaluator says of it."""
    seen: Seen = Seen()
    """What all cases together need of it."""
    recorded_repeat: int | None = None
    """The number of the repeat that the trace says it is."""
    label: bool | None = None
    """Whether the source calls the run a success, if that is asked for and it says so."""

    def packed(self, evidence: Evidence) -> Scored:
        """Return it as it goes to another process: there may be millions, so `all`, the `bad` or none go whole."""
        from rightcall.reporting.reports import json_evidence

        is_wanted = evidence == "all" or (evidence == "bad" and not self.result.passed)
        light = replace(self.result, trajectory=None, results=(), written=())
        return replace(self, result=light, evidence=json_evidence(self.result) if is_wanted else None)

    def whole(self) -> CaseResult:
        """Return the result with everything that it is made of."""
        return self.result if self.evidence is None else CaseResult.from_json(self.document())

    def document(self) -> str:
        """Return the whole result as JSON."""
        from rightcall.reporting.reports import json_case

        return self.result.to_json() if self.evidence is None else json_case(self.result, self.evidence)


class Unmatched(msgspec.Struct, frozen=True):
    """A trajectory that belongs to no case."""

    seen: Seen = Seen()
    trajectory: Trajectory | None = None
    """The trajectory itself, if it does not come from another process."""


class Scorer:
    """Checks trajectories against the cases they name, or against one expectation. It has to be closed.

    Raises:
        DocumentError: the eval set or the expectation is wrong.
        InputError: the eval set cannot be read, or no case is chosen.
    """

    def __init__(self, request: Request, reading: Reading) -> None:
        expected = request.expected
        self._for_all = expected.for_all
        self._compare_with = request.compare_with
        self._joining = CaseFinder(expected.cases, request.join, reading.case_attribute, expected.every)
        self.all_cases = AllCases(expected.rules, expected.overall)
        """All cases together, as far as they are added to it."""

    @cached_property
    def _judging(self) -> JudgingExecutor:
        from rightcall.cases.verdicts import JudgingExecutor  # few eval sets have evaluators that wait

        return JudgingExecutor()

    def close(self) -> None:
        """Stop what waits for models."""
        if "_judging" in self.__dict__:
            self._judging.close()

    def scored(
        self, trajectories: Iterable[tuple[str, Trajectory]], in_order: Iterator[Match] | None = None
    ) -> Iterator[tuple[str, Scored | Unmatched]]:
        """The results of trajectories in order, each with the name it came with: that of its file.

        A trajectory belongs to the cases that it names or, if they are given, to the next one `in_order`. Those whose
        evaluators wait are judged side by side.
        """
        # A deque of what was submitted keeps the order of the files, whichever evaluator finishes first.
        waiting: deque[tuple[str, Match | None, Trajectory, Future[CaseResult] | None]] = deque()
        problem = None
        try:
            for name, match, trajectory in self._matched(trajectories, in_order):
                future = None
                if match is not None and not match.doubt and has_async_evaluators(match.case):
                    future = self._judging.submit(match.case, trajectory)
                waiting.append((name, match, trajectory, future))
                while waiting and (len(waiting) > _AHEAD or waiting[0][3] is None or waiting[0][3].done()):
                    yield self._outcome(*waiting.popleft())
        except InputError as caught:
            problem = caught  # raised after the results of what was read before it
        while waiting:
            yield self._outcome(*waiting.popleft())
        if problem is not None:
            raise problem

    def _matched(
        self, trajectories: Iterable[tuple[str, Trajectory]], in_order: Iterator[Match] | None
    ) -> Iterator[tuple[str, Match | None, Trajectory]]:
        """Yield each trajectory with each of its cases; once without one if it has none."""
        for name, given in trajectories:
            trajectory = self._joining.named_by_file(given, name)
            if in_order is not None:
                yield name, next(in_order, None), trajectory
                continue
            matches = [Match(self._for_all)] if self._for_all else self._joining.matches(trajectory)
            yield from ((name, match, trajectory) for match in matches or (None,))

    def _outcome(
        self, name: str, match: Match | None, trajectory: Trajectory, judged: Future[CaseResult] | None
    ) -> tuple[str, Scored | Unmatched]:
        if match is None:
            return name, Unmatched(Seen(tools=self.all_cases.tools_in(trajectory)), trajectory)
        case = match.case
        if match.doubt:
            result = not_measured_result(case, "RC305", doubt_text(match.doubt), trajectory)
        else:
            result = judge(case, trajectory) if judged is None else judged.result()
        seen = self.all_cases.see(case, result, trajectory, counts=not case.is_quarantined)
        recorded = recorded_repeat(trajectory.metadata)
        key = self._compare_with
        label = None if key is None else success_of(trajectory.metadata.get(key))
        return name, Scored(result, trajectory.trace_id, None, measures_of(result.results), seen, recorded, label)


def doubt_text(doubt: str) -> str:
    """Say why it is unknown whether a case applies."""
    return f"it is unknown whether this case applies: {doubt}"


class Scoring:
    """Recorded traces checked against what is expected of them.

    The results, and their order, are the same whatever the number of workers is.
    """

    def __init__(
        self, request: Request, sources: Sources, *, workers: int | None = None, evidence: Evidence = ""
    ) -> None:
        self._request, self._sources, self._evidence = request, sources, evidence
        self._workers = workers
        self._times: Counter[str] = Counter()
        self._numbers: dict[str, set[int]] = {}
        self._recorded: set[tuple[str, int]] = set()
        self._positions: Counter[str] = Counter()
        self._held: list[Trajectory] = []
        self.unmatched = 0
        """How many trajectories belonged to no case."""
        self._scorer = Scorer(request, sources.reading)
        self.all_cases = self._scorer.all_cases
        """All cases together, as far as they are scored."""

    def results(self) -> Generator[Scored, None, None]:
        """The results, as they come; last those of cases that no trajectory belongs to.

        Raises:
            InputError: no file at all can be read, or the eval set cannot be.
            RightcallError: what is asked cannot be done.
        """
        expected = self._request.expected
        results = self._named() if expected.for_all is not None else self._of_cases(expected.cases)
        with closing(self._scorer), closing(results):
            for scored in results:
                self.all_cases.add(scored.seen, scored.result.case_id)
                yield scored

    def _named(self) -> Generator[Scored, None, None]:
        """Results whose case is the trajectory itself: known by its trace, or by its place in the file."""
        for file, scored in self._scored():
            if isinstance(scored, Scored):
                name = self._sources.name_of(file)
                self._positions[name] += 1
                case_id = scored.trace_id or f"{name}#{self._positions[name]}"
                self._times[case_id] += 1
                times = self._times[case_id]
                result = replace(scored.result, case_id=case_id if times == 1 else f"{case_id}#{times}")
                yield replace(scored, result=result)

    def _of_cases(self, cases: Sequence[Case]) -> Generator[Scored, None, None]:
        join = self._request.join
        named = [case for case in cases if case.when is None]
        if join != "order":
            yield from self._repeated(self._scored())
        if join == "order" or (join == "auto" and not self._times and self.unmatched == len(cases) == len(named)):
            # One after the other: those that are held, or read once more where not all of them are.
            held = [("", trajectory) for trajectory in self._held]
            found = held if held and len(held) == self.unmatched else self._sources.trajectories()
            self.unmatched = 0
            yield from self._repeated(self._scorer.scored(found, map(Match, named)))
        for case in cases:
            if not self._times[case.id]:
                reason = "no trace belongs to this case" if case.when is None else "no trace fits this case"
                result = not_measured_result(case, "RC303", reason)
                yield Scored(result, seen=self.all_cases.see(case, result, None, counts=not case.is_quarantined))

    def _repeated(self, found: Iterable[tuple[str, Scored | Unmatched]]) -> Iterator[Scored]:
        """The results, each with the number of its case's results before it; what belongs to no case is counted."""
        for _, scored in found:
            if isinstance(scored, Scored):
                self._times[scored.result.case_id] += 1
                yield self._numbered(scored)
                continue
            self.unmatched += 1
            self.all_cases.add(scored.seen)
            if self._times or self._request.join != "auto":
                # One trajectory that names its case shows that the order is not what joins them.
                self._held.clear()
            elif scored.trajectory is not None and len(self._held) < _HELD:
                self._held.append(scored.trajectory)

    def _numbered(self, scored: Scored) -> Scored:
        """Return a result with the number of its repeat: the one that the trace says, or the next that is free."""
        used = self._numbers.setdefault(scored.result.case_id, set())
        recorded = scored.recorded_repeat
        is_recorded = recorded is not None and recorded not in used
        repeat = recorded if recorded is not None and is_recorded else len(used)
        # A repeat without a number is shown as one more than its place, which must not be another one's number.
        while not is_recorded and (repeat in used or (scored.result.case_id, repeat + 1) in self._recorded):
            repeat += 1
        used.add(repeat)
        if is_recorded:
            self._recorded.add((scored.result.case_id, repeat))
        return replace(scored, result=replace(scored.result, repeat=repeat, is_repeat_told=is_recorded))

    def _scored(self) -> Iterator[tuple[str, Scored | Unmatched]]:
        if self._workers != 1 and self._sources.size_apart >= _WORTH_A_POOL:
            return self._scored_by_workers()
        return self._scorer.scored(self._sources.trajectories())

    def _scored_by_workers(self) -> Iterator[tuple[str, Scored | Unmatched]]:
        from rightcall.scale.processes import default_workers

        from ._pool import FilePool  # multiprocessing takes as long to import as a small file to score

        workers = self._workers or default_workers()
        with FilePool(self._request, self._sources.reading, workers, self._evidence) as pool:
            for name, found in pool.scored(self._sources.files):
                if isinstance(found, InputError):
                    self._sources.cannot_read(found)
                else:
                    yield name, found


class Observing:
    """Recorded traces, sorted by the cases they belong to, as `Scoring` would judge them."""

    def __init__(self, request: Request, sources: Sources) -> None:
        self._request, self._sources = request, sources
        self.unmatched = 0
        """How many trajectories belong to no case."""

    def by_case(self, cases: Sequence[Case]) -> dict[str, list[Trajectory]]:
        """The trajectories of each of these cases, by its id.

        Raises:
            InputError: no file at all can be read.
        """
        join = self._request.join
        joining = CaseFinder(cases, join, self._sources.reading.case_attribute)
        found: dict[str, list[Trajectory]] = {case.id: [] for case in cases}
        held: list[Trajectory] = []
        for name, given in self._sources.trajectories():
            trajectory = joining.named_by_file(given, name)
            matches = [] if join == "order" else [each for each in joining.matches(trajectory) if not each.doubt]
            for match in matches:
                found[match.case.id].append(trajectory)
            if matches:
                continue
            self.unmatched += 1
            if len(held) < len(cases):
                held.append(trajectory)
        by_order = join == "auto" and not any(found.values()) and self.unmatched == len(cases)
        if by_order or join == "order":
            self.unmatched -= len(held)
            return {case.id: [trajectory] for case, trajectory in zip(cases, held, strict=False)}
        return found


class Sources:
    """Files, read one after the other or, with `together`, as one.

    Args:
        reading: How they are read.
        files: Their paths.
        together: Whether they are one source, such as spans in one file and logs in another.
        complain: Hears of files that cannot be read.
        names: What users call a file, where that is not its path.
        is_named: Whether a row of a table is known by its id where it has no trace id.
    """

    def __init__(
        self,
        reading: Reading,
        files: Sequence[str],
        *,
        together: bool = False,
        complain: Callable[[object], None],
        names: Mapping[str, str] | None = None,
        is_named: bool = False,
    ) -> None:
        self.reading, self._complain, self._is_named = reading, complain, is_named
        self._names = names or {}
        self._all: Sequence[str | list[str]] = [list(files)] if together else files
        self._complaints: set[str] = set()
        self.files = () if together else files
        """The files that can be read apart."""
        self.unreadable = 0
        """How many could not be read."""

    @property
    def size_apart(self) -> int:
        """The bytes of the files that can be read apart."""
        # Files that are read as one cannot be shared out among processes, so they do not count.
        size = 0
        for path in self.files:
            with suppress(OSError):  # reading the file says what is wrong with it
                size += os.path.getsize(path)
        return size

    def trajectories(self) -> Iterator[tuple[str, Trajectory]]:
        """All trajectories in the order of the files, each with a name for where it comes from.

        Raises:
            InputError: no file at all can be read.
        """
        self.unreadable = 0
        for source in self._all:
            name = self.name_of(source) if isinstance(source, str) else "trajectory"
            try:
                for trajectory in read_source(source, self.reading, is_named=self._is_named):
                    yield name, trajectory
            except InputError as problem:
                self.cannot_read(problem)

    def cannot_read(self, problem: InputError) -> None:
        """Report a file that cannot be read, once; raise the problem if no file can be."""
        problem = self._renamed(problem)
        self.unreadable += 1
        if self.unreadable == len(self._all):
            raise problem
        if str(problem) not in self._complaints:
            self._complaints.add(str(problem))
            self._complain(problem)

    def name_of(self, path: str) -> str:
        """What users call a file."""
        return self._names.get(path, path)

    def _renamed(self, problem: InputError) -> InputError:
        text = str(problem)
        for path, name in self._names.items():
            text = text.replace(path, name)
        return problem if text == str(problem) else InputError(text)


def read_source(source: str | list[str], reading: Reading, *, is_named: bool) -> Iterator[Trajectory]:
    """Return the trajectories in a file, or in files that are read as one.

    A table of trajectories or of spans is read as such; if it `is_named`, the id of a row that has no trace id is used
    for that.

    Raises:
        InputError: a file, or a row in it, cannot be read.
        MissingExtraError: pyarrow is not installed.
    """
    if isinstance(source, str):
        if "://" in source and not os.path.exists(source):
            check_not_server(source)
            raise InputError(f"{source}: data in an object store is scored with --out")
        table = _table(source, reading, is_named) if reading.input_format is None else None
        if table is not None:
            return table
    return reading.read(source)


def _table(path: str, reading: Reading, is_named: bool) -> Iterator[Trajectory] | None:
    """The trajectories in a Parquet file or in JSON lines, if the file is a table of trajectories or spans."""
    try:
        with open(path, "rb") as file:
            # The first line is enough: a table of trajectories shows there, and a trace may have gigabytes.
            head = file.read(len(_PARQUET))
            line = head + file.readline(_HEAD)
            size = os.fstat(file.fileno()).st_size
    except (OSError, ValueError):
        return None  # reading the file says what is wrong with it
    if head == _PARQUET:
        check_size(path, size, reading.max_size)
        return _parquet(path, reading, is_named)
    if not is_trajectory(line):
        return None
    check_size(path, size, reading.max_size)
    return _lines(path, is_named)


def _parquet(path: str, reading: Reading, is_named: bool) -> Iterator[Trajectory] | None:
    try:
        from rightcall.scale.lake import table_batches, table_schema
    except ImportError:
        raise missing_package(f"{path} is a Parquet file, and reading it needs pyarrow", "arrow") from None
    from rightcall.scale.columns import is_span_table, plain_rows, span_trajectories

    schema = table_schema(path)
    if "calls" in schema.names:
        rows = (row for batch in table_batches(path) for row in plain_rows(batch))
        return _trajectories(path, rows, is_named)
    if is_span_table(schema) and "context.span_id" not in schema.names:  # `read` knows those of Phoenix by itself
        return span_trajectories(
            table_batches(path), grouping=reading.grouping, metadata_attributes=reading.metadata_attributes
        )
    return None


def _lines(path: str, is_named: bool) -> Iterator[Trajectory]:
    try:
        from rightcall.scale.lake import line_row
    except ImportError:
        raise missing_package(f"{path} holds trajectories, and reading them needs pyarrow", "arrow") from None

    def rows() -> Iterator[dict[str, Any]]:
        with open(path, "rb") as file:
            for number, line in enumerate(file, start=1):
                row, problem = line_row(line) if not line.isspace() else ({}, "")
                if problem:
                    raise InputError(f"{path}: line {number}: {problem}")
                if row:
                    yield row

    return _trajectories(path, rows(), is_named)


def _trajectories(path: str, rows: Iterator[dict[str, Any]], is_named: bool) -> Iterator[Trajectory]:
    from rightcall.scale.columns import trajectory_of

    for number, row in enumerate(rows, start=1):
        try:
            trajectory = trajectory_of(row)
        except InputError as problem:
            raise InputError(f"{path}: row {number}: {problem}") from None
        if is_named and trajectory.trace_id is None and row.get("id") is not None:
            trajectory = msgspec.structs.replace(trajectory, trace_id=str(row["id"]))
        yield trajectory
