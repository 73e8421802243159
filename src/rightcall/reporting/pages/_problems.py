"""What is wrong with a case: its findings, worst first."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rightcall.values.results import CODES, CaseResult, Code, Finding, PlacedFinding, is_unmeasured

from ._texts import ShownText, shown_text

_SENTENCE = 1_000
_PLACE = 300
_MOST = 40
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


class ProblemView(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence that says what is wrong, its code, who found it, where that is written, and what may help."""

    code: str
    name: str
    """The name of the code; empty for one that is not known."""
    message: ShownText
    expectation: str
    place: str
    help: str = ""


def problem_views(result: CaseResult) -> tuple[ProblemView, ...]:
    """Return the problems of a case, the worst first, at most 40."""
    return tuple([_view(placed) for placed in reported_findings(result)[:_MOST]])


def codes_of(problems: Iterable[ProblemView]) -> tuple[Code, ...]:
    """Return the explanation of each code, once."""
    return tuple([CODES[code] for code in dict.fromkeys([each.code for each in problems]) if code in CODES])


def problems_of(result: CaseResult) -> tuple[Problem, ...]:
    """Return the code and tool of each problem of a case, the worst first, each pair once."""
    return tuple(dict.fromkeys([(placed.finding.code, placed.finding.tool) for placed in reported_findings(result)]))


def reported_findings(result: CaseResult) -> list[PlacedFinding]:
    """Return the findings of a case that did not pass, the worst first, each message once.

    A finding that only says "not measured" is left out if another one says what was not measured.
    """
    if result.passed:
        return []
    blamed = {one.evaluator for one in result.results if not one.passed}
    mine = [each for each in result.findings if each.expectation in blamed or not result.results] or result.findings
    once = {(each.finding.code, each.finding.message): each for each in reversed(mine)}
    told = [each for each in reversed(once.values()) if not each.finding.message.startswith(_PREAMBLE)]
    return sorted(told or list(mine[:1]), key=lambda each: _weight(result, each.finding))


def _view(placed: PlacedFinding) -> ProblemView:
    finding = placed.finding
    return ProblemView(
        code=finding.code[:40],
        name=CODES[finding.code].name if finding.code in CODES else "",
        message=shown_text(finding.message, _SENTENCE),
        expectation=placed.expectation[:100],
        place=str(placed.source)[:_PLACE] if placed.source.file else "",
        help=(finding.help or "")[:_SENTENCE],
    )


def _weight(result: CaseResult, finding: Finding) -> int:
    """Return the rank of a finding: those that decided the verdict come first."""
    if result.verdict == "error" and finding.code >= "RC4":
        return -1
    if result.verdict == "not_measured" and is_unmeasured(finding.code):
        return -1
    return _GRAVEST.index(finding.code) if finding.code in _GRAVEST else len(_GRAVEST)
