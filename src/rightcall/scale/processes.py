"""Worker processes: their number and start method, a pool that survives their death, and functions for engines."""

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

from rightcall.version import __version__

_ATTEMPTS = 3
"""How many workers may die during the same task."""
_PATIENCE = 0.2
"""Seconds that an idle worker has to end by itself."""

Do = Callable[[Any, Callable[[Any], None]], Any]
"""Does a task and returns its value. Its second argument sends news of the task while it is under way."""


def start_method() -> str:
    """Return how to start processes: `fork` where that is safe, else `spawn`.

    A forked process inherits all imports, and spawning one takes as long as scoring 20 MB. But if another thread holds
    a lock at that moment, the lock is never released in the new process (https://bugs.python.org/issue6721), and
    outside Linux system libraries have threads of their own.
    """
    return "fork" if sys.platform == "linux" and threading.active_count() == 1 else "spawn"


def default_workers() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Heard(msgspec.Struct, frozen=True):
    """News of a task: a message of its worker, its result, or the death of its worker."""

    number: int
    """The number that `Pool.submit` returned."""
    value: Any = None
    is_done: bool = False
    is_lost: bool = False
    """Whether its worker died. Unless `is_done`, another worker starts it again."""
    attempts: int = 0
    """How many workers have died during the task."""
    death: str = ""
    """How the last of them died, such as `by SIGKILL`."""


class Pool:
    """Processes that each do one task at a time; a context manager that ends them.

    They are started when there are tasks for them, and end when the process that started them ends.

    Args:
        workers: How many processes at most.
        begin: Called in each process with `given`; returns the function that does tasks.
        given: Its arguments.
        method: How processes are started; see `start_method`.
    """

    def __init__(
        self, workers: int, begin: Callable[..., Do], given: tuple[Any, ...], method: str | None = None
    ) -> None:
        self._most, self._begin, self._given = workers, begin, given
        self._context = get_context(method or start_method())
        self._life = self._context.Pipe(duplex=False)
        """A pipe that nothing is sent through: when this process ends, its end is closed, and then the workers end."""
        self._waiting: deque[_Task] = deque()
        self._workers: list[_Worker] = []
        self._count = 0

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        for worker in self._workers if kind is None else ():
            worker.give(None)
            worker.process.join(_PATIENCE)
        for worker in self._workers:
            worker.kill()
        for end in self._life:
            end.close()

    @property
    def is_busy(self) -> bool:
        """Whether any task is not done yet."""
        return bool(self._waiting) or any([worker.task for worker in self._workers])

    def submit(self, task: Any) -> int:
        """Add a task to the queue, and return its number."""
        self._count += 1
        self._waiting.append(_Task(self._count, task))
        return self._count

    def hear(self, patience: float | None = None) -> list[Heard]:
        """Give tasks to idle workers, then wait for news up to `patience` seconds, and return it.

        Raises:
            Exception: what a task raised.
        """
        self._hand_out()
        ready = wait([worker.connection for worker in self._workers], patience)
        news = []
        for worker in [worker for worker in self._workers if worker.connection in ready]:
            if worker.task is None:  # an idle worker sends nothing: its connection is ready because it has died
                self._bury(worker)
            else:
                news.append(self._heard(worker, worker.task))
        return news

    def _hand_out(self) -> None:
        idle = [worker for worker in self._workers if worker.task is None]
        while self._waiting and (idle or len(self._workers) < self._most):
            if not idle:
                idle = [_Worker(self._context, self._life, self._begin, self._given)]
                self._workers += idle
            idle.pop().give(self._waiting.popleft())

    def _heard(self, worker: _Worker, task: _Task) -> Heard:
        try:
            kind, value = worker.connection.recv()
        except (EOFError, OSError):
            return self._lose(worker, task)
        if kind == "raised":
            raise value
        if kind == "done":
            worker.task = None
        return Heard(task.number, value, is_done=kind == "done")

    def _lose(self, worker: _Worker, task: _Task) -> Heard:
        """Queue the task of a dead worker again, unless too many workers have died during it."""
        self._bury(worker)
        task.attempts += 1
        is_done = task.attempts >= _ATTEMPTS
        if not is_done:
            self._waiting.append(task)
        death = _death(worker.process.exitcode)
        return Heard(task.number, is_done=is_done, is_lost=True, attempts=task.attempts, death=death)

    def _bury(self, worker: _Worker) -> None:
        worker.kill()
        self._workers.remove(worker)


class _Task(msgspec.Struct):
    number: int
    what: Any
    attempts: int = 0


class _Worker:
    """A process, and the task that it works on."""

    def __init__(self, context: Any, life: tuple[Any, Any], begin: Callable[..., Do], given: tuple[Any, ...]) -> None:
        self.connection, its_end = context.Pipe()
        # A forked process inherits our end of the pipe, and would keep it open after our death.
        ours = life[1] if context.get_start_method() == "fork" else None
        self.process = context.Process(target=_work, args=(its_end, life[0], ours, begin, given), daemon=True)
        self.process.start()
        its_end.close()
        self.task: _Task | None = None

    def give(self, task: _Task | None) -> None:
        """Send the worker a task; None tells it to end."""
        self.task = task
        try:
            # In a tuple, to distinguish a task that is None from the request to end.
            self.connection.send(None if task is None else (task.what,))
        except OSError:
            return  # it has just died, which `hear` will notice

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.join()
        self.connection.close()


def _death(code: int | None) -> str:
    if code is None or code >= 0:
        return f"with exit code {code}"
    try:
        return f"by {signal.Signals(-code).name}"
    except ValueError:
        return f"by signal {-code}"


def _work(
    connection: Connection[Any, Any], life: Connection[Any, Any], ours: Any, begin: Callable[..., Do], given: Any
) -> None:
    """Do tasks until there are no more, or until the process that started this one ends."""
    # A terminal sends SIGINT to the whole process group; the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A fork inherits the handler of the command, which would only note the signal and go on.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    sys.stdout = sys.stderr  # custom evaluators may print, and standard output is for the result of the command
    if ours is not None:
        ours.close()
    threading.Thread(target=_end_with, args=(life,), daemon=True).start()
    try:
        do = begin(*given)
        while (task := connection.recv()) is not None:
            connection.send(("done", do(task[0], lambda news: connection.send(("news", news)))))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the process that started this one no longer listens
    except MemoryError:
        raise  # this process dies, and its task is given to another
    except Exception as problem:  # noqa: BLE001 - sent to the process that submitted the task, and raised there
        problem.add_note(f"in a worker process:\n{traceback.format_exc()}")
        connection.send(("raised", problem))


def _end_with(life: Connection[Any, Any]) -> None:
    """End this process as soon as the process that started it has ended."""
    life.poll(None)  # it becomes readable when the other end is closed for good, also by SIGKILL
    os._exit(1)


def sendable(home: str, name: str, *fixed: Any) -> Callable[[Any], Any]:
    """Return a function of one argument that calls the function `name` of the module `home` with it and `fixed`.

    Spark and Ray pickle a nested function by value, but a function of a module by its name, which fails obscurely where
    Rightcall is not installed. Sent by value, this one can say so, and also notice another version. For the same reason
    `fixed` has to be plain data.
    """
    version = __version__

    def call(given: Any) -> Any:
        from importlib import import_module
        from platform import node

        try:
            found = import_module("rightcall.version").__version__
            function = getattr(import_module(home), name)
        except ImportError as problem:
            raise ImportError(
                f"Rightcall cannot be imported on {node() or 'a worker'} ({problem}): install rightcall[arrow]=="
                f"{version} wherever the engine runs Python"
            ) from None
        if found != version:
            raise ImportError(f"Rightcall is {found} on {node() or 'a worker'}, and {version} where the plan was made")
        return function(given, *fixed)

    return call
