"""Evaluators that wait for a model or for the user's code, and the one event loop that runs many of them."""

from __future__ import annotations

import threading
import traceback
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import msgspec

from rightcall.errors import LimitError, shown
from rightcall.values.results import EvaluationResult, Explained, Explanation, Finding, Justification
from rightcall.values.trajectory import ToolCall, Trajectory

from ._evaluator import Evaluator, Measurement, NoPlan
from ._expected_calls import AgentExecution, Config, number_in_text
from ._selection import Criteria, Selection, select
from ._user_model import FINITE, Before, Bounds

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future


_OURS = str(Path(__file__).parents[2])
DEFAULT_TIMEOUT = 60.0
"""Seconds that one evaluation may take, unless its configuration says otherwise."""
ValueT = TypeVar("ValueT")


class Execution(msgspec.Struct, frozen=True, kw_only=True):
    """One run of an agent, with the data of its case."""

    trajectory: Trajectory
    case_id: str = ""
    input: Any = None
    """The input of the agent; in a conversation of several turns, the list of the inputs of all turns."""
    expected_behavior: str = ""
    """What the agent should do, in words."""
    metadata: Mapping[str, Any] = {}
    """The metadata of the case."""

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that were made."""
        return self.trajectory.calls

    @property
    def output(self) -> Any:
        """The agent's final answer."""
        return self.trajectory.output


class AsyncConfig(Config):
    """The configuration of an evaluator that waits."""

    timeout: Annotated[float, Before(number_in_text), Bounds(above=0, most=FINITE)] = DEFAULT_TIMEOUT
    """Seconds that one evaluation may take."""


ConfigT = TypeVar("ConfigT", bound=AsyncConfig)
CriteriaT = TypeVar("CriteriaT", bound=Criteria)


class AsyncEvaluator(Evaluator[ConfigT, CriteriaT, NoPlan]):
    """Judges executions with code that waits for something. A subclass implements `assess`, and keeps no state.

    An evaluation that raises, takes longer than `timeout`, or returns anything but a result with a score from 0.0 to
    1.0, is an error: never a score. If the trace leaves open which calls were made, nothing is asked, and the result is
    `not_measured`, unless `reads_calls` is false.
    """

    waits: ClassVar[bool] = True
    config_type = AsyncConfig
    criteria_type = Criteria

    @property
    def lane(self) -> tuple[str, int] | None:
        """A resource that evaluators share and how many may use it at once, such as one endpoint; `None` by default."""
        return None

    @abstractmethod
    async def assess(self, execution: Execution, criteria: CriteriaT) -> EvaluationResult:
        """Judge an execution, which has only the calls that the criteria select.

        Make results with `scored`, `broken` and `unmeasured`. Whatever is raised becomes an error, RC402.
        """

    async def evaluate_execution(
        self,
        execution: Execution,
        criteria: CriteriaT,
        on_start: Callable[[asyncio.Task[EvaluationResult]], None] = lambda task: None,
    ) -> EvaluationResult:
        """Judge an execution within the time limit. `on_start` is called with the task that judges it."""
        import asyncio

        started = perf_counter()
        chosen = _chosen(execution, criteria)
        doubts = chosen.doubts if self.reads_calls else None
        if doubts is not None and (doubts.members or doubts.missing):
            return self._in_doubt(execution, doubts.reasons)
        task = asyncio.ensure_future(self._attempt(_narrowed(execution, chosen), criteria))
        on_start(task)
        try:
            # Not `wait_for`, which waits until a cancelled task ends: one that ignores its cancellation would never.
            await asyncio.wait({task}, timeout=self.config.timeout)
        finally:
            task.cancel()
        result = self._answer(task, execution)
        seconds = result.evaluation_time or perf_counter() - started
        return msgspec.structs.replace(result, evaluation_time=seconds)

    def evaluate(
        self,
        trajectory: Trajectory | Iterable[str | Mapping[str, Any] | ToolCall],
        criteria: Mapping[str, Any] | CriteriaT | None = None,
    ) -> EvaluationResult:
        """Judge a trajectory, and return when there is an answer or the time is over.

        Raises:
            CriteriaError: the criteria are wrong or missing.
            InputError: the trajectory is not one.
        """
        checked = self.criteria(criteria)
        if not isinstance(trajectory, Trajectory):
            trajectory = Trajectory.of(trajectory, limits=self.limits)

        with Loop() as loop:
            return loop.ask(self, Execution(trajectory=trajectory, input=trajectory.input), checked).result()

    async def validate_and_evaluate_criteria(
        self,
        agent_execution: AgentExecution,
        evaluation_criteria: Mapping[str, Any] | CriteriaT | None = None,
    ) -> EvaluationResult:
        """Judge an execution, in the calling style of UiPath's documents."""
        execution = Execution(
            trajectory=agent_execution.trajectory,
            input=agent_execution.agent_input,
            expected_behavior=agent_execution.expected_agent_behavior or "",
        )
        return await self.evaluate_execution(execution, self.criteria(evaluation_criteria))

    def scored(
        self,
        execution: Execution,
        score: float,
        justification: Justification | None = None,
        findings: tuple[Finding, ...] = (),
        warnings: tuple[str, ...] = (),
    ) -> EvaluationResult:
        """Return a result with a score, passed or failed by the threshold."""
        return EvaluationResult(
            evaluator=self.id,
            verdict="passed" if score >= self.config.threshold else "failed",
            score=score,
            threshold=self.config.threshold,
            warnings=(*execution.trajectory.warnings, *warnings),
            explanation=Explanation(Explained(justification, findings)),
        )

    def broken(
        self,
        execution: Execution,
        code: str,
        reason: str,
        justification: Justification | None = None,
        traceback: str | None = None,
    ) -> EvaluationResult:
        """Return a result that is an error: nothing was measured, and the reason says why."""
        return self._error(code, reason, execution.trajectory, trace=traceback, justification=justification)

    def unmeasured(self, execution: Execution, reason: str) -> EvaluationResult:
        """Return a result without a score: what it depends on was not recorded."""
        return EvaluationResult(
            evaluator=self.id,
            verdict="not_measured",
            threshold=self.config.threshold,
            warnings=(*execution.trajectory.warnings, f"not measured: {reason}"),
            explanation=Explanation(Explained(None, (Finding("RC301", reason),))),
        )

    def _in_doubt(self, execution: Execution, reasons: tuple[Finding, ...]) -> EvaluationResult:
        result = self.unmeasured(execution, "; ".join([reason.message for reason in reasons]))
        return msgspec.structs.replace(result, explanation=Explanation(Explained(None, reasons)))

    def timed_out(self, execution: Execution, reason: str = "") -> EvaluationResult:
        """Return the result of an evaluation that took too long."""
        late = f"{self.id!r} did not answer within {self.config.timeout:g} s"
        return self.broken(execution, "RC404", f"{late}: {reason}" if reason else late)

    def compile(self, criteria: CriteriaT) -> NoPlan:
        """Return an empty plan: criteria are read when there is something to judge."""
        return NoPlan()

    def measure(self, selection: Selection, plan: NoPlan) -> Measurement:
        """Not called: `assess` gives a result, not a measurement."""
        raise NotImplementedError

    def _answer(self, task: asyncio.Task[EvaluationResult], execution: Execution) -> EvaluationResult:
        if not task.done():
            return self.timed_out(execution)
        if task.cancelled():
            return self.broken(execution, "RC402", f"{self.id!r} cancelled itself while judging")
        return task.result()

    async def _attempt(self, execution: Execution, criteria: CriteriaT) -> EvaluationResult:
        """Return what `assess` returns, or an error if it raises."""
        try:
            return self._checked(execution, await self.assess(execution, criteria))
        except LimitError as problem:
            return self.broken(execution, "RC401", f"limit exceeded: {problem}")
        # An event loop ends with SystemExit and KeyboardInterrupt, and this one serves many.
        except (Exception, SystemExit, KeyboardInterrupt) as problem:  # noqa: BLE001 - a fault costs this result only
            reason = f"{type(problem).__name__} while judging: {problem}"
            return self.broken(execution, "RC402", reason, traceback=_traceback_of(problem))

    def _checked(self, execution: Execution, result: Any) -> EvaluationResult:
        if not isinstance(result, EvaluationResult):
            return self.broken(execution, "RC402", f"{self.id!r} returned {shown(result)}, which is not a result")
        if result.verdict in ("passed", "failed") and not is_score(result.score):
            return self.broken(execution, "RC402", f"{self.id!r} gave the score {shown(result.score)}; one is 0 to 1")
        return result


def _traceback_of(problem: BaseException) -> str:
    """Return the traceback of an exception, without frames of Rightcall unless there are no others."""
    trace = traceback.TracebackException.from_exception(problem, limit=-200)
    theirs = [frame for frame in trace.stack if not frame.filename.startswith(_OURS)]
    if theirs:
        trace.stack = traceback.StackSummary.from_list(theirs)
    return "".join(trace.format())


def is_score(value: object) -> bool:
    """Return whether a value is a score: a number from 0 to 1. NaN is not."""
    return isinstance(value, (int, float)) and 0.0 <= value <= 1.0


def _chosen(execution: Execution, criteria: Any) -> Selection:
    """Return the calls that the criteria select."""
    wanted = criteria if isinstance(criteria, Criteria) else _EVERY_CALL
    return select(execution.trajectory, wanted, {call.name for call in execution.calls})


def _narrowed(execution: Execution, chosen: Selection) -> Execution:
    """Return the execution with the selected calls only."""
    if chosen.positions is None and not chosen.free:
        return execution
    trajectory = msgspec.structs.replace(execution.trajectory, calls=tuple(chosen.calls), unordered=chosen.loose)
    return msgspec.structs.replace(execution, trajectory=trajectory)


_EVERY_CALL = Criteria()

WaitingConfig = AsyncConfig
"""The former name."""
WaitingEvaluator = AsyncEvaluator
"""The former name."""


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
"""Seconds beyond its time limit after which an evaluator that blocks the event loop is given up."""
_PATIENCE = 1.0


class Loop:
    """Runs evaluators, a limited number at once; a context manager, which stops on exit.

    An evaluator that takes too long gets an error, even if it blocks the event loop: then that loop is abandoned, and
    the other evaluators are started again in a new one. A thread cannot be killed, so it stays until the process ends.
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
        """Start an evaluator, and return the future of its result; closing this cancels the future."""
        job = _Job(evaluator, execution, criteria)
        with self._lock:
            if self._room is None:
                self._room = _Room(self._concurrency, self)
                threading.Thread(target=self._watch, name="rightcall-watch", daemon=True).start()
            self._jobs.add(job)
            self._room.admit(job)
        return job.future

    def close(self) -> None:
        """Stop. Evaluations without a result are cancelled."""
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
        """Set the result of a job, unless it has one or was started again in another room."""
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
        """Return the jobs that block the event loop. All others are started again in a new one."""
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
    """One evaluation of one execution."""

    def __init__(self, evaluator: AsyncEvaluator[Any, Any], execution: Execution, criteria: Any) -> None:
        from concurrent.futures import Future

        self.evaluator, self.execution, self.criteria = evaluator, execution, criteria
        self.future: Future[EvaluationResult] = Future()
        self.future.set_running_or_notify_cancel()
        self.room: _Room | None = None
        self.task: asyncio.Task[EvaluationResult] | None = None
        self.started: float | None = None

    def is_late(self, now: float) -> bool:
        """Return whether its own time limit should have ended it by now."""
        return self.started is not None and now - self.started > self.evaluator.config.timeout + _GRACE

    def begun(self, task: asyncio.Task[EvaluationResult]) -> None:
        self.task = task


class _Room:
    """One event loop in one thread."""

    def __init__(self, concurrency: int, owner: Loop) -> None:
        import asyncio

        self._owner = owner
        self._loop = asyncio.new_event_loop()
        # Messages about tasks of an evaluator that was given up would only confuse.
        self._loop.set_exception_handler(lambda loop, context: None)
        self._seats = asyncio.Semaphore(concurrency)
        self._lanes: dict[tuple[str, int] | None, asyncio.Semaphore] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._run, name="rightcall-judging", daemon=True)
        self._thread.start()

    def admit(self, job: _Job) -> None:
        """Start a job."""
        job.room, job.task, job.started = self, None, None
        self._loop.call_soon_threadsafe(self._begin, job)

    def current(self) -> asyncio.Task[Any] | None:
        """The task that is being run at this moment."""
        import asyncio

        return asyncio.current_task(self._loop)

    def leave(self) -> None:
        """Stop as soon as the code that blocks the loop returns to it."""
        self._loop.call_soon_threadsafe(self._loop.stop)

    def close(self) -> None:
        """Stop, and wait briefly for the thread."""
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
        # A job that waits for a lane takes no seat, and its time limit has not begun.
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
