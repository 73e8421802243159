"""Scores one trajectory after the other, the same in every process."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import msgspec

from rightcall.cases.evalsets import Case
from rightcall.cases.verdicts import CaseFinder, JudgingExecutor, Overall, ToolNames, has_async_evaluators, judge
from rightcall.errors import InputError
from rightcall.reading import Reading
from rightcall.scale.request import Request
from rightcall.values.results import CaseResult, Measure, measures_of
from rightcall.values.trajectory import Trajectory

if TYPE_CHECKING:
    from concurrent.futures import Future

_AHEAD = 64
"""How many trajectories are judged at once where evaluators wait for a model."""

Evidence: TypeAlias = Literal["", "bad", "all"]
"""Which results another process sends whole: none, those that did not pass, or all."""

NameT = TypeVar("NameT")


class Scored(msgspec.Struct, frozen=True):
    """The result of a trajectory."""

    result: CaseResult
    """Whole, unless the result comes from another process: then without its trajectory and evaluations."""
    trace_id: str | None = None
    evidence: str | None = None
    """What the result lacks, as JSON, if it comes from another process and was asked for."""
    measures: tuple[Measure, ...] = ()
    """What each evaluator says of it."""
    seen: tuple[Any, ...] = ()
    """What evaluators of all cases together need of it."""
    tools: tuple[str, ...] = ()
    """The tools that were called, where rules name tools that must not be called."""

    def packed(self, evidence: Evidence) -> Scored:
        """Return it as it goes to another process: there may be millions, so `all`, the `bad` or none go whole."""
        from rightcall.reporting.reports import json_evidence

        is_wanted = evidence == "all" or (evidence == "bad" and not self.result.passed)
        light = msgspec.structs.replace(self.result, trajectory=None, results=(), written=())
        return msgspec.structs.replace(self, result=light, evidence=json_evidence(self.result) if is_wanted else None)

    def whole(self) -> CaseResult:
        """Return the result with everything that it is made of."""
        return self.result if self.evidence is None else CaseResult.from_json(self.document())

    def document(self) -> str:
        """Return the whole result as JSON."""
        from rightcall.reporting.reports import json_case

        return self.result.to_json() if self.evidence is None else json_case(self.result, self.evidence)


class Unmatched(msgspec.Struct, frozen=True):
    """A trajectory that belongs to no case."""

    tools: tuple[str, ...] = ()
    """The tools that were called, as above."""
    trajectory: Trajectory | None = None
    """The trajectory itself, if it does not come from another process."""


class Scorer:
    """Checks trajectories against the cases they name, or against one expectation; a context manager.

    Raises:
        DocumentError: the eval set or the expectation is wrong.
        InputError: the eval set cannot be read, or no case is chosen.
    """

    def __init__(self, request: Request, reading: Reading) -> None:
        expected = request.expected
        self._for_all = expected.for_all
        self._joining = CaseFinder(expected.cases, request.join, reading.case_attribute)
        self._names = ToolNames(expected.rules)
        self._judging = JudgingExecutor()
        self._overall = Overall(expected.overall)

    def __enter__(self) -> Scorer:
        return self

    def __exit__(self, *problem: object) -> None:
        self._judging.close()

    def scored(self, trajectories: Iterable[tuple[NameT, Trajectory]]) -> Iterator[tuple[NameT, Scored | Unmatched]]:
        """The results of trajectories in order, each with the name it came with."""
        return self.scored_as((name, self._case_of(trajectory), trajectory) for name, trajectory in trajectories)

    def scored_as(
        self, named: Iterable[tuple[NameT, Case | None, Trajectory]]
    ) -> Iterator[tuple[NameT, Scored | Unmatched]]:
        """The results of trajectories whose cases are known. Those whose evaluators wait are judged side by side."""
        # A deque of what was submitted keeps the order of the files, whichever evaluator finishes first.
        waiting: deque[tuple[NameT, Case | None, Trajectory, Future[CaseResult] | None]] = deque()
        problem = None
        try:
            for name, case, trajectory in named:
                if not waiting and (case is None or not has_async_evaluators(case)):
                    yield name, self._outcome(case, None if case is None else judge(case, trajectory), trajectory)
                    continue
                future = None if case is None else self._judging.submit(case, trajectory)
                waiting.append((name, case, trajectory, future))
                while waiting and (len(waiting) > _AHEAD or waiting[0][3] is None or waiting[0][3].done()):
                    yield self._taken(*waiting.popleft())
        except InputError as caught:
            problem = caught  # raised after the results of what was read before it
        while waiting:
            yield self._taken(*waiting.popleft())
        if problem is not None:
            raise problem

    def _case_of(self, trajectory: Trajectory) -> Case | None:
        return self._for_all or self._joining.case_of(trajectory)

    def _taken(
        self, name: NameT, case: Case | None, trajectory: Trajectory, judged: Future[CaseResult] | None
    ) -> tuple[NameT, Scored | Unmatched]:
        return name, self._outcome(case, None if judged is None else judged.result(), trajectory)

    def _outcome(self, case: Case | None, result: CaseResult | None, trajectory: Trajectory) -> Scored | Unmatched:
        tools = self._names.seen_in(trajectory.names)
        if case is None or result is None:
            return Unmatched(tools, trajectory)
        seen = self._overall.see(case, result)
        return Scored(result, trajectory.trace_id, None, measures_of(result.results), seen, tools)
