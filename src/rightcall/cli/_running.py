"""One run of `rightcall run`, from the eval set to the exit code."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import monotonic

import msgspec

from rightcall.cases.evalsets import Case, select_cases
from rightcall.cases.verdicts import Overall, ToolNames, exit_code
from rightcall.errors import AgentError, StoreError
from rightcall.reporting.reports import Report
from rightcall.reporting.store import (
    RUNS,
    Journal,
    RunFolder,
    case_digest,
    commit_of,
    create_run,
    file_digest,
    open_run,
)
from rightcall.running.runner import (
    CaseFinished,
    CaseJob,
    Event,
    RunFinished,
    RunPlan,
    RunStarted,
    WorkerReplaced,
    hide_memory,
    run,
)
from rightcall.values.redaction import redacted, redacted_address, redacted_overall
from rightcall.values.results import Aggregates, CaseResult, OverallResult, Tally, Totals, measures_of

from ._aside import aside
from ._choosing import choose
from ._complaints import complain
from ._formats import Telling
from ._judgements import Judgements
from ._progress import Progress
from ._recordings import Recordings
from ._spans import SpanKeeping
from ._stopping import Stopping
from ._stored import failed_in, last_run_of
from ._wishes import Wishes

_INTERRUPTED = 130
_NOT_KEPT = 2
_MOMENT = 0.05


class Running:
    """What `rightcall run` does, once its options are known."""

    def __init__(self, wishes: Wishes, telling: Telling | None = None) -> None:
        self._run = open_run(wishes.resume, wishes.runs_folder) if wishes.resume is not None else None
        if self._run is not None and not self._run.header.agent:
            raise StoreError(
                f"run {self._run.short_id} has recorded traces, which no agent of this command was run for"
            )
        self._wishes = wishes if self._run is None else wishes.resumed(self._run)
        self._wishes.check()
        self._chosen = choose(self._wishes.names, self._wishes.configuration, self._wishes.trust, self._wishes.recorded)
        self._cases = {case.id: case for case in self._selected()}
        if self._chosen.is_elsewhere:
            self._check_reach()
        self._recordings = Recordings(self._chosen.eval_set.path, self._wishes)
        self._spans = SpanKeeping(self._wishes.spans, redacts=bool(self._wishes.redact))
        # What an agent does depends on its files and on who answers for its tools: other results are not mixed in.
        agent = (self._chosen.agent, self._chosen.agent_digest())
        self._digests = {
            case.id: case_digest(case, *agent, self._recordings.of(case.id)) for case in self._cases.values()
        }
        wishes = self._wishes
        self._telling = telling or Telling(
            wishes.formats,
            wishes.output_file,
            wishes.max_detail,
            redacts=wishes.redact is not False,
            is_detailed=wishes.is_detailed,
        )
        self._tally = Tally(self._wishes.min_repeat_pass)
        self._aggregates = Aggregates()
        self._warnings: Counter[str] = Counter()
        self._replaced: Counter[str] = Counter()
        self._finished: set[tuple[str, int]] = set()
        timeout = self._wishes.run_options(self._chosen.eval_set).timeout
        self._judgements = Judgements(self._cases, timeout)
        self._overall = Overall(self._chosen.eval_set.overall)
        self._names = ToolNames(self._cases.values())
        self._is_complete = False
        self._all: tuple[OverallResult, ...] = ()
        self._journal: Journal | None = None
        self._untold: list[CaseResult] = []
        """Results that are in the journal, and are told when they are on the disk."""

    def run(self) -> int:
        """Run what is left to be run, and tell how it went."""
        began = monotonic()
        # From before its journal is read until the end, nobody else goes on with the run.
        if self._run is not None:
            self._journal = self._run.journal()
            self._run = RunFolder(self._run.folder, self._journal.header)
        self._take_up()
        plan = RunPlan(
            agent=self._chosen.agent, project=str(self._chosen.project), jobs=self._jobs(), total=self._left_to_do()
        )
        hide_memory()
        with Stopping() as stopping:
            self._is_complete = self._carry_out(plan, stopping, began)
        totals = self._tally.totals()
        self._telling.finish(self._report(totals, monotonic() - began))
        if self._journal is not None and self._journal.trouble is not None:
            complain(self._journal.trouble)
        if stopping.is_asked:
            self._tell_how_to_resume()
            return _INTERRUPTED
        return self._exit_code(totals, self._is_complete)

    def _selected(self) -> list[Case]:
        wishes = self._wishes
        cases = select_cases(self._chosen.eval_set.cases, wishes.cases, wishes.tags)
        if not wishes.failed:
            return cases
        return failed_in(last_run_of(self._chosen.eval_set.path, wishes.runs_folder), cases)

    def _check_reach(self) -> None:
        """Refuse to answer for tools that nobody here can answer for. Raises `AgentError`."""
        named = f"{self._chosen.agent!r:.80}, which is not a Python agent"
        for option in ("record", "replay"):
            if getattr(self._wishes, option):
                raise AgentError(f"--{option} is for tools of this process, not for those of {named}; leave it out")
        mocked = next((case for case in self._cases.values() if case.mocks), None)
        if mocked is not None:
            raise AgentError(
                f"{mocked.source}: the case {mocked.id!r:.80} mocks tools, and nobody can stand in for those of {named}"
                "; take the mocks out, or choose other cases with --case or --tag"
            )

    def _take_up(self) -> None:
        """Count what an earlier attempt has finished. What has changed since then is run again."""
        if self._run is None:
            return
        changed = 0
        latest = {(entry.result.case_id, entry.result.repeat): entry.digest for entry in self._run.entries()}
        for result in self._run.results():
            key = (result.case_id, result.repeat)
            if result.case_id not in self._cases or result.repeat >= self._wishes.repeat:
                continue
            if latest[key] != self._digests[result.case_id]:
                changed += 1
                continue
            self._finished.add(key)
            self._count(result)
        if changed:
            complain(f"the agent or the eval set has changed: {changed:,} finished results are not used")

    def _left_to_do(self) -> int:
        return len(self._cases) * self._wishes.repeat - len(self._finished)

    def _jobs(self) -> Iterator[CaseJob]:
        for repeat in range(self._wishes.repeat):
            for case in self._cases.values():
                if (case.id, repeat) not in self._finished:
                    yield CaseJob.of(case, repeat, self._recordings.of(case.id))

    def _carry_out(self, plan: RunPlan, stopping: Stopping, began: float) -> bool:
        """Run the plan. Whether all of it was run."""
        if not plan.total:
            self._all = self._overall.results()
            return True
        total = len(self._cases) * self._wishes.repeat
        progress = Progress(total, total - plan.total)
        events = run(plan, self._wishes.run_options(self._chosen.eval_set), stopping)
        is_complete = False
        try:
            with aside(), self._judgements, closing(events):  # type: ignore[type-var]
                for event in events:
                    if isinstance(event, RunStarted):
                        self._begin()
                    if self._journal is not None and self._hear(event, self._journal, progress):
                        break
                    if isinstance(event, RunFinished) and not event.stopped and self._journal is not None:
                        is_complete = self._await_judgements(self._journal, progress, stopping)
        finally:  # nothing of the agent is left by now
            self._close(progress)
        self._finish(is_complete, monotonic() - began)
        return is_complete

    def _close(self, progress: Progress) -> None:
        progress.clear()
        self._spans.close()
        self._recordings.save()
        if self._journal is not None:
            self._journal.close()
            self._tell()

    def _finish(self, is_complete: bool, seconds: float) -> None:
        """Note in the header of the run how it came out."""
        if self._run is None:
            return
        self._all = self._overall.results() if is_complete else ()
        self._run = self._run.finish(
            self._tally.totals(),
            self._aggregates.by_evaluator(),
            seconds,
            is_complete=is_complete,
            overall=tuple(map(redacted_overall, self._all)) if self._wishes.redact else self._all,
            journal=self._journal,
        )

    def _begin(self) -> None:
        """Open the journal of the run; the folder of a new one is made now, when there is an agent to be run."""
        if self._run is None:
            self._run = self._new_run()
        if self._journal is None:
            self._journal = self._run.journal()
        self._spans.begin(self._run)

    def _new_run(self) -> RunFolder:
        commit, branch = commit_of(Path.cwd())
        return create_run(
            self._wishes.runs_folder,
            commit=commit,
            branch=branch,
            agent=redacted_address(self._chosen.agent) if self._wishes.redact else self._chosen.agent,
            agent_hash=self._chosen.agent_digest(),
            evalset=self._chosen.eval_set.path,
            evalset_hash=file_digest(self._chosen.eval_set.path),
            options=self._kept_options(),
            planned=len(self._cases) * self._wishes.repeat,
        )

    def _kept_options(self) -> dict[str, object]:
        kept = self._wishes.kept()
        if self._wishes.failed:  # which cases failed last time is another question by the time the run is resumed
            kept |= {"cases": [_literal(case) for case in self._cases], "tags": []}
        return kept

    def _hear(self, event: Event, journal: Journal, progress: Progress) -> bool:
        """Deal with an event. Whether that was enough."""
        if isinstance(event, WorkerReplaced) and event.was_altered:
            self._replaced[event.reason] += 1
        if isinstance(event, CaseFinished):
            self._recordings.take(event)
            self._spans.take(event)
            self._judgements.submit(event)
        else:
            progress.draw()
        return self._take_judged(journal, progress)

    def _await_judgements(self, journal: Journal, progress: Progress, stopping: Stopping) -> bool:
        """Wait for evaluators that take longer than the agent. Whether all of them were waited for."""
        while self._judgements.are_open:
            if stopping.is_asked or self._take_judged(journal, progress, _MOMENT):
                return False
            progress.draw()
        return True

    def _take_judged(self, journal: Journal, progress: Progress, seconds: float = 0.0) -> bool:
        """Take the results that are there, or come in so many seconds. Whether that was enough."""
        for result in self._judgements.finished(seconds):
            journal.append(redacted(result) if self._wishes.redact else result, self._digests[result.case_id])
            self._count(result)
            if not result.passed:
                self._untold.append(result)
            progress.take(result)
            if self._wishes.fail_fast and not result.passed:
                return True
        if journal.sync_if_due() and self._untold:
            progress.clear()
            self._tell()
        return False

    def _tell(self) -> None:
        """Tell what is on the disk by now."""
        for result in self._untold:
            self._telling.tell(result)
        self._untold.clear()

    def _count(self, result: CaseResult) -> None:
        self._tally.add(result)
        self._aggregates.add(measures_of(result.results))
        self._warnings.update(result.notes)
        self._overall.add(self._overall.see(self._cases[result.case_id], result))
        if result.trajectory is not None:
            self._names.add(self._names.seen_in(result.trajectory.names))

    def _report(self, totals: Totals, seconds: float) -> Report:
        return Report(
            results=self._results,
            totals=totals,
            evaluators=self._aggregates.by_evaluator(),
            overall=self._all,
            subject=self._chosen.eval_set.path,
            seconds=seconds,
            run_id=self._run.short_id if self._run is not None else "",
            agent=self._chosen.agent,
            facts=self._run.header.known() if self._run is not None else (),
            notes=tuple(self._notes()),
            warnings=self._warnings,
        )

    def _notes(self) -> Iterator[str]:
        for case_id, passed, repeats in self._tally.shares():
            yield f"{case_id}: {passed} of {repeats} repeats passed"
        for reason, times in self._replaced.items():
            yield f"note: {reason}" + (f" ({times:,} times)" if times > 1 else "")
        if self._spans.problem is not None:
            yield f"note: not all spans are kept, though all results are: {self._spans.problem}"
        if self._is_complete:  # a tool may be called in what was not run
            yield from self._names.notes()

    def _results(self) -> Iterator[CaseResult]:
        if self._run is not None:
            for result in self._written_results(self._run):
                if result.case_id in self._cases and result.repeat < self._wishes.repeat:
                    yield result

    def _written_results(self, run: RunFolder) -> Iterator[CaseResult]:
        """What was written, from where it can be read: another program may have been at the folder."""
        journal = self._journal
        return journal.results() if journal is not None and journal.trouble is not None else run.results()

    def _tell_how_to_resume(self) -> None:
        if self._run is None:
            complain("stopped before any case was run")
            return
        runs = self._wishes.runs_folder
        where = f" --runs {shlex.quote(str(runs))}" if runs != RUNS else ""
        names = "".join([f"{shlex.quote(name)} " for name in self._wishes.names])
        complain(f"stopped; go on with: rightcall run {names}--resume {self._run.header.id}{where}")

    def _exit_code(self, totals: Totals, is_complete: bool) -> int:
        """The exit code: that of the verdicts, but never 0 for a run that is not kept."""
        code = self._code_of_verdicts(totals, is_complete)
        is_spoilt = self._journal is not None and self._journal.trouble is not None
        return _NOT_KEPT if code == 0 and is_spoilt else code

    def _code_of_verdicts(self, totals: Totals, is_complete: bool) -> int:
        """The exit code, with what the gate of the run lets pass. Errors are never let pass."""
        share, cases = self._wishes.min_pass, sum(msgspec.structs.astuple(totals))
        is_enough = share is not None and cases > 0 and totals.passed / cases >= share
        if is_enough and is_complete and totals.failed and not totals.error and not totals.not_measured:
            return exit_code(0, self._all)
        return exit_code(totals.exit_code, self._all)


def _literal(case_id: str) -> str:
    """A glob that matches one id only."""
    return "".join([f"[{character}]" if character in "*?[" else character for character in case_id])
