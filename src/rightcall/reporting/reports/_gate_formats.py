"""What a gate said, for GitHub, Markdown and JUnit: each says what the exit code says."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rightcall.reporting.store import GateRecord
from rightcall.values.results import Source, count_text

from ._blocks import CaseBlock, case_blocks
from ._paper import code_span, command_message, command_property, xml_attribute, xml_text
from ._report import Report
from ._steadiness_lines import share_text

_SENTENCE = 500
_MESSAGE = 4_000
_TITLE = 200
_FILE = 1_000
_MOST_CASES = 20
_MARKS = {0: "✅", 1: "❌", 2: "⚠️"}


class GateTest(msgspec.Struct, frozen=True):
    """One question of a gate as a test: what it is called, how it ended, and why."""

    name: str
    kind: str
    """`passed`, `failure`, `error` or `skipped`."""
    type: str = ""
    message: str = ""


def gate_tests(gate: GateRecord) -> list[GateTest]:
    """Return the questions of a gate: the cases together, each case that is worse, the rate that was asked for."""
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
        # A case that is worse by itself has a test of its own; the mean may be no worse.
        is_mean = not gate.worse_cases or (gate.p_worse is not None and gate.p_worse <= gate.alpha * gate.share / 2)
        kind = "failure" if is_mean else "passed"
    elif verdict == "inconclusive":
        kind = "error" if gate.open_decides or not gate.cases or gate.exit_code == 2 else "skipped"
    else:
        kind = "passed"
    return GateTest("all cases", kind, verdict, gate.reason)


def gate_suite(gate: GateRecord) -> Iterator[str]:
    """Yield a gate as a suite of JUnit."""
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
    """Yield a gate as workflow commands of GitHub: an error at each case that is worse, else one line."""
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
    """Yield a gate as Markdown: the decision, the cases that are worse with their commonest problem, the mean."""
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
