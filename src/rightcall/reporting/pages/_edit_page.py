"""The page of an edit, which shows it as a diff before it is written."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from rightcall._lazy import lazy_pattern

from ._templates import Crumb, Links, Marked, marked_pair, render

_HUNK = lazy_pattern(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@", re.A)
MOST_LINES = 400
_LINE = 2_000


class DiffRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a diff: `kept`, `removed`, `added`, or the `head` of a hunk."""

    kind: str
    text: Marked
    old: int = 0
    """The line number before the edit; 0 for none."""
    new: int = 0


class EditScope(msgspec.Struct, frozen=True):
    """The scope of an edit: one case, or all cases with the same cause."""

    label: str
    href: str
    is_chosen: bool = False


class EditPage(msgspec.Struct, frozen=True, kw_only=True):
    """A proposed edit of a file."""

    title: str
    sentence: str
    trail: tuple[Crumb, ...] = ()
    is_running: bool = False
    path: str = ""
    """The file, as the user names it; empty if nothing can be written."""
    rows: tuple[DiffRow, ...] = ()
    left_out: int = 0
    patch: str = ""
    notes: tuple[str, ...] = ()
    """What the edit does not do, and why."""
    refusal: str = ""
    """Why there is no edit."""
    scopes: tuple[EditScope, ...] = ()
    action: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    """The hidden fields of the form."""
    back: str = ""


def edit_html(page: EditPage, links: Links) -> str:
    """Render an edit. Raises `MissingExtraError`."""
    return render("edit.html", page, links)


def diff_rows(lines: Sequence[str]) -> tuple[tuple[DiffRow, ...], int]:
    """Return the lines of a unified diff with their numbers, and how many more there are."""
    rows: list[DiffRow] = []
    old = new = 0
    removed: list[int] = []
    for line in lines[2 : MOST_LINES + 2]:
        sign, text = line[:1], line[1 : _LINE + 1]
        if found := _HUNK.match(line):
            old, new, removed = int(found[1]), int(found[2]), []
            rows.append(DiffRow(kind="head", text=Marked(line[:_LINE], "")))
        elif sign == "-":
            rows.append(DiffRow(kind="removed", text=Marked(text, ""), old=old))
            removed.append(len(rows) - 1)
            old += 1
        elif sign == "+":
            shown = Marked(text, "")
            if removed:  # pair added with removed lines in order, and mark what differs
                place = removed.pop(0)
                was, shown = marked_pair(rows[place].text.before, text)
                rows[place] = msgspec.structs.replace(rows[place], text=was)
            rows.append(DiffRow(kind="added", text=shown, new=new))
            new += 1
        elif sign == " ":
            rows.append(DiffRow(kind="kept", text=Marked(text, ""), old=old, new=new))
            removed, old, new = [], old + 1, new + 1
    return tuple(rows), max(0, len(lines) - 2 - MOST_LINES)
