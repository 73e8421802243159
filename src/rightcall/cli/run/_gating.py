"""The gate of a run while it lasts: when it has spoken, and what it said."""

from __future__ import annotations

from functools import cached_property

from rightcall.reporting.changes import Rounds
from rightcall.reporting.store import GateRecord
from rightcall.values.results import CaseResult

from ._plan import PlannedRun


class Gating:
    """What a gate says of a run; nothing where none was asked for.

    A gate that has spoken has spent its error rate. If the run is resumed, it stays with what it said.

    Raises:
        InputError: what is asked of the gate cannot be met.
    """

    def __init__(self, plan: PlannedRun) -> None:
        asked = plan.gate_plan()
        self._rounds = Rounds(asked) if asked is not None else None
        self._earlier = plan.run.header.gate if plan.run is not None else None

    def add(self, result: CaseResult) -> None:
        """Count a result."""
        if self._rounds is not None:
            self._rounds.take(result)

    @property
    def is_over(self) -> bool:
        """Whether the gate has spoken now, so that the run may end. What it said earlier ends nothing."""
        return self.is_new

    @property
    def is_new(self) -> bool:
        """Whether it has spoken, and had not before the run was resumed."""
        return self._earlier is None and self._rounds is not None and self._rounds.decision is not None

    @property
    def record(self) -> GateRecord | None:
        """What it said; `None` as long as it has not spoken."""
        return self._earlier if self._earlier is not None else self._made if self.is_new else None

    @cached_property
    def _made(self) -> GateRecord | None:
        from rightcall.reporting.reports import gate_record

        decision = self._rounds.decision if self._rounds is not None else None
        return gate_record(decision) if decision is not None else None
