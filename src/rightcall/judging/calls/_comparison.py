"""Expected and actual calls side by side: the alignment that every evaluator and report shows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, islice, repeat
from typing import TYPE_CHECKING

import msgspec

from rightcall.judging.core import Selection
from rightcall.limits import Limits
from rightcall.matching import matchers
from rightcall.values.results import Alignment, Difference, ExplainedCall, NamedCall, Step, call_text

from ._lines import Kind, Line, align_calls, align_names, align_start, telling_lines

# Names alone are compared without matchers, which take as long to load as a trace takes to read and judge.
if TYPE_CHECKING:
    from rightcall.matching.matchers import ExpectedCalls, MadeUp, Pattern, Relation

LEAST = 96
"""Bytes that a step or an explained call takes as JSON at the least."""
_PAIRED = 60
"""Bytes of the text of a call that is paired, at the most."""
_DIFFERENCE = 48
"""Bytes of a difference without its texts."""
_ESCAPED = 6
"""Bytes of a character beyond ASCII."""
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
        self.positions = selection.positions or list(range(len(selection.calls)))
        # Steps, explained calls and findings together stay within the limit as JSON.
        self.room = limits.explanation_bytes * 3 // 8
        self._differences: dict[tuple[int, int], tuple[Difference, ...]] = {}
        # The most bytes that all differences so far take: nearly always they tell that everything fits.
        self._bytes = 0

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
        """The steps. Without room for all, those that match are counted, not listed, and so is what has no room."""
        most = self.room // LEAST
        if self._lines is None and len(self.expected) == len(self.positions):
            return self._all_as_expected(most)
        lines = self.lines
        if len(lines) <= most:
            steps = self._steps(lines)
            if self._number_with_room(steps) == len(steps):
                return Alignment(tuple(steps))
        steps = self._steps(telling_lines(lines, ("match",))[:most])
        steps = steps[: self._number_with_room(steps)]
        return Alignment(tuple(steps), len(lines) - len(steps))

    def _steps(self, lines: Sequence[Line]) -> list[Step]:
        expected, positions = self.expected, self.positions
        return [
            Step("match", expected[line.expected], line.expected, positions[line.actual])
            if line.kind == "match"
            else self._step(line)
            for line in lines
        ]

    def _number_with_room(self, steps: Sequence[Step]) -> int:
        if self._bytes + self._most_of_names() + len(steps) * LEAST <= self.room:
            return len(steps)
        return fitting([weight(step.name) + size_of(step.differences) for step in steps], self.room)

    def _all_as_expected(self, most: int) -> Alignment:
        """The steps of calls that are the expected ones, no more and no less; none of them where there are too many."""
        size = len(self.expected)
        if size > most or weight("".join(self.expected)) + LEAST * size > self.room:
            return Alignment((), size)
        steps = map(Step, repeat("match"), self.expected, range(size), self.positions)  # type: ignore[arg-type]
        return Alignment(tuple(steps))

    def explained(self) -> tuple[list[ExplainedCall], int]:
        """Return the fate of each expected call, and how many did not fit the limit of explanations."""
        lines = [line for line in self.lines if line.expected >= 0]
        expected, positions = self.expected, self.positions
        calls: list[ExplainedCall] = []
        told = 0
        for line in lines[: self.room // LEAST]:
            if line.kind == "match" or line.kind == "moved":
                position = positions[line.actual]
                call = ExplainedCall(expected[line.expected], True, f"paired with call {position + 1}", position)
            else:
                call = self._explained_call(line)
                told += weight(call.text)
            calls.append(call)
        if self._bytes + told + self._most_of_names() + len(calls) * (LEAST + _PAIRED) > self.room:
            sizes = [weight(call.name) + weight(call.text) + size_of(call.differences) for call in calls]
            calls = calls[: fitting(sizes, self.room)]
        return calls, len(lines) - len(calls)

    def _most_of_names(self) -> int:
        """The most bytes that the names of all calls take as JSON, each expected and each actual one once."""
        return _ESCAPED * (len("".join(self.expected)) + len("".join(self.selection.names)))

    def differences(self, index: int, column: int) -> tuple[Difference, ...]:
        """Where an actual call differs from an expected one."""
        if not self.patterns:
            return ()
        found = self._differences.get((index, column))
        if found is None:
            pattern = self.patterns[index]
            moment = self.selection.moment(column) if pattern.needs_moment else None
            found = pattern.differences_at(self.selection.calls[column], moment)
            self._differences[index, column] = found
            for each in found:
                texts = len(each.path) + len(each.expected or "") + len(each.actual or "")
                self._bytes += _DIFFERENCE + _ESCAPED * texts
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
        """The outcome of an expected call that was not made as expected."""
        index, column = line.expected, line.actual
        name = self.expected[index]
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
        name, names = self.expected[index], self.selection.names
        if "*" not in name:
            candidates = [column for column, called in enumerate(names) if called == name][:_MOST_CANDIDATES]
        else:
            about = (column for column, called in enumerate(names) if self.is_about(index, called))
            candidates = list(islice(about, _MOST_CANDIDATES))
        if len(candidates) < 2:
            return candidates[0] if candidates else -1
        return min(candidates, key=lambda column: len(self.differences(index, column)))


def difference_text(differences: Sequence[str]) -> str:
    """Differences in one line; of many, the first ones."""
    said = "; ".join(differences[:_MOST_TOLD])
    return said if len(differences) <= _MOST_TOLD else f"{said}; … and {len(differences) - _MOST_TOLD} more"


def size_of(differences: Sequence[Difference]) -> int:
    """About how many bytes differences take as JSON."""
    return sum([_DIFFERENCE + weight(each.path) + weight(each.expected) + weight(each.actual) for each in differences])


def weight(text: str | None) -> int:
    """About how many bytes a text takes as JSON, where everything beyond ASCII is escaped."""
    if text is None:
        return 0
    return len(text) if text.isascii() else _ESCAPED * len(text)


def fitting(sizes: Sequence[int], room: int) -> int:
    """Return how many things of these sizes, and the least that each takes, there is room for."""
    if sum(sizes) + LEAST * len(sizes) <= room:
        return len(sizes)
    return sum(total <= room for total in accumulate(size + LEAST for size in sizes))
