"""The diagnosis: the lines of the user's own file with the verdict beside each, and what was called."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.values.results import (
    CODES,
    SIGNS,
    CaseResult,
    EvaluationResult,
    PlacedFinding,
    RulesJustification,
    Source,
    Step,
    call_text,
    is_unmeasured,
)
from rightcall.values.trajectory import ToolCall

from ._blocks import CaseBlock, case_blocks
from ._concise import ending, headline, matrices, matrix_lines, repeat_lines, repeats_headline
from ._expected_paths import ExpectedPath, difference_texts, order_text, paths_of
from ._paper import NARROWEST, Line, Paper, beginning, cell_count, fit, line_length, wrap
from ._report import Report

_LINES_OF_A_TRACEBACK = 8
_LINES_PRINTED = 4
_LINES_OF_A_MESSAGE = 6
_MOST_OF_A_CASE = 12
_LABELS = {
    "RC101": "expected here, nothing matched",
    "RC103": "called at another place",
    "RC104": "called with other arguments",
    "RC106": "returned something else",
}
_INDENT = "  "
_WIDEST = 60
_LONGEST_PLACE = 300
"""A place is not cut to the width, so that it can be clicked on; but it may come from outside."""
_WORD = lazy_pattern(r"\"[^\"]*\"|'[^']*'|[^\s,:{}\[\]\"']+")
_AFTER = 12
_CUT = "..."
_WIDEST_MARK = 40
_MOST_QUARANTINED = 20


def full_lines(report: Report, paper: Paper, max_detail: int = 10) -> Iterator[Line]:
    """Yield all results: a line for each case that did not pass, a diagnosis for the first `max_detail`, and totals."""
    explained: list[CaseBlock] = []
    listed, problems, made_up = 0, 0, 0
    for block in case_blocks(report):
        is_quarantined = block.quarantine is not None
        if block.result.passed and not is_quarantined:
            continue
        listed += 1
        made_up += block.is_made_up
        yield repeats_headline(block, paper) if block.shares else headline(block, paper)
        if not block.result.passed:
            problems += 1
            if len(explained) < max_detail:
                explained.append(block)
    # Results that passed are not always at hand, but they are counted: all that passed, without those listed above.
    steady = report.totals.passed - made_up
    if steady:
        reported = f"{steady:,} more" if listed else f"{steady:,} passed"
        yield ((f"  {paper.sign('passed')} ", "green"), reported)
    for block in explained:
        yield from diagnosis(block.result, paper, report.run_id, is_note=block.is_note)
    if (hidden := problems - len(explained)) > 0:
        yield ()
        yield ((f"{hidden:,} more without details here; --max-detail {problems} shows all", "dim"),)
    yield from repeat_lines(report, paper)
    yield ()
    for names, found in matrices(report.overall):
        yield ((f"{paper.text(names)}:", "bold"),)
        yield from ((f"  {paper.text(line)}",) for line in matrix_lines(found, plain=paper.plain))
        yield ()
    quarantine = [f"note: {case_id} is {each}" for case_id, each in report.quarantined.items()][:_MOST_QUARANTINED]
    for line in (*quarantine, *ending(report)):
        style = "yellow" if line.startswith("note") else ""
        yield from (((piece, style),) for piece in wrap(paper.text(line), max(NARROWEST, paper.width)))


def full_report(report: Report, paper: Paper, max_detail: int = 10) -> Iterator[str]:
    """Yield the same as plain text, piece by piece."""
    for line in full_lines(report, paper, max_detail):
        yield "".join([part if isinstance(part, str) else part[0] for part in line]).rstrip() + "\n"


def diagnosis(result: CaseResult, paper: Paper, run_id: str = "", *, is_note: bool = False) -> Iterator[Line]:
    """Yield the problems of one case, each below an empty line. Nothing if it passed.

    With the id of the run, the last line is the command that shows all calls. Problems that other repeats made up for
    are notes, not errors.
    """
    if result.passed:
        return
    # Several expectations may say the same of the same lines: once is enough, and the headline names them all.
    blocks = list(dict.fromkeys([tuple(block) for block in _blocks(result, paper)]))
    for block in blocks[:_MOST_OF_A_CASE]:
        yield ()
        yield from _as_note(block) if is_note else block
    if (left := len(blocks) - _MOST_OF_A_CASE) > 0:
        yield ()
        yield ((f"{left:,} more problems of this case", "dim"),)
    if run_id and result.trajectory is not None and result.trajectory.calls:
        command = f"rightcall show {run_id} --case {shlex.quote(result.case_id)}"
        yield from Gutter((result.source,), paper).remark("help", f"`{command}` for the whole path")


def _as_note(block: tuple[Line, ...]) -> Iterator[Line]:
    """Yield a block whose first line says `note` and not `error`."""
    first, *rest = block[0]
    word = first if isinstance(first, str) else first[0]
    yield ((word.replace("error", "note", 1), "bold yellow"), *rest)
    yield from block[1:]


def case_name(result: CaseResult) -> str:
    """Return the name of a result."""
    return result.case_id if not result.repeat else f"{result.case_id} (repeat {result.repeat + 1})"


def _blocks(result: CaseResult, paper: Paper) -> Iterator[Iterator[Line]]:
    reported: set[int] = set()
    for one in result.results:
        if one.passed:
            continue
        for path in paths_of(result, one):
            if path.problems:
                reported.update(map(id, path.problems))
                yield _path_block(result, path, paper)
        mine = [placed for placed in result.findings if placed.expectation == one.evaluator]
        rest = [placed for placed in _without_preamble(mine) if id(placed) not in reported]
        reported.update(map(id, mine))
        for placed in rest:
            yield _block(result, placed, one, paper)
        yield from _idle_rules(one, paper)
    for placed in result.findings:
        if id(placed) not in reported:
            yield _block(result, placed, None, paper)
    if not result.findings:
        yield _unexplained(result, paper)


def _without_preamble(placed: list[PlacedFinding]) -> list[PlacedFinding]:
    """Return findings without the one that only says "not measured", if another says what was not."""
    reported = [each for each in placed if not each.finding.message.startswith("not measured: ")]
    return reported or placed


def _path_block(result: CaseResult, path: ExpectedPath, paper: Paper) -> Iterator[Line]:
    head = path.problems[0]
    gutter = Gutter((*path.sources, head.source), paper)
    calls = result.trajectory.calls if result.trajectory is not None else ()
    yield from _title(head, paper)
    yield gutter.arrow(head.source, case_name(result))
    yield from gutter.path(path, calls)
    for placed in path.problems:
        if placed.finding.help:
            yield from gutter.remark("help", placed.finding.help)
    yield from _recording(result, head, gutter)


def _block(result: CaseResult, placed: PlacedFinding, one: EvaluationResult | None, paper: Paper) -> Iterator[Line]:
    gutter = Gutter((placed.source,), paper)
    yield from _title(placed, paper)
    yield gutter.arrow(placed.source, case_name(result))
    outcome = result.outcome if one is None else None
    traceback = outcome.traceback if outcome is not None else one.traceback if one is not None else None
    if traceback:
        yield from _tail(traceback, _LINES_OF_A_TRACEBACK, gutter, paper)
    else:
        yield from gutter.single(placed.source, placed.finding.code)
    if outcome is not None and outcome.error is not None and outcome.stdout.strip():
        yield gutter.bar((" printed:", "dim"))
        yield from _tail(outcome.stdout, _LINES_PRINTED, gutter, paper)
    if placed.finding.why:
        yield from gutter.remark("why", placed.finding.why)
    if placed.finding.help:
        yield from gutter.remark("help", placed.finding.help)
    yield from _recording(result, placed, gutter)


def _idle_rules(one: EvaluationResult, paper: Paper) -> Iterator[Iterator[Line]]:
    """Yield a note for each rule that holds only because it never applied."""
    checks = one.details.rules if isinstance(one.details, RulesJustification) else ()
    for check in checks:
        if check.status == "never_applied":
            yield _note("RC118", f"{check.rule}: {check.note}", paper)


def _note(code: str, message: str, paper: Paper) -> Iterator[Line]:
    label = f"note[{code} {CODES[code].name}]"
    first, *others = wrap(f"{label}: {paper.text(message)}", paper.width, 2)
    yield ((first[: len(label)], "bold yellow"), first[len(label) :])
    yield from (("  " + piece,) for piece in others)


def _unexplained(result: CaseResult, paper: Paper) -> Iterator[Line]:
    gutter = Gutter((result.source,), paper)
    yield (("error", "bold red"), (f": {result.verdict.replace('_', ' ')}, score {result.score}", "bold"))
    yield gutter.arrow(result.source, case_name(result))
    yield from gutter.single(result.source, "")


def _title(placed: PlacedFinding, paper: Paper) -> Iterator[Line]:
    finding = placed.finding
    word, style = ("note", "bold yellow") if is_unmeasured(finding.code) else ("error", "bold red")
    name = CODES[finding.code].name if finding.code in CODES else ""
    label = paper.text(f"{word}[{finding.code}{f' {name}' if name else ''}]")
    message = fit(paper.text(finding.message[:10_000]), _LINES_OF_A_MESSAGE * paper.width, plain=paper.plain)
    first, *others = wrap(f"{label}: {message}", paper.width, 2)
    yield ((first[: len(label)], style), (first[len(label) :], "bold"))
    yield from ((("  " + piece, "bold"),) for piece in others)


def _recording(result: CaseResult, placed: PlacedFinding, gutter: Gutter) -> Iterator[Line]:
    """Yield the reader's advice on how to record what was not measured."""
    if placed.finding.code == "RC301":
        for warning in result.notes[:3]:
            yield from gutter.remark("note", warning)


def _tail(text: str, lines: int, gutter: Gutter, paper: Paper) -> Iterator[Line]:
    """Yield the last lines of a traceback or of printed text."""
    for line in text[-20_000:].rstrip().splitlines()[-lines:]:
        yield gutter.bar(" ", *paper.pieces(line.replace("\t", "    "), max(NARROWEST, paper.width - 6)))


class Gutter:
    """Writes lines of a file with a margin of line numbers and, on the right, a column of verdicts."""

    def __init__(self, sources: Sequence[Source], paper: Paper) -> None:
        self._paper = paper
        self._margin = max([len(str(source.line)) for source in sources], default=1)
        self._indent = common_indent(tuple(sources))
        self._room = max(20, paper.width - self._margin - len(" | ") - len(_INDENT))

    def bar(self, *parts: str | tuple[str, str]) -> Line:
        """Return a line above or below lines of the file."""
        return ((f"{'':>{self._margin}} |", "cyan"), *parts)

    def arrow(self, source: Source, case: str) -> Line:
        """Return the place and the case that a diagnosis is about."""
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

    def single(self, source: Source, code: str) -> Iterator[Line]:
        """Yield one line of the file, with a mark below the part in question."""
        yield self.bar()
        if source.excerpt.strip():
            yield self._numbered(source, excerpt(source, self._indent, self._room, self._paper).text)
            yield from self._caret(source, code, self._room)

    def path(self, path: ExpectedPath, calls: Sequence[ToolCall]) -> Iterator[Line]:
        """Yield the lines that list expected calls, each with its verdict, and a mark below the worst problem."""
        yield self.bar()
        steps, shown = path.shown_steps()
        column = self._column(path, [steps[place] for place in shown], calls)
        below: Source | None = None
        before = -1
        for place in shown:
            if place > before + 1:
                yield ((f"{'':>{self._margin}} ", ""), ("..." if self._paper.plain else "⋮", "dim"))
            before = place
            yield from self._step(steps[place], path, calls, column, below)
            below = path.source(steps[place]) or below
        left = len(steps) - before - 1 + path.alignment.left_out
        if left:
            yield self.bar((f" {'...' if self._paper.plain else '…'} {left:,} more", "dim"))

    def _step(
        self, step: Step, path: ExpectedPath, calls: Sequence[ToolCall], column: int, below: Source | None
    ) -> Iterator[Line]:
        """Yield a step: beside its line if that line has no other step, else below it."""
        source, head = path.source(step), path.problems[0]
        first, *others = self._verdict(step, path, calls, self._room - column - 2)
        rows = [self.bar(" ", _INDENT, " " * (column + 2), *text) for text in others]
        if source is None or not path.is_alone(source):
            rows.insert(0, self.bar(" ", _INDENT, " " * (column + 2), *first))
            if source is not None and (below is None or below.line != source.line):
                marked = head.source if head.source.line == source.line else source
                yield self._numbered(marked, excerpt(marked, self._indent, self._room, self._paper).text)
                if marked is head.source:
                    yield from self._caret(marked, head.finding.code, self._room)
            yield from rows
            return
        text = excerpt(source, self._indent, column, self._paper).text
        yield (*self._numbered(source, text), " " * (column - cell_count(text) + 2), *first)
        yield from rows
        if source == head.source:
            yield from self._caret(source, head.finding.code, column)

    def _verdict(self, step: Step, path: ExpectedPath, calls: Sequence[ToolCall], room: int) -> list[Line]:
        """Return the sign, the number of the call, and the remarks about it, on one line or several."""
        paper, kind = self._paper, path.kind(step)
        number = f" {step.actual + 1}" if step.actual is not None else ""
        mark = f"{paper.sign(kind)}{number}"
        room = max(12, room - len(mark) - 2)
        texts = [fit(paper.text(text), room, plain=paper.plain) for text in self._said(step, path, calls, room)]
        is_allowed = kind == "extra" and not path.is_reported(step)
        head = (mark, "dim" if is_allowed else SIGNS[kind].style)
        first: Line = (head, f"  {texts[0]}") if texts else (head,)
        return [first, *[(" " * (len(mark) + 2), text) for text in texts[1:]]]

    def _said(self, step: Step, path: ExpectedPath, calls: Sequence[ToolCall], room: int) -> list[str]:
        kind, source = path.kind(step), path.source(step)
        if kind == "extra":
            call = calls[step.actual] if step.actual is not None and step.actual < len(calls) else None
            return [call_text(step.name, call.args if call else None, max(room * 2, 40), 40)]
        texts: list[str] = []
        if kind == "mismatch":
            texts = list(difference_texts(step.differences, room, self._paper))
        elif kind == "not_measured":
            texts = ["not recorded"]
        if kind == "moved" or (step.kind == "mismatch" and step.out_of_place and path.heeds_order):
            texts.append(order_text(step, path.alignment.steps))
        is_named = source is not None and path.is_alone(source) and step.name in source.excerpt
        if is_named:
            return texts
        together = "  ".join([step.name, *texts[:1]])
        return [together, *texts[1:]] if cell_count(together) <= room else [step.name, *texts]

    def _column(self, path: ExpectedPath, steps: Sequence[Step], calls: Sequence[ToolCall]) -> int:
        """Return the width of the column of lines: their own width, as long as the verdicts fit beside them."""
        own = [source for source in map(path.source, steps) if source is not None and path.is_alone(source)]
        widest = max([cell_count(self._paper.text(each.excerpt[self._indent :].rstrip())) for each in own], default=0)
        verdicts = [self._verdict(step, path, calls, _WIDEST) for step in steps if step.kind != "extra"]
        wanted = max([line_length(line) for lines in verdicts for line in lines], default=0)
        return min(widest, max(self._room * 2 // 5, self._room - 2 - wanted))

    def _numbered(self, source: Source, text: str) -> Line:
        return ((f"{source.line:>{self._margin}} | ", "cyan"), _INDENT, text)

    def _caret(self, source: Source | None, code: str, room: int) -> Iterator[Line]:
        if source is None:
            return
        shown = excerpt(source, self._indent, room, self._paper)
        if shown.length:
            label = _LABELS.get(code, "")
            line = self.bar(" ", _INDENT, " " * shown.start, ("^" * shown.length, "red"))
            left = self._room - shown.start - shown.length - 1
            yield (*line, (f" {label}", "red")) if label and len(label) <= left else line


class Excerpt(msgspec.Struct, frozen=True):
    """A line of a file as it is shown, and where the mark below it begins and how long it is; 0 for no mark."""

    text: str
    start: int = 0
    length: int = 0


def excerpt(source: Source, indent: int, width: int, paper: Paper) -> Excerpt:
    """Return the line of a source without its indent, in `width` columns around its place."""
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
