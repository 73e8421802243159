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

from rightcall.batch import Request, Scored, Scoring
from rightcall.errors import InputError
from rightcall.reports import concise_lines, concise_notes, json_case, json_report, summary
from rightcall.results import Aggregates, Totals, Verdict, gravest

from ._complaints import complain
from ._recorded import RecordedOptions, joining_options
from ._terminal import Screen
from ._writing import new_file


@click.command(name="score")
@click.argument("traces", nargs=-1, required=True, metavar="TRACES...")
@click.option("--evalset", metavar="FILE", help="The eval set whose cases the traces belong to.")
@click.option("--expect", metavar="YAML|FILE", help="One expectation for all traces, such as 'calls: [search, book]'.")
@joining_options
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


class Options(RecordedOptions, frozen=True, kw_only=True):
    """What the command line asks for."""

    expect: str | None
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
        expectation = _expectation(self.expect) if self.expect is not None else None
        return msgspec.structs.replace(super().request(), expectation=expectation, wants_evidence=self.wants_json)


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
        request = options.request()
        self._sources = options.sources(request)
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
