"""Compare expected calls in groups with the actual ones: the best reading, and its findings."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec.structs import replace

from rightcall.limits import Limits
from rightcall.matching.alignment import Occurrence
from rightcall.matching.matchers import PartName, PartsPattern, Pattern, made_up_values
from rightcall.values.results import (
    AlignedGroup,
    Alignment,
    Difference,
    Finding,
    NamedCall,
    Step,
    call_text,
    failure_text,
    ordinal_text,
)

from ._comparison import (
    LEAST,
    MOST_FINDINGS,
    Comparison,
    Rule,
    Subject,
    difference_text,
    ended,
    fitting,
    size_of,
    unknown_text,
    weight,
)
from ._groups import GroupPlace, ReadTurn
from ._lines import Line, Lines, telling, unpaired
from ._match_types import IN_SEQUENCE

_MOST_GAPS = 1_000
"""The most missing steps for which a call near the expected position is searched for first."""
_MOST_NAMED = 3
_WORDS: Mapping[PartName, tuple[str, str]] = {
    "args": ("with", "without"),
    "output": ("returning", "returning no"),
    "status": ("with", "without"),
    "agent": ("by", "by no"),
    "turn": ("in", "in no"),
}
"""For each part of a call, the words before a value that it has, and before one that it lacks."""
Sentence = tuple[str, str, str | None]
"""The code, the message and, if there is one, the advice of a finding."""


class Entry(msgspec.Struct, frozen=True):
    """One expected call of a reading: its rounds, and the index of its actual call; `skipped` if it was left out."""

    leaf: int
    rounds: tuple[int, ...] = ()
    call: int = -1
    skipped: bool = False


def compare_reading(read: ReadTurn, match_type: str, limits: Limits) -> GroupedComparison:
    """Compare the calls of a turn with its best reading."""
    entries = list(_entries(read.sure.steps, len(read.expected)))
    return GroupedComparison(read, entries, match_type in IN_SEQUENCE, limits)


def _entries(steps: Sequence[Occurrence], leaves: int) -> Iterator[Entry]:
    """Yield the steps of a reading, and the calls that it leaves out, in the order in which they are written."""
    there = {step.leaf for step in steps}
    left_out = iter([leaf for leaf in range(leaves) if leaf not in there])
    waiting = next(left_out, leaves)
    for step in steps:
        while waiting < step.leaf:
            yield Entry(waiting, skipped=True)
            waiting = next(left_out, leaves)
        yield Entry(step.leaf, step.rounds, step.call)
    while waiting < leaves:
        yield Entry(waiting, skipped=True)
        waiting = next(left_out, leaves)


class GroupedComparison(Comparison):
    """An alignment of calls with steps in groups. Indexes of expected calls are indexes of entries."""

    def __init__(self, read: ReadTurn, entries: Sequence[Entry], in_sequence: bool, limits: Limits) -> None:
        self.read = read
        self.entries = entries
        self._in_sequence = in_sequence
        patterns: Sequence[Pattern] = [read.patterns[entry.leaf] for entry in entries]
        names = [pattern.name for pattern in patterns]
        super().__init__(names, patterns, read.selection, None, limits)
        self._aligned = self._lines_of_reading()

    def groups_around(self, index: int) -> list[GroupPlace]:
        """The groups around an entry, the outermost first."""
        return [self.read.expected.groups[number] for number in self.read.expected.around[self.entries[index].leaf]]

    def order_of(self, one: int, other: int) -> int:
        """Return -1 if an entry has to come before another, 1 if after it, 0 if neither."""
        first, second = self.entries[one], self.entries[other]
        expected = self.read.expected
        rounds = 0
        word = "steps" if self._in_sequence else "any_order"
        for mine, its in zip(expected.around[first.leaf], expected.around[second.leaf], strict=False):
            if mine != its:
                break
            word = expected.groups[mine].word
            if word == "repeat":
                here, there = first.rounds[rounds : rounds + 1], second.rounds[rounds : rounds + 1]
                if here != there:
                    return -1 if here < there else 1
                rounds += 1
        if word != "steps" or first.leaf == second.leaf:
            return 0
        return -1 if first.leaf < second.leaf else 1

    def _lines_of_reading(self) -> Lines:
        """Return the lines: pairs of the reading are in place; missing steps get extra calls of their name."""
        pairs = {index: entry.call for index, entry in enumerate(self.entries) if entry.call >= 0}
        left = _Leftovers(self, pairs)
        pairs = pairs | left.pairs
        full = {index for index in pairs if index not in left.pairs or index in left.accepted}
        in_place = {index for index in pairs if index not in left.pairs} | (left.near - left.accepted)
        columns = [pairs.get(index, -1) for index in range(len(self.entries))]
        matched = [column if index in full else -1 for index, column in enumerate(columns)]
        skipped = {index for index, entry in enumerate(self.entries) if entry.skipped}
        extras = unpaired(columns, len(self.selection.calls))
        return Lines(columns, matched, {pairs[index] for index in in_place}, extras, skipped)

    def differences(self, index: int, column: int) -> tuple[Difference, ...]:
        found = self._differences.get((index, column))
        if found is None:
            pattern, call = self.patterns[index], self.selection.calls[column]
            found = pattern.differences_at(call, self.selection.moment(column)) if pattern.takes(call.name) else ()
            self._differences[index, column] = found
        return found

    def expected_call(self, index: int) -> NamedCall:
        args: Any = getattr(self.patterns[index], "args", None)
        given = args if isinstance(args, dict) and args else None
        return NamedCall(self.entries[index].leaf, call_text(self.expected[index], given))

    def alignment(self) -> Alignment:
        most = self.room // LEAST
        count = len(self.aligned)
        lines = self.lines if count <= most else islice(telling(self.aligned, "match", "skipped"), most)
        steps = [self._grouped_step(line) for line in lines]
        sizes = [weight(step.name) + weight(step.path) + size_of(step.differences) for step in steps]
        fits = fitting(sizes, self.room)
        return Alignment(tuple(steps[:fits]), count - fits, self._groups())

    def _grouped_step(self, line: Line) -> Step:
        if line.kind == "extra":
            return self._extra(line.actual)
        entry = self.entries[line.expected]
        differences = self.differences(line.expected, line.actual) if line.kind == "mismatch" else ()
        return Step(
            line.kind,
            self.expected[line.expected],
            entry.leaf,
            None if line.actual < 0 else self.positions[line.actual],
            differences,
            line.out_of_place,
            self.read.expected.paths[entry.leaf],
            entry.rounds,
        )

    def _groups(self) -> tuple[AlignedGroup, ...]:
        """Return the groups, as many as fit the limit, with how they were read."""
        return tuple([self._group(group) for group in self.read.expected.groups[: self.room // LEAST]])

    def _group(self, group: GroupPlace) -> AlignedGroup:
        taken = rounds = None
        inside = [entry for entry in self.entries if group.first <= entry.leaf < group.end and not entry.skipped]
        outer = [self.read.expected.groups[number] for number in self.read.expected.around[group.first]]
        place = outer.index(group)
        if group.word == "repeat":
            nth = sum([each.word == "repeat" for each in outer[:place]])
            rounds = len({entry.rounds[: nth + 1] for entry in inside})
        elif group.word == "one_of" and inside:
            taken = sum([first <= inside[0].leaf for first in group.parts]) - 1
        least = group.at_least if group.word == "repeat" else None
        return AlignedGroup(
            group.word, group.path, group.first, group.end, place, least, group.at_most, rounds=rounds, taken=taken
        )


class _Leftovers:
    """Missing steps paired with extra calls of the same name: near their expected position first, then anywhere."""

    def __init__(self, comparison: GroupedComparison, pairs: dict[int, int]) -> None:
        self._comparison = comparison
        self._paired = pairs
        self._sure = comparison.read.relation.sure
        taken = set(pairs.values())
        self._free: dict[str, list[int]] = {}
        for column, name in enumerate(comparison.selection.names):
            if column not in taken:
                self._free.setdefault(name, []).append(column)
        self.pairs: dict[int, int] = {}
        self.near: set[int] = set()
        """The entries whose call is near its expected position."""
        self.accepted: set[int] = set()
        """The entries whose call is as expected, except for its position."""
        missing = [index for index, entry in enumerate(comparison.entries) if entry.call < 0 and not entry.skipped]
        if len(missing) <= _MOST_GAPS:
            for index in missing:
                self._pair_near(index)
        for index in missing:
            if index not in self.pairs:
                self._pair_anywhere(index)

    def _candidates(self, index: int) -> list[int]:
        pattern = self._comparison.patterns[index]
        if "*" not in pattern.name:
            return self._free.get(pattern.name, [])
        found: list[int] = []
        for name, columns in self._free.items():
            if pattern.takes(name):
                for column in columns:
                    insort(found, column)
        return found

    def _pair_near(self, index: int) -> None:
        candidates = self._candidates(index)
        if not candidates:
            return
        low, high = -1, len(self._comparison.selection.calls)
        for other, column in self._paired.items():
            order = self._comparison.order_of(other, index)
            if order < 0:
                low = max(low, column)
            elif order > 0:
                high = min(high, column)
        near = [column for column in candidates if low < column < high]
        if near:
            self.near.add(index)
            self._take(index, near)

    def _pair_anywhere(self, index: int) -> None:
        if candidates := self._candidates(index):
            self._take(index, candidates)

    def _take(self, index: int, columns: Sequence[int]) -> None:
        """Pair an entry with the first call that is as expected, or else the first one."""
        row = set(self._sure[self._comparison.entries[index].leaf])
        column = next((column for column in columns if column in row), columns[0])
        if column in row:
            self.accepted.add(index)
        self.pairs[index] = column
        self._free[self._comparison.selection.names[column]].remove(column)


def find_in_groups(comparison: GroupedComparison, rule: Rule, subject: Subject) -> tuple[Finding, ...]:
    """Return the findings by a rule, in the order of the alignment, at most thirty."""
    wrong = [line for line in comparison.lines if rule.is_broken_by(line) or _is_apart(comparison, line)]
    findings = [_finding(comparison, line, rule, subject) for line in wrong[:MOST_FINDINGS]]
    if len(wrong) > len(findings):
        findings.append(Finding(findings[-1].code, f"… and {len(wrong) - len(findings):,} more"))
    return tuple(findings)


def _finding(comparison: GroupedComparison, line: Line, rule: Rule, subject: Subject) -> Finding:
    code, message, advice = _sentence(comparison, line, rule, subject)
    is_expected = line.expected >= 0
    return Finding(
        code,
        subject.prefix + message,
        comparison.expected_call(line.expected) if is_expected else None,
        comparison.actual_call(line.actual) if line.actual >= 0 else None,
        comparison.read.expected.paths[comparison.entries[line.expected].leaf] if is_expected else None,
        advice,
        ended=ended(code, comparison.selection.calls[line.actual]) if line.actual >= 0 else None,
    )


def _sentence(comparison: GroupedComparison, line: Line, rule: Rule, subject: Subject) -> Sentence:
    if line.kind == "extra":
        return _extra(comparison, line)
    if line.kind == "missing":
        return "RC101", _missing(comparison, line.expected), None
    if line.kind == "mismatch":
        return _differs(comparison, line, rule, subject)
    if _is_apart(comparison, line):
        return _apart(comparison, line)
    name = comparison.expected[line.expected]
    return "RC103", f"`{name}` was called {_out_of_order(comparison, line)}", None


def _extra(comparison: GroupedComparison, line: Line) -> Sentence:
    name = comparison.selection.names[line.actual]
    times = comparison.selection.names[: line.actual + 1].count(name)
    for index, pattern in enumerate(comparison.patterns):
        loops = [group for group in comparison.groups_around(index) if group.word == "repeat"]
        bounds = [group.at_most for group in loops] if len(loops) == 1 else []
        if bounds and bounds[0] is not None and pattern.takes(name) and comparison.entries[index].call >= 0:
            most = f"at most {bounds[0]:,} {'is' if bounds[0] == 1 else 'are'} expected here"
            return "RC102", f"`{name}` was called a {ordinal_text(times)} time, {most}", None
    return "RC102", f"`{comparison.actual_call(line.actual).text}` was called, but not expected", None


def _missing(comparison: GroupedComparison, index: int) -> str:
    name, groups = comparison.expected[index], comparison.groups_around(index)
    made = any(comparison.patterns[index].takes(each) for each in comparison.selection.names)
    text = f"`{comparison.expected_call(index).text}` is missing: its calls are paired with other expectations"
    text = text if made else f"`{name}` was never called"
    for group in reversed(groups):
        if group.word == "repeat":
            return _missing_in_round(comparison, index, group, text)
        if group.word == "one_of":
            return _missing_of_choice(comparison, index, group, text)
        if group.word in ("any_order", "at_once") and (count := _count_inside(comparison, index, group)) > 1:
            how = "in any order" if group.word == "any_order" else "at once"
            return f"{text}; it is one of {count:,} calls expected {how}"
    return text


def _count_inside(comparison: GroupedComparison, index: int, group: GroupPlace) -> int:
    """Count the calls of the reading in a group around an entry, in the same round; of alternatives only one counts."""
    around = comparison.groups_around(index)
    rounds = sum([each.word == "repeat" for each in around[: around.index(group)]])
    here = comparison.entries[index].rounds[:rounds]
    inside = [entry for entry in comparison.entries if group.first <= entry.leaf < group.end and not entry.skipped]
    return sum([entry.rounds[:rounds] == here for entry in inside])


def _missing_in_round(comparison: GroupedComparison, index: int, group: GroupPlace, text: str) -> str:
    entry = comparison.entries[index]
    nth = sum([each.word == "repeat" for each in comparison.groups_around(index)]) - 1
    if not nth < len(entry.rounds):
        return text
    rounds = {
        other.rounds[: nth + 1]
        for other in comparison.entries
        if group.first <= other.leaf < group.end and other.rounds[:nth] == entry.rounds[:nth] and not other.skipped
    }
    if len(rounds) < 2:
        return text
    name = comparison.expected_call(index).text
    return f"`{name}` is missing in the {ordinal_text(entry.rounds[nth] + 1)} of {len(rounds):,} rounds"


def _missing_of_choice(comparison: GroupedComparison, index: int, group: GroupPlace, text: str) -> str:
    if len(group.parts) == 1:
        return text
    leaf = comparison.entries[index].leaf
    place = sum([first <= leaf for first in group.parts]) - 1
    ends = [*group.parts[1:], group.end]
    inside = [entry for entry in comparison.entries if group.parts[place] <= entry.leaf < ends[place]]
    steps = [entry for entry in inside if not entry.skipped]
    matched = sum([entry.call >= 0 for entry in steps])
    if not matched:
        names = _named(list(dict.fromkeys([comparison.read.expected.names[first] for first in group.parts])))
        patterns = [comparison.read.patterns[first] for first in group.parts]
        if any([pattern.takes(name) for pattern in patterns for name in {*comparison.selection.names}]):
            return f"one of {names} is missing: their calls are paired with other expectations"
        return f"none of {names} was called"
    nearest = f"of {len(group.parts):,} alternatives the {ordinal_text(place + 1)} is nearest"
    return f"{text}; {nearest} ({matched:,} of {len(steps):,})"


def _named(names: Sequence[str]) -> str:
    text = ", ".join([f"`{name}`" for name in names[:_MOST_NAMED]])
    return f"{text} and {len(names) - _MOST_NAMED:,} more" if len(names) > _MOST_NAMED else text


def _differs(comparison: GroupedComparison, line: Line, rule: Rule, subject: Subject) -> Sentence:
    """Say what is wrong with a call of the right tool, the most important part first."""
    pattern, call = comparison.patterns[line.expected], comparison.selection.calls[line.actual]
    moment = comparison.selection.moment(line.actual)
    order = f"; it was called {_out_of_order(comparison, line)}" if rule.order and line.out_of_place else ""
    made_up = made_up_values(getattr(pattern, "args", None), call, moment)
    parts = pattern.differences_by_part(call, moment) if isinstance(pattern, PartsPattern) else {}
    if made_up:
        listed = {each.argument for each in made_up}
        found = parts or {"args": comparison.differences(line.expected, line.actual)}
        others = {part: [each for each in found[part] if part != "args" or each.name not in listed] for part in found}
        also = difference_text(_clauses(others))
        sentence = "; ".join([*map(str, made_up[:_MOST_NAMED]), *([f"also called {also}"] if also else [])])
        return "RC117", f"`{call.name}`: {sentence}{order}", None
    if "args" not in parts and "status" in parts:
        if call.error is not None:
            return "RC120", f"`{call.name}` {failure_text(call.error)}, expected to succeed{order}", None
        return "RC120", f"`{call.name}` succeeded, expected to fail{order}", None
    if "args" not in parts and "output" in parts:
        text = difference_text([_of_value(each).clause("", "no") for each in parts["output"]])
        return "RC106", f"`{call.name}` returned {text}{order}", None
    text = difference_text(_clauses(parts or {"args": comparison.differences(line.expected, line.actual)}))
    if not text:
        return "RC103" if order else "RC301", f"`{call.name}`: {unknown_text(pattern, call, moment)}{order}", None
    return subject.code, f"`{call.name}` {subject.verb} {text}{order}", None


def _of_value(difference: Difference) -> Difference:
    """Return a difference of an output as one of the value itself: without `output` at the start of its path."""
    return replace(difference, path="$" + difference.path.removeprefix("output"))


def _clauses(parts: Mapping[PartName, Sequence[Difference]]) -> list[str]:
    """Describe the differences of a call's parts: `with city "Rome", expected "Oslo"`, `by agent "a", expected "b"`."""
    return [each.clause(*_WORDS[part]) for part in _WORDS for each in parts.get(part, ())]


def _out_of_order(comparison: GroupedComparison, line: Line) -> str:
    """Say which in-order call, or group, this call should have come after, or before."""
    for other in comparison.lines:
        if other.expected < 0 or other.actual < 0 or other.out_of_place:
            continue
        order = comparison.order_of(other.expected, line.expected)
        if order < 0 and other.actual > line.actual:
            return f"before {_other_side(comparison, line, other)}, expected after it"
        if order > 0 and other.actual < line.actual:
            return f"after {_other_side(comparison, line, other)}, expected before it"
    return "at another place than expected"


def _other_side(comparison: GroupedComparison, line: Line, other: Line) -> str:
    mine = comparison.groups_around(line.expected)
    its = [group for group in comparison.groups_around(other.expected) if group not in mine]
    if its and its[0].end - its[0].first > 1 and its[0].word in ("any_order", "at_once"):
        names = comparison.read.expected.names[its[0].first : its[0].end]
        return f"the group of {_named(list(dict.fromkeys(names)))}"
    return f"`{comparison.expected[other.expected]}`"


def _is_apart(comparison: GroupedComparison, line: Line) -> bool:
    """Return whether a call is as expected, but was not made at once with the others of its group."""
    if line.kind != "moved":
        return False
    group = next((each for each in comparison.groups_around(line.expected) if each.word == "at_once"), None)
    return group is not None and _partner(comparison, group) is not None


def _partner(comparison: GroupedComparison, group: GroupPlace) -> Line | None:
    """Return the first call of a group that is in place."""
    lines = [line for line in comparison.lines if line.kind == "match"]
    inside = [line for line in lines if group.first <= comparison.entries[line.expected].leaf < group.end]
    return inside[0] if inside else None


def _apart(comparison: GroupedComparison, line: Line) -> Sentence:
    group = next(each for each in comparison.groups_around(line.expected) if each.word == "at_once")
    partner = _partner(comparison, group) or line
    calls = comparison.selection.calls
    call, other = calls[line.actual], calls[partner.actual]
    low, high = sorted((line.actual, partner.actual))
    groups = {each.group for each in calls[low : high + 1]}
    turns = "" if None in groups else "one turn " if len(groups) == 2 else f"{len(groups) - 1:,} turns "
    side = f"{turns}{'after' if line.actual == high else 'before'} `{call_text(other.name, other.args)}`"
    text = f"`{call_text(call.name, call.args)}` was called {side}, expected at once"
    return "RC119", text, "if only the order is free, write any_order"
