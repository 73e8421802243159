"""`rightcall run --variant A --variant B`: the same cases on each, side by side, and one table of all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

import click
import msgspec

from rightcall.reporting.reports import Report, share_text
from rightcall.running import runner
from rightcall.values.results import CaseResult

from .._gate import print_gate
from .._live import Stopping
from .._output import Output
from .._terminal import Screen, stdout_guard
from ._request import RunRequest
from ._run import Running

_INTERRUPTED = 130
_PLACE = "{variant}"
"""What stands for the variant in the name of a report's file."""
_MOST_NAMED = 20
_HEAD = ("variant", "passed", "rate", "failed", "error", "not measured", "mean time", "mean tokens", "run")


class _Files(Output):
    """The reports of one variant. They are files: on a terminal, results of several runs would be mixed."""

    def __init__(self, request: RunRequest, variant: str) -> None:
        named = [each.replace(_PLACE, variant) for each in request.formats]
        held = request.output_file and request.output_file.replace(_PLACE, variant)
        others = {"max_detail": request.max_detail, "redact": request.redact}
        super().__init__({"formats": named, "output_file": held, **others})
        self._printed = []

    def show(self, result: CaseResult) -> None:
        """Show nothing."""


def run_variants(request: RunRequest, *, is_watching: bool) -> int:
    """Run the cases on each variant, print the table, and return the most serious exit code.

    A single variant is run and reported as any agent is.

    Their trials take turns, so that an hour in which a provider is slow or broken is the same for all. With a gate, the
    variant that it names is what the others are compared with, and the gate decides the exit code.

    Raises:
        RightcallError: what is asked cannot be run.
    """
    _check(request, is_watching=is_watching)
    if len(set(request.variants)) == 1:
        # One variant is a run like any other: its findings, formats and gate are shown.
        return Running(msgspec.structs.replace(request, variant=request.variants[0], variants=[])).run()
    alone = msgspec.structs.replace(request, variants=[], gate=None, workers=_processes(request))
    runs = {
        name: Running(msgspec.structs.replace(alone, variant=name), _Files(request, name))
        for name in dict.fromkeys(request.variants)
    }
    runner.hide_memory()
    with Stopping() as stopping, stdout_guard():
        _take_turns({name: run.steps(stopping) for name, run in runs.items()})
    reports = {name: run.report() for name, run in runs.items()}
    codes = {name: run.finish(reports[name]) for name, run in runs.items()}
    first = request.gate or next(iter(runs))
    _print({first: reports[first], **reports}, is_gated=request.gate is not None)
    if stopping.is_asked:
        return _INTERRUPTED
    return max(codes.values()) if request.gate is None else _gated(request, runs, reports)


def _gated(request: RunRequest, runs: Mapping[str, Running], reports: Mapping[str, Report]) -> int:
    """Print whether each variant is worse than the one that the gate names, and return the most serious exit code."""
    first, rule = request.gate or "", msgspec.structs.asdict(request)
    # A rate or a case that has to be kept is asked of each variant by itself, also of the first.
    codes = [report.exit_code for report in reports.values() if report.gate is not None]
    others = [(name, run) for name, run in runs.items() if name != first]
    compared = [print_gate(runs[first].folder, run.folder, rule, (first, name)) for name, run in others]
    return max([*codes, *compared])


def _check(request: RunRequest, *, is_watching: bool) -> None:
    for is_given, option in (
        (is_watching, "--watch"),
        (request.resume is not None, "--resume"),
    ):
        if is_given and (len(set(request.variants)) > 1 or option == "--watch"):
            raise click.UsageError(f"{option} is about one run, and each variant is one; use it with their runs")
    if len(set(request.variants)) == 1:
        return
    if request.gate is not None and request.gate not in request.variants:
        names = ", ".join(dict.fromkeys(request.variants))
        raise click.UsageError(f"--gate names the variant that the others are compared with, one of {names}")
    if request.repeat_least < request.repeat:
        raise click.UsageError("--repeat A..B stops one run early, and variants are run alike: give one number")
    for asked in filter(None, [*request.formats, request.output_file]):
        if _PLACE not in asked:
            raise click.UsageError(
                f"each variant has a report of its own: --format junit=report-{_PLACE}.xml, for example"
            )


def _processes(request: RunRequest) -> int:
    """Return how many processes each variant has, so that all of them together have one for each core."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return request.workers or max(1, cores // len(set(request.variants)))


def _take_turns(left: dict[str, Iterator[None]]) -> None:
    """Advance each run by one event in turn, until all are over."""
    while left:
        for name, steps in list(left.items()):
            try:
                next(steps)
            except StopIteration:
                del left[name]


def _print(reports: Mapping[str, Report], *, is_gated: bool) -> None:
    screen = Screen()
    rows = [_HEAD, *[_row(name, report) for name, report in reports.items()]]
    widths = [max([len(row[place]) for row in rows]) for place in range(len(_HEAD))]
    for row in rows:
        screen.line("  ".join([cell.ljust(width) for cell, width in zip(row, widths, strict=True)]).rstrip())
    first, *others = reports
    verdicts = {name: _verdicts(report) for name, report in reports.items()}
    for other in others:
        changed = [case for case, verdict in verdicts[first].items() if verdicts[other].get(case) != verdict]
        for case in changed[:_MOST_NAMED]:
            screen.line(f"  {case}: {verdicts[first][case]} with {first}, {verdicts[other].get(case)} with {other}")
        if len(changed) > _MOST_NAMED:
            screen.line(f"  … and {len(changed) - _MOST_NAMED:,} more cases differ")
        if is_gated:
            continue
        runs = f"{reports[first].run_id} {reports[other].run_id}"
        screen.line(f"worse, or chance?  rightcall diff {runs} --gate   # {first} and {other}")


def _row(name: str, report: Report) -> tuple[str, ...]:
    totals = report.totals
    others = [str(count) for count in (totals.failed, totals.error, totals.not_measured)]
    return (name, str(totals.passed), share_text(report.rate), *others, *_means(report), report.run_id)


def _means(report: Report) -> tuple[str, str]:
    """Return the mean time and the mean number of tokens of all repeats, where they are known of all."""
    results = list(report.results())
    seconds = [result.outcome.seconds for result in results if result.outcome is not None]
    usages = [result.trajectory.usage if result.trajectory is not None else None for result in results]
    tokens = [usage.total_tokens if usage is not None else None for usage in usages]
    known = [each for each in tokens if each is not None]
    time = f"{sum(seconds) / len(seconds):.2f}s" if seconds else "-"
    return time, f"{sum(known) / len(known):,.0f}" if known and len(known) == len(tokens) else "-"


def _verdicts(report: Report) -> dict[str, str]:
    """Return how each case ended; of repeats how many passed."""
    found: dict[str, list[CaseResult]] = {}
    for result in report.results():
        found.setdefault(result.case_id, []).append(result)
    return {
        case: results[0].verdict if len(results) == 1 else f"{sum([one.passed for one in results])} of {len(results)}"
        for case, results in found.items()
    }
