"""The page of an edit, as a diff, and the page of faults that an eval set noticed or let pass."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.reporting.reports import grouped_survivors, share_noticed
from rightcall.values.results import WORLD_OPERATORS, MutatedCase, MutationReport, Survivor, count_text

from ._templates import Crumb, Links, Marked, marked_pair, render

_HUNK = lazy_pattern(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@", re.A)
MOST_LINES = 400
_LINE = 2_000
_MOST_CASES = 500
_MOST_OPENED = 300
"""Faults whose calls are shown beside what was expected; a page is to stay within a few megabytes."""


class DiffRow(msgspec.Struct, frozen=True, kw_only=True):
    """A line of a diff: `kept`, `removed`, `added`, or the `head` of a part."""

    kind: str
    text: Marked
    old: int = 0
    """The number of the line before; 0 for none."""
    new: int = 0


class EditScope(msgspec.Struct, frozen=True):
    """How much is edited: one case, or all with the same cause."""

    label: str
    href: str
    is_chosen: bool = False


class EditPage(msgspec.Struct, frozen=True, kw_only=True):
    """An edit of a file, as it would be made."""

    title: str
    sentence: str
    trail: tuple[Crumb, ...] = ()
    is_running: bool = False
    path: str = ""
    """The file, as the user names it; empty where nothing can be written."""
    rows: tuple[DiffRow, ...] = ()
    left_out: int = 0
    patch: str = ""
    notes: tuple[str, ...] = ()
    """What the edit does not do, and why."""
    refusal: str = ""
    """Why there is no edit."""
    scopes: tuple[EditScope, ...] = ()
    action: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    """What the form sends along."""
    back: str = ""


def edit_html(page: EditPage, links: Links) -> str:
    """Render an edit. Raises `MissingExtraError`."""
    return render("edit.html", page, links)


def diff_rows(lines: Sequence[str]) -> tuple[tuple[DiffRow, ...], int]:
    """Return the lines of a unified diff with their numbers, and how many more there are."""
    rows: list[DiffRow] = []
    old = new = 0
    removed: list[int] = []
    for line in lines[2 : MOST_LINES + 2]:
        sign, text = line[:1], line[1 : _LINE + 1]
        if found := _HUNK.match(line):
            old, new, removed = int(found[1]), int(found[2]), []
            rows.append(DiffRow(kind="head", text=Marked(line[:_LINE], "")))
        elif sign == "-":
            rows.append(DiffRow(kind="removed", text=Marked(text, ""), old=old))
            removed.append(len(rows) - 1)
            old += 1
        elif sign == "+":
            shown = Marked(text, "")
            if removed:  # the first line that is added stands for the first that is removed
                place = removed.pop(0)
                was, shown = marked_pair(rows[place].text.before, text)
                rows[place] = msgspec.structs.replace(rows[place], text=was)
            rows.append(DiffRow(kind="added", text=shown, new=new))
            new += 1
        elif sign == " ":
            rows.append(DiffRow(kind="kept", text=Marked(text, ""), old=old, new=new))
            removed, old, new = [], old + 1, new + 1
    return tuple(rows), max(0, len(lines) - 2 - MOST_LINES)


class Cell(msgspec.Struct, frozen=True):
    """How many faults of one operator were noticed in one case."""

    text: str
    kind: str
    """`passed`, `failed`, or empty where there was nothing to notice."""
    href: str = ""


class GridRow(msgspec.Struct, frozen=True):
    """One case."""

    case_id: str
    total: Cell
    cells: tuple[Cell, ...]


class Opened(msgspec.Struct, frozen=True):
    """A fault that was let pass, with the calls as expected beside those that were not noticed."""

    anchor: str
    fault: str
    calls: tuple[tuple[str, str, bool], ...] = ()
    """Each pair, and whether the two differ."""


class Gap(msgspec.Struct, frozen=True):
    """Faults of one case that one line would notice."""

    line: str
    faults: tuple[Opened, ...]


class GapsOfCase(msgspec.Struct, frozen=True):
    """The faults that one case let pass."""

    case_id: str
    total: str
    gaps: tuple[Gap, ...]


class MutantsPage(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that the page shows."""

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
    """Return the page of a report."""
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
