"""Expected and actual calls side by side: the alignment that every evaluator and report shows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Literal

import msgspec

from rightcall.judging.core import Selection
from rightcall.limits import Limits
from rightcall.matching import matchers
from rightcall.matching.alignment import (
    Row,
    common_subsequence,
    longest_run,
    maximum_pairing,
    only_pairing,
    related_subsequence,
)
from rightcall.values.results import Alignment, Difference, ExplainedCall, NamedCall, Step, call_text

# Names alone are compared without matchers, which take as long to load as a trace takes to read and judge.
if TYPE_CHECKING:
    from rightcall.matching.matchers import ExpectedCalls, MadeUp, Pattern, Relation

Kind = Literal["match", "mismatch", "moved", "missing", "extra", "skipped"]
_NO_STARS: Mapping[int, Pattern] = {}


class Line(msgspec.Struct, frozen=True):
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
    pairs = pairs | _leftovers_by_name(pairs, expected, actual)
    pairs = pairs | _leftovers_by_pattern(pairs, starred, actual) if starred else pairs
    indices = sorted(pairs)
    in_place = {indices[place] for place in longest_run([pairs[index] for index in indices])}
    return lines_of(pairs, matched.keys(), in_place, len(expected), len(actual))


def _undecided(matched: dict[int, int], possible: Sequence[Row]) -> dict[int, int]:
    """Pairs of what `matched` leaves over where the trace does not tell whether they match."""
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
    return lines_of(pairs, pairs.keys(), in_place.keys(), len(expected), len(actual))


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
    matched: Iterable[int],
    in_place: Iterable[int],
    expected_count: int,
    actual_count: int,
) -> list[Line]:
    """The lines in the order of the expected calls, extra calls before the next call that is in place."""
    full, placed = set(matched), set(in_place)
    extras = sorted(set(range(actual_count)).difference(pairs.values()), reverse=True)
    next_extra = extras[-1] if extras else actual_count
    lines: list[Line] = []
    for index in range(expected_count):
        column = pairs.get(index)
        if column is None:
            lines.append(Line("missing", index, -1))
        elif index not in placed:
            lines.append(Line("moved" if index in full else "mismatch", index, column, True))
        else:
            while next_extra < column:
                lines.append(Line("extra", -1, extras.pop()))
                next_extra = extras[-1] if extras else actual_count
            lines.append(Line("match" if index in full else "mismatch", index, column))
    lines.extend([Line("extra", -1, column) for column in reversed(extras)])
    return lines


LEAST = 96
"""Bytes that a step or an explained call takes as JSON at the least."""
_MOST_CANDIDATES = 16
_MOST_TOLD = 3


def too_long_to_align(expected: int, actual: int, limits: Limits) -> tuple[str, ...]:
    """A warning that there are no details, where a comparison is too long to show its path."""
    longest = max(expected, actual)
    if longest <= limits.aligned_calls:
        return ()
    return (f"{longest:,} calls are too many to align (at most {limits.aligned_calls:,}): a score, but no details",)


def compare_names(expected: Sequence[str], selection: Selection, limits: Limits) -> Comparison:
    """The comparison of expected names with those of the selected calls."""
    lines = None if tuple(expected) == selection.names else align_names(expected, selection.names)
    return Comparison(expected, (), selection, lines, limits)


def compare_calls(
    expected: ExpectedCalls,
    selection: Selection,
    limits: Limits,
    relation: Relation | None = None,
    *,
    as_expected: bool = False,
) -> Comparison:
    """The comparison of expected calls with the selected ones.

    What is known already need not be found out again: the `relation`, or that the first calls are `as_expected`.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    if relation is None and (as_expected or expected.is_beginning_of(selection.calls, selection.names)):
        return Comparison(expected.names, expected.patterns, selection, None, limits)
    if expected.names_only:
        lines = align_names(expected.names, selection.names)
    else:
        relation = relation or matchers.relate(expected, selection.calls, limits, selection.moment)
        lines = align_calls(relation, expected.names, selection.names, expected.starred)
    return Comparison(expected.names, expected.patterns, selection, lines, limits)


class ComparisonAccount(msgspec.Struct, kw_only=True):
    """An account of a result that rests on one comparison, made when it is first needed."""

    made: Comparison | None = None

    def compare(self) -> Comparison:
        """The comparison."""
        raise NotImplementedError

    @property
    def comparison(self) -> Comparison:
        """The comparison, made now or before."""
        if self.made is None:
            self.made = self.compare()
        return self.made


class Comparison:
    """An alignment with the calls it is about.

    Without patterns, only names are compared. Without lines, the first calls are the expected ones.
    """

    def __init__(
        self,
        expected: Sequence[str],
        patterns: Sequence[Pattern],
        selection: Selection,
        lines: Sequence[Line] | None,
        limits: Limits,
    ) -> None:
        self._lines = lines
        self.expected = expected
        self.selection = selection
        self.patterns = patterns
        self.positions = selection.positions or range(len(selection.calls))
        # Steps, explained calls and findings together stay within the limit as JSON.
        self.room = limits.explanation_bytes * 3 // 8
        self._differences: dict[tuple[int, int], tuple[Difference, ...]] = {}

    @property
    def lines(self) -> Sequence[Line]:
        """The lines of the alignment."""
        if self._lines is None:
            self._lines = align_start(len(self.expected), len(self.selection.calls))
        return self._lines

    def names_of(self, *kinds: Kind) -> list[str]:
        """The expected names on lines of these kinds."""
        return [self.expected[line.expected] for line in self.lines if line.kind in kinds]

    def alignment(self) -> Alignment:
        """The steps; in a long alignment those that match are counted, not listed, and so is what has no room."""
        most = self.room // LEAST
        if self._lines is None and len(self.expected) == len(self.positions):
            return self._all_as_expected(most)
        lines = self.lines
        if len(lines) > most:
            lines = telling_lines(lines, ("match",))[:most]
        expected, positions = self.expected, self.positions
        steps = [
            Step("match", expected[line.expected], line.expected, positions[line.actual])
            if line.kind == "match"
            else self._step(line)
            for line in lines
        ]
        sizes = [weight(step.name) + (size_of(step.differences) if step.differences else 0) for step in steps]
        fits = fitting(sizes, self.room)
        return Alignment(tuple(steps[:fits]), len(self.lines) - fits)

    def _all_as_expected(self, most: int) -> Alignment:
        """The steps of calls that are the expected ones, no more and no less; none of them where there are too many."""
        size = len(self.expected)
        if size > most or weight("".join(self.expected)) + LEAST * size > self.room:
            return Alignment((), size)
        return Alignment(tuple([Step("match", name, at, self.positions[at]) for at, name in enumerate(self.expected)]))

    def explained(self) -> tuple[list[ExplainedCall], int]:
        """Return the fate of each expected call, and how many did not fit the limit of explanations."""
        lines = [line for line in self.lines if line.expected >= 0]
        calls = [self._explained_call(line) for line in lines[: self.room // LEAST]]
        sizes = [weight(call.name) + weight(call.text) + size_of(call.differences) for call in calls]
        fits = fitting(sizes, self.room)
        return calls[:fits], len(lines) - fits

    def differences(self, index: int, column: int) -> tuple[Difference, ...]:
        """Where an actual call differs from an expected one."""
        if not self.patterns:
            return ()
        found = self._differences.get((index, column))
        if found is None:
            moment = self.selection.moment(column)
            found = self.patterns[index].differences_at(self.selection.calls[column], moment)
            self._differences[index, column] = found
        return found

    def is_about(self, index: int, name: str) -> bool:
        """Return whether an expected call is of a tool of this name."""
        return self.patterns[index].takes(name) if self.patterns else self.expected[index] == name

    def made_up(self, index: int, column: int) -> tuple[MadeUp, ...]:
        """The arguments of an actual call that do not come from where an expected one says."""
        pattern = self.patterns[index] if self.patterns else None
        if (
            pattern is None
            or not pattern.needs_moment
            or not isinstance(pattern, (matchers.CallPattern, matchers.PartsPattern))
        ):
            return ()
        return matchers.made_up_values(pattern.args, self.selection.calls[column], self.selection.moment(column))

    def expected_call(self, index: int) -> NamedCall:
        """An expected call by its position and text."""
        pattern = self.patterns[index] if self.patterns else None
        if pattern is None:
            return NamedCall(index, call_text(self.expected[index]))
        if isinstance(pattern, matchers.PartsPattern):
            return NamedCall(index, call_text(pattern.name, pattern.shown or None))
        if isinstance(pattern, matchers.CallPattern) and isinstance(pattern.args, dict) and pattern.args:
            return NamedCall(index, call_text(pattern.name, pattern.args))
        return NamedCall(index, call_text(self.expected[index]))

    def actual_call(self, column: int) -> NamedCall:
        """An actual call by its position in the trajectory and its text."""
        call = self.selection.calls[column]
        return NamedCall(self.positions[column], call_text(call.name, call.args))

    def _step(self, line: Line) -> Step:
        index, column = line.expected, line.actual
        if line.kind == "missing":
            return Step("missing", self.expected[index], index)
        if line.kind == "extra":
            return Step("extra", self.selection.names[column], None, self.positions[column])
        differences = self.differences(index, column) if line.kind == "mismatch" else ()
        position = self.positions[column]
        return Step(line.kind, self.expected[index], index, position, differences, line.out_of_place)

    def _explained_call(self, line: Line) -> ExplainedCall:
        index, column = line.expected, line.actual
        name = self.expected[index]
        if line.kind == "match" or line.kind == "moved":
            position = self.positions[column]
            return ExplainedCall(name, True, f"paired with call {position + 1}", position)
        nearest = column if column >= 0 else self._nearest(index)
        if nearest < 0:
            return ExplainedCall(name, False, "never called")
        differences = self.differences(index, nearest)
        position = self.positions[nearest]
        if not differences and column < 0:
            return ExplainedCall(name, False, f"call {position + 1} is like it, but paired with another", position)
        said = difference_text([*map(str, differences)]) or "not recorded"
        return ExplainedCall(name, False, f"nearest is call {position + 1}: {said}", position, differences)

    def _nearest(self, index: int) -> int:
        """The call of the same name with the fewest differences, though another has it; -1 if there is none."""
        candidates = (column for column, called in enumerate(self.selection.names) if self.is_about(index, called))
        return min(
            islice(candidates, _MOST_CANDIDATES),
            key=lambda column: len(self.differences(index, column)),
            default=-1,
        )


def difference_text(differences: Sequence[str]) -> str:
    """Differences in one line; of many, the first ones."""
    said = "; ".join(differences[:_MOST_TOLD])
    return said if len(differences) <= _MOST_TOLD else f"{said}; … and {len(differences) - _MOST_TOLD} more"


def size_of(differences: Sequence[Difference]) -> int:
    """About how many bytes differences take as JSON."""
    return sum([48 + weight(each.path) + weight(each.expected) + weight(each.actual) for each in differences])


def weight(text: str | None) -> int:
    """About how many bytes a text takes as JSON, where everything beyond ASCII is escaped."""
    if text is None:
        return 0
    return len(text) if text.isascii() else 6 * len(text)


def telling_lines(lines: Sequence[Line], quiet: Collection[str]) -> list[Line]:
    """Return the lines that tell something, and the one before each missing call, which says where it should be."""
    telling = [place for place, line in enumerate(lines) if line.kind not in quiet]
    before = [place - 1 for place in telling if place and lines[place].kind == "missing"]
    return [lines[place] for place in sorted({*telling, *before})]


def fitting(sizes: Sequence[int], room: int) -> int:
    """Return how many things of these sizes, and the least that each takes, there is room for."""
    if sum(sizes) + LEAST * len(sizes) <= room:
        return len(sizes)
    return sum(total <= room for total in accumulate(size + LEAST for size in sizes))
