"""Which actual calls satisfy which expected ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence, Set
from itertools import compress, repeat
from operator import attrgetter
from typing import Any

import msgspec

from rightcall.errors import LimitError
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.matching.alignment import MarkedRow, Row, only_pairing
from rightcall.values.trajectory import ToolCall

from ._columns import CallColumns
from ._moments import MomentOf
from ._names import tool_names
from ._patterns import Pattern, Projection


class Lookup(msgspec.Struct, frozen=True):
    """Expected calls of one tool that one index of the actual calls answers, or that must be tried."""

    name: str
    projection: Projection | None
    numbers: list[int]
    """Their places among the expected calls."""
    keys: list[Hashable]
    """What to look up for each of them."""
    confusable: list[int]
    """The places of those that have to be tried on what was found."""

    trials: list[int]
    """The places of those that have to be tried on every call of the tool."""


class ExpectedCalls:
    """Expected calls in order.

    Most trajectories that pass begin with exactly the expected calls. Where all expectations are literal, that is
    seen by two comparisons of whole lists, and only values that Python confuses are looked at one by one.
    """

    __slots__ = (
        "_confusable",
        "_literals",
        "_part",
        "lookups",
        "name_counts",
        "name_set",
        "names",
        "names_only",
        "numbers_calls",
        "patterns",
        "special",
        "spends",
        "starred",
        "tools",
    )

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.patterns = patterns
        self.names = tuple([pattern.name for pattern in patterns])
        self.name_counts = Counter(self.names)
        """How often each name is expected."""
        self.name_set = frozenset(self.name_counts)
        # A name that fits every tool names none: the frameworks' own calls count only where they are meant.
        named = [pattern.name for pattern in patterns if not pattern.takes_every_name]
        self.tools: Set[str] = tool_names(named) if any(["*" in name for name in named]) else self.name_set
        """The tools that are expected; a name is in it that fits one with a `*`."""
        self.special = [number for number, pattern in enumerate(patterns) if not pattern.is_plain]
        """The places of those that no index answers: a name with `*`, several parts, or values from earlier calls."""
        self.starred = {at: patterns[at] for at in self.special if "*" in patterns[at].name}
        """Those whose names have a `*` that stands for any characters, by their places."""
        self.numbers_calls = any([pattern.nth is not None for pattern in patterns])
        """Whether one of them means the first or another call of a tool, so that calls before it count."""
        self.names_only = not self.special and all([pattern.accepts_all for pattern in patterns])
        """Whether nothing but the names of calls is expected."""
        self.spends = any([pattern.spends for pattern in patterns])
        """Whether a budget is needed to compare with them: one of them has a matcher."""
        self.lookups = _lookups(patterns)
        self._literals = [pattern.literal for pattern in patterns]
        self._confusable = [index for index, pattern in enumerate(patterns) if pattern.is_delicate]
        self._part: Callable[[ToolCall], Any] = attrgetter(patterns[0].part if patterns else "args")

    def __len__(self) -> int:
        return len(self.patterns)

    def is_beginning_of(self, calls: Sequence[ToolCall], names: tuple[str, ...]) -> bool:
        """Return whether the first calls, which have these names, surely satisfy the expected ones, one by one."""
        size = len(self.patterns)
        if names[:size] != self.names or self.special:
            return False
        # Python holds 1, 1.0 and True to be equal and JSON does not, so calls with such values are compared once more.
        equal = list(map(self._part, calls[:size])) == self._literals
        for index in self._confusable if equal else range(size):  # noqa: SIM110 - faster than a generator
            if not self.patterns[index].accepts(calls[index]):
                return False
        return True


def _lookups(patterns: Sequence[Pattern]) -> list[Lookup]:
    found: dict[tuple[str, Projection | None], Lookup] = {}
    for number, pattern in enumerate(patterns):
        if not pattern.is_plain:
            continue
        projection, key = pattern.index or (None, None)
        lookup = found.get((pattern.name, projection))
        if lookup is None:
            lookup = found[pattern.name, projection] = Lookup(pattern.name, projection, [], [], [], [])
        lookup.numbers.append(number)
        lookup.keys.append(key)
        if pattern.is_delicate:
            lookup.confusable.append(number)
        if projection is None and not pattern.accepts_all:
            lookup.trials.append(number)
    return list(found.values())


def _taken(pattern: Pattern, positions: dict[str, list[int]]) -> Row:
    """The positions of the calls whose names a pattern takes, in order; of those, the one that it means, if it says."""
    rows = [of_name for name, of_name in positions.items() if pattern.takes(name)]
    row: Row = rows[0] if len(rows) == 1 else sorted([position for row in rows for position in row])
    if pattern.nth is None:
        return row
    place = pattern.nth - 1 if pattern.nth > 0 else len(row) + pattern.nth
    return (row[place],) if 0 <= place < len(row) else _NONE


def _no_moment(position: int) -> None:
    return None


_FEW = 64
"""Comparisons of expected with actual calls of one name up to which no index is worth its making."""

_NONE: tuple[int, ...] = ()


class Relation(msgspec.Struct, frozen=True):
    """For each expected call, the positions of the actual calls that satisfy it.

    `sure` holds those that do, `possible` also those of which the trace did not record enough to tell. Where all is
    recorded the two are one object.
    """

    sure: list[Row]
    possible: list[Row]
    only: list[int] | None = None
    """The pairing by what is sure, where nothing about it has to be decided: see `only_pairing`."""

    @property
    def is_certain(self) -> bool:
        """Whether the trace recorded everything the comparison needs."""
        return self.sure is self.possible


def relate(
    expected: ExpectedCalls,
    calls: Sequence[ToolCall],
    limits: Limits = DEFAULT_LIMITS,
    moment_of: MomentOf | None = None,
) -> Relation:
    """Which calls satisfy which expected ones.

    Literal expectations are looked up in an index of the calls; only matchers are tried call by call. `moment_of` says
    where in the run a call was made; without it, what depends on that is not known.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    rows: list[Row] = [_NONE] * len(expected)
    return _Relating(expected, calls, moment_of, limits.comparisons, rows, {}).relation()


class _Relating(msgspec.Struct):
    """Expected and actual calls while they are compared."""

    expected: ExpectedCalls
    calls: Sequence[ToolCall]
    moment_of: MomentOf | None
    budget: int
    sure: list[Row]
    unknown: dict[int, Row]

    def relation(self) -> Relation:
        positions: dict[str, list[int]] = {}
        for position, call in enumerate(self.calls):
            if (held := positions.get(call.name)) is None:
                positions[call.name] = [position]
            else:
                held.append(position)
        lookups = self.expected.lookups
        # The work is added up before it begins: what is too much is refused at once.
        if self.expected.spends:
            self._spend(sum([len(positions.get(lookup.name, ())) * len(lookup.trials) for lookup in lookups]))
        for lookup in lookups:
            of_name = positions.get(lookup.name)
            if of_name is None:
                continue
            if len(of_name) * len(lookup.numbers) <= _FEW:
                self._try_each(lookup.numbers, of_name)
            elif lookup.projection is None:
                self._try_columns(lookup, of_name)
            else:
                self._look_up(lookup, lookup.projection, of_name)
        if self.expected.special:
            self._try_special(positions)
        return Relation(self.sure, self._possible() if self.unknown else self.sure, only_pairing(self.sure))

    def _try_each(self, numbers: Sequence[int], positions: Row) -> None:
        """Try each of these expectations on each of these calls."""
        patterns, calls = self.expected.patterns, self.calls
        for number in numbers:
            pattern = patterns[number]
            if pattern.accepts_all:
                self.sure[number] = positions
                continue
            row: list[int] = []
            undecided: list[int] = []
            for position in positions:
                holds = pattern.accepts(calls[position])
                if holds:
                    row.append(position)
                elif holds is None:
                    undecided.append(position)
            self.sure[number] = row
            if undecided:
                self.unknown[number] = undecided

    def _try_columns(self, lookup: Lookup, positions: Row) -> None:
        """Try many expectations on many calls: what they ask of the calls is read once."""
        alone = len(positions) == len(self.calls)
        columns = CallColumns(self.calls if alone else [self.calls[position] for position in positions])
        for number in lookup.numbers:
            pattern = self.expected.patterns[number]
            flags = None if pattern.accepts_all else pattern.accepts_each(columns)
            if flags is None:
                self._try_each([number], positions)
            else:
                self.sure[number] = MarkedRow(flags) if alone else list(compress(positions, flags))

    def _try_special(self, positions: dict[str, list[int]]) -> None:
        patterns = self.expected.patterns
        taken = {number: _taken(patterns[number], positions) for number in self.expected.special}
        self._spend(sum([0 if patterns[number].accepts_all else len(row) for number, row in taken.items()]))
        for number, row in taken.items():
            if not patterns[number].needs_moment:
                self._try_each([number], row)
            else:
                self._try_at_moments(number, row)

    def _try_at_moments(self, number: int, positions: Row) -> None:
        pattern, calls = self.expected.patterns[number], self.calls
        moment_of = self.moment_of or _no_moment
        answers = [(position, pattern.accepts_at(calls[position], moment_of(position))) for position in positions]
        self.sure[number] = [position for position, accepted in answers if accepted]
        if undecided := [position for position, accepted in answers if accepted is None]:
            self.unknown[number] = undecided

    def _look_up(self, lookup: Lookup, projection: Projection, positions: Row) -> None:
        # An index takes as many steps as there are calls; trying each expectation on each call would take the product.
        alone = len(positions) == len(self.calls)
        keys = projection(self.calls if alone else [self.calls[position] for position in positions])
        index: dict[Hashable, Row] = dict(zip(keys, zip(positions), strict=True))
        undecided: Row = _NONE
        # Fewer keys than calls: the same call was made twice. The key `None` means that the part was not recorded.
        if len(index) < len(keys) or None in index:
            index, undecided = self._index(lookup, keys, positions)
        for number, found in zip(lookup.numbers, map(index.get, lookup.keys, repeat(_NONE)), strict=True):
            self.sure[number] = found
        for number in lookup.confusable:
            self._try_each([number], self.sure[number])
        if undecided:
            self.unknown.update(dict.fromkeys(lookup.numbers, undecided))

    def _index(self, lookup: Lookup, keys: Sequence[Hashable], positions: Row) -> tuple[dict[Hashable, Row], Row]:
        """The positions by key, several to a key, and those that the trace says too little about."""
        pattern = self.expected.patterns[lookup.numbers[0]]
        index: dict[Hashable, list[int]] = {}
        undecided: list[int] = []
        for position, key in zip(positions, keys, strict=True):
            if key is not None:
                index.setdefault(key, []).append(position)
            elif pattern.accepts(self.calls[position]) is None:
                undecided.append(position)
        return dict(index), undecided

    def _possible(self) -> list[Row]:
        return [self._joined(row, self.unknown.get(number)) for number, row in enumerate(self.sure)]

    def _joined(self, row: Row, undecided: Row | None) -> Row:
        if undecided is None or not row:
            return row if undecided is None else undecided
        self._spend(len(row) + len(undecided))
        return sorted((*row, *undecided))

    def _spend(self, comparisons: int) -> None:
        self.budget -= comparisons
        if self.budget < 0:
            raise LimitError("comparing each expected call with each actual one takes more comparisons than allowed")
