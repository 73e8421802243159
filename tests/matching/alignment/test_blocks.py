"""Calls without a full order: what a state is worth is what trying every order of them gives."""

from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st

from rightcall.errors import LimitError
from rightcall.matching.alignment import SearchBudget
from rightcall.matching.alignment._blocks import Places, Segments

CALLS = 5
BLOCKS = [[(0, 3)], [(1, 4)], [(0, 2), (2, 5)], [(0, 5)], [(3, 5)]]
Place = tuple[int, frozenset[int]]
"""The segment that was reached, and the calls of it that are used."""
Take = tuple[list[int], int, bool]
"""The calls that may be taken, what each gains, and whether all of them may be."""
TAKES = st.lists(
    st.tuples(
        st.lists(st.integers(0, CALLS - 1), min_size=1, max_size=4, unique=True).map(sorted),
        st.integers(1, 3),
        st.booleans(),
    ),
    min_size=1,
    max_size=4,
)


def segment_of(blocks: list[tuple[int, int]]) -> list[int]:
    """The segment of each call: calls of a block have one, and each other call has its own."""
    first = {call: start for start, end in blocks for call in range(start, end)}
    starts = [first.get(call, call) for call in range(CALLS)]
    return [sorted(set(starts)).index(start) for start in starts]


def tried(worth: dict[Place, int], take: Take, segments: list[int]) -> dict[Place, int]:
    """What each place is worth after a take, by trying every call from every place."""
    row, gain, takes_all = take
    found, waiting = dict(worth), list(worth.items())
    while waiting:
        (segment, used), value = waiting.pop()
        for call in [call for call in row if segments[call] >= segment and call not in used]:
            here = segments[call]
            after = (here, (used if here == segment else frozenset()) | {call})
            if value + gain > found.get(after, -1):
                found[after] = value + gain
                waiting += [(after, value + gain)] if takes_all else []
    return found


def places(blocks: list[tuple[int, int]], steps: int = 100_000) -> Places:
    return Places.ground(Segments(CALLS, blocks, set(range(CALLS))), SearchBudget(steps))


def apply(state: Places, take: Take, number: int = 0) -> None:
    row, gain, takes_all = take
    (state.take_all if takes_all else state.take)(row, gain, number)


@given(st.sampled_from(BLOCKS), TAKES)
@example([(0, 3)], [([0, 1], 1, False), ([0], 2, False), ([2], 1, False), ([1, 3], 1, True)])
def test_a_state_is_worth_what_trying_every_order_gives(blocks: list[tuple[int, int]], takes: list[Take]) -> None:
    state, worth = places(blocks), {(0, frozenset[int]()): 0}
    for take in takes:
        apply(state, take)
        worth = tried(worth, take, segment_of(blocks))

        assert state.top[0] == max(worth.values())


@given(
    st.sampled_from(BLOCKS), TAKES, TAKES, st.integers(-2, 2), st.tuples(st.just([0, 2, 4]), st.just(2), st.booleans())
)
def test_the_higher_of_two_states_counts(
    blocks: list[tuple[int, int]], one: list[Take], other: list[Take], lift: int, then: Take
) -> None:
    first, second = places(blocks), places(blocks)
    for state, takes in ((first, one), (second, other)):
        for take in takes:
            apply(state, take)
    second.lift = lift
    both = [first.marked(1, None), second.marked(2, None)]
    for state in both:
        apply(state, then)

    taken = first.raise_by(second)
    apply(first, then)

    assert first.top[0] == max([state.top[0] for state in both])
    assert taken is None or taken.lift == first.lift


def test_the_calls_that_were_taken_are_noted_in_their_order() -> None:
    state = places([(0, 3)])

    state.take([2], 1, 7)
    state.take([0], 1, 8)

    assert state.top == (2, ((None, 7, 2), 8, 0))
    assert state.marked(9, "x").top == (2, (((None, 7, 2), 8, 0), 9, "x"))


def test_what_is_worth_no_more_than_an_earlier_place_is_left_out() -> None:
    state = places([(0, 2)])
    state.take([0, 1, 4], 1, 7)

    assert {place: value for place, (value, _) in state.worth.items()} == {(0, 0): 0, (0, 1): 1, (0, 2): 1}


def test_steps_are_spent_for_what_is_tried() -> None:
    places([(0, 3)], steps=6).take([0, 1, 2], 1, 7)

    with pytest.raises(LimitError):
        places([(0, 3)], steps=5).take([0, 1, 2], 1, 7)
