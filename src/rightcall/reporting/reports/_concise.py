"""One line for each case, one for each overall result, and a last line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rightcall.values.results import (
    CODES,
    OTHER,
    SIGNS,
    CaseResult,
    Classification,
    EvaluationResult,
    OverallResult,
    ToolCallCountEvaluatorJustification,
)

from ._durations import duration_text, extent, seconds_text
from ._expected_paths import paths_of
from ._paper import Line, Paper, cell_count, fit, printable
from ._report import Report

_NAME = 18
_WIDEST = 100
_CAUSES = {
    "raised": "raised",
    "timed_out": "timed out",
    "died": "died",
    "memory": "out of memory",
    "output": "output not kept",
    "mock": "no mock",
    "read": "read answers",
}
_COUNTED = {"RC101": "missing", "RC102": "extra"}
_WIDEST_CELL = 16
_MOST_CLASSES = 12


def concise_lines(result: CaseResult) -> Iterator[str]:
    """Yield the problems of a case: place, code, case and sentence. Nothing if it passed."""
    if result.passed:
        return
    case = result.case_id if not result.repeat else f"{result.case_id} (repeat {result.repeat + 1})"
    for placed in result.findings:
        finding = placed.finding
        advice = f" ({finding.help})" if finding.help else ""
        yield f"{placed.source}: {finding.code} {case}: {finding.message}{advice}"
    if not result.findings:
        yield f"{result.source}: {case}: {SIGNS[result.verdict].word}, score {result.score}"


def concise_report(report: Report) -> Iterator[str]:
    """Yield the problems of all cases and the totals, line by line."""
    for result in report.results():
        yield from (f"{printable(line, one_line=True)}\n" for line in concise_lines(result))
    yield from (f"{printable(line, one_line=True)}\n" for line in ending(report))


def ending(report: Report) -> Iterator[str]:
    """Yield notes, warnings and overall results, and last the totals."""
    yield from report.notes
    for warning, cases in report.warnings.items():
        yield f"note: {warning}" + (f" ({cases:,} cases)" if cases > 1 else "")
    for overall in report.overall:
        yield overall_line(overall)
    named = f"  run {report.run_id}" if report.run_id else ""
    yield f"{report.totals} in {report.seconds:.2f}s{named}"


def headline(result: CaseResult, paper: Paper) -> Line:
    """Return one line, such as `✗ laptop_search  order 2/4  args 2/3  missing 1  extra 1   4 calls  2.2s`."""
    width = min(paper.width, _WIDEST)
    repeat = f" (repeat {result.repeat + 1})" if result.repeat else ""
    name = fit(paper.text(result.case_id), max(_NAME, width // 3), plain=paper.plain) + repeat
    mark = f"  {paper.sign(result.verdict)} "
    size = _size(result)
    room = width - cell_count(mark) - max(_NAME, cell_count(name)) - cell_count(size) - 4
    text = _fitting([paper.text(each) for each in _shown_parts(result)], max(10, room), paper)
    pad = " " * max(0, _NAME - cell_count(name))
    gap = " " * max(2, room - cell_count(text) + 2)
    return (
        (mark, SIGNS[result.verdict].style),
        (name, "bold"),
        f"{pad}  {text}",
        (f"{gap}{size}".rstrip(), "dim"),
    )


def held_share(result: CaseResult, one: EvaluationResult) -> str:
    """Return how much of an expectation holds: `2/4` if it can be counted, else its score."""
    if one.verdict == "not_measured":
        return "?"
    if one.verdict == "error":
        return "error"
    if isinstance(one.details, ToolCallCountEvaluatorJustification):
        checks = one.details.checks
        return f"{sum(check.holds for check in checks)}/{len(checks)}"
    matched = [path.matched for path in paths_of(result, one)]
    if matched and None not in matched:
        pairs = [pair for pair in matched if pair is not None]
        right, expected = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
        if expected:
            return f"{right}/{expected}"
    return f"{one.score:.2f}" if one.score is not None else "-"


def overall_line(result: OverallResult) -> str:
    """Return one line, such as `overall intent: failed: accuracy 0.75 over 4 cases, and 0.9 is needed`."""
    place = "" if result.verdict == "passed" else f"{result.source}: "
    return f"{place}overall {result}"


def matrices(results: Sequence[OverallResult]) -> Iterator[tuple[str, Classification]]:
    """Yield each confusion matrix once, with the names of its evaluators; those with very many classes are left out."""
    found: dict[Classification, list[str]] = {}
    for each in results:
        if each.classification is not None and len(each.classification.classes) <= _MOST_CLASSES:
            found.setdefault(each.classification, []).append(each.evaluator)
    for classification, names in found.items():
        yield ", ".join(names), classification


def matrix_lines(found: Classification, *, plain: bool) -> Iterator[str]:
    """Yield the confusion matrix as lines, a row for each expected class."""
    rows = matrix_table(found)
    cells = [[fit(cell, _WIDEST_CELL, plain=plain) for cell in row] for row in rows]
    widths = [max(cell_count(row[index]) for row in cells) for index in range(len(cells[0]))]
    for row in cells:
        padded = [" " * (width - cell_count(cell)) + cell for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join([row[0] + " " * (widths[0] - cell_count(row[0])), *padded])


def matrix_table(found: Classification) -> list[list[str]]:
    """Return the confusion matrix with its figures, as a table of texts with headings."""
    has_others = any(row[-1] for row in found.matrix)
    classes = [*found.classes, OTHER] if has_others else [*found.classes]
    table = [["expected", *classes, "precision", "recall", "f1"]]
    for row, figures in zip(found.matrix, found.figures, strict=True):
        counts = [f"{count:,}" for count in row[: len(classes)]]
        shares = [f"{share:.2f}" for share in (figures.precision, figures.recall, figures.f1)]
        table.append([figures.name, *counts, *shares])
    return table


def _fitting(parts: list[str], width: int, paper: Paper) -> str:
    """Join as many parts as fit."""
    text = "  ".join(parts)
    while len(parts) > 1 and cell_count(text) > width:
        parts = parts[:-1]
        text = "  ".join([*parts, "..." if paper.plain else "…"])
    return fit(text, width, plain=paper.plain)


def _shown_parts(result: CaseResult) -> Iterator[str]:
    if result.outcome is not None and result.outcome.cause:
        yield _CAUSES.get(result.outcome.cause, "error")
    elif not result.results:
        yield from [CODES[each.finding.code].name for each in result.findings[:1] if each.finding.code in CODES]
    for one in result.results:
        if not one.passed:
            yield f"{one.evaluator} {held_share(result, one)}"
    counts: Counter[str] = Counter()
    for one in result.results:
        mine = Counter([each.finding.code for each in result.findings if each.expectation == one.evaluator])
        counts |= mine
    for code, word in _COUNTED.items():
        if counts[code]:
            yield f"{word} {counts[code]}"


def _size(result: CaseResult) -> str:
    calls = result.trajectory.calls if result.trajectory is not None else ()
    parts = [f"{len(calls):,} call{'s' * (len(calls) != 1)}"] if result.trajectory is not None else []
    begin, end = extent(calls)
    if result.outcome is not None:
        parts.append(seconds_text(result.outcome.seconds))
    elif begin is not None and end is not None and end > begin:
        parts.append(duration_text(end - begin))
    return "  ".join(parts)
