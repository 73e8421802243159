"""How much of an expectation is met in every order that calls may have been made in. Pure code about positions."""

from __future__ import annotations

from collections.abc import Sequence

from ._arranging import Block, inside, most_next, segments_of
from ._bits import related_subsequence
from ._pairing import Row, maximum_pairing


def least_met(rows: Sequence[Row], width: int, free: Sequence[Block], unknown: Sequence[Block]) -> int:
    """How many rows, from the first on, are met one after the other, whatever the order of the `unknown` blocks is.

    The columns of `free` blocks take the order that suits best. Blocks do not overlap.
    """
    met = 0
    unsettled = set(unknown)
    for segment in segments_of(width, sorted([*free, *unknown])):
        met += _least_next(rows, met, segment) if segment in unsettled else len(most_next(rows, met, segment))
    return met


def least_common(rows: Sequence[Row], width: int, blocks: Sequence[Block]) -> int:
    """A number of rows that a chain meets in every order of the blocks: it takes one column of each block at most."""
    number: dict[int, int] = {}
    segments = list(segments_of(width, blocks))
    for place, (first, end) in enumerate(segments):
        number.update(dict.fromkeys(range(first, end), place))
    # Rows that are one object are read once.
    distinct = {id(row): row for row in rows}
    merged = {key: sorted({number[column] for column in row}) for key, row in distinct.items()}
    return len(related_subsequence([merged[id(row)] for row in rows], len(segments)))


def fits_every_order(rows: Sequence[Row], free: Sequence[Block], unknown: Sequence[Block]) -> bool:
    """Whether each row is met by the column at its place, of which there are as many.

    `free` blocks take the order that suits best; in `unknown` blocks every order has to do.
    """
    unsettled = set(unknown)
    for segment in segments_of(len(rows), sorted([*free, *unknown])):
        held = [inside(rows[place], segment) for place in range(*segment)]
        if segment in unsettled:
            if any([len(row) < len(held) for row in held]):
                return False
        elif -1 in maximum_pairing(held):
            return False
    return True


def _least_next(rows: Sequence[Row], start: int, segment: Block) -> int:
    """How many of the next rows a segment meets in the order that suits least.

    What does not meet the next row can stand before what does, and is then lost. So the columns that are left after
    some rows are those that meet all of them, but for one column a row.
    """
    left = set(range(*segment))
    for met, row in enumerate(rows[start:]):
        left.intersection_update(inside(row, segment))
        if len(left) <= met:
            return met
    return len(rows) - start
