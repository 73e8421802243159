"""What lines are made of, and what they are written on."""

from __future__ import annotations

import sys

import msgspec

from ._characters import cell_count, fit, printable, wrap

Part = str | tuple[str, str]
"""A piece of a line: a text, or a text and its style."""
Line = tuple[Part, ...]

_LONG = 100_000

NARROWEST = 30
"""Columns that a text has at least, however narrow the paper is."""


class Paper(msgspec.Struct, frozen=True, kw_only=True):
    """What lines are written on: its width in columns, whether it takes ASCII only, whether values are shortened."""

    width: int = 80
    plain: bool = False
    full: bool = False

    def text(self, raw: str) -> str:
        """A text from a trace, harmless and on one line."""
        return printable(raw, plain=self.plain, one_line=True)

    def glyph(self, pair: tuple[str, str]) -> str:
        """One of two signs, the second being ASCII."""
        return pair[self.plain]

    @property
    def value_width(self) -> int:
        """How much of a value is worth writing as text, before it is cut to fit."""
        return sys.maxsize if self.full else self.width * 2

    def pieces(self, raw: str, width: int, lines: int = 1, hanging: int = 0) -> list[str]:
        """A text on at most so many lines; on as many as it takes if values are not shortened."""
        if self.full:
            return list(wrap(self.text(raw), width, hanging))
        room = width * lines
        if len(raw) > 4 * room:  # its middle will be cut out; a text of a gigabyte need not be measured for that
            raw = raw[: 2 * room] + raw[-2 * room :]
        text = self.text(raw)
        pieces = [text]
        # Lines break at spaces, so some room at their ends is lost; how much is known when it is.
        for lost in range(0, width, 4):
            pieces = list(wrap(fit(text, room - lost, plain=self.plain), width, hanging))
            if len(pieces) <= lines:
                break
        return pieces

    def paragraphs(self, raw: str, width: int, lines: int = 1) -> list[str]:
        """The same for a text of several lines: they stay lines if the text is whole, else they are run together."""
        if not self.full:
            return self.pieces(" ".join(raw.split()) if len(raw) < _LONG else raw, width, lines)
        return [piece for line in raw.splitlines() or [""] for piece in self.pieces(line, width)]


def line_length(line: Line) -> int:
    """How many columns a line takes up."""
    return sum(cell_count(part if isinstance(part, str) else part[0]) for part in line)
