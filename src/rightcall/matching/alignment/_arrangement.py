"""Calls whose order is free or unknown: the order that suits an expectation best, and what every order has."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from rightcall.errors import LimitError

from ._pairing import Row, maximum_pairing
from ._subsequence import related_subsequence

Block = tuple[int, int]
"""A range of columns, first and one past the last, whose order is free."""


def arrange(rows: Sequence[Row], width: int, blocks: Sequence[Block], budget: int) -> list[int]:
    """The columns in the order that lets the most rows be met one after the other.

    Columns move inside their own block only. Each row lists the columns that meet it.

    Raises:
        LimitError: finding the best order takes more than `budget` steps.
    """
    segments = list(segments_of(width, blocks))
    greedy = _meet_all(rows, segments)
    return greedy if greedy is not None else _Lengths(rows, segments, budget).best_order()


def segments_of(width: int, blocks: Sequence[Block]) -> Iterator[Block]:
    """The blocks, and each column outside of them as a block of its own, in order."""
    position = 0
    for first, end in blocks:
        yield from ((column, column + 1) for column in range(position, first))
        yield (first, end)
        position = end
    yield from ((column, column + 1) for column in range(position, width))


def _meet_all(rows: Sequence[Row], segments: Sequence[Block]) -> list[int] | None:
    """An order that meets every row, if there is one: each segment takes as many of the next rows as it can."""
    order: list[int] = []
    met = 0
    for segment in segments:
        taken = most_next(rows, met, segment)
        met += len(taken)
        order += _placed(taken, segment)
    return order if met == len(rows) else None


def most_next(rows: Sequence[Row], start: int, segment: Block) -> list[int]:
    """The columns of a segment that meet the longest possible stretch of rows from `start` on."""
    # Fewer rows can always be met when more can, so the most is found by halving.
    taken: list[int] = []
    most = min(len(rows) - start, segment[1] - segment[0])
    while len(taken) < most:
        middle = (len(taken) + most + 1) // 2
        choice = _pair(rows[start : start + middle], segment)
        if -1 in choice:
            most = middle - 1
        else:
            taken = choice
    return taken


def _pair(rows: Sequence[Row], segment: Block, seed: Sequence[tuple[int, int]] = ()) -> list[int]:
    return maximum_pairing([inside(row, segment) for row in rows], seed)


def inside(row: Row, segment: Block) -> Row:
    """The columns of a row that lie in a segment."""
    return row[bisect_left(row, segment[0]) : bisect_left(row, segment[1])]


def _placed(taken: Sequence[int], segment: Block) -> list[int]:
    """A segment's columns with the taken ones first."""
    rest = set(taken)
    return [*taken, *(column for column in range(*segment) if column not in rest)]


class _Lengths:
    """How many rows can be met by the first segments, for every number of rows."""

    def __init__(self, rows: Sequence[Row], segments: Sequence[Block], budget: int) -> None:
        self._rows = rows
        self._segments = segments
        self._left = budget - len(rows) * len(segments)
        self._check()
        self._table = [[0] * (len(rows) + 1)]
        for segment in segments:
            self._table.append(self._next_lengths(segment))

    def best_order(self) -> list[int]:
        """The columns in the best order, by walking back through the table."""
        pieces: list[list[int]] = []
        met = len(self._rows)
        for number in range(len(self._segments), 0, -1):
            before, segment = self._table[number - 1], self._segments[number - 1]
            while met and self._table[number][met] == self._table[number][met - 1]:
                met -= 1
            taken: list[int] = []
            if self._table[number][met] != before[met]:
                met, taken = self._stretch_before(segment, met, before, self._table[number][met])
            pieces.append(_placed(taken, segment))
        return [column for piece in reversed(pieces) for column in piece]

    def _stretch_before(self, segment: Block, end: int, before: list[int], length: int) -> tuple[int, list[int]]:
        """Where the rows that a segment meets begin, and the columns that meet them."""
        for start in range(end - 1, -1, -1):
            columns = [column for column in _pair(self._rows[start:end], segment) if column >= 0]
            if before[start] + len(columns) == length:
                return start, columns
        raise AssertionError("the table of lengths does not fit its rows")

    def _next_lengths(self, segment: Block) -> list[int]:
        before = self._table[-1]
        lengths = list(before)
        most = sum(column >= 0 for column in _pair(self._rows, segment))
        for start in range(len(self._rows)) if most else ():
            for end, paired in self._growing(start, segment, most):
                lengths[end] = max(lengths[end], before[start] + paired)
        for end in range(1, len(lengths)):
            lengths[end] = max(lengths[end], lengths[end - 1])
        return lengths

    def _growing(self, start: int, segment: Block, most: int) -> Iterator[tuple[int, int]]:
        """Return how many of the rows from `start` a segment can meet, wherever that number grows."""
        pairs: list[tuple[int, int]] = []
        candidates: list[Row] = []
        for end in range(start, len(self._rows)):
            row = inside(self._rows[end], segment)
            self._left -= 1
            if not row:
                continue
            candidates.append(row)
            choice = maximum_pairing(candidates, pairs)
            self._left -= len(candidates)
            self._check()
            if choice[-1] < 0:
                candidates.pop()
                continue
            pairs = list(enumerate(choice))
            yield end + 1, len(pairs)
            if len(pairs) == most:
                return

    def _check(self) -> None:
        if self._left < 0:
            raise LimitError("too many calls whose order is unknown: finding their best order takes too long")


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
    """Return whether each row is met by the column at its place, of which there are as many.

    `free` blocks take the order that suits best; in `unknown` blocks every order has to work.
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
    """Return how many of the next rows a segment meets in the order that suits least.

    What does not meet the next row can come before what does, and is then lost. So the columns that are left after
    some rows are those that meet all of them, but for one column a row.
    """
    left = set(range(*segment))
    for met, row in enumerate(rows[start:]):
        left.intersection_update(inside(row, segment))
        if len(left) <= met:
            return met
    return len(rows) - start
