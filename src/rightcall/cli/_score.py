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

from rightcall.cases.extensions import code_files
from rightcall.cases.verdicts import exit_code
from rightcall.errors import InputError, MissingExtraError
from rightcall.reporting.reports import Report, json_case
from rightcall.reporting.store import RUNS
from rightcall.scale.local import Request, Scored, Scoring
from rightcall.values.results import Aggregates, CaseResult, OverallResult, Totals, Verdict, gravest

from ._answers import no_cache_option
from ._aside import aside
from ._complaints import complain
from ._configured import configured
from ._formats import Telling, format_options
from ._keeping import Keeping
from ._kept import Kept
from ._options import STANDARD_INPUT, trace_files
from ._recorded import RecordedOptions, joining_options
from ._stored import failed_in, last_run_of


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
@click.option(
    "--out", metavar="DIR", help="Score any number of rows, part by part, into Parquet files in this folder; resumes."
)
@click.option(
    "--engine",
    type=click.Choice(["local", "spark", "ray"]),
    default="local",
    show_default=True,
    help="Who scores with --out: processes here, Spark, or a cluster of Ray.",
)
@click.option("--fail-fast", is_flag=True, help="Stop at the first case that does not pass.")
@no_cache_option
@click.option("--trust", is_flag=True, help="Import evaluators an eval set names though they are outside this project.")
@click.option("--keep", is_flag=True, help="Keep the results as a run, to be viewed, reported and compared.")
@click.option("--runs", metavar="DIR", help="Keep them in this folder of runs; .rightcall/runs by default.")
@click.option(
    "--failed", is_flag=True, help="Only cases that did not pass when this eval set was last scored and kept."
)
@click.option("--watch", "is_watching", is_flag=True, help="Score again whenever a trace or the eval set changes.")
@format_options
@click.pass_context
def command(context: click.Context, /, is_watching: bool, **options: Any) -> int:
    """Check recorded traces against expectations, without running the agent.

    Custom evaluators that the eval set names are imported from the project of the current folder.

    TRACES are files, folders or patterns; - is standard input. Exit code: 0 all passed, 1 a case failed, 2 something
    could not be measured.
    """
    if STANDARD_INPUT in options["traces"] and (is_watching or options["out"] is not None):
        raise click.UsageError("standard input (-) is gone once it is read; with --out and --watch, give files")
    if options["out"] is not None:
        return _score_into(context, options)
    if options["engine"] != "local":
        raise click.UsageError("--engine scores into a folder of files: give --out with its name")
    asked = _options(context, options)
    if not is_watching:
        return _Scoring(asked).run()
    from ._watching import watch

    given = [one for one in (asked.evalset, asked.expect) if one is not None]
    code = code_files(asked.evalset) if asked.evalset is not None else []
    return watch(lambda: _Scoring(asked).run(), lambda: lambda: (*given, *code, *trace_files(asked.traces)))


class Options(RecordedOptions, frozen=True, kw_only=True):
    """What the command line asks for."""

    expect: str | None
    workers: int | None
    fail_fast: bool
    trust: bool
    formats: tuple[str, ...]
    max_detail: int
    output_file: str | None
    redact: bool | None
    is_detailed: bool
    keep: bool
    runs: str | None
    failed: bool
    out: str | None
    engine: str

    @property
    def runs_folder(self) -> Path:
        """Where runs are kept."""
        return RUNS if self.runs is None else Path(self.runs)

    def request(self) -> Request:
        """What is asked of those who score."""
        expectation = _expectation(self.expect) if self.expect is not None else None
        made = msgspec.structs.replace(super().request(), expectation=expectation, trust=self.trust)
        if not self.failed or self.evalset is None:
            return made
        failed = failed_in(last_run_of(self.evalset, self.runs_folder, is_recorded=True), made.cases())
        return msgspec.structs.replace(made, case_ids=frozenset([case.id for case in failed]))

    def kept(self) -> dict[str, Any]:
        """What is worth keeping of them."""
        return {"cases": self.cases, "tags": self.tags, "fail_fast": self.fail_fast, "redact": self.redact}


def _score_into(context: click.Context, options: dict[str, Any]) -> int:
    """Score into a folder of files."""
    try:
        import pyarrow  # noqa: F401 - it is asked for before anything that needs it is loaded
    except ImportError:
        raise MissingExtraError("--out writes Parquet files; to do so: pip install 'rightcall[arrow]'") from None
    from ._lake import Lake, check_options

    check_options(context)
    asked = _options(context, options)
    _check_expected(asked)
    return Lake(asked, options["out"]).run(options["engine"])


def _check_expected(options: Options) -> None:
    if (options.evalset is None) == (options.expect is None):
        raise click.UsageError("give --evalset with a file of cases, or --expect with one expectation")
    if options.expect is not None and (options.cases or options.tags or options.failed):
        raise click.UsageError("--case, --tag and --failed choose cases of an eval set; with --expect there are none")


def _options(context: click.Context, options: dict[str, Any]) -> Options:
    """The options of the command line and, where that says nothing, of the project's configuration."""
    configuration, given = configured(
        context, options, never=("traces", "evalset", "expect", "failed", "out", "engine")
    )
    evalset = configuration.values.get("evalset")
    if options["evalset"] is None and options["expect"] is None and isinstance(evalset, str):
        options["evalset"] = os.path.relpath(configuration.folder / evalset)
    if "runs" in given:
        options["keep"] = True
    elif options["runs"] is not None:
        options["runs"] = os.path.relpath(configuration.folder / options["runs"])
    return msgspec.convert(options, Options)


class _Scoring:
    """One run of the command."""

    def __init__(self, options: Options) -> None:
        _check_expected(options)
        self._options = options
        self._telling = Telling(
            options.formats,
            options.output_file,
            options.max_detail,
            redacts=options.redact is not False,
            is_detailed=options.is_detailed,
        )
        self._verdicts: dict[str, Verdict] = {}
        self._aggregates = Aggregates()
        self._warnings: Counter[str] = Counter()
        wanted = "all" if options.keep else self._telling.wants_results
        self._request = msgspec.structs.replace(options.request(), wants_evidence=wanted)
        self._sources = options.sources(self._request)
        self._scoring = Scoring(self._request, self._sources, workers=options.workers)
        self._keeping: Keeping | None = None
        self._is_complete = True
        self._overall: tuple[OverallResult, ...] = ()

    def run(self) -> int:
        started = perf_counter()
        with Kept() as kept, aside():
            try:
                for scored in self._taken():
                    self._keep(scored, kept)
            finally:
                if self._keeping is not None:
                    self._keeping.close()
            if self._scoring.strangers:
                complain(f"not judged, because they belong to no case: {self._scoring.strangers:,} trajectories")
            self._overall = self._scoring.overall.results() if self._is_complete else ()
            totals, seconds = self._totals(), perf_counter() - started
            if self._keeping is not None:
                evaluators = self._aggregates.by_evaluator()
                self._keeping.finish(totals, evaluators, seconds, is_complete=self._is_complete, overall=self._overall)
            self._telling.finish(self._report(kept, totals, seconds))
        return exit_code(totals.exit_code, self._overall) or (2 if self._sources.unreadable else 0)

    def _keep(self, scored: Scored, kept: Kept) -> None:
        """Keep a result until all are there and, if it is to be a run, for good."""
        if not scored.evidence:
            return
        document = json_case(scored.result, scored.evidence)
        if self._telling.wants_results:
            kept.add(document)
        if self._options.keep:
            if self._keeping is None:  # made with the first result: traces that cannot be read leave no run behind
                self._keeping = Keeping(self._options.runs_folder, self._request, self._options.kept())
            self._keeping.take(CaseResult.from_json(document))

    def _report(self, kept: Kept, totals: Totals, seconds: float) -> Report:
        return Report(
            results=kept.results,
            totals=totals,
            evaluators=self._aggregates.by_evaluator(),
            overall=self._overall,
            subject=self._options.evalset or self._options.expect or "",
            seconds=seconds,
            run_id=self._keeping.run.short_id if self._keeping is not None else "",
            notes=tuple(self._scoring.names.notes()) if self._is_complete else (),
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
                self._warnings.update(result.notes)
                self._telling.tell(result)
                yield scored
                if self._options.fail_fast and not result.passed:
                    self._is_complete = False
                    return


def _expectation(given: str) -> tuple[bytes, str]:
    """The text of an expectation and a name for it; a file is named by its path."""
    if not os.path.isfile(given):
        return given.encode(), "--expect"
    try:
        return Path(given).read_bytes(), given
    except OSError as problem:
        raise InputError(f"{given}: {problem.strerror or problem}") from None
