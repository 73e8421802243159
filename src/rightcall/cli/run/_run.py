"""One run of `rightcall run`: a loop over events, and its gate; several variants side by side; or what would be run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from functools import cached_property
from time import monotonic

import click
import msgspec

from rightcall.errors import StoreError
from rightcall.matching.matchers import NamePattern
from rightcall.reporting.changes import Rounds
from rightcall.reporting.reports import Report, share_text
from rightcall.reporting.store import RUNS, GateRecord, RunFolder
from rightcall.running import runner
from rightcall.running.frameworks import FoundTool, ToolInventory
from rightcall.values.redaction import redacted_overall
from rightcall.values.results import CaseResult, OverallResult, Totals

from .._gate import print_gate
from .._live import Progress, Stopping
from .._output import Output, Screen, print_error, stdout_guard
from ._plan import (
    CaseJudged,
    Counts,
    Event,
    JournalListener,
    Judgements,
    Listener,
    PlannedRun,
    ProgressListener,
    SpanListener,
    Waiting,
)
from ._request import RunRequest

_INTERRUPTED = 130
_NOT_KEPT = 2
_MOMENT = 0.05
"""Seconds to wait for evaluators before checking whether to stop."""
_PLACE = "{variant}"
"""The placeholder for the variant in the name of a report's file."""
_MOST_NAMED = 20
_HEAD = ("variant", "passed", "rate", "failed", "error", "not measured", "mean time", "mean tokens", "run")


class Running:
    """One run of the command, once its options are known.

    Raises:
        RightcallError: the request cannot be met.
    """

    def __init__(self, options: RunRequest, output: Output | None = None) -> None:
        self._plan = PlannedRun(options)
        self._options = self._plan.options
        self._output = output or Output(msgspec.structs.asdict(self._options))
        overall = self._plan.chosen.eval_set.overall
        self._counts = Counts(self._plan.cases, overall, self._plan.needed, self._plan.quarantined)
        self._spans = SpanListener(self._options.spans, redacts=bool(self._options.redact))
        self._gating = Gating(self._plan)
        self._is_complete = False
        self._began = monotonic()
        self._overall: tuple[OverallResult, ...] = ()

    def run(self) -> int:
        """Run the remaining cases, report, and return the exit code. Raises `RightcallError`."""
        if self._plan.left_out:
            print_error(
                f"not run, because they have `when` and are about recorded traces: {self._plan.left_out:,} cases"
            )
        runner.hide_memory()
        with Stopping() as stopping, stdout_guard():
            for _ in self.steps(stopping):
                pass
        code = self.finish(self.report())
        if stopping.is_asked:
            self._print_how_to_resume()
            return _INTERRUPTED
        return code

    def finish(self, report: Report) -> int:
        """Print and write a report, and return the exit code. Raises `RightcallError`."""
        self._output.finish(report)
        if self._trouble is not None:
            print_error(self._trouble)
        # Never 0 for a run whose journal was changed.
        return report.exit_code or (_NOT_KEPT if self._trouble is not None else 0)

    @property
    def folder(self) -> RunFolder:
        """The folder of the run. Raises `StoreError` if nothing was begun."""
        if self._plan.run is None:
            raise StoreError("nothing was run, so there is nothing to compare")
        return self._plan.run

    def steps(self, stopping: Stopping) -> Iterator[None]:
        """Run the remaining cases, and yield after each event, so that several runs can take turns."""
        began = self._began = monotonic()
        for result in self._plan.resume():
            self._counts.add(result)
            self._gating.add(result)
        if self._plan.waiting and not self._gating.is_new:
            yield from self._carry_out(stopping)
            self._finish(monotonic() - began)
            return
        self._is_complete, self._overall = True, self._counts.all_cases.results()
        if self._gating.is_new and self._plan.journal is not None:
            self._plan.journal.close()  # the run was killed between its last result and its totals
            self._finish(monotonic() - began)

    def report(self) -> Report:
        """Return the report of what was run."""
        return self._report(self._counts.tally.totals(), monotonic() - self._began)

    def _carry_out(self, stopping: Stopping) -> Iterator[None]:
        """Run the plan: every listener receives every event."""
        progress = Progress(self._plan.total, self._plan.total - self._plan.waiting)
        listeners: list[Listener] = [self._plan.recordings, self._spans, ProgressListener(progress), self._counts]
        journal: JournalListener | None = None
        try:
            with closing(self._events(stopping)) as events:
                for event in events:
                    if isinstance(event, runner.RunStarted):
                        journal = self._begin(progress)
                        listeners.insert(0, journal)  # a result is written before anything is made of it
                    for listener in listeners:
                        listener(event)
                    if isinstance(event, CaseJudged) and self._ends_with(event.result):
                        break
                    yield
        finally:  # nothing of the agent is left by now
            progress.clear()
            self._spans.close()
            self._plan.recordings.save()
            if journal is not None:
                journal.close()
            elif self._plan.journal is not None:
                self._plan.journal.close()

    def _ends_with(self, result: CaseResult) -> bool:
        """Return whether the run stops: the gate has decided or, with `--fail-fast`, the case cannot pass any more."""
        self._gating.add(result)
        if self._gating.is_new:
            self._is_complete = True
            return True
        return self._options.fail_fast and self._counts.tally.is_lost(result.case_id, self._plan.rounds[result.case_id])

    def _begin(self, progress: Progress) -> JournalListener:
        run, journal = self._plan.begin()
        self._spans.begin(run)
        return JournalListener(
            journal,
            self._plan.digests,
            self._output,
            progress,
            redacts=bool(self._options.redact),
            is_decided_later=max(self._plan.rounds.values()) > 1
            or self._options.is_gated
            or bool(self._plan.quarantined),
        )

    def _events(self, stopping: Stopping) -> Generator[Event, None, None]:
        """Yield the events of the runner and, after each, the results of evaluators that have finished by then."""
        options = self._plan.run_options()
        events = runner.run(self._plan.for_runner(), options, stopping)
        with Judgements(self._plan.cases, options.timeout) as judgements, closing(events):  # type: ignore[type-var]
            for event in events:
                yield event
                if isinstance(event, runner.CaseFinished):
                    judgements.submit(event)
                yield from judgements.finished()
                if isinstance(event, runner.RunFinished) and not event.stopped:
                    while judgements.are_open and not stopping.is_asked:
                        yield from judgements.finished(_MOMENT)
                        yield Waiting()
                    self._is_complete = not judgements.are_open

    def _finish(self, seconds: float) -> None:
        """Write the totals to the header of the run."""
        plan = self._plan
        if plan.run is None:
            return
        self._overall = self._counts.all_cases.results() if self._is_complete else ()
        plan.run = plan.run.finish(
            self._counts.tally.totals(),
            self._counts.aggregates.by_evaluator(),
            seconds,
            is_complete=self._is_complete,
            rate=self._counts.tally.rate(),
            overall=tuple(map(redacted_overall, self._overall)) if self._options.redact else self._overall,
            gate=self._gating.record if self._is_complete else None,
            journal=plan.journal,
        )

    @property
    def _trouble(self) -> str | None:
        """What is wrong with the journal, if another program has changed it."""
        return self._plan.journal.trouble if self._plan.journal is not None else None

    def _report(self, totals: Totals, seconds: float) -> Report:
        run = self._plan.run
        return Report(
            results=self._results,
            totals=totals,
            evaluators=self._counts.aggregates.by_evaluator(),
            overall=self._overall,
            subject=self._plan.chosen.eval_set.path,
            seconds=seconds,
            run_id=run.short_id if run is not None else "",
            agent=run.header.variant_of if run is not None else self._plan.chosen.agent,
            facts=run.header.known() if run is not None else (),
            notes=tuple(self._notes()),
            warnings=self._counts.warnings,
            repeats=self._counts.tally.repeats(always=self._gating.record is not None),
            quarantined=self._plan.quarantined,
            is_complete=self._is_complete,
            min_pass=self._options.min_pass if self._is_complete else None,
            gate=self._gating.record,
        )

    def _notes(self) -> Iterator[str]:
        yield from self._counts.notes(is_complete=self._is_complete)
        yield from self._plan.recordings.notes()
        if self._spans.problem is not None:
            yield f"note: not all spans are kept, though all results are: {self._spans.problem}"

    def _results(self) -> Iterator[CaseResult]:
        """Yield the written results of the plan."""
        run, journal = self._plan.run, self._plan.journal
        if run is not None:
            written = journal.results() if journal is not None and self._trouble is not None else run.results()
            yield from filter(self._plan.has, written)

    def _print_how_to_resume(self) -> None:
        run, runs = self._plan.run, self._options.runs_folder
        if run is None:
            print_error("stopped before any case was run")
            return
        where = f" --runs {shlex.quote(str(runs))}" if runs != RUNS else ""
        names = "".join([f"{shlex.quote(name)} " for name in self._options.names])
        print_error(f"stopped; go on with: rightcall run {names}--resume {run.header.id}{where}")


class Gating:
    """The gate of a run, if one was asked for.

    A gate that has decided has spent its error rate. If the run is resumed, the decision stays.

    Raises:
        InputError: the gate cannot be applied as requested.
    """

    def __init__(self, plan: PlannedRun) -> None:
        asked = plan.gate_plan()
        self._rounds = Rounds(asked) if asked is not None else None
        self._earlier = plan.run.header.gate if plan.run is not None else None

    def add(self, result: CaseResult) -> None:
        """Count a result."""
        if self._rounds is not None:
            self._rounds.take(result)

    @property
    def is_new(self) -> bool:
        """Whether the gate has decided now, so that the run may end; not if it had before the run was resumed."""
        return self._earlier is None and self._rounds is not None and self._rounds.decision is not None

    @property
    def record(self) -> GateRecord | None:
        """The decision; `None` as long as there is none."""
        return self._earlier if self._earlier is not None else self._made if self.is_new else None

    @cached_property
    def _made(self) -> GateRecord | None:
        from rightcall.reporting.reports import gate_record

        decision = self._rounds.decision if self._rounds is not None else None
        return gate_record(decision) if decision is not None else None


class _Files(Output):
    """The reports of one variant. They are files: on a terminal, results of several runs would be mixed."""

    def __init__(self, request: RunRequest, variant: str) -> None:
        named = [each.replace(_PLACE, variant) for each in request.formats]
        file = request.output_file and request.output_file.replace(_PLACE, variant)
        others = {"max_detail": request.max_detail, "redact": request.redact}
        super().__init__({"formats": named, "output_file": file, **others})
        self._printed = []

    def show(self, result: CaseResult) -> None:
        """Show nothing."""


def run_variants(request: RunRequest, *, is_watching: bool) -> int:
    """Run the cases on each variant, print the table, and return the most serious exit code.

    A single variant is run and reported as any agent is.

    Their trials take turns, so that an hour in which a provider is slow or broken is the same for all. With a gate, the
    variant that it names is what the others are compared with, and the gate decides the exit code.

    Raises:
        RightcallError: the request cannot be met.
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
    # A minimum rate and cases that must pass apply to each variant by itself, including the first.
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
            raise click.UsageError(f"{option} takes one run, and each --variant makes one: use one variant at a time")
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
    """Advance each run by one event in turn, until all are finished."""
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
    """Return the mean time and the mean number of tokens of all repeats; `-` if not known."""
    results = list(report.results())
    seconds = [result.outcome.seconds for result in results if result.outcome is not None]
    usages = [result.trajectory.usage if result.trajectory is not None else None for result in results]
    tokens = [usage.total_tokens if usage is not None else None for usage in usages]
    known = [each for each in tokens if each is not None]
    time = f"{sum(seconds) / len(seconds):.2f}s" if seconds else "-"
    return time, f"{sum(known) / len(known):,.0f}" if known and len(known) == len(tokens) else "-"


def _verdicts(report: Report) -> dict[str, str]:
    """Return the verdict of each case; for repeats, how many passed."""
    found: dict[str, list[CaseResult]] = {}
    for result in report.results():
        found.setdefault(result.case_id, []).append(result)
    return {
        case: results[0].verdict if len(results) == 1 else f"{sum([one.passed for one in results])} of {len(results)}"
        for case, results in found.items()
    }


def dry_run(options: RunRequest) -> int:
    """Load the agent, print the cases and tools, and return the exit code.

    Raises:
        RightcallError: what is asked cannot be run, as a real run would say.
    """
    plan = PlannedRun(options)
    inventory = None if plan.chosen.is_elsewhere else _inventory(plan)
    screen = Screen()
    for line in (*_case_lines(plan), "", *_tool_lines(plan, inventory)):
        screen.line(line)
    return 0


def _inventory(plan: PlannedRun) -> ToolInventory | None:
    """Load the agent in a worker, as a run does, and stop before the first request."""
    import msgspec

    options = msgspec.structs.replace(plan.run_options(), is_inspected=True, workers=1)
    events = runner.run(plan.for_runner(), options)
    try:
        for event in events:
            if isinstance(event, runner.RunStarted):
                return event.inventory
    finally:
        events.close()  # type: ignore[attr-defined]
    return None


def _case_lines(plan: PlannedRun) -> Iterator[str]:
    count = len(plan.cases)
    yield f"{count:,} case{'s' if count != 1 else ''} of {plan.chosen.eval_set.path}, agent {plan.chosen.agent}"
    width = max([len(case_id) for case_id in plan.cases], default=0)
    for case in plan.cases.values():
        facts = [f"{len(case.turns)} turns"] if case.turns else []
        facts += [f"{plan.rounds[case.id]} times"] if plan.rounds[case.id] > 1 else []
        facts += [f"mocks {', '.join(case.mocks)}"] if case.mocks else []
        yield f"  {case.id:<{width}}  {'; '.join(facts)}".rstrip()


def _tool_lines(plan: PlannedRun, inventory: ToolInventory | None) -> Iterator[str]:
    if inventory is None:
        yield "tools: those of another program, which are not known here"
        return
    if not inventory.tools:
        yield "tools: none were found" + ("; some may be made when the agent runs" if inventory.is_open else "")
        return
    yield "tools"
    named = [f"{tool.name}({', '.join(tool.parameters)})" for tool in inventory.tools]
    width = min(44, max(map(len, named)))
    for tool, text in zip(inventory.tools, named, strict=True):
        yield f"  {text:<{width}}  {tool.framework:<13}  {_stand_in(plan, tool)}"


def _stand_in(plan: PlannedRun, tool: FoundTool) -> str:
    """Say what answers for a tool in the selected cases."""
    if tool.is_source:
        return "lists its tools when the agent runs"
    mocking = [case for case in plan.cases.values() if any([_fits(name, tool.name) for name in case.mocks])]
    if len(mocking) == len(plan.cases):
        return "mocks"
    rest = "runs, and is recorded" if plan.options.record else "runs"
    if plan.options.replay and not plan.options.is_live("tools"):
        rest = "recording"
    if tool.problem:
        rest = f"runs: {tool.problem}"
    return f"mocks in {len(mocking)} of {len(plan.cases)} cases, else {rest}" if mocking else rest


def _fits(written: str, name: str) -> bool:
    return NamePattern.of(written).matches(name) if "*" in written else written == name
