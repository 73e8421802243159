"""The lines of an alignment: which expected call is beside which actual one, and in which order."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

from rightcall.matching.alignment import (
    Row,
    common_subsequence,
    longest_run,
    maximum_pairing,
    related_subsequence,
)

if TYPE_CHECKING:
    from rightcall.matching.matchers import Pattern, Relation

Kind = Literal["match", "mismatch", "moved", "missing", "extra", "skipped"]
_NO_STARS: Mapping[int, Pattern] = {}


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line of an alignment: indices among the expected and the selected calls, -1 for none."""

    kind: Kind
    expected: int
    actual: int
    out_of_place: bool = False


def align_calls(
    relation: Relation, expected: Sequence[str], actual: Sequence[str], starred: Mapping[int, Pattern] = _NO_STARS
) -> list[Line]:
    """The alignment of expected calls with actual ones, given which actual calls satisfy each expected one.

    Full matches are paired maximally, then what the trace leaves open, then what is left of one name in order. Pairs
    outside the longest increasing run of pairs are out of place. `starred` has the expected calls whose names are
    patterns.
    """
    rows = relation.sure
    matched = relation.only or maximum_pairing(rows, related_subsequence(rows, len(actual)))
    columns = matched if relation.is_certain else _with_undecided(matched, relation.possible)
    columns = _with_names(columns, expected, actual)
    if starred:
        columns = _with_patterns(columns, starred, actual)
    paired = [column for column in columns if column >= 0]
    return lines_of(columns, matched, {paired[place] for place in longest_run(paired)}, len(actual))


def _with_undecided(columns: Sequence[int], possible: Sequence[Row]) -> list[int]:
    """The columns, with pairs of what is left where the trace does not say whether they match."""
    taken = set(columns)
    rows = [
        () if column >= 0 else [each for each in row if each not in taken]
        for column, row in zip(columns, possible, strict=True)
    ]
    return [max(pair) for pair in zip(columns, maximum_pairing(rows), strict=True)]


def align_start(expected: int, actual: int) -> list[Line]:
    """The alignment of calls that begin with the expected ones, in order."""
    return [
        *[Line("match", index, index) for index in range(expected)],
        *[Line("extra", -1, index) for index in range(expected, actual)],
    ]


def align_names(expected: Sequence[str], actual: Sequence[str]) -> list[Line]:
    """The alignment of expected names with actual ones: a longest common subsequence is in place.

    Which one, where there are several, does not depend on calls that are not expected.
    """
    ids = {name: number for number, name in enumerate(dict.fromkeys(expected))}
    known = [column for column, name in enumerate(actual) if name in ids]
    columns = [-1] * len(expected)
    pairs = common_subsequence([ids[name] for name in expected], [ids[actual[column]] for column in known])
    for index, place in pairs:
        columns[index] = known[place]
    in_place = set(columns)
    columns = _with_names(columns, expected, actual)
    return lines_of(columns, columns, in_place, len(actual))


def _with_names(columns: list[int], expected: Sequence[str], actual: Sequence[str]) -> list[int]:
    """The columns, with pairs of what is left: the first of a name with the first of that name, and so on."""
    left = columns.count(-1)
    if left == 0 or len(columns) - left == len(actual):
        return columns
    taken = set(columns)
    waiting: dict[str, list[int]] = {}
    for column in range(len(actual) - 1, -1, -1):
        if column not in taken:
            waiting.setdefault(actual[column], []).append(column)
    found = columns.copy()
    for index, column in enumerate(columns):
        if column < 0 and (others := waiting.get(expected[index])):
            found[index] = others.pop()
    return found


def _with_patterns(columns: Sequence[int], starred: Mapping[int, Pattern], actual: Sequence[str]) -> list[int]:
    """The columns, with pairs of what is left of names with `*`: each with the first call that is left and fits."""
    taken, found = set(columns), list(columns)
    left = dict.fromkeys([column for column in range(len(actual)) if column not in taken])
    for index, pattern in starred.items():
        if found[index] < 0:
            found[index] = next((each for each in left if pattern.takes(actual[each])), -1)
            left.pop(found[index], None)
    return found


def lines_of(columns: Sequence[int], matched: Sequence[int], in_place: Container[int], actual_count: int) -> list[Line]:
    """The lines in the order of the expected calls, extra calls before the next call that is in place.

    Args:
        columns: The actual call beside each expected one, -1 for none.
        matched: The same, as far as it is as expected.
        in_place: The actual calls that are in their place.
        actual_count: How many actual calls there are.
    """
    taken, following = set(columns), 0
    lines: list[Line] = []
    for index, column in enumerate(columns):
        if column < 0:
            lines.append(Line("missing", index, -1))
        elif column not in in_place:
            lines.append(Line("moved" if matched[index] >= 0 else "mismatch", index, column, True))
        else:
            while following < column:
                if following not in taken:
                    lines.append(Line("extra", -1, following))
                following += 1
            lines.append(Line("match" if matched[index] >= 0 else "mismatch", index, column))
    lines.extend([Line("extra", -1, column) for column in range(following, actual_count) if column not in taken])
    return lines


def telling_lines(lines: Sequence[Line], quiet: Collection[str]) -> list[Line]:
    """Return the lines that matter, and the one before each missing call, which says where it should be."""
    telling = [place for place, line in enumerate(lines) if line.kind not in quiet]
    before = [place - 1 for place in telling if place and lines[place].kind == "missing"]
    return [lines[place] for place in sorted({*telling, *before})]
