"""The plan of a run (which agent on which cases, and what is finished), and the listeners to its events.

The runner does not know the listeners. Each is called with every event, and handles what concerns it.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, TypeAlias

import click
import msgspec

from rightcall.cases.evalsets import (
    Case,
    EvalSet,
    OverallCheck,
    askable_cases,
    code_files,
    load_eval_set,
    load_eval_set_with_code,
    quarantined_cases,
    select_cases,
    select_checks,
)
from rightcall.cases.verdicts import AllCases, JudgingExecutor, error_result
from rightcall.errors import AgentError, InputError, RightcallError, StoreError
from rightcall.reporting.changes import Base, GatePlan, gate_base
from rightcall.reporting.store import (
    Journal,
    RunFolder,
    SpanFile,
    case_digest,
    commit_of,
    create_run,
    file_digest,
    files_digest,
    open_run,
)
from rightcall.running import runner
from rightcall.running.project import (
    OWN_FILE,
    Configuration,
    agent_files,
    agent_folder,
    eval_sets_in,
    is_external,
    recorded_agent_folder,
    trusted_project,
)
from rightcall.running.runner import CaseFinished, WorkerReplaced
from rightcall.values.decoding import dump_json, load_json
from rightcall.values.redaction import redacted, redacted_address, redacted_value
from rightcall.values.results import Aggregates, CaseResult, Tally, count_text, measures_of
from rightcall.values.trajectory import KeptSpans

from .._gate import gate_plan
from .._live import Progress
from .._output import Output, print_error
from .._runs import failed_in, last_run_of
from ._request import RunRequest, variant_named

if TYPE_CHECKING:
    from concurrent.futures import Future


_DATA = (".yaml", ".yml", ".json")


class PlannedRun:
    """The cases to run, and the folder they are kept in.

    Raises:
        RightcallError: the request cannot be met.
    """

    def __init__(self, options: RunRequest) -> None:
        self.run: RunFolder | None = _resumed(options) if options.resume is not None else None
        """The folder of the run that is resumed, or the one that `begin` makes."""
        self.options = options if self.run is None else options.resumed(self.run)
        self.options.check()
        asked = self.options
        self.chosen: Chosen = choose(asked.names, asked.configuration, asked.trust, asked.recorded)
        if asked.variant is not None and (other := variant_named(asked.configuration, asked.variant).agent) is not None:
            self.chosen = msgspec.structs.replace(self.chosen, agent=other, project=asked.configuration.folder)
        self.cases: dict[str, Case] = {case.id: case for case in self._selected()}
        if self.chosen.is_elsewhere:
            self._check_reach()
        all_cases = [case.id for case in self.chosen.eval_set.cases]
        self.recordings = Recordings(self.chosen.eval_set.path, self.options, all_cases)
        # What an agent does depends on its files and on what answers for its tools: results of others are not reused.
        agent = (self.chosen.agent, self.chosen.agent_digest())
        self.digests = {case.id: case_digest(case, *agent, self.recordings.of(case.id)) for case in self.cases.values()}
        self.rounds: dict[str, int] = {case.id: asked.rounds(case) for case in self.cases.values()}
        """How often each case is run."""
        found = {case.id: asked.needed_of(case) for case in self.cases.values()}
        self.needed: dict[str, int] = {case_id: needed for case_id, needed in found.items() if needed is not None}
        """How many repeats of each case have to pass; all if it is not listed."""
        self.quarantined = quarantined_cases(self.cases.values()) if self.run is None else self.run.quarantined
        """Cases that run and are shown, but do not count. Those of a resumed run are as they were at its start."""
        self.total = sum(self.rounds.values())
        self.base: Base | None = None
        """What the gate compares with, found now: a run of its branch that ends later is not meant."""
        if asked.gate is not None:
            self.base = gate_base(asked.gate, self.chosen.eval_set.path, asked.runs_folder)
        self._finished: set[tuple[str, int]] = set()
        self._journal: Journal | None = None

    def resume(self) -> Iterator[CaseResult]:
        """Open the journal of the run that is resumed; yield its finished results that still count.

        From before the journal is read until it is closed, no other command continues the run. Cases that have changed
        since then are run again.

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
            left = count_text(changed, "finished result")
            print_error(f"{left} not used, because the agent or the eval set has changed since")

    def has(self, result: CaseResult) -> bool:
        """Return whether a result is one of this plan."""
        return result.case_id in self.cases and result.repeat < self.rounds[result.case_id]

    @property
    def waiting(self) -> int:
        """How many jobs remain."""
        return self.total - len(self._finished)

    def for_runner(self) -> runner.RunPlan:
        """Return what the runner needs to know: jobs, without any expectation."""
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

    def gate_plan(self) -> GatePlan | None:
        """Return the plan of the gate; `None` if no gate was asked for. Raises `InputError`."""
        asked = self.options
        if not asked.is_gated:
            return None
        most = max(self.rounds.values())
        # If the defaults of the eval set say how often, which come before the configuration, there is only one look.
        is_early = asked.repeat_least < asked.repeat and (
            asked.is_repeat_given or any([case.repeat is None or case.is_repeat_own for case in self.cases.values()])
        )
        least = asked.repeat_least if is_early else most
        options = {**msgspec.structs.asdict(asked), "least": min(least, most), "most": most, "needed": self.needed}
        counted = [case_id for case_id in self.cases if case_id not in self.quarantined]
        questions = {case_id: self.digests[case_id].partition("-")[0] for case_id in counted}
        others = frozenset([case.id for case in self.chosen.eval_set.cases if case.id not in questions])
        return gate_plan(options, self.base, self.cases.values(), questions, others, self.rounds)

    def run_options(self) -> runner.RunOptions:
        """Return the options of the runner. Tools of an agent that is a command cannot be recorded or replayed."""
        options = self.options.run_options(self.chosen.eval_set, self.stood_in)
        return msgspec.structs.replace(options, live=("tools", *options.live)) if self.chosen.is_elsewhere else options

    @property
    def stood_in(self) -> list[str]:
        """The tools that mocks or the recording of the chosen cases stand in for, each once."""
        mocked = [tool for case in self.cases.values() for tool in case.mocks]
        entries = [entry for case_id in self.cases for entry in self.recordings.of(case_id) or ()]
        replayed = [] if self.options.is_live("tools") else [entry["tool"] for entry in entries if "tool" in entry]
        return list(dict.fromkeys([*mocked, *replayed]))

    def _jobs(self) -> Iterator[runner.CaseJob]:
        for repeat in range(max(self.rounds.values())):
            for case in self.cases.values():
                if repeat < self.rounds[case.id] and (case.id, repeat) not in self._finished:
                    yield runner.CaseJob.of(case, repeat, self.recordings.of(case.id))

    def _selected(self) -> list[Case]:
        options = self.options
        selected = select_cases(self.chosen.eval_set.cases, options.cases, options.tags)
        cases = askable_cases(selected)
        self.left_out = len(selected) - len(cases)
        if not cases:
            raise InputError(
                f"{self.chosen.eval_set.path}: all {len(selected):,} cases have `when` and are about recorded traces; "
                "score those with `rightcall score`"
            )
        cases = select_checks(cases, options.only, options.skipped)
        if not options.failed:
            return cases
        return failed_in(last_run_of(self.chosen.eval_set.path, options.runs_folder), cases)

    def _check_reach(self) -> None:
        """Refuse to mock or record tools of another program, which cannot be reached. Raises `AgentError`."""
        named = f"{self.chosen.agent!r:.80}, which is not a Python agent"
        is_command = self.chosen.agent.startswith("cmd:")
        for option in ("record", "replay"):
            if getattr(self.options, option) and not is_command:
                raise AgentError(f"--{option} reaches neither tools nor models of {named}; leave it out")
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
        kept: dict[str, object] = {**self.options.kept(), "needed": self.needed}
        kept["quarantined"] = msgspec.to_builtins(self.quarantined)
        if self.base is not None:
            kept["gate"] = self.base.kept
        if self.options.failed:  # which cases failed last time is another question by the time the run is resumed
            kept |= {"cases": [_literal(case) for case in self.cases], "tags": []}
        return kept


def _resumed(options: RunRequest) -> RunFolder:
    run = open_run(str(options.resume), options.runs_folder)
    if not run.header.agent:
        raise StoreError(f"run {run.short_id} is of recorded traces, so there is no agent to continue with")
    return run


def _literal(case_id: str) -> str:
    """Return a glob that matches one id only."""
    return "".join([f"[{character}]" if character in "*?[" else character for character in case_id])


class Chosen(msgspec.Struct, frozen=True):
    """The agent to run, and the eval set to run it on."""

    agent: str
    project: Path
    """Where the agent is looked for."""
    eval_set: EvalSet

    @property
    def is_elsewhere(self) -> bool:
        """Whether the agent is a program or an endpoint, so that its tools are out of reach."""
        return is_external(self.agent)

    def agent_digest(self) -> str | None:
        """Return the digest of the files that the agent is made of; `None` if they are not known."""
        sources = self.sources()
        return files_digest(sources) if sources else None

    def sources(self) -> list[Path]:
        """Return the files that the agent is made of, as far as they are known."""
        return agent_files(self.agent, self.project)


def choose(
    names: Sequence[str], configuration: Configuration, trust: bool, recorded: tuple[str, str] | None = None
) -> Chosen:
    """Return the agent and the eval set that the command line names or, if it does not, the files do.

    One name is an eval set if it is one, else an agent. `recorded` has the agent and the eval set of the run that is
    resumed.

    Raises:
        RightcallError: one of the two is missing or wrong, or the agent is not to be trusted.
    """
    agent, path = _split(names)
    if path is None:
        path = recorded[1] if recorded is not None else _configured(configuration, "evalset")
    eval_set = load_eval_set_with_code(path, trust=trust, home=trusted_project())
    if agent is not None:
        return Chosen(agent, Path.cwd(), eval_set)
    if recorded is not None and recorded[0] not in (eval_set.agent, configuration.values.get("agent")):
        return Chosen(recorded[0], recorded_agent_folder(recorded[0], trust), eval_set)
    if eval_set.agent is not None:
        project = agent_folder(eval_set.agent, Path(eval_set.path), trust, home=trusted_project())
        return Chosen(eval_set.agent, project, eval_set)
    return Chosen(_configured(configuration, "agent"), configuration.folder, eval_set)


def files_in_play(names: Sequence[str], configuration: Configuration, trust: bool) -> list[Path]:
    """Return the files that decide what is run: configuration, eval set and agent, as far as they are known."""
    files = [configuration.path] if configuration.path is not None else []
    try:
        chosen = choose(names, configuration, trust)
    except RightcallError:  # the eval set is wrong, or not there, and will be fixed
        _, path = _split(names)
        path = path if path is not None else _configured(configuration, "evalset")
        return [*files, Path(path), *code_files(path)]
    evalset = Path(chosen.eval_set.path)
    beside = [evalset.parent / "test_config.json", *(evalset.parent.parent / "evaluators").glob("*.json")]
    return [*files, evalset, *[path for path in beside if path.is_file()], *code_files(evalset), *chosen.sources()]


def _split(names: Sequence[str]) -> tuple[str | None, str | None]:
    if len(names) > 2:
        raise click.UsageError("give an agent and an eval set, or one of them")
    if len(names) == 2:
        return names[0], names[1]
    if not names:
        return None, None
    return (None, names[0]) if _is_eval_set(names[0]) else (names[0], None)


def _is_eval_set(name: str) -> bool:
    """Return whether a name is that of an eval set: by its ending, so that mistakes are reported, or its content."""
    if name.endswith(_DATA):
        return True
    if not Path(name).is_file() or name.endswith(".py"):
        return False
    try:
        load_eval_set(name)
    except RightcallError:
        return False
    return True


def _configured(configuration: Configuration, key: str) -> str:
    value = configuration.values.get(key)
    if not isinstance(value, str):
        there = eval_sets_in(Path.cwd()) if key == "evalset" else []
        if len(there) == 1:
            return there[0]
        what = "an eval set" if key == "evalset" else "an agent"
        raise click.UsageError(f"{what} is missing: name it on the command line, or as {key!r} in {OWN_FILE}")
    return os.path.relpath(configuration.folder / value) if key == "evalset" else value


class CaseJudged(msgspec.Struct, frozen=True):
    """A case was run and judged. It comes among the events of the runner."""

    result: CaseResult


class Waiting(msgspec.Struct, frozen=True):
    """Some time has passed, while evaluators take longer than the agent."""


Event: TypeAlias = runner.Event | CaseJudged | Waiting
"""What happens in a run: the events of the runner, and those that follow from them here."""
Listener: TypeAlias = Callable[[Event], None]


class Judgements:
    """The evaluations of a run that are under way; a context manager, which gives up what is still open on exit."""

    def __init__(self, cases: Mapping[str, Case], timeout: float) -> None:
        self._cases = cases
        # Not in the loop that feeds the workers: a slow evaluator holds up its case, not the run.
        self._judging = JudgingExecutor(timeout=timeout)
        self._done: SimpleQueue[tuple[CaseFinished, Future[CaseResult]]] = SimpleQueue()
        self._open = 0

    def __enter__(self) -> Judgements:
        return self

    def __exit__(self, *problem: object) -> None:
        self._judging.close()

    @property
    def are_open(self) -> bool:
        """Whether there are cases whose result has not been taken."""
        return self._open > 0

    def submit(self, event: CaseFinished) -> None:
        """Start to judge a case that was run, or note that it broke."""
        from concurrent.futures import Future

        self._open += 1
        case = self._cases[event.case_id]
        if event.outcome.error is not None or event.trajectory is None:
            result: Future[CaseResult] = Future()
            result.set_result(error_result(case, event.outcome, event.trajectory))
        else:
            result = self._judging.submit(case, event.trajectory)
        result.add_done_callback(lambda result: self._done.put((event, result)))

    def finished(self, seconds: float = 0.0) -> Iterator[CaseJudged]:
        """Yield the results that are there; if there are none, those that come within a number of seconds."""
        self._judging.check_deadline()
        while self._open:
            try:
                event, result = self._done.get(timeout=seconds) if seconds else self._done.get_nowait()
            except Empty:
                return
            seconds = 0.0
            self._open -= 1
            yield CaseJudged(msgspec.structs.replace(result.result(), repeat=event.repeat, outcome=event.outcome))


class Recordings:
    """The recording of an eval set, if it is to be made or used.

    Raises:
        InputError: it is to be used, and cannot be read.
    """

    def __init__(self, evalset: str, options: RunRequest, all_cases: Sequence[str]) -> None:
        self._kept_cases = all_cases if options.prune else None
        self._is_made, self._is_used = options.record, options.replay
        self._answers: dict[str, list[Any]] = {}
        self._made: dict[str, list[Any]] = {}
        if not (self._is_made or self._is_used):
            return  # and what it needs is not even loaded
        from rightcall.running.mocking import Recording
        from rightcall.running.project import recording_path

        self._path = recording_path(evalset, options.variant)
        is_there = self._is_used or self._path.exists()
        self._recording = Recording.load(self._path) if is_there else Recording()
        if self._is_used:
            for entry in self._recording.entries:
                self._answers.setdefault(entry.case, []).append(msgspec.to_builtins(entry))

    def of(self, case_id: str) -> list[Any] | None:
        """Return the recorded answers for the tools of a case; `None` if the tools are to be run."""
        return self._answers.get(case_id, []) if self._is_used else None

    def __call__(self, event: Event) -> None:
        """Keep the answers of tools from the first repeat of a case, if the agent finished it."""
        if not isinstance(event, CaseFinished):
            return
        if self._is_made and event.repeat == 0 and event.outcome.error is None:
            from rightcall.running.mocking import Recording

            self._made[event.case_id] = list(Recording.of_values(event.recorded).entries)

    def save(self) -> None:
        """Write what was recorded. Cases that were not run keep their earlier recording."""
        if self._made:
            entries = [entry for made in self._made.values() for entry in made]
            made = self._recording.updated(self._made, entries)
            (made if self._kept_cases is None else made.limited_to(self._kept_cases)).save(self._path)

    def notes(self) -> Iterator[str]:
        """Yield where the recording is, once it is made."""
        if self._made:
            answers, cases = sum(map(len, self._made.values())), len(self._made)
            count = f"{answers:,} answer{'s' * (answers != 1)} of {cases:,} case{'s' * (cases != 1)}"
            yield f"note: recorded {count} in {self._path}"


class SpanListener:
    """Keeps the spans of cases as long as that works: results count without them, too."""

    def __init__(self, is_wanted: bool, *, redacts: bool = False) -> None:
        self._is_wanted, self._redacts = is_wanted, redacts
        self._file: SpanFile | None = None
        self.problem: str | None = None
        """Why spans are no longer kept, although they should be."""

    def begin(self, run: RunFolder) -> None:
        """Begin to keep the spans of a run.

        A run that is resumed may have spans although none are wanted now. Then empty lines are written, so that the
        earlier spans of a case are not taken for those of its new run.
        """
        if self._is_wanted or run.has_spans:
            try:
                self._file = run.span_file()
            except StoreError as problem:
                self.problem = str(problem)

    def __call__(self, event: Event) -> None:
        """Keep the spans of a case that was run."""
        if self._file is None or not isinstance(event, CaseFinished):
            return
        try:
            spans = event.spans or KeptSpans()
            self._file.append(event.case_id, event.repeat, _redacted(spans) if self._redacts else spans)
        except StoreError as problem:
            self.problem = str(problem)
            self.close()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


class Counts:
    """Totals of the results of a run, including those that an earlier command finished."""

    def __init__(
        self,
        cases: Mapping[str, Case],
        overall: Sequence[OverallCheck],
        needed: Mapping[str, int],
        quarantined: Container[str] = (),
    ) -> None:
        self._cases = cases
        self._quarantined = quarantined
        self.tally = Tally(needed_of=needed, quarantined=quarantined)
        self.aggregates = Aggregates()
        self.all_cases = AllCases(tuple(cases.values()), overall)
        self.warnings: Counter[str] = Counter()
        self._replaced: Counter[str] = Counter()

    def __call__(self, event: Event) -> None:
        """Count a result, or a worker that had to be replaced because the agent changed it."""
        if isinstance(event, CaseJudged):
            self.add(event.result)
        elif isinstance(event, WorkerReplaced) and event.was_altered:
            self._replaced[event.reason] += 1

    def add(self, result: CaseResult) -> None:
        """Count a result; for a case in quarantine only what it says about traces and rules."""
        self.tally.count(result.case_id, result.verdict, result.repeat)
        self.warnings.update(result.notes)
        counts = result.case_id not in self._quarantined
        if counts:
            self.aggregates.add(measures_of(result.results))
        seen = self.all_cases.see(self._cases[result.case_id], result, result.trajectory, counts=counts)
        self.all_cases.add(seen, result.case_id)

    def notes(self, *, is_complete: bool) -> Iterator[str]:
        """Yield notes on the run as a whole."""
        for reason, times in self._replaced.items():
            yield f"note: {reason}" + (f" ({times:,} times)" if times > 1 else "")
        if is_complete:  # a tool may be called in what was not run
            yield from self.all_cases.notes()


class ProgressListener:
    """Draws the progress line."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __call__(self, event: Event) -> None:
        """Count a result, or redraw the line."""
        if isinstance(event, CaseJudged):
            self._progress.take(event.result)
        else:
            self._progress.draw()


class JournalListener:
    """Writes each result to the journal, and shows it once it is on disk."""

    def __init__(
        self,
        journal: Journal,
        digests: Mapping[str, str],
        output: Output,
        progress: Progress,
        *,
        redacts: bool,
        is_decided_later: bool,
    ) -> None:
        self._journal, self._digests, self._redacts = journal, digests, redacts
        self._is_decided_later = is_decided_later
        self._output, self._progress = output, progress
        self._unshown: list[CaseResult] = []

    def __call__(self, event: Event) -> None:
        """Write a result, and show those that are on disk by now. Raises `StoreError`."""
        if isinstance(event, CaseJudged):
            result = event.result
            self._journal.append(redacted(result) if self._redacts else result, self._digests[result.case_id])
            if not result.passed and not self._is_decided_later:  # repeats of a case are shown together, at the end
                self._unshown.append(result)
        if self._journal.sync_if_due() and self._unshown:
            self._progress.clear()
            self._show()

    def close(self) -> None:
        """Close the journal, and show the remaining results."""
        self._journal.close()
        self._show()

    def _show(self) -> None:
        for result in self._unshown:
            self._output.show(result)
        self._unshown.clear()


def _redacted(spans: KeptSpans) -> KeptSpans:
    """Return spans without secrets, or none if they are no longer within the limits."""
    try:
        made = KeptSpans(dump_json(redacted_value(load_json(spans.text))), spans.left_out)
        made.check()
    except InputError:
        return spans.without_spans()
    return made
