"""The order of calls, what is not settled about it, and which of them ran at once."""

from __future__ import annotations

from typing import Any

import pytest
from tests.reading.test_joining import answered, asked, chat, executed, read_one
from tests.reading.traces import call, request, span

from rightcall.reading import read
from rightcall.reading.runs._calls import _merged

TOGETHER = {"startTimeUnixNano": "50000", "endTimeUnixNano": "51000"}


@pytest.mark.parametrize("count", [2, 3])
def test_calls_that_start_together_have_no_order_between_those_that_do_not(count: int) -> None:
    tied = [call(60 + number, "t", **TOGETHER) for number in range(count)]
    found = read_one(call(1, "first"), *tied, call(90, "last"))

    assert found.names == ("first", *["t"] * count, "last")
    assert found.unordered == ((1, 1 + count),)


@pytest.mark.parametrize("names", ["ab", "ba", "cab"])
def test_calls_that_start_together_are_in_the_order_in_which_the_model_asked_for_them(names: str) -> None:
    asking = asked(*[(name, name, {}) for name in names])
    tied = [executed(60 + number, name, name, **TOGETHER) for number, name in enumerate(sorted(names))]
    found = read_one(chat(1, [], asking), *tied)

    assert "".join(found.names) == names
    assert found.unordered == ()


def test_calls_without_an_order_are_one_range_where_their_ranges_overlap() -> None:
    assert _merged([(4, 6), (0, 3), (2, 4)]) == ((0, 4), (4, 6))
    assert _merged([(0, 9), (1, 2)]) == ((0, 9),)


def test_a_call_that_starts_with_those_made_inside_it_comes_before_them() -> None:
    inner = call(60, "inner", parent=61, **TOGETHER)
    found = read_one(call(59, "innermost", parent=60, **TOGETHER), inner, call(61, "outer", **TOGETHER))

    assert found.names == ("outer", "inner", "innermost")
    assert found.unordered == ()


def test_one_call_without_a_time_leaves_the_order_of_all_open() -> None:
    assert read_one(call(1, "a"), call(2, "b"), call(3, "c", startTimeUnixNano="")).unordered == ((0, 3),)


def test_calls_ran_at_once_as_long_as_each_begins_before_the_longest_has_ended() -> None:
    found = read_one(
        call(1, "long", endTimeUnixNano="9000"), call(2, "short"), call(8, "late"), call(9, "after"), call(20, "alone")
    )
    groups = [call.group for call in found.calls]

    assert groups == [groups[0]] * 3 + [None, None]
    assert groups[0] is not None


def test_calls_that_ran_at_once_are_one_group_for_each_time() -> None:
    pairs = [call(start + number, "t", endTimeUnixNano=f"{start + 5}000") for start in (10, 20) for number in (0, 1)]
    groups = [call.group for call in read_one(*pairs).calls]

    assert groups == ["overlap-1", "overlap-1", "overlap-2", "overlap-2"]


@pytest.mark.parametrize(("start", "unordered"), [("2000", ((0, 2),)), ("2001", ())])
def test_two_calls_that_start_together_have_no_order(start: str, unordered: tuple[Any, ...]) -> None:
    agent = span(1, {"openinference.span.kind": "AGENT"}, endTimeUnixNano="9000")
    [found] = read(request(agent, call(2, "a", parent=1), call(3, "b", parent=1, startTimeUnixNano=start)))

    assert found.unordered == unordered


def test_a_call_that_a_prompt_tells_of_was_made_before_it_and_is_placed_as_the_messages_have_it() -> None:
    """The prompt of a run that goes on tells of a call that an earlier trace has, and of one with a span here."""
    shown = [*asked(("1", "find", {})), *answered(("1", "ok")), *asked(("2", "pay", {})), *answered(("2", "ok"))]
    found = read_one(executed(10, "pay", "2"), chat(20, shown, [{"role": "assistant", "content": "Done."}]))

    assert found.names == ("find", "pay")
    assert found.unordered == ()
