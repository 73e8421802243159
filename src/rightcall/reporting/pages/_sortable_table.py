"""Tables whose heads are links that sort them. The address says by which column, with `-` for the largest first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, TypeVar

import msgspec

_Row = TypeVar("_Row")
_LARGEST_FIRST = "-"


class Head(msgspec.Struct, frozen=True, kw_only=True):
    """The head of a column that sorts its table."""

    label: str
    href: str
    """The address of the table sorted by this column; of the other direction if it is already."""
    direction: Literal["", "ascending", "descending"] = ""
    """How the table is sorted by this column, as `aria-sort` says it; empty if it is not."""


class Sorting(msgspec.Struct, frozen=True, kw_only=True):
    """By which column a table is sorted; an empty one means the table's own order."""

    column: str = ""
    is_descending: bool = False

    @property
    def text(self) -> str:
        """Return the sorting as it stands in an address."""
        return f"{_LARGEST_FIRST * self.is_descending}{self.column}"


class Column(NamedTuple):
    """A column that sorts its table: its label, and its value in a row; `None` where a row has none."""

    label: str
    value: Callable[[Any], Any]


RUN_COLUMNS = {
    "started": "Started",
    "passed": "Passed",
    "cases": "Cases",
    "branch": "Branch",
    "agent": "Agent and eval set",
    "took": "Took",
}
"""The columns of the list of runs that sort it."""
NEWEST_FIRST = Sorting(column="started", is_descending=True)


def sorting_of(asked: str, columns: Mapping[str, str], default: Sorting) -> Sorting:
    """Return the sorting that an address asks for. A column that the table lacks means the default."""
    column = asked.removeprefix(_LARGEST_FIRST)
    return Sorting(column=column, is_descending=asked != column) if column in columns else default


def heads_of(columns: Mapping[str, str], sorting: Sorting, href: Callable[[str], str]) -> dict[str, Head]:
    """Return the heads of columns, given their labels by key, and the address for a sorting.

    A column is sorted from its smallest value first, and the other way round on the second click.
    """
    heads = {}
    for column, label in columns.items():
        is_chosen = column == sorting.column
        turned = Sorting(column=column, is_descending=is_chosen and not sorting.is_descending)
        direction: Literal["", "ascending", "descending"] = ""
        if is_chosen:
            direction = "descending" if sorting.is_descending else "ascending"
        heads[column] = Head(label=label, href=href(turned.text), direction=direction)
    return heads


def sorted_table(
    rows: Iterable[_Row], asked: str, columns: Mapping[str, Column], href: Callable[[str], str]
) -> tuple[list[_Row], dict[str, Head]]:
    """Return rows as an address asks for them, and the heads of the columns.

    Rows stay as they are where it names no column. Without addresses, as in one file, the heads are no links.
    """
    labels = {key: column.label for key, column in columns.items()}
    sorting = sorting_of(asked, labels, Sorting())
    heads = heads_of(labels, sorting, href)
    if not sorting.column:
        return list(rows), heads
    return sorted_rows(rows, sorting, columns[sorting.column].value), heads


def sorted_rows(rows: Iterable[_Row], sorting: Sorting, value: Callable[[_Row], Any]) -> list[_Row]:
    """Return rows by a value. Those without one (`None`) are last in both directions, and equals stay as they are."""
    valued = [(value(row), row) for row in rows]
    known = [(each, row) for each, row in valued if each is not None]
    known.sort(key=lambda pair: pair[0], reverse=sorting.is_descending)
    return [row for _, row in known] + [row for each, row in valued if each is None]
