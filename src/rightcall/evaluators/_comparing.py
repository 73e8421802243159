"""Expected and actual calls side by side, with what is different about them, within a budget."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from rightcall.limits import Limits
from rightcall.matchers import CallPattern, Pattern, Relation, begins_with, relate
from rightcall.results import Alignment, Difference, ExplainedCall, NamedCall, Step, call_text

from ._aligning import Kind, Line, align_calls, align_names, align_start
from ._selection import Selection

_MOST_STEPS = 1_000
_MOST_CANDIDATES = 16


def too_long_to_align(expected: int, actual: int, limits: Limits) -> tuple[str, ...]:
    """A warning that there are no details, where a comparison is too long to show its path."""
    longest = max(expected, actual)
    if longest <= limits.aligned_calls:
        return ()
    return (f"{longest:,} calls are too many to align (at most {limits.aligned_calls:,}): a score, but no details",)


def compare_names(expected: Sequence[str], selection: Selection, limits: Limits) -> Comparison:
    """The comparison of expected names with those of the selected calls."""
    return Comparison(expected, (), selection, align_names(expected, selection.names), limits)


def compare_calls(
    patterns: Sequence[Pattern], selection: Selection, limits: Limits, relation: Relation | None = None
) -> Comparison:
    """The comparison of expected calls with the selected ones; `relation` where it is known already.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    names = [pattern.name for pattern in patterns]
    if relation is None and begins_with(patterns, selection.calls):
        lines = align_start(len(patterns), len(selection.calls))
    else:
        relation = relation or relate(patterns, selection.calls, limits)
        lines = align_calls(relation.sure, names, selection.names)
    return Comparison(names, patterns, selection, lines, limits)


class Comparison:
    """An alignment with the calls it is about. Without patterns, only names are compared."""

    def __init__(
        self,
        expected: Sequence[str],
        patterns: Sequence[Pattern],
        selection: Selection,
        lines: Sequence[Line],
        limits: Limits,
    ) -> None:
        self.lines = lines
        self.expected = expected
        self.selection = selection
        self._patterns = patterns
        self._positions = selection.positions or range(len(selection.calls))
        self._room = limits.explanation_bytes
        self._differences: dict[tuple[int, int], tuple[Difference, ...]] = {}

    def names_of(self, *kinds: Kind) -> list[str]:
        """The expected names on lines of these kinds."""
        return [self.expected[line.expected] for line in self.lines if line.kind in kinds]

    def alignment(self) -> Alignment:
        """The steps; in a long alignment, those that match are counted, not listed."""
        lines = self.lines
        if len(lines) > _MOST_STEPS:
            lines = [line for line in lines if line.kind != "match"][:_MOST_STEPS]
        expected, positions = self.expected, self._positions
        steps = [
            Step("match", expected[line.expected], line.expected, positions[line.actual])
            if line.kind == "match"
            else self._step(line)
            for line in lines
        ]
        return Alignment(tuple(steps), len(self.lines) - len(lines))

    def explained(self) -> tuple[list[ExplainedCall], int]:
        """What became of each expected call, and how many are left out for want of room."""
        explained: list[ExplainedCall] = []
        lines = [line for line in self.lines if line.expected >= 0]
        for line in lines:
            call = self._explained_call(line)
            self._room -= len(call.text) + len(call.name) + 64
            if self._room < 0:
                break
            explained.append(call)
        return explained, len(lines) - len(explained)

    def differences(self, index: int, column: int) -> tuple[Difference, ...]:
        """Where an actual call differs from an expected one, as long as there is room to tell."""
        if not self._patterns:
            return ()
        found = self._differences.get((index, column))
        if found is None:
            found = self._patterns[index].differences_from(self.selection.calls[column]) if self._room > 0 else ()
            self._differences[index, column] = found
            self._room -= sum([len(str(difference)) + 48 for difference in found])
        return found

    def expected_call(self, index: int) -> NamedCall:
        """An expected call by its position and text."""
        pattern = self._patterns[index] if self._patterns else None
        if isinstance(pattern, CallPattern) and isinstance(pattern.args, dict) and pattern.args:
            return NamedCall(index, call_text(pattern.name, pattern.args))
        return NamedCall(index, call_text(self.expected[index]))

    def actual_call(self, column: int) -> NamedCall:
        """An actual call by its position in the trajectory and its text."""
        call = self.selection.calls[column]
        return NamedCall(self._positions[column], call_text(call.name, call.args))

    def _step(self, line: Line) -> Step:
        index, column = line.expected, line.actual
        if line.kind == "missing":
            return Step("missing", self.expected[index], index)
        if line.kind == "extra":
            return Step("extra", self.selection.names[column], None, self._positions[column])
        differences = self.differences(index, column) if line.kind == "mismatch" else ()
        position = self._positions[column]
        return Step(line.kind, self.expected[index], index, position, differences, line.out_of_place)

    def _explained_call(self, line: Line) -> ExplainedCall:
        index, column = line.expected, line.actual
        name = self.expected[index]
        if line.kind == "match" or line.kind == "moved":
            position = self._positions[column]
            return ExplainedCall(name, True, f"paired with call {position + 1}", position)
        nearest = column if column >= 0 else self._nearest(index)
        if nearest < 0:
            return ExplainedCall(name, False, "never called")
        differences = self.differences(index, nearest)
        said = "; ".join(map(str, differences)) or ("not recorded" if column >= 0 else "paired with another")
        position = self._positions[nearest]
        return ExplainedCall(name, False, f"nearest is call {position + 1}: {said}", position, differences)

    def _nearest(self, index: int) -> int:
        """The call of the same name with the fewest differences, though another has it; -1 if there is none."""
        name = self.expected[index]
        candidates = (column for column, called in enumerate(self.selection.names) if called == name)
        return min(
            islice(candidates, _MOST_CANDIDATES),
            key=lambda column: len(self.differences(index, column)),
            default=-1,
        )
