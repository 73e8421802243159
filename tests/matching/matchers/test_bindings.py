"""Names for values: bound in one expected call, used in others."""

from __future__ import annotations

from typing import Any

import pytest
from tests.walls import for_each

from rightcall import ToolCall
from rightcall.errors import ExpectationError, LimitError
from rightcall.limits import Limits
from rightcall.matching.matchers import (
    NOTHING,
    NamesIn,
    assignments,
    call_pattern,
    check_names,
    close_names,
    compile_value,
    names_in,
)

HOLD: dict[str, Any] = {"seat": {"$bind": "s"}}
PAY: dict[str, Any] = {"seat": {"$ref": "s"}}


def step(name: str, args: Any, **parts: Any) -> Any:
    return call_pattern(name, args, names=True, **parts), names_in(args)


def chosen(calls: list[ToolCall], *steps: Any, **limits: Any) -> list[Any]:
    return [dict(each) for each in assignments(steps, calls, Limits(**limits))]


def test_names_are_found_with_their_places() -> None:
    assert names_in({"a": [1, {"b": {"$bind": "x"}}], "c": {"$ref": "y"}, "d": {"$not": {"$ref": "z"}}}) == NamesIn(
        (("x", ("a", 1, "b")),), (("y", ("c",)), ("z", ("d",)))
    )
    assert not names_in({"a": {"$literal": {"$bind": "x"}}})
    assert names_in({"a": {"$bind": "x"}})
    assert names_in({"a": {"$ref": "x"}})
    assert not names_in({"a": {"$bind": 7}, "b": {"$ref": None}, "c": "x"})


def test_every_value_that_the_binding_call_may_have_is_a_choice() -> None:
    calls = [ToolCall("hold", {"seat": seat}) for seat in ("1A", "2B", "1A")] + [ToolCall("pay", {"seat": "3C"})]

    assert chosen(calls, step("hold", HOLD), step("pay", PAY)) == [{"s": "1A"}, {"s": "2B"}]


def test_the_other_conditions_of_the_binding_call_count() -> None:
    calls = [ToolCall("hold", {"seat": "1A"}, error="taken"), ToolCall("hold", {"seat": "2B"}, 1)]

    assert chosen(calls, step("hold", HOLD, status="ok"), step("pay", PAY)) == [{"s": "2B"}]


def test_one_and_true_are_two_choices() -> None:
    calls = [ToolCall("hold", {"seat": value}) for value in (1, True, 1.0)]

    assert len(chosen(calls, step("hold", HOLD), step("pay", PAY))) == 2


def test_a_name_that_no_call_can_bind_is_nothing() -> None:
    assert chosen([ToolCall("hold", {})], step("hold", HOLD), step("pay", PAY)) == [{"s": NOTHING}]
    closed = call_pattern("pay", close_names(PAY, {"s": NOTHING}))
    assert closed.accepts(ToolCall("pay", {"seat": "1A"})) is False


def test_a_call_without_recorded_arguments_may_bind_what_is_used_or_another_value() -> None:
    calls = [ToolCall("hold"), ToolCall("pay", {"seat": "2B"})]

    assert chosen(calls, step("hold", HOLD), step("pay", PAY)) == [{"s": "2B"}, {"s": NOTHING}]


def test_a_call_that_surely_had_no_arguments_binds_nothing() -> None:
    calls = [ToolCall("hold", None, unrecorded=frozenset()), ToolCall("pay", {"seat": "2B"})]

    assert chosen(calls, step("hold", HOLD), step("pay", PAY)) == [{"s": NOTHING}]


def test_names_of_one_step_take_the_values_of_one_call() -> None:
    args = {"a": {"$bind": "x"}, "b": {"$bind": "y"}}
    calls = [ToolCall("hold", {"a": 1, "b": 2}), ToolCall("hold", {"a": 3, "b": 4})]

    assert chosen(calls, step("hold", args)) == [{"x": 1, "y": 2}, {"x": 3, "y": 4}]


def test_choices_of_several_steps_are_all_combinations_within_a_limit() -> None:
    other = {"id": {"$bind": "t"}}
    calls = [ToolCall("hold", {"seat": n, "id": n}) for n in range(4)]
    steps = step("hold", HOLD), step("hold", other)

    assert len(chosen(calls, *steps, combinations=16)) == 16
    with pytest.raises(LimitError, match="there are 16 choices of values for s, t; at most 15"):
        chosen(calls, *steps, combinations=15)


def test_closed_names_are_their_values() -> None:
    closed = close_names({"a": {"$bind": "s"}, "b": [{"$not": {"$ref": "s"}}], "c": {"$ref": "t"}}, {"s": {"$gt": 1}})

    assert closed == {"a": {"$literal": {"$gt": 1}}, "b": [{"$not": {"$literal": {"$gt": 1}}}], "c": {"$ref": "t"}}


MISTAKES: list[tuple[list[tuple[Any, bool]], str]] = [
    ([(HOLD, False), (HOLD, False), (PAY, False)], "calls[1]: $bind 's' is bound already, at calls[0]; use $ref"),
    ([(HOLD, True), (PAY, False)], "calls[0]: $bind 's' is in a repeat, where it would have many values"),
    ([(HOLD, False)], "calls[0]: $bind 's' is never used; use it with $ref"),
    ([(PAY, False)], "calls[0]: $ref 's' is bound nowhere; bind it in another call"),
    (
        [({"x": {"$bind": "seat"}}, False), ({"x": {"$ref": "seat"}, "y": {"$ref": "saet"}}, False)],
        "calls[1]: $ref 'saet' is bound nowhere; did you mean 'seat'?",
    ),
]


@for_each("case", MISTAKES)
def test_a_name_is_bound_once_and_used(case: tuple[list[tuple[Any, bool]], str]) -> None:
    steps, told = case

    with pytest.raises(ExpectationError) as raised:
        check_names([(f"calls[{at}]", names_in(args), repeats) for at, (args, repeats) in enumerate(steps)])

    assert str(raised.value).startswith(told)


def test_names_that_are_bound_once_and_used_are_right() -> None:
    check_names([("calls[0]", names_in(HOLD), False), ("calls[1]", names_in(PAY), True)])


def test_a_name_is_not_bound_inside_of_another_matcher() -> None:
    with pytest.raises(ExpectationError, match=r"args\.a\.\$anyOf\[0\]: a name is bound at a place of the arguments"):
        names_in({"a": {"$anyOf": [{"$bind": "x"}]}})


def test_where_there_is_no_list_of_calls_a_name_is_an_error() -> None:
    with pytest.raises(
        ExpectationError, match=r"\$bind does not belong here; it belongs in the arguments of a call under"
    ):
        call_pattern("hold", HOLD)
    with pytest.raises(ExpectationError, match=r"\$ref does not belong here"):
        compile_value({"$ref": "s"})
    with pytest.raises(ExpectationError, match=r"\$bind takes a name, not ''"):
        call_pattern("hold", {"seat": {"$bind": ""}}, names=True)
