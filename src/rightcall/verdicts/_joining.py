"""Which recorded trajectory belongs to which case?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, TypeAlias, get_args

from rightcall.errors import UnknownNameError, nearest
from rightcall.evalsets import Case
from rightcall.trajectory import Trajectory

Join: TypeAlias = Literal["auto", "attribute", "trace", "order"]
"""By what trajectories are joined to cases.

`attribute`: an attribute of the spans holds the case's id. `trace`: the trace id is the case's id, or stands in its
metadata under `trace_id`. `order`: the first trajectory belongs to the first case, and so on. `auto`: by attribute or
trace id and, where neither says anything of any trajectory and there are as many trajectories as cases, by order.
"""

CASE_ATTRIBUTE = "rightcall.case.id"


class Joining:
    """Trajectories as they are joined to cases; afterwards, what belonged to nothing.

    Raises:
        UnknownNameError: `join` is not a way to join.
    """

    def __init__(self, cases: Sequence[Case], join: Join = "auto", attribute: str = CASE_ATTRIBUTE) -> None:
        if join not in get_args(Join):
            raise UnknownNameError(f"no way to join {join!r:.40}; {nearest(str(join), get_args(Join))}")
        self._cases = cases
        self._join = join
        self._attribute = attribute
        self._by_id = {case.id: case for case in cases}
        self._by_trace = {str(case.metadata["trace_id"]): case for case in cases if "trace_id" in case.metadata}
        self._times: dict[str, int] = {}
        self.strangers = 0
        """How many trajectories belonged to no case."""

    def pairs(self, trajectories: Iterable[Trajectory]) -> Iterator[tuple[Case, Trajectory, int]]:
        """Each trajectory that belongs to a case, with the case and the number of those before it."""
        waiting: list[Trajectory] = []
        for position, trajectory in enumerate(trajectories):
            case = self._case_of(trajectory, position)
            if case is not None:
                yield self._paired(case, trajectory)
                continue
            self.strangers += 1
            if len(waiting) <= len(self._cases):
                waiting.append(trajectory)
        if self._join == "auto" and not self._times and self.strangers == len(self._cases):
            self.strangers = 0
            yield from (self._paired(*pair) for pair in zip(self._cases, waiting, strict=True))

    def left_over(self) -> list[Case]:
        """The cases that no trajectory belonged to."""
        return [case for case in self._cases if case.id not in self._times]

    def _paired(self, case: Case, trajectory: Trajectory) -> tuple[Case, Trajectory, int]:
        repeat = self._times.get(case.id, 0)
        self._times[case.id] = repeat + 1
        return case, trajectory, repeat

    def _case_of(self, trajectory: Trajectory, position: int) -> Case | None:
        if self._join == "order":
            return self._cases[position] if position < len(self._cases) else None
        case = None
        if self._join in ("auto", "attribute"):
            named = trajectory.metadata.get(self._attribute)
            case = None if named is None else self._by_id.get(str(named))
        if case is None and self._join in ("auto", "trace") and trajectory.trace_id is not None:
            case = self._by_trace.get(trajectory.trace_id) or self._by_id.get(trajectory.trace_id)
        return case
