"""Calls that failed: they count, are left out, or may be either."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.builders import judge

from rightcall import ToolCall

OK = ToolCall("pay", {"n": 1}, "done")
FAILED = ToolCall("pay", {"n": 1}, error="timeout")
SUSPECTED = ToolCall("pay", {"n": 1}, "Error: timeout", suspected_error=True)
HIDDEN = ToolCall("pay", {"n": 1}, "done", unrecorded=frozenset({"error"}))

CRITERIA: list[tuple[str, dict[str, Any]]] = [
    ("tool-call-count", {"tool_calls_count": {"pay": 1}}),
    ("tool-call-order", {"tool_calls_order": ["pay"]}),
    ("tool-trajectory", {"expected": ["pay"]}),
    ("tool-precision", {"expected": ["pay"]}),
]


@pytest.mark.parametrize(("type_id", "criteria"), CRITERIA, ids=[type_id for type_id, _ in CRITERIA])
def test_failed_calls_are_left_out_if_asked(type_id: str, criteria: dict[str, Any]) -> None:
    config = {"strict": True} if type_id in ("tool-call-order",) else {}

    assert judge(type_id, [FAILED, OK], criteria, **config).verdict == "failed"
    assert judge(type_id, [FAILED, OK], {**criteria, "failed": "ignore"}, **config).verdict == "passed"
    assert judge(type_id, [FAILED], {**criteria, "failed": "ignore"}, **config).verdict == "failed"


@pytest.mark.parametrize("call", [SUSPECTED, HIDDEN], ids=["reads like an error", "error not recorded"])
def test_a_call_that_may_have_failed_is_judged_both_ways(call: ToolCall) -> None:
    once, twice = {"tool_calls_count": {"pay": 1}}, {"tool_calls_count": {"pay": "1..2"}}

    unknown = judge("tool-call-count", [call, OK], {**once, "failed": "ignore"})

    assert unknown.verdict == "not_measured"
    assert "whether `pay` failed was not recorded" in [finding.message for finding in unknown.findings]
    assert judge("tool-call-count", [call, OK], {**twice, "failed": "ignore"}).verdict == "passed"


@pytest.mark.parametrize("call", [SUSPECTED, HIDDEN], ids=["reads like an error", "error not recorded"])
def test_calls_that_may_have_failed_are_left_out_if_asked_and_counted(call: ToolCall) -> None:
    criteria = {"tool_calls_count": {"pay": 1}, "failed": "ignore_suspected"}

    result = judge("tool-call-count", [call, OK, FAILED], criteria)

    assert result.verdict == "passed"
    assert "1 call was left out that may have failed" in result.warnings


def test_a_call_that_is_expected_to_fail_counts() -> None:
    expected = {"tool_calls": [{"name": "pay", "status": "error"}], "failed": "ignore"}

    assert judge("tool-call-args", [FAILED], expected).verdict == "passed"


def test_a_call_of_which_the_trace_shows_nothing_may_have_failed_even_so() -> None:
    silent = ToolCall("pay", {}, source="span")
    criteria = {"tool_calls_count": {"pay": 1}, "failed": "ignore_suspected"}

    assert judge("tool-call-count", [silent], criteria).verdict == "not_measured"


CALLS = st.lists(st.sampled_from([OK, FAILED, SUSPECTED]), max_size=5)


@given(CALLS, st.sampled_from(["=", "<=", ">="]), st.integers(0, 3))
def test_a_verdict_is_what_every_way_to_fill_in_the_trace_says(made: list[ToolCall], symbol: str, number: int) -> None:
    sure, unsure = made.count(OK), made.count(SUSPECTED)
    holds = {"=": int.__eq__, "<=": int.__le__, ">=": int.__ge__}[symbol]
    said = {holds(sure + more, number) for more in range(unsure + 1)}

    result = judge("tool-call-count", made, {"tool_calls_count": {"pay": (symbol, number)}, "failed": "ignore"})

    assert result.verdict == ("not_measured" if len(said) > 1 else "passed" if said == {True} else "failed")
