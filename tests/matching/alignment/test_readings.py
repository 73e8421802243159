"""The reading of an expectation that fits the calls best."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.matching.alignment.trees import (
    Range,
    Rows,
    best_by_trying,
    choices,
    is_valid,
    rows_of,
    some_batches,
    some_ranges,
    some_steps,
    tree_of,
)
from tests.sampling import examples, randomness
from tests.walls import for_each

from rightcall.errors import LimitError
from rightcall.matching.alignment import AnyOrder, Occurrence, Perhaps, Reader, SearchBudget, StepNode, StepReading
from rightcall.matching.alignment._blocks import Segments

VECTORS = Path(__file__).parents[2] / "data" / "path_vectors.jsonl.gz"
BUDGET = 2_000_000


def read(
    steps: Any,
    made: list[str] | str,
    *,
    extras: bool = False,
    batches: list[Range] | None = None,
    free: list[Range] | None = None,
    budget: int = BUDGET,
) -> StepReading:
    names: list[str] = []
    reader = Reader(tree_of(steps, names))
    return reader.read(
        rows_of(names, made),
        len(made),
        extras=extras,
        budget=SearchBudget(budget),
        batches=batches or (),
        free=free or (),
    )


def counts(reading: StepReading) -> tuple[int, int, int]:
    return reading.matched, reading.missing, reading.extra


def ratio(reading: StepReading, calls: int, *, extras: bool) -> Fraction:
    size = reading.matched + reading.missing
    over, under = (reading.matched, size) if extras else (2 * reading.matched, size + calls)
    return Fraction(over, under) if under else Fraction(1)


EDIT_AND_TEST = [{"repeat": ["edit", "test"]}, "commit"]


@pytest.mark.parametrize(
    ("steps", "made", "extras", "expected"),
    [
        pytest.param(["l", {"any_order": ["a", "b", "c"]}, "p"], "lcabp", False, (5, 0, 0), id="P01 group met"),
        pytest.param(["l", {"any_order": ["a", "b", "c"]}, "p"], "lcap", False, (4, 1, 0), id="P02 one of it missing"),
        pytest.param(["l", {"any_order": ["a", "b", "c"]}, "p"], "albcp", False, (4, 1, 1), id="P03 one of it early"),
        pytest.param(["a", {"optional": "b"}, "c"], "ac", False, (2, 0, 0), id="P04 optional left out"),
        pytest.param(["a", {"optional": "b"}, "c"], "abxc", False, (3, 0, 1), id="P05 optional taken"),
        pytest.param(["a", {"one_of": ["b", ["c", "d"]]}, "e"], "acde", False, (4, 0, 0), id="P06 longer choice"),
        pytest.param(["a", {"one_of": ["b", ["c", "d"]]}, "e"], "ace", False, (3, 1, 0), id="P07 part of a choice"),
        pytest.param([{"one_of": ["a", list("bcde")]}], "bcd", True, (3, 1, 0), id="P08 the long way is nearer"),
        pytest.param([{"one_of": ["a", list("bcdef")]}], "abcde", True, (1, 0, 0), id="P09 the short way is met"),
        pytest.param([{"repeat": "p", "at_most": 3}, "d"], "ppd", False, (3, 0, 0), id="P10 two rounds"),
        pytest.param([{"repeat": "p", "at_most": 3}, "d"], "ppppd", False, (4, 0, 1), id="P11 a round too many"),
        pytest.param([{"repeat": "p", "at_most": 3}, "d"], "ppppd", True, (4, 0, 0), id="P12 an extra round"),
        pytest.param(
            EDIT_AND_TEST, ["edit", "test", "edit", "edit", "test", "commit"], False, (6, 1, 0), id="P14 rounds"
        ),
        pytest.param([{"any_order": [["a", "b"], ["c", "d"]]}, "e"], "cadbe", False, (5, 0, 0), id="P15 branches"),
        pytest.param(
            [{"any_order": [["a", "b"], ["c", "d"]]}, "e"], "dacbe", False, (4, 1, 1), id="P16 a branch turned"
        ),
        pytest.param([{"optional": ["a", "b"]}], "a", True, (0, 0, 0), id="nothing is better than half"),
        pytest.param([{"optional": ["a", "b"]}], "a", False, (1, 1, 0), id="half is better than an extra call"),
        pytest.param([{"one_of": ["a", ["b", "c"]]}], "x", True, (0, 1, 0), id="the fewest steps where nothing fits"),
        pytest.param([{"one_of": ["a", list("bcde")]}], "b", True, (1, 3, 0), id="a pair is better than none"),
    ],
)
def test_the_best_reading_counts(
    steps: Any, made: list[str] | str, extras: bool, expected: tuple[int, int, int]
) -> None:
    assert counts(read(steps, made, extras=extras)) == expected


@pytest.mark.parametrize(
    ("batches", "expected"), [([(0, 2), (2, 3)], (3, 0, 0)), ([(0, 1), (1, 2), (2, 3)], (2, 1, 1))]
)
def test_calls_at_once_belong_to_one_batch(batches: list[Range], expected: tuple[int, int, int]) -> None:
    assert counts(read([{"at_once": ["w", "h"]}, "answer"], ["h", "w", "answer"], batches=batches)) == expected


def test_all_vectors_have_the_counts_that_trying_everything_gives() -> None:
    wrong = []
    for line in gzip.decompress(VECTORS.read_bytes()).splitlines():
        vector = json.loads(line)
        reading = read_vector(vector)
        expected = (vector["matched"], vector["missing"], vector["extra"])
        if counts(reading) != expected or reading.is_met != vector["met"]:
            wrong.append((vector, counts(reading)))

    assert wrong == []


def read_vector(vector: dict[str, Any]) -> StepReading:
    names: list[str] = []
    tree: Any = tree_of(vector["expected"], names)
    if vector["match"] in ("any_order", "unordered", "subset"):
        items = tree.items
        tree = AnyOrder(tuple([Perhaps(item) for item in items]) if vector["match"] == "subset" else items)
    groups = [call["group"] for call in vector["calls"]]
    cuts = [place for place in range(len(groups)) if place == 0 or groups[place] != groups[place - 1]]
    rows = rows_of(names, [call["name"] for call in vector["calls"]])
    extras = vector["match"] in ("in_order", "any_order")
    batches = list(zip(cuts, [*cuts[1:], len(groups)], strict=False))
    return Reader(tree).read(rows, len(groups), extras=extras, budget=SearchBudget(BUDGET), batches=batches)


STEPS = st.recursive(
    st.sampled_from("abc"),
    lambda inside: st.one_of(
        st.tuples(st.sampled_from(["any_order", "one_of", "steps"]), st.lists(inside, min_size=1, max_size=3)).map(
            lambda drawn: {drawn[0]: drawn[1]}
        ),
        inside.map(lambda step: {"optional": step}),
        st.tuples(inside, st.integers(0, 2), st.sampled_from([None, 2, 3])).map(
            lambda drawn: {"repeat": drawn[0], "at_least": drawn[1]} | ({"at_most": drawn[2]} if drawn[2] else {})
        ),
    ),
    max_leaves=6,
)
MADE = st.lists(st.sampled_from("abcx"), max_size=8)


@given(STEPS, MADE, st.booleans())
@examples(400)
def test_a_step_alone_means_the_same_however_it_is_wrapped(step: Any, made: list[str], extras: bool) -> None:
    alone = counts(read(step, made, extras=extras))

    wraps: list[Any] = [[step], {"steps": [step]}, {"any_order": [step]}, {"one_of": [step]}]
    wraps.append({"repeat": step, "at_most": 1})
    assert [counts(read(wrap, made, extras=extras)) for wrap in wraps] == [alone] * 5


@given(
    st.lists(STEPS, min_size=2, max_size=3), st.sampled_from(["any_order", "one_of", "at_once"]), MADE, st.booleans()
)
@examples(400)
def test_the_order_of_items_in_a_group_changes_nothing(
    items: list[Any], word: str, made: list[str], extras: bool
) -> None:
    batches = [(place, min(place + 2, len(made))) for place in range(0, len(made), 2)]

    turned = read(["c", {word: items[::-1]}], made, extras=extras, batches=batches)

    assert counts(read(["c", {word: items}], made, extras=extras, batches=batches)) == counts(turned)


@given(STEPS, STEPS, MADE, st.booleans())
@examples(400)
def test_an_expectation_that_allows_more_is_met_no_less(step: Any, other: Any, made: list[str], extras: bool) -> None:
    strict = ratio(read([step, "a"], made, extras=extras), len(made), extras=extras)

    looser: list[Any] = [{"optional": step}, {"one_of": [step, other]}, {"repeat": step, "at_most": 2}]
    for loose in looser:
        assert ratio(read([loose, "a"], made, extras=extras), len(made), extras=extras) >= strict


@given(STEPS, MADE, st.integers(0, 8))
@examples(400)
def test_a_call_that_no_step_accepts_changes_nothing_where_extras_are_allowed(
    step: Any, made: list[str], place: int
) -> None:
    more = [*made[:place], "unrelated", *made[place:]]

    assert counts(read(step, more, extras=True)) == counts(read(step, made, extras=True))


def test_rounds_are_numbered_and_what_is_left_out_is_not_a_step() -> None:
    reading = read([{"repeat": ["e", "t", {"optional": "n"}]}, {"one_of": ["c", ["d", "p"]]}], "eteetc")

    assert reading.steps == [
        Occurrence(0, (0,), 0),
        Occurrence(1, (0,), 1),
        Occurrence(0, (1,), 2),
        Occurrence(1, (1,)),
        Occurrence(0, (2,), 3),
        Occurrence(1, (2,), 4),
        Occurrence(3, (), 5),
    ]


def test_steps_that_have_to_be_there_are_served_before_optional_ones() -> None:
    reading = read([{"any_order": [{"optional": "a"}, "a", {"repeat": "b", "at_least": 2}]}], "bab", extras=True)

    assert [(step.leaf, step.rounds, step.call) for step in reading.steps] == [(1, (), 1), (2, (0,), 0), (2, (1,), 2)]


@pytest.mark.parametrize(
    ("steps", "made"),
    [
        pytest.param([{"any_order": [list("abca")] * 10}], "abc" * 34, id="10 branches over 102 calls"),
        pytest.param(
            [{"repeat": [{"repeat": ["a", "b"], "at_least": 1000}], "at_least": 1000}], "ab" * 50, id="a million rounds"
        ),
    ],
)
def test_more_work_than_the_budget_allows_is_refused(steps: Any, made: str) -> None:
    with pytest.raises(LimitError, match="takes too long"):
        read(steps, made, budget=20_000)


def test_repeats_inside_repeats_take_no_more_steps_than_one() -> None:
    steps: Any = "a"
    for _ in range(19):
        steps = {"repeat": [steps]}

    assert counts(read(steps, "a" * 100, budget=10_000)) == (100, 0, 0)


def compare_with_trying(key: str, number: int, depth: int, *, loose: bool = False) -> None:
    """Compare so many random expectations with what trying everything gives."""
    random = randomness(key)
    while number:
        steps = [some_steps(random, depth, "abc") for _ in range(random.randint(1, 2 if depth > 1 else 3))]
        made = random.choices("abcx", k=random.randint(0, 4))
        extras, batches = random.random() < 0.5, some_batches(random, len(made))
        free = [each for each in some_ranges(random, len(made)) if each[1] - each[0] > 1] if loose else []
        names: list[str] = []
        tree = tree_of(steps, names)
        if len(names) > 6 or choices(tree, len(made)) > 30:
            continue
        number -= 1
        rows = rows_of(names, made)
        if random.random() < 0.3:  # a call that several steps accept, though not all of the same name
            rows = [sorted({*row, *random.choices(range(len(made)), k=1)}) if made else row for row in rows]
        compare_one(tree, rows, len(made), extras, batches, free)


def compare_one(tree: StepNode, rows: Rows, calls: int, extras: bool, batches: list[Range], free: list[Range]) -> None:
    case = (tree, rows, calls, extras, batches, free)
    best = best_by_trying(tree, rows, calls, extras=extras, batches=batches, free=free)
    reading = Reader(tree).read(rows, calls, extras=extras, budget=SearchBudget(BUDGET), batches=batches, free=free)
    if not free or best[1] + best[2]:
        assert counts(reading) == best, case
    assert reading.is_met == (best[1] + best[2] == 0), case
    pairs = [step for step in reading.steps if step.call >= 0]
    assert (len(pairs), len(reading.steps)) == (reading.matched, reading.matched + reading.missing), case
    assert is_valid(tree, rows, calls, reading.steps, batches, free), (case, reading.steps)


@pytest.mark.corpus
def test_no_reading_of_small_expectations_is_better() -> None:
    compare_with_trying("small expectations", 11_000, 1)


@pytest.mark.corpus
def test_no_reading_of_nested_expectations_is_better() -> None:
    compare_with_trying("nested expectations", 8_000, 3)


@pytest.mark.corpus
def test_no_reading_is_better_in_any_order_of_calls_without_one() -> None:
    compare_with_trying("free calls", 1_500, 3, loose=True)


def test_calls_next_to_each_other_without_an_order_are_one_segment() -> None:
    segments = Segments(6, [(1, 3), (3, 5)], {0, 1, 2, 4})

    assert segments.of_call == [0, 1, 1, 2, 2, 3]
    assert segments.members == [[0], [1, 2], [4], []]
    assert segments.bits == [1, 1, 2, 0, 1, 0]
    assert segments.starts() == [0, 1, 3, 5]
    assert segments.are_free
    assert not Segments(6, [(1, 3), (3, 5)], {1, 4}).are_free
    assert not Segments(3, [], {0, 1, 2}).are_free
    assert segments.after((0, 0), 0) == (1, 0)
    assert segments.after((0, 0), 1) == (1, 1)
    assert segments.after((1, 1), 2) == (2, 0)
    assert segments.after((1, 2), 1) == (2, 0)


def test_a_row_goes_on_in_the_first_segment_that_has_a_call_which_is_not_used() -> None:
    segments = Segments(6, [(1, 3), (3, 5)], {0, 1, 2, 3, 4, 5})
    starts = segments.starts()

    assert list(segments.first_of([0, 1, 2, 3], (0, 0), starts)) == [0]
    assert list(segments.first_of([0, 1, 2, 3], (1, 0), starts)) == [1, 2]
    assert list(segments.first_of([0, 1, 2, 3], (1, 1), starts)) == [2]
    assert list(segments.first_of([1, 3, 5], (1, 1), starts)) == [3]
    assert list(segments.first_of([0, 1], (2, 0), starts)) == []
    assert list(segments.first_of([0, 5], (4, 0), starts)) == []


@for_each(
    ("steps", "made", "more", "taken"),
    [
        ([{"any_order": [["a", "b", "c"], ["c", "a"], ["b", "b"]]}], "abcabcb" * 4, {}, 1694),
        (["a", "b"] * 20, "ab" * 20, {}, 501),
        ([{"repeat": ["a", "b"]}], "ab" * 40, {}, 569),
        ([{"repeat": {"any_order": ["a", "b"]}}], "abba" * 20, {}, 486),
        ([{"at_once": ["a", "b"]}], "ab" * 16, {"batches": [(0, 2), (2, 4)]}, 64),
        ([{"any_order": [["a", "b"], ["b", "c"]]}, "d"], "abcbd" * 4, {"free": [(0, 4), (5, 9)]}, 576),
        (["a", "b", "c"], "cba" * 4, {"free": [(0, 6)]}, 69),
    ],
)
def test_a_search_spends_steps_for_all_that_it_tries(steps: Any, made: str, more: dict[str, Any], taken: int) -> None:
    """A change of how the search goes, or of what a step of it is worth, changes these figures, too."""
    read(steps, made, budget=round(1.02 * taken), **more)

    with pytest.raises(LimitError, match="takes too long"):
        read(steps, made, budget=round(0.98 * taken) - 1, **more)
