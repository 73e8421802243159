"""Did the agent stay within its time and its tokens?"""

from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.builders import judge

from rightcall import CriteriaError, ToolCall, Trajectory
from rightcall.values.trajectory import Usage

SECOND = 1_000_000_000


def timed(name: str, start: float | None, end: float | None) -> ToolCall:
    start_ns, end_ns = (None if at is None else round(at * SECOND) for at in (start, end))
    return ToolCall(name, {}, None, start_ns=start_ns, end_ns=end_ns)


def took(**usage: int | None) -> Trajectory:
    return Trajectory(usage=Usage(**usage))


def test_a_run_takes_the_time_of_all_its_spans() -> None:
    result = judge("latency", took(duration_ns=3 * SECOND), {"at_most": 1.5})

    assert (result.score, result.verdict) == (0.5, "failed")
    assert [(each.code, each.message) for each in result.findings] == [
        ("RC115", "the run took 3 s, at most 1.5 s allowed")
    ]
    assert judge("latency", took(duration_ns=3 * SECOND), {"at_most": 3}).passed


def test_without_the_time_of_the_run_its_calls_tell_how_long_it_took_at_least() -> None:
    calls = [timed("a", 0, 2), timed("b", 1, 5)]

    assert judge("latency", calls, {"at_most": 4}).verdict == "failed"
    assert judge("latency", calls, {"at_most": 5}).verdict == "not_measured"
    assert judge("latency", ["a"], {"at_most": 5}).findings[-1].message == "how long the run took was not recorded"


def test_the_slowest_call_counts_and_every_slow_one_is_named() -> None:
    result = judge("call-latency", [timed("a", 0, 2), timed("b", 1, 5), timed("c", 5, 5.5)], {"at_most": 1})

    assert result.score == 0.25
    assert [each.message for each in result.findings] == [
        "the slowest call took 4 s, at most 1 s allowed",
        "`a()` took 2 s",
        "`b()` took 4 s",
    ]
    assert judge("call-latency", [], {"at_most": 0}).passed


@pytest.mark.parametrize(("start", "end"), [(None, None), (1, None), (5, 1)], ids=str)
def test_a_call_without_times_may_have_taken_any(start: float | None, end: float | None) -> None:
    calls = [timed("a", 1, 4), timed("b", start, end)]

    assert judge("call-latency", calls, {"at_most": 9}).verdict == "not_measured"
    assert judge("call-latency", calls, {"at_most": 1}).verdict == "failed"


def test_times_that_no_clock_shows_are_judged_all_the_same() -> None:
    assert judge("latency", took(duration_ns=10**400), {"at_most": 1}).verdict == "failed"


def test_tokens_are_held_against_each_limit_and_the_worst_one_counts() -> None:
    used = took(input_tokens=800, output_tokens=200)

    result = judge("token-usage", used, {"total_tokens": 1_000, "output_tokens": 50})

    assert result.score == 0.25
    assert [(each.message, each.path) for each in result.findings] == [
        ("models used 200 output tokens, at most 50 allowed", "output_tokens")
    ]
    assert judge("token-usage", used, {"total_tokens": 1_000, "input_tokens": 800}).passed


def test_tokens_that_were_not_recorded_are_not_measured() -> None:
    assert judge("token-usage", ["a"], {"total_tokens": 10}).verdict == "not_measured"
    assert judge("token-usage", took(input_tokens=800), {"output_tokens": 10}).verdict == "not_measured"
    assert judge("token-usage", took(input_tokens=800), {"total_tokens": 1_000}).verdict == "not_measured"
    assert judge("token-usage", took(input_tokens=800), {"total_tokens": 700}).verdict == "failed"


@given(st.integers(0, 10**15), st.integers(0, 10**15))
def test_the_full_score_is_for_what_is_within_the_limit(used: int, limit: int) -> None:
    score = judge("token-usage", took(input_tokens=used), {"input_tokens": limit}).score

    assert score is not None
    assert 0.0 <= score <= 1.0
    assert (score == 1.0) == (used <= limit)


@pytest.mark.parametrize("criteria", [{}, {"total_tokens": 1.5}, {"total_tokens": -1}, {"tokens": 1}], ids=str)
def test_wrong_limits_are_refused(criteria: Any) -> None:
    with pytest.raises(CriteriaError):
        judge("token-usage", [], criteria)
