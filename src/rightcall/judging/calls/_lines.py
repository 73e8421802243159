"""The lines of an alignment: which actual call is beside which expected one, and what is left on either side."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import compress, filterfalse, repeat
from typing import TYPE_CHECKING, Literal

import msgspec

from rightcall.matching.alignment import Row, common_masks, longest_run, maximum_pairing, related_subsequence

if TYPE_CHECKING:
    from rightcall.matching.matchers import Pattern, Relation


Kind = Literal["match", "mismatch", "moved", "missing", "extra", "skipped"]
_NO_STARS: Mapping[int, Pattern] = {}
_FLIPPED = bytes.maketrans(b"\0\1", b"\1\0")


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line of an alignment: indices among the expected and the selected calls, -1 for none."""

    kind: Kind
    expected: int
    actual: int
    out_of_place: bool = False


def align_calls(
    relation: Relation, expected: Sequence[str], actual: Sequence[str], starred: Mapping[int, Pattern] = _NO_STARS
) -> Lines:
    """Align expected with actual calls, given which actual calls satisfy each expected one.

    Full matches are paired maximally, then possible matches that the trace leaves open, then remaining calls of the
    same name in order. Pairs outside the longest increasing run of pairs are out of place. `starred` has the expected
    calls whose names are patterns.
    """
    rows = relation.sure
    matched = relation.only or maximum_pairing(rows, related_subsequence(rows, len(actual)))
    columns = matched if relation.is_certain else _with_undecided(matched, relation.possible)
    missing = [index for index, column in enumerate(columns) if column < 0] if -1 in columns else []
    left = unpaired(columns, len(actual)) if missing or len(columns) < len(actual) else []
    found, left = _with_names(columns, missing, left, expected, actual)
    if starred:
        found = _with_patterns(found, starred, actual)
        left = unpaired(found, len(actual))
    return Lines(found, matched, longest_run(found), left)


def _with_undecided(columns: Sequence[int], possible: Sequence[Row]) -> list[int]:
    """Add pairs of remaining calls for which the trace leaves open whether they match."""
    taken = set(columns)
    rows = [
        () if column >= 0 else [each for each in row if each not in taken]
        for column, row in zip(columns, possible, strict=True)
    ]
    return [max(pair) for pair in zip(columns, maximum_pairing(rows), strict=True)]


def align_names(expected: Sequence[str], ids: Mapping[str, int], actual: Sequence[str]) -> Lines:
    """Align expected with actual names, given a number for each expected name.

    A longest common subsequence is in place. If there are several, calls that are not expected have no influence on
    which one it is.
    """
    numbers = list(map(ids.get, actual, repeat(-1)))
    known: Sequence[int] = range(len(actual))
    if -1 in numbers:
        known = [column for column, number in enumerate(numbers) if number >= 0]
        numbers = [numbers[column] for column in known]
    rows, columns = common_masks(list(map(ids.__getitem__, expected)), numbers)
    in_place = list(compress(known, columns))
    following, taken = iter(in_place), set(in_place)
    paired = [next(following) if is_common else -1 for is_common in rows]
    missing = list(compress(range(len(rows)), rows.translate(_FLIPPED)))
    left = list(filterfalse(taken.__contains__, range(len(actual))))
    found, left = _with_names(paired, missing, left, expected, actual)
    return Lines(found, found, taken, left)


def _with_names(
    columns: list[int], missing: list[int], left: list[int], expected: Sequence[str], actual: Sequence[str]
) -> tuple[list[int], list[int]]:
    """Add pairs of remaining calls with the same name: the first expected one with the first actual one, and so on.

    `missing` are the expected calls that are not paired, and `left` the actual ones. Returns the columns, and the
    actual calls that are still not paired.
    """
    if not missing or not left:
        return columns, left
    waiting: dict[str, list[int]] = {}
    for index in reversed(missing):
        waiting.setdefault(expected[index], []).append(index)
    found, extras = columns.copy(), []
    for column in left:
        if indices := waiting.get(actual[column]):
            found[indices.pop()] = column
        else:
            extras.append(column)
    return found, extras


def unpaired(columns: Sequence[int], actual_count: int) -> list[int]:
    """Return the actual calls that are not paired with an expected one."""
    taken = set(columns)
    return [column for column in range(actual_count) if column not in taken]


def _with_patterns(columns: Sequence[int], starred: Mapping[int, Pattern], actual: Sequence[str]) -> list[int]:
    """Add a pair for each remaining expected name with a `*`: the first remaining call that it matches."""
    taken, found = set(columns), list(columns)
    left = dict.fromkeys([column for column in range(len(actual)) if column not in taken])
    for index, pattern in starred.items():
        if found[index] < 0:
            found[index] = next((each for each in left if pattern.takes(actual[each])), -1)
            left.pop(found[index], None)
    return found


class Lines(msgspec.Struct, frozen=True):
    """The lines in the order of the expected calls, extra calls before the next call that is in place."""

    columns: Sequence[int]
    """The actual call beside each expected one, -1 for none."""
    matched: Sequence[int]
    """The same, with -1 as well if the actual call is not as expected."""
    in_place: Set[int] | range
    """The actual calls that are in the expected order."""
    left: Sequence[int]
    """The actual calls that are not paired with an expected one."""
    skipped: Set[int] = frozenset()
    """The expected calls that may be left out, and were."""

    def __len__(self) -> int:
        return len(self.columns) + len(self.left)

    def __iter__(self) -> Iterator[Line]:
        matched, in_place, extras = self.matched, self.in_place, self.extras()
        for index, column in enumerate(self.columns):
            if index in extras:
                yield from [Line("extra", -1, each) for each in extras[index]]
            if column < 0:
                yield Line("skipped" if index in self.skipped else "missing", index, -1)
            elif column in in_place:
                yield Line("match" if matched[index] >= 0 else "mismatch", index, column)
            else:
                yield Line("moved" if matched[index] >= 0 else "mismatch", index, column, True)
        yield from [Line("extra", -1, each) for each in extras.get(len(self.columns), ())]

    def extras(self) -> dict[int, Sequence[int]]:
        """Return the actual calls that are not paired, by the expected call that they come before."""
        left = self.left
        if not left:
            return {}
        found: dict[int, Sequence[int]] = {}
        first, following = 0, left[0]
        for index, column in enumerate(self.columns):
            if column > following and column in self.in_place:
                end = bisect_left(left, column)
                found[index] = left[first:end]
                if end == len(left):
                    return found
                first, following = end, left[end]
        found[len(self.columns)] = left[first:]
        return found


def telling(lines: Iterable[Line], *quiet: Kind) -> Iterator[Line]:
    """Yield the lines that are not of a `quiet` kind, and the one before each missing call, to show its position."""
    before: Line | None = None
    for line in lines:
        if line.kind in quiet:
            before = line
            continue
        if before is not None and line.kind == "missing":
            yield before
        yield line
        before = None
