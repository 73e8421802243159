"""Documents that people write, with the line and column of everything in them."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

Path: TypeAlias = tuple[str | int, ...]
"""Where a value stands in a document: the keys and indices that lead to it."""


class Position(msgspec.Struct, frozen=True):
    """A place in a text, counted from 1."""

    line: int
    column: int


class Document(msgspec.Struct, frozen=True):
    """A value and where each part of it was written: keys of objects, and items of lists."""

    value: Any
    positions: dict[Path, Position]

    def position(self, path: Path) -> Position:
        """Where a part was written or, if that is not known, the nearest part around it."""
        while path not in self.positions and path:
            path = path[:-1]
        return self.positions.get(path, Position(1, 1))
