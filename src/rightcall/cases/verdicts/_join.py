"""Find the case that a recorded trajectory belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias, get_args

from rightcall.cases.evalsets import Case
from rightcall.errors import UnknownNameError, nearest
from rightcall.values.trajectory import Trajectory

Join: TypeAlias = Literal["auto", "attribute", "trace", "order"]
"""How trajectories are joined to cases.

`attribute`: an attribute of the spans has the id of the case. `trace`: the trace id is the id of the case, or is in its
metadata under `trace_id`. `order`: the first trajectory belongs to the first case, and so on. `auto`: by attribute or
trace id; by order if neither names a case for any trajectory and there are as many trajectories as cases.
"""

CASE_ATTRIBUTE = "rightcall.case.id"


class CaseFinder:
    """Finds the case of a trajectory by what is recorded in it.

    Raises:
        UnknownNameError: `join` is not one of the ways to join.
    """

    def __init__(self, cases: Sequence[Case], join: Join = "auto", attribute: str = CASE_ATTRIBUTE) -> None:
        if join not in get_args(Join):
            raise UnknownNameError(f"unknown way to join {join!r:.40}; {nearest(str(join), get_args(Join))}")
        self._join = join
        self._attribute = attribute
        self._by_id = {case.id: case for case in cases}
        self._by_trace = {str(case.metadata["trace_id"]): case for case in cases if "trace_id" in case.metadata}

    def case_of(self, trajectory: Trajectory) -> Case | None:
        """Return the case that a trajectory names by an attribute or by its trace id, if any."""
        return self.case_named(trajectory.metadata.get(self._attribute), trajectory.trace_id)

    def case_named(self, named: object, trace_id: str | None) -> Case | None:
        """Return the case with this id or, failing that, the case of this trace, if any."""
        case = None
        if self._join in ("auto", "attribute") and named is not None:
            # The attribute was set for this purpose, so it wins over the trace id.
            case = self._by_id.get(str(named))
        if case is None and self._join in ("auto", "trace") and trace_id is not None:
            case = self._by_trace.get(trace_id) or self._by_id.get(trace_id)
        return case
