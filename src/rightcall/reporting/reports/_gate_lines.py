"""The gate in words: one line that says what it decided, and the cases it decided by."""

from __future__ import annotations

from collections.abc import Iterator

from rightcall.reporting.changes import Gate, GatedCase, GateSide
from rightcall.values.results import SIGNS

from ._paper import Line, Paper, cell_count, fit
from ._steadiness_lines import share_text

_CASE_WIDTH = 32
_MOST_NAMED = 20
_MOST_CASES = 20
_MANY_LEFT_OUT = 0.2
_ARROW = ("→", "->")
_STYLES = {"worse": "red", "better": "green", "no worse": "green", "inconclusive": "yellow"}
_TOLD = {"worse": "failed", "likely worse": "failed", "better": "passed", "likely better": "passed"}


def gate_sentence(gate: Gate, base: str) -> str:
    """The decision in one sentence: the word, what it is about, and the interval it can be read off."""
    if not gate.cases:
        return f"inconclusive: no case of {base} can be compared"
    if gate.open_decides:
        trials = "1 trial has no answer" if gate.open_trials == 1 else f"{gate.open_trials:,} trials have no answer"
        return f"inconclusive: {trials}; as failures it is {gate.if_failed}, as passes {gate.if_passed}"
    if gate.verdict == "inconclusive":
        return f"inconclusive: {points_text(gate)}: {_points(gate.rule.rule_out)} are not ruled out"
    if gate.verdict == "worse" and gate.worse_cases:
        named = ", ".join([f"{case.case_id} {counts_text(case)}" for case in gate.worse_cases[:3]])
        more = f" and {len(gate.worse_cases) - 3:,} more" if len(gate.worse_cases) > 3 else ""
        return f"worse than {base}: {named}{more}"
    return f"{gate.verdict} than {base}: {points_text(gate)}"


def gate_lines(gate: Gate, base: str, paper: Paper) -> Iterator[Line]:
    """Yield the decision, the cases that changed most, and what was not compared."""
    rates = f"{share_text(gate.before)} {paper.glyph(_ARROW)} {share_text(gate.after)}"
    word = gate.verdict.upper()
    yield ((word, _STYLES[gate.verdict]), f"   {rates}   {paper.text(points_text(gate))}" if gate.cases else "")
    changed = sorted([case for case in gate.cases if case.told != "not told from chance" or _differs(case)], key=_rank)
    width = max([cell_count(_label(case, paper)) for case in changed[:_MOST_CASES]], default=0)
    counts = max([cell_count(paper.text(counts_text(case))) for case in changed[:_MOST_CASES]], default=0)
    for case in changed[:_MOST_CASES]:
        label, trials = _label(case, paper), paper.text(counts_text(case))
        sign = paper.sign(_TOLD[case.told]) if case.told in _TOLD else paper.glyph(("·", "."))
        style = SIGNS[_TOLD[case.told]].style if case.told in _TOLD else ""
        gap, rest = " " * (width - cell_count(label)), " " * (counts - cell_count(trials))
        yield ("  ", (sign, style), f" {label}{gap}   {trials}{rest}   {case.told}")
    if len(changed) > _MOST_CASES:
        yield (f"  {paper.glyph(('…', '...'))} {len(changed) - _MOST_CASES:,} more cases differ",)
    for text in gate_notes(gate):
        yield (paper.text(text),)
    yield (paper.text(f"gate  {gate_sentence(gate, base)}"),)


def gate_notes(gate: Gate) -> Iterator[str]:
    """Yield what was not compared, and what makes the comparison weaker than it looks."""
    left = gate.left_out
    reasons = (
        (left.changed, "changed since"),
        (left.only_before, "only before"),
        (left.only_after, "only after"),
        (left.open, "without any answer on one side"),
    )
    for cases, reason in reasons:
        if cases:
            more = f" and {len(cases) - _MOST_NAMED:,} more" if len(cases) > _MOST_NAMED else ""
            yield f"not compared, {reason}: {', '.join(cases[:_MOST_NAMED])}{more}"
    missing = sum([len(cases) for cases, _ in reasons])
    if gate.cases and missing > _MANY_LEFT_OUT * (missing + len(gate.cases)):
        yield f"warning: {missing:,} of {missing + len(gate.cases):,} cases are not compared"
    if gate.odds is not None and not gate.odds.exact:
        yield "the repeats are so unequal that the odds were drawn, 99,999 times with a fixed seed, and not summed"


def points_text(gate: Gate) -> str:
    """The difference and its interval in points: `−33 points (−48 to −17)`."""
    if gate.difference is None or gate.interval is None:
        return "nothing to compare"
    low, high = [_signed(end) for end in gate.interval]
    unit = "point" if abs(round(gate.difference * 100)) == 1 else "points"
    return f"{_signed(gate.difference)} {unit} ({low} to {high})"


def counts_text(case: GatedCase) -> str:
    """The trials of a case on both sides: `17/20 → 9/20`."""
    before, after = [GateSide(side).measured for side in (case.before, case.after)]
    return f"{before.passed}/{before.measured} → {after.passed}/{after.measured}"


def _points(share: float) -> str:
    return f"{share * 100:g} points"


def _signed(share: float) -> str:
    points = round(share * 100)
    return f"+{points}" if points > 0 else f"−{-points}" if points < 0 else "0"


def _differs(case: GatedCase) -> bool:
    before, after = [GateSide(side).measured for side in (case.before, case.after)]
    return before.passed * after.measured != after.passed * before.measured


def _rank(case: GatedCase) -> tuple[float, str]:
    return case.adjusted, case.case_id


def _label(case: GatedCase, paper: Paper) -> str:
    return fit(paper.text(case.case_id), _CASE_WIDTH, plain=paper.plain)
