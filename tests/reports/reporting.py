"""Results and reports to write, and texts that would do harm if they were not escaped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unicodedata import category

from rightcall import CaseResult, EvaluationResult, Outcome, ToolCall, Trajectory
from rightcall.reports import Report
from rightcall.results import Aggregates, Finding, PlacedFinding, Source, Tally, Verdict, measures_of

_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}

HOSTILE = [
    "=1+1",
    "@SUM(A1)",
    "]]>",
    "a|b\\|c",
    "::error::x",
    "\n::error file=x::y",
    "%0A::error::x",
    "##[error]x",
    "</testsuite>",
    '"/><script>alert(1)</script>',
    "\x00\x07\x08\x1b[31mred\x1b]8;;http://e.vil\x07",
    "\x85\x9b31m",
    "\ud800",
    "\ufffe\uffff",
    "\u202eabc\u2066",
    "\u2028\u2029",
    "\r\n# heading\n- item",
    "`",
    "``` `` `\\`",
    "@everyone and @octocat",
    "[x](javascript:alert(1)) ![x](http://e.vil/x.png)",
    "http://e.vil www.e.vil a@b.c #1 GH-2 :smile:",
    "<details><img src=x onerror=alert(1)>",
    "&lt;&#64;",
    "{{7*7}} ${{ github.token }} $a$",
    " ",
    "x" * 1_000_000,
]


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


def report(*results: CaseResult, **known: Any) -> Report:
    """A report of these results, counted."""
    tally, aggregates = Tally(), Aggregates()
    for each in results:
        tally.add(each)
        aggregates.add(measures_of(each.results))
    fields = {"subject": "evals/shop.yaml", "seconds": 1.5, "run_id": "8f2c", "agent": "agent.py:answer", **known}
    return Report(results=lambda: iter(results), totals=tally.totals(), evaluators=aggregates.by_evaluator(), **fields)


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


def obeyed(text: str) -> list[str]:
    """The lines that GitHub Actions takes for commands when a program prints them."""
    return [line for line in text.split("\n") if line.lstrip().startswith("::") or "##[" in line]


def harmful(text: str) -> set[str]:
    """The characters in a text that a terminal, or a reader's eye, would obey."""
    return {character for character in set(text) if category(character) in _UNSEEN and character not in "\n\u200b"}
