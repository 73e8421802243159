"""Which call was before which, which were at once: compared with every pair, one by one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hypothesis import given, strategies as st
from tests.sampling import examples

from rightcall import ToolCall, Trajectory
from rightcall.values.trajectory import Batches, Clock


def timed(name: str, start: int, end: int, **more: Any) -> ToolCall:
    return ToolCall(name, start_ns=start, end_ns=end, **more)


def clock(*calls: ToolCall, **more: Any) -> Clock:
    return Clock(Trajectory(calls=calls), **more)


def test_a_call_is_before_one_that_begins_when_it_ends() -> None:
    time = clock(timed("a", 0, 5), timed("b", 5, 9), timed("c", 8, 9))

    assert time.before(0, 1)
    assert not time.before(1, 0)
    assert time.at_once(1, 2)


def test_two_calls_at_one_instant_are_at_once() -> None:
    time = clock(timed("a", 5, 5), timed("b", 5, 5), timed("c", 6, 6))

    assert time.at_once(0, 1)
    assert time.before(0, 2)


def test_by_starts_a_call_that_still_runs_is_before_one_that_begins_later() -> None:
    calls = timed("auth", 0, 10), timed("read", 5, 8)

    assert clock(*calls).at_once(0, 1)
    assert clock(*calls, order="started").before(0, 1)
    assert clock(timed("a", 1, 9), timed("b", 1, 2), order="started").at_once(0, 1)


def test_a_call_is_before_those_it_made_through_others() -> None:
    calls = timed("a", 0, 9, span_id="1"), timed("b", 1, 8, span_id="2", parent_id="1"), timed("c", 2, 3, parent_id="2")
    through_one_left_out = Clock(Trajectory(calls=calls), [0, 2])

    assert clock(*calls).before(0, 2)
    assert not clock(*calls).before(2, 0)
    assert through_one_left_out.before(0, 1)


def test_calls_of_a_damaged_trace_that_made_each_other_made_nothing() -> None:
    time = clock(ToolCall("a", span_id="1", parent_id="2"), ToolCall("b", span_id="2", parent_id="1"))

    assert not time.made(0, 1)
    assert not time.made(1, 0)


def test_without_the_times_of_one_call_places_are_the_times_of_all() -> None:
    time = clock(timed("a", 0, 9), timed("b", 5, 6), ToolCall("c", start_ns=7))

    assert not time.is_timed
    assert time.before(0, 1)
    assert time.before(1, 2)


def test_without_times_calls_whose_order_is_not_known_are_at_once() -> None:
    run = Trajectory(calls=tuple(map(ToolCall, "abcd")), unordered=((1, 3),))

    assert Clock(run).at_once(1, 2)
    assert [Clock(run).before(0, 1), Clock(run).before(2, 3)] == [True, True]
    assert Clock(run, [0, 2, 3]).before(0, 1)


def test_a_group_is_a_batch_and_an_unrecorded_one_may_be() -> None:
    one, two = ToolCall("a", group="g"), ToolCall("b", group="g")

    assert clock(one, two, ToolCall("c", group="h")).batches() == Batches(((0, 2),), ((0, 2),))
    assert clock(one, ToolCall("b"), two).batches() == Batches((), ((0, 3),))
    assert clock(one, ToolCall("c", group="h"), two).batches() == Batches((), ())


def test_without_groups_calls_that_ran_at_one_time_are_a_batch() -> None:
    time = clock(timed("long", 0, 10), timed("a", 1, 4), timed("b", 5, 8))

    assert time.batches().sure == ((0, 2),)
    assert clock(timed("a", 0, 4), timed("long", 1, 10), timed("b", 5, 8)).batches().sure == ((0, 2), (1, 3))


def test_with_neither_groups_nor_times_neighbours_may_be_a_batch() -> None:
    assert clock(*map(ToolCall, "abc")).batches() == Batches((), ((0, 3),))
    assert clock(ToolCall("a", turn=0), ToolCall("b", turn=1)).batches() == Batches((), ())


def test_a_tool_and_what_it_called_are_not_at_once() -> None:
    time = clock(timed("a", 0, 9, span_id="1"), timed("b", 1, 8, parent_id="1"), timed("c", 2, 8, parent_id="1"))

    assert time.batches().sure == ((1, 3),)
    assert time.free_blocks() == ((1, 3),)


def test_a_call_of_which_it_is_not_known_who_made_it_may_have_been_made_within_the_time_of_another() -> None:
    unknown: dict[str, Any] = {"unrecorded": frozenset({"parent_id"})}
    inside, beside = timed("b", 1, 8, **unknown), timed("c", 2, 7)
    grouped = [timed(name, 0, 9, group="g", **unknown) for name in "ab"]

    time = clock(timed("a", 0, 9), beside, inside)
    assert (time.batches(), time.free_blocks()) == (Batches(((0, 2),), ((0, 3),)), ((0, 2),))
    assert time.free_blocks(may_be=True) == ((0, 3),)
    assert clock(*grouped).free_blocks() == ((0, 2),)


def test_free_blocks_are_as_long_as_can_be_from_the_left() -> None:
    time = clock(timed("a", 0, 4), timed("long", 1, 10), timed("b", 5, 8), timed("c", 6, 7))

    assert time.free_blocks() == ((0, 2), (2, 4))
    assert clock(*map(ToolCall, "ab")).free_blocks() == ()


@st.composite
def runs(draw: st.DrawFn) -> Trajectory:
    size = draw(st.integers(0, 7))
    has_times, has_groups = draw(st.booleans()), draw(st.booleans())
    calls = []
    for number in range(size):
        start, length = draw(st.integers(0, 6)), draw(st.integers(0, 4))
        parent = draw(st.sampled_from([None, None, "0", "1", "2", "x"]))
        unknown = ["parent_id"] if parent is None and draw(st.booleans()) else []
        calls.append(
            ToolCall(
                "t",
                span_id=str(number),
                parent_id=parent,
                start_ns=start if has_times else None,
                end_ns=start + length if has_times else None,
                group=draw(st.sampled_from([None, "g", "h"])) if has_groups else None,
                turn=draw(st.sampled_from([None, None, 0, 1])),
                unrecorded=frozenset(unknown),
            )
        )
    first = draw(st.integers(0, size))
    return Trajectory(calls=tuple(calls), unordered=((first, draw(st.integers(first, size))),))


def made(run: Trajectory, maker: int, call: int) -> bool:
    """The twin: up from the call, step by step; those in a circle were made by none."""

    def parent(position: int) -> int | None:
        above = run.calls[position].parent_id
        return int(above) if above is not None and above.isdigit() and int(above) < len(run.calls) else None

    def chain(position: int) -> list[int]:
        found: list[int] = []
        above = parent(position)
        while above is not None and above not in found:
            found.append(above)
            above = parent(above)
        return found

    above, chained = call, []
    while above not in chain(above) and (higher := parent(above)) is not None:
        chained.append(higher)
        above = higher
    return maker in chained


def is_beside(run: Trajectory, one: int, other: int) -> bool:
    """The twin: two calls were at once, and neither may have made the other."""
    pair = run.calls[one], run.calls[other]
    is_known = not any("parent_id" in call.unrecorded for call in pair)
    is_one_group = pair[0].group is not None and pair[0].group == pair[1].group
    return Clock(run).at_once(one, other) and (is_known or is_one_group)


def ranges(size: int, fits: Any) -> tuple[tuple[int, int], ...]:
    """The twin: all ranges of two and more in which every two fit, and that are in no longer one."""
    good = [
        (first, end)
        for first in range(size)
        for end in range(first + 2, size + 1)
        if all(fits(one, other) for one in range(first, end) for other in range(one + 1, end))
    ]
    return widest(good)


def widest(found: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    inside = [each for each in found if any(a <= each[0] and each[1] <= b and (a, b) != each for a, b in found)]
    return tuple(sorted({each for each in found if each not in inside}))


@examples(600)
@given(runs())
def test_times_and_makers_are_what_every_pair_says(run: Trajectory) -> None:
    time = Clock(run)

    for one in range(len(run.calls)):
        for other in range(len(run.calls)):
            assert time.made(one, other) == (one != other and made(run, one, other))
            if one != other:
                assert time.before(one, other) == (time.ends[one] <= time.starts[other] or made(run, one, other))


@examples(600)
@given(runs())
def test_batches_are_what_every_pair_says(run: Trajectory) -> None:
    time, calls = Clock(run), run.calls
    size = len(calls)

    def may_be_one_message(one: int, other: int) -> bool:
        fields = [(getattr(calls[one], name), getattr(calls[other], name)) for name in ("group", "turn", "agent")]
        if any(first is not None and second is not None and first != second for first, second in fields):
            return False
        return not made(run, one, other) and not made(run, other, one)

    def is_one_group(one: int, other: int) -> bool:
        return calls[one].group is not None and calls[one].group == calls[other].group

    found = time.batches()

    if time.is_timed and not any(call.group for call in calls):
        sure = ranges(size, lambda one, other: is_beside(run, one, other))
        assert found == Batches(sure, ranges(size, time.at_once))
    else:
        sure = ranges(size, is_one_group)
        is_known = all(call.group is not None for call in calls)
        assert found == Batches(sure, sure if is_known else widest([*sure, *ranges(size, may_be_one_message)]))


@examples(600)
@given(runs())
def test_free_blocks_are_a_greedy_walk(run: Trajectory) -> None:
    time = Clock(run)
    for may_be in (False, True):
        blocks: list[list[int]] = []
        for place in range(len(run.calls) if time.is_timed else 0):
            fits = time.at_once if may_be else lambda one, other: is_beside(run, one, other)
            if blocks and all(fits(each, place) for each in blocks[-1]):
                blocks[-1].append(place)
            else:
                blocks.append([place])

        found = time.free_blocks(may_be=may_be)
        assert found == tuple((block[0], block[-1] + 1) for block in blocks if len(block) > 1)
        assert all(one[1] <= other[0] for one, other in pairwise(found))
