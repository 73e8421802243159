"""Judge many cases at once: evaluators that wait for a model, and plain ones with a deadline."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from rightcall.cases.evalsets import Case, Check
from rightcall.judging import CONCURRENCY, AsyncEvaluator, Execution, Loop
from rightcall.values.results import CaseResult, EvaluationResult, Explained, Explanation, Finding
from rightcall.values.trajectory import Trajectory

from ._judge import combine_results, has_async_evaluators, judge

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

        future: Future[CaseResult] = Future()
        future.set_running_or_notify_cancel()  # so that the caller cannot cancel it, and setting it never fails
        if case.checks and (has_async_evaluators(case) or self._thread is not None):
            _PendingCase(case, trajectory, future, self._thread).collect(self._loop)
        else:
            future.set_result(judge(case, trajectory))
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
    """One case whose evaluators are running. When the last result arrives, its future is set."""

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
                asked.append((number, self._in_thread(self._thread, check)))
            else:
                self._results[number] = check.evaluator.evaluate(self._trajectory, check.criteria)
        # Only now, because a callback runs at once if its future is done, and counts the results that are there.
        for number, answer in asked:
            answer.add_done_callback(lambda answer, number=number: self._take(number, answer))  # type: ignore[misc]

    def _in_thread(self, thread: DeadlineThread, check: Check) -> Future[EvaluationResult]:
        evaluator, trajectory = check.evaluator, self._trajectory
        return thread.submit(
            lambda: evaluator.evaluate(trajectory, check.criteria),
            lambda: evaluator.given_up(trajectory, thread.seconds),
        )

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
        # Explanations are computed when they are read, and compare everything again: they need the deadline, too.
        made = self._thread.submit(lambda: self._explained(results), lambda: self._unexplained(results))
        made.add_done_callback(lambda made: _pass_on(made, self._future))

    def _explained(self, results: list[EvaluationResult]) -> CaseResult:
        for result in results:
            result.explanation.explained()
        return combine_results(self._case, self._trajectory, results)

    def _unexplained(self, results: list[EvaluationResult]) -> CaseResult:
        late = Explained(None, (Finding("RC404", "not explained: that took too long"),))
        bare = [msgspec.structs.replace(result, explanation=Explanation(late)) for result in results]
        return combine_results(self._case, self._trajectory, bare)


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


class DeadlineThread:
    """Run calls one after the other in a thread. A call that exceeds the time limit is abandoned with its thread.

    Python cannot kill a thread: an abandoned one is a daemon that runs until its call ends, or the process does. The
    remaining calls continue in a new thread. Only `check_deadline` looks at the clock, so the caller has to call it
    regularly. The one caller that sets a limit polls for results anyway, so there is no third thread to watch.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._lock = threading.Condition()
        self._queue: deque[_Call] = deque()
        self._current: _Call | None = None
        self._thread: threading.Thread | None = None

    def submit(self, call: Callable[[], ValueT], when_late: Callable[[], ValueT]) -> Future[ValueT]:
        """Return a future of the result of `call`, or of `when_late` if it takes too long."""
        made = _Call(call, when_late)
        with self._lock:
            self._queue.append(made)
            self._ensure_thread()
            self._lock.notify()
        return made.future

    def check_deadline(self) -> None:
        """Abandon the running call if it is late."""
        with self._lock:
            late = self._current
            if late is None or monotonic() - late.started <= self.seconds:
                return
            self._current = self._thread = None
            if self._queue:
                self._ensure_thread()
        late.settle(late.when_late)

    def close(self) -> None:
        """Run no more calls. The futures of those that have not ended are cancelled."""
        from concurrent.futures import CancelledError

        with self._lock:
            abandoned = [*self._queue, *([self._current] if self._current is not None else [])]
            self._queue.clear()
            self._current = self._thread = None
            self._lock.notify_all()
        for made in abandoned:
            made.future.set_exception(CancelledError())

    def _ensure_thread(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name="rightcall-verdicts", daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while (made := self._next()) is not None:
            made.settle(made.call, self._is_wanted)

    def _next(self) -> _Call | None:
        """Wait for the next call. None in a thread that was abandoned."""
        with self._lock:
            self._lock.wait_for(lambda: bool(self._queue) or self._thread is not threading.current_thread())
            if self._thread is not threading.current_thread():
                return None
            self._current = self._queue.popleft()
            self._current.started = monotonic()
            return self._current

    def _is_wanted(self, made: _Call) -> bool:
        """Whether a call that ended was not abandoned meanwhile. From now on it cannot be."""
        with self._lock:
            if self._current is not made:
                return False
            self._current = None
            return True


class _Call:
    """One call and the future of its result."""

    def __init__(self, call: Callable[[], Any], when_late: Callable[[], Any]) -> None:
        from concurrent.futures import Future

        self.call, self.when_late = call, when_late
        self.started = 0.0
        self.future: Future[Any] = Future()
        self.future.set_running_or_notify_cancel()

    def settle(self, call: Callable[[], Any], is_wanted: Callable[[_Call], bool] = lambda made: True) -> None:
        """Run a call, and set the future to what it returns or raises."""
        try:
            value = call()
        except BaseException as problem:  # noqa: BLE001 - raised by `future.result()`
            if is_wanted(self):
                self.future.set_exception(problem)
        else:
            if is_wanted(self):
                self.future.set_result(value)
