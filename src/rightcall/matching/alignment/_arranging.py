"""The best order of calls whose own order is not known or does not count."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from rightcall.errors import LimitError

from ._pairing import Row, maximum_pairing

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
        """How many of the rows from `start` a segment can meet, wherever that number grows."""
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
