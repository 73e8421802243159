"""`rightcall score --out`: any number of recorded traces, scored part by part into files, here or by an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

import click
from msgspec.structs import replace

from rightcall.cases.evalsets import quarantined_cases
from rightcall.errors import RightcallError
from rightcall.reporting.paths import PathCounts
from rightcall.reporting.reports import Line, Paper, escape_commands, printable, seconds_text, share_text
from rightcall.reporting.store import Sample
from rightcall.scale.columns import Plan
from rightcall.scale.lake import (
    Counting,
    ExampleRow,
    Job,
    LabelCounts,
    Scorers,
    Summary,
    exemplars,
    summarise,
    write_paths,
    write_summary,
)
from rightcall.scale.processes import default_workers
from rightcall.scale.request import Request
from rightcall.values.decoding import dump_json
from rightcall.values.redaction import redacted_text
from rightcall.values.results import count_text

from .._files import check_writable, new_file
from .._live import LakeProgress, Stopping
from .._options import reading_of
from .._output import Screen, print_error, stdout_guard
from ._local import SavedRun

FORMATS = ("full", "concise", "json")
"""The formats of a summary. The others list cases, and there are too many rows for that."""

_NOT_WITH_OUT = {
    "gate": "--gate compares the trials of each case, and parts are scored apart: score without --out",
    "min_rate": "--min-rate counts the trials of each case, and parts are scored apart: score without --out",
    "must": "--must judges all trials of a case, and parts are scored apart: score without --out",
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
"""Scores the parts of a job that are not scored yet; returns how many could not be scored."""
_BAR = 30
_NAME = 40
_WIDTH = 100


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
        raise click.UsageError("--join order does not work with --out: parts are scored in no fixed order")
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
        self._reading = reading_of(options, request)
        self._unreadable = 0

    def run(self) -> int:
        """Score what is not scored yet, and report the totals of everything. Raises `RightcallError`."""
        started, engine = perf_counter(), self._options["engine"]
        if self._plan.overall:
            names = ", ".join([check.evaluator.id for check in self._plan.overall])
            print_error(f"not asked, because rows are scored apart: evaluators of all cases together ({names})")
        summary, before, run_id = self._by_spark() if engine == "spark" else self._by_parts(engine, started)
        self._print(summary, before, perf_counter() - started, run_id)
        return summary.exit_code

    def _by_parts(self, engine: str, started: float) -> tuple[Summary, int, str]:
        """Return the summary of all scores, how many of them were there before, and the id of the run."""
        traces, paths = self._options["traces"], self._options["paths"]
        with Job(traces, self._plan, self._out, self._reading, paths=paths, complain=self._cannot_read) as job:
            before = sum(job.done.values())
            failed = self._scored(job, engine)
            counting = job.count()
            summary = counting.summary(self._case_ids, failed_parts=failed + self._unreadable)
            seconds = perf_counter() - started
            run_id = self._save_run(job, counting, summary, seconds) if self._options["keep"] else ""
            if paths:
                write_paths(self._out, job.paths(), redacts=self._options["redact"] is not False)
            self._write(summary, self._out)
        return summary, before, run_id

    def _by_spark(self) -> tuple[Summary, int, str]:
        from rightcall.scale.spark import score_tables, spark_session

        counts = PathCounts() if self._options["paths"] else None
        with spark_session() as spark:
            folder = score_tables(spark, self._options["traces"], self._plan, self._out, self._reading, counts=counts)
        try:
            summary = summarise(folder, self._case_ids, quarantined=frozenset(quarantined_cases(self._plan.cases)))
            if counts is not None:
                write_paths(folder, counts, redacts=self._options["redact"] is not False)
            self._write(summary, folder)
        except RightcallError as problem:
            raise RightcallError(
                f"{self._out}: the scores are there, but they cannot be summarised from here: {problem}"
            ) from None
        return summary, 0, ""

    @property
    def _case_ids(self) -> list[str]:
        if not self._plan.is_eval_set:
            return []
        return [case.id for case in self._plan.cases if case is not self._plan.every]

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
        sample = Sample(summary.rows - summary.no_case - summary.quarantined, groups, summary.more_groups)
        rate = summary.pass_rate
        saved.finish(summary.totals, summary.evaluators, seconds, is_complete=True, rate=rate, sample=sample)
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

    def _print(self, summary: Summary, before: int, seconds: float, run_id: str) -> None:
        if summary.no_case:
            print_error(f"{count_text(summary.no_case, 'trace')} not judged: no case matches")
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


def summary_lines(
    summary: Summary, out: str, before: int, seconds: float, run_id: str, paper: Paper | None
) -> Iterator[Line]:
    """Yield the lines of a summary: shares, scores, common failures, evaluators, the slowest, examples, and the totals.

    Args:
        summary: The summary.
        out: Where the scores are.
        before: How many rows an earlier command had scored.
        seconds: How long this one took.
        run_id: The id of the run that was saved, if one was.
        paper: What it is written on; plain text by default.
    """
    paper = paper or Paper(width=_WIDTH)
    yield from _scores(summary, paper)
    yield from _rules(summary)
    yield from _evaluators(summary)
    if summary.slowest:
        yield from _titled("slowest", [f"{seconds_text(slow.seconds):>9}  {slow.id}" for slow in summary.slowest])
    yield from _titled("in error, for example", _examples(summary.errors))
    yield from _titled("not measured, for example", _examples(summary.not_measured))
    if summary.unmet_cases:
        noun = "case" if summary.unmet_cases == 1 else "cases"
        more = f" and {summary.unmet_cases - len(summary.unmet):,} more" * (summary.unmet_cases > len(summary.unmet))
        yield from _titled(f"no row belongs to {summary.unmet_cases:,} {noun}", [", ".join(summary.unmet) + more])
    if summary.compared is not None:
        yield from _titled("verdicts against those of the source", _compared(summary.compared))
    yield from _ending(summary, out, before, seconds, run_id)


def _compared(counts: LabelCounts) -> list[str]:
    """Return the lines of the comparison with the source, worded as in `judge-check` and in scoring without `--out`."""
    from rightcall.judging.models import Agreement

    from .._judge_check import agreement_lines

    held = (counts.both_passed, counts.source_passed, counts.verdict_passed, counts.both_failed)
    lines = list(agreement_lines(Agreement(*held), "source", "verdict"))
    lines += [f"differs: {name}" for name in counts.differing]
    lines += [f"not compared, because the source does not say: {counts.not_said:,}"] if counts.not_said else []
    lines += [f"not compared, because there is no verdict: {counts.not_measured:,}"] if counts.not_measured else []
    return [line for each in lines for line in each.split("\n") if line.strip()]


def redacted_summary(summary: Summary) -> Summary:
    """Return a summary without secrets in names and strings that come from traces."""
    return replace(
        summary,
        groups=tuple([replace(group, tool=redacted_text(group.tool)) for group in summary.groups]),
        slowest=tuple([replace(slow, id=redacted_text(slow.id)) for slow in summary.slowest]),
        errors=_redacted(summary.errors),
        not_measured=_redacted(summary.not_measured),
    )


def _redacted(examples: Sequence[ExampleRow]) -> tuple[ExampleRow, ...]:
    return tuple([ExampleRow(redacted_text(each.id), redacted_text(each.why)) for each in examples])


def _scores(summary: Summary, paper: Paper) -> Iterator[Line]:
    if summary.mean_score is None:
        return
    yield ((f"scores, {summary.mean_score:.3f} on average", "bold"),)
    most = max(summary.scores)
    full = "#" if paper.plain else "█"
    for number, rows in enumerate(summary.scores):
        bar = full * (rows * _BAR // most or (1 if rows else 0))
        yield (f"  {number / 10:.1f} to {(number + 1) / 10:.1f}  {bar:<{_BAR}}  {rows:,}".rstrip(" "),)
    yield ()


def _rules(summary: Summary) -> Iterator[Line]:
    width = max([len(f"{group.rows:,}") for group in summary.groups], default=0)
    lines = [f"{group.rows:>{width},}  {group.words} ({group.code})" for group in summary.groups]
    more = [f"and {summary.more_groups:,} more kinds of failure"] if summary.more_groups else []
    return _titled("failures, by rule and tool", [*lines, *more])


def _evaluators(summary: Summary) -> Iterator[Line]:
    if not summary.evaluators:
        return
    names = [name[:_NAME] for name in summary.evaluators]
    width = max(map(len, names))
    lines = []
    for name, totals in zip(names, summary.evaluators.values(), strict=True):
        counts = ((totals.passed, "passed"), (totals.failed, "failed"), (totals.error, "in error"))
        parts = [f"{count:,} {what}" for count, what in (*counts, (totals.not_measured, "not measured")) if count]
        mean = f", {totals.mean_score:.3f} on average" if totals.mean_score is not None else ""
        lines.append(f"{name:<{width}}  {', '.join(parts)}{mean}")
    yield from _titled("evaluators", lines)


def _examples(examples: Sequence[ExampleRow]) -> list[str]:
    return [f"{each.id}: {each.why}" for each in examples]


def _titled(title: str, lines: Sequence[str]) -> Iterator[Line]:
    if lines:
        yield ((title, "bold"),)
        yield from ((f"  {printable(line, one_line=True)}",) for line in lines)
        yield ()


def _ending(summary: Summary, out: str, before: int, seconds: float, run_id: str) -> Iterator[Line]:
    if summary.failed_parts:
        yield (
            (f"{summary.failed_parts:,} parts of the input are missing, because they could not be scored", "yellow"),
        )
    already = f", {before:,} of them scored before" if before else ""
    yield (f"{summary.rows:,} rows in {out}{already}{f'; run {run_id}' if run_id else ''}",)
    totals, measured = summary.totals, summary.totals.measured.measured
    of = f"of {measured:,} measured" if totals.error or totals.not_measured else "passed"
    rate = f" ({share_text(summary.pass_rate, measured)} {of})" if measured else ""
    rate += f", {summary.quarantined:,} in quarantine" if summary.quarantined else ""
    yield (f"{totals}{rate} in {seconds_text(seconds)}",)
