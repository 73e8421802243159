"""One run of `rightcall run`: a plan, a loop over events, what listens to them, and its gate."""

from __future__ import annotations

import shlex
from collections.abc import Generator, Iterator
from contextlib import closing
from functools import cached_property
from time import monotonic

import msgspec

from rightcall.errors import StoreError
from rightcall.reporting.changes import Rounds
from rightcall.reporting.reports import Report
from rightcall.reporting.store import RUNS, GateRecord, RunFolder
from rightcall.running import runner
from rightcall.values.redaction import redacted_overall
from rightcall.values.results import CaseResult, OverallResult, Totals

from .._live import Progress, Stopping
from .._output import Output
from .._terminal import print_error, stdout_guard
from ._listeners import (
    CaseJudged,
    Counts,
    Event,
    JournalListener,
    Judgements,
    Listener,
    ProgressListener,
    SpanListener,
    Waiting,
)
from ._plan import PlannedRun
from ._request import RunRequest

_INTERRUPTED = 130
_NOT_KEPT = 2
_MOMENT = 0.05
"""Seconds to wait for evaluators before looking whether to stop."""


class Running:
    """What `rightcall run` does, once its options are known.

    Raises:
        RightcallError: what is asked cannot be run.
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
        """Run what is left to be run, report it, and return the exit code. Raises `RightcallError`."""
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
            self._say_how_to_resume()
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
        """Where the run is kept. Raises `StoreError` where nothing was begun."""
        if self._plan.run is None:
            raise StoreError("nothing was run, so there is nothing to compare")
        return self._plan.run

    def steps(self, stopping: Stopping) -> Iterator[None]:
        """Run what is left to be run, and yield after each event, so that several runs can take turns."""
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
        """Whether the run stops here: the gate has spoken or, with `--fail-fast`, the case cannot pass any more."""
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
        """The events of the runner and, after each, the results of evaluators that have finished by then."""
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
            min_pass=self._options.min_pass if self._is_complete else None,
            gate=self._gating.record,
        )

    def _notes(self) -> Iterator[str]:
        yield from self._counts.notes(is_complete=self._is_complete)
        yield from self._plan.recordings.notes()
        if self._spans.problem is not None:
            yield f"note: not all spans are kept, though all results are: {self._spans.problem}"

    def _results(self) -> Iterator[CaseResult]:
        """The results of the plan as they were written, from where they can be read."""
        run, journal = self._plan.run, self._plan.journal
        if run is not None:
            written = journal.results() if journal is not None and self._trouble is not None else run.results()
            yield from filter(self._plan.has, written)

    def _say_how_to_resume(self) -> None:
        run, runs = self._plan.run, self._options.runs_folder
        if run is None:
            print_error("stopped before any case was run")
            return
        where = f" --runs {shlex.quote(str(runs))}" if runs != RUNS else ""
        names = "".join([f"{shlex.quote(name)} " for name in self._options.names])
        print_error(f"stopped; go on with: rightcall run {names}--resume {run.header.id}{where}")


class Gating:
    """What a gate says of a run; nothing where none was asked for.

    A gate that has spoken has spent its error rate. If the run is resumed, it stays with what it said.

    Raises:
        InputError: what is asked of the gate cannot be met.
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
        """Whether it has spoken now, so that the run may end. What it said before the run was resumed ends nothing."""
        return self._earlier is None and self._rounds is not None and self._rounds.decision is not None

    @property
    def record(self) -> GateRecord | None:
        """What it said; `None` as long as it has not spoken."""
        return self._earlier if self._earlier is not None else self._made if self.is_new else None

    @cached_property
    def _made(self) -> GateRecord | None:
        from rightcall.reporting.reports import gate_record

        decision = self._rounds.decision if self._rounds is not None else None
        return gate_record(decision) if decision is not None else None
