"""Compare expected with actual calls: steps, explained calls and findings, and bounds if the trace is incomplete."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, compress, count, islice, repeat
from operator import add
from sys import maxsize
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from rightcall.judging.core import Doubts, Measurement, Selection
from rightcall.limits import Limits
from rightcall.matching import matchers
from rightcall.matching.alignment import (
    ExpectedNames,
    Row,
    common_length,
    fits_every_order,
    least_common,
    least_met,
    maximum_pairing,
)
from rightcall.values.results import (
    Alignment,
    Difference,
    Explained,
    ExplainedCall,
    Finding,
    NamedCall,
    Step,
    call_text,
    end_text,
    failure_text,
    nth_text,
    order_phrase,
    wrong_side,
)
from rightcall.values.trajectory import ToolCall

from ._lines import Line, Lines, NameLines, align_calls, align_names, telling

if TYPE_CHECKING:
    from rightcall.matching.matchers import CallMoment, ExpectedCalls, MadeUp, Pattern, Relation


Differences: TypeAlias = Callable[[int, int], tuple[Difference, ...]]

# Comparing names alone does not load `matchers`, which takes as long as reading and judging a trace.

LEAST = 96
"""The fewest bytes of a step or an explained call as JSON."""
_PAIRED = 60
"""The most bytes of the text of a call that is paired."""
_FEW = 64
_PAIRED_WITH = tuple([f"paired with call {number}" for number in range(1, _FEW + 1)])
"""The texts for the first calls: writing a number takes longer than making the explained call."""
_DIFFERENCE = 48
"""The bytes of a difference without its strings."""
_ESCAPED = 6
"""The bytes of an escaped character."""
_MOST_CANDIDATES = 16
_MOST_TOLD = 3
MOST_FINDINGS = 30
_MOST_NAMES = 1_000
_LONGEST_NAME = 100
_SIMILAR = 0.75
_NO_MORE = maxsize
"""After the last call that is not paired."""


def unexplained(low: float, high: float, longest: int, limits: Limits) -> Measurement:
    """Return a measurement without details, because the comparison is too long to align."""
    warning = f"{longest:,} calls are too many to align (at most {limits.aligned_calls:,}): a score, but no details"
    return Measurement(low, high, Explained(), (warning,))


def compare_names(expected: ExpectedNames, selection: Selection, limits: Limits) -> Comparison:
    """Compare expected names with those of the selected calls."""
    lines = None if tuple(expected.names) == selection.names else align_names(expected, selection.names)
    return Comparison(expected.names, (), selection, lines, limits)


def compare_calls(
    expected: ExpectedCalls,
    selection: Selection,
    limits: Limits,
    relation: Relation | None = None,
    as_expected: bool = False,
) -> Comparison:
    """Compare expected calls with the selected ones.

    Pass what is known already: the `relation`, or that the first calls are `as_expected`.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    if relation is None and (as_expected or expected.is_beginning_of(selection.calls, selection.names)):
        return Comparison(expected.names, expected.patterns, selection, None, limits)
    lines: Lines | NameLines
    if expected.names_only:
        lines = align_names(ExpectedNames.of(expected.names), selection.names)
    else:
        relation = relation or matchers.relate(expected, selection.calls, limits, selection.moment)
        lines = align_calls(relation, expected, selection.names)
    return Comparison(expected.names, expected.patterns, selection, lines, limits)


def align_directly(
    expected: ExpectedCalls, selection: Selection, limits: Limits, relation: Relation
) -> Alignment | None:
    """Return the alignment that a `Comparison` makes of a few calls with this relation; `None` if it takes one.

    The expected calls have arguments or outputs, and these have no matchers. It takes none if the trace recorded what
    decides the only pairing there is, and all steps surely have room.
    """
    if relation.only is None or relation.open is not None:
        return None
    patterns, calls, names = expected.patterns, selection.calls, selection.names
    found: list[Difference] = []

    def differences(index: int, column: int) -> tuple[Difference, ...]:
        of_call = patterns[index].differences_at(calls[column], None)
        found.extend(of_call)
        return of_call

    steps = steps_of(align_calls(relation, expected, names), expected.names, selection, differences)
    size = _ESCAPED * (expected.length + len("".join(names))) + LEAST * len(steps)
    for each in found:
        size += _DIFFERENCE + _ESCAPED * len(f"{each.path}{each.expected}{each.actual}")
    return Alignment(tuple(steps)) if size <= _room(limits) else None


def steps_of(aligned: Lines, expected: Sequence[str], selection: Selection, differences: Differences) -> list[Step]:
    """Return lines as steps. `differences` returns those of an expected and an actual call."""
    columns, matched, in_place = aligned.columns, aligned.matched, aligned.in_place
    positions, names = selection.positions, selection.names
    steps: list[Step] = []
    extras = iter(aligned.left)
    extra = next(extras, _NO_MORE)
    for index, column in enumerate(columns):
        if column in in_place:
            while extra < column:
                steps.append(Step("extra", names[extra], None, extra if positions is None else positions[extra]))
                extra = next(extras, _NO_MORE)
            if matched[index] >= 0:
                steps.append(Step("match", expected[index], index, column if positions is None else positions[column]))
                continue
        elif column < 0:
            steps.append(Step("missing", expected[index], index))
            continue
        position = column if positions is None else positions[column]
        if matched[index] >= 0:
            steps.append(Step("moved", expected[index], index, position, (), True))
        else:
            found = differences(index, column)
            steps.append(Step("mismatch", expected[index], index, position, found, column not in in_place))
    while extra < _NO_MORE:
        steps.append(Step("extra", names[extra], None, extra if positions is None else positions[extra]))
        extra = next(extras, _NO_MORE)
    return steps


def _room(limits: Limits) -> int:
    # Steps, explained calls and findings together stay within the limit as JSON.
    return limits.explanation_bytes * 3 // 8


class ComparisonAccount(msgspec.Struct, kw_only=True):
    """An account of a result that is based on one comparison, made on first use."""

    made: Comparison | None = None

    def compare(self) -> Comparison:
        """Make the comparison."""
        raise NotImplementedError

    @property
    def comparison(self) -> Comparison:
        """The comparison, made on first use."""
        if self.made is None:
            self.made = self.compare()
        return self.made


class Comparison:
    """An alignment with the calls it is about.

    Without patterns, only names are compared. Without lines, the first calls are the expected ones.
    """

    _lines: list[Line] | None = None

    def __init__(
        self,
        expected: Sequence[str],
        patterns: Sequence[Pattern],
        selection: Selection,
        lines: Lines | NameLines | None,
        limits: Limits,
    ) -> None:
        self.room = _room(limits)
        self.expected = expected
        self.selection = selection
        self.patterns = patterns
        self._named: NameLines | None = None
        if isinstance(lines, NameLines):
            every_line_has_a_step = len(expected) + len(selection.calls) <= self.room // LEAST
            self._named, lines = (None, lines.whole()) if every_line_has_a_step else (lines, None)
        self._aligned = lines
        self._is_as_expected = lines is None and self._named is None and len(expected) == len(selection.calls)
        self._differences: dict[tuple[int, int], tuple[Difference, ...]] = {}
        # The most bytes of all expected names and all differences so far: nearly always everything fits by that.
        self._bytes = _ESCAPED * len("".join(expected))

    @property
    def positions(self) -> Sequence[int]:
        """The positions of the selected calls in the trajectory."""
        positions = self.selection.positions
        return range(len(self.selection.calls)) if positions is None else positions

    @property
    def aligned(self) -> Lines:
        """Which actual call is beside which expected one."""
        if self._aligned is None and self._named is not None:
            self._aligned = self._named.whole()
        elif self._aligned is None:
            size = len(self.expected)
            self._aligned = Lines(range(size), range(size), range(size), range(size, len(self.selection.calls)))
        return self._aligned

    @property
    def lines(self) -> list[Line]:
        """The lines of the alignment."""
        if self._lines is None:
            self._lines = list(self.aligned)
        return self._lines

    def in_common(self, *, moved: bool = False) -> list[str]:
        """Return the expected names whose calls were made in order; with `moved`, in any order."""
        if self._named is not None and not moved:
            return self._named.in_common()
        aligned = self.aligned
        is_there = (0).__le__ if moved else aligned.in_place.__contains__
        return list(compress(self.expected, map(is_there, aligned.matched)))

    def alignment(self) -> Alignment:
        """Return the steps. If not all fit the limit, matches are only counted, and so is what still does not fit."""
        most = self.room // LEAST
        if self._is_as_expected:
            return self._all_as_expected(most)
        named = self._named
        aligned = self.aligned if named is None else None
        size = len(named or ()) if aligned is None else len(aligned.columns) + len(aligned.left)
        if size <= most:
            lines = self.aligned if aligned is None else aligned
            steps = steps_of(lines, self.expected, self.selection, self.differences)
            if self._number_with_room(steps) == size:
                return Alignment(tuple(steps))
        if named is None:
            steps = [self._step(line) for line in islice(telling(self.aligned, "match"), most)]
        else:
            steps = named.telling(self.positions, most)
        steps = steps[: self._number_with_room(steps)]
        return Alignment(tuple(steps), size - len(steps))

    def _step(self, line: Line) -> Step:
        index, column = line.expected, line.actual
        if line.kind == "extra":
            return self._extra(column)
        found = self.differences(index, column) if line.kind == "mismatch" else ()
        position = None if column < 0 else self.selection.position(column)
        return Step(line.kind, self.expected[index], index, position, found, line.out_of_place)

    def _extra(self, column: int) -> Step:
        return Step("extra", self.selection.names[column], None, self.selection.position(column))

    def _number_with_room(self, steps: Sequence[Step]) -> int:
        if self._bytes + _ESCAPED * len("".join(self.selection.names)) + LEAST * len(steps) <= self.room:
            return len(steps)
        names = [step.name for step in steps]
        text = "".join(names)
        sizes = list(map(len if text.isascii() else weight, names))
        if self._differences:
            sizes = [size + size_of(step.differences) for size, step in zip(sizes, steps, strict=True)]
        return fitting(sizes, self.room)

    def _all_as_expected(self, most: int) -> Alignment:
        """Return the steps of calls that are exactly the expected ones; only their number if there are too many."""
        size = len(self.expected)
        is_small = self._bytes + LEAST * size <= self.room
        if size > most or not (is_small or weight("".join(self.expected)) + LEAST * size <= self.room):
            return Alignment((), size)
        steps = map(Step, repeat("match"), self.expected, range(size), self.positions)  # type: ignore[arg-type]
        return Alignment(tuple(steps))

    def explained(self) -> tuple[list[ExplainedCall], int]:
        """Return the outcome of each expected call, and how many did not fit the limit of explanations."""
        expected, positions, aligned = self.expected, self.selection.positions, self.aligned
        columns = aligned.columns
        calls: list[ExplainedCall] = []
        size = 0
        for index, column in enumerate(aligned.matched[: self.room // LEAST]):
            if column < 0:
                call = self._explained_call(index, columns[index])
                size += _ESCAPED * len(call.text)
                calls.append(call)
                continue
            position = column if positions is None else positions[column]
            text = _PAIRED_WITH[position] if position < _FEW else f"paired with call {position + 1}"
            calls.append(ExplainedCall(expected[index], True, text, position))
        if self._bytes + size + len(calls) * (LEAST + _PAIRED) > self.room:
            sizes = [weight(call.name) + weight(call.text) + size_of(call.differences) for call in calls]
            calls = calls[: fitting(sizes, self.room)]
        return calls, len(expected) - len(calls)

    def differences(self, index: int, column: int) -> tuple[Difference, ...]:
        """Return where an actual call differs from an expected one."""
        if not self.patterns:
            return ()
        found = self._differences.get((index, column))
        if found is None:
            pattern = self.patterns[index]
            moment = self.selection.moment(column) if pattern.needs_moment else None
            found = pattern.differences_at(self.selection.calls[column], moment)
            self._differences[index, column] = found
            for each in found:
                self._bytes += _DIFFERENCE + _ESCAPED * len(f"{each.path}{each.expected}{each.actual}")
        return found

    def number(self, index: int) -> int | None:
        """Return which call of its tool an expected call means, if it means one by its number."""
        return self.patterns[index].nth if self.patterns else None

    def is_about(self, index: int, name: str) -> bool:
        """Return whether an expected call is for a tool of this name."""
        return self.patterns[index].takes(name) if self.patterns else self.expected[index] == name

    def made_up(self, index: int, column: int) -> tuple[MadeUp, ...]:
        """Return the arguments of an actual call whose values are not from the source that the expected one names."""
        pattern = self.patterns[index] if self.patterns else None
        if (
            pattern is None
            or not pattern.needs_moment
            or not isinstance(pattern, (matchers.CallPattern, matchers.PartsPattern))
        ):
            return ()
        return matchers.made_up_values(pattern.args, self.selection.calls[column], self.selection.moment(column))

    def expected_call(self, index: int) -> NamedCall:
        """Return an expected call as its position and text."""
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
        return NamedCall(self.selection.position(column), call_text(call.name, call.args))

    def _explained_call(self, index: int, column: int) -> ExplainedCall:
        """Return the outcome of an expected call that was not made as expected."""
        name = self.expected[index]
        nearest = column if column >= 0 else self._nearest(index)
        if nearest >= 0 and column < 0 and (number := self.number(index)) is not None:
            times = sum([self.is_about(index, each) for each in self.selection.names])
            return ExplainedCall(name, False, _without(name, number, times))
        if nearest < 0:
            return ExplainedCall(name, False, "never called")
        differences = self.differences(index, nearest)
        position = self.selection.position(nearest)
        if not differences and column < 0:
            return ExplainedCall(name, False, f"call {position + 1} is like it, but paired with another", position)
        text = difference_text([*map(str, differences)]) or "not recorded"
        return ExplainedCall(name, False, f"nearest is call {position + 1}: {text}", position, differences)

    def _nearest(self, index: int) -> int:
        """Return the call of this name with the fewest differences, even if it is paired; -1 if there is none."""
        name, names = self.expected[index], self.selection.names
        if "*" not in name:
            # Most tools were called once: counting names is quicker than looking at each of them.
            if (times := names.count(name)) < 2:
                return names.index(name) if times else -1
            candidates = [column for column, called in enumerate(names) if called == name][:_MOST_CANDIDATES]
        else:
            about = (column for column, called in enumerate(names) if self.is_about(index, called))
            candidates = list(islice(about, _MOST_CANDIDATES))
        if len(candidates) < 2:
            return candidates[0] if candidates else -1
        return min(candidates, key=lambda column: len(self.differences(index, column)))


def difference_text(differences: Sequence[str]) -> str:
    """Join differences on one line; of many, only the first ones."""
    text = "; ".join(differences[:_MOST_TOLD])
    return text if len(differences) <= _MOST_TOLD else f"{text}; … and {len(differences) - _MOST_TOLD} more"


def size_of(differences: Sequence[Difference]) -> int:
    """Return about how many bytes differences take as JSON."""
    return sum([_DIFFERENCE + weight(each.path) + weight(each.expected) + weight(each.actual) for each in differences])


def weight(text: str | None) -> int:
    """Return about how many bytes a string takes as JSON, with everything beyond ASCII escaped."""
    if text is None:
        return 0
    return len(text) if text.isascii() else _ESCAPED * len(text)


def fitting(sizes: Sequence[int], room: int) -> int:
    """Return how many items of these sizes fit, each with `LEAST` bytes more."""
    if sum(sizes) + LEAST * len(sizes) <= room:
        return len(sizes)
    return bisect_right(list(map(add, accumulate(sizes), count(LEAST, LEAST))), room)


class Rule(msgspec.Struct, frozen=True):
    """Which differences are findings: another order, calls that are not expected, expected calls that were not made."""

    order: bool = False
    extras: bool = False
    missing: bool = True

    def is_broken_by(self, line: Line) -> bool:
        """Return whether a line of an alignment is wrong by this rule."""
        wrong = {"mismatch": True, "missing": self.missing, "extra": self.extras, "moved": self.order}
        return wrong.get(line.kind, False)


class Subject(msgspec.Struct, frozen=True):
    """The words for a comparison in its findings."""

    path: str
    """The key of the criteria that lists the expected calls."""
    code: str = "RC104"
    verb: str = "was called"
    having: str = "with"
    lacking: str = "without"
    prefix: str = ""


def find(comparison: Comparison, rule: Rule, subject: Subject) -> tuple[Finding, ...]:
    """Return the findings by a rule, in the order of the alignment, at most thirty."""
    wrong = [line for line in comparison.lines if rule.is_broken_by(line)]
    findings = [_finding(comparison, line, rule, subject) for line in wrong[:MOST_FINDINGS]]
    if len(wrong) > len(findings):
        findings.append(Finding(findings[-1].code, f"… and {len(wrong) - len(findings):,} more"))
    return tuple(findings)


def _finding(comparison: Comparison, line: Line, rule: Rule, subject: Subject) -> Finding:
    code, message, advice = _sentence(comparison, line, rule, subject)
    return Finding(
        code,
        subject.prefix + message,
        comparison.expected_call(line.expected) if line.expected >= 0 else None,
        comparison.actual_call(line.actual) if line.actual >= 0 else None,
        f"{subject.path}[{line.expected}]" if line.expected >= 0 else None,
        advice,
        ended=ended(code, comparison.selection.calls[line.actual]) if line.actual >= 0 else None,
    )


def ended(code: str, call: ToolCall) -> str | None:
    """Return how a call ended, if a finding with this code is about that."""
    is_about_end = code == "RC120" or (code == "RC106" and call.error is not None and call.output is None)
    return end_text(call.error) if is_about_end else None


def _sentence(comparison: Comparison, line: Line, rule: Rule, subject: Subject) -> tuple[str, str, str | None]:
    """Return the code, the message and, if there is one, the advice of a finding."""
    if line.kind == "extra":
        return "RC102", f"`{comparison.actual_call(line.actual).text}` was called, but not expected", None
    if line.kind == "missing":
        return "RC101", *_missing(comparison, line.expected)
    name = comparison.expected[line.expected]
    if line.kind == "moved":
        text = comparison.expected_call(line.expected).text if comparison.expected.count(name) > 1 else name
        together = _at_once(comparison, line)
        return "RC103", f"`{text}` was called {_out_of_order(comparison, line)}{together}", _advice(together)
    differences = comparison.differences(line.expected, line.actual)
    made_up = comparison.made_up(line.expected, line.actual) if subject.code == "RC104" else ()
    if made_up and len(made_up) == len(differences):
        more = f"; and {len(made_up) - 1} more" if len(made_up) > 1 else ""
        return "RC117", f"`{comparison.selection.names[line.actual]}`: {made_up[0]}{more}", None
    sentence = difference_text([each.clause(subject.having, subject.lacking) for each in differences])
    order = ""
    if rule.order and line.out_of_place:
        order = f"it was called {_out_of_order(comparison, line)}{_at_once(comparison, line)}"
    if not sentence:
        unknown = f"`{name}`: {_unknown(comparison, line)}"
        return ("RC103", f"{unknown}; {order}", None) if order else ("RC301", unknown, None)
    call = comparison.selection.calls[line.actual]
    if subject.code == "RC106" and call.error is not None:
        if call.output is None:
            return subject.code, f"`{name}` {failure_text(call.error)} and returned nothing", None
        sentence += f"; it {failure_text(call.error)}"
    return (
        subject.code,
        f"`{name}` {subject.verb} {sentence}{f'; {order}' if order else ''}",
        matchers.meant_matcher(differences),
    )


_PARTS = {
    "args": "its arguments",
    "output": "its output",
    "status": "whether it failed",
    "agent": "its agent",
    "turn": "its turn",
}


def unknown_text(pattern: Pattern, call: ToolCall, moment: CallMoment | None) -> str:
    """Say what of a call was not recorded that an expected one depends on."""
    parts = pattern.unknown_parts(call, moment)
    if not parts:
        return "whether it is as expected was not recorded"
    is_there = "args" in parts and call.args is not None
    texts = ["where its arguments are from" if is_there and part == "args" else _PARTS[part] for part in parts]
    listed = " and ".join([", ".join(texts[:-1]), texts[-1]] if texts[1:] else texts)
    return f"{listed} {'were' if texts[1:] or texts == [_PARTS['args']] else 'was'} not recorded"


def _unknown(comparison: Comparison, line: Line) -> str:
    call, moment = comparison.selection.calls[line.actual], comparison.selection.moment(line.actual)
    return unknown_text(comparison.patterns[line.expected], call, moment)


def _missing(comparison: Comparison, index: int) -> tuple[str, str | None]:
    name, names = comparison.expected[index], comparison.selection.names
    times = sum([comparison.is_about(index, each) for each in names])
    if times:
        if (number := comparison.number(index)) is not None:
            return f"`{comparison.expected_call(index).text}` is missing: {_without(name, number, times)}", None
        calls = f"the only call of `{name}` is" if times == 1 else f"all {times:,} calls of `{name}` are"
        return f"`{comparison.expected_call(index).text}` is missing: {calls} paired with other expectations", None
    similar = _most_similar(name[:_LONGEST_NAME], {other[:_LONGEST_NAME] for other in names[:_MOST_NAMES]})
    return f"`{name}` was never called", f"`{similar}` was called: is it the same tool?" if similar else None


def _without(name: str, number: int, times: int) -> str:
    """Say why the call that an expected one means by its number cannot be paired."""
    if abs(number) > times:
        return f"`{name}` was called {times:,} time{'' if times == 1 else 's'}"
    which = "the only call" if times == 1 else nth_text("call", number if number > 0 else times + number + 1, times)
    return f"{which} of `{name}` is paired with another expectation"


def _most_similar(name: str, others: Iterable[str]) -> str | None:
    """Return the most similar other name; `None` if less than three quarters of the letters are the same, in order.

    A longest common subsequence takes a hundredth of the time of Python's own `get_close_matches`.
    """
    best: tuple[float, str] | None = None
    for other in sorted(others):
        size = len(name) + len(other)
        if 2 * min(len(name), len(other)) < _SIMILAR * size:
            continue
        share = 2 * common_length(name, other) / size
        if share >= _SIMILAR and (best is None or share > best[0]):
            best = share, other
    return None if best is None else best[1]


def _out_of_order(comparison: Comparison, line: Line) -> str:
    """Say which in-order call this call should have come after, or before."""
    in_place = ((other.expected, other.actual) for other in _in_place(comparison))

    def name(expected: int, actual: int) -> str:
        return _which(comparison, expected, actual, comparison.expected[line.expected])

    return order_phrase((line.expected, line.actual), in_place, name, expectation=True)


def _at_once(comparison: Comparison, line: Line) -> str:
    """Return a remark if a call and the one it should have come after, or before, were made at once; else nothing."""
    pairs = ((other.expected, other.actual) for other in _in_place(comparison))
    wrong = wrong_side((line.expected, line.actual), pairs)
    trajectory = comparison.selection.trajectory
    if wrong is None or trajectory is None:
        return ""
    first, second = (trajectory.calls[comparison.selection.position(index)] for index in (line.actual, wrong[1]))
    if trajectory.concurrent(first, second):
        return "; they ran at the same time"
    return "; the model asked for both at once" if first.group is not None and first.group == second.group else ""


def _advice(together: str) -> str | None:
    if not together:
        return None
    word = "overlap" if "ran" in together else "any_order"
    return f"with `parallel: {word}` calls made at once have no order"


def _which(comparison: Comparison, expected: int, actual: int, moved: str) -> str:
    """Name a call and, if its tool was called several times, say which of these calls it is."""
    name, names = comparison.expected[expected], comparison.selection.names
    if name == moved:
        return f"`{comparison.expected_call(expected).text}`"
    return nth_text(f"`{name}`", names[: actual + 1].count(name), names.count(name))


def _in_place(comparison: Comparison) -> Iterator[Line]:
    return (line for line in comparison.lines if line.expected >= 0 and line.actual >= 0 and not line.out_of_place)


def least_in_order(rows: Sequence[Row], selection: Selection) -> int:
    """Return a lower bound of how many expected calls are met in order, in every order that the trace leaves open.

    It is the number of all expected calls exactly if all are surely met. `rows` has, for each expected call, the
    positions of the selected calls that surely satisfy it.
    """
    free, unknown = selection.apart
    width = len(selection.calls)
    met = least_met(rows, width, free, unknown)
    return met if met == len(rows) else max(met, least_common(rows, width, sorted([*free, *unknown])))


def is_surely_exact(rows: Sequence[Row], selection: Selection) -> bool:
    """Return whether the calls are surely the expected ones: no more, no less, and in order."""
    doubts = selection.doubts
    if len(rows) != len(selection.calls) or (doubts is not None and (doubts.members or doubts.missing)):
        return False
    return fits_every_order(rows, *selection.apart)


def may_be_exact(rows: list[Row], selection: Selection) -> bool:
    """Return whether the calls may be the expected ones: no more, no less, and in order.

    `rows` has, for each expected call, the positions of the selected calls that may satisfy it.
    """
    doubts = selection.doubts
    if doubts is None or not (doubts.members or doubts.missing):
        return len(rows) == len(selection.calls) and fits_every_order(rows, selection.loose, ())
    if not selection.loose:
        return _is_one_of_many(rows, len(selection.calls), doubts)
    return covers_all(rows, selection)


def covers_all(rows: list[Row], selection: Selection) -> bool:
    """Return whether all expected calls, and all calls that were surely made, may be paired, in any order."""
    doubts = selection.doubts
    members = doubts.members if doubts is not None else frozenset()
    # A pairing of all rows and one of all sure columns can always be made one that pairs both (Mendelsohn, Dulmage).
    pairs_sure = len(selection.calls) - len(members) == _size(without(rows, members))
    return pairs_sure and ((doubts is not None and doubts.missing) or _size(rows) == len(rows))


def without(rows: list[Row], columns: frozenset[int]) -> list[Row]:
    """Return the rows without some columns."""
    if not columns:
        return rows
    # Rows that are one object stay one: a pairing reads them once.
    distinct = {id(row): row for row in rows}
    kept = {key: [column for column in row if column not in columns] for key, row in distinct.items()}
    return [kept[id(row)] for row in rows]


def _is_one_of_many(rows: Sequence[Row], width: int, doubts: Doubts) -> bool:
    """Return whether the expected calls may be all sure calls and some doubtful or missing ones, in order."""
    met_by = [0] * width
    for number, row in enumerate(rows):
        for column in row:
            met_by[column] |= 1 << number
    # Bit k is set if the calls so far may be the first k expected ones; before the first call, that is none of them.
    reached = 1
    for column, mask in enumerate(met_by):
        if doubts.missing:
            # Any number of calls may be missing here: all bits from the lowest one on.
            reached = -(reached & -reached)
        taken = (reached & mask) << 1
        reached = taken | reached if column in doubts.members else taken
    return bool(reached) if doubts.missing else bool(reached >> len(rows) & 1)


def _size(rows: Sequence[Row]) -> int:
    return len(rows) - maximum_pairing(rows).count(-1)
