"""`rightcall score`: verdicts from recorded traces, without running anything."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import msgspec

from rightcall.batch import Request, Scored, Scoring, Sources
from rightcall.errors import InputError
from rightcall.reports import concise_lines, concise_notes, json_case, json_report, summary
from rightcall.results import Aggregates, Totals, Verdict, gravest
from rightcall.verdicts import CASE_ATTRIBUTE

from ._complaints import complain
from ._options import reading_options, trace_files
from ._terminal import Screen
from ._writing import new_file


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
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many processes share the work; as many as there are cores by default.",
)
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
    workers: int | None
    fail_fast: bool
    format_: str
    output_file: str | None

    @property
    def wants_json(self) -> bool:
        """Whether results are wanted with all that they are made of."""
        return self.format_ == "json" or self.output_file is not None

    def request(self) -> Request:
        """What is asked of those who score."""
        return Request(
            evalset=self.evalset,
            expectation=_expectation(self.expect) if self.expect is not None else None,
            case_globs=tuple(self.cases),
            tags=tuple(self.tags),
            join=self.join,
            case_attribute=self.case_attribute,
            input_format=self.input_format,
            grouping=self.grouping,
            max_size=self.max_size,
            wants_evidence=self.wants_json,
        )


class _Scoring:
    """One run of the command."""

    def __init__(self, options: Options) -> None:
        if (options.evalset is None) == (options.expect is None):
            raise click.UsageError("give --evalset with a file of cases, or --expect with one expectation")
        if options.expect is not None and (options.cases or options.tags):
            raise click.UsageError("--case and --tag choose cases of an eval set; with --expect there are none")
        self._options = options
        self._screen = Screen()
        self._verdicts: dict[str, Verdict] = {}
        self._aggregates = Aggregates()
        self._warnings: Counter[str] = Counter()
        files = list(trace_files(options.traces))
        request = options.request()
        self._sources = Sources(request, files, together=options.together, complain=complain)
        self._scoring = Scoring(request, self._sources, workers=options.workers)

    def run(self) -> int:
        started = perf_counter()
        if self._options.wants_json:
            self._write_json()
        else:
            for _ in self._taken():
                pass
        if self._scoring.strangers:
            complain(f"not judged, because they belong to no case: {self._scoring.strangers:,} trajectories")
        totals = self._totals()
        if self._options.format_ == "concise":
            for note in concise_notes(self._warnings):
                self._screen.line(note)
            self._screen.line(summary(totals, perf_counter() - started))
        return totals.exit_code or (2 if self._sources.unreadable else 0)

    def _totals(self) -> Totals:
        return Totals.of(self._verdicts.values())

    def _taken(self) -> Iterator[Scored]:
        """The results, each counted and, unless JSON is wanted instead, printed."""
        with closing(self._scoring.results()) as results:
            for scored in results:
                result = scored.result
                before = self._verdicts.get(result.case_id, "passed")
                self._verdicts[result.case_id] = gravest((before, result.verdict))
                self._aggregates.add(scored.measures)
                self._warnings.update(result.warnings)
                if self._options.format_ == "concise":
                    for line in concise_lines(result):
                        self._screen.line(line)
                yield scored
                if self._options.fail_fast and not result.passed:
                    return

    def _write_json(self) -> None:
        subject = self._options.evalset or self._options.expect or ""
        cases = (json_case(scored.result, scored.evidence) for scored in self._taken())
        with ExitStack() as stack:
            file = stack.enter_context(new_file(self._options.output_file)) if self._options.output_file else None
            for piece in json_report(cases, self._totals, self._aggregates, subject):
                if file is not None:
                    file.write(piece)
                if self._options.format_ == "json":
                    click.echo(piece, nl=False)


def _expectation(given: str) -> tuple[bytes, str]:
    """The text of an expectation and a name for it; a file is named by its path."""
    if not os.path.isfile(given):
        return given.encode(), "--expect"
    try:
        return Path(given).read_bytes(), given
    except OSError as problem:
        raise InputError(f"{given}: {problem.strerror or problem}") from None
