"""`rightcall score --out`: any number of recorded traces, scored part by part into files, here or by an engine."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import click

from rightcall.errors import RightcallError
from rightcall.reporting.reports import escape_commands
from rightcall.reporting.store import Sample
from rightcall.scale.columns import Plan
from rightcall.scale.lake import Counting, Job, Scorers, Summary, exemplars, summarise, write_summary
from rightcall.scale.processes import default_workers
from rightcall.scale.request import Request
from rightcall.values.decoding import dump_json

from .._errors import print_error
from .._options import reading_of
from .._progress import LakeProgress
from .._stdout_guard import stdout_guard
from .._stopping import Stopping
from .._terminal import Screen
from .._writing import check_writable, new_file
from ._save_run import SavedRun
from ._summary import redacted_summary, summary_lines

FORMATS = ("full", "concise", "json")
"""The formats of a summary. The others list cases, and there are too many rows for that."""

_NOT_WITH_OUT = {
    "fail_fast": "--fail-fast stops at the first failure, but parts are scored in no order",
    "together": "--together reads all files as one, but each is scored apart",
    "is_watching": "--watch scores again whenever a file changes; give the command again, and what changed is scored",
    "is_detailed": "--print-detailed-results prints every result; with --keep some of each kind are kept to look at",
    "output_file": "--output-file writes all results as one document; they are in the folder, and --format "
    "json=FILE writes the summary",
}
"""Options that do not go with scores in a folder, and why."""

_NOT_WITH_SPARK = {
    "workers": "--workers says how many processes there are, but Spark has settings of its own for that",
    "keep": "--keep reads rows again to look at, but only Spark can read them; use --engine local or ray",
    "runs": "--runs is where --keep keeps rows to look at, and these only Spark can read; use --engine local or ray",
    "input_format": "--input-format names the format of trace files, but Spark reads tables and lines of trajectories",
    "max_size": "--max-size limits trace files, but Spark reads tables and lines of trajectories",
}

Engine = Callable[[Job, int | None, "LakeProgress", Stopping], int]
"""Scores what waits in a job; how many parts could not be scored."""


def score_locally(job: Job, workers: int | None, progress: LakeProgress, stopping: Stopping) -> int:
    """Score by processes on this machine."""
    scorers = Scorers(job, workers or default_workers(), tell=progress.tell, complain=progress.complain, stop=stopping)
    scorers.run()
    return scorers.failed


def score_by_ray(job: Job, workers: int | None, progress: LakeProgress, stopping: Stopping) -> int:
    """Score by the tasks of a cluster of Ray."""
    from rightcall.scale.ray import score_job

    return score_job(job, workers, tell=progress.tell, complain=progress.complain, stop=stopping)


ENGINES: dict[str, Engine] = {"local": score_locally, "ray": score_by_ray}
"""Engines that score the parts of a job. Spark reads and writes tables by itself."""


def check_options(context: click.Context) -> None:
    """Refuse options that do not go with `--out`. Raises `click.UsageError`."""
    for name, why in _NOT_WITH_OUT.items():
        if context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"this cannot be done with --out: {why}")
    if context.params["engine"] == "spark":
        _check_options_of_spark(context)
    if context.params["join"] == "order":
        raise click.UsageError("--join order cannot be done with --out: parts are scored in no order")
    if context.get_parameter_source("formats") == click.core.ParameterSource.COMMANDLINE:
        for each in context.params["formats"]:
            if each.partition("=")[0] not in FORMATS:
                raise click.UsageError(
                    f"--format {each} lists every case, and cannot be done with --out: --keep some of each kind, then "
                    "`rightcall report`"
                )


def _check_options_of_spark(context: click.Context) -> None:
    for name, why in _NOT_WITH_SPARK.items():
        if context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"this cannot be done with --engine spark: {why}")


class LakeScoring:
    """One run of the command."""

    def __init__(self, request: Request, options: dict[str, Any]) -> None:
        self._request, self._options, self._out = request, options, options["out"]
        self._formats = [each for each in options["formats"] if each.partition("=")[0] in FORMATS] or ["full"]
        for each in self._formats:
            if file := each.partition("=")[2]:
                check_writable(file)
        self._plan = Plan.of_request(request)
        self._reading = reading_of(options)
        self._unreadable = 0

    def run(self) -> int:
        """Score what is not scored yet, and report the totals of everything. Raises `RightcallError`."""
        started, engine = perf_counter(), self._options["engine"]
        if self._plan.overall:
            names = ", ".join([check.evaluator.id for check in self._plan.overall])
            print_error(f"not asked, because rows are scored apart: evaluators of all cases together ({names})")
        summary, before, run_id = self._by_spark() if engine == "spark" else self._by_parts(engine, started)
        self._tell(summary, before, perf_counter() - started, run_id)
        return summary.exit_code

    def _by_parts(self, engine: str, started: float) -> tuple[Summary, int, str]:
        """Return the summary of all scores, how many of them were there before, and the id of the run."""
        with Job(self._options["traces"], self._plan, self._out, self._reading, complain=self._cannot_read) as job:
            before = sum(job.done.values())
            failed = self._scored(job, engine)
            counting = job.count()
            summary = counting.summary(self._case_ids, failed_parts=failed + self._unreadable)
            seconds = perf_counter() - started
            run_id = self._save_run(job, counting, summary, seconds) if self._options["keep"] else ""
            self._write(summary, self._out)
        return summary, before, run_id

    def _by_spark(self) -> tuple[Summary, int, str]:
        from rightcall.scale.spark import score_tables, spark_session

        with spark_session() as spark:
            folder = score_tables(spark, self._options["traces"], self._plan, self._out, self._reading)
        try:
            summary = summarise(folder, self._case_ids)
            self._write(summary, folder)
        except RightcallError as problem:
            raise RightcallError(
                f"{self._out}: the scores are there, but they cannot be summarised from here: {problem}"
            ) from None
        return summary, 0, ""

    @property
    def _case_ids(self) -> list[str]:
        return [case.id for case in self._plan.cases] if self._plan.is_eval_set else []

    def _save_run(self, job: Job, counting: Counting, summary: Summary, seconds: float) -> str:
        """Save some rows of each kind of failure, judged with all details, as a run; return its id.

        Raises:
            InputError: the input has changed.
            StoreError: the run cannot be saved.
        """
        saved = SavedRun(self._request, self._options, out=job.out)
        groups = tuple([(group.code, group.tool, group.rows) for group in summary.groups])
        try:
            with stdout_guard():
                for result in exemplars(job, counting):
                    saved.add(result)
        finally:
            saved.close()
        sample = Sample(summary.rows - summary.no_case, groups, summary.more_groups)
        saved.finish(summary.totals, summary.evaluators, seconds, is_complete=True, sample=sample)
        return saved.run.short_id

    def _write(self, summary: Summary, folder: str) -> None:
        write_summary(folder, summary if self._options["redact"] is False else redacted_summary(summary))

    def _scored(self, job: Job, engine: str) -> int:
        progress = LakeProgress(job)
        with Stopping() as stopping:
            try:
                return ENGINES[engine](job, self._options["workers"], progress, stopping)
            except KeyboardInterrupt:
                progress.clear()
                print_error(f"stopped; the same command goes on where this one was: {self._out}")
                raise
            finally:
                progress.clear()

    def _cannot_read(self, problem: object) -> None:
        self._unreadable += 1
        print_error(problem)

    def _tell(self, summary: Summary, before: int, seconds: float, run_id: str) -> None:
        if summary.no_case:
            print_error(f"not judged, because they belong to no case: {summary.no_case:,} trajectories")
        shown = summary if self._options["redact"] is False else redacted_summary(summary)
        screen = Screen()
        for each in dict.fromkeys(self._formats):
            name, _, file = each.partition("=")
            if file:
                with new_file(file) as written:
                    written.write(self._text(name, shown, before, seconds, run_id))
            elif name == "json":
                click.echo(self._text(name, shown, before, seconds, run_id), nl=False)
            else:
                for line in summary_lines(shown, self._out, before, seconds, run_id, screen.paper()):
                    screen.line(*line)

    def _text(self, name: str, summary: Summary, before: int, seconds: float, run_id: str) -> str:
        if name == "json":
            known = {"out": self._out, "run_id": run_id or None, "seconds": seconds, **summary.to_plain()}
            return dump_json(known, indent=2) + "\n"
        lines = summary_lines(summary, self._out, before, seconds, run_id, None)
        texts = ["".join([part if isinstance(part, str) else part[0] for part in line]) for line in lines]
        return "".join([f"{escape_commands(text)}\n" for text in texts])
