"""The page of faults: a grid of cases and operators, and below it every fault that was not noticed."""

from __future__ import annotations

from itertools import zip_longest

import msgspec

from rightcall.reporting.reports import grouped_survivors, share_noticed
from rightcall.values.results import WORLD_OPERATORS, MutatedCase, MutationReport, Survivor, count_text

from ._templates import Crumb, Links, render

_MOST_CASES = 500
_MOST_OPENED = 300
"""Most faults whose calls are shown beside the expected ones, so that the page stays within a few megabytes."""


class Cell(msgspec.Struct, frozen=True):
    """How many faults of one operator were noticed in one case."""

    text: str
    kind: str
    """`passed`, `failed`, or empty if there was nothing to notice."""
    href: str = ""


class GridRow(msgspec.Struct, frozen=True):
    """One case in the grid."""

    case_id: str
    total: Cell
    cells: tuple[Cell, ...]


class Opened(msgspec.Struct, frozen=True):
    """A fault that was not noticed, with the expected calls beside the faulty ones."""

    anchor: str
    fault: str
    calls: tuple[tuple[str, str, bool], ...] = ()
    """Each pair, and whether the two differ."""


class Gap(msgspec.Struct, frozen=True):
    """Faults of one case that one additional line would notice."""

    line: str
    faults: tuple[Opened, ...]


class GapsOfCase(msgspec.Struct, frozen=True):
    """The faults that one case did not notice."""

    case_id: str
    total: str
    gaps: tuple[Gap, ...]


class MutantsPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page of faults."""

    title: str
    trail: tuple[Crumb, ...]
    evalset: str
    share: str
    summary: str
    operators: tuple[str, ...]
    rows: tuple[GridRow, ...]
    gaps: tuple[GapsOfCase, ...]
    notes: tuple[str, ...]
    more: int = 0
    is_running: bool = False


def mutants_page(report: MutationReport, trail: tuple[Crumb, ...] = ()) -> MutantsPage:
    """Return the page for a report."""
    operators = tuple([name for name in report.operators if any([name in case.cells for case in report.cases])])
    shown = report.cases[:_MOST_CASES]
    let_pass = report.counted - report.noticed
    return MutantsPage(
        title="Mutants",
        trail=trail or (Crumb("Mutants"),),
        evalset=report.evalset,
        share=share_noticed(report),
        summary=f"{count_text(len(report.cases), 'case')}, {count_text(report.counted, 'mutant')}: "
        f"{report.noticed:,} noticed, {let_pass:,} let pass",
        operators=operators,
        rows=tuple([_row(number, case, operators) for number, case in enumerate(shown)]),
        gaps=tuple(_gaps(shown)),
        notes=tuple(_notes(report)),
        more=len(report.cases) - len(shown),
    )


def mutants_html(page: MutantsPage, links: Links) -> str:
    """Render the page. Raises `MissingExtraError`."""
    return render("mutants.html", page, links, world=WORLD_OPERATORS)


def _row(number: int, case: MutatedCase, operators: tuple[str, ...]) -> GridRow:
    cells = []
    for operator in operators:
        noticed, counted = case.cells.get(operator, (0, 0))
        missed = noticed < counted and operator not in WORLD_OPERATORS
        kind = "" if not counted or operator in WORLD_OPERATORS else "failed" if missed else "passed"
        text = f"{noticed}/{counted}" if counted else "–"
        cells.append(Cell(text, kind, f"#m{number}-{operator}" if missed else ""))
    kind = "" if not case.counted else "passed" if case.noticed == case.counted else "failed"
    total = Cell(f"{case.noticed}/{case.counted}", kind, f"#m{number}" if case.survivors else "")
    return GridRow(case.case_id, total, tuple(cells))


def _gaps(cases: tuple[MutatedCase, ...]) -> list[GapsOfCase]:
    found, room = [], _MOST_OPENED
    for number, case in enumerate(cases):
        if not case.survivors:
            continue
        seen: set[str] = set()
        gaps = []
        for line, survivors in grouped_survivors(case):
            faults = []
            for survivor in survivors:
                anchor = "" if survivor.operator in seen else f"m{number}-{survivor.operator}"
                seen.add(survivor.operator)
                faults.append(Opened(anchor, survivor.fault, _beside(case, survivor) if room > 0 else ()))
                room -= 1
            gaps.append(Gap(line, tuple(faults)))
        found.append(GapsOfCase(case.case_id, f"m{number}", tuple(gaps)))
    return found


def _beside(case: MutatedCase, survivor: Survivor) -> tuple[tuple[str, str, bool], ...]:
    pairs = zip_longest(case.expected, survivor.calls, fillvalue="")
    return tuple([(expected, actual, expected != actual) for expected, actual in pairs])


def _notes(report: MutationReport) -> list[str]:
    notes = [f"{number:,} set aside: {reason}." for reason, number in report.set_aside.items()]
    for reason, ids in report.not_tried.items():
        named = ", ".join([f"`{case_id}`" for case_id in ids[:10]])
        notes.append(f"{count_text(len(ids), 'case')} not tried, {reason}: {named}{' …' if len(ids) > 10 else ''}")
    if unmeasured := sum([case.unmeasured for case in report.cases]):
        notes.append(f"{count_text(unmeasured, 'mutant')} could not be measured, and count neither way.")
    return notes
