"""What a gate said, in words and figures: what is printed, kept with the run, and written to every format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rightcall.reporting.changes import Decision, Floor, Gate, GatedCase, GateSide
from rightcall.reporting.store import FloorRecord, GatedCaseRecord, GateRecord, LeftOutRecord
from rightcall.values.results import count_text
from rightcall.values.statistics import Trials, repeats_needed_against, trial_variance

from ._gate_lines import gate_notes, gate_sentence
from ._steadiness_lines import interval_text, share_text

_MOST_NAMED = 20
_COIN = 0.25


def gate_record(decision: Decision) -> GateRecord:
    """Return what a gate said, with the lines that tell it."""
    said, floor, plan = decision.gate, decision.floor, decision.plan
    figures = {} if said is None else _figures(said)
    return GateRecord(
        verdict=None if said is None else said.verdict,
        exit_code=decision.exit_code,
        reason=next(_sentences(decision), "every case passes by itself"),
        told=tuple(_told(decision)),
        base=plan.base_name,
        alpha=1.0 - plan.rule.confidence,
        share=1.0 if said is None else said.share,
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


def _figures(said: Gate) -> dict[str, Any]:
    left = said.left_out
    low, high = said.interval if said.interval is not None else (None, None)
    return {
        "before": said.before,
        "after": said.after,
        "difference": said.difference,
        "low": low,
        "high": high,
        "p_worse": said.odds.worse if said.odds is not None else None,
        "p_better": said.odds.better if said.odds is not None else None,
        "open_decides": said.open_decides,
        "cases": tuple(map(_case, said.cases)),
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


def _told(decision: Decision) -> Iterator[str]:
    """Yield the lines of a gate: first what weakens it and what failed by itself, then the decisions."""
    said = decision.gate
    if said is not None:
        yield from gate_notes(said)
    if decision.is_identical:
        yield "warning: every repeat of every case is the same to the byte; a cache or a seed? Repeats say nothing then"
    for cases, words in ((decision.failed, "failed"), (decision.unmeasured, "could not be measured")):
        if cases:
            more = f" and {len(cases) - _MOST_NAMED:,} more" if len(cases) > _MOST_NAMED else ""
            yield f"gate  judged by themselves, {words}: {', '.join(cases[:_MOST_NAMED])}{more}"
    yield from [f"gate  {sentence}" for sentence in _sentences(decision)]
    if said is not None and said.verdict == "inconclusive" and said.cases and not said.open_decides:
        yield from _hint(decision, said)


def _sentences(decision: Decision) -> Iterator[str]:
    plan, said, floor = decision.plan, decision.gate, decision.floor
    if said is not None:
        yield f"{gate_sentence(said, plan.base_name)}, {decision.gate_rounds} of {count_text(plan.most, 'round')}"
    if floor is not None:
        yield _floor_sentence(floor, plan.most, len(plan.questions))


def _floor_sentence(floor: Floor, planned: int, cases: int) -> str:
    asked = f"at least {share_text(floor.at_least)}"
    seen = f"{share_text(floor.rate)} ({interval_text(floor.interval)}) after {floor.rounds} of {planned} rounds"
    open_trials = "; trials without an answer decide" if floor.open_decides else ""
    return f"{asked}: {floor.verdict}   {seen}, {count_text(cases, 'case')}{open_trials}"


def _hint(decision: Decision, said: Gate) -> Iterator[str]:
    """Yield the plan that would settle it, given how much these trials vary."""
    plan = decision.plan
    sides = [GateSide(side).measured for case in said.cases for side in (case.before, case.after)]
    variance = trial_variance([Trials(*side) for side in sides])
    before = min([GateSide(case.before).measured.measured for case in said.cases])
    spread = _COIN if variance is None else variance
    needed = repeats_needed_against(len(said.cases), plan.rule.rule_out, before, spread)
    if needed is None:
        yield f"      no number of repeats settles it: {before} trials of {plan.base_name} are too few"
    elif needed > plan.most:
        yield f"      a plan that would settle it: --repeat {plan.least}..{needed} --gate {plan.base_name}"
