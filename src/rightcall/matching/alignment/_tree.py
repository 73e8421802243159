"""The shape of what is expected: single calls, sequences and groups, numbered for the search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias, Union

import msgspec


class OneCall(msgspec.Struct, frozen=True):
    """A single call, by its number: the row of this number has the calls that can take its place."""

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
    """Room for calls that need no order among themselves: any of these leaves, so many times."""

    leaves: tuple[int, ...]
    at_least: int = 1
    at_most: int | None = 1
    is_round: bool = False
    """Whether each call is a round of a repeat of its own."""


class Part(msgspec.Struct, frozen=True):
    """A node with what the search asks about it again and again."""

    number: int
    """Its place among all parts; what the search notes about a part it notes by this number."""
    node: StepNode
    items: tuple[Part, ...]
    leaves: tuple[int, ...]
    """The leaves inside, in the order in which they are written."""
    slots: tuple[Slot, ...] | None
    """The part as room for single calls without an order; none where it has sequences or choices between groups."""
    size: int | None
    """How many steps it has; none where that depends on what is chosen."""
    is_closed: bool
    """Whether a second round of it adds nothing to the first: it repeats itself without end."""


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
    held = [item.slots for item in items]
    if isinstance(node, AnyOrder):
        return None if None in held else tuple([slot for slots in held for slot in slots or ()])
    if isinstance(node, InOrder):
        return held[0] if len(items) == 1 else None
    if isinstance(node, AtOnce):
        return held[0] if len(items) == 1 and _single(held[0]) is not None else None
    single = [_single(slots) for slots in held]
    if None in single:
        return None
    return _choice(node, [slot for slot in single if slot is not None])


def _single(slots: tuple[Slot, ...] | None) -> Slot | None:
    """The slot of a part that is one call or none."""
    fits = slots is not None and len(slots) == 1 and slots[0].at_most == 1 and not slots[0].is_round
    return slots[0] if fits and slots is not None else None


def _choice(node: Perhaps | OneOf | Repeat, held: list[Slot]) -> tuple[Slot, ...]:
    """The room of a part whose items are each one call or none."""
    least = min([slot.at_least for slot in held])
    leaves = tuple([leaf for slot in held for leaf in slot.leaves])
    if isinstance(node, Repeat):
        return (Slot(leaves, least * node.at_least, node.at_most, is_round=True),)
    return (Slot(leaves, 0 if isinstance(node, Perhaps) else least),)


def once_slots(part: Part) -> tuple[Slot, ...] | None:
    """The room of a group whose calls are made at once; none where it is more than single calls."""
    held = [item.slots for item in part.items]
    return None if None in held else tuple([slot for slots in held for slot in slots or ()])
