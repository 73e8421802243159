"""Which trajectory belongs to which case?"""

from typing import Any

import pytest

from rightcall import ToolCall, Trajectory
from rightcall.cases.evalsets import Case, load_expectation
from rightcall.cases.verdicts import CaseFinder, judge, not_measured_result
from rightcall.errors import UnknownNameError
from rightcall.values.results import Totals

CASE_OF = load_expectation("calls: [a]", "--expect")


def case(case_id: str, **metadata: Any) -> Case:
    made = CASE_OF(case_id)
    return Case(id=made.id, source=made.source, checks=made.checks, metadata=metadata)


def trace(trace_id: str | None = None, **metadata: Any) -> Trajectory:
    calls = (ToolCall("a", {}, None),)
    return Trajectory(calls=calls, trace_id=trace_id, metadata={k.replace("_", "."): v for k, v in metadata.items()})


def joined(joining: CaseFinder, *traces: Trajectory) -> list[str | None]:
    return [found.id if (found := joining.case_of(made)) else None for made in traces]


def test_an_attribute_names_the_case() -> None:
    joining = CaseFinder([case("one"), case("two")])

    assert joined(joining, trace("t1", rightcall_case_id="two"), trace("t2", rightcall_case_id="three")) == [
        "two",
        None,
    ]


def test_a_trace_id_names_the_case() -> None:
    joining = CaseFinder([case("one", trace_id="t1"), case("t2")])

    assert joined(joining, trace("t2"), trace("t1"), trace("t3"), trace()) == ["t2", "one", None, None]


def test_only_what_is_asked_for_names_a_case() -> None:
    cases = [case("one"), case("t2")]
    by_both = trace("t2", rightcall_case_id="one")

    assert joined(CaseFinder(cases), by_both) == ["one"]
    assert joined(CaseFinder(cases, "trace"), by_both) == ["t2"]
    assert joined(CaseFinder(cases, "attribute"), trace("t2")) == [None]


def test_an_unknown_way_to_join_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'trace'"):
        CaseFinder([], "traces")


def test_a_case_that_expects_nothing_is_not_measured() -> None:
    made = CASE_OF("empty")

    result = judge(Case(id="empty", source=made.source), trace())

    assert (result.verdict, result.score) == ("not_measured", None)
    assert result.findings[0].finding.code == "RC302"


def test_an_expectation_that_could_not_be_measured_leaves_the_case_without_a_score() -> None:
    case_of = load_expectation("calls: [{a: {x: 1}}]\nnever: [b]", "--expect")

    result = judge(case_of("c"), Trajectory.of(["a"]))

    assert [each.verdict for each in result.results] == ["not_measured", "passed"]
    assert (result.verdict, result.score) == ("not_measured", None)


@pytest.mark.parametrize(
    ("verdicts", "code", "text"),
    [
        (["passed", "passed"], 0, "2 passed"),
        (["passed", "failed", "error"], 1, "1 passed, 1 failed, 1 in error"),
        (["passed", "not_measured"], 2, "1 passed, 1 not measured"),
        (["error"], 2, "1 in error"),
        ([], 2, "no cases"),
    ],
)
def test_totals_decide_the_exit_code(verdicts: list[Any], code: int, text: str) -> None:
    totals = Totals.of(verdicts)

    assert (totals.exit_code, str(totals)) == (code, text)


def test_a_trace_without_tool_data_says_nothing_of_calls() -> None:
    blind = Trajectory(calls=(), calls_recorded=False, output="done")
    case_of = load_expectation("never: [delete]\ncounts: {search: 0}\noutput: done", "--expect")

    result = judge(case_of("c"), blind)

    assert [each.verdict for each in result.results] == ["not_measured", "not_measured", "passed"]
    assert not_measured_result(case_of("c"), "RC303", "no trace").verdict == "not_measured"
