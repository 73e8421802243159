"""Worker processes: each scores a file at a time, or a block of a large one."""

from __future__ import annotations

import signal
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context

import msgspec

from rightcall.errors import InputError, RightcallError
from rightcall.reading import Block, BlockReading, LargeFile, LeftLine, Rest, Waiting, large_file
from rightcall.scale.processes import start_method
from rightcall.values.trajectory import Trajectory

from ._request import Request
from ._scorer import Scored, Scorer, Stranger

_AHEAD = 2
"""How much work waits for each worker, so that none of them waits for work."""


Found = Scored | Stranger | InputError
"""What comes of a trajectory, or of a file that cannot be read."""


class Work(msgspec.Struct, frozen=True):
    """A file, or a block of a large one."""

    path: str
    large: LargeFile | None = None
    block: Block | None = None
    is_last: bool = False


class Done(msgspec.Struct, frozen=True):
    """Work that is done: the results in order, and the lines of a block with parts of other runs."""

    scored: list[Scored | Stranger]
    left: list[LeftLine] = []
    waiting: list[Waiting] = []
    begun: set[tuple[str, str]] = set()
    problem: str = ""
    """Why the file could not be read."""


class Pool:
    """Processes that score files; a context manager, which ends them."""

    def __init__(self, request: Request, workers: int) -> None:
        self._request, self._workers = request, workers
        self._scorer = Scorer(request)
        self._processes = ProcessPoolExecutor(workers, get_context(start_method()), _begin, (request,))

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *problem: object) -> None:
        self._processes.shutdown(wait=True, cancel_futures=True)
        self._scorer.__exit__(*problem)

    def scored(self, files: Sequence[str]) -> Iterator[tuple[str, Found]]:
        """The results of files, each with its file, in the order of the files whoever is done first.

        Raises:
            RightcallError: a worker died.
        """
        waiting: deque[tuple[Work, Future[Done]]] = deque()
        rests: dict[str, Rest] = {}
        try:
            for work in self._work(files):
                waiting.append((work, self._processes.submit(_do, work)))
                if len(waiting) > _AHEAD * self._workers:
                    yield from self._finished(*waiting.popleft(), rests)
            while waiting:
                yield from self._finished(*waiting.popleft(), rests)
        except BrokenProcessPool:
            raise RightcallError("a worker process died; it may have run out of memory: try --workers 1") from None

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
        request = self._request
        if request.max_size is not None or request.input_format not in (None, "otlp"):
            return None
        try:
            return large_file(
                path,
                request.grouping,
                (request.case_attribute,),
                parts=self._workers,
                each=self._processes.map,
            )
        except InputError:
            return None  # whoever reads the file says what is wrong with it

    def _finished(self, work: Work, future: Future[Done], rests: dict[str, Rest]) -> Iterator[tuple[str, Found]]:
        done = future.result()
        yield from ((work.path, scored) for scored in done.scored)
        if done.problem:
            yield work.path, InputError(done.problem)
        if work.large is not None and work.block is not None:
            rest = rests.setdefault(work.path, Rest(work.large))
            yield from self._judged(work.path, rest.after(work.block, done.left, done.waiting, done.begun))
            if work.is_last:
                yield from self._judged(work.path, rests.pop(work.path).trajectories())

    def _judged(self, path: str, trajectories: Iterator[Trajectory]) -> Iterator[tuple[str, Found]]:
        return self._scorer.scored((path, trajectory) for trajectory in trajectories)


class _Worker:
    """What a worker process holds between one piece of work and the next."""

    def __init__(self, request: Request) -> None:
        self._request, self._scorer = request, Scorer(request)

    def do(self, work: Work) -> Done:
        if work.large is not None and work.block is not None:
            reading = BlockReading(work.large, work.block)
            return Done(self._scored(reading.trajectories()), reading.left, reading.waiting, reading.begun)
        problems: list[InputError] = []
        scored = self._scored(self._read(work.path, problems))
        return Done(scored, problem=str(problems[0]) if problems else "")

    def _scored(self, trajectories: Iterator[Trajectory]) -> list[Scored | Stranger]:
        return [found for _, found in self._scorer.scored((None, trajectory) for trajectory in trajectories)]

    def _read(self, path: str, problems: list[InputError]) -> Iterator[Trajectory]:
        """The trajectories of a file as far as it can be read, and why not further."""
        try:
            yield from self._request.read(path)
        except InputError as problem:
            problems.append(problem)


_worker: _Worker | None = None


def _begin(request: Request) -> None:
    """Make a worker of this process. It is not the one to be interrupted, but who asked for the work."""
    global _worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout = sys.stderr  # evaluators of the user's own may print, and the result is somebody else's
    _worker = _Worker(request)


def _do(work: Work) -> Done:
    assert _worker is not None, "a process of the pool begins before it works"  # noqa: S101
    return _worker.do(work)
