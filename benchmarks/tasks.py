"""What a worker is asked to evaluate: one question about calls, the same for us and for every peer."""

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, Self

Call = dict[str, Any]
Question = Literal["order", "count", "args", "output", "all", "match", "path", "similarity"]


@dataclass(frozen=True)
class Task:
    """A question, the expected calls, the actual ones, and whether the details of the answer are read.

    `all` asks the four tool-call questions one after the other, starting from spans. `match` is a trajectory
    match of the given `mode`. `path` is no evaluation but rapidfuzz's own path through two lists of names.
    `similarity` compares the outputs of the only calls as the answers of the run.
    """

    question: Question
    expected: Sequence[Call]
    actual: Sequence[Call]
    mode: str = ""
    read: bool = False

    def __str__(self) -> str:
        return f"{self.mode or self.question} of {len(self.actual):,} calls"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def expected_names(self) -> list[str]:
        return [call["name"] for call in self.expected]

    @property
    def actual_names(self) -> list[str]:
        return [call["name"] for call in self.actual]

    @property
    def expected_counts(self) -> dict[str, tuple[str, int]]:
        return {name: ("=", count) for name, count in Counter(self.expected_names).items()}

    def asking(self, question: Question, mode: str = "") -> Self:
        return replace(self, question=question, mode=mode)

    def reading(self) -> Self:
        return replace(self, read=True)


def as_expected(length: int, tools: int = 5) -> Task:
    """Calls of a few tools, each with its own arguments, made as expected."""
    calls = [_call(position, tools) for position in range(length)]
    return Task("match", calls, calls)


def ten_with_faults() -> Task:
    """Ten calls of five tools: two calls swapped, one with other arguments, one missing, one extra."""
    expected = as_expected(10).expected
    altered = {**expected[4], "args": {"city": "elsewhere", "n": -1}, "output": {"t": -1}}
    extra: Call = {"name": "tool_9", "args": {}, "output": None}
    actual = [*expected[:2], expected[3], expected[2], altered, *expected[5:7], *expected[8:], extra]
    return Task("order", expected, actual)


def random_names(length: int) -> Task:
    """Two sequences drawn at random from four names."""
    chance = random.Random(length)
    expected, actual = (chance.choices("abcd", k=length) for _ in range(2))
    return Task("order", _named(expected), _named(actual))


def two_texts(length: int) -> Task:
    """Two texts drawn at random from nine characters, as the expected and the actual answer."""
    chance = random.Random(length)
    expected, actual = ("".join(chance.choices("abcdefgh ", k=length)) for _ in range(2))
    return Task("similarity", [{"output": {"text": expected}}], [{"output": {"text": actual}}])


def one_tool_reversed(length: int) -> Task:
    """Calls of one tool, each with its own arguments, made in reverse."""
    expected = as_expected(length, tools=1).expected
    return Task("args", expected, expected[::-1])


def one_tool_mismatched(length: int) -> Task:
    """Calls of one tool, none of which has the arguments of any expected one."""
    expected = as_expected(length, tools=1).expected
    actual = [_call(position, tools=1) for position in range(length, 2 * length)]
    return Task("args", expected, actual)


def _call(position: int, tools: int) -> Call:
    return {
        "name": f"tool_{position % tools}",
        "args": {"city": f"c{position}", "n": position},
        "output": {"t": position},
    }


def _named(names: Iterable[str]) -> list[Call]:
    return [{"name": name} for name in names]
