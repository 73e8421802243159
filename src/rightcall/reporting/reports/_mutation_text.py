"""Faults that an eval set noticed or let pass, as lines for a terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rightcall.values.results import MutatedCase, MutationReport, Survivor, count_text

from ._paper import Line, Paper

_MOST_CASES = 20
_MOST_LINES = 12
_MOST_IDS = 5


def mutation_lines(report: MutationReport, paper: Paper) -> Iterator[Line]:
    """Yield what an eval set noticed: the share, each case with faults that it let pass, what did not count."""
    arrow = "->" if paper.plain else "→"
    let_pass = report.counted - report.noticed
    yield (
        (paper.text(report.evalset), "bold"),
        f"  {count_text(len(report.cases), 'case')}, {count_text(report.counted, 'mutant')}: ",
        f"{report.noticed:,} noticed ({share_noticed(report)}), {let_pass:,} let pass",
    )
    gaps = sorted([case for case in report.cases if case.survivors], key=lambda case: -len(case.survivors))
    for case in gaps[:_MOST_CASES]:
        yield ("  ", (paper.text(case.case_id), "bold"), f"  {case.noticed:,} of {case.counted:,}")
        groups = grouped_survivors(case)
        for line, survivors in groups[:_MOST_LINES]:
            yield from _group(paper.text(line), survivors, arrow, paper)
        if len(groups) > _MOST_LINES:
            yield (f"     … and {len(groups) - _MOST_LINES:,} more",)
    if len(gaps) > _MOST_CASES:
        yield (f"  … and {count_text(len(gaps) - _MOST_CASES, 'case')} more",)
    yield from _footnotes(report, paper)


def share_noticed(report: MutationReport) -> str:
    """Return the share that was noticed, rounded down: only all of them are 100 %."""
    return f"{100 * report.noticed // report.counted} %" if report.counted else "nothing to notice"


def grouped_survivors(case: MutatedCase) -> list[tuple[str, list[Survivor]]]:
    """Return what a case let pass by the line that would notice it, the line that notices most first."""
    groups: dict[tuple[str, str], list[Survivor]] = {}
    for survivor in case.survivors:
        # Faults without a line have nothing in common.
        key = (survivor.line, "" if survivor.line else survivor.fault)
        groups.setdefault(key, []).append(survivor)
    ordered = sorted(groups.items(), key=lambda each: (not each[0][0], -len(each[1])))
    return [(line, survivors) for (line, _), survivors in ordered]


def _group(line: str, survivors: list[Survivor], arrow: str, paper: Paper) -> Iterator[Line]:
    more = f" (and {len(survivors) - 1} more)" if len(survivors) > 1 else ""
    fault = f"     {paper.text(survivors[0].fault)}{more}"
    if not line:
        yield (fault,)
    elif len(fault) + len(line) + 4 <= paper.width:
        yield (fault, f"  {arrow} ", (line, "cyan"))
    else:
        yield (fault,)
        yield (f"       {arrow} ", (line, "cyan"))


def _footnotes(report: MutationReport, paper: Paper) -> Iterator[Line]:
    for reason, number in sorted(report.set_aside.items(), key=lambda each: -each[1]):
        yield (f"  set aside: {number:,}, because {paper.text(reason)}",)
    for reason, ids in report.not_tried.items():
        named = ", ".join(map(paper.text, ids[:_MOST_IDS])) + (" …" if len(ids) > _MOST_IDS else "")
        yield (
            f"  not tried: {count_text(len(ids), 'case')}, because {paper.text(_BECAUSE.get(reason, reason))}: {named}",
        )
    if unmeasured := sum([case.unmeasured for case in report.cases]):
        yield (f"  not measured: {count_text(unmeasured, 'mutant')}, neither noticed nor let pass",)
    if left_out := sum([case.left_out for case in report.cases]):
        yield (f"  not tried: {count_text(left_out, 'mutant')} of cases that have more than 200; 200 were drawn",)


_BECAUSE = {"no trace": "no trace was recorded"}


def mutation_json(report: MutationReport) -> str:
    """Return all of it as JSON."""
    plain: dict[str, Any] = {
        "schema": 1,
        "evalset": report.evalset,
        "run": report.run,
        "noticed": report.noticed,
        "counted": report.counted,
        "score": report.share if report.counted else None,
        "operators": list(report.operators),
        "set_aside": report.set_aside,
        "not_tried": {reason: list(ids) for reason, ids in report.not_tried.items()},
        "cases": [_plain_case(case) for case in report.cases],
    }
    return json.dumps(plain, indent=2) + "\n"


def _plain_case(case: MutatedCase) -> dict[str, Any]:
    return {
        "id": case.case_id,
        "noticed": case.noticed,
        "counted": case.counted,
        "operators": {name: {"noticed": seen, "counted": of} for name, (seen, of) in case.cells.items()},
        "survivors": [
            {"operator": each.operator, "fault": each.fault, "line": each.line or None} for each in case.survivors
        ],
        "set_aside": case.set_aside,
        "not_measured": case.unmeasured,
        "not_tried": case.left_out,
    }
