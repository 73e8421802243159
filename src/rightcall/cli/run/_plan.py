"""What a command runs: which agent, on which cases, and what an earlier command has finished of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rightcall.cases.evalsets import Case, select_cases
from rightcall.errors import AgentError, StoreError
from rightcall.reporting.store import Journal, RunFolder, case_digest, commit_of, create_run, file_digest, open_run
from rightcall.running import runner
from rightcall.values.redaction import redacted_address
from rightcall.values.results import CaseResult

from .._errors import print_error
from .._stored import failed_in, last_run_of
from ._listeners import Recordings
from ._options import RunOptions
from ._targets import Chosen, choose


class PlannedRun:
    """The cases to run, and the folder they are kept in.

    Raises:
        RightcallError: what is asked cannot be run.
    """

    def __init__(self, options: RunOptions) -> None:
        self.run: RunFolder | None = _resumed(options) if options.resume is not None else None
        """The run folder: that of the run that is resumed, or the one that `begin` makes."""
        self.options = options if self.run is None else options.resumed(self.run)
        self.options.check()
        asked = self.options
        self.chosen: Chosen = choose(asked.names, asked.configuration, asked.trust, asked.recorded)
        self.cases: dict[str, Case] = {case.id: case for case in self._selected()}
        if self.chosen.is_elsewhere:
            self._check_reach()
        self.recordings = Recordings(self.chosen.eval_set.path, self.options)
        # What an agent does depends on its files and on what answers for its tools: other results are not mixed in.
        agent = (self.chosen.agent, self.chosen.agent_digest())
        self.digests = {case.id: case_digest(case, *agent, self.recordings.of(case.id)) for case in self.cases.values()}
        self.total = len(self.cases) * self.options.repeat
        self._finished: set[tuple[str, int]] = set()
        self._journal: Journal | None = None

    def resume(self) -> Iterator[CaseResult]:
        """Open the journal of the run that is resumed; return its finished results that still count.

        From before the journal is read until it is closed, no other command continues the run. What has changed since
        then is run again.

        Raises:
            StoreError: the journal cannot be read, or another command has it.
        """
        if self.run is None:
            return
        self._journal = self.run.journal()
        self.run = RunFolder(self.run.folder, self._journal.header)
        changed = 0
        latest = {(entry.result.case_id, entry.result.repeat): entry.digest for entry in self.run.entries()}
        for result in self.run.results():
            key = (result.case_id, result.repeat)
            if not self.has(result):
                continue
            if latest[key] != self.digests[result.case_id]:
                changed += 1
                continue
            self._finished.add(key)
            yield result
        if changed:
            print_error(f"the agent or the eval set has changed: {changed:,} finished results are not used")

    def has(self, result: CaseResult) -> bool:
        """Whether a result is one of this plan."""
        return result.case_id in self.cases and result.repeat < self.options.repeat

    @property
    def waiting(self) -> int:
        """How many jobs are left."""
        return self.total - len(self._finished)

    def for_runner(self) -> runner.RunPlan:
        """Return what the runner needs to know: jobs, and nothing of what is expected."""
        project = str(self.chosen.project)
        return runner.RunPlan(agent=self.chosen.agent, project=project, jobs=self._jobs(), total=self.waiting)

    def begin(self) -> tuple[RunFolder, Journal]:
        """Return the run folder and its journal. A new folder is made now, when there is an agent to run.

        Raises:
            StoreError: it cannot be made.
        """
        if self.run is None:
            self.run = self._new_run()
        if self._journal is None:
            self._journal = self.run.journal()
        return self.run, self._journal

    @property
    def journal(self) -> Journal | None:
        """The journal, if it was opened."""
        return self._journal

    def _jobs(self) -> Iterator[runner.CaseJob]:
        for repeat in range(self.options.repeat):
            for case in self.cases.values():
                if (case.id, repeat) not in self._finished:
                    yield runner.CaseJob.of(case, repeat, self.recordings.of(case.id))

    def _selected(self) -> list[Case]:
        options = self.options
        cases = select_cases(self.chosen.eval_set.cases, options.cases, options.tags)
        if not options.failed:
            return cases
        return failed_in(last_run_of(self.chosen.eval_set.path, options.runs_folder), cases)

    def _check_reach(self) -> None:
        """Refuse to answer for tools of another program. Raises `AgentError`."""
        named = f"{self.chosen.agent!r:.80}, which is not a Python agent"
        for option in ("record", "replay"):
            if getattr(self.options, option):
                raise AgentError(f"--{option} is for tools of this process, not for those of {named}; leave it out")
        mocked = next((case for case in self.cases.values() if case.mocks), None)
        if mocked is not None:
            raise AgentError(
                f"{mocked.source}: the case {mocked.id!r:.80} mocks tools, but those of {named} cannot be replaced"
                "; take the mocks out, or choose other cases with --case or --tag"
            )

    def _new_run(self) -> RunFolder:
        commit, branch = commit_of(Path.cwd())
        evalset = self.chosen.eval_set.path
        return create_run(
            self.options.runs_folder,
            commit=commit,
            branch=branch,
            agent=redacted_address(self.chosen.agent) if self.options.redact else self.chosen.agent,
            agent_hash=self.chosen.agent_digest(),
            evalset=evalset,
            evalset_hash=file_digest(evalset),
            options=self._kept_options(),
            planned=self.total,
        )

    def _kept_options(self) -> dict[str, object]:
        kept = self.options.kept()
        if self.options.failed:  # which cases failed last time is another question by the time the run is resumed
            kept |= {"cases": [_literal(case) for case in self.cases], "tags": []}
        return kept


def _resumed(options: RunOptions) -> RunFolder:
    run = open_run(str(options.resume), options.runs_folder)
    if not run.header.agent:
        raise StoreError(f"run {run.short_id} has recorded traces, which no agent of this command was run for")
    return run


def _literal(case_id: str) -> str:
    """Return a glob that matches one id only."""
    return "".join([f"[{character}]" if character in "*?[" else character for character in case_id])
