"""Stairs are the best worth up to each place: what is offered, taken or merged raises them, and no more than that."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given, strategies as st

from rightcall.errors import LimitError
from rightcall.matching.alignment import SearchBudget
from rightcall.matching.alignment._intervals import Stairs

PLACES = 8
OFFERS = st.lists(st.tuples(st.integers(0, PLACES), st.integers(-2, 6)), max_size=7)
ROWS = st.lists(st.integers(0, PLACES - 1), unique=True, max_size=5).map(sorted)
Best = Callable[[int], int]


def stairs(offers: list[tuple[int, int]], lift: int = 0, steps: int = 1000) -> Stairs:
    """Stairs to which values were offered, each with its number for a link."""
    made = Stairs.ground(SearchBudget(steps))
    for number, (place, value) in enumerate(offers):
        made.offer(place, value, number)
    made.lift = lift
    return made


def best_of(made: Stairs) -> Best:
    """The twin of stairs: a function that looks at every rise."""
    rises = list(zip(made.places, made.values, strict=True))
    return lambda place: max([value for start, value in rises if start <= place])


def rises_of(best: Best) -> list[tuple[int, int]]:
    """Where a function rises, and to what."""
    found = [(0, best(0))]
    return found + [(place, best(place)) for place in range(1, PLACES + 2) if best(place) > best(place - 1)]


def kept(made: Stairs) -> list[tuple[int, int]]:
    assert len(made.links) == len(made.places)
    return list(zip(made.places, made.values, strict=True))


@given(OFFERS)
@example([(3, 2), (5, 4), (0, 1)])
def test_what_is_offered_counts_from_its_place_on_where_nothing_is_worth_more(offers: list[tuple[int, int]]) -> None:
    made = stairs(offers)

    assert kept(made) == rises_of(lambda place: max([0, *[value for start, value in offers if start <= place]]))
    for (place, value), link in zip(kept(made), made.links, strict=True):
        assert link == (offers.index((place, value)) if value else None)  # the first of equal ones


@given(OFFERS, OFFERS, st.integers(-2, 2), st.integers(-2, 2))
@example([(3, 1)], [(3, 1)], 0, 0)
@example([(1, 1), (4, 3)], [(4, 2), (5, 4)], 0, 0)
def test_the_higher_of_two_counts(
    one: list[tuple[int, int]], other: list[tuple[int, int]], lift: int, higher: int
) -> None:
    made, by = stairs(one, lift), stairs(other, higher)
    old, new = best_of(made), best_of(by)

    taken = made.raise_by(by)

    assert kept(made) == rises_of(lambda place: max(old(place), new(place) + higher - lift))
    assert made.lift == lift
    raised = [(place, value + higher - lift) for place, value in kept(by) if value + higher - lift > old(place)]
    assert (kept(taken) if taken else []) == raised
    assert taken is None or taken.lift == lift


@given(OFFERS, ROWS, st.integers(1, 3))
def test_a_row_takes_one_call_after_each_place(offers: list[tuple[int, int]], row: list[int], gain: int) -> None:
    made = stairs(offers)
    old = best_of(made)

    made.take(row, gain, 7)

    assert kept(made) == rises_of(lambda place: max([old(place), *[old(call) + gain for call in row if call < place]]))


@given(OFFERS, ROWS, st.integers(1, 3))
def test_a_row_takes_all_calls_one_after_the_other(offers: list[tuple[int, int]], row: list[int], gain: int) -> None:
    made = stairs(offers)
    values = list(map(best_of(made), range(PLACES + 2)))
    for call in row:
        values[call + 1 :] = [max(value, values[call] + gain) for value in values[call + 1 :]]

    made.take_all(row, gain, 7)

    assert kept(made) == rises_of(values.__getitem__)


def test_what_is_taken_is_noted_with_what_was_before() -> None:
    made = stairs([(2, 3)])

    made.take([0, 4], 5, 7)

    assert made.links == [None, (None, 7, 0), (0, 7, 4)]
    assert made.top == (8, (0, 7, 4))


def test_a_marked_copy_changes_nothing_of_the_stairs() -> None:
    made = stairs([(2, 3)], lift=1)

    copy = made.marked(7, "x")
    copy.offer(0, 9, "y")

    assert (kept(made), made.links) == ([(0, 0), (2, 3)], [None, 0])
    assert (copy.lift, copy.top) == (1, (10, "y"))
    assert made.marked(7, "x").links == [(None, 7, "x"), (0, 7, "x")]


@pytest.mark.parametrize(
    ("work", "steps"),
    [
        (lambda made: made.take([0, 1, 5], 1, 7), 3),
        (lambda made: made.take_all([0, 1, 5], 1, 7), 4),
        (lambda made: made.marked(7, None), 2),
        (lambda made: made.raise_by(stairs([(1, 1), (2, 2)])), 3),
    ],
    ids=["take", "take all", "mark", "merge"],
)
def test_steps_are_spent_by_the_rises_and_calls_looked_at(work: Callable[[Stairs], object], steps: int) -> None:
    work(stairs([(2, 3)], steps=steps))

    with pytest.raises(LimitError):
        work(stairs([(2, 3)], steps=steps - 1))
