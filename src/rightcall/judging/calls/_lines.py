"""The lines of an alignment: which actual call is beside which expected one, and what is left on either side."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import compress, islice
from typing import TYPE_CHECKING, Literal

import msgspec

from rightcall.matching.alignment import (
    COMMON,
    UNKNOWN,
    ExpectedNames,
    Row,
    left_over,
    longest_run,
    maximum_pairing,
    related_subsequence,
)
from rightcall.values.results import Step

if TYPE_CHECKING:
    from rightcall.matching.matchers import ExpectedCalls, Pattern, Relation


Kind = Literal["match", "mismatch", "moved", "missing", "extra", "skipped"]
_FEW_NAMES = 32
"""The most names that are searched for, one after the other, where more of them are counted in one pass."""
_FLIPPED = b"\1" + bytes(255)


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line of an alignment: indices among the expected and the selected calls, -1 for none."""

    kind: Kind
    expected: int
    actual: int
    out_of_place: bool = False


def align_calls(relation: Relation, expected: ExpectedCalls, actual: Sequence[str]) -> Lines:
    """Align expected calls with actual ones of these names, given which of them satisfy each expected one.

    Full matches are paired maximally, then possible matches that the trace leaves open, then remaining calls of the
    same name in order; an expected one with a number only with the call that it means. Pairs outside the longest
    increasing run of pairs are out of place.
    """
    matched = relation.only
    if matched is None:
        matched = maximum_pairing(relation.sure, related_subsequence(relation.sure, len(actual)))
    columns, left = matched, relation.left
    if relation.open is not None:
        columns, left = _with_undecided(matched, relation.possible), None
    if left is None:
        left = unpaired(columns, len(actual)) if -1 in columns or len(columns) < len(actual) else []
    places, starred = expected.places, expected.starred
    if numbered := expected.numbered(actual):
        columns, left = _with_numbers(columns, left, numbered)
        places = {name: [index for index in held if index not in numbered] for name, held in places.items()}
        starred = {index: pattern for index, pattern in starred.items() if index not in numbered}
    found, left = _with_names(columns, left, actual, places)
    if starred:
        found = _with_patterns(found, starred, actual)
        left = unpaired(found, len(actual))
    return Lines(found, matched, longest_run(found), left)


def _with_numbers(columns: list[int], left: list[int], numbered: Mapping[int, int]) -> tuple[list[int], list[int]]:
    """Add pairs of remaining expected calls with the only call that they mean, if that one is not paired."""
    found, left = columns.copy(), left.copy()
    for index, column in numbered.items():
        if found[index] < 0 and column in left:
            found[index] = column
            left.remove(column)
    return found, left


def _with_undecided(columns: Sequence[int], possible: Sequence[Row]) -> list[int]:
    """Add pairs of remaining calls for which the trace leaves open whether they match."""
    taken = set(columns)
    rows = [
        () if column >= 0 else [each for each in row if each not in taken]
        for column, row in zip(columns, possible, strict=True)
    ]
    return [max(pair) for pair in zip(columns, maximum_pairing(rows), strict=True)]


def align_names(expected: ExpectedNames, actual: Sequence[str]) -> NameLines:
    """Align expected names with actual ones.

    A longest common subsequence is in place. If there are several, calls that are not expected have no influence on
    which one it is.
    """
    wanted, made = left_over(expected.text, expected.text_of(actual))
    return NameLines(expected, actual, wanted, made)


def _with_names(
    columns: list[int], left: list[int], actual: Sequence[str], places: Mapping[str, Sequence[int]]
) -> tuple[list[int], list[int]]:
    """Add pairs of remaining calls with the same name: the first expected one with the first actual one, and so on.

    `left` are the actual calls that are not paired, and `places` has the expected ones by name. Returns the columns,
    and the actual calls that are still not paired.
    """
    if not left or -1 not in columns:
        return columns, left
    found = columns.copy()
    extras: list[int] = []
    following: dict[str, Iterator[int]] = {}
    for column in left:
        name = actual[column]
        if name not in places:
            extras.append(column)
            continue
        if name not in following:
            following[name] = iter(places[name])
        for index in following[name]:
            if found[index] < 0:
                found[index] = column
                break
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
        first, following, last = 0, left[0], max(self.in_place) if self.in_place else -1
        for index, column in enumerate(self.columns if following < last else ()):
            if column > following and column in self.in_place:
                end = bisect_left(left, column)
                found[index] = left[first:end]
                if end == len(left):
                    return found
                first, following = end, left[end]
                if following > last:
                    break
        found[len(self.columns)] = left[first:]
        return found


class NameLines:
    """The lines of expected and actual names, of which a result with thousands tells a few hundred.

    The names that are not in place are kept as strings, a character for each name: they are counted, and the next call
    of a tool is found, by searches in a string.
    """

    def __init__(self, expected: ExpectedNames, actual: Sequence[str], wanted_left: str, made_left: str) -> None:
        self._expected, self._actual = expected.names, actual
        self._different = len(expected.known)
        self._wanted_left, self._made_left = wanted_left, made_left

    @cached_property
    def _extras(self) -> list[int]:
        """The actual calls that are not paired."""
        return _surplus(self._wanted_left, self._made_left, self._different)

    def __len__(self) -> int:
        return len(self._expected) + len(self._extras)

    @property
    def matched(self) -> int:
        """How many calls are in place."""
        return self._made_left.count(COMMON)

    def in_common(self) -> list[str]:
        """Return the expected names whose calls were made in order."""
        return list(compress(self._expected, _is_left(self._wanted_left).translate(_FLIPPED)))

    def whole(self) -> Lines:
        """Return the same lines with the position of every name, of which this class keeps only strings."""
        made, in_place, left = self._made_left, list[int](), list[int]()
        for column, name in enumerate(made):
            (in_place if name == COMMON else left).append(column)
        paired: list[int] = []
        places: dict[str, list[int]] = {}
        following = iter(in_place)
        for index, name in enumerate(self._wanted_left):
            if name == COMMON:
                paired.append(next(following))
            else:
                paired.append(-1)
                places.setdefault(name, []).append(index)
        found, extras = _with_names(paired, left, made, places)
        return Lines(found, found, set(in_place), extras)

    def telling(self, positions: Sequence[int], most: int) -> list[Step]:
        """Return the first steps that are no match, and each match right before a missing call, to show its position.

        `positions` are those of the actual calls in their trajectory.
        """
        expected, wanted, made = self._expected, self._wanted_left, self._made_left
        extras = list(islice(self._extra_steps(positions), most))
        extras.reverse()
        in_place: list[int] = []
        searched: dict[str, int] = defaultdict(int)
        steps: list[Step] = []
        # Each of these calls is a step or two, so that no more of them are needed.
        for missed, index in enumerate(_places(_is_left(wanted), most)):
            while extras and extras[-1][0] < index - missed:
                steps.append(extras.pop()[1])
            name = wanted[index]
            column = made.find(name, searched[name])
            if column >= 0:
                searched[name] = column + 1
                steps.append(Step("moved", expected[index], index, positions[column], (), True))
                continue
            if index and wanted[index - 1] == COMMON:
                in_place = in_place or self._in_place()
                steps.append(Step("match", expected[index - 1], index - 1, positions[in_place[index - missed - 1]]))
            steps.append(Step("missing", expected[index], index))
        steps += [step for _, step in reversed(extras)]
        return steps[:most]

    def _extra_steps(self, positions: Sequence[int]) -> Iterator[tuple[int, Step]]:
        """Yield the step of each actual call that is not paired, after the number of calls in place before it."""
        matched = before = 0
        for column in self._extras:
            matched += self._made_left.count(COMMON, before, column)
            before = column
            yield matched, Step("extra", self._actual[column], None, positions[column])

    def _in_place(self) -> list[int]:
        return _places(_is_left(self._made_left).translate(_FLIPPED))


def _is_left(text: str) -> bytes:
    """Return for each name whether it is left: 0 if not."""
    # What Latin-1 has no byte for becomes a question mark.
    return text.encode("latin-1", "replace")


def _places(marks: bytes, most: int | None = None) -> list[int]:
    """Return the positions of the first marks that are not 0."""
    return list(islice(compress(range(len(marks)), marks), most))


def _surplus(wanted: str, made: str, different: int) -> list[int]:
    """Return the positions of the names that are left more often than is wanted, of each name the last ones."""
    found: list[int] = []
    if different <= _FEW_NAMES:
        for name in map(chr, range(ord(UNKNOWN), ord(UNKNOWN) + different + 1)):
            end = len(made)
            for _ in range(made.count(name) - wanted.count(name)):
                end = made.rfind(name, 0, end)
                found.append(end)
        return sorted(found)
    paired = Counter(wanted)
    paired[COMMON] = len(made)
    for column, name in enumerate(made):
        if paired[name]:
            paired[name] -= 1
        else:
            found.append(column)
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
