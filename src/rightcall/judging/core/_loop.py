"""Run asynchronous evaluators: one event loop for many, and threads for plain functions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

from rightcall.values.results import EvaluationResult

from ._async import AsyncEvaluator, Execution

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future


ValueT = TypeVar("ValueT")


async def in_thread(work: Callable[[], ValueT]) -> ValueT:
    """Run a function in a thread, and return or raise what it does.

    One that never returns keeps its thread, which Python cannot kill; it does not keep the process from ending.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    future: asyncio.Future[ValueT] = loop.create_future()
    threading.Thread(target=_run, args=(work, loop, future), name="rightcall-evaluator", daemon=True).start()
    return await future


def _run(work: Callable[[], Any], loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any]) -> None:
    try:
        value = work()
    except StopIteration as problem:  # a future cannot hold it
        _hand_over(loop, future.set_exception, RuntimeError(f"StopIteration: {problem}"), future)
    except BaseException as problem:  # noqa: BLE001 - it is raised where it is waited for
        _hand_over(loop, future.set_exception, problem, future)
    else:
        _hand_over(loop, future.set_result, value, future)


def _hand_over(
    loop: asyncio.AbstractEventLoop, settle: Callable[[Any], None], value: Any, future: asyncio.Future[Any]
) -> None:
    def settled() -> None:
        if not future.done():
            settle(value)

    try:
        loop.call_soon_threadsafe(settled)
    except RuntimeError:
        return  # the loop is closed: no result is waited for any more


CONCURRENCY = 16
"""How many evaluators are asked at once."""
_ANY_NUMBER = 1_000_000
_LOOK = 0.1
_GRACE = 1.0
"""Seconds after its time is up that an evaluator which does not let the others go on is given up."""
_PATIENCE = 1.0


class Loop:
    """Asks evaluators, a limited number at once; a context manager, which asks no more when it is left.

    One that is late is an error, also if it blocks the event loop: then the loop is left to it, and the others are
    asked again in another one. A thread cannot be killed, so it stays until the process ends.
    """

    def __init__(self, concurrency: int = CONCURRENCY) -> None:
        self._concurrency = concurrency
        self._lock = threading.Lock()
        self._jobs: set[_Job] = set()
        self._room: _Room | None = None
        self._is_closed = threading.Event()

    def __enter__(self) -> Loop:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def ask(self, evaluator: AsyncEvaluator[Any, Any], execution: Execution, criteria: Any) -> Future[EvaluationResult]:
        """The result of an evaluator, to be waited for. It is a result whatever happens, unless this is closed."""
        job = _Job(evaluator, execution, criteria)
        with self._lock:
            if self._room is None:
                self._room = _Room(self._concurrency, self)
                threading.Thread(target=self._watch, name="rightcall-watch", daemon=True).start()
            self._jobs.add(job)
            self._room.admit(job)
        return job.future

    def close(self) -> None:
        """Ask no more. What has no answer yet gets none."""
        self._is_closed.set()
        with self._lock:
            jobs, room = list(self._jobs), self._room
            self._jobs.clear()
        if jobs:
            from concurrent.futures import CancelledError

            for job in jobs:
                job.future.set_exception(CancelledError())
        if room is not None:
            room.close()

    def settle(self, job: _Job, room: _Room, result: EvaluationResult | BaseException) -> None:
        """Note the answer to a question that is still open, and has not been asked again elsewhere."""
        with self._lock:
            if job not in self._jobs or job.room is not room:
                return
            self._jobs.discard(job)
        if isinstance(result, BaseException):
            job.future.set_exception(result)
        else:
            job.future.set_result(result)

    def _watch(self) -> None:
        while not self._is_closed.wait(_LOOK):
            blocking = self._blocking(monotonic())
            for job in blocking:
                job.future.set_result(job.evaluator.timed_out(job.execution, "it does not let others go on"))

    def _blocking(self, now: float) -> list[_Job]:
        """Those that block the loop. All others are asked again in another one."""
        with self._lock:
            late = [job for job in self._jobs if job.is_late(now)]
            if not late or self._room is None:
                return []
            stuck, current = self._room, self._room.current()
            blamed = [job for job in self._jobs if job.task is not None and job.task is current] or late
            self._jobs.difference_update(blamed)
            stuck.leave()
            self._room = _Room(self._concurrency, self)
            for job in self._jobs:
                self._room.admit(job)
        return blamed


class _Job:
    """One question to one evaluator."""

    def __init__(self, evaluator: AsyncEvaluator[Any, Any], execution: Execution, criteria: Any) -> None:
        from concurrent.futures import Future

        self.evaluator, self.execution, self.criteria = evaluator, execution, criteria
        self.future: Future[EvaluationResult] = Future()
        self.future.set_running_or_notify_cancel()
        self.room: _Room | None = None
        self.task: asyncio.Task[EvaluationResult] | None = None
        self.started: float | None = None

    def is_late(self, now: float) -> bool:
        """Return whether its own time limit should have ended it long ago."""
        return self.started is not None and now - self.started > self.evaluator.config.timeout + _GRACE

    def begun(self, task: asyncio.Task[EvaluationResult]) -> None:
        self.task = task


class _Room:
    """One event loop in one thread."""

    def __init__(self, concurrency: int, owner: Loop) -> None:
        import asyncio

        self._owner = owner
        self._loop = asyncio.new_event_loop()
        # Complaints about tasks of an evaluator that was given up would only confuse.
        self._loop.set_exception_handler(lambda loop, context: None)
        self._seats = asyncio.Semaphore(concurrency)
        self._lanes: dict[tuple[str, int] | None, asyncio.Semaphore] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="rightcall-judging", daemon=True)
        self._thread.start()

    def admit(self, job: _Job) -> None:
        """Have a job done."""
        job.room, job.task, job.started = self, None, None
        self._loop.call_soon_threadsafe(self._begin, job)

    def current(self) -> asyncio.Task[Any] | None:
        """The task that is being run at this moment."""
        import asyncio

        return asyncio.current_task(self._loop)

    def leave(self) -> None:
        """End as soon as the code that blocks the loop lets go of it."""
        self._loop.call_soon_threadsafe(self._loop.stop)

    def close(self) -> None:
        """End, and wait a moment for that."""
        if self._thread.is_alive():
            self.leave()
            self._thread.join(_PATIENCE)

    def _run(self) -> None:
        import asyncio

        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self._loop.run_until_complete(asyncio.wait(tasks, timeout=_PATIENCE / 2))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()

    def _lane(self, lane: tuple[str, int] | None) -> asyncio.Semaphore:
        import asyncio

        return self._lanes.setdefault(lane, asyncio.Semaphore(lane[1] if lane is not None else _ANY_NUMBER))

    def _begin(self, job: _Job) -> None:
        task = self._loop.create_task(self._serve(job))
        self._tasks.add(task)  # a loop alone does not keep its tasks alive
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, job: _Job) -> None:
        # Who waits for a lane holds no seat, and its time has not begun.
        async with self._lane(job.evaluator.lane), self._seats:
            if job.room is not self:  # it is asked anew elsewhere
                return
            job.started = monotonic()
            try:
                result = await job.evaluator.evaluate_execution(job.execution, job.criteria, job.begun)
            except Exception as problem:  # noqa: BLE001 - it becomes the answer
                self._owner.settle(job, self, problem)
                return
        self._owner.settle(job, self, result)
