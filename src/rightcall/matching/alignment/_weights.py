"""What a search for the best reading counts and keeps: the worth of pairs and missing steps, and the work done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self, TypeAlias

import msgspec

from rightcall.errors import LimitError

from ._pairing import Row

Link: TypeAlias = Any
"""How a state was reached: `(the link before, number of a part, what happened there)`, or none at the beginning."""

NONE: Link = None


class Weights(msgspec.Struct, frozen=True):
    """The worth of pairs and missing steps where the ratio of the best reading is taken to be `over / under`.

    A reading is worth more than nothing if its ratio is higher, nothing if it is the same; of readings that are worth
    the same, the one with more pairs is worth more by a pair. That is Newton's method for ratios (Dinkelbach, 1967)
    in whole numbers.
    """

    pair: int
    """A call that is paired, its step counted."""
    missing: int
    """A step without a call: never more than nothing."""
    required: int
    """A call that is paired with a step which would otherwise be missing."""

    @classmethod
    def of(cls, over: int, under: int, calls: int, *, extras: bool) -> Weights:
        """The weights at this ratio of a search among so many calls; `extras` says whether they are allowed."""
        tie = calls + 1
        worth = under if extras else 2 * under
        return cls((worth - over) * tie + 1, -over * tie, worth * tie + 1)


class SearchBudget:
    """The work that one search may do."""

    __slots__ = ("left",)

    def __init__(self, most: int) -> None:
        self.left = most

    def spend(self, steps: int) -> None:
        """Take steps from what is left. Raises `LimitError` where there are not so many."""
        self.left -= steps
        if self.left < 0:
            raise LimitError("finding the best reading takes too long")


class State(ABC):
    """What the steps so far are worth at most, by the calls that they use up."""

    __slots__ = ("budget", "lift")

    lift: int
    """What is added to all values."""
    budget: SearchBudget

    @property
    @abstractmethod
    def top(self) -> tuple[int, Link]:
        """The greatest value, and how it was reached."""

    @abstractmethod
    def marked(self, number: int, mark: object) -> Self:
        """A copy on which something is noted about the part of this number."""

    @abstractmethod
    def take(self, row: Row, gain: int, number: int) -> None:
        """Let one call of a row be paired with the part of this number, wherever that is worth it."""

    @abstractmethod
    def take_all(self, row: Row, gain: int, number: int) -> None:
        """Let any number of calls of a row be paired with the part of this number."""

    @abstractmethod
    def raise_by(self, other: Self) -> Self | None:
        """Raise this state where another is higher, and return what was taken over of it, if anything was."""
