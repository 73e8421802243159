"""Scores one trajectory after the other, the same in every process."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from rightcall.cases.evalsets import Case
from rightcall.cases.verdicts import CaseFinder, JudgingExecutor, Overall, ToolNames, has_async_evaluators, judge
from rightcall.errors import InputError
from rightcall.reporting.reports import json_evidence
from rightcall.values.results import CaseResult, Measure, measures_of
from rightcall.values.trajectory import Trajectory

from ._request import Request

if TYPE_CHECKING:
    from concurrent.futures import Future

_AHEAD = 64
"""How many trajectories are judged at once, where evaluators have to wait."""

NameT = TypeVar("NameT")


class Scored(msgspec.Struct, frozen=True):
    """A trajectory's result, without the trajectory and its evaluations: there may be millions of them."""

    result: CaseResult
    trace_id: str | None = None
    evidence: str = ""
    """All but what the result is known by, as JSON, where it was asked for."""
    measures: tuple[Measure, ...] = ()
    """What each evaluator says of it."""
    seen: tuple[Any, ...] = ()
    """What evaluators of all cases together see of it."""
    tools: tuple[str, ...] = ()
    """The tools that were called, where rules name tools that must not be."""


class Stranger(msgspec.Struct, frozen=True):
    """A trajectory that belongs to no case."""

    tools: tuple[str, ...] = ()
    """The tools that were called, as above."""


class Scorer:
    """Holds trajectories against the cases they name, or against one expectation.

    Raises:
        DocumentError: the eval set or the expectation is wrong.
        InputError: the eval set cannot be read, or no case is chosen.
    """

    def __init__(self, request: Request) -> None:
        self._wants_evidence = request.wants_evidence
        cases, checks = request.load()
        expected = request.expected()
        self._case_of = _case_finder(request, cases, expected)
        self._names = ToolNames([*cases, *([expected] if expected is not None else ())])
        self._judging = JudgingExecutor()
        self._overall = Overall(checks)

    def __enter__(self) -> Scorer:
        return self

    def __exit__(self, *problem: object) -> None:
        self._judging.close()

    def scored(self, trajectories: Iterable[tuple[NameT, Trajectory]]) -> Iterator[tuple[NameT, Scored | Stranger]]:
        """The results of trajectories, each if it belongs to a case, with whatever it is named by."""
        return self._in_turn((name, self._case_of(trajectory), trajectory) for name, trajectory in trajectories)

    def scored_as(self, pairs: Iterable[tuple[Case | None, Trajectory]]) -> Iterator[Scored | Stranger]:
        """The results of trajectories that are known to belong to cases."""
        return (found for _, found in self._in_turn((None, case, trajectory) for case, trajectory in pairs))

    def _in_turn(
        self, named: Iterable[tuple[NameT, Case | None, Trajectory]]
    ) -> Iterator[tuple[NameT, Scored | Stranger]]:
        """The results in order, while some more are judged whose evaluators have to wait."""
        waiting: deque[tuple[NameT, Case | None, Trajectory, Future[CaseResult] | None]] = deque()
        problem = None
        try:
            for name, case, trajectory in named:
                if not waiting and (case is None or not has_async_evaluators(case)):
                    judged = None if case is None else judge(case, trajectory)
                    yield name, self._light(case, judged, trajectory)
                    continue
                future = None if case is None else self._judging.submit(case, trajectory)
                waiting.append((name, case, trajectory, future))
                while waiting and (len(waiting) > _AHEAD or waiting[0][3] is None or waiting[0][3].done()):
                    yield self._taken(*waiting.popleft())
        except InputError as caught:
            problem = caught  # told when what was read before it has been
        while waiting:
            yield self._taken(*waiting.popleft())
        if problem is not None:
            raise problem

    def _taken(
        self, name: NameT, case: Case | None, trajectory: Trajectory, judged: Future[CaseResult] | None
    ) -> tuple[NameT, Scored | Stranger]:
        return name, self._light(case, None if judged is None else judged.result(), trajectory)

    def _light(self, case: Case | None, result: CaseResult | None, trajectory: Trajectory) -> Scored | Stranger:
        tools = self._names.seen_in(trajectory.names)
        if case is None or result is None:
            return Stranger(tools)
        is_wanted = self._wants_evidence == "all" or (self._wants_evidence == "bad" and not result.passed)
        evidence = json_evidence(result) if is_wanted else ""
        light = msgspec.structs.replace(result, trajectory=None, results=(), written=())
        seen = self._overall.see(case, result)
        return Scored(light, trajectory.trace_id, evidence, measures_of(result.results), seen, tools)


def _case_finder(request: Request, cases: list[Case], expected: Case | None) -> Callable[[Trajectory], Case | None]:
    if expected is not None:
        return lambda trajectory: expected
    return CaseFinder(cases, request.join, request.case_attribute).case_of
