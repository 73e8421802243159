"""Worker processes, each of which scores a fragment at a time; one that dies costs time, not rows."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from typing import Any

import msgspec

from rightcall.errors import RightcallError, StoreError
from rightcall.scale.columns import Plan
from rightcall.scale.processes import start_method

from ._counting import Counting
from ._fragments import Fragment
from ._job import Job
from ._output import Output
from ._planning import any_remote
from ._scoring import score_fragment
from ._summarising import count_fragment

_ATTEMPTS = 3
_PATIENCE = 0.2


class Told(msgspec.Struct, frozen=True):
    """What a worker says of its fragment."""

    rows: int = 0
    """Rows that were scored since it last said something."""
    is_done: bool = False
    problem: str = ""
    """Why the fragment could not be scored."""
    counting: Counting | None = None
    """What the scores of a fragment that is done come to."""
    is_fatal: bool = False
    """Whether no other fragment could be either: there is no room for scores."""


class Worker:
    """A process, and the fragment that it has in hand."""

    def __init__(self, context: Any, life: tuple[Any, Any], plan: Plan, out: str) -> None:
        self.connection, its_end = context.Pipe()
        # A process that is forked has our end of the pipe as well, and would keep it open after our death.
        ours = life[1] if context.get_start_method() == "fork" else None
        self.process = context.Process(target=_work, args=(its_end, life[0], ours, plan, out), daemon=True)
        self.process.start()
        its_end.close()
        self.fragment: Fragment | None = None
        self.rows = 0

    def give(self, fragment: Fragment | None) -> None:
        """Have it score a fragment; with none, it ends."""
        self.fragment, self.rows = fragment, 0
        try:
            self.connection.send(fragment)
        except OSError:
            return  # it died just now, and whoever listens to it hears of that

    def kill(self) -> None:
        """End it, whatever it does."""
        self.process.kill()
        self.process.join()
        self.connection.close()


class Scorers:
    """Scores what waits in a job, by so many processes.

    Args:
        job: The job, entered.
        workers: How many processes.
        tell: Hears how a fragment comes on: how many of its rows were scored now, and whether it is done. A negative
            number takes back what a worker that died had told.
        complain: Hears of each fragment that could not be scored.
        stop: Whether somebody wants it to stop; asked several times a second.
    """

    def __init__(
        self,
        job: Job,
        workers: int,
        *,
        tell: Callable[[Fragment, int, bool], None],
        complain: Callable[[object], None],
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._job, self._most = job, workers
        self._tell, self._complain, self._stop = tell, complain, stop
        # Clients of object stores have threads, as has whoever reads Delta tables, and do not survive a fork.
        has_threads = any_remote(job.fragments, job.out) or "deltalake" in sys.modules
        self._context = get_context("spawn" if has_threads else start_method())
        self._life = self._context.Pipe(duplex=False)
        """Nothing is ever sent here: it ends when we do, and then so do the workers."""
        self._waiting = deque([(fragment, 1) for fragment in job.waiting])
        self._attempts: dict[str, int] = {}
        self._workers: list[Worker] = []
        self.failed = 0
        """How many fragments could not be scored."""

    def run(self) -> None:
        """Score everything.

        Raises:
            KeyboardInterrupt: it was asked to stop.
            StoreError: the scores cannot be written.
        """
        try:
            while self._waiting or any([worker.fragment for worker in self._workers]):
                self._hand_out()
                for connection in wait([worker.connection for worker in self._workers], _PATIENCE):
                    self._hear(connection)
                if self._stop():
                    raise KeyboardInterrupt
            for worker in self._workers:
                worker.give(None)
                worker.process.join(_PATIENCE)
        finally:
            for worker in self._workers:
                worker.kill()
            for end in self._life:
                end.close()

    def _hand_out(self) -> None:
        idle = [worker for worker in self._workers if worker.fragment is None]
        while self._waiting and (idle or len(self._workers) < self._most):
            if not idle:
                idle = [Worker(self._context, self._life, self._job.plan, self._job.out)]
                self._workers += idle
            fragment, attempt = self._waiting.popleft()
            self._attempts[fragment.file] = attempt
            idle.pop().give(fragment)

    def _hear(self, connection: Any) -> None:
        [worker] = [worker for worker in self._workers if worker.connection is connection]
        try:
            told = connection.recv()
        except (EOFError, OSError):
            self._bury(worker)
            return
        fragment = worker.fragment
        if fragment is None:
            return
        if told.is_fatal:
            raise StoreError(told.problem)
        worker.rows += told.rows
        self._tell(fragment, told.rows, told.is_done)
        if told.problem:
            self.failed += 1
            self._complain(told.problem)
        if told.is_done:
            worker.fragment = None
        if told.counting is not None:
            self._job.counted[fragment.file] = told.counting

    def _bury(self, worker: Worker) -> None:
        """Take a worker that died off the list, and give its fragment to others, if that was not done too often."""
        worker.kill()
        self._workers.remove(worker)
        fragment = worker.fragment
        if fragment is None:
            return
        self._tell(fragment, -worker.rows, False)
        attempt = self._attempts[fragment.file]
        if attempt < _ATTEMPTS:
            self._waiting.append((fragment, attempt + 1))
            return
        self.failed += 1
        self._complain(
            f"{fragment}: {attempt} worker processes died while they scored it, the last "
            f"{_death(worker.process.exitcode)}; it may need more memory than there is"
        )


def _death(code: int | None) -> str:
    if code is None or code >= 0:
        return f"with exit code {code}"
    try:
        return f"by {signal.Signals(-code).name}"
    except ValueError:
        return f"by signal {-code}"


def _work(
    connection: Connection[Told, Fragment | None], life: Connection[Any, Any], ours: Any, plan: Plan, out: str
) -> None:
    """What a worker does until it is told to end, or whoever started it has died.

    It is not the one to be interrupted, but who asked for the work.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.stdout = sys.stderr  # evaluators of the user's own may print, and the result is somebody else's
    if ours is not None:
        ours.close()
    threading.Thread(target=_end_with, args=(life,), daemon=True).start()
    try:
        while (fragment := connection.recv()) is not None:
            connection.send(_done(fragment, plan, out, lambda rows: connection.send(Told(rows))))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # nobody wants to know any more


def _end_with(life: Connection[Any, Any]) -> None:
    """End this process at once, whatever it does, when there is nobody any more whom it works for."""
    life.poll(None)
    os._exit(1)


def _done(fragment: Fragment, plan: Plan, out: str, tell: Callable[[int], None]) -> Told:
    try:
        score_fragment(fragment, plan, out, tell=tell)
        return Told(is_done=True, counting=count_fragment(fragment, Output(out)))
    except StoreError as problem:
        return Told(is_done=True, problem=str(problem), is_fatal=True)
    except RightcallError as problem:
        return Told(is_done=True, problem=str(problem))
    except (BrokenPipeError, ConnectionResetError, MemoryError):
        raise
    except Exception as problem:  # noqa: BLE001 - whatever else goes wrong is ours, and costs this fragment only
        last = traceback.extract_tb(problem.__traceback__)[-1]
        told = f"{fragment}: a defect in Rightcall: {type(problem).__name__}: {problem} ({last.filename}:{last.lineno})"
        return Told(is_done=True, problem=told)
