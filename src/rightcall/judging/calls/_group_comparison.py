"""Expected calls with groups beside the actual ones: the best reading, and what it leaves over paired by name."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from rightcall.limits import Limits
from rightcall.matching.alignment import Occurrence
from rightcall.matching.matchers import Pattern
from rightcall.values.results import AlignedGroup, Alignment, Difference, NamedCall, Step, call_text

from ._comparison import LEAST, Comparison, fitting, size_of, weight
from ._group_scores import ReadTurn
from ._groups import GroupPlace
from ._lines import Line, lines_of, telling_lines
from ._match_types import IN_SEQUENCE

_MOST_GAPS = 1_000
"""Missing steps up to which each looks for a call near its place first."""


class Entry(msgspec.Struct, frozen=True):
    """One expected call of a reading: in which rounds, and the place of its call; `skipped` if it was left out."""

    leaf: int
    rounds: tuple[int, ...] = ()
    call: int = -1
    skipped: bool = False


def compare_reading(read: ReadTurn, match_type: str, limits: Limits) -> GroupedComparison:
    """The comparison of the calls of a turn with its best reading."""
    entries = list(_entries(read.sure.steps, len(read.expected)))
    return GroupedComparison(read, entries, match_type in IN_SEQUENCE, limits)


def _entries(steps: Sequence[Occurrence], leaves: int) -> Iterator[Entry]:
    """The steps of a reading with those that it leaves out, in the order they are written."""
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
    """An alignment of calls with steps in groups. Indices of expected calls are those of the entries."""

    def __init__(self, read: ReadTurn, entries: Sequence[Entry], in_sequence: bool, limits: Limits) -> None:
        self.read = read
        self.entries = entries
        self._in_sequence = in_sequence
        patterns: Sequence[Pattern] = [read.patterns[entry.leaf] for entry in entries]
        names = [pattern.name for pattern in patterns]
        super().__init__(names, patterns, read.selection, None, limits)
        self._lines = self._aligned()

    def groups_around(self, index: int) -> list[GroupPlace]:
        """The groups around an entry, the outermost first."""
        return [self.read.expected.groups[number] for number in self.read.expected.around[self.entries[index].leaf]]

    def order_of(self, one: int, other: int) -> int:
        """Return -1 where an entry has to come before another, 1 where after it, 0 where neither."""
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

    def _aligned(self) -> list[Line]:
        """The lines: pairs of the reading are in place; what is missing is paired with extra calls of its name."""
        pairs = {index: entry.call for index, entry in enumerate(self.entries) if entry.call >= 0}
        left = _Leftovers(self, pairs)
        pairs = pairs | left.pairs
        full = {index for index in pairs if index not in left.pairs or index in left.accepted}
        in_place = {index for index in pairs if index not in left.pairs} | (left.near - left.accepted)
        columns = [pairs.get(index, -1) for index in range(len(self.entries))]
        matched = [column if index in full else -1 for index, column in enumerate(columns)]
        lines = lines_of(columns, matched, {pairs[index] for index in in_place}, len(self.selection.calls))
        return [
            msgspec.structs.replace(line, kind="skipped")
            if line.kind == "missing" and self.entries[line.expected].skipped
            else line
            for line in lines
        ]

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
        lines = self.lines
        if len(lines) > most:
            lines = telling_lines(lines, ("match", "skipped"))[:most]
        steps = [self._grouped_step(line) for line in lines]
        sizes = [weight(step.name) + weight(step.path) + size_of(step.differences) for step in steps]
        fits = fitting(sizes, self.room)
        return Alignment(tuple(steps[:fits]), len(self.lines) - fits, self._groups())

    def _grouped_step(self, line: Line) -> Step:
        if line.kind == "extra":
            return self._step(line)
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
        """The groups, as many as there is room for, with how they were read."""
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
    """Missing steps paired with extra calls of the same name: near their place first, then anywhere."""

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
        """The entries whose call is near their place."""
        self.accepted: set[int] = set()
        """The entries whose call is as expected, though not where."""
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
