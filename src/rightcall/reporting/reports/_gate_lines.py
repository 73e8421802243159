"""The decision of a gate in words and figures, as it is printed, kept with the run, and written to every format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rightcall.reporting.changes import Decision, Floor, Gate, GatedCase, GateSide
from rightcall.reporting.store import FloorRecord, GatedCaseRecord, GateRecord, LeftOutRecord
from rightcall.values.results import SIGNS, count_text
from rightcall.values.statistics import Trials, rate, repeats_needed_against, trial_variance

from ._paper import Line, Paper, cell_count, fit
from ._steadiness_lines import interval_text, share_text

_CASE_WIDTH = 32
_MOST_NAMED = 20
_MOST_CASES = 20
_MANY_LEFT_OUT = 0.2
_ARROW = ("→", "->")
_STYLES = {"worse": "red", "better": "green", "no worse": "green", "inconclusive": "yellow"}
_VERDICTS = {"worse": "failed", "likely worse": "failed", "better": "passed", "likely better": "passed"}


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
        sign = paper.sign(_VERDICTS[case.told]) if case.told in _VERDICTS else paper.glyph(("·", "."))
        style = SIGNS[_VERDICTS[case.told]].style if case.told in _VERDICTS else ""
        gap, rest = " " * (width - cell_count(label)), " " * (counts - cell_count(trials))
        yield ("  ", (sign, style), f" {label}{gap}   {trials}{rest}   {case.told}")
    if len(changed) > _MOST_CASES:
        yield (f"  {paper.glyph(('…', '...'))} {len(changed) - _MOST_CASES:,} more cases differ",)
    for text in gate_notes(gate):
        yield (paper.text(text),)
    yield (paper.text(f"gate  {gate_sentence(gate, base)}"),)


def gate_notes(gate: Gate, *, lists_changes: bool = False) -> Iterator[str]:
    """Yield what was not compared, and what makes the comparison weaker than it looks.

    Where changes are listed beside it, cases that were edited or are in one run only are not named again.
    """
    left = gate.left_out
    reasons = (
        (left.changed, "edited since"),
        (left.only_before, "only before"),
        (left.only_after, "only after"),
        (left.open, "without any answer on one side"),
    )
    for cases, reason in reasons[-1:] if lists_changes else reasons:
        if cases:
            more = f" and {len(cases) - _MOST_NAMED:,} more" if len(cases) > _MOST_NAMED else ""
            yield f"not compared, {reason}: {', '.join(cases[:_MOST_NAMED])}{more}"
    missing = sum([len(cases) for cases, _ in reasons])
    if gate.cases and missing > _MANY_LEFT_OUT * (missing + len(gate.cases)):
        verb = "is" if missing == 1 else "are"
        yield f"warning: {missing:,} of {missing + len(gate.cases):,} cases {verb} not compared"
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


def _rank(case: GatedCase) -> tuple[float, float, str]:
    """The surest change first, and of those that are equally sure the largest drop."""
    before, after = [GateSide(side).measured for side in (case.before, case.after)]
    return case.adjusted, (rate(after) or 0.0) - (rate(before) or 0.0), case.case_id


def _label(case: GatedCase, paper: Paper) -> str:
    return fit(paper.text(case.case_id), _CASE_WIDTH, plain=paper.plain)


_COIN = 0.25


def gate_record(decision: Decision) -> GateRecord:
    """Return what a gate said, with the lines that say it."""
    gate, floor, plan = decision.gate, decision.floor, decision.plan
    figures = {} if gate is None else _figures(gate)
    return GateRecord(
        verdict=None if gate is None else gate.verdict,
        exit_code=decision.exit_code,
        reason=next(_sentences(decision), "every case passes by itself"),
        told=tuple(_lines_of(decision)),
        base=plan.base_name,
        alpha=1.0 - plan.rule.confidence,
        share=1.0 if gate is None else gate.share,
        rounds=decision.rounds,
        planned_rounds=plan.most,
        rule_out=plan.rule.rule_out,
        allow_drop=plan.rule.allow_drop,
        floor=None if floor is None else _floor(floor),
        failed=decision.failed,
        unmeasured=decision.unmeasured,
        own=tuple([case_id for case_id in plan.questions if case_id in plan.own]),
        **figures,
    )


def _figures(gate: Gate) -> dict[str, Any]:
    left = gate.left_out
    low, high = gate.interval if gate.interval is not None else (None, None)
    return {
        "before": gate.before,
        "after": gate.after,
        "difference": gate.difference,
        "low": low,
        "high": high,
        "p_worse": gate.odds.worse if gate.odds is not None else None,
        "p_better": gate.odds.better if gate.odds is not None else None,
        "open_decides": gate.open_decides,
        "cases": tuple(map(_case, gate.cases)),
        "left_out": LeftOutRecord(
            changed=left.changed, only_before=left.only_before, only_after=left.only_after, open=left.open
        ),
    }


def _case(case: GatedCase) -> GatedCaseRecord:
    before, after = [GateSide(side).measured for side in (case.before, case.after)]
    return GatedCaseRecord(
        case_id=case.case_id,
        before=(before.passed, before.measured),
        after=(after.passed, after.measured),
        p=case.chance,
        q=case.adjusted,
        told=case.told,
    )


def _floor(floor: Floor) -> FloorRecord:
    return FloorRecord(
        at_least=floor.at_least,
        verdict=floor.verdict,
        rate=floor.rate,
        low=floor.interval.low,
        high=floor.interval.high,
        rounds=floor.rounds,
        open_decides=floor.open_decides,
    )


def _lines_of(decision: Decision) -> Iterator[str]:
    """Yield the lines of a gate: first what weakens it and what failed by itself, then the decisions."""
    gate = decision.gate
    if gate is not None:
        yield from gate_notes(gate)
    if decision.is_identical:
        yield "warning: every repeat of every case is the same to the byte; a cache or a seed? Repeats say nothing then"
    for cases, words in ((decision.failed, "failed"), (decision.unmeasured, "could not be measured")):
        if cases:
            more = f" and {len(cases) - _MOST_NAMED:,} more" if len(cases) > _MOST_NAMED else ""
            yield f"gate  judged by themselves, {words}: {', '.join(cases[:_MOST_NAMED])}{more}"
    yield from [f"gate  {sentence}" for sentence in _sentences(decision)]
    if gate is not None and gate.verdict == "inconclusive" and gate.cases and not gate.open_decides:
        yield from _hint(decision, gate)


def _sentences(decision: Decision) -> Iterator[str]:
    plan, gate, floor = decision.plan, decision.gate, decision.floor
    if gate is not None:
        yield f"{gate_sentence(gate, plan.base_name)}, {decision.gate_rounds} of {count_text(plan.most, 'round')}"
    if floor is not None:
        yield _floor_sentence(floor, plan.most, len(plan.questions))


def _floor_sentence(floor: Floor, planned: int, cases: int) -> str:
    asked = f"at least {share_text(floor.at_least)}"
    seen = f"{share_text(floor.rate)} ({interval_text(floor.interval)}) after {floor.rounds} of {planned} rounds"
    open_trials = "; trials without an answer decide" if floor.open_decides else ""
    return f"{asked}: {floor.verdict}   {seen}, {count_text(cases, 'case')}{open_trials}"


def _hint(decision: Decision, gate: Gate) -> Iterator[str]:
    """Yield the plan that would settle it, given how much these trials vary."""
    plan = decision.plan
    sides = [GateSide(side).measured for case in gate.cases for side in (case.before, case.after)]
    variance = trial_variance([Trials(*side) for side in sides])
    before = min([GateSide(case.before).measured.measured for case in gate.cases])
    spread = _COIN if variance is None else variance
    needed = repeats_needed_against(len(gate.cases), plan.rule.rule_out, before, spread)
    if needed is None:
        yield f"      no number of repeats settles it: {plan.base_name} has too few, {count_text(before, 'trial')}"
    elif needed > plan.most:
        yield f"      a plan that would settle it: --repeat {plan.least}..{needed} --gate {plan.base_name}"
