"""Cases that were run, on their way to a result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from rightcall.cases.evalsets import Case
from rightcall.cases.verdicts import JudgingExecutor, error_result
from rightcall.running import runner
from rightcall.running.runner import CaseFinished
from rightcall.values.results import CaseResult

if TYPE_CHECKING:
    from concurrent.futures import Future


class CaseJudged(msgspec.Struct, frozen=True):
    """A case was run and judged. It comes among the events of the runner."""

    result: CaseResult


class Waiting(msgspec.Struct, frozen=True):
    """Some time has passed, while evaluators take longer than the agent."""


Event: TypeAlias = runner.Event | CaseJudged | Waiting
"""What happens in a run: what the runner says, and what comes of it here."""


class Judgements:
    """What is judged of a run at the moment; a context manager, which gives up what is still open."""

    def __init__(self, cases: Mapping[str, Case], timeout: float) -> None:
        self._cases = cases
        # Not in the loop that feeds the workers: an evaluator that takes long costs its case, not the run.
        self._judging = JudgingExecutor(timeout=timeout)
        self._done: SimpleQueue[tuple[CaseFinished, Future[CaseResult]]] = SimpleQueue()
        self._open = 0

    def __enter__(self) -> Judgements:
        return self

    def __exit__(self, *problem: object) -> None:
        self._judging.close()

    @property
    def are_open(self) -> bool:
        """Whether there are cases whose result has not been taken."""
        return self._open > 0

    def submit(self, event: CaseFinished) -> None:
        """Have a case judged that was run, or note that it broke."""
        from concurrent.futures import Future

        self._open += 1
        case = self._cases[event.case_id]
        if event.outcome.error is not None or event.trajectory is None:
            result: Future[CaseResult] = Future()
            result.set_result(error_result(case, event.outcome, event.trajectory))
        else:
            result = self._judging.submit(case, event.trajectory)
        result.add_done_callback(lambda result: self._done.put((event, result)))

    def finished(self, seconds: float = 0.0) -> Iterator[CaseJudged]:
        """Return the results that are there; if there are none, those that come in so many seconds."""
        self._judging.check_deadline()
        while self._open:
            try:
                event, result = self._done.get(timeout=seconds) if seconds else self._done.get_nowait()
            except Empty:
                return
            seconds = 0.0
            self._open -= 1
            yield CaseJudged(msgspec.structs.replace(result.result(), repeat=event.repeat, outcome=event.outcome))
