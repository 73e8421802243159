"""Longest common subsequences, also of calls whose order is free or unknown, in their best or worst order."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, repeat
from sys import maxsize, maxunicode
from typing import Any

import msgspec

from rightcall.errors import LimitError

from ._pairing import MarkedRow, Row, bits_of, maximum_pairing

Block = tuple[int, int]
"""A range of columns, first and one past the last, whose order is free."""


def longest_run(values: Sequence[int]) -> set[int]:
    """The members of a longest strictly increasing run of those `values` that are not negative, which all differ.

    Of several longest runs, one whose first members come as early as possible.
    """
    # As long as each value lengthens the run or is a better last member of it, only the worse ones have to go.
    run = {*values}
    first = second = maxsize
    for value in reversed(values):
        if value < first:
            if value >= 0:
                second = first
                first = value
        elif value < second:
            run.discard(first)
            first = value
        else:
            return _longest_of_runs(values)
    run.discard(-1)
    return run


def _longest_of_runs(values: Sequence[int]) -> set[int]:
    # Read from the end and negated, the run still increases, and the walk back from its last member meets the
    # earliest ones first.
    # The last members of runs by length, as in patience sorting (Fredman, 1975): n log n steps.
    tails: list[int] = []
    following: dict[int, int] = {}
    first = second = end = maxsize
    for value in reversed(values):
        if value < 0:
            continue
        # Most values lengthen the run, and most others are between its last two members: they need no search.
        if value < first:
            following[value] = first
            tails.append(-value)
            first, second = value, first
        elif value < second:
            following[value] = second
            tails[-1] = -value
            first = value
        else:
            place = bisect_left(tails, -value)
            following[value] = -tails[place - 1] if place else end
            tails[place] = -value
            second = -tails[-2]
    run: set[int] = set()
    while first < end:
        run.add(first)
        first = following[first]
    return run


_LARGEST_TABLE = 200_000_000
"""The most cells of a table that is kept as a whole, a bit each: 25 MB."""

_WORTH_KEEPING = 32
"""The fewest positions of a row whose mask is cached."""

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
"""The most cells that rapidfuzz may keep to recover a path, a bit each: 50 MB."""

COMMON, UNKNOWN = "\0", "\1"
"""In a string of names, what stands for a name that both sides have in common, and for one that is not expected."""
_MOST_NAMES = maxunicode - ord(UNKNOWN)

_SHORT = 100
_FIRST = repeat(True, 100)
"""The first short comparisons of a process, which take less time than importing rapidfuzz: the import takes 15 ms, a
comparison 5 µs with our code and 0.5 µs with rapidfuzz."""


@cache
def _lcs() -> Any:
    # Imported on first use: 15 ms, a tenth of a short command.
    from rapidfuzz.distance import LCSseq

    return LCSseq


class ExpectedNames(msgspec.Struct, frozen=True):
    """Expected names, also as a string with a character for each: rapidfuzz reads a list one by one."""

    names: Sequence[str]
    known: Mapping[str, str]
    """The character of each name."""
    text: str

    @classmethod
    def of(cls, names: Sequence[str]) -> ExpectedNames:
        """Give each name a character.

        Raises:
            LimitError: there are more different names than characters.
        """
        different = dict.fromkeys(names)
        if len(different) > _MOST_NAMES:
            raise LimitError(f"{len(different):,} different names are too many to compare (at most {_MOST_NAMES:,})")
        known = {name: chr(number) for number, name in enumerate(different, ord(UNKNOWN) + 1)}
        return cls(names, known, "".join([known[name] for name in names]))

    def text_of(self, actual: Iterable[str]) -> str:
        """Return actual names as a string of the same characters, with `UNKNOWN` for those that are not expected."""
        return "".join(map(self.known.get, actual, repeat(UNKNOWN)))


def common_length(expected: Sequence[Hashable], actual: Sequence[Hashable]) -> int:
    """The length of a longest common subsequence of two strings, or of two lists of small whole numbers."""
    if len(actual) >= _SHORT or not next(_FIRST, False):
        # rapidfuzz compares hashes; of whole numbers that fit a word those never collide.
        return int(_lcs().similarity(expected, actual))
    # As `_Table` does, with one mask of bits for each value.
    masks: dict[Hashable, int] = {}
    for position, value in enumerate(actual):
        masks[value] = masks.get(value, 0) | 1 << position
    state = everything = (1 << len(actual)) - 1
    for value in expected:
        hit = state & masks.get(value, 0)
        state = (state + hit) | (state - hit)
    return len(actual) - (state & everything).bit_count()


def common_subsequence(expected: Sequence[int], actual: Sequence[int]) -> Pairs:
    """The pairs of positions of one longest common subsequence of two lists of small whole numbers.

    It is always the same one for the same input.
    """
    if len(expected) * len(actual) > _LARGEST_EDITS:
        return _in_linear_memory(expected, actual)
    blocks = _lcs().editops(expected, actual).as_matching_blocks()
    return [(row + step, column + step) for row, column, size in blocks for step in range(size)]


def left_over(expected: str, actual: str) -> tuple[str, str]:
    """Both strings with `COMMON` in the place of every character of one longest common subsequence.

    It is always the same one for the same strings. Unknown names have no influence on which one it is.
    """
    known = actual.replace(UNKNOWN, "")
    if len(expected) * len(known) > _LARGEST_EDITS:
        rows, columns = list(expected), list(known)
        for row, column in _in_linear_memory(expected, known):
            rows[row] = columns[column] = COMMON
        rest, found = "".join(rows), "".join(columns)
    else:
        edits = _lcs().editops(expected, known)
        # Edits of a string with nothing but `COMMON` leave of it what both have in common, and insert the rest: 5 µs
        # for 1,000 positions, where a list of the edits takes 28 µs, and reading it 70 µs more.
        rest = edits.inverse().apply(COMMON * len(known), expected)
        found = edits.apply(COMMON * len(expected), known)
    if len(known) < len(actual):
        following = iter(found)
        found = "".join([each if each == UNKNOWN else next(following) for each in actual])
    return rest, found


def _in_linear_memory(expected: Sequence[Hashable], actual: Sequence[Hashable]) -> Pairs:
    positions: dict[Hashable, list[int]] = {}
    for position, value in enumerate(actual):
        positions.setdefault(value, []).append(position)
    return related_subsequence([positions.get(value, ()) for value in expected], len(actual))


def arrange(rows: Sequence[Row], width: int, blocks: Sequence[Block], budget: int) -> list[int]:
    """Return the columns in the order that meets the most rows, one after the other.

    Columns move inside their own block only. Each row lists the columns that meet it.

    Raises:
        LimitError: finding the best order takes more than `budget` steps.
    """
    segments = list(segments_of(width, blocks))
    greedy = _meet_all(rows, segments)
    return greedy if greedy is not None else _Lengths(rows, segments, budget).best_order()


def segments_of(width: int, blocks: Sequence[Block]) -> Iterator[Block]:
    """Yield the blocks, and each column outside of them as a block of its own, in order."""
    position = 0
    for first, end in blocks:
        yield from ((column, column + 1) for column in range(position, first))
        yield (first, end)
        position = end
    yield from ((column, column + 1) for column in range(position, width))


def _meet_all(rows: Sequence[Row], segments: Sequence[Block]) -> list[int] | None:
    """Return an order that meets every row, if there is one: each segment takes as many of the next rows as it can."""
    order: list[int] = []
    met = 0
    for segment in segments:
        taken = most_next(rows, met, segment)
        met += len(taken)
        order += _placed(taken, segment)
    return order if met == len(rows) else None


def most_next(rows: Sequence[Row], start: int, segment: Block) -> list[int]:
    """Return the columns of a segment that meet as many rows as possible, one after the other, from `start` on."""
    # If some number of rows can be met, so can any smaller number: the greatest is found by bisection.
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
    """Return the columns of a row that are in a segment."""
    return row[bisect_left(row, segment[0]) : bisect_left(row, segment[1])]


def _placed(taken: Sequence[int], segment: Block) -> list[int]:
    """Return a segment's columns with the taken ones first."""
    rest = set(taken)
    return [*taken, *(column for column in range(*segment) if column not in rest)]


class _Lengths:
    """How many of the first rows the first segments can meet, for every number of rows and segments."""

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
        """Return where the rows that a segment meets begin, and the columns that meet them."""
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
        """Yield each end of the rows from `start` at which a segment can meet one row more, and how many it meets."""
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
    """Return how many of the first rows are met one after the other, whatever the order of the `unknown` blocks is.

    The columns of `free` blocks are in their best order. Blocks do not overlap.
    """
    met = 0
    unsettled = set(unknown)
    for segment in segments_of(width, sorted([*free, *unknown])):
        met += _least_next(rows, met, segment) if segment in unsettled else len(most_next(rows, met, segment))
    return met


def least_common(rows: Sequence[Row], width: int, blocks: Sequence[Block]) -> int:
    """Return a number of rows that a chain meets in every order of the blocks.

    It is the length of a longest chain that takes at most one column of each block.
    """
    number: dict[int, int] = {}
    segments = list(segments_of(width, blocks))
    for place, (first, end) in enumerate(segments):
        number.update(dict.fromkeys(range(first, end), place))
    # Rows that are one object are read once.
    distinct = {id(row): row for row in rows}
    merged = {key: sorted({number[column] for column in row}) for key, row in distinct.items()}
    return len(related_subsequence([merged[id(row)] for row in rows], len(segments)))


def fits_every_order(rows: Sequence[Row], free: Sequence[Block], unknown: Sequence[Block]) -> bool:
    """Return whether each row is met by the column at the same position; there are as many columns as rows.

    `free` blocks are in their best order; in `unknown` blocks every order has to work.
    """
    unsettled = set(unknown)
    for segment in segments_of(len(rows), sorted([*free, *unknown])):
        columns = [inside(rows[place], segment) for place in range(*segment)]
        if segment in unsettled:
            if any([len(row) < len(columns) for row in columns]):
                return False
        elif -1 in maximum_pairing(columns):
            return False
    return True


def _least_next(rows: Sequence[Row], start: int, segment: Block) -> int:
    """Return how many of the next rows a segment meets in its worst order.

    A column that does not meet the next row can come before one that does, and is then lost. So the columns that remain
    after some rows are those that meet all of these rows, less one for each row.
    """
    left = set(range(*segment))
    for met, row in enumerate(rows[start:]):
        left.intersection_update(inside(row, segment))
        if len(left) <= met:
            return met
    return len(rows) - start
