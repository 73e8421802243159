"""Judge many cases at once: evaluators that wait for a model, and plain ones with a deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import msgspec

from rightcall.cases.evalsets import Case, Check
from rightcall.judging import CONCURRENCY, AsyncEvaluator, Execution, Loop
from rightcall.values.results import CaseResult, EvaluationResult, Explained, Explanation, Finding
from rightcall.values.trajectory import Trajectory

from ._judge import combine_results, has_async_evaluators, judge_at_once

if TYPE_CHECKING:
    from concurrent.futures import Future


class JudgingExecutor:
    """A context manager that judges cases in the background, several async evaluators at a time.

    A case with plain evaluators only is judged at once, in the thread that submits it; no other thread is started.
    With a `timeout`, plain evaluators run in another thread and are abandoned when they take longer. The caller has to
    call `check_deadline` regularly for that. The results of the other evaluators of the case are kept.
    """

    def __init__(self, concurrency: int = CONCURRENCY, *, timeout: float | None = None) -> None:
        self._loop = Loop(concurrency)
        self._thread = DeadlineThread(timeout) if timeout is not None else None

    def __enter__(self) -> JudgingExecutor:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def submit(self, case: Case, trajectory: Trajectory) -> Future[CaseResult]:
        """Return a future of the result of a case. It is done already if nothing in the case has to wait."""
        from concurrent.futures import Future  # loads logging, which a plain `judge` does not need

        waits = has_async_evaluators(case)
        if case.checks and self._thread is not None and not waits:
            return self._thread.submit(_judging(case, trajectory, self._thread.seconds))
        future: Future[CaseResult] = Future()
        future.set_running_or_notify_cancel()  # so that the caller cannot cancel it, and setting it never fails
        if waits:
            _PendingCase(case, trajectory, future, self._thread).collect(self._loop)
        else:
            future.set_result(judge_at_once(case, trajectory))
        return future

    def check_deadline(self) -> None:
        """Abandon the plain evaluator that is running if it has taken longer than `timeout`."""
        if self._thread is not None:
            self._thread.check_deadline()

    def close(self) -> None:
        """Stop judging. The futures of cases that have no result yet are cancelled."""
        self._loop.close()
        if self._thread is not None:
            self._thread.close()


Judging = JudgingExecutor
"""The former name of `JudgingExecutor`."""


class _PendingCase:
    """One case of which some evaluators wait. When the last result arrives, its future is set."""

    def __init__(
        self, case: Case, trajectory: Trajectory, future: Future[CaseResult], thread: DeadlineThread | None
    ) -> None:
        self._case, self._trajectory, self._future, self._thread = case, trajectory, future, thread
        self._results: dict[int, EvaluationResult] = {}
        self._lock = threading.Lock()

    def collect(self, loop: Loop) -> None:
        """Start all evaluators."""
        execution = execution_of(self._case, self._trajectory)
        asked: list[tuple[int, Future[EvaluationResult]]] = []
        for number, check in enumerate(self._case.checks):
            if isinstance(check.evaluator, AsyncEvaluator):
                asked.append((number, loop.ask(check.evaluator, execution, check.criteria)))
            elif self._thread is not None:
                step = _evaluation(check, self._trajectory, self._thread.seconds)
                asked.append((number, self._thread.submit(_alone(step))))
            else:
                self._results[number] = check.evaluator.evaluate(self._trajectory, check.criteria)
        # Only now, because a callback runs at once if its future is done, and counts the results that are there.
        for number, answer in asked:
            answer.add_done_callback(lambda answer, number=number: self._take(number, answer))  # type: ignore[misc]

    def _take(self, number: int, answer: Future[EvaluationResult]) -> None:
        if (problem := answer.exception()) is not None:
            with self._lock:
                if not self._future.done():
                    self._future.set_exception(problem)
            return
        with self._lock:
            self._results[number] = answer.result()
            is_last = len(self._results) == len(self._case.checks) and not self._future.done()
        if is_last:
            self._conclude([self._results[number] for number in range(len(self._case.checks))])

    def _conclude(self, results: list[EvaluationResult]) -> None:
        """Set the result of the case."""
        if self._thread is None:
            self._future.set_result(combine_results(self._case, self._trajectory, results))
            return
        made = self._thread.submit(_alone(_conclusion(self._case, self._trajectory, results)))
        made.add_done_callback(lambda made: _pass_on(made, self._future))


def _pass_on(made: Future[CaseResult], future: Future[CaseResult]) -> None:
    problem = made.exception()
    if problem is not None:
        future.set_exception(problem)
    else:
        future.set_result(made.result())


def execution_of(case: Case, trajectory: Trajectory) -> Execution:
    """Return what an async evaluator is given: the case and the recording, but not the criteria of other evaluators."""
    given = list(case.turns) if case.turns else case.input
    return Execution(
        trajectory=trajectory,
        case_id=case.id,
        input=trajectory.input if given is None else given,
        expected_behavior=case.expected_behavior,
        metadata=case.metadata,
    )


ValueT = TypeVar("ValueT")


class Step(NamedTuple):
    """A call, and what is called instead if it takes too long."""

    call: Callable[[], Any]
    when_late: Callable[[], Any]


Steps: TypeAlias = Generator[Step, Any, ValueT]
"""Yields steps, receives what each returns or raises, and returns their result."""


def _judging(case: Case, trajectory: Trajectory, seconds: float) -> Steps[CaseResult]:
    """Judge a case whose evaluators do not wait."""
    results: list[EvaluationResult] = []
    for check in case.checks:
        result: EvaluationResult = yield _evaluation(check, trajectory, seconds)
        results.append(result)
    judged: CaseResult = yield _conclusion(case, trajectory, results)
    return judged


def _alone(step: Step) -> Steps[Any]:
    return (yield step)


def _evaluation(check: Check, trajectory: Trajectory, seconds: float) -> Step:
    evaluator = check.evaluator
    return Step(
        lambda: evaluator.evaluate(trajectory, check.criteria),
        lambda: evaluator.given_up(trajectory, seconds),
    )


def _conclusion(case: Case, trajectory: Trajectory, results: Sequence[EvaluationResult]) -> Step:
    # Explanations are computed when they are read, and compare everything again: they need the deadline, too.
    return Step(lambda: _explained(case, trajectory, results), lambda: _unexplained(case, trajectory, results))


def _explained(case: Case, trajectory: Trajectory, results: Sequence[EvaluationResult]) -> CaseResult:
    for result in results:
        result.explanation.explained()
    return combine_results(case, trajectory, results)


def _unexplained(case: Case, trajectory: Trajectory, results: Sequence[EvaluationResult]) -> CaseResult:
    late = Explained(None, (Finding("RC404", "not explained: that took too long"),))
    bare = [msgspec.structs.replace(result, explanation=Explanation(late)) for result in results]
    return combine_results(case, trajectory, bare)


class DeadlineThread:
    """Take steps one after the other in a thread. A step that exceeds the time limit is abandoned with its thread.

    Python cannot kill a thread: an abandoned one is a daemon that runs until its step ends, or the process does. The
    remaining steps are taken in a new thread. Only `check_deadline` looks at the clock, so the caller has to call it
    regularly. The one caller that sets a limit polls for results anyway, so there is no third thread to watch.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._lock = threading.Lock()
        self._queue: SimpleQueue[_Work | None] = SimpleQueue()
        self._running: _Running | None = None
        self._has_thread = self._is_closed = False

    def submit(self, steps: Steps[ValueT]) -> Future[ValueT]:
        """Return a future of the result of these steps."""
        work = _Work(steps)
        self._queue.put(work)
        if not self._has_thread:
            self._has_thread = True
            self._start_thread()
        return work.future

    def check_deadline(self) -> None:
        """Abandon the running step if it is late."""
        with self._lock:
            late = self._running
            if late is None or monotonic() - late.started <= self.seconds:
                return
            self._running = None
        self._start_thread(late.work, Step(late.step.when_late, late.step.when_late))

    def close(self) -> None:
        """Take no more steps. The futures of work that has not ended are cancelled."""
        with self._lock:
            self._is_closed = True
            running, self._running = self._running, None
        if running is not None:
            running.work.cancel()
        with suppress(Empty):
            while True:
                if (work := self._queue.get_nowait()) is not None:
                    work.cancel()
        self._queue.put(None)

    def _start_thread(self, *begun: Any) -> None:
        threading.Thread(target=self._work, args=begun, name="rightcall-verdicts", daemon=True).start()

    def _work(self, work: _Work | None = None, step: Step | None = None) -> None:
        """Do work that was begun, then what is queued, until there is no more or this thread is abandoned."""
        is_wanted = work is None or self._do(work, step)
        while is_wanted and (work := self._queue.get()) is not None:
            is_wanted = self._do(work, work.after(None))

    def _do(self, work: _Work, step: Step | None) -> bool:
        """Take the steps of a piece of work from this one on; return false if this thread was abandoned or closed."""
        while step is not None:
            mine = _Running(work, step, monotonic())
            with self._lock:
                if self._is_closed:
                    work.cancel()
                    return False
                self._running = mine
            value, problem = _outcome(step.call)
            with self._lock:
                if self._running is not mine:
                    return False
                self._running = None
            step = work.after(value, problem)
        return True


class _Running(NamedTuple):
    """A step that is being taken."""

    work: _Work
    step: Step
    started: float


class _Work:
    """Steps, and the future of their result."""

    def __init__(self, steps: Steps[Any]) -> None:
        from concurrent.futures import Future

        self._steps = steps
        self.future: Future[Any] = Future()
        self.future.set_running_or_notify_cancel()  # so that the caller cannot cancel it, and setting it never fails

    def after(self, value: Any, problem: BaseException | None = None) -> Step | None:
        """Return the step that follows one that returned or raised this; after the last, set the future."""
        try:
            return self._steps.send(value) if problem is None else self._steps.throw(problem)
        except StopIteration as end:
            self.future.set_result(end.value)
        except BaseException as raised:  # noqa: BLE001 - raised by `future.result()`
            self.future.set_exception(raised)
        return None

    def cancel(self) -> None:
        """Set the future to cancelled, because these steps will not be finished."""
        from concurrent.futures import CancelledError

        self.future.set_exception(CancelledError())


def _outcome(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return call(), None
    except BaseException as problem:  # noqa: BLE001 - who waits for the result gets it
        return None, problem
