"""Which actual calls satisfy which expected ones."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import msgspec

from rightcall.alignment import Row
from rightcall.errors import LimitError
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.trajectory import ToolCall

from ._calls import Pattern, Projection

_FEW = 8
"""Calls of one name that are tried one by one rather than indexed."""

_NONE: tuple[int, ...] = ()


class Relation(msgspec.Struct, frozen=True):
    """For each expected call, the positions of the actual calls that satisfy it.

    `sure` holds those that do, `possible` also those of which the trace did not record enough to tell. Where all is
    recorded the two are one object.
    """

    sure: list[Row]
    possible: list[Row]

    @property
    def is_certain(self) -> bool:
        """Whether the trace recorded everything the comparison needs."""
        return self.sure is self.possible


def relate(patterns: Sequence[Pattern], calls: Sequence[ToolCall], limits: Limits = DEFAULT_LIMITS) -> Relation:
    """Which calls satisfy which patterns.

    Literal expectations are looked up in an index of the calls; only matchers are tried call by call.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    return _Relating(calls, limits).relate(patterns)


class _Relating:
    """The calls of one trajectory, by name and by the indexes that patterns ask for."""

    def __init__(self, calls: Sequence[ToolCall], limits: Limits) -> None:
        self._calls = calls
        self._budget = limits.comparisons
        self._by_name: dict[str, list[int]] = {}
        for position, call in enumerate(calls):
            self._by_name.setdefault(call.name, []).append(position)
        self._indexes: dict[tuple[str, Projection], _Index] = {}

    def relate(self, patterns: Sequence[Pattern]) -> Relation:
        sure: list[Row] = []
        unknown: dict[int, Row] = {}
        for number, pattern in enumerate(patterns):
            positions = self._by_name.get(pattern.name)
            if not positions:
                sure.append(_NONE)
            elif pattern.accepts_all:
                sure.append(positions)
            else:
                tried = pattern.index is None or len(positions) <= _FEW
                row, undecided = self._tried(pattern, positions) if tried else self._found(pattern, positions)
                sure.append(row)
                if undecided:
                    unknown[number] = undecided
        if not unknown:
            return Relation(sure, sure)
        return Relation(sure, [self._joined(row, unknown.get(number)) for number, row in enumerate(sure)])

    def _tried(self, pattern: Pattern, positions: Row) -> tuple[Row, Row]:
        """The positions that satisfy a pattern and those that cannot be told, by trying each."""
        self._spend(len(positions))
        calls, accepts = self._calls, pattern.accepts
        row: list[int] = []
        undecided: list[int] = []
        for position in positions:
            holds = accepts(calls[position])
            if holds:
                row.append(position)
            elif holds is None:
                undecided.append(position)
        return row, undecided

    def _found(self, pattern: Pattern, positions: Row) -> tuple[Row, Row]:
        """The positions that satisfy a pattern and those that cannot be told, by looking it up."""
        assert pattern.index is not None  # noqa: S101 - for the type checker
        projection, key = pattern.index
        index = self._indexed(pattern, projection, positions)
        found: Row = index.positions.get(key, _NONE)
        if found and pattern.is_confusable:
            found = self._tried(pattern, found)[0]
        return found, index.unknown

    def _indexed(self, pattern: Pattern, projection: Projection, positions: Row) -> _Index:
        index = self._indexes.get((pattern.name, projection))
        if index is None:
            index = self._indexes[pattern.name, projection] = _Index()
            for position in positions:
                key = projection(self._calls[position])
                if key is not None:
                    index.positions.setdefault(key, []).append(position)
                elif pattern.accepts(self._calls[position]) is None:
                    index.unknown.append(position)
        return index

    def _joined(self, row: Row, undecided: Row | None) -> Row:
        if undecided is None or not row:
            return row if undecided is None else undecided
        self._spend(len(row) + len(undecided))
        return sorted((*row, *undecided))

    def _spend(self, comparisons: int) -> None:
        self._budget -= comparisons
        if self._budget < 0:
            raise LimitError("comparing each expected call with each actual one takes more comparisons than allowed")


class _Index:
    """The calls of one name by one projection, and those the projection cannot tell about."""

    __slots__ = ("positions", "unknown")

    def __init__(self) -> None:
        self.positions: dict[Hashable, list[int]] = {}
        self.unknown: list[int] = []
