"""Did the agent get there without detours?"""

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from tests.builders import judge

from rightcall import ConfigurationError, CriteriaError, EvaluationResult, ToolCall, Trajectory
from rightcall.values.results import BudgetsJustification, NamedCall

NAMES = st.sampled_from("ab")
VALUES = st.sampled_from([0, 1])
RECORDED = st.builds(
    lambda name, value, output, error: ToolCall(name, {"x": value}, None if error else output, error),
    NAMES,
    VALUES,
    VALUES,
    st.sampled_from([None, None, None, "broken"]),
)


def without(call: ToolCall, lost: set[str]) -> ToolCall:
    """A call of which some fields were not recorded; a call that failed is recorded whole."""
    if call.error is not None:
        return call
    return msgspec.structs.replace(call, **dict.fromkeys(lost), unrecorded=frozenset(lost))


PARTLY = st.builds(without, RECORDED, st.sets(st.sampled_from(["args", "output"])))


def ran(name: str, output: Any = 0, error: str | None = None, **args: Any) -> ToolCall:
    return ToolCall(name, args, output, error)


def figure(result: EvaluationResult) -> float | None:
    assert isinstance(result.details, BudgetsJustification)
    return result.details.budgets[0].actual


def redundant_by_looking(calls: list[ToolCall], read_only: set[str]) -> int:
    found = 0
    for place, call in enumerate(calls):
        same = [each for each in range(place) if (calls[each].name, calls[each].args) == (call.name, call.args)]
        if same and calls[same[-1]].error is None and call.error is None and calls[same[-1]].output == call.output:
            found += all(other.name in read_only for other in calls[same[-1] + 1 : place])
    return found


def times_by_looking(calls: list[ToolCall], longest: int) -> int:
    made = [(call.name, call.args, call.output, call.error) for call in calls]
    best = min(1, len(made))
    for first in range(len(made)):
        for period in range(1, longest + 1):
            cycle, times = made[first : first + period], 1
            while len(cycle) == period and made[first + times * period :][:period] == cycle:
                times += 1
            best = max(best, times)
    return best


@given(st.lists(RECORDED, max_size=12), st.sets(NAMES))
def test_redundant_calls_are_those_that_one_finds_by_looking(calls: list[ToolCall], read_only: set[str]) -> None:
    result = judge("redundant-calls", calls, {"at_most": 1, "read_only": sorted(read_only)})
    truth = redundant_by_looking(calls, read_only)

    assert figure(result) == truth
    assert result.score == (1.0 if truth <= 1 else 1 / truth)
    assert result.passed == (truth <= 1)


@given(st.lists(RECORDED, max_size=14), st.integers(1, 5))
def test_loops_are_those_that_one_finds_by_looking(calls: list[ToolCall], longest: int) -> None:
    result = judge("loops", calls, {"at_most": 2}, longest_cycle=longest)
    truth = times_by_looking(calls, longest)

    assert figure(result) == truth
    assert result.score == (1.0 if truth <= 2 else 2 / truth)


@given(st.lists(PARTLY, max_size=8), st.data(), st.sampled_from(["redundant-calls", "loops"]), st.integers(0, 2))
def test_what_was_not_recorded_could_not_have_made_another_verdict(
    calls: list[ToolCall], data: st.DataObject, type_id: str, at_most: int
) -> None:
    criteria: dict[str, Any] = {"at_most": at_most}
    if type_id == "redundant-calls":
        criteria["read_only"] = sorted(data.draw(st.sets(NAMES)))
    filled = [
        msgspec.structs.replace(
            call,
            args={"x": data.draw(VALUES)} if "args" in call.unrecorded else call.args,
            output=data.draw(VALUES) if "output" in call.unrecorded else call.output,
            unrecorded=frozenset(),
        )
        for call in calls
    ]

    verdict = judge(type_id, calls, criteria).verdict

    assert verdict in ("not_measured", judge(type_id, filled, criteria).verdict)


@pytest.mark.parametrize(
    ("calls", "criteria", "redundant"),
    [
        ([ran("a", x=1), ran("a", x=1), ran("a", x=1)], {}, 2),
        ([ran("a", x=1), ran("a", x=2)], {}, 0),
        ([ran("a", x=1), ran("a", x=1.0)], {}, 1),
        ([ran("a", x=1), ran("a", x=True)], {}, 0),
        ([ran("a", x=float("nan")), ran("a", x=float("nan"))], {}, 1),
        ([ran("a", output="pending"), ran("a", output="done")], {}, 0),
        ([ran("a", error="timeout"), ran("a")], {}, 0),
        ([ran("a"), ran("b"), ran("a")], {}, 0),
        ([ran("a"), ran("b"), ran("a")], {"read_only": ["b"]}, 1),
        ([ran("a"), ran("b"), ran("a")], {"read_only": ["*"]}, 1),
        ([ran("a"), ran("b"), ran("a")], {"ignore_tools": ["b"]}, 1),
        ([ran("a", x=1), ran("a", x=2), ran("a", x=1)], {}, 0),
        ([ran("a", x=1), ran("a", x=2), ran("a", x=1)], {"read_only": ["a"]}, 1),
        ([], {}, 0),
    ],
)
def test_something_changed_or_the_call_was_redundant(calls: Any, criteria: Any, redundant: int) -> None:
    assert figure(judge("redundant-calls", calls, {"at_most": 0, **criteria})) == redundant


@pytest.mark.parametrize("parallel", ["in_order", "recorded", "any_order"])
def test_repeats_go_by_the_order_of_calls_asked_for_at_once_too(parallel: str) -> None:
    again, other = ToolCall("a", {"x": 1}, 1, group="g"), ToolCall("a", {"x": 2}, 1, group="g")
    failed = ToolCall("a", {"x": 1}, error="boom", group="g")

    for kind, calls in (("redundant-calls", (again, other, again)), ("loops", (again, other, again))):
        limit = {"at_most": 0 if kind == "redundant-calls" else 1, "parallel": parallel}
        assert judge(kind, Trajectory(calls=calls), limit).passed
        assert judge(kind, Trajectory(calls=calls, unordered=((0, 3),)), limit).verdict == "not_measured"
    retried = Trajectory(calls=(other, failed), unordered=((0, 2),))
    assert judge("retries", retried, {"at_most": 0, "parallel": parallel}).verdict == "not_measured"


@pytest.mark.parametrize("error", [None, "boom"])
def test_calls_are_a_loop_or_not_if_it_is_not_known_whether_they_failed_alike(error: str | None) -> None:
    calls = [ToolCall("a", {}, 1, error=error), ToolCall("a", {}, 1, unrecorded=frozenset({"error"}))]

    assert judge("loops", calls, {"at_most": 1}).verdict == "not_measured"
    assert judge("loops", [calls[0], ToolCall("a", {}, 2, unrecorded=frozenset({"error"}))], {"at_most": 1}).passed


@pytest.mark.parametrize("field", ["agent", "turn"])
def test_calls_of_other_agents_and_turns_are_other_calls(field: str) -> None:
    calls = [msgspec.structs.replace(ran("a"), **{field: value}) for value in ((0, 1) if field == "turn" else "xy")]

    assert judge("redundant-calls", calls, {"at_most": 0}).passed
    assert judge("loops", calls, {"at_most": 1}).passed


def test_a_redundant_call_is_named_with_the_one_it_repeats() -> None:
    result = judge("redundant-calls", [ran("log"), ran("a", x=1), ran("a", x=1)], {"at_most": 0})

    assert [(each.code, each.message) for each in result.findings] == [
        ("RC111", "1 call was redundant, at most 0 allowed"),
        ("RC111", "`a(x=1)` was called again, though nothing had changed since call 2"),
    ]
    assert result.findings[1].actual == NamedCall(2, "a(x=1)")
    assert EvaluationResult.from_json(result.to_json()) == result


def test_calls_without_arguments_or_outputs_leave_it_open() -> None:
    result = judge("redundant-calls", ["a", "a"], {"at_most": 0})

    assert result.verdict == "not_measured"
    assert [each.code for each in result.findings] == ["RC301", "RC301"]
    assert "only repeats call 1" in result.findings[-1].message
    assert judge("redundant-calls", ["a", "b"], {"at_most": 0}).passed


def test_a_call_may_repeat_one_before_the_last() -> None:
    calls = [ToolCall("a"), ran("a", error="broken", x=1), ToolCall("a", output=1)]

    assert judge("redundant-calls", calls, {"at_most": 0, "read_only": ["a"]}).verdict == "not_measured"
    assert judge("redundant-calls", [ran("a", error="broken"), ToolCall("a")], {"at_most": 0}).passed


def test_a_loop_is_told_once_by_its_shortest_cycle() -> None:
    calls = [ran("start"), *[ran("a"), ran("b", x=1)] * 3, ran("end")]

    result = judge("loops", calls, {"at_most": 2})

    assert (result.score, figure(result)) == (2 / 3, 3)
    assert [each.message for each in result.findings] == [
        "the same calls were made 3 times in a row, at most 2 allowed",
        "`a`, `b`: 3 times in a row from call 2 on, with the same results",
    ]
    assert judge("loops", calls, {"at_most": 2}, longest_cycle=1).passed
    assert judge("loops", [ran("next_page", output=page) for page in range(9)], {"at_most": 1}).passed


def test_steps_are_counted() -> None:
    result = judge("step-count", ["a", "b", "a", "a"], {"at_most": 3})

    assert (result.score, result.verdict) == (0.75, "failed")
    assert [(each.code, each.message) for each in result.findings] == [
        ("RC115", "4 calls were made, at most 3 allowed")
    ]
    assert judge("step-count", ["a", "b", "a", "a"], {"at_most": 3}, threshold=0.7).passed
    assert judge("step-count", ["a", "b"], {"at_most": 1, "ignore_tools": ["b"]}).passed
    assert judge("step-count", Trajectory(calls_recorded=False), {"at_most": 1}).verdict == "not_measured"


@pytest.mark.parametrize("at_most", [-1, 1.5, True, "3", None, float("nan")])
def test_a_limit_is_a_whole_number(at_most: Any) -> None:
    with pytest.raises(CriteriaError, match="at_most"):
        judge("step-count", [], {"at_most": at_most})


def test_the_longest_cycle_is_bounded() -> None:
    with pytest.raises(ConfigurationError, match="longest_cycle"):
        judge("loops", [], {"at_most": 1}, longest_cycle=101)


def test_many_calls_and_findings_stay_in_bounds() -> None:
    calls = [ran("a", x=number // 2) for number in range(20_000)]

    result = judge("redundant-calls", calls, {"at_most": 0})

    assert figure(result) == 10_000
    assert len(result.findings) == 42
    assert result.findings[-1].message == "… and 9,960 more"
