"""Maximum pairing of expected with actual calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

Row: TypeAlias = Sequence[int]
"""The actual positions one expected call may pair with, in ascending order. Rows that are one object are read once."""


def maximum_pairing(
    rows: Sequence[Row], seed: Iterable[tuple[int, int]] = (), each_round: Callable[[], None] = lambda: None
) -> list[int]:
    """For each row the position it is paired with, or -1: as many pairs as any pairing can have.

    Pairs of `seed` stay paired on both sides, though not always with each other. Rows take the first free position
    in turn; what is left over is settled by augmenting paths, so the order of the rows never costs a pair. Each round
    of that looks at every position of every row at most once; `each_round` is called after it, and may raise.
    """
    pairing = _Pairing(rows)
    for row, column in seed:
        pairing.join(row, column)
    pairing.fill()
    while pairing.grow():
        each_round()
    return pairing.choice


def only_pairing(rows: Sequence[Row]) -> dict[int, int] | None:
    """The pairs, by row, where no row has a choice and no two want one position: then there is nothing to decide."""
    pairs = {index: row[0] for index, row in enumerate(rows) if row}
    return pairs if len(set(pairs.values())) == len(pairs) == sum(map(len, rows)) else None


class _Pairing:
    """A pairing while it grows."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._owner: dict[int, int] = {}
        self.choice = [-1] * len(rows)

    def join(self, row: int, column: int) -> None:
        self.choice[row] = column
        self._owner[column] = row

    def fill(self) -> None:
        """Give each row the first position that is still free."""
        cursors = _Cursors(self._rows)
        owner = self._owner
        for row, column in enumerate(self.choice):
            if column < 0:
                for candidate in cursors.of(row):
                    if candidate not in owner:
                        self.join(row, candidate)
                        break

    def grow(self) -> bool:
        """Lengthen the pairing by disjoint augmenting paths; false when there are none left."""
        free = [row for row, column in enumerate(self.choice) if column < 0 and self._rows[row]]
        if not free or len(self._owner) == len(self._rows):
            return False
        cursors, seen = _Cursors(self._rows), set[int]()
        return any([self._augment(row, cursors, seen) for row in free])

    def _augment(self, start: int, cursors: _Cursors, seen: set[int]) -> bool:
        path, columns = [start], list[int]()
        while path:
            column = next((column for column in cursors.of(path[-1]) if column not in seen), None)
            if column is None:
                path.pop()
                if columns:
                    columns.pop()
                continue
            seen.add(column)
            columns.append(column)
            holder = self._owner.get(column)
            if holder is None:
                for row, taken in zip(path, columns, strict=True):
                    self.join(row, taken)
                return True
            path.append(holder)
        return False


class _Cursors:
    """One walk through each distinct row, however many calls share it."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self._walks: dict[int, Iterator[int]] = {}

    def of(self, row: int) -> Iterator[int]:
        positions = self._rows[row]
        walk = self._walks.get(id(positions))
        if walk is None:
            walk = self._walks[id(positions)] = iter(positions)
        return walk
