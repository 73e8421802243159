"""Trajectories and their calls."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st
from tests.builders import judge

from rightcall import InputError, ToolCall, Trajectory


def test_names_objects_and_calls_can_be_mixed() -> None:
    trajectory = Trajectory.of(["a", {"name": "b", "args": {"x": 1}, "output": None}, ToolCall("c", {"y": (1,)})])

    assert trajectory.names == ("a", "b", "c")
    assert trajectory.calls[1].args == {"x": 1}
    assert trajectory.calls[2].args == {"y": [1]}


def test_what_is_not_given_was_not_recorded() -> None:
    name, with_args, with_null = Trajectory.of(["a", {"name": "a", "args": {}}, {"name": "a", "output": None}]).calls

    assert name.unrecorded == {"args", "output"}
    assert with_args.unrecorded == {"output"}
    assert with_null.unrecorded == {"args"}
    assert with_null.output is None


def test_calls_and_trajectories_cannot_be_changed() -> None:
    trajectory = Trajectory.of(["a"])

    with pytest.raises(AttributeError):
        trajectory.calls[0].name = "b"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        trajectory.calls = ()  # type: ignore[misc]


def test_a_trajectory_does_not_see_later_changes_of_what_it_was_made_from() -> None:
    args = {"x": [1]}
    trajectory = Trajectory.of([{"name": "a", "args": args}])

    args["x"].append(2)

    assert trajectory.calls[0].args == {"x": [1]}


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        ("abc", "list of calls, not a str"),
        ({"name": "a"}, "list of calls, not a dict"),
        (5, "list of calls, not an int"),
        (["a", 5], r"calls\[1\] is an int"),
        ([{"name": "a", "nmae": 1}], "unknown key 'nmae'; did you mean 'name'"),
        ([{"args": {}}], "name"),
        ([{"name": "a", "args": [1]}], r"calls\[0\].*object"),
        ([{"name": "a", "args": {"x": {1}}}], r"a set at calls\[0\].args.x"),
        ([{"name": 5}], "Expected `str`"),
        ([""], "not empty"),
        (["x" * 1_000_000], "1,000,000 characters"),
        ([ToolCall("a", {"x": object()})], "an object at"),
    ],
)
def test_a_wrong_call_is_refused_by_its_place(calls: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Trajectory.of(calls)


def timed(name: str, start: int | None, end: int | None = None, **more: Any) -> ToolCall:
    return ToolCall(name, {}, None, start_ns=start, end_ns=end, **more)


def test_calls_are_ordered_by_start_time_and_never_by_end_time() -> None:
    trajectory = Trajectory.of([timed("late", 2, 3), timed("untimed", None), timed("zero", 0, 9), timed("mid", 1, 2)])

    assert trajectory.names == ("zero", "mid", "late", "untimed")


def test_a_parent_comes_before_its_child_when_both_start_together() -> None:
    child = timed("child", 5, span_id="c", parent_id="p")
    grandchild = timed("grandchild", 5, span_id="g", parent_id="c")
    parent = timed("parent", 5, span_id="p")

    assert Trajectory.of([grandchild, child, parent]).names == ("parent", "child", "grandchild")


def test_parents_in_a_circle_do_not_hang() -> None:
    first = timed("a", 1, 9, span_id="a", parent_id="b")
    second = timed("b", 1, 9, span_id="b", parent_id="a")

    trajectory = Trajectory.of([first, second])

    assert set(trajectory.names) == {"a", "b"}
    assert not trajectory.concurrent(first, second)


def test_a_hundred_thousand_calls_deep_is_no_recursion() -> None:
    chain = [timed("t", 0, 1, span_id=str(n), parent_id=str(n - 1) if n else None) for n in range(100_000)]

    trajectory = Trajectory.of(reversed(chain))

    assert trajectory.calls[0].span_id == "0"
    assert trajectory.calls[-1].span_id == "99999"


def test_calls_are_concurrent_when_they_overlap_and_neither_made_the_other() -> None:
    outer = timed("outer", 0, 10, span_id="o")
    inner = timed("inner", 2, 4, span_id="i", parent_id="o")
    deepest = timed("deepest", 3, 4, span_id="d", parent_id="i")
    beside = timed("beside", 3, 12, span_id="b")
    after = timed("after", 10, 11)
    trajectory = Trajectory.of([outer, inner, deepest, beside, after])

    assert trajectory.concurrent(outer, beside)
    assert trajectory.concurrent(beside, inner)
    assert not trajectory.concurrent(outer, inner)
    assert not trajectory.concurrent(outer, deepest)
    assert not trajectory.concurrent(outer, after)
    assert not trajectory.concurrent(outer, timed("untimed", None))


def test_a_call_that_took_no_time_is_concurrent_with_what_ran_at_that_instant() -> None:
    instant, same, around, later = timed("a", 5, 5), timed("b", 5, 5), timed("c", 5, 7), timed("d", 6, 6)
    trajectory = Trajectory.of([instant, same, around, later])

    assert trajectory.concurrent(instant, same)
    assert trajectory.concurrent(instant, around)
    assert not trajectory.concurrent(instant, later)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 3))))
def test_ordering_keeps_every_call_and_is_stable(pairs: list[tuple[str, int | None]]) -> None:
    made = [timed(name, start, call_id=str(n)) for n, (name, start) in enumerate(pairs)]

    ordered = Trajectory.of(made).calls

    assert sorted(call.call_id or "" for call in ordered) == sorted(call.call_id or "" for call in made)
    keys = [(call.start_ns is None, call.start_ns or 0, int(call.call_id or 0)) for call in ordered]
    assert keys == sorted(keys)


def test_a_trajectory_survives_msgspec() -> None:
    trajectory = Trajectory.of(["a", {"name": "b", "args": {"x": [1, None]}}], input={"q": 1}, trace_id="t")

    copy = msgspec.json.decode(msgspec.json.encode(trajectory), type=Trajectory)

    assert copy == trajectory


def test_calls_whose_times_were_lost_have_no_order() -> None:
    lost = [ToolCall(name, {}, None, unrecorded=frozenset({"start_ns", "end_ns"})) for name in ("look", "refund")]
    kept = [ToolCall(name, {}, None) for name in ("look", "refund")]

    assert Trajectory.of(lost).unordered == ((0, 2),)
    assert Trajectory.of([lost[0], kept[1]]).unordered == ((0, 2),)
    assert Trajectory.of(kept).unordered == ()
    assert judge("tool-call-order", Trajectory.of(lost), {"tool_calls_order": ["look", "refund"]}).score is None
