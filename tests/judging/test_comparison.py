"""Expected and actual calls side by side, as far as there is room for them."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.builders import call, calls, expected, judge
from tests.walls import for_each

from rightcall import ToolCall, Trajectory
from rightcall.judging import EVALUATORS
from rightcall.judging.calls._comparison import LEAST
from rightcall.judging.calls._lines import align_names, telling
from rightcall.limits import Limits
from rightcall.matching.alignment import ExpectedNames


def steps(made: Any, wanted: list[Any], kind: str = "tool-trajectory", **narrowing: Any) -> list[tuple[Any, ...]]:
    key = "expected" if kind == "tool-trajectory" else "tool_calls"
    config = {"match_type": "ANY_ORDER"} if kind == "tool-trajectory" else {}
    details: Any = judge(kind, made, {key: wanted, **narrowing}, **config).details
    return [(step.kind, step.name, step.expected, step.actual) for step in details.alignment.steps]


@pytest.mark.parametrize("kind", ["tool-trajectory", "tool-call-args"])
def test_calls_that_are_the_expected_ones_are_listed_at_their_places_in_the_run(kind: str) -> None:
    made = calls(call("log"), call("a", x=1), call("log"), call("b", x=2))
    found = steps(made, [expected("a", x=1), expected("b", x=2)], kind, ignore_tools=["log"])

    assert found == [("match", "a", 0, 1), ("match", "b", 1, 3)]


def test_calls_after_the_expected_ones_are_extra() -> None:
    assert steps(calls("a", "b", "c"), ["a"]) == [
        ("match", "a", 0, 0),
        ("extra", "b", None, 1),
        ("extra", "c", None, 2),
    ]


def test_expectations_that_any_call_satisfies_take_the_first_ones() -> None:
    made = calls(call("a", x=1), call("b"), call("a", x=1))

    assert steps(made, [expected("a", x=1), expected("a", x=1)]) == [
        ("match", "a", 0, 0),
        ("extra", "b", None, 1),
        ("match", "a", 1, 2),
    ]


def test_what_is_left_of_one_name_is_paired_in_order() -> None:
    made = calls(call("a", x=7), call("a", x=2), call("a", x=8), call("a", x=9))
    wanted = [expected("a", x=1), expected("a", x=2), expected("a", x=3)]

    assert steps(made, wanted) == [
        ("mismatch", "a", 0, 0),
        ("match", "a", 1, 1),
        ("mismatch", "a", 2, 2),
        ("extra", "a", None, 3),
    ]


@pytest.mark.parametrize("size", [1, 3, 6, 12])
def test_few_and_many_calls_that_are_left_are_paired_by_name_in_order(size: int) -> None:
    random = Random(size)
    for _ in range(50):
        wanted, made = ([random.choice("abc") for _ in range(random.randint(1, size))] for _ in "12")
        found = steps(calls(*[call(name, x=2) for name in made]), [expected(name, x=1) for name in wanted])

        for name in "abc":
            places = [at for at, each in enumerate(wanted) if each == name]
            pairs = zip(places, [at for at, each in enumerate(made) if each == name], strict=False)
            assert [step[2:] for step in found if step[0] == "mismatch" and step[1] == name] == list(pairs)


def test_a_call_whose_arguments_are_unknown_is_paired_with_what_it_may_be_rather_than_with_the_next() -> None:
    made = Trajectory.of([call("a", x=9), ToolCall("a"), call("a", x=1)])
    result = judge("tool-call-args", made, {"tool_calls": [expected("a", x=1), expected("a", x=2)]})

    assert steps(made, [expected("a", x=1), expected("a", x=2)], "tool-call-args") == [
        ("extra", "a", None, 0),
        ("match", "a", 0, 2),
        ("mismatch", "a", 1, 1),
    ]
    assert [(each.code, each.message) for each in result.findings] == [
        ("RC301", "`a`: its arguments were not recorded")
    ]


UNKNOWN: list[tuple[dict[str, Any], str]] = [
    ({"args": {"x": 1}}, "its arguments were not recorded"),
    ({"output": 1}, "its output was not recorded"),
    ({"status": "ok"}, "whether it failed was not recorded"),
    ({"agent": "billing"}, "its agent was not recorded"),
    ({"turn": 0}, "its turn was not recorded"),
    ({"args": {"x": 1}, "agent": "billing", "turn": 0}, "its arguments, its agent and its turn were not recorded"),
]


@for_each(("parts", "message"), UNKNOWN)
def test_what_was_not_recorded_of_a_call_is_told_by_its_name(parts: dict[str, Any], message: str) -> None:
    made = Trajectory(calls=(ToolCall("a", unrecorded=frozenset({"error"})),))
    wanted = [{"name": "a", **parts}]

    for type_id, key in (
        ("tool-call-args", "tool_calls"),
        ("tool-trajectory", "expected"),
        ("tool-recall", "expected"),
    ):
        [finding] = judge(type_id, made, {key: wanted}).findings
        assert (finding.code, finding.message) == ("RC301", f"`a`: {message}")


def test_arguments_that_are_there_are_not_said_to_be_missing_where_their_source_is() -> None:
    made = Trajectory.of(["find", call("a", x=1)])
    [finding] = judge("tool-call-args", made, {"tool_calls": [expected("a", x={"$from": "find"})]}).findings

    assert (finding.code, finding.message) == ("RC301", "`a`: where its arguments are from was not recorded")


@for_each("optional", [[], [{"optional": "z"}]])
def test_an_order_that_is_wrong_for_sure_is_told_of_a_call_that_is_not_known(optional: list[Any]) -> None:
    made = Trajectory.of([call("b"), ToolCall("a"), call("c")])
    result = judge("tool-trajectory", made, {"expected": [*optional, expected("a", x=1), expected("b"), expected("c")]})

    assert result.verdict == "failed"
    assert "RC103" in [finding.code for finding in result.findings]


def test_a_paired_call_is_told_by_its_number_however_late_it_was_made() -> None:
    made = calls(*[call(f"tool_{number}", x=number) for number in range(70, 0, -1)])
    details: Any = judge("tool-call-args", made, {"tool_calls": [expected("tool_3", x=3), expected("tool_60", x=60)]})

    told = [(each.text, each.actual) for each in details.details.explained_tool_calls_args]
    assert told == [("paired with call 68", 67), ("paired with call 11", 10)]


def test_names_alone_are_aligned_as_if_calls_of_other_tools_were_not_there() -> None:
    def found(*made: str) -> list[tuple[Any, ...]]:
        details: Any = judge("tool-call-order", calls(*made), {"tool_calls_order": ["a", "b", "a"]}).details
        return [(step.kind, step.name, step.actual) for step in details.alignment.steps if step.kind != "extra"]

    assert found("b", "a", "b") == [("match", "a", 1), ("match", "b", 2), ("missing", "a", None)]
    assert found("x", "b", "y", "a", "b", "z") == [("match", "a", 3), ("match", "b", 4), ("missing", "a", None)]


names = st.lists(st.sampled_from(["a", "b", "c", "x"]), max_size=12)


@given(names, names, st.booleans(), st.integers(1, 12))
def test_steps_of_names_that_are_made_by_themselves_are_those_of_all_lines(
    wanted: list[str], made: list[str], of_many: bool, most: int
) -> None:
    # With more than a few names, those that are left are counted in another way.
    rest = [f"rest {number}" for number in range(40 if of_many else 0)]
    wanted, positions = [*rest, *(name for name in wanted if name != "x")], range(100, 200)
    lines = align_names(ExpectedNames.of(wanted), [*rest, *made])
    whole = list(lines.whole())

    told = lines.telling(positions, most)

    expected_steps = [
        (
            line.kind,
            wanted[line.expected] if line.expected >= 0 else [*rest, *made][line.actual],
            line.expected if line.expected >= 0 else None,
            positions[line.actual] if line.actual >= 0 else None,
            line.out_of_place,
        )
        for line in telling(whole, "match")
    ]
    assert [(step.kind, step.name, step.expected, step.actual, step.out_of_place) for step in told] == (
        expected_steps[:most]
    )
    assert len(lines) == len(whole)
    assert lines.in_common() == [wanted[line.expected] for line in whole if line.kind == "match"]


LONG = {"ASCII": "x" * 60, "beyond ASCII": "é" * 60}


def large(what: str, text: str, size: int) -> tuple[list[ToolCall], list[Any]]:
    """Calls that take much room to be shown, for one reason each, and what is expected of them."""
    if what == "names":
        return [], [expected(f"{n}{text}") for n in range(size)]
    if what == "actual values":
        return [call("a", x=f"{n}{text}") for n in range(size)], [expected("a", x=n) for n in range(size)]
    if what == "expected values":
        return [call("a", x=n) for n in range(size)], [expected("a", x=f"{n}{text}") for n in range(size)]
    return [call("a", **{text: n}) for n in range(size)], [expected("a", **{text: n + size}) for n in range(size)]


@pytest.mark.parametrize("limit", [4_000, 32_000])
@pytest.mark.parametrize("text", LONG)
@pytest.mark.parametrize("what", ["names", "actual values", "expected values", "keys"])
def test_steps_and_explained_calls_fill_the_room_that_they_have_and_no_more(what: str, text: str, limit: int) -> None:
    made, wanted = large(what, LONG[text], 200)
    evaluator = EVALUATORS["tool-call-args"](limits=Limits(explanation_bytes=limit))
    result = evaluator.evaluate([call("first"), *made], {"tool_calls": wanted})
    details = json.loads(result.to_json())["details"]
    steps, explained = details["alignment"]["steps"], details["explained_tool_calls_args"]

    for part in (steps, explained):
        # Each of the two has three eighths of the room, of which an estimate may leave some.
        assert 0.15 < len(json.dumps(part, separators=(",", ":"))) / (limit * 3 / 8) <= 1
    assert len(steps) + details["alignment"]["left_out"] == 201
    assert len(explained) + details["left_out"] == 200


def test_calls_that_are_the_expected_ones_are_counted_where_there_is_no_room_to_list_all_of_them() -> None:
    made, wanted = [call(LONG["ASCII"])] * 40, [expected(LONG["ASCII"])] * 40

    def listed(limit: int) -> tuple[int, int]:
        evaluator = EVALUATORS["tool-trajectory"](limits=Limits(explanation_bytes=limit))
        details: Any = evaluator.evaluate(made, {"expected": wanted}).details
        return len(details.alignment.steps), details.alignment.left_out

    assert listed(64_000) == (40, 0)
    assert listed(16_000) == (0, 40)
    assert listed(9_000) == (0, 40)


def test_what_differs_is_listed_before_what_matches_where_there_is_no_room_for_all() -> None:
    def listed(size: int, limit: int) -> tuple[list[str], int]:
        evaluator = EVALUATORS["tool-trajectory"](limits=Limits(explanation_bytes=limit))
        wanted = [expected(f"{n}{LONG['ASCII']}" if size > 1 else "a") for n in range(size)]
        result = evaluator.evaluate([*[call(each["name"]) for each in wanted], call("b")], {"expected": wanted})
        details: Any = result.details
        return [step.kind for step in details.alignment.steps], details.alignment.left_out

    assert listed(40, 64_000) == (["match"] * 40 + ["extra"], 0)
    assert listed(40, 16_000) == (["extra"], 40)
    # Room for the least of two steps, and for two short names.
    assert listed(1, (2 * LEAST + 90) * 8 // 3) == (["match", "extra"], 0)


def test_a_missing_call_is_named_with_the_arguments_that_were_expected() -> None:
    wanted = [{"name": "pay", "args": {"x": 1}}, {"name": "pay", "args": {"x": 2}}, {"name": "pay"}]

    found = judge("tool-trajectory", calls(call("pay", x=3)), {"expected": wanted}).findings

    assert [(each.message.partition(" ")[0], each.expected and each.expected.text) for each in found] == [
        ("`pay(x=1)`", "pay(x=1)"),
        ("`pay(x=2)`", "pay(x=2)"),
    ]
