"""Tests that are collected once, and run in a fork of that process for each mistake: `python -m tests.mutants.forking`.

Most mistakes are noticed by the first test that comes near them, so that starting Python, importing the project and
collecting its tests would take ten times as long as the tests themselves.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import resource
import selectors
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from pathlib import Path

import pytest
from tests.mutants.core import SOURCE, area_of, core_files, mirror_of
from tests.mutants.mutations import Mutation
from tests.mutants.swapping import Functions
from tests.mutants.tracing import Map, Trace, Tracer, traced

Job = Callable[[Callable[[str], None]], None]
"""What is done in a fork; it is given how to say what it is at."""
MIRRORED, PACKAGE, WIDER = range(3)
FATE = "fate "
"""What a line of the output begins with that tells a fate."""
_MEMORY = 4 << 30
_NEAREST = 20
"""How many tests are tried first, by how few functions they go through."""


@dataclass(frozen=True)
class Task:
    """Mistakes to be made, and how."""

    mutations: tuple[Mutation, ...]
    folders: tuple[str, ...]
    workers: int
    narrow: bool
    most: float
    """How many seconds of CPU the tests of one mistake may take together, by their traces."""
    map: Path


@dataclass(frozen=True)
class Fate:
    """What became of the mistake with this number. `test` is the one that noticed it, empty where none did."""

    number: int
    test: str
    stage: int
    seconds: float
    cpu: float
    timed_out: bool = False
    unsure: bool = False
    """It is made, or its function is called, when modules are imported: only a new process can tell."""


class Loop:
    """A plugin of pytest that takes the place of its loop over tests."""

    def __init__(self, task: Task, tracer: Tracer) -> None:
        self._task, self._tracer = task, tracer

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        imported = self._tracer.stop()
        if session.testsfailed:
            raise pytest.UsageError("tests cannot be collected: run them, and fix them first")
        traces = self._traces(session.items)
        for file in {mutation.file for mutation in self._task.mutations}:
            importlib.import_module(".".join(Path(file).relative_to("src").with_suffix("").parts))
        trial = Trial(self._task, session.items, traces, imported)
        for fate in trial.fates():
            print(f"{FATE}{pickle.dumps(fate).hex()}", flush=True)
        return True

    def _traces(self, items: Sequence[pytest.Item]) -> dict[str, Trace]:
        kept, files = Map(self._task.map, Path(SOURCE).absolute()), defaultdict[Path, list[pytest.Item]](list)
        for item in items:
            files[item.path].append(item)
        # Values that tests are tried on may come from another file, which has changed.
        missing = [
            file for file, held in files.items() if not {each.nodeid for each in held} <= {*(kept.of(file) or ())}
        ]
        if missing:
            print(f"{len(missing)} files of tests are traced", flush=True)
            self._trace([(file, files[file]) for file in missing], kept)
        return {test: trace for file in files for test, trace in (kept.of(file) or {}).items()}

    def _trace(self, files: Sequence[tuple[Path, Sequence[pytest.Item]]], kept: Map) -> None:
        with tempfile.TemporaryDirectory() as folder:
            jobs = [partial(self._trace_file, items, Path(folder, str(n))) for n, (_, items) in enumerate(files)]
            for end in forked(jobs, self._task.workers):
                if end.code:
                    raise pytest.UsageError(f"{end.said} fails without any mistake: run it, and fix it first")
                kept.keep(files[end.number][0], pickle.loads(Path(folder, str(end.number)).read_bytes()))

    def _trace_file(self, items: Sequence[pytest.Item], file: Path, say: Callable[[str], None]) -> None:
        traces, failed = {}, list[pytest.Item]()
        for item, following in _with_following(items):
            say(item.nodeid)
            passed, trace = traced(self._tracer, partial(_passes, item, following))
            traces[item.nodeid] = trace
            failed += [] if passed else [item]
        # Tracing takes time, of which some tests allow little.
        for item, following in _with_following(failed):
            say(item.nodeid)
            _run(item, following)
        file.write_bytes(pickle.dumps(traces))


class Trial:
    """All mistakes of a task, each tried by the tests that go through its function, the quickest first."""

    def __init__(
        self, task: Task, items: Sequence[pytest.Item], traces: dict[str, Trace], imported: frozenset[tuple[str, str]]
    ) -> None:
        self._task, self._traces, self._imported = task, traces, imported
        self._functions = Functions()
        self._items: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
        for item in items:
            for function in traces[item.nodeid].functions:
                self._items[function].append(item)

    def fates(self) -> Iterator[Fate]:
        gc.freeze()  # so that forks share the memory
        chosen = [self._chosen(each) for each in self._task.mutations]
        jobs = [self._job(each, items) for each, items in zip(self._task.mutations, chosen, strict=True)]
        noticed = list[tuple[Mutation, Sequence[pytest.Item]]]()
        for end in forked(jobs, self._task.workers, self._limit):
            fate = self._fate(end)
            if fate.test:
                noticed.append((self._task.mutations[end.number], _until(fate.test, chosen[end.number])))
            yield fate
        self._check(noticed)

    def _check(self, noticed: Sequence[tuple[Mutation, Sequence[pytest.Item]]]) -> None:
        """Run what noticed a mistake again: without it, it has to pass, and with it, it has to fail."""
        without = {tuple([each.nodeid for each in items]): self._job(None, items) for _, items in noticed}
        for end in forked(list(without.values()), self._task.workers, self._limit):
            if end.code:
                raise pytest.UsageError(f"{end.said} fails without any mistake: run it, and fix it first")
        again = [self._job(mutation, items) for mutation, items in noticed]
        for end in forked(again, self._task.workers, self._limit):
            if not end.code:
                raise pytest.UsageError(
                    f"{end.said} failed once, and then passed with the same mistake: make it steady"
                )

    def _limit(self, test: str) -> float:
        """How many seconds a test may take: much longer than without a mistake."""
        return 30 + 10 * self._traces[test].seconds if test in self._traces else 60.0

    def _fate(self, end: End) -> Fate:
        mutation = self._task.mutations[end.number]
        imported = (mutation.file, mutation.function) in self._imported
        # Nor does a test end a process: whatever did may have come from the change of loaded code.
        unsure = (end.code not in (0, 1) and not end.timed_out) or (end.code == 0 and imported)
        test = end.said if end.code and not unsure else ""
        return Fate(end.number, test, self._stage(mutation, test), end.seconds, end.cpu, end.timed_out, unsure)

    def _job(self, mutation: Mutation | None, items: Sequence[pytest.Item]) -> Job:
        def job(say: Callable[[str], None]) -> None:
            if mutation and not self._functions.swap(Path(mutation.file).absolute(), mutation.source):
                os._exit(_ELSEWHERE)
            for item, following in _with_following(items):
                say(item.nodeid)
                _run(item, following)

        return job

    def _chosen(self, mutation: Mutation) -> list[pytest.Item]:
        """The tests for a mistake: the nearest, then of each stage the quickest of each file, the next, and so on.

        The nearest go through the fewest functions: such as those that call the changed one directly.
        """
        last = PACKAGE if self._task.narrow else WIDER
        going = [item for item in self._items[mutation.file, mutation.function] if self._place(mutation, item) <= last]
        nearest = sorted(going, key=lambda item: (len(self._traces[item.nodeid].functions), self._cpu(item)))[:_NEAREST]
        ranks, ranked = Counter[Path](), list[tuple[int, int, pytest.Item]]()
        for item in sorted([each for each in going if each not in nearest], key=self._cpu):
            ranked.append((self._place(mutation, item), ranks[item.path], item))
            ranks[item.path] += 1
        chosen = [*nearest, *[item for _, _, item in sorted(ranked, key=lambda each: each[:2])]]
        left, fitting = self._task.most, list[pytest.Item]()
        for item in chosen:
            if self._cpu(item) <= left:
                left -= self._cpu(item)
                fitting.append(item)
        return fitting

    def _place(self, mutation: Mutation, item: pytest.Item) -> int:
        return self._stage(mutation, item.nodeid)

    def _cpu(self, item: pytest.Item) -> float:
        return self._traces[item.nodeid].cpu

    def _stage(self, mutation: Mutation, test: str) -> int:
        area, file = area_of(mutation.file), test.split("::")[0]
        if file == mirror_of(mutation.file):
            return MIRRORED
        if file.startswith(f"{area.tests}/"):
            return PACKAGE
        return WIDER if any(file.startswith(f"tests/{each}") for each in area.wider) else WIDER + 1


_ELSEWHERE = 77


def _run(item: pytest.Item, following: pytest.Item | None) -> None:
    if not _passes(item, following):
        os._exit(1)


def _passes(item: pytest.Item, following: pytest.Item | None) -> bool:
    failed = item.session.testsfailed
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    return item.session.testsfailed == failed


def _until(test: str, items: Sequence[pytest.Item]) -> Sequence[pytest.Item]:
    return items[: [each.nodeid for each in items].index(test) + 1]


def _with_following(items: Sequence[pytest.Item]) -> Iterator[tuple[pytest.Item, pytest.Item | None]]:
    return zip_longest(items, items[1:])


@dataclass(frozen=True)
class End:
    """How a fork ended: the number of its job, its exit code, and what it said last."""

    number: int
    code: int
    said: str
    seconds: float
    cpu: float
    timed_out: bool


class Fork:
    """A job in a process of its own, which says by a pipe how far it is."""

    def __init__(self, number: int, job: Job, limit: Callable[[str], float]) -> None:
        self.number, self._limit = number, limit
        self._started = self._heard = time.monotonic()
        self._said = b""
        self._folder = tempfile.mkdtemp()
        self.pipe, write = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            _carry_out(job, write, self._folder)
        os.close(write)

    def hear(self) -> bool:
        """Take what it said; False where it has ended."""
        said = os.read(self.pipe, 65536)
        self._heard, self._said = time.monotonic(), (self._said + said)[-8192:]
        return bool(said)

    @property
    def is_stuck(self) -> bool:
        return time.monotonic() - self._heard > self._limit(self.said)

    @property
    def said(self) -> str:
        """What it said last."""
        return self._said.decode(errors="replace").rstrip("\n").rpartition("\n")[2]

    def end(self) -> End:
        """Wait for its end, or make one where it is stuck, and leave nothing of it."""
        if self.is_stuck:
            os.killpg(self.pid, signal.SIGKILL)
        _, status, usage = os.wait4(self.pid, 0)
        os.close(self.pipe)
        shutil.rmtree(self._folder, ignore_errors=True)
        code = os.waitstatus_to_exitcode(status)
        seconds, cpu = time.monotonic() - self._started, usage.ru_utime + usage.ru_stime
        return End(self.number, code, self.said, seconds, cpu, code == -signal.SIGKILL)


def _carry_out(job: Job, write: int, folder: str) -> None:
    code = 1
    try:
        os.setsid()
        os.environ["TMPDIR"] = os.environ["PYTEST_DEBUG_TEMPROOT"] = tempfile.tempdir = folder
        nowhere = os.open(os.devnull, os.O_RDWR)
        for each in (0, 1, 2):
            os.dup2(nowhere, each)
        said = os.fdopen(write, "w")
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
        job(lambda text: print(text, file=said, flush=True))
        code = 0
    except BaseException as problem:  # noqa: BLE001 - it is said, and not taken for a test that failed
        print(f"{problem!r}", file=said, flush=True)
        code = _ELSEWHERE
    finally:
        os._exit(code)


def forked(jobs: Sequence[Job], workers: int, limit: Callable[[str], float] = lambda said: 3600.0) -> Iterator[End]:
    """Carry out jobs, so many at once, each in a fork.

    Args:
        limit: For how many seconds a job may be silent, by what it said last; it is ended then.
    """
    waiting = list(enumerate(jobs))[::-1]
    with selectors.DefaultSelector() as selector:
        while waiting or selector.get_map():
            while waiting and len(selector.get_map()) < workers:
                number, job = waiting.pop()
                fork = Fork(number, job, limit)
                selector.register(fork.pipe, selectors.EVENT_READ, fork)
            ready = {key.data for key, _ in selector.select(5.0)}
            for fork in [key.data for key in list(selector.get_map().values())]:
                heard = fork not in ready or fork.hear()
                if not heard or fork.is_stuck:
                    selector.unregister(fork.pipe)
                    yield fork.end()


def main() -> None:
    task: Task = pickle.loads(Path(sys.argv[1]).read_bytes())
    tracer = Tracer(Path.cwd(), core_files(Path.cwd()))
    options = ["-q", "-s", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile=mutants"]
    options += ["--no-header", "--no-summary", "-o", "tmp_path_retention_policy=none"]
    tracer.start()
    sys.exit(pytest.main([*options, *task.folders], plugins=[Loop(task, tracer)]))


if __name__ == "__main__":
    # Imported by its name, so that what is pickled is found under that name by the process that reads it.
    importlib.import_module("tests.mutants.forking").main()
