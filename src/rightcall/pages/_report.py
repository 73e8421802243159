"""A run as one file of HTML: its page, and every case folded below it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice

import msgspec

from rightcall.errors import MissingExtraError
from rightcall.reports import Report
from rightcall.results import CODES, CaseResult, Code

from ._case import CasePage, brief_case_page
from ._environment import environment
from ._facts import report_facts
from ._groups import Grouping, RunCounts
from ._links import Links
from ._rows import CaseRow, row_of
from ._run import problem_key, run_page

MOST_BYTES = 4_000_000
"""How much of a file is for details of cases; those after it have one line each."""
MOST_CASES = 20_000
"""How many cases are listed at all."""
_MOST_OPEN = 20
_LINKS = Links(is_one_file=True)


class ArticleView(msgspec.Struct, frozen=True, kw_only=True):
    """One case in the file: its line, its details if there is room, and whether they are open at first."""

    row: CaseRow
    problems: str
    """The keys of its problems, by which it is found."""
    case: CasePage | None
    is_open: bool


def html_report(report: Report) -> Iterator[str]:
    """A report as one HTML file, piece by piece, that needs no other file and no network.

    The cases that did not pass come first, the first of them open; all values are cut. When details have taken up
    4 MB, further cases have their sentence only, and after 20,000 cases the rest is counted. A policy inside of the
    file forbids everything but its own stylesheet and script.

    Raises:
        MissingExtraError: Jinja is not installed.
    """
    counts, listed = _counted(report)
    page = run_page(report_facts(report), counts, _LINKS, notes=report.notes[:100], matched=listed)
    articles = _Articles(report)
    template = environment().get_template("report.html")
    stream = template.stream(page=page, links=_LINKS, articles=articles, most=MOST_CASES)
    stream.enable_buffering(100)
    yield from stream


def check_installed() -> None:
    """Refuse, before any work is done, what pages need and is not there. Raises `MissingExtraError`."""
    if find_spec("jinja2") is None:
        raise MissingExtraError("web pages need jinja2: pip install 'rightcall[view]'")


class _Articles:
    """The cases of a report, those that did not pass first; afterwards, the codes that were met."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._size = 0
        self._seen: dict[str, None] = {}

    def __iter__(self) -> Iterator[ArticleView]:
        for number, result in enumerate(islice(self._ordered(), MOST_CASES), 1):
            yield self._article(result, number)

    @property
    def codes(self) -> list[Code]:
        """What the codes of the cases so far mean."""
        return [CODES[code] for code in self._seen if code in CODES]

    def took(self, text: str) -> str:
        """Note how large an article came out; the text is given back."""
        self._size += len(text)
        return text

    def _ordered(self) -> Iterator[CaseResult]:
        yield from (result for result in self._report.results() if not result.passed)
        yield from (result for result in self._report.results() if result.passed)

    def _article(self, result: CaseResult, number: int) -> ArticleView:
        row = row_of(result)
        case = brief_case_page(result) if self._size < MOST_BYTES else None
        self._seen.update(dict.fromkeys([code for code, _ in row.problems]))
        problems = " ".join([problem_key(code, tool) for code, tool in row.problems])
        return ArticleView(row=row, problems=problems, case=case, is_open=not result.passed and number <= _MOST_OPEN)


def _counted(report: Report) -> tuple[RunCounts, int]:
    grouping = Grouping()
    number = 0
    for result in report.results():
        grouping.add(row_of(result))
        number += 1
    return grouping.counts(report.totals, report.evaluators), number
