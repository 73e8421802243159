"""The panel of the gate: the word first, then the rates, then the interval on one scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import ceil

import msgspec

from rightcall.reporting.changes import Gate, GatedCase, GateSide
from rightcall.reporting.reports import counts_text, gate_notes, points_text, share_text
from rightcall.values.results import Verdict, count_text

_WIDTH = 520.0
"""The width of the scale, in units of its drawing."""
_LEAST_REACH = 0.2
_WORDS = {"not told from chance": "could be chance"}
_SIGNS: dict[str, Verdict] = {
    "worse": "failed",
    "better": "passed",
    "no worse": "passed",
    "inconclusive": "not_measured",
}


class GatePanel(msgspec.Struct, frozen=True, kw_only=True):
    """What the gate says of two runs."""

    word: str
    sign: Verdict
    """The verdict whose sign and colour it has."""
    before: str
    after: str
    points: str
    confidence: str
    compared: int
    reach: int
    """The points at the ends of the scale."""
    low: float
    """Where the interval begins on the scale."""
    width: float
    at: float
    """Where the difference is."""
    rule_out: float
    """Where the drop to rule out is."""
    rule_out_points: str
    counts: tuple[tuple[str, int], ...] = ()
    """How many cases have each word."""
    facts: tuple[tuple[str, str], ...] = ()
    zero: float = _WIDTH / 2
    words: Mapping[str, tuple[str, str]] = {}
    """For each case its trials before and after, and what they say, if they differ."""
    notes: tuple[str, ...] = ()


def gate_panel(gate: Gate) -> GatePanel | None:
    """Return the panel of a gate; nothing where there is nothing to compare."""
    if gate.interval is None or gate.difference is None:
        return None
    reach = max(_LEAST_REACH, abs(gate.interval.low), abs(gate.interval.high), gate.rule.rule_out)
    reach = min(1.0, ceil(reach * 10) / 10)

    def place(share: float) -> float:
        return round((share / reach + 1.0) * _WIDTH / 2, 1)

    words = Counter([_WORDS.get(case.told, case.told) for case in gate.cases if _differs(case)])
    left, without = gate.left_out, count_text(gate.open_trials, "trial") if gate.open_trials else ""
    facts = (
        ("Compared", count_text(len(gate.cases), "case")),
        ("Edited since, not compared", count_text(len(left.changed), "case") if left.changed else ""),
        ("Without an answer", f"{without}, which decide" if gate.open_decides else without),
    )
    return GatePanel(
        word=gate.verdict,
        sign=_SIGNS[gate.verdict],
        before=share_text(gate.before),
        after=share_text(gate.after),
        points=points_text(gate),
        confidence=f"{gate.rule.confidence * 100:g} %",
        compared=len(gate.cases),
        reach=round(reach * 100),
        low=place(gate.interval.low),
        width=round(place(gate.interval.high) - place(gate.interval.low), 1),
        at=place(gate.difference),
        rule_out=place(-gate.rule.rule_out),
        rule_out_points=f"−{gate.rule.rule_out * 100:g}",
        counts=tuple([(_alone(word, words[word]), words[word]) for word in _ORDER if words[word]]),
        facts=tuple([(name, text) for name, text in facts if text]),
        words={
            case.case_id: (counts_text(case), _WORDS.get(case.told, case.told) if _differs(case) else "")
            for case in gate.cases
        },
        notes=tuple(gate_notes(gate, lists_changes=True)),
    )


_ORDER = ("worse", "likely worse", "could be chance", "likely better", "better")


def _alone(word: str, count: int) -> str:
    """Return what is said of so many cases, each by itself: together they may well show a change."""
    return "could each be chance" if word == "could be chance" and count > 1 else word


def _differs(case: GatedCase) -> bool:
    before, after = [GateSide(side).measured for side in (case.before, case.after)]
    return before.passed * after.measured != after.passed * before.measured
