"""What comes back from each server, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.targets import table

from .reasons import REASONS
from .servers import Server

HEADING = "Trace servers"
_HEAD = ("server", "export", "recordings", "equal", "differs")


@dataclass(frozen=True)
class Row:
    """One export of one server: the differences of each recording, where there are any."""

    key: str
    server: Server
    form: str
    recordings: int
    differences: Mapping[str, Sequence[str]]

    @property
    def unexplained(self) -> list[str]:
        """The recordings that differ without a reason that is known."""
        return [name for name in self.differences if (self.key, self.form, name) not in REASONS]

    @property
    def equal_again(self) -> list[str]:
        """The recordings with a reason that do not differ any more."""
        return [
            name for key, form, name in REASONS if (key, form) == (self.key, self.form) and name not in self.differences
        ]


def render(rows: Sequence[Row]) -> str:
    """The rows as Markdown."""
    return table(_HEAD, [_cells(row) for row in rows])


def _cells(row: Row) -> tuple[str, ...]:
    named: dict[str, list[str]] = {}
    for name in row.differences:
        named.setdefault(REASONS.get((row.key, row.form, name), "**not explained**"), []).append(f"`{name}`")
    differs = "; ".join([f"{', '.join(names)}: {reason}" for reason, names in named.items()])
    equal = row.recordings - len(row.differences)
    return (f"{row.server.name} {row.server.version}", row.form, str(row.recordings), str(equal), differs or "–")
