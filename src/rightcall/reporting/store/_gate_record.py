"""What a gate said of a run, as it is kept with the run and written to reports."""

from __future__ import annotations

import msgspec


class GatedCaseRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One compared case."""

    case_id: str
    before: tuple[int, int]
    """How many trials of the base passed, and how many have an answer."""
    after: tuple[int, int]
    p: float
    """How likely as few passes are if nothing changed."""
    q: float
    """The same, adjusted for looking at every case."""
    told: str


class LeftOutRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The ids of cases that were not compared, by reason."""

    changed: tuple[str, ...] = ()
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


class FloorRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a run reached the rate that was asked for."""

    at_least: float
    verdict: str
    """`passes`, `fails` or `inconclusive`."""
    rate: float | None
    low: float
    high: float
    rounds: int
    open_decides: bool = False


class GateRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What a gate said: the verdict, what it was decided by, and the exit code."""

    verdict: str | None
    """`worse`, `better`, `no worse` or `inconclusive`; `None` where the run was compared with nothing."""
    exit_code: int
    reason: str
    """The decision in one sentence."""
    told: tuple[str, ...]
    """What is printed: the decision, what else failed, hints and warnings."""
    base: str
    alpha: float
    share: float
    rounds: int
    planned_rounds: int
    rule_out: float
    allow_drop: float
    before: float | None = None
    after: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_worse: float | None = None
    p_better: float | None = None
    open_decides: bool = False
    cases: tuple[GatedCaseRecord, ...] = ()
    left_out: LeftOutRecord = LeftOutRecord()
    floor: FloorRecord | None = None
    failed: tuple[str, ...] = ()
    """Cases that failed by themselves: they have to pass every time, or there is nothing to compare them with."""
    unmeasured: tuple[str, ...] = ()
    """Such cases that could not be measured."""
    own: tuple[str, ...] = ()
    """All cases that were judged by themselves."""

    @property
    def worse_cases(self) -> tuple[GatedCaseRecord, ...]:
        """The cases that are worse by themselves, the surest first."""
        return tuple(sorted([case for case in self.cases if case.told == "worse"], key=lambda case: case.q))

    def compares(self, case_id: str) -> bool:
        """Whether a case is left to the gate: by itself it decides nothing."""
        return case_id not in self.own
