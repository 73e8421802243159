"""Compare sequences of calls where the trace leaves open which calls there are, or their order."""

from __future__ import annotations

from collections.abc import Sequence

from rightcall.judging.core import Doubts, Selection
from rightcall.matching.alignment import Row, fits_every_order, least_common, least_met, maximum_pairing


def least_in_order(rows: Sequence[Row], selection: Selection) -> int:
    """How many expected calls are met in order, whatever order the trace leaves open: a number that surely holds.

    It is the number of all of them exactly where all are surely met. `rows` has, for each expected call, the places
    of the selected calls that surely satisfy it.
    """
    free, unknown = selection.apart
    width = len(selection.calls)
    met = least_met(rows, width, free, unknown)
    return met if met == len(rows) else max(met, least_common(rows, width, sorted([*free, *unknown])))


def is_surely_exact(rows: Sequence[Row], selection: Selection) -> bool:
    """Return whether the calls surely are the expected ones, one by one: no more, no less, and in order."""
    doubts = selection.doubts
    if len(rows) != len(selection.calls) or (doubts is not None and (doubts.members or doubts.missing)):
        return False
    return fits_every_order(rows, *selection.apart)


def may_be_exact(rows: list[Row], selection: Selection) -> bool:
    """Return whether the calls may be the expected ones, one by one.

    `rows` has, for each expected call, the places of the selected calls that may satisfy it.
    """
    doubts = selection.doubts
    if doubts is None or not (doubts.members or doubts.missing):
        return len(rows) == len(selection.calls) and fits_every_order(rows, selection.loose, ())
    if not selection.loose:
        return _is_one_of_many(rows, len(selection.calls), doubts)
    return covers_all(rows, selection)


def covers_all(rows: list[Row], selection: Selection) -> bool:
    """Return whether expected calls and those that were surely made may all be paired, in whatever order."""
    doubts = selection.doubts
    members = doubts.members if doubts is not None else frozenset()
    # A pairing of all rows and one of all sure columns can always be made one that pairs both (Mendelsohn, Dulmage).
    pairs_sure = len(selection.calls) - len(members) == _size(without(rows, members))
    return pairs_sure and ((doubts is not None and doubts.missing) or _size(rows) == len(rows))


def without(rows: list[Row], columns: frozenset[int]) -> list[Row]:
    """The rows without some columns."""
    if not columns:
        return rows
    # Rows that are one object stay one: a pairing reads them once.
    distinct = {id(row): row for row in rows}
    kept = {key: [column for column in row if column not in columns] for key, row in distinct.items()}
    return [kept[id(row)] for row in rows]


def _is_one_of_many(rows: Sequence[Row], width: int, doubts: Doubts) -> bool:
    """Whether the expected calls are the sure ones and some of the others, in order, between calls that are missing."""
    met_by = [0] * width
    for number, row in enumerate(rows):
        for column in row:
            met_by[column] |= 1 << number
    # A bit is set where so many of the expected calls may be behind us.
    reached = 1
    for column, mask in enumerate(met_by):
        if doubts.missing:
            # Any number of calls may be missing here: all bits from the lowest one on.
            reached = -(reached & -reached)
        taken = (reached & mask) << 1
        reached = taken | reached if column in doubts.members else taken
    return bool(reached) if doubts.missing else bool(reached >> len(rows) & 1)


def _size(rows: Sequence[Row]) -> int:
    return len(rows) - maximum_pairing(rows).count(-1)
