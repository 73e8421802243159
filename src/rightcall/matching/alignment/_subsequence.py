"""Longest common subsequences, and longest increasing runs."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, repeat
from typing import Any

from ._pairing import MarkedRow, Row, bits_of


def longest_run(values: Sequence[int]) -> list[int]:
    """The positions of a longest strictly increasing run in `values`, which are all different.

    Of several longest runs, one whose first members are as early as possible.
    """
    # Read from the end and negated, the run still increases, and the walk back from its last member meets
    # the earliest positions first.
    # The last members of runs by length, as in patience sorting (Fredman, 1975): n log n steps.
    tails: list[int] = []
    tail_positions: list[int] = []
    following = [-1] * len(values)
    for position in range(len(values) - 1, -1, -1):
        value = -values[position]
        # Most values lengthen the run, and need no search.
        if not tails or value > tails[-1]:
            following[position] = tail_positions[-1] if tails else -1
            tails.append(value)
            tail_positions.append(position)
            continue
        place = bisect_left(tails, value)
        following[position] = tail_positions[place - 1] if place else -1
        tails[place], tail_positions[place] = value, position
    run: list[int] = []
    position = tail_positions[-1] if tail_positions else -1
    while position >= 0:
        run.append(position)
        position = following[position]
    return run


_LARGEST_TABLE = 200_000_000
"""Cells of a table that is kept whole, a bit each: 25 MB."""

_WORTH_KEEPING = 32
"""Positions a row has before its mask is kept for the next row like it."""

Pairs = list[tuple[int, int]]


def related_subsequence(rows: Sequence[Row], width: int, *, largest_table: int = _LARGEST_TABLE) -> Pairs:
    """The pairs of one longest increasing chain through `rows`: row and column both grow from pair to pair.

    Tables of more cells than `largest_table` are halved until they fit.
    """
    head, tail = _common_ends(rows, width)
    pairs = [(position, position) for position in range(head)]
    waiting = [(head, len(rows) - tail, head, width - tail)]
    while waiting:
        top, bottom, left, right = waiting.pop()
        if top >= bottom or left >= right:
            continue
        table = _Table(rows, top, bottom, left, right)
        if bottom - top == 1 or (bottom - top) * (right - left) <= largest_table:
            pairs.extend(table.chain())
        else:
            # Hirschberg (1975): a longest chain passes the middle row somewhere, and each half is found by itself. That
            # doubles the time at most, and the memory is that of one row.
            middle, split = (top + bottom) // 2, table.best_split()
            waiting.append((middle, bottom, split, right))
            waiting.append((top, middle, left, split))
    pairs.extend((len(rows) - back, width - back) for back in range(tail, 0, -1))
    return pairs


def _common_ends(rows: Sequence[Row], width: int) -> tuple[int, int]:
    """How many rows and columns match one to one from the start, and from the end: some longest chain has them."""
    shorter = min(len(rows), width)
    head = 0
    while head < shorter and _has(rows[head], head):
        head += 1
    tail = 0
    while tail < shorter - head and _has(rows[len(rows) - 1 - tail], width - 1 - tail):
        tail += 1
    return head, tail


def _has(row: Row, column: int) -> bool:
    place = bisect_left(row, column)
    return place < len(row) and row[place] == column


class _Table:
    """A part of the table of lengths: rows from `top` to `bottom`, columns from `left` to `right`."""

    def __init__(self, rows: Sequence[Row], top: int, bottom: int, left: int, right: int) -> None:
        self._rows = rows
        self._top, self._bottom = top, bottom
        self._left, self._width = left, right - left

    def chain(self) -> Pairs:
        """One longest chain, by walking back through all rows."""
        states = list(self._states(range(self._top, self._bottom), _Masks(self._left, self._width)))
        pairs: Pairs = []
        row, column = len(states) - 1, self._width - 1
        while row >= 0 and column >= 0:
            if states[row] >> column & 1:
                column -= 1
            elif row > 0 and not states[row - 1] >> column & 1:
                row -= 1
            else:
                pairs.append((self._top + row, self._left + column))
                row, column = row - 1, column - 1
        pairs.reverse()
        return pairs

    def best_split(self) -> int:
        """The column where a longest chain passes from the upper half of the rows to the lower."""
        middle = (self._top + self._bottom) // 2
        above = self._lengths(range(self._top, middle), _Masks(self._left, self._width))
        below = self._lengths(range(self._bottom - 1, middle - 1, -1), _Masks(self._left, self._width, mirrored=True))
        below.reverse()
        best = max(range(self._width + 1), key=lambda column: above[column] + below[column])
        return self._left + best

    def _lengths(self, order: range, masks: _Masks) -> list[int]:
        """For each number of columns, the length of a longest chain through those rows and columns."""
        [state] = deque(self._states(order, masks), maxlen=1)
        bits = bin(state & ((1 << self._width) - 1) | 1 << self._width)[3:]
        return list(accumulate((bit == "0" for bit in reversed(bits)), initial=0))

    def _states(self, order: range, masks: _Masks) -> Iterator[int]:
        # Crochemore and others, "A fast and practical bit-vector algorithm for the longest common subsequence problem"
        # (2001): a zero bit is a column at which the length grows, and a row takes one addition of long integers.
        state = (1 << self._width) - 1
        for row in order:
            hit = state & masks.of(self._rows[row])
            state = (state + hit) | (state - hit)
            yield state


class _Masks:
    """Rows as bits, numbered from the left edge of a table or, mirrored, from its right edge."""

    def __init__(self, left: int, width: int, *, mirrored: bool = False) -> None:
        self._left, self._width = left, width
        self._all = (1 << width) - 1
        self._mirrored = mirrored
        self._kept: dict[int, int] = {}

    def of(self, row: Row) -> int:
        if isinstance(row, MarkedRow) and not self._mirrored:
            return (row.bits >> self._left) & self._all
        mask = self._kept.get(id(row))
        if mask is None:
            first, last = bisect_left(row, self._left), bisect_left(row, self._left + self._width)
            mask = self._mask(row[first:last])
            if last - first >= _WORTH_KEEPING:
                self._kept[id(row)] = mask
        return mask

    def _mask(self, positions: Row) -> int:
        shifts = [position - self._left for position in positions]
        if self._mirrored:
            shifts = [self._width - 1 - shift for shift in reversed(shifts)]
        return bits_of(shifts)


_LARGEST_EDITS = 20_000 * 20_000
"""Cells rapidfuzz may keep to recover a path, a bit each: 50 MB."""

_SHORT = 100
_FIRST = repeat(True, 100)
"""The first comparisons of a process, if they are short, take less time than the import of rapidfuzz: 15 ms, where one
by ourselves takes 5 µs and one by rapidfuzz 0.5."""


@cache
def _lcs() -> Any:
    # Imported on first use: 15 ms, a tenth of a short command.
    from rapidfuzz.distance import LCSseq

    return LCSseq


def common_length(expected: Sequence[int], actual: Sequence[int]) -> int:
    """The length of a longest common subsequence of two lists of small whole numbers."""
    if len(actual) < _SHORT and next(_FIRST, False):
        return _short_length(expected, actual)
    # rapidfuzz compares hashes; of whole numbers that fit a word those never collide.
    return int(_lcs().similarity(expected, actual))


def _short_length(expected: Sequence[int], actual: Sequence[int]) -> int:
    """The same by the bit vectors of `_Table`, where all that differs from row to row is the number looked for."""
    masks: dict[int, int] = {}
    for position, value in enumerate(actual):
        masks[value] = masks.get(value, 0) | 1 << position
    state = everything = (1 << len(actual)) - 1
    for value in expected:
        hit = state & masks.get(value, 0)
        state = (state + hit) | (state - hit)
    return len(actual) - (state & everything).bit_count()


def common_subsequence(expected: Sequence[int], actual: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs of positions of one longest common subsequence of two lists of small whole numbers.

    It is always the same one for the same input.
    """
    if len(expected) * len(actual) > _LARGEST_EDITS:
        return _in_linear_memory(expected, actual)
    blocks = _lcs().editops(expected, actual).as_matching_blocks()
    return [(first + offset, second + offset) for first, second, size in blocks for offset in range(size)]


def _in_linear_memory(expected: Sequence[int], actual: Sequence[int]) -> list[tuple[int, int]]:
    positions: dict[int, list[int]] = {}
    for position, value in enumerate(actual):
        positions.setdefault(value, []).append(position)
    return related_subsequence([positions.get(value, ()) for value in expected], len(actual))
