"""`rightcall score`: verdicts from recorded traces, without running anything."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import msgspec

from rightcall.errors import InputError
from rightcall.evalsets import load_eval_set, load_expectation
from rightcall.readers import read
from rightcall.reports import concise_lines, concise_notes, json_report, summary
from rightcall.results import CaseResult, Totals, Verdict, gravest
from rightcall.trajectory import Trajectory
from rightcall.verdicts import CASE_ATTRIBUTE, Joining, judge, unjudged

from ._complaints import complain
from ._options import reading_options, trace_files
from ._selecting import selected
from ._terminal import Screen
from ._writing import write_text


@click.command(name="score")
@click.argument("traces", nargs=-1, required=True, metavar="TRACES...")
@click.option("--evalset", metavar="FILE", help="The eval set whose cases the traces belong to.")
@click.option("--expect", metavar="YAML|FILE", help="One expectation for all traces, such as 'calls: [search, book]'.")
@click.option("--case", "cases", multiple=True, metavar="GLOB", help="Only cases whose id matches; repeatable.")
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only cases with this tag; repeatable.")
@click.option(
    "--join",
    type=click.Choice(["auto", "attribute", "trace", "order"]),
    default="auto",
    help="By what traces are joined to cases.",
)
@click.option(
    "--case-attribute",
    default=CASE_ATTRIBUTE,
    metavar="NAME",
    help=f"The span attribute that holds a case's id; {CASE_ATTRIBUTE} by default.",
)
@reading_options
@click.option("--together", is_flag=True, help="Read all files as one source: spans in one, their logs in another.")
@click.option("--fail-fast", is_flag=True, help="Stop at the first case that does not pass.")
@click.option("--format", "format_", type=click.Choice(["concise", "json"]), default="concise", help="What is printed.")
@click.option("--output-file", metavar="FILE", help="Write all results to this file as JSON.")
def command(**options: Any) -> int:
    """Hold recorded traces against expectations, without running anything.

    TRACES are files or folders. Exit code: 0 all passed, 1 a case failed, 2 something could not be measured.
    """
    return _Scoring(msgspec.convert(options, Options)).run()


class Options(msgspec.Struct, frozen=True):
    """What the command line asks for."""

    traces: list[str]
    evalset: str | None
    expect: str | None
    cases: list[str]
    tags: list[str]
    join: Any
    case_attribute: str
    input_format: str | None
    grouping: Any
    max_size: int | None
    together: bool
    fail_fast: bool
    format_: str
    output_file: str | None


class _Scoring:
    """One run of the command."""

    def __init__(self, options: Options) -> None:
        if (options.evalset is None) == (options.expect is None):
            raise click.UsageError("give --evalset with a file of cases, or --expect with one expectation")
        if options.expect is not None and (options.cases or options.tags):
            raise click.UsageError("--case and --tag choose cases of an eval set; with --expect there are none")
        self._options = options
        self._screen = Screen()
        self._results: list[CaseResult] = []
        self._verdicts: dict[str, Verdict] = {}
        self._warnings: Counter[str] = Counter()
        self._unreadable = 0

    def run(self) -> int:
        started = perf_counter()
        for result in self._judged():
            self._take(result)
            if self._options.fail_fast and not result.passed:
                break
        totals = Totals.of(self._verdicts.values())
        self._report(totals, perf_counter() - started)
        return totals.exit_code or (2 if self._unreadable else 0)

    def _judged(self) -> Iterator[CaseResult]:
        if self._options.expect is not None:
            expected = load_expectation(*_expectation(self._options.expect))
            seen: dict[str, int] = {}
            for name, trajectory in self._trajectories():
                seen[name] = seen.get(name, 0) + 1
                yield judge(expected(name if seen[name] == 1 else f"{name}#{seen[name]}"), trajectory)
            return
        cases = selected(load_eval_set(str(self._options.evalset)).cases, self._options.cases, self._options.tags)
        joining = Joining(cases, self._options.join, self._options.case_attribute)
        for case, trajectory, repeat in joining.pairs(trajectory for _, trajectory in self._trajectories()):
            yield msgspec.structs.replace(judge(case, trajectory), repeat=repeat)
        for case in joining.left_over():
            yield unjudged(case, "RC303", "no trace belongs to this case")
        if joining.strangers:
            complain(f"not judged, because they belong to no case: {joining.strangers:,} trajectories")

    def _trajectories(self) -> Iterator[tuple[str, Trajectory]]:
        """Every trajectory in the files, with a name to tell it by. A file that cannot be read costs that file."""
        files = list(trace_files(self._options.traces))
        if self._options.together:
            yield from self._trajectories_in(files)
            return
        for path in files:
            try:
                yield from self._trajectories_in(path)
            except InputError as problem:
                self._unreadable += 1
                if self._unreadable == len(files):
                    raise
                complain(problem)

    def _trajectories_in(self, path: str | list[str]) -> Iterator[tuple[str, Trajectory]]:
        options = self._options
        found = read(
            path,
            input_format=options.input_format,
            grouping=options.grouping,
            max_size=options.max_size,
            metadata_attributes=(options.case_attribute,),
        )
        for number, trajectory in enumerate(found):
            name = path if isinstance(path, str) else "trajectory"
            yield trajectory.trace_id or f"{name}#{number + 1}", trajectory

    def _take(self, result: CaseResult) -> None:
        before = self._verdicts.get(result.case_id, "passed")
        self._verdicts[result.case_id] = gravest((before, result.verdict))
        if self._options.format_ == "concise":
            for line in concise_lines(result):
                self._screen.line(line)
        self._warnings.update(result.warnings)
        # Traces may be millions: a result is held only where a document of all of them is asked for.
        if self._options.format_ == "json" or self._options.output_file:
            self._results.append(result)

    def _report(self, totals: Totals, seconds: float) -> None:
        subject = self._options.evalset or self._options.expect or ""
        if self._options.format_ == "json":
            click.echo(json_report(self._results, totals, subject))
        else:
            for note in concise_notes(self._warnings):
                self._screen.line(note)
            self._screen.line(summary(totals, seconds))
        if self._options.output_file is not None:
            write_text(self._options.output_file, json_report(self._results, totals, subject))


def _expectation(given: str) -> tuple[bytes, str]:
    """The text of an expectation and a name for it; a file is named by its path."""
    if not os.path.isfile(given):
        return given.encode(), "--expect"
    try:
        return Path(given).read_bytes(), given
    except OSError as problem:
        raise InputError(f"{given}: {problem.strerror or problem}") from None
