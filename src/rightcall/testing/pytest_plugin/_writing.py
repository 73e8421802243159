"""The results of a session as a file, in the format that its name says."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from rightcall.errors import RightcallError
from rightcall.reporting.reports import (
    Paper,
    Report,
    full_report,
    json_report,
    junit_report,
    markdown_report,
    redacted_report,
)
from rightcall.reporting.store import Run
from rightcall.values.results import Aggregates, CaseResult, Totals, measures_of

_WIDTH = 100


def _html(report: Report) -> Iterator[str]:
    from rightcall.reporting.pages import html_report  # costs time that no other format needs

    return html_report(report)


FORMATS: dict[str, Callable[[Report], Iterator[str]]] = {
    ".html": _html,
    ".json": json_report,
    ".xml": junit_report,
    ".md": markdown_report,
    ".txt": lambda report: full_report(report, Paper(width=_WIDTH), max_detail=1_000),
}
"""The formats, by the ending of a file's name."""


def write_report(path: Path, runs: Sequence[tuple[Run, Totals]], seconds: float, notes: Sequence[str]) -> None:
    """Write all results of some runs to a file, without secrets, all of it or nothing.

    Raises:
        RightcallError: its name has no ending that is known, or it cannot be written.
    """
    form = format_of(path)
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        try:
            with open(unfinished, "w", encoding="utf-8", opener=_private if form is _html else None) as file:
                file.writelines(form(redacted_report(_report(runs, seconds, notes))))
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as problem:
        raise RightcallError(f"{path}: {problem.strerror or problem}") from None


def check_reports(paths: Sequence[Path]) -> None:
    """Refuse, before any test is run, reports that cannot be written afterwards. Raises `pytest.UsageError`."""
    import pytest

    for path in paths:
        try:
            format_of(path)
            if path.suffix.lower() == ".html":
                from rightcall.reporting.pages import check_installed

                check_installed()
        except RightcallError as problem:
            raise pytest.UsageError(f"--rightcall-report: {problem}") from None
        if path.is_dir() or not os.access(path.parent, os.W_OK):
            raise pytest.UsageError(f"--rightcall-report: {path}: no file can be made there")


def format_of(path: Path) -> Callable[[Report], Iterator[str]]:
    """The format that the name of a file asks for. Raises `RightcallError`."""
    if path.suffix.lower() not in FORMATS:
        raise RightcallError(f"{path}: a report's name ends in {', '.join(FORMATS)}")
    return FORMATS[path.suffix.lower()]


def _report(finished: Sequence[tuple[Run, Totals]], seconds: float, notes: Sequence[str]) -> Report:
    runs = [run for run, _ in finished]
    results = runs[0].results if len(runs) == 1 else lambda: _told_apart(runs)
    aggregates, warnings = Aggregates(), Counter[str]()
    for result in results():
        aggregates.add(measures_of(result.results))
        warnings.update(result.notes)
    names = Totals.__struct_fields__
    return Report(
        results=results,
        totals=Totals(*[sum(getattr(totals, name) for _, totals in finished) for name in names]),
        evaluators=aggregates.by_evaluator(),
        subject=", ".join(dict.fromkeys([run.header.evalset for run in runs])),
        seconds=seconds,
        run_id=runs[0].short_id if len(runs) == 1 else "",
        agent=", ".join(dict.fromkeys([run.header.agent for run in runs])),
        facts=runs[0].header.known() if len(runs) == 1 else (),
        notes=tuple(notes),
        warnings=warnings,
    )


def _told_apart(runs: Sequence[Run]) -> Iterator[CaseResult]:
    """The results of several runs, with their eval set before the id, since each may have a case of the same id."""
    often = Counter([run.header.evalset for run in runs])
    for run in runs:
        evalset = run.header.evalset
        place = evalset if often[evalset] == 1 else f"{run.header.agent}::{evalset}"
        for result in run.results():
            yield msgspec.structs.replace(result, case_id=f"{place}::{result.case_id}")


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
