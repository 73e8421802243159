"""A run as one file of HTML: its page, and every case folded below it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import msgspec

from rightcall.errors import missing_package
from rightcall.reporting.reports import CaseBlock, Report, decided_verdict, overall_line
from rightcall.values.results import CODES, CaseResult, Code

from ._case_page import CasePage, brief_case_page
from ._rows import CaseRow, RowCounter, row_of
from ._run_list import cause_key
from ._run_page import run_page
from ._runs_page import report_facts
from ._templates import Links, environment

MOST_BYTES = 3_000_000
"""The space for details of cases, in bytes; cases after that have one line each."""
MOST_CASES = 20_000
"""The number of cases that are listed."""
_MOST_OPEN = 20
_LONGEST_NOTE = 300
_LINKS = Links(is_one_file=True)


class ArticleView(msgspec.Struct, frozen=True, kw_only=True):
    """One case in the file: its line, its details if there is room, and whether they are open at first."""

    row: CaseRow
    cause: str
    """The key of its first problem, by which it is found; empty if it has none."""
    case: CasePage | None = None
    is_open: bool = False
    note: str = ""
    """That other repeats made up for it, or that it is in quarantine; empty if it counts as it is."""


def html_report(report: Report) -> Iterator[str]:
    """Yield a report as one HTML file, piece by piece, that needs no other file and no network.

    The cases that did not pass come first, the first of them open; all values are cut. A repeat that others made up for
    is among those that passed, and says so. When details have taken up
    3 MB, further cases have their sentence only, and after 20,000 cases the rest is counted. A policy inside of the
    file forbids everything but its own stylesheet and script.

    Raises:
        MissingExtraError: Jinja is not installed.
    """
    template = environment().get_template("report.html")
    articles = _Articles(report)
    for result in report.results():
        articles.add(result)
    counts = articles.grouping.counts(report.totals, report.evaluators)
    counts = msgspec.structs.replace(counts, rate=report.rate if report.repeats else None)
    gate = report.gate.told if report.gate is not None else ()
    notes = [*gate, *map(overall_line, report.overall), *report.notes][:100]
    page = run_page(
        report_facts(report),
        counts,
        _LINKS,
        notes=notes,
        matched=articles.number,
        exit_code=report.exit_code,
    )
    stream = template.stream(page=page, links=_LINKS, articles=articles, most=MOST_CASES)
    stream.enable_buffering(100)
    yield from stream


def check_installed() -> None:
    """Check, before any work is done, that Jinja is installed. Raises `MissingExtraError`."""
    if find_spec("jinja2") is None:
        raise missing_package("web pages need jinja2")


class _Articles:
    """The cases of a report as HTML, those that did not pass first. Results are read once, and none is kept whole."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self.grouping = RowCounter()
        self.number = 0
        self._codes: dict[str, None] = {}
        self._bad = _Pile()
        self._good = _Pile()
        self._article = environment().get_template("report_parts.html").module.article  # type: ignore[attr-defined]

    def add(self, result: CaseResult) -> None:
        """Add a case."""
        row = row_of(result)
        self.number += 1
        first = row.problems[:1]  # so that the numbers of causes add up to that of cases
        self.grouping.add(msgspec.structs.replace(row, problems=first))
        self._codes.update(dict.fromkeys([problem.code for problem in row.problems]))
        # Results arrive in any order and failures come first in the file, so both kinds are kept, as finished HTML.
        repeats = self._report.repeats.get(result.case_id)
        quarantine = self._report.quarantined.get(result.case_id)
        block = CaseBlock(result, repeats, decided=decided_verdict(self._report, result), quarantine=quarantine)
        is_good = result.passed or block.is_note
        pile = self._good if is_good else self._bad
        if len(pile.texts) == MOST_CASES:
            return
        is_open = not is_good and len(pile.texts) < _MOST_OPEN
        decides = "the gate decides" if block.decided is not None else "the case passed"
        note = ": ".join(filter(None, [decides, block.shares])) if block.is_note else ""
        note = str(quarantine)[:_LONGEST_NOTE] if quarantine is not None else note
        line = ArticleView(row=row, cause="".join(map(cause_key, first)), note=note)
        whole = ""
        if self._bad.size + (self._good.size if is_good else 0) < MOST_BYTES:
            case = brief_case_page(result)
            whole = self._article(msgspec.structs.replace(line, case=case, is_open=is_open), _LINKS)
        pile.add(line, whole)

    def __iter__(self) -> Iterator[str]:
        room, left = MOST_BYTES, MOST_CASES
        for pile in (self._bad, self._good):
            for line, whole in pile.texts[:left]:
                fits = bool(whole) and room > 0
                room -= len(whole.encode()) if fits else 0
                yield whole if fits else self._article(line, _LINKS)
            left -= min(left, len(pile.texts))

    @property
    def codes(self) -> list[Code]:
        """The explanations of the codes that occur."""
        return [CODES[code] for code in self._codes if code in CODES]


class _Pile:
    """Cases without and with their details, and how much the latter take up."""

    def __init__(self) -> None:
        self.texts: list[tuple[ArticleView, str]] = []
        self.size = 0

    def add(self, line: ArticleView, whole: str) -> None:
        self.texts.append((line, whole))
        self.size += len(whole.encode())
