"""The decision of a gate in words and figures, for the terminal, GitHub, Markdown and JUnit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rightcall.reporting.changes import Decision, Floor, Gate, GatedCase, GateSide
from rightcall.reporting.store import FloorRecord, GatedCaseRecord, GateRecord, LeftOutRecord
from rightcall.values.results import SIGNS, Source, count_text
from rightcall.values.statistics import Trials, rate, repeats_needed_against, trial_variance

from ._paper import Line, Paper, cell_count, code_span, command_message, command_property, fit, xml_attribute, xml_text
from ._report import CaseBlock, Report, case_blocks
from ._steadiness_lines import interval_text, share_text

_CASE_WIDTH = 32
_MOST_NAMED = 20
_MOST_CASES = 20
_MANY_LEFT_OUT = 0.2
_ARROW = ("→", "->")
_STYLES = {"worse": "red", "better": "green", "no worse": "green", "inconclusive": "yellow"}
_VERDICTS = {"worse": "failed", "likely worse": "failed", "better": "passed", "likely better": "passed"}
_SENTENCE = 500
_MESSAGE = 4_000
_TITLE = 200
_FILE = 1_000
_MARKS = {0: "✅", 1: "❌", 2: "⚠️"}


def gate_sentence(gate: Gate, base: str) -> str:
    """Return the decision in one sentence: the verdict, what it is about, and the interval behind it."""
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
    """Yield what was not compared, and what weakens the comparison.

    With `lists_changes`, cases that were edited or are in one run only are left out, because they are listed elsewhere.
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
    """Return the difference and its interval in percentage points: `−33 points (−48 to −17)`."""
    if gate.difference is None or gate.interval is None:
        return "nothing to compare"
    low, high = [_signed(end) for end in gate.interval]
    unit = "point" if abs(round(gate.difference * 100)) == 1 else "points"
    return f"{_signed(gate.difference)} {unit} ({low} to {high})"


def counts_text(case: GatedCase) -> str:
    """Return the trials of a case on both sides: `17/20 → 9/20`."""
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
    """Return a sort key: the most certain change first, then the largest drop."""
    before, after = [GateSide(side).measured for side in (case.before, case.after)]
    return case.adjusted, (rate(after) or 0.0) - (rate(before) or 0.0), case.case_id


def _label(case: GatedCase, paper: Paper) -> str:
    return fit(paper.text(case.case_id), _CASE_WIDTH, plain=paper.plain)


_COIN = 0.25


def gate_record(decision: Decision) -> GateRecord:
    """Return the record of a decision, with its printed lines."""
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
    """Yield the lines of a gate: what weakens it, cases that failed on their own, then the decisions."""
    gate = decision.gate
    if gate is not None:
        yield from gate_notes(gate)
    if decision.is_identical:
        yield "warning: the agent did the same in all repeats of every case; with a cache or a seed, they prove nothing"
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
    """Yield the number of repeats that would decide it, given the variance of these trials."""
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


class GateTest(msgspec.Struct, frozen=True):
    """One check of a gate as a test: its name, outcome and reason."""

    name: str
    kind: str
    """`passed`, `failure`, `error` or `skipped`."""
    type: str = ""
    message: str = ""


def gate_tests(gate: GateRecord) -> list[GateTest]:
    """Return the checks of a gate: all cases together, each case that is worse, the required rate."""
    tests: list[GateTest] = []
    if gate.verdict is not None:
        tests.append(_together(gate))
    tests += [GateTest(case.case_id, "failure", "worse", _counts(case.before, case.after)) for case in gate.worse_cases]
    if gate.floor is not None:
        kinds = {"passes": "passed", "fails": "failure"}
        kind = kinds.get(gate.floor.verdict) or ("error" if gate.exit_code == 2 else "skipped")
        sentence = next((line.strip() for line in gate.told if "at least" in line), gate.reason)
        tests.append(GateTest(f"at least {share_text(gate.floor.at_least)}", kind, gate.floor.verdict, sentence))
    return tests


def _together(gate: GateRecord) -> GateTest:
    verdict = str(gate.verdict)
    if verdict == "worse":
        # A case that is worse on its own has a test of its own; the mean may be no worse.
        is_mean = not gate.worse_cases or (gate.p_worse is not None and gate.p_worse <= gate.alpha * gate.share / 2)
        kind = "failure" if is_mean else "passed"
    elif verdict == "inconclusive":
        kind = "error" if gate.open_decides or not gate.cases or gate.exit_code == 2 else "skipped"
    else:
        kind = "passed"
    return GateTest("all cases", kind, verdict, gate.reason)


def gate_suite(gate: GateRecord) -> Iterator[str]:
    """Yield a gate as a JUnit test suite."""
    tests = gate_tests(gate)
    yield f'<testsuite name="gate" {suite_numbers(tests)} time="0.000" skipped="{_number(tests, "skipped")}">\n'
    for test in tests:
        yield f'<testcase classname="gate" name="{xml_attribute(test.name)}" time="0.000">\n'
        message = xml_attribute(test.message[:_MESSAGE])
        if test.kind == "skipped":
            yield f'<skipped message="{message}"/>\n'
        elif test.kind != "passed":
            kind, details = xml_attribute(test.type), xml_text(test.message[:_MESSAGE])
            yield f'<{test.kind} type="{kind}" message="{message}">{details}</{test.kind}>\n'
        yield "</testcase>\n"
    yield "</testsuite>\n"


def suite_numbers(tests: list[GateTest]) -> str:
    """Return the counts of a suite, as attributes."""
    failures, errors = _number(tests, "failure"), _number(tests, "error")
    return f'tests="{len(tests)}" failures="{failures}" errors="{errors}"'


def gate_commands(report: Report) -> Iterator[str]:
    """Yield a gate as GitHub workflow commands: an error for each case that is worse, else one line."""
    gate = report.gate
    if gate is None:
        return
    for case in gate.worse_cases[:_MOST_CASES]:
        block = _block_of(report, case.case_id)
        message = command_message(f"{_counts(case.before, case.after)}: worse{_why(block)}", _MESSAGE)
        place = ""
        if block is not None:
            source = _place(block)
            place = f"file={command_property(source.file, _FILE)},line={source.line},col={source.column},"
        yield f"::error {place}title={command_property(f'gate {case.case_id}', _TITLE)}::{message}\n"
    level = _level(gate)
    if level != "error" or not gate.worse_cases:
        for line in [line for line in gate.told if line.startswith("gate")] or [gate.reason]:
            yield f"::{level} title=gate::{command_message(line.removeprefix('gate').strip(), _MESSAGE)}\n"


def gate_markdown(report: Report) -> Iterator[str]:
    """Yield a gate as Markdown: the decision, the cases that are worse with their most common problem, the mean."""
    gate = report.gate
    if gate is None:
        return
    word = gate.verdict or (gate.floor.verdict if gate.floor is not None else "decided case by case")
    against = f" {'than' if gate.verdict != 'inconclusive' else 'against'} {code_span(gate.base)}" if gate.base else ""
    code = report.exit_code
    mark = _MARKS[2] if word == "inconclusive" and code != 1 else _MARKS[code]
    yield f"### {mark} Rightcall gate: {word}{against}\n\n"
    for case in gate.worse_cases[:_MOST_CASES]:
        block = _block_of(report, case.case_id)
        at = f" at {code_span(str(_place(block)))}" if block is not None else ""
        why = f": {code_span(_why(block).removeprefix(': '), _SENTENCE)}" if _why(block) else ""
        yield f"- {code_span(case.case_id)} **{_counts(case.before, case.after)}**{why}{at}\n"
    if len(gate.worse_cases) > _MOST_CASES:
        yield f"- … and {len(gate.worse_cases) - _MOST_CASES:,} more cases\n"
    for line in gate.told:
        yield f"\n{code_span(line.removeprefix('gate').strip(), _SENTENCE)}\n"
    compared = count_text(len(gate.cases), "case")
    rates = f"All cases: {share_text(gate.before)} → {share_text(gate.after)} · {compared} · " if gate.cases else ""
    yield f"\n{rates}{gate.rounds} of {count_text(gate.planned_rounds, 'round')}\n\n"


def _level(gate: GateRecord) -> str:
    if gate.exit_code == 1:
        return "error"
    is_open = gate.exit_code == 2 or gate.verdict == "inconclusive"
    is_open = is_open or (gate.floor is not None and gate.floor.verdict == "inconclusive")
    return "warning" if is_open else "notice"


def _block_of(report: Report, case_id: str) -> CaseBlock | None:
    return next((block for block in case_blocks(report) if block.result.case_id == case_id), None)


def _place(block: CaseBlock) -> Source:
    return block.result.findings[0].source if block.result.findings else block.result.source


def _why(block: CaseBlock | None) -> str:
    if block is None or not block.result.findings:
        return ""
    return f": {block.result.findings[0].finding.message}{block.how_often}"


def _counts(before: tuple[int, int], after: tuple[int, int]) -> str:
    return f"{before[0]}/{before[1]} → {after[0]}/{after[1]}"


def _number(tests: list[GateTest], kind: str) -> int:
    return len([test for test in tests if test.kind == kind])
