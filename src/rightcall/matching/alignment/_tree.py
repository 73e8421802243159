"""The tree of an expectation, numbered for the search, and the weights, budget and states of a search."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self, TypeAlias, Union

import msgspec

from rightcall.errors import LimitError

from ._pairing import Row

Link: TypeAlias = Any
"""How a state was reached: `(the link before, number of a part, what happened there)`, or `None` at the beginning."""

NONE: Link = None


class OneCall(msgspec.Struct, frozen=True):
    """A single expected call; the row of this number has the calls that it accepts."""

    leaf: int


class InOrder(msgspec.Struct, frozen=True):
    """Steps one after the other."""

    items: tuple[StepNode, ...]


class AnyOrder(msgspec.Struct, frozen=True):
    """Steps that do not constrain each other: sequences among them are interleaved."""

    items: tuple[StepNode, ...]


class AtOnce(msgspec.Struct, frozen=True):
    """Steps in any order whose calls all belong to one batch."""

    items: tuple[StepNode, ...]


class Perhaps(msgspec.Struct, frozen=True):
    """A step that may be left out."""

    item: StepNode


class OneOf(msgspec.Struct, frozen=True):
    """Exactly one of several steps."""

    items: tuple[StepNode, ...]


class Repeat(msgspec.Struct, frozen=True):
    """A step several times in a row; without `at_most` as often as you like."""

    item: StepNode
    at_least: int = 1
    at_most: int | None = None


StepNode: TypeAlias = Union[OneCall, InOrder, AnyOrder, AtOnce, Perhaps, OneOf, Repeat]  # noqa: UP007 - it is recursive


class Slot(msgspec.Struct, frozen=True):
    """Room for calls in any order, each of which one of these leaves accepts."""

    leaves: tuple[int, ...]
    at_least: int = 1
    at_most: int | None = 1
    is_round: bool = False
    """Whether each call is a round of its own in a repeat."""


class Part(msgspec.Struct, frozen=True):
    """A node with what the search often needs to know about it."""

    number: int
    """Its index among all parts; marks of a search refer to a part by this number."""
    node: StepNode
    items: tuple[Part, ...]
    leaves: tuple[int, ...]
    """The leaves inside, in the order in which they are written."""
    slots: tuple[Slot, ...] | None
    """The part as room for single calls in any order; `None` if it has sequences or choices between groups."""
    size: int | None
    """How many steps it has; `None` if that depends on the reading."""
    is_closed: bool
    """Whether repeating it adds nothing, because it already repeats without a limit."""


def parts_of(node: StepNode) -> Part:
    """Return a node and everything inside it, numbered."""
    return _part(node, iter(range(1 << 62)))


def _part(node: StepNode, numbers: Iterator[int]) -> Part:
    number = next(numbers)
    inside = () if isinstance(node, OneCall) else node.items if hasattr(node, "items") else (node.item,)
    items = tuple([_part(item, numbers) for item in inside])
    leaves = (node.leaf,) if isinstance(node, OneCall) else tuple([leaf for item in items for leaf in item.leaves])
    return Part(number, node, items, leaves, _slots(node, items), _size(node, items), _is_closed(node, items))


def _size(node: StepNode, items: tuple[Part, ...]) -> int | None:
    sizes = {item.size for item in items}
    if isinstance(node, OneCall):
        return 1
    if None in sizes or isinstance(node, Perhaps):
        return None
    if isinstance(node, OneOf):
        return sizes.pop() if len(sizes) == 1 else None
    total = sum([item.size or 0 for item in items])
    if isinstance(node, Repeat):
        return total * node.at_least if node.at_least == node.at_most else None
    return total


def _is_closed(node: StepNode, items: tuple[Part, ...]) -> bool:
    if isinstance(node, Repeat):
        return node.at_least <= 1 and node.at_most is None
    return not isinstance(node, OneCall) and len(items) == 1 and items[0].is_closed


def _slots(node: StepNode, items: tuple[Part, ...]) -> tuple[Slot, ...] | None:
    if isinstance(node, OneCall):
        return (Slot((node.leaf,)),)
    slots_of = [item.slots for item in items]
    if isinstance(node, AnyOrder):
        return None if None in slots_of else tuple([slot for slots in slots_of for slot in slots or ()])
    if isinstance(node, InOrder):
        return slots_of[0] if len(items) == 1 else None
    if isinstance(node, AtOnce):
        return slots_of[0] if len(items) == 1 and _single(slots_of[0]) is not None else None
    single = [_single(slots) for slots in slots_of]
    if None in single:
        return None
    return _choice(node, [slot for slot in single if slot is not None])


def _single(slots: tuple[Slot, ...] | None) -> Slot | None:
    """Return the slot of a part that takes at most one call; else `None`."""
    fits = slots is not None and len(slots) == 1 and slots[0].at_most == 1 and not slots[0].is_round
    return slots[0] if fits and slots is not None else None


def _choice(node: Perhaps | OneOf | Repeat, slots: list[Slot]) -> tuple[Slot, ...]:
    """Return the slots of a part whose items take at most one call each."""
    least = min([slot.at_least for slot in slots])
    leaves = tuple([leaf for slot in slots for leaf in slot.leaves])
    if isinstance(node, Repeat):
        return (Slot(leaves, least * node.at_least, node.at_most, is_round=True),)
    return (Slot(leaves, 0 if isinstance(node, Perhaps) else least),)


def once_slots(part: Part) -> tuple[Slot, ...] | None:
    """Return the slots of a group whose calls are made at once; `None` if it has more than single calls."""
    slots_of = [item.slots for item in part.items]
    return None if None in slots_of else tuple([slot for slots in slots_of for slot in slots or ()])


class Weights(msgspec.Struct, frozen=True):
    """The value of pairs and of missing steps, if the ratio of the best reading is guessed to be `over / under`.

    A reading has a positive value if its ratio is higher, and zero if it is the same; of readings with the same value,
    each pair more adds one. That is Newton's method for ratios (Dinkelbach, 1967) in whole numbers.
    """

    pair: int
    """A paired call, with the cost of its step."""
    missing: int
    """A step without a call; never positive."""
    required: int
    """A paired call whose step has already been counted as missing."""

    @classmethod
    def of(cls, over: int, under: int, calls: int, *, extras: bool) -> Weights:
        """Return the weights at a ratio for this number of calls; `extras` says whether extra calls are allowed."""
        tie = calls + 1
        worth = under if extras else 2 * under
        return cls((worth - over) * tie + 1, -over * tie, worth * tie + 1)


class SearchBudget:
    """The number of steps that one search may take."""

    __slots__ = ("left",)

    def __init__(self, most: int) -> None:
        self.left = most

    def spend(self, steps: int) -> None:
        """Subtract steps from the budget. Raises `LimitError` if there are not enough left."""
        self.left -= steps
        if self.left < 0:
            raise LimitError("finding the best reading takes too long")


class State(ABC):
    """The best value of the steps so far, by the calls that they use."""

    __slots__ = ("budget", "lift")

    lift: int
    """A number that is added to all values."""
    budget: SearchBudget

    @property
    @abstractmethod
    def top(self) -> tuple[int, Link]:
        """The greatest value, and how it was reached."""

    @abstractmethod
    def marked(self, number: int, mark: object) -> Self:
        """Return a copy whose links have a mark for the part of this number."""

    @abstractmethod
    def take(self, row: Row, gain: int, number: int) -> None:
        """Pair one call of a row with the part of this number, wherever that raises the value."""

    @abstractmethod
    def take_all(self, row: Row, gain: int, number: int) -> None:
        """Pair any number of calls of a row with the part of this number."""

    @abstractmethod
    def raise_by(self, other: Self) -> Self | None:
        """Raise this state where another is higher, and return what was raised; `None` if nothing was."""
