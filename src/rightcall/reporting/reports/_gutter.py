"""Lines of the user's eval set with line numbers, the verdict beside each, and brackets around groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.values.results import SIGNS, CaseResult, Finding, Source, Step, call_text
from rightcall.values.trajectory import ToolCall

from ._expected_paths import (
    Bracket,
    ExpectedPath,
    PathRow,
    difference_texts,
    order_text,
    paths_of,
    rounds_named,
    with_brackets,
)
from ._paper import Line, Paper, beginning, cell_count, fit, line_length, line_text

_LABELS = {
    "RC101": "expected here, nothing matched",
    "RC103": "called at another place",
    "RC104": "called with other arguments",
    "RC106": "returned something else",
    "RC117": "not seen before",
}
_INDENT = "  "
_WIDEST = 60
_WIDEST_EXTRA = 30
_LONGEST_PLACE = 300
"""A location is not cut to the width, so that it stays clickable; but it may come from outside, so it is limited."""
_WORD = lazy_pattern(r"\"[^\"]*\"|'[^']*'|[^\s,:{}\[\]\"']+")
_AFTER = 12
_MOST_PATHS = 5
"""Most lists of expected calls to show for one case."""
_CUT = "..."
_WIDEST_MARK = 40
_BEGIN, _INSIDE, _END = ("┌", "["), ("│", "|"), ("└", "]")
_GROUP_SIGNS = {"repeat": ("↻ ", "loop: ")}


class Gutter:
    """Format lines of a file with line numbers on the left and verdicts on the right."""

    def __init__(self, sources: Sequence[Source], paper: Paper) -> None:
        self._paper = paper
        self._margin = max([len(str(source.line)) for source in sources], default=1)
        self._indent = common_indent(tuple(sources))
        self._room = max(20, paper.width - self._margin - len(" | ") - len(_INDENT))

    def bar(self, *parts: str | tuple[str, str]) -> Line:
        """Return a line above or below lines of the file."""
        return ((f"{'':>{self._margin}} |", "cyan"), *parts)

    def arrow(self, source: Source, case: str) -> Line:
        """Return the line with the location and the case of a diagnosis."""
        text, plain = self._paper.text, self._paper.plain
        place = fit(text(str(source)), _LONGEST_PLACE, plain=plain)
        room = max(24, self._paper.width - self._margin - len("-->   ") - cell_count(place))
        return ((f"{'':>{self._margin}}--> ", "cyan"), place, "  ", (fit(text(case), room, plain=plain), "bold"))

    def remark(self, word: str, message: str) -> Iterator[Line]:
        """Yield a remark below the lines, such as help."""
        lead = f"{'':>{self._margin}} = {word}: "
        pieces = self._paper.pieces(message, max(20, self._paper.width - len(lead)), 6)
        yield ((f"{'':>{self._margin}} = ", "cyan"), (f"{word}: ", "bold"), pieces[0])
        yield from ((" " * len(lead), piece) for piece in pieces[1:])

    def single(self, source: Source, finding: Finding | None = None) -> Iterator[Line]:
        """Yield one line of the file, with a mark below the relevant part."""
        yield self.bar()
        if source.excerpt.strip():
            yield self._numbered(source, excerpt(source, self._indent, self._room, self._paper).text)
            yield from self._caret(source, finding, self._room)

    def path(self, path: ExpectedPath, calls: Sequence[ToolCall]) -> Iterator[Line]:
        """Yield the lines that list expected calls, each with its verdict, and a mark below the worst problem."""
        yield self.bar()
        rows, shown = path.shown_rows()
        column = self._column(path, [rows[place] for place in shown], calls)
        below: Source | None = None
        before, places = -1, iter([*shown, len(rows)])
        coming = next(places)
        for item in with_brackets([rows[place] for place in shown], rows):
            if coming > before + 1 and (isinstance(item, PathRow) or item.opens):
                yield ((f"{'':>{self._margin}} ", ""), ("..." if self._paper.plain else "⋮", "dim"))
                before = coming - 1
            if isinstance(item, Bracket):
                source = path.source(item.first) if item.first is not None else None
                if source is not None and not path.is_alone(source) and (below is None or below.line != source.line):
                    yield from self._line_of(source, path)
                    below = source
                yield self.bar(" ", _INDENT, (self._bracket(item), "dim"))
                continue
            before, coming = coming, next(places)
            yield from self._row(item, path, calls, column, below)
            below = path.source(item.step) or below
        left = len(rows) - before - 1 + path.alignment.left_out
        if left:
            yield self.bar((f" {'...' if self._paper.plain else '…'} {left:,} more", "dim"))

    def _bracket(self, bracket: Bracket) -> str:
        glyph = self._paper.glyph
        around = f"{glyph(_INSIDE)} " * bracket.depth
        if bracket.group is None:
            return around + glyph(_END)
        return f"{around}{glyph(_BEGIN)} {glyph(_GROUP_SIGNS.get(bracket.group.word, ('', '')))}{bracket.label}"

    def _line_of(self, source: Source, path: ExpectedPath) -> Iterator[Line]:
        """Yield a line of the file that has several steps, with a mark if the worst problem is on it."""
        head = path.problems[0]
        marked = head.source if head.source.line == source.line else source
        yield self._numbered(marked, excerpt(marked, self._indent, self._room, self._paper).text)
        if marked is head.source:
            yield from self._caret(marked, head.finding, self._room)

    def _row(
        self, row: PathRow, path: ExpectedPath, calls: Sequence[ToolCall], column: int, below: Source | None
    ) -> Iterator[Line]:
        """Yield a row: next to its line if no other step is on that line, else below it."""
        source, head = path.source(row.step), path.problems[0]
        inside = f"{self._paper.glyph(_INSIDE)} " * len(row.groups)
        is_alone = source is not None and path.is_alone(source)
        first, *others = self._verdict(row, path, calls, self._room - column - 2)
        rest = [self.bar(" ", _INDENT, inside, " " * (column - len(inside) + 2), *text) for text in others]
        if is_alone and source is not None:
            shown = excerpt(source, self._indent, column - len(inside), self._paper)
            text = inside + (shown.text.lstrip(" -") if inside else shown.text)
            yield (*self._numbered(source, text), " " * (column - cell_count(text) + 2), *first)
            yield from rest
            if source == head.source:
                yield from self._caret(source, head.finding, column, inside)
            return
        if source is not None and (below is None or below.line != source.line):
            yield from self._line_of(source, path)
        name = fit(self._paper.text(row.step.name), column - len(inside), plain=self._paper.plain) if inside else ""
        if row.step.expected is None:
            name = ""
        yield self.bar(" ", _INDENT, inside, name, " " * (column - len(inside) - cell_count(name) + 2), *first)
        yield from rest

    def _verdict(self, row: PathRow, path: ExpectedPath, calls: Sequence[ToolCall], room: int) -> list[Line]:
        """Return the sign and number of each call, with remarks, on one or several lines."""
        paper, step = self._paper, row.step
        named, more = rounds_named(row)
        marks = [self._mark(each, path) for each in named]
        counted = f"  and {more:,} more" if more else ""
        width = sum([cell_count(mark) + 2 for mark, _ in marks]) - 2 + len(counted)
        room = max(12, room - width - 2)
        texts = [fit(paper.text(text), room, plain=paper.plain) for text in self._texts(row, path, calls, room)]
        is_allowed = path.kind(step) == "extra" and not path.is_reported(step)
        head: list[str | tuple[str, str]] = []
        for mark, style in marks:
            head += [*(["  "] if head else []), (mark, "dim" if is_allowed else style)]
        first: Line = (*head, *([(counted, "dim")] if counted else []), *([f"  {texts[0]}"] if texts else []))
        return [first, *[(" " * (width + 2), text) for text in texts[1:]]]

    def _mark(self, step: Step, path: ExpectedPath) -> tuple[str, str]:
        kind = path.kind(step)
        number = f" {step.actual + 1}" if step.actual is not None else ""
        return f"{self._paper.sign(kind)}{number}", SIGNS[kind].style

    def _texts(self, row: PathRow, path: ExpectedPath, calls: Sequence[ToolCall], room: int) -> list[str]:
        step = row.step
        kind = path.kind(step)
        if kind == "extra":
            call = calls[step.actual] if step.actual is not None and step.actual < len(calls) else None
            return [call_text(step.name, call.args if call else None, max(room * 2, 40), 40)]
        texts: list[str] = [row.left_out] if row.left_out else []
        if kind == "mismatch":
            texts = list(difference_texts(step.differences, room, self._paper))
        elif kind == "not_measured":
            texts = ["not recorded"]
        if kind == "moved" or (step.kind == "mismatch" and step.out_of_place and path.heeds_order):
            texts.append(order_text(step, path.alignment.steps))
        source = path.source(step)
        if row.groups or (source is not None and path.is_alone(source) and step.name in source.excerpt):
            return texts  # the line contains the name already
        together = "  ".join([step.name, *texts[:1]])
        return [together, *texts[1:]] if cell_count(together) <= room else [step.name, *texts]

    def _column(self, path: ExpectedPath, rows: Sequence[PathRow], calls: Sequence[ToolCall]) -> int:
        """Return the width of the column of lines: their own width, if the verdicts fit beside them."""
        own = [(row, source) for row in rows if (source := path.source(row.step)) is not None and path.is_alone(source)]
        widths = [
            cell_count(self._paper.text(source.excerpt[self._indent :].rstrip())) + 2 * len(row.groups)
            for row, source in own
        ]
        widths += [cell_count(self._paper.text(row.step.name)) + 2 * len(row.groups) for row in rows if row.groups]
        # An extra call may have any number of arguments: reserve space for its name only.
        wanted = 0
        for row in rows:
            longest = max([line_length(line) for line in self._verdict(row, path, calls, _WIDEST)])
            wanted = max(wanted, min(longest, _WIDEST_EXTRA) if row.step.kind == "extra" else longest)
        return min(max(widths, default=0), max(self._room * 2 // 5, self._room - 2 - wanted))

    def _numbered(self, source: Source, text: str) -> Line:
        return ((f"{source.line:>{self._margin}} | ", "cyan"), _INDENT, text)

    def _caret(self, source: Source | None, finding: Finding | None, room: int, inside: str = "") -> Iterator[Line]:
        """Yield a mark below a line, with what is wrong there; `inside` has the brackets before it."""
        if source is None:
            return
        shown = excerpt(source, self._indent, room - len(inside), self._paper)
        if shown.length:
            label = (finding.ended or _LABELS.get(finding.code, "")) if finding is not None else ""
            start = shown.start
            if inside:
                start -= len(shown.text) - len(shown.text.lstrip(" -"))
            line = self.bar(" ", _INDENT, inside, " " * max(0, start), ("^" * shown.length, "red"))
            left = self._room - len(inside) - start - shown.length - 1
            yield (*line, (f" {label}", "red")) if label and len(label) <= left else line


def aligned_lines(result: CaseResult, paper: Paper) -> Iterator[str]:
    """Yield the alignment of expected with actual calls of a case, as the terminal shows it, without colour.

    Lists of calls without problems are left out, and so are duplicates.
    """
    calls = result.trajectory.calls if result.trajectory is not None else ()
    paths = [path for one in result.results if not one.passed for path in paths_of(result, one) if path.problems]
    views = [Gutter((*path.sources, path.problems[0].source), paper).path(path, calls) for path in paths[:_MOST_PATHS]]
    for view in dict.fromkeys([tuple(map(line_text, view)) for view in views]):
        yield from view


class Excerpt(msgspec.Struct, frozen=True):
    """A line of a file as shown, with the start and length of the mark below it; length 0 for no mark."""

    text: str
    start: int = 0
    length: int = 0


def excerpt(source: Source, indent: int, width: int, paper: Paper) -> Excerpt:
    """Return the line of a source without its indent, cut to `width` columns around its location."""
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
    """Return the number of spaces that all lines begin with."""
    lines = [source.excerpt for source in sources if source.excerpt.strip()]
    return min([len(line) - len(line.lstrip()) for line in lines], default=0)
