"""Every evaluator of every case, with its score and details."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rightcall.values.results import SIGNS, CaseResult, Difference, EvaluationResult, value_text

from ._paper import NARROWEST, Line, Paper, fit
from ._report import Report

_MOST = 100
_LINES = 3


def detail_lines(report: Report, paper: Paper) -> Iterator[Line]:
    """Yield all cases, also those that passed: each evaluator with its verdict, its score and its details.

    Long lists are cut after a hundred items, long values in the middle.
    """
    for result in report.results():
        yield _head(result, paper)
        for one in result.results:
            yield from _evaluation(one, paper)
        if not result.results and result.outcome is not None and result.outcome.error is not None:
            yield from _shown_parts(result.outcome.error, paper, 6)
        yield ()


def _head(result: CaseResult, paper: Paper) -> Line:
    repeat = f" (repeat {result.repeat + 1})" if result.repeat else ""
    mark = (f"  {paper.sign(result.verdict)} ", SIGNS[result.verdict].style)
    return (mark, (_name(result.case_id, paper) + repeat, "bold"), f"  {_score(result.verdict, result.score)}")


def _name(raw: str, paper: Paper) -> str:
    """Return the name of a case or an evaluator on one line. Only the part that is shown is processed."""
    text = raw if len(raw) <= 4 * paper.width else raw[: 2 * paper.width] + raw[-2 * paper.width :]
    return fit(paper.text(text), max(NARROWEST, paper.width // 2), plain=paper.plain)


def _score(verdict: str, score: float | None) -> str:
    word = verdict.replace("_", " ")
    return f"{word}  score {score:.3f}" if score is not None else word


def _evaluation(one: EvaluationResult, paper: Paper) -> Iterator[Line]:
    needed = f"  needs {one.threshold:.3f}" if one.threshold != 1.0 else ""
    yield (f"      {_name(one.evaluator, paper)}  {_score(one.verdict, one.score)}{needed}",)
    if one.error is not None:
        yield from _shown_parts(one.error, paper, 8)
    details = msgspec.to_builtins(one.details)
    for key, value in (details or {}).items():
        if key != "kind":
            yield from _detail(key, value, paper)


def _detail(key: str, value: Any, paper: Paper) -> Iterator[Line]:
    """Yield one part of the details: an alignment step by step, a list item by item, anything else as JSON."""
    if isinstance(value, dict) and "steps" in value:
        for step in value["steps"][:_MOST]:
            yield from _shown_parts(_step(step, paper), paper, 8)
        left_out = value.get("left_out", 0) + max(0, len(value["steps"]) - _MOST)
        if left_out:
            yield from _shown_parts(f"… and {left_out:,} more", paper, 8)
    elif isinstance(value, (list, tuple)) and value and isinstance(value[0], dict):
        yield from _shown_parts(f"{key}:", paper, 8)
        for item in value[:_MOST]:
            nested = item.pop("alignment", None)
            yield from _shown_parts(value_text(item, paper.value_width * _LINES), paper, 10)
            if nested is not None:
                yield from _detail("alignment", nested, paper)
        if len(value) > _MOST:
            yield from _shown_parts(f"… and {len(value) - _MOST:,} more", paper, 10)
    else:
        yield from _shown_parts(f"{key}: {value_text(value, paper.value_width * _LINES)}", paper, 8)


def _step(step: dict[str, Any], paper: Paper) -> str:
    """Return one step of an alignment: its sign, the expected call, the actual call, and the differences."""
    sign = paper.sign(step["kind"])
    sides = [(side, step.get(side)) for side in ("expected", "actual")]
    places = ", ".join([f"{side} {place + 1}" for side, place in sides if place is not None])
    differences = "; ".join([str(Difference(**each)) for each in step.get("differences", ())])
    return f"{sign} {step['name']} ({places})" + (f": {differences}" if differences else "")


def _shown_parts(text: str, paper: Paper, indent: int) -> Iterator[Line]:
    first, *others = paper.pieces(text, max(NARROWEST, paper.width - indent), _LINES, hanging=2)
    yield (" " * indent + first,)
    for piece in others:
        yield (" " * (indent + 2) + piece,)
