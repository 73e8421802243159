"""What is wrong with a case, in sentences."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rightcall.values.results import CODES, CaseResult, Code, PlacedFinding

from ._rules import told_findings
from ._texts import Shown, shown_text

_SENTENCE = 1_000
_PLACE = 300
_MOST = 40


class ProblemView(msgspec.Struct, frozen=True, kw_only=True):
    """One sentence that says what is wrong, its code, who found it, where that is written, and what may help."""

    code: str
    name: str
    """The name of the code; empty for one that is not known."""
    message: Shown
    expectation: str
    place: str
    help: str = ""


def problem_views(result: CaseResult) -> tuple[ProblemView, ...]:
    """The problems of a case, the gravest first; of very many, the first ones."""
    return tuple([_view(placed) for placed in told_findings(result)[:_MOST]])


def codes_of(problems: Iterable[ProblemView]) -> tuple[Code, ...]:
    """What the codes of problems mean, each once."""
    return tuple([CODES[code] for code in dict.fromkeys([each.code for each in problems]) if code in CODES])


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
