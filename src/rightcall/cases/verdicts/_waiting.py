"""Judges cases whose evaluators may have to wait, many of them at once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import msgspec

from rightcall.cases.evalsets import Case, Check
from rightcall.judging import CONCURRENCY, Execution, Loop, WaitingEvaluator
from rightcall.values.results import CaseResult, EvaluationResult, Explanation, Finding, Told
from rightcall.values.trajectory import Trajectory

from ._deadline import DeadlineThread
from ._judging import judge, judged, waits

if TYPE_CHECKING:
    from concurrent.futures import Future


class Judging:
    """Judges cases; a context manager. Evaluators that have to wait are asked several at a time.

    A case of plain evaluators is judged at once, in the thread that submits it, and no other thread is started. With
    a `timeout` it is judged in another thread, and an evaluator that takes longer is given up: for a caller that has
    more to do than to wait, and that calls `look` meanwhile. What the other evaluators of the case say stands.
    """

    def __init__(self, concurrency: int = CONCURRENCY, *, timeout: float | None = None) -> None:
        self._loop = Loop(concurrency)
        self._thread = DeadlineThread(timeout) if timeout is not None else None

    def __enter__(self) -> Judging:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def submit(self, case: Case, trajectory: Trajectory) -> Future[CaseResult]:
        """The result of a case, to be waited for. It is there already if no evaluator of the case waits."""
        from concurrent.futures import Future

        future: Future[CaseResult] = Future()
        future.set_running_or_notify_cancel()
        if case.checks and (waits(case) or self._thread is not None):
            _Verdict(case, trajectory, future, self._thread).collect(self._loop)
        else:
            future.set_result(judge(case, trajectory))
        return future

    def look(self) -> None:
        """Give up the plain evaluator that is at work, if it has taken longer than `timeout`."""
        if self._thread is not None:
            self._thread.look()

    def close(self) -> None:
        """Wait for nobody any more. Cases that are not judged by now never are: their futures are cancelled."""
        self._loop.close()
        if self._thread is not None:
            self._thread.close()


class _Verdict:
    """One case while its evaluators are asked."""

    def __init__(
        self, case: Case, trajectory: Trajectory, future: Future[CaseResult], thread: DeadlineThread | None
    ) -> None:
        self._case, self._trajectory, self._future, self._thread = case, trajectory, future, thread
        self._results: dict[int, EvaluationResult] = {}
        self._lock = threading.Lock()

    def collect(self, loop: Loop) -> None:
        """Ask all evaluators: first those that answer at once."""
        execution = execution_of(self._case, self._trajectory)
        asked: list[tuple[int, Future[EvaluationResult]]] = []
        for number, check in enumerate(self._case.checks):
            if isinstance(check.evaluator, WaitingEvaluator):
                asked.append((number, loop.ask(check.evaluator, execution, check.criteria)))
            elif self._thread is not None:
                asked.append((number, self._in_thread(self._thread, check)))
            else:
                self._results[number] = check.evaluator.evaluate(self._trajectory, check.criteria)
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
        """Make the result of the case. Explaining is comparing once more, so that it takes its time, too."""
        if self._thread is None:
            self._future.set_result(judged(self._case, self._trajectory, results))
            return
        made = self._thread.submit(lambda: self._explained(results), lambda: self._unexplained(results))
        made.add_done_callback(lambda made: _pass_on(made, self._future))

    def _explained(self, results: list[EvaluationResult]) -> CaseResult:
        for result in results:
            result.explanation.told()
        return judged(self._case, self._trajectory, results)

    def _unexplained(self, results: list[EvaluationResult]) -> CaseResult:
        late = Told(None, (Finding("RC404", "not explained: that took too long"),))
        bare = [msgspec.structs.replace(result, explanation=Explanation(late)) for result in results]
        return judged(self._case, self._trajectory, bare)


def _pass_on(made: Future[CaseResult], future: Future[CaseResult]) -> None:
    problem = made.exception()
    if problem is not None:
        future.set_exception(problem)
    else:
        future.set_result(made.result())


def execution_of(case: Case, trajectory: Trajectory) -> Execution:
    """What evaluators that wait are told: what the case says and what was recorded, but not what others expect."""
    given = list(case.turns) if case.turns else case.input
    return Execution(
        trajectory=trajectory,
        case_id=case.id,
        input=trajectory.input if given is None else given,
        expected_behavior=case.expected_behavior,
        metadata=case.metadata,
    )
