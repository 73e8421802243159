"""The edits of a text as a unified diff."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from rightcall.values.decoding import Edit, apply_edits

_AROUND = 3
_NO_NEWLINE = "\\ No newline at end of file"


def diff_lines(before: str, edits: Sequence[Edit], old_name: str, new_name: str) -> Iterator[str]:
    """Yield a unified diff of a text and the same text with edits. Nothing if there are none.

    Only the lines around edits are compared, so its time grows with them and not with the text.
    """
    if not edits:
        return
    yield f"--- {old_name}"
    yield f"+++ {new_name}"
    starts = [0, *[place + 1 for place, character in enumerate(before) if character == "\n"]]
    ends = [*starts[1:], len(before)]
    shift = 0
    for first, last, inside in _regions(edits, starts, _AROUND):
        lines: list[str] = []
        place = first
        for begin, end, here in _regions(inside, starts, 0):
            lines += _marked(" ", _lines(before[starts[place] : starts[begin]]))
            old = before[starts[begin] : ends[end]]
            moved = [Edit(edit.start - starts[begin], edit.end - starts[begin], edit.text) for edit in here]
            lines += _compared(_lines(old), _lines(apply_edits(old, moved)))
            place = end + 1
        lines += _marked(" ", _lines(before[ends[place - 1] : ends[last]]))
        removed, added = (sum(line[0] in marks for line in lines) for marks in (" -", " +"))
        yield f"@@ -{_range(first, removed)} +{_range(first + shift, added)} @@"
        yield from lines
        shift += added - removed


def _regions(edits: Sequence[Edit], starts: Sequence[int], around: int) -> Iterator[tuple[int, int, list[Edit]]]:
    """Return the first and last line of every edited part of the text, with some lines around it."""
    most = len(starts) - 1
    first = last = -1
    inside: list[Edit] = []
    for edit in edits:
        begin = max(0, bisect_right(starts, edit.start) - 1 - around)
        end = min(most, bisect_right(starts, edit.end) - 1 + around)
        if inside and begin > last + 1:
            yield first, last, inside
            inside = []
        first, last = (begin, end) if not inside else (first, max(last, end))
        inside.append(edit)
    if inside:
        yield first, last, inside


def _compared(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    from difflib import SequenceMatcher  # for `accept` alone

    for kind, first, end, new_first, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            yield from _marked(" ", old[first:end])
            continue
        yield from _marked("-", old[first:end])
        yield from _marked("+", new[new_first:new_end])


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield mark + line.removesuffix("\n").removesuffix("\r")
        if not line.endswith("\n"):
            yield _NO_NEWLINE


def _lines(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _range(first: int, length: int) -> str:
    begin = first + 1 if length else first
    return str(begin) if length == 1 else f"{begin},{length}"
