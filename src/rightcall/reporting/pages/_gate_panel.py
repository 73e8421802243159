"""The panel of the gate: the word first, then the rates, then the interval on one scale."""

from __future__ import annotations

import msgspec

from rightcall.reporting.changes import Gate, GatedCase, GateSide
from rightcall.reporting.reports import gate_notes, points_text, share_text

from ._templates import case_key

_MOST_CASES = 20
_WIDTH = 600.0
"""The width of the scale, from −100 to +100 points, in units of its drawing."""
_WORDS = {"not told from chance": "could be chance"}
_SIGNS = {"worse": "failed", "better": "passed", "no worse": "passed", "inconclusive": "not_measured"}


class GateRow(msgspec.Struct, frozen=True):
    """One case: its trials before and after, and what they tell."""

    case_id: str
    key: str
    before: str
    after: str
    told: str


class GatePanel(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate says of two runs."""

    word: str
    sign: str
    """The verdict whose sign and colour it has."""
    before: str
    after: str
    points: str
    compared: int
    low: float
    """Where the interval begins on the scale."""
    width: float
    at: float
    """Where the difference is."""
    rule_out: float
    """Where the drop to rule out is."""
    zero: float = _WIDTH / 2
    rows: tuple[GateRow, ...] = ()
    more: int = 0
    notes: tuple[str, ...] = ()


def gate_panel(said: Gate) -> GatePanel | None:
    """Return the panel of a gate; nothing where there is nothing to compare."""
    if said.interval is None or said.difference is None:
        return None
    changed = [case for case in said.cases if case.told != "not told from chance" or _rates(case)[0] != _rates(case)[1]]
    changed.sort(key=lambda case: (case.adjusted, case.case_id))
    return GatePanel(
        word=said.verdict,
        sign=_SIGNS[said.verdict],
        before=share_text(said.before),
        after=share_text(said.after),
        points=points_text(said),
        compared=len(said.cases),
        low=_place(said.interval.low),
        width=round(_place(said.interval.high) - _place(said.interval.low), 1),
        at=_place(said.difference),
        rule_out=_place(-said.rule.rule_out),
        rows=tuple([_row(case) for case in changed[:_MOST_CASES]]),
        more=max(0, len(changed) - _MOST_CASES),
        notes=tuple(gate_notes(said)),
    )


def _row(case: GatedCase) -> GateRow:
    before, after = [GateSide(side).measured for side in (case.before, case.after)]
    return GateRow(
        case.case_id,
        case_key(case.case_id, 0),
        f"{before.passed}/{before.measured}",
        f"{after.passed}/{after.measured}",
        _WORDS.get(case.told, case.told),
    )


def _rates(case: GatedCase) -> tuple[float, float]:
    before, after = [GateSide(side).measured for side in (case.before, case.after)]
    return before.passed / before.measured, after.passed / after.measured


def _place(share: float) -> float:
    """Return where a difference is on the scale."""
    return round((share + 1.0) * _WIDTH / 2, 1)
