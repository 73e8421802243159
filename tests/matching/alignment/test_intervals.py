"""Groups of single calls: each interval of calls is worth what the best pairing in it is."""

from __future__ import annotations

from functools import cache
from itertools import product

from hypothesis import example, given, strategies as st

from rightcall.matching.alignment import SearchBudget
from rightcall.matching.alignment._intervals import Pool, Range, Serving, Stairs, slot_pairs
from rightcall.matching.alignment._tree import Slot, Weights

CALLS = 4
WEIGHTS = Weights(pair=2, missing=-3, required=5)
Rows = list[list[int]]
ROWS: st.SearchStrategy[Rows] = st.lists(
    st.lists(st.integers(0, CALLS - 1), unique=True).map(sorted), min_size=3, max_size=3
)
SLOTS = st.lists(
    st.builds(
        lambda leaves, least, more: Slot(tuple(leaves), least, None if more is None else least + more),
        st.lists(st.integers(0, 2), min_size=1, max_size=2, unique=True),
        st.integers(0, 2),
        st.sampled_from([None, 0, 1]),
    ),
    min_size=1,
    max_size=3,
)


def worth(slots: list[Slot], taken: list[int]) -> int:
    """The worth of room that takes so many calls: those that have to be there are worth more."""
    pairs = zip(slots, taken, strict=True)
    return sum([min(n, slot.at_least) * 5 + max(0, n - slot.at_least) * 2 for slot, n in pairs])


def best(slots: list[Slot], rows: Rows, calls: range) -> int:
    """The worth of the best pairing, by trying every one."""
    fitting = [
        [-1, *[place for place, slot in enumerate(slots) if any([call in rows[leaf] for leaf in slot.leaves])]]
        for call in calls
    ]
    found = []
    for choice in product(*fitting):
        taken = [choice.count(place) for place in range(len(slots))]
        if all([slot.at_most is None or n <= slot.at_most for slot, n in zip(slots, taken, strict=True)]):
            found.append(worth(slots, taken))
    return max(found)


@given(SLOTS, ROWS, st.integers(0, CALLS), st.integers(0, CALLS))
@example([Slot((0,), 0, 1), Slot((0,)), Slot((1,), 2, 2)], [[1], [0, 2], []], 0, 4)
def test_the_calls_of_an_interval_are_paired_in_the_best_way(
    slots: list[Slot], rows: Rows, first: int, end: int
) -> None:
    pool = Pool(slots, rows)

    pairs = sorted(slot_pairs(pool, pool.pairs(first, end)))

    taken = [call for _, calls in pairs for call in calls]
    assert [place for place, _ in pairs] == list(range(len(slots)))
    assert len(set(taken)) == len(taken)
    assert all([first <= call < end for call in taken])
    assert all([any([call in rows[leaf] for leaf in slots[place].leaves]) for place, calls in pairs for call in calls])
    assert all(
        [slot.at_most is None or len(calls) <= slot.at_most for slot, (_, calls) in zip(slots, pairs, strict=True)]
    )
    assert worth(slots, [len(calls) for _, calls in pairs]) == best(slots, rows, range(first, end))


@given(
    SLOTS,
    ROWS,
    st.lists(st.tuples(st.integers(1, CALLS), st.integers(1, 9)), max_size=3),
    st.sampled_from([None, [(0, 2), (2, 4)], [(0, 1), (1, 4)], [(0, 3), (1, 4)]]),
)
def test_stairs_are_raised_through_a_group_by_the_best_interval_that_ends_there(
    slots: list[Slot], rows: Rows, offers: list[tuple[int, int]], batches: list[Range] | None
) -> None:
    stairs = Stairs.ground(SearchBudget(10_000))
    for place, value in offers:
        stairs.offer(place, value, None)
    before = [max([0, *[value for start, value in offers if start <= place]]) for place in range(CALLS + 1)]
    gain = cache(lambda first, end: best(slots, rows, range(first, max(first, end))))
    parts = batches or [(0, CALLS)]

    Serving(stairs, Pool(slots, rows), WEIGHTS, 7).serve(batches)

    after = [
        max([value for start, value in zip(stairs.places, stairs.values, strict=True) if start <= place])
        for place in range(CALLS + 1)
    ]
    assert after == [
        max([before[s] + gain(max(s, first), min(place, end)) for s in range(place + 1) for first, end in parts])
        for place in range(CALLS + 1)
    ]
    assert stairs.lift == -3 * sum([slot.at_least for slot in slots])
