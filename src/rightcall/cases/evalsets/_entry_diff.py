"""Compare two objects or lists entry by entry: what is kept, removed and added."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from rightcall.matching.alignment import common_subsequence


class EntryChange(msgspec.Struct, frozen=True):
    """One entry that is kept (with its value or another), removed or added."""

    old: int | None
    """Its former index; None if it is added."""
    key: str | None = None
    before: Any = None
    after: Any = None
    is_gone: bool = False
    copied: int | None = None
    """The former index of an added entry that only moves."""


def diff_entries(old: Any, new: Any) -> list[EntryChange] | None:
    """Return the changes from one object or list to another, in the new order, with removed entries in between.

    None if no entry is kept, or the two are not of the same type.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        changes = list(_of_objects(old, new))
    elif isinstance(old, list) and isinstance(new, list):
        changes = _of_lists(old, new)
    else:
        return None
    return changes if any(change.old is not None and not change.is_gone for change in changes) else None


def _of_objects(old: dict[str, Any], new: dict[str, Any]) -> Iterator[EntryChange]:
    for number, (key, value) in enumerate(old.items()):
        yield EntryChange(number, key, value, new.get(key), is_gone=key not in new)
    for key in new:
        if key not in old:
            yield EntryChange(None, key, None, new[key])


def _of_lists(old: list[Any], new: list[Any]) -> list[EntryChange]:
    before, after = _pairs(old, new)
    moved: dict[str, list[int]] = {}
    for number, value in enumerate(old):
        if before[number] is None:
            moved.setdefault(_identity(value), []).append(number)
    changes: list[EntryChange] = []
    place = 0
    for number, value in enumerate(new):
        partner = after[number]
        if partner is None:
            copies = moved.get(_identity(value))
            changes.append(EntryChange(None, None, None, value, copied=copies.pop(0) if copies else None))
            continue
        changes += [EntryChange(gone, is_gone=True) for gone in range(place, partner)]
        changes.append(EntryChange(partner, None, old[partner], value))
        place = partner + 1
    return changes + [EntryChange(gone, is_gone=True) for gone in range(place, len(old))]


def _pairs(old: Sequence[Any], new: Sequence[Any]) -> tuple[list[int | None], list[int | None]]:
    """Return for each old item its new index, and for each new one its old index; None if it has no partner."""
    before: list[int | None] = [None] * len(old)
    after: list[int | None] = [None] * len(new)
    # Three passes: equal items first, then, in the gaps between them, items of the same tool, then any two items. Each
    # pass is a longest common subsequence, so that pairs never cross and comments stay with the item they are about.
    gaps = [(0, len(old), 0, len(new))]
    for name in (_identity, _label, _any):
        smaller = []
        for first, end, new_first, new_end in gaps:
            pairs = _common([name(item) for item in old[first:end]], [name(item) for item in new[new_first:new_end]])
            at, new_at = first, new_first
            for one, other in pairs:
                before[first + one], after[new_first + other] = new_first + other, first + one
                smaller.append((at, first + one, new_at, new_first + other))
                at, new_at = first + one + 1, new_first + other + 1
            smaller.append((at, end, new_at, new_end))
        gaps = [gap for gap in smaller if gap[0] < gap[1] and gap[2] < gap[3]]
    return before, after


def _common(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    numbers: dict[str, int] = {}
    numbered = [[numbers.setdefault(name, len(numbers)) for name in names] for names in (old, new)]
    return common_subsequence(*numbered)


def _identity(value: Any) -> str:
    return json.dumps(value)


def _label(value: Any) -> str:
    """Return what an item is about: usually the name of a tool."""
    if isinstance(value, dict) and value:
        return str(value.get("name") or next(iter(value)))
    return str(value)


def _any(value: Any) -> str:
    return ""
