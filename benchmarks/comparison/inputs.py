"""Two dozen pairs of expected and actual calls on which evaluators differ most.

It imports the standard library only: every peer reads it in an environment of its own.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Call = dict[str, Any]


@dataclass(frozen=True)
class Input:
    """Expected and actual calls, and what the tables call them."""

    label: str
    expected: Sequence[Call]
    actual: Sequence[Call]

    @property
    def expected_names(self) -> list[str]:
        """The names of the expected calls."""
        return [call["name"] for call in self.expected]

    @property
    def actual_names(self) -> list[str]:
        """The names of the actual calls."""
        return [call["name"] for call in self.actual]

    @property
    def expected_counts(self) -> dict[str, tuple[str, int]]:
        """How often each expected tool is expected."""
        return {name: ("=", count) for name, count in Counter(self.expected_names).items()}


def output_of(call: Call) -> Any:
    """What a call gave back, where outputs are compared: its arguments, or a word if it has none."""
    return call["args"] or "done"


def _named(label: str) -> Input:
    """`AB/BA`: a letter is a call of that tool without arguments, and ∅ is nothing."""
    expected, actual = ([{"name": name, "args": {}} for name in side.strip("∅")] for side in label.split("/"))
    return Input(label, expected, actual)


def _with_arguments(label: str, expected: list[Call], actual: list[Call]) -> Input:
    """Calls of one tool, each given by its arguments."""
    sides = ([{"name": "a", "args": args} for args in side] for side in (expected, actual))
    return Input(label, *sides)


NAMES = tuple(
    _named(label)
    for label in (
        "ABC/ABC",
        "ABC/CBA",
        "ABC/ABXC",
        "ABC/AC",
        "ABC/BC",
        "ABCD/AXBD",
        "AAB/AAB",
        "AAB/AB",
        "AB/AAB",
        "AAB/ABB",
        "∅/∅",
        "∅/A",
        "A/∅",
    )
)

ARGUMENTS = (
    _with_arguments('1/"1"', [{"x": 1}], [{"x": "1"}]),
    _with_arguments("1/1.0", [{"x": 1}], [{"x": 1.0}]),
    _with_arguments("1/true", [{"x": 1}], [{"x": True}]),
    _with_arguments("extra", [{"x": 1}], [{"x": 1, "y": 2}]),
    _with_arguments("missing", [{"x": 1, "y": 2}], [{"x": 1}]),
    _with_arguments("one of two", [{"x": 1, "y": 2}], [{"x": 1, "y": 3}]),
    _with_arguments("key order", [{"x": {"p": 1, "q": 2}}], [{"x": {"q": 2, "p": 1}}]),
    _with_arguments("swapped", [{"x": 1}, {"x": 2}], [{"x": 2}, {"x": 1}]),
    _with_arguments("any first", [{}, {"x": 1}], [{"x": 1}, {"x": 2}]),
    _with_arguments("any last", [{"x": 1}, {}], [{"x": 1}, {"x": 2}]),
    _with_arguments("none", [{}], [{"x": 1}]),
)

INPUTS = (*NAMES, *ARGUMENTS)
