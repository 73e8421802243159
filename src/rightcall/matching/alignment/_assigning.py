"""Who goes with whom so that the sum of what the pairs are worth is greatest: the assignment problem."""

from __future__ import annotations

from collections.abc import Sequence


def best_assignment(worth: Sequence[Sequence[float]]) -> list[int]:
    """For each row the column it goes with, -1 for none, so that no column is taken twice and the sum is greatest.

    As many pairs are made as there can be; of several best assignments it is always the same one. The Hungarian
    method with potentials: rows are added one by one, each along a cheapest augmenting path. With n rows and m columns
    it takes n · m · min(n, m) steps. No rows, or no columns: no pairs.
    """
    if not worth or not worth[0]:
        return [-1] * len(worth)
    rows, columns = len(worth), len(worth[0])
    if rows > columns:
        turned = best_assignment([[row[column] for row in worth] for column in range(columns)])
        taken = {row: column for column, row in enumerate(turned)}
        return [taken.get(row, -1) for row in range(rows)]
    choice = [-1] * rows
    for column, row in enumerate(_Potentials(worth).rows_of_columns()):
        if row >= 0:
            choice[row] = column
    return choice


class _Potentials:
    """An assignment while it grows: what rows and columns are charged, so that no pair costs less than nothing."""

    def __init__(self, worth: Sequence[Sequence[float]]) -> None:
        self._worth = worth
        self._columns = len(worth[0])
        self._of_rows = [0.0] * len(worth)
        self._of_columns = [0.0] * self._columns
        self._rows = [-1] * self._columns

    def rows_of_columns(self) -> list[int]:
        """For each column the row that goes with it, -1 for none."""
        for row in range(len(self._worth)):
            self._add(row)
        return self._rows

    def _add(self, row: int) -> None:
        """Give a row a column, moving other rows to other columns where that is better."""
        slack = [float("inf")] * self._columns
        before = [-1] * self._columns
        done: list[int] = []
        waiting = list(range(self._columns))
        at, column = row, -1
        while True:
            column = self._nearest(at, column, waiting, slack, before)
            self._charge(row, slack[column], done, waiting, slack)
            waiting.remove(column)
            done.append(column)
            at = self._rows[column]
            if at < 0:
                break
        while column >= 0:
            previous = before[column]
            self._rows[column] = self._rows[previous] if previous >= 0 else row
            column = previous

    def _nearest(self, at: int, came: int, waiting: list[int], slack: list[float], before: list[int]) -> int:
        """The column that is cheapest to reach next, from the row `at`, which the column `came` led to."""
        worth, charged, columns = self._worth[at], self._of_rows[at], self._of_columns
        for column in waiting:
            cost = -worth[column] - charged - columns[column]
            if cost < slack[column]:
                slack[column], before[column] = cost, came
        return min(waiting, key=slack.__getitem__)

    def _charge(self, row: int, delta: float, done: list[int], waiting: list[int], slack: list[float]) -> None:
        self._of_rows[row] += delta
        for column in done:
            self._of_rows[self._rows[column]] += delta
            self._of_columns[column] -= delta
        for column in waiting:
            slack[column] -= delta
