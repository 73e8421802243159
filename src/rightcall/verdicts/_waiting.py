"""Judges cases whose evaluators may have to wait, many of them at once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from rightcall.evalsets import Case
from rightcall.evaluators import CONCURRENCY, Execution, Loop, WaitingEvaluator
from rightcall.results import CaseResult, EvaluationResult
from rightcall.trajectory import Trajectory

from ._judging import judge, judged, waits

if TYPE_CHECKING:
    from concurrent.futures import Future


class Judging:
    """Judges cases; a context manager. Evaluators that have to wait are asked several at a time.

    A case of plain evaluators is judged at once, in the thread that submits it, and no other thread is started. What
    plain evaluators say stands, whatever becomes of those that wait.
    """

    def __init__(self, concurrency: int = CONCURRENCY) -> None:
        self._loop = Loop(concurrency)

    def __enter__(self) -> Judging:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def submit(self, case: Case, trajectory: Trajectory) -> Future[CaseResult]:
        """The result of a case, to be waited for. It is there already if no evaluator of the case waits."""
        from concurrent.futures import Future

        future: Future[CaseResult] = Future()
        future.set_running_or_notify_cancel()
        if waits(case):
            _Verdict(case, trajectory, future).collect(self._loop)
        else:
            future.set_result(judge(case, trajectory))
        return future

    def close(self) -> None:
        """Wait for nobody any more. Cases that are not judged by now never are: their futures are cancelled."""
        self._loop.close()


class _Verdict:
    """One case while its evaluators are asked."""

    def __init__(self, case: Case, trajectory: Trajectory, future: Future[CaseResult]) -> None:
        self._case, self._trajectory, self._future = case, trajectory, future
        self._results: dict[int, EvaluationResult] = {}
        self._lock = threading.Lock()

    def collect(self, loop: Loop) -> None:
        """Ask all evaluators: first those that answer at once."""
        execution = execution_of(self._case, self._trajectory)
        asked: list[tuple[int, Future[EvaluationResult]]] = []
        for number, check in enumerate(self._case.checks):
            if isinstance(check.evaluator, WaitingEvaluator):
                asked.append((number, loop.ask(check.evaluator, execution, check.criteria)))
            else:
                self._results[number] = check.evaluator.evaluate(self._trajectory, check.criteria)
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
            results = [self._results[number] for number in range(len(self._case.checks))]
            self._future.set_result(judged(self._case, self._trajectory, results))


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
