"""What failures have in common: the rule that was broken, and the tool it was broken by."""

from __future__ import annotations

from rightcall.values.results import CaseResult, Finding, PlacedFinding, tells_unmeasured

Problem = tuple[str, str]
"""A code and the name of a tool; the name is empty where no single tool is to blame."""

_GRAVEST = (
    "RC107",
    "RC101",
    "RC104",
    "RC106",
    "RC105",
    "RC103",
    "RC102",
    "RC108",
    "RC112",
    "RC111",
    "RC113",
    "RC114",
    "RC115",
)
_PREAMBLE = "not measured: "


def problems_of(result: CaseResult) -> tuple[Problem, ...]:
    """What is wrong with a case, the gravest first, each once whoever found it."""
    return tuple(dict.fromkeys([(placed.finding.code, placed.finding.tool) for placed in told_findings(result)]))


def told_findings(result: CaseResult) -> list[PlacedFinding]:
    """The findings of a case that did not pass, the gravest first; what several expectations found is told once.

    A finding that only says that something was not measured is left out where another says what.
    """
    if result.passed:
        return []
    blamed = {one.evaluator for one in result.results if not one.passed}
    mine = [each for each in result.findings if each.expectation in blamed or not result.results] or result.findings
    once = {(each.finding.code, each.finding.message): each for each in reversed(mine)}
    told = [each for each in reversed(once.values()) if not each.finding.message.startswith(_PREAMBLE)]
    return sorted(told or list(mine[:1]), key=lambda each: _weight(result, each.finding))


def _weight(result: CaseResult, finding: Finding) -> int:
    """Where a finding stands: first what the verdict comes from."""
    if result.verdict == "error" and finding.code >= "RC4":
        return -1
    if result.verdict == "not_measured" and tells_unmeasured(finding.code):
        return -1
    return _GRAVEST.index(finding.code) if finding.code in _GRAVEST else len(_GRAVEST)
