"""Scores one trajectory after the other, the same in every process."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from rightcall.evalsets import Case, load_expectation
from rightcall.reports import json_evidence
from rightcall.results import CaseResult, Measure, measures_of
from rightcall.trajectory import Trajectory
from rightcall.verdicts import Joining, judge

from ._request import Request


class Scored(msgspec.Struct, frozen=True):
    """A trajectory's result, without the trajectory and its evaluations: there may be millions of them."""

    result: CaseResult
    trace_id: str | None = None
    evidence: str = ""
    """All but what the result is known by, as JSON, where it was asked for."""
    measures: tuple[Measure, ...] = ()
    """What each evaluator says of it."""


class Stranger(msgspec.Struct, frozen=True):
    """A trajectory that belongs to no case."""


STRANGER = Stranger()


class Scorer:
    """Holds trajectories against the cases they name, or against one expectation.

    Raises:
        DocumentError: the eval set or the expectation is wrong.
        InputError: the eval set cannot be read, or no case is chosen.
    """

    def __init__(self, request: Request) -> None:
        self._wants_evidence = request.wants_evidence
        self._case_of = _case_finder(request)

    def scored(self, trajectory: Trajectory) -> Scored | Stranger:
        """The result of a trajectory, if it belongs to a case."""
        case = self._case_of(trajectory)
        return STRANGER if case is None else self.score(case, trajectory)

    def score(self, case: Case, trajectory: Trajectory) -> Scored:
        """The result of a trajectory that is known to belong to a case."""
        result = judge(case, trajectory)
        is_wanted = self._wants_evidence == "all" or (self._wants_evidence == "bad" and not result.passed)
        evidence = json_evidence(result) if is_wanted else ""
        light = msgspec.structs.replace(result, trajectory=None, results=(), written=())
        return Scored(light, trajectory.trace_id, evidence, measures_of(result.results))


def _case_finder(request: Request) -> Callable[[Trajectory], Case | None]:
    if request.expectation is not None:
        case = load_expectation(*request.expectation)("")
        return lambda trajectory: case
    return Joining(request.cases(), request.join, request.case_attribute).case_of
