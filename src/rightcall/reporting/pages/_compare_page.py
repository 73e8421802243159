"""The page of two runs, one against the other, and of more than two beside each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from rightcall.reporting.changes import CaseChange, CaseSide, Comparison
from rightcall.reporting.reports import change_words, score_words, totals_words
from rightcall.values.results import Verdict

from ._runs_page import RunLine
from ._templates import Crumb, Links, case_key, render

_ON_BOTH = {
    "passed": "passes on both",
    "failed": "fails on both",
    "error": "in error on both",
    "not_measured": "not measured on both",
}
_CASE_ID = 400


class ChangeLine(msgspec.Struct, frozen=True, kw_only=True):
    """The change of one case, in words."""

    case_id: str
    key: str
    before: Verdict | None
    after: Verdict | None
    summary: str = ""
    """Where the verdict is the same: which it is, and whether the path is another."""
    scores: tuple[str, ...] = ()
    path: tuple[str, ...] = ()


class Changes(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs, compared: their totals, and their cases by kind of change."""

    totals: tuple[tuple[str, str], ...]
    flips: tuple[ChangeLine, ...]
    drifted: tuple[ChangeLine, ...]
    only_before: tuple[ChangeLine, ...]
    only_after: tuple[ChangeLine, ...]
    same: tuple[ChangeLine, ...]
    weight: int = 0

    @property
    def changed(self) -> tuple[ChangeLine, ...]:
        """Cases that both have and that are not as they were, flips first."""
        return self.flips + self.drifted


class ComparePage(msgspec.Struct, frozen=True, kw_only=True):
    """The page that compares two runs."""

    before: RunLine
    after: RunLine
    changes: Changes
    lines: tuple[ChangeLine, ...]
    """The changed cases of this page."""
    shows_same: bool = False
    number: int = 1
    of: int = 1
    previous: str = ""
    next: str = ""
    title: str = "Compare"
    trail: tuple[Crumb, ...] = ()
    is_running: bool = False


class VerdictRow(msgspec.Struct, frozen=True):
    """The verdicts of one case, run by run; none where a run does not have it."""

    case_id: str
    key: str
    verdicts: tuple[Verdict | None, ...]


class VerdictsPage(msgspec.Struct, frozen=True, kw_only=True):
    """More than two runs beside each other: the cases whose verdicts are not the same in all of them."""

    runs: tuple[RunLine, ...]
    rows: tuple[VerdictRow, ...]
    differing: int
    same: int
    number: int = 1
    of: int = 1
    previous: str = ""
    next: str = ""
    title: str = "Compare"
    trail: tuple[Crumb, ...] = ()
    is_running: bool = False


def changes_of(comparison: Comparison, before: Mapping[str, CaseSide], after: Mapping[str, CaseSide]) -> Changes:
    """Return a comparison in words, without the paths it was computed from."""
    kinds: dict[str, list[ChangeLine]] = {"flip": [], "drifted": [], "only_before": [], "only_after": []}
    for change in comparison.cases:
        kinds["flip" if change.is_flip else change.kind].append(_line(change))
    changed = {change.case_id for change in comparison.cases}
    same = [_same(case_id, side) for case_id, side in after.items() if case_id in before and case_id not in changed]
    return Changes(
        totals=tuple(totals_words(comparison)),
        flips=tuple(kinds["flip"]),
        drifted=tuple(kinds["drifted"]),
        only_before=tuple(kinds["only_before"]),
        only_after=tuple(kinds["only_after"]),
        same=tuple(same),
        weight=1 + len(changed) + len(same),
    )


def verdict_rows(runs: Sequence[Mapping[str, Verdict]]) -> list[VerdictRow]:
    """Return the cases whose verdicts differ between runs, in the order they first occur."""
    rows = []
    for case_id in dict.fromkeys(case_id for verdicts in runs for case_id in verdicts):
        found = tuple([verdicts.get(case_id) for verdicts in runs])
        if len(set(found)) > 1:
            rows.append(VerdictRow(case_id[:_CASE_ID], case_key(case_id), found))
    return rows


def compare_html(page: ComparePage, links: Links) -> str:
    """Render the comparison of two runs. Raises `MissingExtraError`."""
    return render("compare.html", page, links)


def verdicts_html(page: VerdictsPage, links: Links) -> str:
    """Render the comparison of more than two runs. Raises `MissingExtraError`."""
    return render("verdicts.html", page, links)


def _line(change: CaseChange) -> ChangeLine:
    before, after = [side.verdict if side is not None else None for side in (change.before, change.after)]
    path = tuple(change_words(change)) if before is not None and after is not None else ()
    summary = ""
    if before == after and after is not None:
        summary = f"{_ON_BOTH[after]}, path differs" if path else f"{_ON_BOTH[after]}, same path"
    return ChangeLine(
        case_id=change.case_id[:_CASE_ID],
        key=case_key(change.case_id),
        before=before,
        after=after,
        summary=summary,
        scores=tuple(score_words(change)),
        path=path,
    )


def _same(case_id: str, side: CaseSide) -> ChangeLine:
    return ChangeLine(case_id=case_id[:_CASE_ID], key=case_key(case_id), before=side.verdict, after=side.verdict)
