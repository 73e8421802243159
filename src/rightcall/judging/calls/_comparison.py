"""Compare expected with actual calls: the lines of an alignment, bounds if the trace is incomplete, and findings."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice, repeat
from typing import TYPE_CHECKING, Literal

import msgspec

from rightcall.judging.core import Doubts, Selection
from rightcall.limits import Limits
from rightcall.matching import matchers
from rightcall.matching.alignment import (
    Row,
    common_length,
    common_subsequence,
    fits_every_order,
    least_common,
    least_met,
    longest_run,
    maximum_pairing,
    related_subsequence,
)
from rightcall.values.results import (
    Alignment,
    Difference,
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

if TYPE_CHECKING:
    from rightcall.matching.matchers import ExpectedCalls, MadeUp, Pattern, Relation


# Comparing names alone does not load `matchers`, which takes as long as reading and judging a trace.

LEAST = 96
"""The fewest bytes of a step or an explained call as JSON."""
_PAIRED = 60
"""The most bytes of the text of a call that is paired."""
_DIFFERENCE = 48
"""The bytes of a difference without its texts."""
_ESCAPED = 6
"""The bytes of an escaped character."""
_MOST_CANDIDATES = 16
_MOST_TOLD = 3
Kind = Literal["match", "mismatch", "moved", "missing", "extra", "skipped"]
_NO_STARS: Mapping[int, Pattern] = {}
MOST_FINDINGS = 30
_MOST_NAMES = 1_000
_LONGEST_NAME = 100
_SIMILAR = 0.75


def too_long_to_align(expected: int, actual: int, limits: Limits) -> tuple[str, ...]:
    """Return a warning that there are no details, if a comparison is too long to align."""
    longest = max(expected, actual)
    if longest <= limits.aligned_calls:
        return ()
    return (f"{longest:,} calls are too many to align (at most {limits.aligned_calls:,}): a score, but no details",)


def compare_names(expected: Sequence[str], selection: Selection, limits: Limits) -> Comparison:
    """Compare expected names with those of the selected calls."""
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
    """Compare expected calls with the selected ones.

    Pass what is known already: the `relation`, or that the first calls are `as_expected`.

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
        # The most bytes that all differences so far can take: nearly always that shows that everything fits.
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
        """Return the steps. If not all fit the limit, matches are only counted, and so is what still does not fit."""
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
        """Return the steps of calls that are exactly the expected ones; only their number if there are too many."""
        size = len(self.expected)
        if size > most or weight("".join(self.expected)) + LEAST * size > self.room:
            return Alignment((), size)
        steps = map(Step, repeat("match"), self.expected, range(size), self.positions)  # type: ignore[arg-type]
        return Alignment(tuple(steps))

    def explained(self) -> tuple[list[ExplainedCall], int]:
        """Return the outcome of each expected call, and how many did not fit the limit of explanations."""
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
                texts = len(each.path) + len(each.expected or "") + len(each.actual or "")
                self._bytes += _DIFFERENCE + _ESCAPED * texts
        return found

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
        """Return the outcome of an expected call that was not made as expected."""
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
        """Return the call of this name with the fewest differences, even if it is paired; -1 if there is none."""
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
    """Join differences on one line; of many, only the first ones."""
    said = "; ".join(differences[:_MOST_TOLD])
    return said if len(differences) <= _MOST_TOLD else f"{said}; … and {len(differences) - _MOST_TOLD} more"


def size_of(differences: Sequence[Difference]) -> int:
    """Return about how many bytes differences take as JSON."""
    return sum([_DIFFERENCE + weight(each.path) + weight(each.expected) + weight(each.actual) for each in differences])


def weight(text: str | None) -> int:
    """Return about how many bytes a text takes as JSON, with everything beyond ASCII escaped."""
    if text is None:
        return 0
    return len(text) if text.isascii() else _ESCAPED * len(text)


def fitting(sizes: Sequence[int], room: int) -> int:
    """Return how many items of these sizes fit, each with `LEAST` bytes more."""
    if sum(sizes) + LEAST * len(sizes) <= room:
        return len(sizes)
    return sum(total <= room for total in accumulate(size + LEAST for size in sizes))


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line of an alignment: indices among the expected and the selected calls, -1 for none."""

    kind: Kind
    expected: int
    actual: int
    out_of_place: bool = False


def align_calls(
    relation: Relation, expected: Sequence[str], actual: Sequence[str], starred: Mapping[int, Pattern] = _NO_STARS
) -> list[Line]:
    """Align expected with actual calls, given which actual calls satisfy each expected one.

    Full matches are paired maximally, then possible matches that the trace leaves open, then remaining calls of the
    same name in order. Pairs outside the longest increasing run of pairs are out of place. `starred` has the expected
    calls whose names are patterns.
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
    """Add pairs of remaining calls for which the trace leaves open whether they match."""
    taken = set(columns)
    rows = [
        () if column >= 0 else [each for each in row if each not in taken]
        for column, row in zip(columns, possible, strict=True)
    ]
    return [max(pair) for pair in zip(columns, maximum_pairing(rows), strict=True)]


def align_start(expected: int, actual: int) -> list[Line]:
    """Align calls that begin with the expected ones, in order."""
    return [
        *[Line("match", index, index) for index in range(expected)],
        *[Line("extra", -1, index) for index in range(expected, actual)],
    ]


def align_names(expected: Sequence[str], actual: Sequence[str]) -> list[Line]:
    """Align expected with actual names: a longest common subsequence is in place.

    If there are several, calls that are not expected have no influence on which one it is.
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
    """Add pairs of remaining calls with the same name: the first expected one with the first actual one, and so on."""
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
    """Add a pair for each remaining expected name with a `*`: the first remaining call that it matches."""
    taken, found = set(columns), list(columns)
    left = dict.fromkeys([column for column in range(len(actual)) if column not in taken])
    for index, pattern in starred.items():
        if found[index] < 0:
            found[index] = next((each for each in left if pattern.takes(actual[each])), -1)
            left.pop(found[index], None)
    return found


def lines_of(columns: Sequence[int], matched: Sequence[int], in_place: Container[int], actual_count: int) -> list[Line]:
    """Return the lines in the order of the expected calls, extra calls before the next call that is in place.

    Args:
        columns: The actual call beside each expected one, -1 for none.
        matched: The same, with -1 as well if the actual call is not as expected.
        in_place: The actual calls that are in the expected order.
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
    """Return the lines that are not of a `quiet` kind, and the one before each missing call, to show its position."""
    telling = [place for place, line in enumerate(lines) if line.kind not in quiet]
    before = [place - 1 for place in telling if place and lines[place].kind == "missing"]
    return [lines[place] for place in sorted({*telling, *before})]


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
    unknown: str = "its arguments were not recorded"
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
    said = difference_text([each.clause(subject.having, subject.lacking) for each in differences])
    if not said:
        return "RC301", f"`{name}`: {subject.unknown}", None
    call = comparison.selection.calls[line.actual]
    if subject.code == "RC106" and call.error is not None:
        if call.output is None:
            return subject.code, f"`{name}` {failure_text(call.error)} and returned nothing", None
        said += f"; it {failure_text(call.error)}"
    order = ""
    if rule.order and line.out_of_place:
        order = f"; it was called {_out_of_order(comparison, line)}{_at_once(comparison, line)}"
    return subject.code, f"`{name}` {subject.verb} {said}{order}", None


def _missing(comparison: Comparison, index: int) -> tuple[str, str | None]:
    name, names = comparison.expected[index], comparison.selection.names
    times = sum([comparison.is_about(index, each) for each in names])
    if times:
        calls = f"the only call of `{name}` is" if times == 1 else f"all {times:,} calls of `{name}` are"
        return f"`{comparison.expected_call(index).text}` is missing: {calls} paired with other expectations", None
    similar = _most_similar(name[:_LONGEST_NAME], {other[:_LONGEST_NAME] for other in names[:_MOST_NAMES]})
    return f"`{name}` was never called", f"`{similar}` was called: is it the same tool?" if similar else None


def _most_similar(name: str, others: Iterable[str]) -> str | None:
    """Return the most similar other name; `None` if less than three quarters of the letters are the same, in order.

    A longest common subsequence takes a hundredth of the time of Python's own `get_close_matches`.
    """
    letters = list(map(ord, name))
    best: tuple[float, str] | None = None
    for other in sorted(others):
        size = len(name) + len(other)
        if 2 * min(len(name), len(other)) < _SIMILAR * size:
            continue
        share = 2 * common_length(letters, list(map(ord, other))) / size
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
