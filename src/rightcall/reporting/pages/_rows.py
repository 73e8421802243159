"""What a list of cases needs of each."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rightcall.reporting.reports import seconds_between
from rightcall.values.results import CaseResult, Verdict

from ._keys import case_key
from ._rules import Problem, problems_of, told_findings

_SENTENCE = 300
_CASE_ID = 400
_MOST_PROBLEMS = 20
_MOST_TOOLS = 50


class CaseRow(msgspec.Struct, frozen=True, kw_only=True):
    """One result of a case, as small as a list needs it: what is long is cut, what is many is bounded."""

    key: str
    """What it goes by in addresses."""
    case_id: str
    repeat: int
    verdict: Verdict
    score: float | None
    why: str
    """One sentence; empty where it passed."""
    problems: tuple[Problem, ...] = ()
    """Codes and tools, the gravest first."""
    tools: tuple[str, ...] = ()
    """The names of the tools called, each once."""
    calls: int = 0
    seconds: float | None = None
    """How long the agent took; `None` where it was not run, or nobody knows."""
    tags: tuple[str, ...] = ()


def row_of(result: CaseResult, tags: Sequence[str] = ()) -> CaseRow:
    """The row of a result."""
    calls = result.trajectory.calls if result.trajectory is not None else ()
    return CaseRow(
        key=case_key(result.case_id, result.repeat),
        case_id=result.case_id[:_CASE_ID],
        repeat=result.repeat,
        verdict=result.verdict,
        score=result.score,
        why=sentence_of(result)[:_SENTENCE],
        problems=problems_of(result)[:_MOST_PROBLEMS],
        tools=tuple(dict.fromkeys([call.name[:200] for call in calls[:10_000]]))[:_MOST_TOOLS],
        calls=len(calls),
        seconds=result.outcome.seconds if result.outcome is not None else _seconds(result),
        tags=tuple(tags),
    )


def sentence_of(result: CaseResult) -> str:
    """The sentence that says why a case did not pass; nothing for one that did."""
    if result.passed:
        return ""
    told = told_findings(result)
    if told:
        return told[0].finding.message
    if result.outcome is not None and result.outcome.error:
        return result.outcome.error
    return next((one.error for one in result.results if one.error), None) or "nobody says why"


def _seconds(result: CaseResult) -> float | None:
    """From the start of the first call to the end of the last one."""
    calls = result.trajectory.calls if result.trajectory is not None else ()
    begin = min((call.start_ns for call in calls if call.start_ns is not None), default=None)
    end = max((call.end_ns for call in calls if call.end_ns is not None), default=None)
    return seconds_between(begin, end)
