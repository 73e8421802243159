"""The commands about runs on disk, `report`, `diff`, `baseline` and `stats`, and how any command opens a run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from rightcall.cases.evalsets import Case
from rightcall.errors import InputError, StoreError, nearest
from rightcall.reporting.changes import (
    CaseSide,
    Comparison,
    Steadiness,
    compare,
    gate_sides_in,
    redacted_comparison,
    sides_in,
    steadiness,
    steadiness_by,
    with_success,
)
from rightcall.reporting.paths import CasePaths, case_paths
from rightcall.reporting.reports import Report, parting_lines, plan_lines, redacted_report, steadiness_lines
from rightcall.reporting.store import RunFolder, list_runs, open_run, pooled
from rightcall.values.redaction import redacted
from rightcall.values.results import Aggregates, CaseResult, Source, Tally, count_text, measures_of

from ._files import new_file
from ._options import (
    GroupedCommand,
    Whole,
    configured,
    gate_options,
    no_redact_option,
    option,
    reading_of,
    reading_options,
    runs_folder,
    trace_files,
)
from ._output import FORMATS, Screen, Style, append_step_summary, print_error

_NAMES = ("junit", "github", "markdown", "json", "html")
_TRIES = 5


@click.command(name="report")
@click.argument("run", metavar="RUN")
@click.option(
    "--format",
    "formats",
    multiple=True,
    metavar="NAME[=FILE]",
    help="junit, github, markdown (the default), json or html, printed or written to a file; repeatable.",
)
@click.option("--baseline", metavar="RUN|FILE", help="Show what changed since a run or a baseline file, in Markdown.")
@click.option(
    "--gate",
    "base",
    metavar="BASE",
    help="Compare with a run, a branch or a baseline file; the result is the exit code.",
)
@gate_options
@click.option("--runs", metavar="DIR", help="Where runs are kept; .rightcall/runs by default.")
@no_redact_option
@click.pass_context
def report(
    context: click.Context,
    /,
    run: str,
    formats: tuple[str, ...],
    baseline: str | None,
    base: str | None,
    runs: str | None,
    no_redact: bool,
    **rule: Any,
) -> int:
    """Write a run as JUnit XML, GitHub annotations, Markdown, JSON or one HTML file.

    RUN is a folder, the beginning of an id, a branch (its newest run), or `last`. The exit code is 0. With --gate it is
    that of the comparison, which every format then has.
    """
    asked = _asked(formats or ("markdown",))
    found = opened(run, runs)
    # A baseline file has trials but no paths, so it can only be compared by a gate.
    against = baseline if base is None and baseline is not None and Path(baseline).is_file() else base
    other = opened(baseline, runs) if baseline is not None and not Path(baseline).is_file() else None
    made = report_of(found, redacts=not no_redact)
    if against is not None:
        from ._gate import gated_report

        configured(context, rule)
        made = gated_report(made, found, against, runs_folder(runs), rule)
    for name, file in asked:
        pieces = _pieces(name, made, (other, found), redacts=not no_redact)
        if file is None:
            for piece in pieces:
                click.echo(piece, nl=False)
        else:
            with new_file(file) as written:
                written.writelines(pieces)
        if name == "github":
            append_step_summary(made)
    return made.exit_code if base is not None else 0


def _asked(formats: tuple[str, ...]) -> list[tuple[str, str | None]]:
    """Return each format and its file; `None` is standard output, which takes one format."""
    asked: list[tuple[str, str | None]] = []
    for given in formats:
        name, equals, file = given.partition("=")
        if name not in _NAMES:
            raise click.UsageError(f"no format {name!r:.40}; {nearest(name, _NAMES)}")
        if equals and not file:
            raise click.UsageError(f"--format {given}: the name of a file is missing")
        asked.append((name, file or None))
    if sum(file is None for _, file in asked) > 1:
        raise click.UsageError("one format can be printed; give the others a file, such as --format junit=junit.xml")
    return asked


def _pieces(name: str, report: Report, runs: tuple[RunFolder | None, RunFolder], *, redacts: bool) -> Iterator[str]:
    before, after = runs
    if name == "markdown" and before is not None:
        from rightcall.reporting.reports import markdown_report

        comparison = compared(sides_in(before), sides_in(after), redacts=redacts)
        return markdown_report(report, comparison, name_of(before))
    return FORMATS[name](report, Style.of_file())


@click.command(name="diff", cls=GroupedCommand)
@click.argument("names", nargs=-1, required=True, metavar="RUN RUN...")
@option("What", "--runs", metavar="DIR", help="Where runs are kept; .rightcall/runs by default.")
@option(
    "Gate", "--fail-on-flip", is_flag=True, help="Exit with 1 if a case passed in the first run and not in the last."
)
@option(
    "Output",
    "--max",
    "most",
    type=Whole(0),
    default=50,
    show_default=True,
    help="How many changes of each kind to list.",
)
@option(
    "What",
    "--ignore-arg",
    "ignored",
    multiple=True,
    metavar="[TOOL.]NAME",
    help="Do not compare this argument, such as a generated id; repeatable.",
)
@option(
    "Gate",
    "--gate",
    "is_gate",
    is_flag=True,
    help="Decide whether the last run is worse, or the difference may be chance.",
)
@gate_options
@no_redact_option
@click.pass_context
def diff(
    context: click.Context,
    /,
    names: tuple[str, ...],
    runs: str | None,
    fail_on_flip: bool,
    most: int,
    ignored: tuple[str, ...],
    is_gate: bool,
    no_redact: bool,
    **rule: Any,
) -> int:
    """Show what changed between runs: regressions, fixes and other paths.

    RUN is a folder, the beginning of an id, a branch (its newest run), or `last`. A difference is not a failure: the
    exit code is 0. With --gate it is 1 where the last run is worse, and 2 where that is inconclusive.
    """
    if len(names) < 2:
        raise click.UsageError("diff compares two runs or more: rightcall diff main last")
    if ignored and (is_gate or len(names) > 2):
        raise click.UsageError("--ignore-arg is for the paths of two runs; gates and tables compare only verdicts")
    found = [opened(name, runs) for name in names]
    if is_gate:
        if fail_on_flip or len(found) > 2:
            raise click.UsageError("--gate compares two runs, and decides instead of --fail-on-flip")
        from ._gate import print_gate

        configured(context, rule)
        return print_gate(found[0], found[1], rule)
    from rightcall.reporting.reports import comparison_lines, verdict_lines

    sides = [sides_in(run, ignored) for run in found]
    called = [name_of(run) for run in found]
    screen = Screen()
    comparison = compared(sides[0], sides[-1], redacts=not no_redact)
    if len(found) == 2:
        lines = comparison_lines(comparison, screen.paper(), (called[0], called[1]), most)
    else:
        lines = verdict_lines(sides, called, screen.paper(), [gate_sides_in(run) for run in found])
    for line in lines:
        screen.line(*line)
    worse = [change for change in comparison.cases if change.is_regression and not change.is_quarantined]
    if not fail_on_flip or not worse:
        return 0
    return 1 if any(change.after is not None and change.after.verdict == "failed" for change in worse) else 2


def opened(name: str, runs: str | None) -> RunFolder:
    """Return a run by its folder, id, branch or `last`, and warn if it is not complete. Raises `StoreError`."""
    run = open_run(name, runs_folder(runs))
    if run.header.finished is None:
        print_error(f"run {run.short_id} is not complete; its results so far are shown")
    return run


def report_of(run: RunFolder, *, redacts: bool = True) -> Report:
    """Return the report of a run, without secrets if it `redacts`. The totals of a killed run are counted now.

    Raises:
        StoreError: its journal cannot be read, or another program has changed it.
    """
    run.check()
    header = run.header
    totals, evaluators = header.totals, header.evaluators
    repeats = run.repeats(always=header.gate is not None)
    if totals is None or header.finished is None:
        tally, aggregates = Tally(run.needed, run.needed_of, run.quarantined), Aggregates()
        for result in run.results():
            tally.count(result.case_id, result.verdict, result.repeat)
            aggregates.add(() if result.case_id in run.quarantined else measures_of(result.results))
        totals, evaluators = tally.totals(), aggregates.by_evaluator()
    report = Report(
        results=run.results,
        totals=totals,
        evaluators=evaluators,
        overall=header.overall,
        subject=header.evalset,
        seconds=header.seconds or 0.0,
        run_id=run.short_id,
        agent=header.variant_of,
        facts=header.known(),
        notes=_notes(run),
        repeats=repeats,
        gate=header.gate,
        quarantined=run.quarantined,
        is_complete=run.header.finished is not None,
        min_pass=_min_pass(run),
    )
    return redacted_report(report) if redacts else report


def _min_pass(run: RunFolder) -> float | None:
    share = run.header.options.get("min_pass")
    return share if isinstance(share, (int, float)) and run.header.finished is not None else None


def _notes(run: RunFolder) -> tuple[str, ...]:
    if run.header.finished is None:
        return ("this run is not complete; its results so far are shown",)
    sample = run.header.sample
    return () if sample is None else (sample.note(sum(1 for _ in run.entries())),)


def last_run_of(evalset: str, runs: Path, *, is_recorded: bool = False) -> RunFolder:
    """Return the newest run of an eval set by an agent or, if `is_recorded`, of traces. Raises `StoreError`."""
    meant = Path(evalset).resolve()
    for folder in reversed(list_runs(runs)):
        run = open_run(str(folder))
        if bool(run.header.agent) != is_recorded and Path(run.header.evalset).resolve() == meant:
            return run
    raise StoreError(f"{runs}: no run of {evalset} yet, so none failed")


def failed_in(run: RunFolder, cases: Sequence[Case]) -> list[Case]:
    """Return the cases that did not pass in a run, or that it did not reach.

    Raises:
        StoreError: there are none, or the run cannot be read.
    """
    results = list(run.results())
    bad = {result.case_id for result in results if not result.passed and result.case_id not in run.quarantined}
    if run.header.finished is None:  # what a run did not get round to did not pass either
        bad |= {case.id for case in cases} - {result.case_id for result in results}
    chosen = [case for case in cases if case.id in bad]
    if not chosen:
        raise StoreError(f"none of the selected cases failed in the last run ({run.short_id}); leave out --failed")
    return chosen


def compared(before: Mapping[str, CaseSide], after: Mapping[str, CaseSide], *, redacts: bool) -> Comparison:
    """Return what changed between two runs, without secrets if it `redacts`."""
    comparison = compare(before, after)
    return redacted_comparison(comparison) if redacts else comparison


def name_of(run: RunFolder) -> str:
    """Return the name of a run beside others: its branch, if it has one, and its id."""
    return f"{run.header.branch} {run.short_id}" if run.header.branch else run.short_id


@click.command(name="baseline")
@click.argument("names", nargs=-1, required=True, metavar="RUN...")
@click.option("--to", "path", required=True, metavar="FILE", help="The file, such as evals/shop.baseline.json.")
@click.option("--runs", metavar="DIR", help="Where runs are kept; .rightcall/runs by default.")
def baseline(names: tuple[str, ...], path: str, runs: str | None) -> int:
    """Pool the trials of finished runs into a file, which `--gate FILE` compares with.

    RUN is a folder, the beginning of an id, a branch (its newest run), or `last`. The file has a line for each case,
    and no times: keep it in the repository, beside the eval set.
    """
    found = {run.folder: run for run in [open_run(name, runs_folder(runs)) for name in names]}
    baseline = pooled(list(found.values()))
    with new_file(path) as file:
        file.write(baseline.text())
    trials = sum([case.passed + case.failed + case.error + case.not_measured for case in baseline.cases.values()])
    cases = count_text(len(baseline.cases), "case")
    Screen().line(f"{path}: {cases}, {count_text(trials, 'trial')} of {count_text(len(found), 'run')}")
    return 0


@click.command(name="stats", cls=GroupedCommand)
@click.argument("run", metavar="[RUN|TRACES]", default="last")
@option("What", "--case", "case_id", metavar="ID", help="Show where the runs of this case diverge.")
@option(
    "What", "--by", metavar="KEY", help="Count as success what traces say under this key of metadata, such as reward."
)
@option("What", "--runs", metavar="DIR", help="Where runs are kept; .rightcall/runs by default.")
@option(
    "Output",
    "-k",
    "k",
    type=Whole(1, 1_000),
    help="How many tries all have to pass; 5 by default, or as many as there are.",
)
@option("Output", "--plan", is_flag=True, help="Show how many repeats it takes to detect a drop.")
@reading_options
@no_redact_option
def stats(run: str, k: int | None, case_id: str | None, by: str | None, plan: bool, **options: Any) -> int:
    """Show how steady cases are: pass rates, intervals, the chance that all of k tries pass.

    RUN is a folder, the beginning of an id, a branch (its newest run), or `last`, the default. Repeats come from
    `rightcall run --repeat`, or from recorded traces that say which repeat they are. With --by, files or folders of
    such TRACES can be counted as they are, without an eval set. The exit code is 0.
    """
    subject = _Traces(run, by, options) if _is_of_traces(run) else _Run(run, by, options["runs"])
    screen = Screen()
    if case_id is not None:
        lines = parting_lines(_paths(subject, case_id, redacts=not options["no_redact"]), screen.paper())
    elif plan:
        counted = subject.steadiness()
        lines = plan_lines(counted, counted.most_trials)
    else:
        counted = subject.steadiness()
        screen.line(_headline(subject, counted))
        tries = k or min(_TRIES, counted.most_trials)
        name = run if by is None else f"{run} --by {by}"
        lines = steadiness_lines(counted, tries, screen.paper(), name, has_every_k=True)
    for line in lines:
        screen.line(*line)
    return 0


def _is_of_traces(name: str) -> bool:
    """Return whether a name is that of an existing file or folder, and not the folder of a run."""
    return os.path.exists(name) and not os.path.isfile(os.path.join(name, "run.json"))


class _Run:
    """The trials of a run, by their verdicts or by the success that their traces report."""

    def __init__(self, name: str, by: str | None, runs: str | None) -> None:
        self._run: RunFolder = opened(name, runs)
        self._run.check()
        self._by = by
        self.name = f"run {self._run.short_id}"
        self.about = self._run.header.agent or self._run.header.evalset

    def steadiness(self) -> Steadiness:
        """Return its trials. Raises `InputError`."""
        if self._by is None:
            return steadiness(self._run.trials(), self._run.quarantined)
        return _counted_by(self._by, list(self._run.results()), self.name)

    def results(self) -> list[CaseResult]:
        """Return its results."""
        return list(self._run.results())


class _Traces:
    """The trials in recorded traces that name their case, by the success that they report."""

    def __init__(self, path: str, by: str | None, options: dict[str, Any]) -> None:
        if by is None:
            raise InputError(f"{path}: traces have no verdicts; give --by with a key of their metadata, such as reward")
        self._by = by
        self.name = path
        self.about = f"by {by}"
        self._results = _recorded(list(trace_files((path,))), options)
        if not self._results:
            raise InputError(f"{path}: no trace names its case, in `rightcall.case.id` or `task_id`")

    def steadiness(self) -> Steadiness:
        """Return its trials. Raises `InputError`."""
        return _counted_by(self._by, self._results, self.name)

    def results(self) -> list[CaseResult]:
        """Return a result for each trace, with the verdict by the key."""
        return with_success(self._by, self._results)


def _recorded(files: Sequence[str], options: dict[str, Any]) -> list[CaseResult]:
    """Return the traces that name their case, as results without a verdict."""
    from rightcall.cases.verdicts import CASE_ATTRIBUTE

    often: Counter[str] = Counter()
    found: list[CaseResult] = []
    for file in files:
        for trajectory in reading_of(options).read(file):
            named = trajectory.metadata.get(CASE_ATTRIBUTE)
            if named is None:
                continue
            case_id = str(named)
            source = Source(file, 1, 1)
            # Numbered by arrival, because two files may both begin with repeat 0.
            found.append(
                CaseResult(
                    case_id=case_id,
                    verdict="not_measured",
                    score=None,
                    source=source,
                    trajectory=trajectory,
                    repeat=often[case_id],
                )
            )
            often[case_id] += 1
    return found


def _counted_by(key: str, results: Sequence[CaseResult], name: str) -> Steadiness:
    """Count by a key of the metadata of traces. Raises `InputError` if none of them has it."""
    counted = steadiness_by(key, results)
    if not any([case.measured.measured for case in counted.cases]):
        known = {name for result in results if result.trajectory for name in result.trajectory.metadata}
        raise InputError(
            f"no trace of {name} has {key!r:.80} as true, false or a number; {nearest(key, sorted(known))}"
        )
    return counted


def _headline(subject: _Run | _Traces, counted: Steadiness) -> str:
    trials = {len(case.verdicts) for case in counted.cases}
    each = f" × {min(trials)}" if len(trials) == 1 else f" × {min(trials)} to {max(trials)}" if trials else ""
    parts = [subject.name, count_text(len(counted.cases), "case") + each, subject.about]
    return "  ".join([part for part in parts if part])


def _paths(subject: _Run | _Traces, case_id: str, *, redacts: bool) -> CasePaths:
    everything = subject.results()
    results = [result for result in everything if result.case_id == case_id]
    if not results:
        known = tuple(dict.fromkeys([result.case_id for result in everything]))
        raise InputError(f"{subject.name} has no case {case_id!r:.80}; {nearest(case_id, known)}")
    results.sort(key=lambda result: result.repeat)
    return case_paths(case_id, [redacted(result) for result in results] if redacts else results)
