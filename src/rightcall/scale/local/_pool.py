"""Scores files in worker processes, one file or one block of a large file at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from rightcall.errors import InputError, RightcallError
from rightcall.reading import BlockReader, FileBlock, LargeFile, LeftLine, Reading, SplitRuns, WaitingRun
from rightcall.scale.processes import Do, Pool
from rightcall.scale.request import Request
from rightcall.values.trajectory import Trajectory

from ._scorer import Evidence, Scored, Scorer, Unmatched, read_source

_AHEAD = 2
"""How many tasks are submitted ahead for each worker, so that none is idle."""


class Work(msgspec.Struct, frozen=True):
    """A task: score a file, or a block of a large one."""

    path: str
    large: LargeFile | None = None
    block: FileBlock | None = None
    is_last: bool = False


class Survey(msgspec.Struct, frozen=True):
    """A task: call a function with a part of a large file, to find out how to split it into blocks."""

    function: Callable[[Any], Any]
    part: Any


class Done(msgspec.Struct, frozen=True):
    """What a worker returns for `Work`: the results in order and, for a block, lines of runs that go beyond it."""

    scored: list[Scored | Unmatched]
    left: list[LeftLine] = []
    waiting: list[WaitingRun] = []
    begun: set[tuple[str, str]] = set()
    problem: str = ""
    """Why the file could not be read."""


class FilePool:
    """Processes that score files; a context manager that ends them."""

    def __init__(self, request: Request, reading: Reading, workers: int, evidence: Evidence) -> None:
        self._reading, self._workers = reading, workers
        self._scorer = Scorer(request, reading)
        self._pool = Pool(workers, _begin, (request, reading, evidence))
        self._done: dict[int, Any] = {}

    def __enter__(self) -> FilePool:
        return self

    def __exit__(self, *problem: object) -> None:
        self._pool.__exit__(*problem)
        self._scorer.running.close()

    def scored(self, files: Sequence[str]) -> Iterator[tuple[str, Scored | Unmatched | InputError]]:
        """Yield the results in the order of the files, each with its file; an `InputError` for one that is unreadable.

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
            # There are many blocks, and a worker needs only its own: the list is not sent with each of them.
            alone, last = msgspec.structs.replace(large, blocks=()), large.blocks[-1]
            for block in large.blocks:
                yield Work(path, alone, block, is_last=block is last)

    def _large(self, path: str) -> LargeFile | None:
        try:
            return self._reading.large_file(path, self._workers, self._map)
        except InputError:
            return None  # the worker that reads the file reports what is wrong with it

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
    """Set up this process as a worker, and return the function that does its tasks."""
    return _Worker(request, reading, evidence).do


class _Worker:
    """The state that a worker process keeps between tasks."""

    def __init__(self, request: Request, reading: Reading, evidence: Evidence) -> None:
        self._reading, self._evidence = reading, evidence
        self._is_named = request.expectation is not None
        self._scorer = Scorer(request, reading)

    def do(self, task: Work | Survey, _: Callable[[Any], None]) -> Any:
        if isinstance(task, Survey):
            return task.function(task.part)
        if task.large is not None and task.block is not None:
            block = BlockReader(task.large, task.block)
            return Done(self._scored(task.path, block.trajectories()), block.left, block.waiting, block.begun)
        problems: list[InputError] = []
        scored = self._scored(task.path, self._read(task.path, problems))
        return Done(scored, problem=str(problems[0]) if problems else "")

    def _scored(self, path: str, trajectories: Iterator[Trajectory]) -> list[Scored | Unmatched]:
        found = self._scorer.scored((path, trajectory) for trajectory in trajectories)
        return [
            each.packed(self._evidence)
            if isinstance(each, Scored)
            else Unmatched(each.seen, names_another=each.names_another)
            for _, each in found
        ]

    def _read(self, path: str, problems: list[InputError]) -> Iterator[Trajectory]:
        """Yield the trajectories of a file as far as it can be read; append the error that ends it to `problems`."""
        try:
            yield from read_source(path, self._reading, is_named=self._is_named)
        except InputError as problem:
            problems.append(problem)
