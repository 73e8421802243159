"""Files of traces in, the trajectories of each case out."""

from __future__ import annotations

from collections.abc import Sequence

from rightcall.cases.evalsets import Case
from rightcall.cases.verdicts import CaseFinder
from rightcall.values.trajectory import Trajectory

from ._request import Request
from ._sources import Sources


class Observing:
    """Recorded traces, sorted by the cases they belong to, as `Scoring` would judge them."""

    def __init__(self, request: Request, sources: Sources) -> None:
        self._request, self._sources = request, sources
        self.strangers = 0
        """How many trajectories belong to no case."""

    def by_case(self, cases: Sequence[Case]) -> dict[str, list[Trajectory]]:
        """The trajectories of each of these cases, by its id.

        Raises:
            InputError: no file at all can be read.
        """
        joining = CaseFinder(cases, self._request.join, self._request.case_attribute)
        found: dict[str, list[Trajectory]] = {case.id: [] for case in cases}
        strangers: list[Trajectory] = []
        for _, trajectory in self._sources.trajectories():
            case = None if self._request.join == "order" else joining.case_of(trajectory)
            if case is not None:
                found[case.id].append(trajectory)
                continue
            self.strangers += 1
            if len(strangers) < len(cases):
                strangers.append(trajectory)
        by_order = self._request.join == "auto" and not any(found.values()) and self.strangers == len(cases)
        if by_order or self._request.join == "order":
            self.strangers -= len(strangers)
            return {case.id: [trajectory] for case, trajectory in zip(cases, strangers, strict=False)}
        return found
