"""What the search asks of a part of an expectation: its room for single calls, its size, and whether it is closed."""

from __future__ import annotations

from typing import Any

from tests.matching.alignment.trees import tree_of
from tests.walls import for_each

from rightcall.matching.alignment._tree import Slot, once_slots, parts_of

A, B, C = (Slot((leaf,)) for leaf in range(3))


def twice(step: Any) -> dict[str, Any]:
    return {"repeat": step, "at_least": 2, "at_most": 2}


@for_each(
    ("steps", "slots", "size", "is_closed"),
    [
        ("a", (A,), 1, False),
        (["a"], (A,), 1, False),
        (["a", "b"], None, 2, False),
        ({"optional": "a"}, (Slot((0,), 0),), None, False),
        ({"optional": ["a", "b"]}, None, None, False),
        ({"optional": {"repeat": "a"}}, None, None, True),
        ({"one_of": ["a", "b"]}, (Slot((0, 1)),), 1, False),
        ({"one_of": ["a", {"optional": "b"}]}, (Slot((0, 1), 0),), None, False),
        ({"one_of": ["a", ["b", "c"]]}, None, None, False),
        ({"one_of": [["a", "b"], ["c", "d"]]}, None, 2, False),
        ({"repeat": "a"}, (Slot((0,), 1, None, is_round=True),), None, True),
        ({"repeat": "a", "at_least": 0}, (Slot((0,), 0, None, is_round=True),), None, True),
        ({"repeat": "a", "at_least": 2}, (Slot((0,), 2, None, is_round=True),), None, False),
        ({"repeat": "a", "at_least": 2, "at_most": 3}, (Slot((0,), 2, 3, is_round=True),), None, False),
        (twice("a"), (Slot((0,), 2, 2, is_round=True),), 2, False),
        (twice(["a", "b"]), None, 4, False),
        (twice(twice("a")), None, 4, False),
        (twice({"optional": "a"}), (Slot((0,), 0, 2, is_round=True),), None, False),
        ({"repeat": {"one_of": ["a", "b"]}, "at_most": 2}, (Slot((0, 1), 1, 2, is_round=True),), None, False),
        ({"repeat": [{"repeat": "a"}], "at_least": 2}, None, None, False),
        ([{"repeat": "a"}], (Slot((0,), 1, None, is_round=True),), None, True),
        ([{"repeat": "a"}, {"repeat": "b"}], None, None, False),
        ({"any_order": ["a", "b"]}, (A, B), 2, False),
        ({"any_order": [{"any_order": ["a", "b"]}, "c"]}, (A, B, C), 3, False),
        ({"any_order": ["a", {"repeat": "b"}]}, (A, Slot((1,), 1, None, is_round=True)), None, False),
        ({"any_order": ["a", ["b", "c"]]}, None, 3, False),
        ({"at_once": ["a", "b"]}, None, 2, False),
        ({"at_once": ["a"]}, (A,), 1, False),
        ({"at_once": [{"optional": "a"}]}, (Slot((0,), 0),), None, False),
        ({"at_once": [{"repeat": "a"}]}, None, None, True),
    ],
)
def test_a_part_knows_its_room_its_size_and_whether_a_second_round_adds_nothing(
    steps: Any, slots: tuple[Slot, ...] | None, size: int | None, is_closed: bool
) -> None:
    part = parts_of(tree_of(steps, []))

    assert (part.slots, part.size, part.is_closed) == (slots, size, is_closed)


def test_parts_are_numbered_as_they_are_written_and_know_the_leaves_inside() -> None:
    part = parts_of(tree_of(["a", {"any_order": ["b", "c"]}, "d"], []))

    assert [(item.number, item.leaves) for item in (part, *part.items, *part.items[1].items)] == [
        (0, (0, 1, 2, 3)),
        (1, (0,)),
        (2, (1, 2)),
        (5, (3,)),
        (3, (1,)),
        (4, (2,)),
    ]


def test_calls_at_once_have_room_where_each_of_them_is_single() -> None:
    assert once_slots(parts_of(tree_of({"at_once": ["a", {"repeat": "b"}]}, []))) == (
        A,
        Slot((1,), 1, None, is_round=True),
    )
    assert once_slots(parts_of(tree_of({"at_once": ["a", ["b", "c"]]}, []))) is None
