"""Changes of a text, by place."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec


class Edit(msgspec.Struct, frozen=True):
    """The characters from `start` up to `end` of a text become other ones."""

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """A text after edits, which are in its order and do not overlap."""
    pieces, place = [], 0
    for edit in edits:
        pieces += [text[place : edit.start], edit.text]
        place = edit.end
    return "".join([*pieces, text[place:]])
