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
    only_pairing,
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
    matched = only_pairing(rows)
    if matched is None:
        choice = maximum_pairing(rows, related_subsequence(rows, len(actual)))
        matched = {index: column for index, column in enumerate(choice) if column >= 0}
    pairs = matched if relation.is_certain else matched | _undecided(matched, relation.possible)
    if len(pairs) < len(expected) and len(pairs) < len(actual):
        pairs = pairs | _leftovers_by_name(pairs, expected, actual)
    pairs = pairs | _leftovers_by_pattern(pairs, starred, actual) if starred else pairs
    indices = sorted(pairs)
    run = longest_run([pairs[index] for index in indices])
    in_place = pairs if len(run) == len(pairs) else {indices[place] for place in run}
    return lines_of(pairs, matched, in_place, len(expected), len(actual))


def _undecided(matched: dict[int, int], possible: Sequence[Row]) -> dict[int, int]:
    """Pairs of what `matched` leaves over where the trace does not say whether they match."""
    taken = set(matched.values())
    rows = [
        () if index in matched else [column for column in row if column not in taken]
        for index, row in enumerate(possible)
    ]
    return {index: column for index, column in enumerate(maximum_pairing(rows)) if column >= 0}


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
    if list(expected) == list(actual):
        return align_start(len(expected), len(actual))
    ids: dict[str, int] = {}
    numbered = [ids.setdefault(name, len(ids)) for name in expected]
    columns = [column for column, name in enumerate(actual) if name in ids]
    common = common_subsequence(numbered, [ids[actual[column]] for column in columns])
    in_place = {index: columns[place] for index, place in common}
    pairs = in_place | _leftovers_by_name(in_place, expected, actual)
    return lines_of(pairs, pairs, in_place, len(expected), len(actual))


def _leftovers_by_name(pairs: dict[int, int], expected: Sequence[str], actual: Sequence[str]) -> dict[int, int]:
    """Pairs of what `pairs` leaves over: the first of a name with the first of that name, and so on."""
    taken = set(pairs.values())
    waiting: dict[str, list[int]] = {}
    for column in range(len(actual) - 1, -1, -1):
        if column not in taken:
            waiting.setdefault(actual[column], []).append(column)
    leftovers: dict[int, int] = {}
    for index, name in enumerate(expected):
        if index not in pairs and (columns := waiting.get(name)):
            leftovers[index] = columns.pop()
    return leftovers


def _leftovers_by_pattern(
    pairs: dict[int, int], starred: Mapping[int, Pattern], actual: Sequence[str]
) -> dict[int, int]:
    """Pairs of what `pairs` leaves over of names with `*`: each with the first call that is left and fits."""
    taken = set(pairs.values())
    left = dict.fromkeys([column for column in range(len(actual)) if column not in taken])
    leftovers: dict[int, int] = {}
    for index, pattern in starred.items():
        column = None if index in pairs else next((each for each in left if pattern.takes(actual[each])), None)
        if column is not None:
            leftovers[index] = column
            del left[column]
    return leftovers


def lines_of(
    pairs: dict[int, int],
    matched: Container[int],
    in_place: Container[int],
    expected_count: int,
    actual_count: int,
) -> list[Line]:
    """The lines in the order of the expected calls, extra calls before the next call that is in place."""
    taken = set(pairs.values())
    extras = [column for column in range(actual_count - 1, -1, -1) if column not in taken]
    next_extra = extras[-1] if extras else actual_count
    lines: list[Line] = []
    for index in range(expected_count):
        column = pairs.get(index)
        if column is None:
            lines.append(Line("missing", index, -1))
        elif index not in in_place:
            lines.append(Line("moved" if index in matched else "mismatch", index, column, True))
        else:
            while next_extra < column:
                lines.append(Line("extra", -1, extras.pop()))
                next_extra = extras[-1] if extras else actual_count
            lines.append(Line("match" if index in matched else "mismatch", index, column))
    lines.extend([Line("extra", -1, column) for column in reversed(extras)])
    return lines


def telling_lines(lines: Sequence[Line], quiet: Collection[str]) -> list[Line]:
    """Return the lines that matter, and the one before each missing call, which says where it should be."""
    telling = [place for place, line in enumerate(lines) if line.kind not in quiet]
    before = [place - 1 for place in telling if place and lines[place].kind == "missing"]
    return [lines[place] for place in sorted({*telling, *before})]
