"""The outcome of the faults that were put into trajectories: which an eval set noticed, and which it let pass."""

from __future__ import annotations

import msgspec


class Survivor(msgspec.Struct, frozen=True, kw_only=True):
    """A fault that a case let pass."""

    operator: str
    fault: str = msgspec.field(name="told")
    """The fault in words; the file of a run has it as `told`."""
    line: str = ""
    """What would notice it, as it is added to the case; empty if no line was found that does."""
    calls: tuple[str, ...] = ()
    """The calls with the fault in them."""


class MutatedCase(msgspec.Struct, frozen=True, kw_only=True):
    """The faults of one case, counted by operator."""

    case_id: str
    expected: tuple[str, ...] = ()
    """The calls of the trajectory that passes."""
    cells: dict[str, tuple[int, int]] = {}
    """For each operator how many faults were noticed, and how many counted."""
    survivors: tuple[Survivor, ...] = ()
    set_aside: dict[str, int] = {}
    """How many were not counted, by reason."""
    unmeasured: int = 0
    """How many could not be judged."""
    left_out: int = 0
    """How many were not tried, because there were too many."""

    @property
    def noticed(self) -> int:
        """How many faults of the agent were noticed."""
        return sum([noticed for operator, (noticed, _) in self.cells.items() if operator not in WORLD_OPERATORS])

    @property
    def counted(self) -> int:
        """How many faults of the agent counted."""
        return sum([counted for operator, (_, counted) in self.cells.items() if operator not in WORLD_OPERATORS])


WORLD_OPERATORS = ("tool-fails", "tool-output")
"""Faults of tools, not of the agent: shown, and not in the score."""


class MutationReport(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an eval set would notice if the agent went wrong."""

    evalset: str
    operators: tuple[str, ...]
    cases: tuple[MutatedCase, ...]
    not_tried: dict[str, tuple[str, ...]] = {}
    """Ids of cases that were not tried, by reason."""
    run: str = ""

    @property
    def noticed(self) -> int:
        """How many faults of the agent were noticed."""
        return sum([case.noticed for case in self.cases])

    @property
    def counted(self) -> int:
        """How many faults of the agent counted."""
        return sum([case.counted for case in self.cases])

    @property
    def share(self) -> float:
        """The share that was noticed; 1.0 where nothing counted."""
        return self.noticed / self.counted if self.counted else 1.0

    @property
    def set_aside(self) -> dict[str, int]:
        """How many were not counted, by reason."""
        total: dict[str, int] = {}
        for case in self.cases:
            for reason, number in case.set_aside.items():
                total[reason] = total.get(reason, 0) + number
        return total
