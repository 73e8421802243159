"""Files of traces in, results of cases out."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from typing import Any

import msgspec

from rightcall.cases.evalsets import Case
from rightcall.cases.verdicts import CaseFinder, Overall, ToolNames, not_measured_result
from rightcall.errors import InputError, RightcallError
from rightcall.reading import BlockReader, FileBlock, LargeFile, LeftLine, Reading, SplitRuns, WaitingRun
from rightcall.scale.processes import Do, Pool
from rightcall.scale.request import Request
from rightcall.values.trajectory import Trajectory

from ._scorer import Evidence, Scored, Scorer, Unmatched
from ._sources import Sources, read_source

_WORTH_A_POOL = 1 << 25
"""Fewer bytes than this are read before other processes have begun."""
_HELD = 256
"""How many trajectories that name no case are held in memory, to be joined by their order. More are read again."""
_AHEAD = 2
"""How many tasks wait for each worker, so that no worker waits for a task."""


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
        self._positions: Counter[str] = Counter()
        self._held: list[Trajectory] = []
        self.unmatched = 0
        """How many trajectories belonged to no case."""
        self.overall = Overall()
        """What is asked of all cases together, as far as they are scored."""
        self.names = ToolNames()
        """The tools that rules name and traces have."""

    def results(self) -> Generator[Scored, None, None]:
        """The results, as they come; last those of cases that no trajectory belongs to.

        Raises:
            InputError: no file at all can be read, or the eval set cannot be.
            RightcallError: what is asked cannot be done.
        """
        expected = self._request.expected
        self.overall, self.names = Overall(expected.overall), ToolNames(expected.rules)
        results = self._named() if expected.for_all is not None else self._of_cases(expected.cases)
        with closing(results):
            for scored in results:
                self.overall.add(scored.seen)
                self.names.add(scored.tools)
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
                yield _identified(scored, case_id=case_id if times == 1 else f"{case_id}#{times}")

    def _of_cases(self, cases: Sequence[Case]) -> Generator[Scored, None, None]:
        join = self._request.join
        if join != "order":
            yield from self._repeated(self._scored())
        if join == "order" or (join == "auto" and not self._times and self.unmatched == len(cases)):
            yield from self._in_order(cases)
        for case in cases:
            if not self._times[case.id]:
                result = not_measured_result(case, "RC303", "no trace belongs to this case")
                yield Scored(result, seen=self.overall.see(case, result))

    def _in_order(self, cases: Sequence[Case]) -> Iterator[Scored]:
        """The first trajectory checked against the first case, and so on."""
        waiting = iter(cases)
        named = self._trajectories()
        self.unmatched = 0
        with Scorer(self._request, self._sources.reading) as scorer:
            triples = ((name, next(waiting, None), trajectory) for name, trajectory in named)
            yield from self._repeated(scorer.scored_as(triples))

    def _trajectories(self) -> Iterable[tuple[str, Trajectory]]:
        """All trajectories: those that are held, or read once more where not all of them are."""
        if self._held and len(self._held) == self.unmatched:
            return [("", trajectory) for trajectory in self._held]
        return self._sources.trajectories()

    def _repeated(self, found: Iterable[tuple[str, Scored | Unmatched]]) -> Iterator[Scored]:
        """The results, each with the number of its case's results before it; what belongs to no case is counted."""
        for _, scored in found:
            if isinstance(scored, Scored):
                case_id = scored.result.case_id
                self._times[case_id] += 1
                yield _identified(scored, repeat=self._times[case_id] - 1)
                continue
            self.unmatched += 1
            self.names.add(scored.tools)
            self._hold(scored.trajectory)

    def _hold(self, trajectory: Trajectory | None) -> None:
        """Keep a trajectory that may turn out to belong to a case by its order: while none names a case."""
        if self._times or self._request.join != "auto":
            self._held.clear()
        elif trajectory is not None and len(self._held) < _HELD:
            self._held.append(trajectory)

    def _scored(self) -> Iterator[tuple[str, Scored | Unmatched]]:
        sources = self._sources
        if self._workers != 1 and sources.size_apart >= _WORTH_A_POOL:
            yield from self._scored_by_workers()
            return
        with Scorer(self._request, sources.reading) as scorer:
            yield from scorer.scored(sources.trajectories())

    def _scored_by_workers(self) -> Iterator[tuple[str, Scored | Unmatched]]:
        from rightcall.scale.processes import default_workers

        workers = self._workers or default_workers()
        with FilePool(self._request, self._sources.reading, workers, self._evidence) as pool:
            for name, found in pool.scored(self._sources.files):
                if isinstance(found, InputError):
                    self._sources.cannot_read(found)
                else:
                    yield name, found


def _identified(scored: Scored, **known: str | int) -> Scored:
    return msgspec.structs.replace(scored, result=msgspec.structs.replace(scored.result, **known))


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
        for _, trajectory in self._sources.trajectories():
            case = None if join == "order" else joining.case_of(trajectory)
            if case is not None:
                found[case.id].append(trajectory)
                continue
            self.unmatched += 1
            if len(held) < len(cases):
                held.append(trajectory)
        by_order = join == "auto" and not any(found.values()) and self.unmatched == len(cases)
        if by_order or join == "order":
            self.unmatched -= len(held)
            return {case.id: [trajectory] for case, trajectory in zip(cases, held, strict=False)}
        return found


class Work(msgspec.Struct, frozen=True):
    """A file, or a block of a large one."""

    path: str
    large: LargeFile | None = None
    block: FileBlock | None = None
    is_last: bool = False


class Survey(msgspec.Struct, frozen=True):
    """A part of a large file to look over: a function and its argument."""

    function: Callable[[Any], Any]
    part: Any


class Done(msgspec.Struct, frozen=True):
    """Work that is done: the results in order, and the lines of a block with parts of other runs."""

    scored: list[Scored | Unmatched]
    left: list[LeftLine] = []
    waiting: list[WaitingRun] = []
    begun: set[tuple[str, str]] = set()
    problem: str = ""
    """Why the file could not be read."""


class FilePool:
    """Processes that score files; a context manager, which ends them."""

    def __init__(self, request: Request, reading: Reading, workers: int, evidence: Evidence) -> None:
        self._reading, self._workers = reading, workers
        self._scorer = Scorer(request, reading)
        self._pool = Pool(workers, _begin, (request, reading, evidence))
        self._done: dict[int, Any] = {}

    def __enter__(self) -> FilePool:
        return self

    def __exit__(self, *problem: object) -> None:
        self._pool.__exit__(*problem)
        self._scorer.__exit__(*problem)

    def scored(self, files: Sequence[str]) -> Iterator[tuple[str, Scored | Unmatched | InputError]]:
        """The results of files in the order of the files, each with its file; an error for one that cannot be read.

        Raises:
            RightcallError: workers died.
        """
        waiting: deque[tuple[Work, int]] = deque()
        rests: dict[str, SplitRuns] = {}
        for work in self._work(files):
            waiting.append((work, self._pool.submit(work)))
            if len(waiting) > _AHEAD * self._workers:
                yield from self._finished(*waiting.popleft(), rests)
        while waiting:
            yield from self._finished(*waiting.popleft(), rests)

    def _work(self, files: Sequence[str]) -> Iterator[Work]:
        for path in files:
            large = self._large(path)
            if large is None:
                yield Work(path)
                continue
            # The blocks are many, and each process needs to know its own.
            alone, last = msgspec.structs.replace(large, blocks=()), large.blocks[-1]
            for block in large.blocks:
                yield Work(path, alone, block, is_last=block is last)

    def _large(self, path: str) -> LargeFile | None:
        try:
            return self._reading.large_file(path, self._workers, self._map)
        except InputError:
            return None  # reading the file says what is wrong with it

    def _map(self, function: Callable[[Any], Any], parts: Iterable[Any]) -> Iterator[Any]:
        numbers = [self._pool.submit(Survey(function, part)) for part in parts]
        return (self._value(number) for number in numbers)

    def _value(self, number: int) -> Any:
        while number not in self._done:
            for heard in self._pool.hear():
                if heard.is_lost and heard.is_done:
                    raise RightcallError("a worker process died; it may have run out of memory: try --workers 1")
                if heard.is_done:
                    self._done[heard.number] = heard.value
        return self._done.pop(number)

    def _finished(
        self, work: Work, number: int, rests: dict[str, SplitRuns]
    ) -> Iterator[tuple[str, Scored | Unmatched | InputError]]:
        done: Done = self._value(number)
        yield from ((work.path, scored) for scored in done.scored)
        if done.problem:
            yield work.path, InputError(done.problem)
        if work.large is not None and work.block is not None:
            rest = rests.setdefault(work.path, SplitRuns(work.large))
            yield from self._judged(work.path, rest.after(work.block, done.left, done.waiting, done.begun))
            if work.is_last:
                yield from self._judged(work.path, rests.pop(work.path).trajectories())

    def _judged(self, path: str, trajectories: Iterator[Trajectory]) -> Iterator[tuple[str, Scored | Unmatched]]:
        return self._scorer.scored((path, trajectory) for trajectory in trajectories)


def _begin(request: Request, reading: Reading, evidence: Evidence) -> Do:
    """Make a worker of this process."""
    return _Worker(request, reading, evidence).do


class _Worker:
    """What a worker process keeps between one task and the next."""

    def __init__(self, request: Request, reading: Reading, evidence: Evidence) -> None:
        self._reading, self._evidence = reading, evidence
        self._is_named = request.expectation is not None
        self._scorer = Scorer(request, reading)

    def do(self, task: Work | Survey, _: Callable[[Any], None]) -> Any:
        if isinstance(task, Survey):
            return task.function(task.part)
        if task.large is not None and task.block is not None:
            block = BlockReader(task.large, task.block)
            return Done(self._scored(block.trajectories()), block.left, block.waiting, block.begun)
        problems: list[InputError] = []
        scored = self._scored(self._read(task.path, problems))
        return Done(scored, problem=str(problems[0]) if problems else "")

    def _scored(self, trajectories: Iterator[Trajectory]) -> list[Scored | Unmatched]:
        found = self._scorer.scored((None, trajectory) for trajectory in trajectories)
        return [each.packed(self._evidence) if isinstance(each, Scored) else Unmatched(each.tools) for _, each in found]

    def _read(self, path: str, problems: list[InputError]) -> Iterator[Trajectory]:
        """The trajectories of a file as far as it can be read, and why not further."""
        try:
            yield from read_source(path, self._reading, is_named=self._is_named)
        except InputError as problem:
            problems.append(problem)
