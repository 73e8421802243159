"""Reads files of traces and judges them. A file that cannot be read is reported, and the others are judged."""

from __future__ import annotations

import os
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from rightcall.cases.evalsets import Case
from rightcall.cases.verdicts import (
    REPEAT,
    AllCases,
    CaseFinder,
    Match,
    Seen,
    has_async_evaluators,
    judge_at_once,
    not_measured_result,
    recorded_repeat,
)
from rightcall.errors import InputError, UnknownFormatError, missing_package
from rightcall.reading import Reading, check_not_server, check_size
from rightcall.scale.request import Request
from rightcall.values.results import CaseResult, Measure, measures_of, success_of
from rightcall.values.trajectory import Trajectory, is_trajectory

if TYPE_CHECKING:
    from concurrent.futures import Future

    from rightcall.cases.verdicts import JudgingExecutor


_AHEAD = 64
"""How many trajectories are judged at once if evaluators wait for a model."""

Evidence: TypeAlias = Literal["", "bad", "all"]
"""Which results a worker process sends with their evidence: none, those that did not pass, or all."""

_WORTH_A_POOL = 1 << 25
"""Input of fewer bytes is scored in this process, in less time than it takes to start others."""
_HELD = 256
"""How many trajectories without a case are kept in memory, to be joined by order. With more, all are read again."""
_PARQUET = b"PAR1"
_HEAD = 1 << 20


class Scored(msgspec.Struct, frozen=True):
    """The result of a trajectory."""

    result: CaseResult
    """The result; from a worker process, without its trajectory and evaluations."""
    trace_id: str | None = None
    evidence: str | None = None
    """Trajectory and evaluations, as JSON, if the result comes from a worker process and they were asked for."""
    measures: tuple[Measure, ...] = ()
    """The measure of each evaluator, if the result comes without its evaluations."""
    seen: Seen = Seen()
    """What the checks of all cases together need of the trajectory."""
    recorded_repeat: int | None = None
    """The number of the repeat, if the trace records it."""
    label: bool | None = None
    """The source's verdict on the run, if it is to be compared and the trace has it."""

    def packed(self, evidence: Evidence) -> Scored:
        """Return it without trajectory and evaluations, to be sent between processes; if wanted, with them as JSON."""
        from rightcall.reporting.reports import json_evidence

        is_wanted = evidence == "all" or (evidence == "bad" and not self.result.passed)
        light = replace(self.result, trajectory=None, results=(), written=())
        text = json_evidence(self.result) if is_wanted else None
        return replace(self, result=light, evidence=text, measures=measures_of(self.result.results))

    def whole(self) -> CaseResult:
        """Return the result with its trajectory and evaluations."""
        return self.result if self.evidence is None else CaseResult.from_json(self.document())

    def document(self) -> str:
        """Return the whole result as JSON."""
        from rightcall.reporting.reports import json_case

        return self.result.to_json() if self.evidence is None else json_case(self.result, self.evidence)


class Unmatched(msgspec.Struct, frozen=True):
    """A trajectory that belongs to no case."""

    seen: Seen = Seen()
    trajectory: Trajectory | None = None
    """The trajectory; None if it comes from a worker process."""
    names_another: bool = False
    """Whether it says that it belongs to a case that is not judged."""


class Scorer:
    """Judges trajectories by the cases they belong to, or by one expectation for all. `running` has to be closed.

    Raises:
        DocumentError: the eval set or the expectation is wrong.
        InputError: the eval set cannot be read, or no case is chosen.
    """

    def __init__(self, request: Request, reading: Reading) -> None:
        expected = request.expected
        self._for_all = expected.for_all
        self._compare_with = request.compare_with
        self._joining = CaseFinder(expected.cases, request.join, reading.case_attribute, expected.every, expected.known)
        self.all_cases = AllCases(expected.rules, expected.overall)
        """The checks of all cases together, which callers add results to."""
        self._waits = expected.waits
        self.running = ExitStack()
        """Evaluators that wait for models, which stop when it is closed."""

    @cached_property
    def _judging(self) -> JudgingExecutor:
        from rightcall.cases.verdicts import JudgingExecutor  # few eval sets have evaluators that wait

        return self.running.enter_context(JudgingExecutor())

    def scored(
        self, trajectories: Iterable[tuple[str, Trajectory]], in_order: Iterator[Match | None] | None = None
    ) -> Iterator[tuple[str, Scored | Unmatched]]:
        """Yield the results of named trajectories in order, each with its name.

        A trajectory belongs to the cases that it is joined to or, if `in_order` is given, to the next of these. Cases
        with evaluators that wait for a model are judged concurrently.
        """
        # A deque of what was submitted keeps the order of the files, whichever evaluator finishes first.
        waiting: deque[tuple[str, Match | None, Trajectory, Future[CaseResult] | None]] = deque()
        problem = None
        try:
            for name, given in trajectories:
                trajectory = self._joining.named_by_file(given, name) if self._joining.is_by_file else given
                matches: Sequence[Match | None]
                if in_order is not None:
                    matches = [next(in_order, None)]
                else:
                    matches = [Match(self._for_all)] if self._for_all else self._joining.matches(trajectory) or [None]
                for match in matches:
                    future = None
                    if self._waits and match is not None and not match.doubt and has_async_evaluators(match.case):
                        future = self._judging.submit(match.case, trajectory)
                    waiting.append((name, match, trajectory, future))
                    while waiting and (len(waiting) > _AHEAD or waiting[0][3] is None or waiting[0][3].done()):
                        yield self._outcome(*waiting.popleft())
        except InputError as caught:
            problem = caught  # raised after the results of what was read before
        while waiting:
            yield self._outcome(*waiting.popleft())
        if problem is not None:
            raise problem

    def _outcome(
        self, name: str, match: Match | None, trajectory: Trajectory, judged: Future[CaseResult] | None
    ) -> tuple[str, Scored | Unmatched]:
        is_asked = self.all_cases.is_asked
        if match is None:
            tools = self.all_cases.tools_in(trajectory) if is_asked else ()
            return name, Unmatched(Seen(tools=tools), trajectory, self._joining.names_another(trajectory))
        case = match.case
        if match.doubt:
            result = not_measured_result(case, "RC305", doubt_text(match.doubt), trajectory)
        else:
            result = judge_at_once(case, trajectory) if judged is None else judged.result()
        seen = self.all_cases.see(case, result, trajectory, counts=not case.is_quarantined) if is_asked else Seen()
        recorded = recorded_repeat(trajectory.metadata) if REPEAT in trajectory.metadata else None
        key = self._compare_with
        label = None if key is None else success_of(trajectory.metadata.get(key))
        return name, Scored(result, trajectory.trace_id, seen=seen, recorded_repeat=recorded, label=label)


def doubt_text(doubt: str) -> str:
    """Say why it is unknown whether a case applies."""
    return f"it is unknown whether this case applies: {doubt}"


class Scoring(msgspec.Struct, eq=False):
    """Scores recorded traces.

    The results and their order do not depend on the number of workers.
    """

    _request: Request
    _sources: Sources
    workers: int | None = None
    evidence: Evidence = ""
    unmatched: int = 0
    """How many trajectories belonged to no case."""
    all_cases: AllCases = msgspec.field(default_factory=AllCases)
    """The checks of all cases together, with the results so far."""
    _times: Counter[str] = msgspec.field(default_factory=Counter)
    _numbers: dict[str, set[int]] = {}
    _recorded: set[tuple[str, int]] = set()
    _positions: Counter[str] = msgspec.field(default_factory=Counter)
    _held: list[Trajectory] = []
    _is_named: bool = False
    """Whether any trajectory says which case it belongs to: then none is joined by order."""

    def results(self) -> Generator[Scored, None, None]:
        """Yield the results as they are scored; at the end, those of cases that no trajectory belongs to.

        Raises:
            InputError: none of the files can be read, or the eval set cannot be.
            RightcallError: the request cannot be met.
        """
        scorer = Scorer(self._request, self._sources.reading)
        self.all_cases = scorer.all_cases
        size = 0
        is_distributed = self.workers != 1 and not self._sources.together
        for path in self._sources.files if is_distributed else ():
            with suppress(OSError):  # reading the file says what is wrong with it
                size += os.path.getsize(path)
        is_large = size >= _WORTH_A_POOL
        found = self._scored_by_workers() if is_large else scorer.scored(self._sources.trajectories())
        expected, join = self._request.expected, self._request.join
        cases, named = expected.cases, [case for case in expected.cases if case.when is None]
        with scorer.running:
            if expected.for_all is not None:
                yield from self._named(found)
                return
            if join != "order":
                yield from self._repeated(found)
            known = [case for case in expected.known if case.when is None]
            by_order = not self._is_named and len(cases) == len(named) and self.unmatched in (len(named), len(known))
            if join == "order" or (join == "auto" and by_order):
                # By order: from memory if all trajectories were kept there, else from the files once more.
                held = [("", trajectory) for trajectory in self._held]
                again = iter(held if held and len(held) == self.unmatched else self._sources.trajectories())
                # As many as there are chosen cases are theirs; more are those of the whole eval set.
                first = list(islice(again, len(named) + 1)) if len(named) < len(known) else []
                places = known if len(first) > len(named) else named
                self.unmatched = 0
                yield from self._repeated(scorer.scored(chain(first, again), _chosen(places, named)))
            if absent := [case for case in cases if not self._times[case.id]]:
                yield from self._absent(absent)

    def _named(self, found: Iterator[tuple[str, Scored | Unmatched]]) -> Generator[Scored, None, None]:
        """Yield results of one expectation for all, named by the trace id or by the number of the trace in its file."""
        for file, scored in found:
            if isinstance(scored, Scored):
                name = self._sources.name_of(file)
                self._positions[name] += 1
                case_id = scored.trace_id or f"{name}#{self._positions[name]}"
                self._times[case_id] += 1
                times = self._times[case_id]
                result = replace(scored.result, case_id=case_id if times == 1 else f"{case_id}#{times}")
                self.all_cases.add(scored.seen, result.case_id)
                yield replace(scored, result=result)

    def _absent(self, cases: Sequence[Case]) -> Iterator[Scored]:
        """Yield the results of cases that no trajectory belongs to."""
        for case in cases:
            reason = "no trace belongs to this case" if case.when is None else "no trace fits this case"
            result = not_measured_result(case, "RC303", reason)
            seen = self.all_cases.see(case, result, None, counts=not case.is_quarantined)
            self.all_cases.add(seen, case.id)
            yield Scored(result, seen=seen)

    def _repeated(self, found: Iterable[tuple[str, Scored | Unmatched]]) -> Iterator[Scored]:
        """Number the results of each case, and count trajectories that belong to no case.

        A result has the number that its trace records, if that is free, else the next free one.
        """
        for _, scored in found:
            if self.all_cases.is_asked:
                self.all_cases.add(scored.seen, scored.result.case_id if isinstance(scored, Scored) else "")
            if not isinstance(scored, Scored):
                self.unmatched += 1
                self._is_named = self._is_named or scored.names_another
                if self._is_named or self._request.join != "auto":
                    self._held.clear()
                elif scored.trajectory is not None and len(self._held) < _HELD:
                    self._held.append(scored.trajectory)
                continue
            case_id, recorded = scored.result.case_id, scored.recorded_repeat
            self._is_named = True
            self._times[case_id] += 1
            used = self._numbers.setdefault(case_id, set())
            is_recorded = recorded is not None and recorded not in used
            repeat = recorded if recorded is not None and is_recorded else len(used)
            # A repeat without a recorded number is shown as its index plus one, which must not be a recorded number.
            while not is_recorded and (repeat in used or (case_id, repeat + 1) in self._recorded):
                repeat += 1
            used.add(repeat)
            if is_recorded:
                self._recorded.add((case_id, repeat))
            yield replace(scored, result=replace(scored.result, repeat=repeat, is_repeat_told=is_recorded))

    def _scored_by_workers(self) -> Iterator[tuple[str, Scored | Unmatched]]:
        from rightcall.scale.processes import default_workers

        from ._pool import FilePool  # importing multiprocessing takes as long as scoring a small file

        workers = self.workers or default_workers()
        with FilePool(self._request, self._sources.reading, workers, self.evidence) as pool:
            for name, found in pool.scored(self._sources.files):
                if isinstance(found, InputError):
                    self._sources.cannot_read(found)
                else:
                    yield name, found


def _chosen(places: Sequence[Case], cases: Sequence[Case]) -> Iterator[Match | None]:
    """Yield the match of each place that a case has, `None` for a case that is not chosen."""
    chosen = {case.id: Match(case) for case in cases}
    return (chosen.get(case.id) for case in places)


class Observing:
    """Groups recorded traces by the cases that `Scoring` would judge them by."""

    def __init__(self, request: Request, sources: Sources) -> None:
        self._request, self._sources = request, sources
        self.unmatched = 0
        """How many trajectories belong to no case."""

    def by_case(self, cases: Sequence[Case], known: Sequence[Case]) -> dict[str, list[Trajectory]]:
        """Return the trajectories of each of these cases, by case id. `known` are all cases of the eval set.

        Raises:
            InputError: none of the files can be read.
        """
        join = self._request.join
        found: dict[str, list[Trajectory]] = {case.id: [] for case in cases}
        joining = CaseFinder(cases, join, self._sources.reading.case_attribute, known=known)
        is_named = False
        held: list[Trajectory] = []
        for name, given in self._sources.trajectories():
            trajectory = joining.named_by_file(given, name) if joining.is_by_file else given
            matches = [] if join == "order" else [each for each in joining.matches(trajectory) if not each.doubt]
            for match in matches:
                found[match.case.id].append(trajectory)
            if matches:
                continue
            self.unmatched += 1
            is_named = is_named or joining.names_another(trajectory)
            if len(held) < len(known):
                held.append(trajectory)
        is_named = is_named or any(found.values())
        by_order = join == "auto" and not is_named and self.unmatched in (len(cases), len(known))
        if by_order or join == "order":
            # As many as there are chosen cases are theirs; more are those of the whole eval set.
            places = cases if self.unmatched <= len(cases) else known
            for case, trajectory in zip(places, held, strict=False):
                if case.id in found:
                    found[case.id] = [trajectory]
                    self.unmatched -= 1
        return found


class Sources(msgspec.Struct, eq=False):
    """Files, read one after the other or, with `together`, as one source."""

    reading: Reading
    """How they are read."""
    files: Sequence[str]
    """Their paths."""
    complain: Callable[[object], None]
    """Called with the error of each file that cannot be read."""
    together: bool = False
    """Whether they are one source, such as spans in one file and logs in another."""
    names: Mapping[str, str] = {}
    """What users call a file, where that is not its path."""
    is_named: bool = False
    """Whether the id of a row in a table is used as its trace id, if it has none."""
    unreadable: int = 0
    """How many files could not be read."""
    _complaints: set[str] = set()

    def trajectories(self) -> Iterator[tuple[str, Trajectory]]:
        """Yield all trajectories in the order of the files, each with the name of its file.

        Raises:
            InputError: none of the files can be read.
        """
        self.unreadable = 0
        sources: Iterable[str | list[str]] = [list(self.files)] if self.together else self.files
        for source in sources:
            name = self.names.get(source, source) if isinstance(source, str) else "trajectory"
            try:
                for trajectory in read_source(source, self.reading, is_named=self.is_named):
                    yield name, trajectory
            except InputError as problem:
                self.cannot_read(problem)

    def cannot_read(self, problem: InputError) -> None:
        """Count and report a file that cannot be read, each problem once; raise it if no file can be read."""
        self.unreadable += 1
        if self.together or self.unreadable == len(self.files):
            raise self._renamed(problem)
        if str(problem) not in self._complaints:
            self._complaints.add(str(problem))
            self.complain(self._renamed(problem))

    def name_of(self, path: str) -> str:
        """Return the name of a file in messages and results."""
        return self.names.get(path, path)

    def _renamed(self, problem: InputError) -> InputError:
        text = str(problem)
        for path, name in self.names.items():
            text = text.replace(path, name)
        if text == str(problem):
            return problem
        hint = problem.hint if isinstance(problem, UnknownFormatError) else ""
        return UnknownFormatError(text.removesuffix(f"; {hint}"), hint)


def read_source(source: str | list[str], reading: Reading, *, is_named: bool) -> Iterator[Trajectory]:
    """Return the trajectories in a file, or in files that are read as one.

    Tables of trajectories or spans are recognised. With `is_named`, the id of a row is used as its trace id, if it has
    none.

    Raises:
        InputError: a file, or a row in it, cannot be read.
        MissingExtraError: pyarrow is not installed.
    """
    if not isinstance(source, str):
        return reading.read(source)
    if "://" in source and not os.path.exists(source):
        check_not_server(source)
        raise InputError(f"{source}: data in an object store is scored with --out")
    head, line, size = b"", b"", 0
    if reading.input_format is None:
        # Reading the file, below, reports what is wrong with it.
        with suppress(OSError, ValueError), open(source, "rb") as file:
            # The first line shows whether this is a table of trajectories, and the rest may be gigabytes of a trace.
            head = file.read(len(_PARQUET))
            line = head + file.readline(_HEAD)
            size = os.fstat(file.fileno()).st_size
    if head == _PARQUET:
        check_size(source, size, reading.max_size)
        return _parquet(source, reading, is_named) or reading.read(source)
    if is_trajectory(line):
        check_size(source, size, reading.max_size)
        return _lines(source, is_named)
    return reading.read(source)


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
    if is_span_table(schema) and "context.span_id" not in schema.names:  # `reading.read` handles those of Phoenix
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
