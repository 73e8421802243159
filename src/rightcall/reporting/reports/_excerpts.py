"""Lines of the user's own file, with the place in them that a finding is about."""

from __future__ import annotations

import re

import msgspec

from rightcall.values.results import Source

from ._characters import beginning, cell_count, fit
from ._paper import Paper

_WORD = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s,:{}\[\]\"']+")
_AFTER = 12
_CUT = "..."
_WIDEST_MARK = 40


class Excerpt(msgspec.Struct, frozen=True):
    """A line of a file as it is shown, and where the mark below it begins and how long it is; 0 for no mark."""

    text: str
    start: int = 0
    length: int = 0


def excerpt(source: Source, indent: int, width: int, paper: Paper) -> Excerpt:
    """The line of a source without `indent` characters of its beginning, in `width` columns, its place in view."""
    line, at = source.excerpt[indent:].rstrip(), source.column - 1 - indent
    if not 0 <= at < len(line):
        return Excerpt(fit(paper.text(line), width, plain=paper.plain))
    at += len(line[at:]) - len(line[at:].lstrip("{[ ") or line[at:])
    word = _WORD.match(line, at)
    end = min(word.end() if word else at + 1, at + _WIDEST_MARK)
    gap, begin = "", 0
    if cell_count(paper.text(line[:end])) > width:
        begin = min(at, max(0, min(end + _AFTER, len(line)) - width + len(_CUT)))
        gap = (_CUT if paper.plain else "…") if begin else ""
    before, marked = gap + paper.text(line[begin:at]), paper.text(line[at:end])
    start, room = cell_count(before), width - cell_count(before) - cell_count(marked)
    after = fit(paper.text(line[end:]), room, plain=paper.plain) if room > 0 else ""
    text = beginning(before + marked + after, width)
    return Excerpt(text, start, max(0, min(cell_count(marked), width - start)))


def common_indent(sources: tuple[Source, ...]) -> int:
    """How many characters of white space all the lines begin with."""
    lines = [source.excerpt for source in sources if source.excerpt.strip()]
    return min([len(line) - len(line.lstrip()) for line in lines], default=0)
