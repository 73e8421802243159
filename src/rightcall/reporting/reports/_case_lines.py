"""Cases as lines for people: a headline for each, or details of each evaluator; and confusion matrices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from rightcall.values.results import (
    OTHER,
    SIGNS,
    CaseResult,
    Classification,
    Difference,
    EvaluationResult,
    OverallResult,
    RulesJustification,
    ToolCallCountEvaluatorJustification,
    value_text,
)

from ._paper import NARROWEST, Line, Paper, cell_count, duration_text, extent, fit, seconds_text
from ._report import CaseBlock, Report

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
    "model": "model not recorded",
}
_COUNTED = {"RC101": "missing", "RC102": "extra"}
_WIDEST_CELL = 16
_MOST_CLASSES = 12
_MOST = 100
_LINES = 3


def repeats_headline(block: CaseBlock, paper: Paper) -> Line:
    """Return one line for a repeated case: `✗ laptop  ✗✗✓✓✓  3/5 passed, 5 needed`."""
    from ._steadiness_lines import marks_text

    name = fit(paper.text(block.name), max(_NAME, min(paper.width, _WIDEST) // 3), plain=paper.plain)
    sign, style = ("~", "yellow") if block.is_note else (paper.sign(block.verdict), SIGNS[block.verdict].style)
    if block.quarantine is not None:
        sign, style = "q", "dim"
    pad = " " * max(0, _NAME - cell_count(name))
    marks = marks_text(block.repeats.verdicts if block.repeats is not None else (), paper)
    return ((f"  {sign} ", style), (name, "bold"), f"{pad}  {marks}  {block.shares}")


def headline(block: CaseBlock, paper: Paper) -> Line:
    """Return one line, such as `✗ laptop_search  order 2/4  args 2/3  missing 1  extra 1   4 calls  2.2s`."""
    result, is_quarantined = block.result, block.quarantine is not None
    width = min(paper.width, _WIDEST)
    name = fit(paper.text(result.case_id), max(_NAME, width // 3), plain=paper.plain) + result.repeat_note
    mark = "  q " if is_quarantined else f"  {paper.sign(result.verdict)} "
    size = _size(result)
    room = width - cell_count(mark) - max(_NAME, cell_count(name)) - cell_count(size) - 4
    text = _fitting([paper.text(each) for each in _shown_parts(result)], max(10, room), paper)
    pad = " " * max(0, _NAME - cell_count(name))
    gap = " " * max(2, room - cell_count(text) + 2)
    style = "dim" if is_quarantined else SIGNS[result.verdict].style
    return ((mark, style), (name, "bold"), f"{pad}  {text}", (f"{gap}{size}".rstrip(), "dim"))


def held_share(result: CaseResult, one: EvaluationResult) -> str:
    """Return how much of an expectation matched: `2/4` if it can be counted, else its score."""
    if one.verdict == "not_measured":
        return "?"
    if one.verdict == "error":
        return "error"
    if isinstance(one.details, ToolCallCountEvaluatorJustification):
        checks = one.details.checks
        return f"{sum(check.holds for check in checks)}/{len(checks)}"
    if isinstance(one.details, RulesJustification):
        return _share_of_rules(one.details)
    from ._expected_paths import paths_of  # few results have steps

    matched = [path.matched for path in paths_of(result, one)]
    if matched and None not in matched:
        pairs = [pair for pair in matched if pair is not None]
        right, expected = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
        if expected:
            return f"{right}/{expected}"
    return f"{one.score:.2f}" if one.score is not None else "-"


def _share_of_rules(found: RulesJustification) -> str:
    holding = [check.status in ("holds", "never_applied") for check in found.rules]
    idle = f" ({found.vacuous} never applied)" if found.vacuous else ""
    return f"{sum(holding)}/{len(holding)}{idle}"


def matrices(results: Sequence[OverallResult]) -> Iterator[tuple[str, Classification]]:
    """Yield each confusion matrix once, with the names of its evaluators, unless it has very many classes."""
    found: dict[Classification, list[str]] = {}
    for each in results:
        if each.classification is not None and len(each.classification.classes) <= _MOST_CLASSES:
            found.setdefault(each.classification, []).append(each.evaluator)
    for classification, names in found.items():
        yield ", ".join(names), classification


def matrix_lines(found: Classification, *, plain: bool) -> Iterator[str]:
    """Yield the confusion matrix as lines, one for each expected class."""
    rows = matrix_table(found)
    cells = [[fit(cell, _WIDEST_CELL, plain=plain) for cell in row] for row in rows]
    widths = [max(cell_count(row[index]) for row in cells) for index in range(len(cells[0]))]
    for row in cells:
        padded = [" " * (width - cell_count(cell)) + cell for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join([row[0] + " " * (widths[0] - cell_count(row[0])), *padded])


def matrix_table(found: Classification) -> list[list[str]]:
    """Return the confusion matrix with precision, recall and F1, as a table of strings with headings."""
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
        from rightcall.values.results import CODES

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


def detail_lines(report: Report, paper: Paper) -> Iterator[Line]:
    """Yield all cases, also those that passed: each evaluator with its verdict, score and details.

    Long lists are cut after a hundred items, long values in the middle.
    """
    for result in report.results():
        yield _head(result, paper)
        for one in result.results:
            yield from _evaluation(one, paper)
        if not result.results and result.outcome is not None and result.outcome.error is not None:
            yield from _indented(result.outcome.error, paper, 6)
        yield ()


def _head(result: CaseResult, paper: Paper) -> Line:
    mark = (f"  {paper.sign(result.verdict)} ", SIGNS[result.verdict].style)
    return (
        mark,
        (_name(result.case_id, paper) + result.repeat_note, "bold"),
        f"  {_score(result.verdict, result.score)}",
    )


def _name(raw: str, paper: Paper) -> str:
    """Return the name of a case or evaluator on one line. Of a long one, only the part that is shown is processed."""
    text = raw if len(raw) <= 4 * paper.width else raw[: 2 * paper.width] + raw[-2 * paper.width :]
    return fit(paper.text(text), max(NARROWEST, paper.width // 2), plain=paper.plain)


def _score(verdict: str, score: float | None) -> str:
    word = verdict.replace("_", " ")
    return f"{word}  score {score:.3f}" if score is not None else word


def _evaluation(one: EvaluationResult, paper: Paper) -> Iterator[Line]:
    needed = f"  needs {one.threshold:.3f}" if one.threshold != 1.0 else ""
    yield (f"      {_name(one.evaluator, paper)}  {_score(one.verdict, one.score)}{needed}",)
    if one.error is not None:
        yield from _indented(one.error, paper, 8)
    details = msgspec.to_builtins(one.details)
    for key, value in (details or {}).items():
        if key != "kind":
            yield from _detail(key, value, paper)


def _detail(key: str, value: Any, paper: Paper) -> Iterator[Line]:
    """Yield one item of the details: an alignment by steps, a list by items, anything else as JSON."""
    if isinstance(value, dict) and "steps" in value:
        for step in value["steps"][:_MOST]:
            yield from _indented(_step(step, paper), paper, 8)
        left_out = value.get("left_out", 0) + max(0, len(value["steps"]) - _MOST)
        if left_out:
            yield from _indented(f"… and {left_out:,} more", paper, 8)
    elif isinstance(value, (list, tuple)) and value and isinstance(value[0], dict):
        yield from _indented(f"{key}:", paper, 8)
        for item in value[:_MOST]:
            nested = item.pop("alignment", None)
            yield from _indented(value_text(item, paper.value_width * _LINES), paper, 10)
            if nested is not None:
                yield from _detail("alignment", nested, paper)
        if len(value) > _MOST:
            yield from _indented(f"… and {len(value) - _MOST:,} more", paper, 10)
    else:
        yield from _indented(f"{key}: {value_text(value, paper.value_width * _LINES)}", paper, 8)


def _step(step: dict[str, Any], paper: Paper) -> str:
    """Return one step of an alignment: its sign, the expected call, the actual call, and the differences."""
    sign = paper.sign(step["kind"])
    sides = [(side, step.get(side)) for side in ("expected", "actual")]
    places = ", ".join([f"{side} {place + 1}" for side, place in sides if place is not None])
    differences = "; ".join([str(Difference(**each)) for each in step.get("differences", ())])
    return f"{sign} {step['name']} ({places})" + (f": {differences}" if differences else "")


def _indented(text: str, paper: Paper, indent: int) -> Iterator[Line]:
    """Yield a text as at most three lines with this indent."""
    first, *others = paper.pieces(text, max(NARROWEST, paper.width - indent), _LINES, hanging=2)
    yield (" " * indent + first,)
    for piece in others:
        yield (" " * (indent + 2) + piece,)
