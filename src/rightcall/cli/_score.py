"""`rightcall score`: verdicts from recorded traces, without running anything."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

import click
import msgspec

from rightcall.batch import Request, Scored, Scoring
from rightcall.errors import InputError
from rightcall.reports import Report, json_case
from rightcall.results import Aggregates, Totals, Verdict, gravest

from ._answers import forget_answers, no_cache_option
from ._aside import aside
from ._complaints import complain
from ._formats import Telling, format_options
from ._kept import Kept
from ._recorded import RecordedOptions, joining_options


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
@no_cache_option
@click.option("--trust", is_flag=True, help="Import evaluators an eval set names though they are outside its project.")
@format_options
def command(**options: Any) -> int:
    """Hold recorded traces against expectations, without running anything.

    TRACES are files or folders. Exit code: 0 all passed, 1 a case failed, 2 something could not be measured.
    """
    if options.pop("no_cache"):
        forget_answers()
    return _Scoring(msgspec.convert(options, Options)).run()


class Options(RecordedOptions, frozen=True, kw_only=True):
    """What the command line asks for."""

    expect: str | None
    workers: int | None
    fail_fast: bool
    trust: bool
    formats: tuple[str, ...]
    max_detail: int
    output_file: str | None

    def request(self) -> Request:
        """What is asked of those who score."""
        expectation = _expectation(self.expect) if self.expect is not None else None
        return msgspec.structs.replace(super().request(), expectation=expectation, trust=self.trust)


class _Scoring:
    """One run of the command."""

    def __init__(self, options: Options) -> None:
        if (options.evalset is None) == (options.expect is None):
            raise click.UsageError("give --evalset with a file of cases, or --expect with one expectation")
        if options.expect is not None and (options.cases or options.tags):
            raise click.UsageError("--case and --tag choose cases of an eval set; with --expect there are none")
        self._options = options
        self._telling = Telling(options.formats, options.output_file, options.max_detail)
        self._verdicts: dict[str, Verdict] = {}
        self._aggregates = Aggregates()
        self._warnings: Counter[str] = Counter()
        request = msgspec.structs.replace(options.request(), wants_evidence=self._telling.wants_results)
        self._sources = options.sources(request)
        self._scoring = Scoring(request, self._sources, workers=options.workers)

    def run(self) -> int:
        started = perf_counter()
        with Kept() as kept, aside():
            for scored in self._taken():
                if self._telling.wants_results and scored.evidence:
                    kept.add(json_case(scored.result, scored.evidence))
            if self._scoring.strangers:
                complain(f"not judged, because they belong to no case: {self._scoring.strangers:,} trajectories")
            totals = self._totals()
            self._telling.finish(self._report(kept, totals, perf_counter() - started))
        return totals.exit_code or (2 if self._sources.unreadable else 0)

    def _report(self, kept: Kept, totals: Totals, seconds: float) -> Report:
        return Report(
            results=kept.results,
            totals=totals,
            evaluators=self._aggregates.by_evaluator(),
            subject=self._options.evalset or self._options.expect or "",
            seconds=seconds,
            warnings=self._warnings,
            documents=kept.documents,
        )

    def _totals(self) -> Totals:
        return Totals.of(self._verdicts.values())

    def _taken(self) -> Iterator[Scored]:
        """The results, each counted and told."""
        with closing(self._scoring.results()) as results:
            for scored in results:
                result = scored.result
                before = self._verdicts.get(result.case_id, "passed")
                self._verdicts[result.case_id] = gravest((before, result.verdict))
                self._aggregates.add(scored.measures)
                self._warnings.update(result.warnings)
                self._telling.tell(result)
                yield scored
                if self._options.fail_fast and not result.passed:
                    return


def _expectation(given: str) -> tuple[bytes, str]:
    """The text of an expectation and a name for it; a file is named by its path."""
    if not os.path.isfile(given):
        return given.encode(), "--expect"
    try:
        return Path(given).read_bytes(), given
    except OSError as problem:
        raise InputError(f"{given}: {problem.strerror or problem}") from None
