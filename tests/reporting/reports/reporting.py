"""Results and reports to write, and texts that would do harm if they were not escaped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.hostile import corpus
from tests.hostile.corpus import harmful, named, obeyed

from rightcall import CaseResult, EvaluationResult, ToolCall, Trajectory
from rightcall.cases.evalsets import load_expectation
from rightcall.cases.verdicts import judge
from rightcall.reporting.reports import Report
from rightcall.values.results import Aggregates, Finding, Outcome, PlacedFinding, Source, Tally, Verdict, measures_of

__all__ = [
    "HOSTILE",
    "evaluation",
    "harmful",
    "hostile_report",
    "in_groups",
    "named",
    "obeyed",
    "report",
    "result",
    "verdicts",
]

HOSTILE = [*corpus.SHORT, corpus.LONG[0]]


def evaluation(evaluator: str, verdict: Verdict, score: float | None) -> EvaluationResult:
    return EvaluationResult(evaluator=evaluator, verdict=verdict, score=score)


def result(case_id: str, verdict: Verdict = "passed", *messages: str, **known: Any) -> CaseResult:
    """A result with a finding for each message."""
    source = known.pop("source", Source("evals/shop.yaml", 10, 9))
    score = {"passed": 1.0, "failed": 0.5}.get(verdict)
    findings = tuple([PlacedFinding("calls", Finding("RC101", message), source) for message in messages])
    calls = tuple([ToolCall(name, {}, 1) for name in known.pop("calls", ())])
    fields: dict[str, Any] = {
        "source": source,
        "score": score,
        "results": (evaluation("calls", verdict, score),),
        "findings": findings,
        "trajectory": Trajectory(calls=calls),
        **known,
    }
    return CaseResult(case_id=case_id, verdict=verdict, **fields)


def in_groups(case_id: str = "trip", *more: str) -> CaseResult:
    """The result of a case whose expected calls are in a group, one of which was not made; more calls may be."""
    written = "calls: [search, {any_order: [seats, price]}, book]"
    case = load_expectation(written.encode(), "--expect")(case_id)
    calls = [ToolCall(name, {name: name}, 1) for name in ("search", "price", *more, "book")]
    return judge(case, Trajectory(calls=tuple(calls)))


def report(*results: CaseResult, **known: Any) -> Report:
    """A report of these results, counted; `needed` is how many repeats of a case have to pass."""
    tally, aggregates = Tally(known.pop("needed", None)), Aggregates()
    for each in results:
        tally.count(each.case_id, each.verdict, each.repeat)
        aggregates.add(measures_of(each.results))
    fields = {"subject": "evals/shop.yaml", "seconds": 1.5, "run_id": "8f2c", "agent": "agent.py:answer", **known}
    counted: dict[str, Any] = {
        "totals": tally.totals(),
        "evaluators": aggregates.by_evaluator(),
        "repeats": tally.repeats(),
    }
    return Report(results=lambda: iter(results), **counted, **fields)


def hostile_report(text: str) -> Report:
    """A report that says one text wherever somebody else than us may say something."""
    outcome = Outcome(seconds=1.0, cause="raised", error=text, traceback=text, stdout=text)
    finding = PlacedFinding(text, Finding(text, text, help=text), Source(text, 1, 1, text))
    results = [
        result(
            text,
            verdict,
            source=Source(text, 1, 1, text),
            findings=(finding, finding),
            results=(evaluation(text, verdict, 0.5),),
            outcome=outcome,
            calls=[text[:100]],
        )
        for verdict in verdicts()
    ]
    return report(*results, subject=text, run_id=text, agent=text, notes=(text,))


def verdicts() -> Iterator[Verdict]:
    yield from ("failed", "error", "not_measured")
