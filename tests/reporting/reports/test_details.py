"""Every evaluator of every case on the screen."""

from tests.reporting.reports.reporting import HOSTILE, harmful, hostile_report, report, result
from tests.walls import for_each

from rightcall import CaseResult, ToolCall, Trajectory
from rightcall.cases.evalsets import load_expectation
from rightcall.cases.verdicts import judge
from rightcall.reporting.reports import Paper, Report, detail_lines
from rightcall.values.results import Outcome


def written(made: Report, **paper: object) -> list[str]:
    lines = detail_lines(made, Paper(**paper))  # type: ignore[arg-type]
    return ["".join([part if isinstance(part, str) else part[0] for part in line]) for line in lines]


def judged(expectation: str, *calls: ToolCall) -> CaseResult:
    return judge(load_expectation(expectation.encode(), "--expect")("shop"), Trajectory(calls=calls))


def test_each_evaluator_has_its_verdict_score_and_alignment() -> None:
    made = judged(
        "calls: [search, {pay: {amount: 2}}, mail]\norder: [search]",
        ToolCall("pay", {"amount": 1}, None),
        ToolCall("search", {}, None),
    )
    lines = written(report(made))

    assert lines[0] == "  ✗ shop  failed  score 0.500"
    assert "      order  passed  score 1.000" in lines
    assert '        lcs: ["search"]' in lines
    assert "        − mail (expected 3)" in lines
    assert "        ≠ pay (expected 2, actual 1): $.amount: 2 ≠ 1" in lines


def test_cases_that_passed_and_repeats_are_told_as_well() -> None:
    lines = written(report(result("good"), result("good", repeat=1)), plain=True)

    assert [line for line in lines if "good" in line] == [
        "  ok good  passed  score 1.000",
        "  ok good (repeat 2)  passed  score 1.000",
    ]


def test_a_case_that_could_not_be_judged_says_why() -> None:
    outcome = Outcome(cause="raised", error="ValueError: no such shop")

    assert "      ValueError: no such shop" in written(report(result("bad", "error", results=(), outcome=outcome)))


@for_each("text", HOSTILE)
def test_whatever_is_said_is_printable_and_bounded(text: str) -> None:
    lines = written(hostile_report(text))

    assert not harmful("".join(lines))
    assert sum(map(len, lines)) < 20_000


def test_of_long_lists_the_first_are_told() -> None:
    names = ", ".join([f"t{number}" for number in range(500)])

    lines = written(report(judged(f"order: [{names}]", ToolCall("t0", {}, None))))

    assert len(lines) < 130
    assert any("… and" in line and "more" in line for line in lines)
