"""One line a case: how it fared, by each expectation that did not pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from rightcall.values.results import CODES, CaseResult, EvaluationResult, ToolCallCountEvaluatorJustification

from ._characters import cell_count, fit
from ._durations import duration_text, extent, seconds_text
from ._marks import MARKS, STYLES
from ._paper import Line, Paper
from ._paths import paths_of

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


def headline(result: CaseResult, paper: Paper) -> Line:
    """`✗ laptop_search  order 2/4  args 2/3  missing 1  extra 1   4 calls  2.2s`, in the width of the paper."""
    width = min(paper.width, _WIDEST)
    repeat = f" (repeat {result.repeat + 1})" if result.repeat else ""
    name = fit(paper.text(result.case_id), max(_NAME, width // 3), plain=paper.plain) + repeat
    mark = f"  {paper.glyph(MARKS[result.verdict])} "
    size = _size(result)
    room = width - cell_count(mark) - max(_NAME, cell_count(name)) - cell_count(size) - 4
    told = _fitting([paper.text(each) for each in _told(result)], max(10, room), paper)
    pad = " " * max(0, _NAME - cell_count(name))
    gap = " " * max(2, room - cell_count(told) + 2)
    return (
        (mark, STYLES.get(result.verdict, "red")),
        (name, "bold"),
        f"{pad}  {told}",
        (f"{gap}{size}".rstrip(), "dim"),
    )


def _fitting(parts: list[str], width: int, paper: Paper) -> str:
    """As many of the parts as there is room for."""
    told = "  ".join(parts)
    while len(parts) > 1 and cell_count(told) > width:
        parts = parts[:-1]
        told = "  ".join([*parts, "..." if paper.plain else "…"])
    return fit(told, width, plain=paper.plain)


def _told(result: CaseResult) -> Iterator[str]:
    if result.outcome is not None and result.outcome.cause:
        yield _CAUSES.get(result.outcome.cause, "error")
    elif not result.results:
        yield from [CODES[each.finding.code].name for each in result.findings[:1] if each.finding.code in CODES]
    for one in result.results:
        if not one.passed:
            yield f"{one.evaluator} {fared(result, one)}"
    counts: Counter[str] = Counter()
    for one in result.results:
        mine = Counter([each.finding.code for each in result.findings if each.expectation == one.evaluator])
        counts |= mine
    for code, word in _COUNTED.items():
        if counts[code]:
            yield f"{word} {counts[code]}"


def fared(result: CaseResult, one: EvaluationResult) -> str:
    """How much of an expectation holds: so many of so many where they can be counted, else its score."""
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


def _size(result: CaseResult) -> str:
    calls = result.trajectory.calls if result.trajectory is not None else ()
    parts = [f"{len(calls):,} call{'s' * (len(calls) != 1)}"] if result.trajectory is not None else []
    begin, end = extent(calls)
    if result.outcome is not None:
        parts.append(seconds_text(result.outcome.seconds))
    elif begin is not None and end is not None and end > begin:
        parts.append(duration_text(end - begin))
    return "  ".join(parts)
