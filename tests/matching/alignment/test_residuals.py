"""What is left of a group after some calls, by number: equal rests have one number, and know what they still need."""

from __future__ import annotations

from typing import Any

import pytest
from tests.matching.alignment.trees import tree_of
from tests.walls import for_each

from rightcall.errors import LimitError
from rightcall.matching.alignment import SearchBudget
from rightcall.matching.alignment._blocks import EMPTY, Residuals
from rightcall.matching.alignment._tree import parts_of

ENDLESS = 1 << 40


class Rests:
    """Rests of expectations whose steps `x` nothing can be paired with."""

    def __init__(self, budget: int = 10_000) -> None:
        self.kinds: list[int] = []
        self.held = Residuals(self.kinds, SearchBudget(budget))

    def of(self, steps: Any) -> int:
        names = [""] * len(self.kinds)
        part = parts_of(tree_of(steps, names))
        self.kinds += [-1 if name == "x" else ord(name) for name in names[len(self.kinds) :]]
        return self.held.of_part(part)

    def moves(self, steps: Any, batches: tuple[int, ...] = (0,)) -> dict[str, list[tuple[int, int]]]:
        """By the name of the next call: how many steps are skipped, and the number of what is left."""
        return {chr(kind): sorted(ends) for kind, ends in self.held.moves(self.of(steps), batches).items()}


@for_each(
    ("steps", "need", "most"),
    [
        ("a", 1, 1),
        ("x", 1, 0),
        (["a", "b"], 2, 2),
        (["a", "x"], 2, 1),
        ({"optional": "a"}, 0, 1),
        ({"one_of": ["a", ["b", "c"]]}, 1, 2),
        ({"any_order": ["a", ["b", "c"]]}, 3, 3),
        ({"at_once": ["a", "b"]}, 2, 2),
        ({"repeat": "a", "at_least": 2}, 2, ENDLESS),
        ({"repeat": ["a", "b"], "at_least": 2, "at_most": 3}, 4, 6),
        ({"repeat": {"optional": "a"}, "at_least": 2, "at_most": 3}, 0, 3),
        ([{"repeat": "a"}, {"repeat": "b"}], 2, ENDLESS),
        ({"repeat": {"repeat": "a"}}, 1, ENDLESS),
    ],
)
def test_a_rest_knows_how_many_steps_it_needs_and_how_many_calls_it_takes(steps: Any, need: int, most: int) -> None:
    rests = Rests()
    number = rests.of(steps)

    assert (rests.held.need[number], rests.held.most[number]) == (need, most)


@for_each(
    ("one", "other", "same"),
    [
        (["a", ["b", "c"]], [["a", "b"], "c"], True),
        (["a", "b"], ["b", "a"], False),
        ({"any_order": ["a", "b"]}, {"any_order": ["b", "a"]}, True),
        ({"any_order": ["a", {"any_order": ["b", "c"]}]}, {"any_order": ["c", "b", "a"]}, True),
        ({"at_once": ["a", "b"]}, {"at_once": ["b", "a"]}, True),
        ({"at_once": ["a", "b"]}, {"any_order": ["a", "b"]}, False),
        ({"at_once": ["a"]}, "a", False),
        ({"one_of": ["a", "b"]}, {"one_of": ["b", "a", "b"]}, True),
        ({"one_of": ["a", "a"]}, "a", True),
        ({"repeat": "a", "at_least": 1, "at_most": 1}, "a", True),
        ({"repeat": "a", "at_least": 1, "at_most": 2}, {"repeat": "a", "at_least": 1}, False),
        (["a"], "a", True),
        ({"any_order": ["a"]}, "a", True),
        ({"optional": "a"}, "a", False),
    ],
)
def test_rests_that_ask_for_the_same_are_one(one: Any, other: Any, same: bool) -> None:
    rests = Rests()

    assert (rests.of(one) == rests.of(other)) is same


def test_nothing_is_left_of_nothing() -> None:
    held = Rests().held

    assert held.in_order([]) == held.any_order([EMPTY]) == held.at_once([EMPTY, EMPTY]) == EMPTY
    assert held.perhaps(EMPTY) == held.repeat(EMPTY, 1, None) == held.repeat(EMPTY, 2, 2) == EMPTY
    assert held.repeat(held.in_order([]), 0, 0) == EMPTY
    assert (held.need[EMPTY], held.most[EMPTY]) == (0, 0)


@for_each(
    ("steps", "moves"),
    [
        ("a", {"a": [(0, [])]}),
        ("x", {}),
        (["a", "b"], {"a": [(0, "b")], "b": [(1, [])]}),
        (["a", "b", "a"], {"a": [(0, ["b", "a"]), (2, [])], "b": [(1, "a")]}),
        ([{"optional": "a"}, "b"], {"a": [(0, "b")], "b": [(0, [])]}),
        ({"any_order": ["a", "b"]}, {"a": [(0, "b")], "b": [(0, "a")]}),
        ({"any_order": ["a", "a"]}, {"a": [(0, "a")]}),
        (
            {"any_order": [["a", "b"], "c"]},
            {"a": [(0, {"any_order": ["b", "c"]})], "b": [(1, "c")], "c": [(0, ["a", "b"])]},
        ),
        ({"one_of": ["a", ["a", "b"]]}, {"a": [(0, []), (0, "b")], "b": [(1, [])]}),
        ({"repeat": "a", "at_least": 2, "at_most": 3}, {"a": [(0, {"repeat": "a", "at_least": 1, "at_most": 2})]}),
        ({"repeat": "a", "at_least": 0}, {"a": [(0, {"repeat": "a", "at_least": 0})]}),
        ({"repeat": ["a", "b"], "at_least": 1, "at_most": 1}, {"a": [(0, "b")], "b": [(1, [])]}),
    ],
)
def test_each_call_that_can_come_next_skips_steps_and_leaves_a_rest(steps: Any, moves: dict[str, Any]) -> None:
    rests = Rests()

    found = rests.moves(steps)

    assert found == {
        name: sorted([(skipped, rests.of(left)) for skipped, left in ends]) for name, ends in moves.items()
    }


def test_calls_at_once_are_all_of_the_batch_that_the_first_of_them_is_of() -> None:
    rests = Rests()
    held, both = rests.held, rests.of({"at_once": ["a", "b"]})
    [(_, left)] = held.moves(both, (3,))[ord("a")]

    assert left == held.at_once([rests.of("b")], 3)
    assert list(held.moves(left, (4,))) == []
    assert held.moves(left, (3, 4)) == {ord("b"): [(0, EMPTY)]}
    assert len(held.moves(both, (3, 4))[ord("a")]) == 2


def test_steps_are_spent_once_for_the_moves_of_a_rest() -> None:
    rests = Rests(budget=80)  # twenty for each of three rests, and five for each of their four moves
    for _ in range(3):
        rests.moves({"any_order": ["a", "b"]})

    with pytest.raises(LimitError):
        rests.moves("c")
