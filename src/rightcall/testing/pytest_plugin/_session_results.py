"""What a pytest session produces: agent processes, a stored run for each eval set and agent, and report files."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall.cases.evalsets import Case, EvalSet
from rightcall.cases.verdicts import RuleUse, judge_outcome, rule_uses
from rightcall.errors import AgentError, RightcallError
from rightcall.reporting.reports import (
    Paper,
    Report,
    full_report,
    json_report,
    junit_report,
    markdown_report,
    redacted_report,
)
from rightcall.reporting.store import (
    RUNS,
    Journal,
    RunFolder,
    case_digest,
    commit_of,
    create_run,
    file_digest,
    files_digest,
)
from rightcall.running.project import (
    Configuration,
    agent_files,
    agent_folder,
    bytes_of,
    is_external,
    load_configuration,
)
from rightcall.running.runner import DEFAULT_MEMORY, DEFAULT_TIMEOUT, CaseJob, KeptAgent, RunOptions
from rightcall.values.results import Aggregates, CaseResult, Quarantine, Tally, Totals, measures_of

if TYPE_CHECKING:
    import pytest


_NONE = "none"
_LOST = "results were not kept"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A result and its origin, in a form that can be sent from one process to another."""

    evalset: str
    agent: str
    agent_hash: str | None
    digest: str
    result: str
    """The result of the case as JSON."""
    quarantine: dict[str, str] | None = None
    """Why the case is quarantined, and until when; `None` if it is not."""


def record_of(case: Case, result: CaseResult, evalset: str, agent: str, agent_hash: str | None) -> dict[str, Any]:
    """Return the record of a result, as plain data."""
    digest = case_digest(case, agent, agent_hash, None)
    record = Record(
        evalset=evalset,
        agent=agent,
        agent_hash=agent_hash,
        digest=digest,
        result=result.to_json(),
        quarantine=msgspec.to_builtins(case.quarantine) if case.is_quarantined else None,
    )
    return msgspec.structs.asdict(record)


class SessionResults:
    """The runs of one session, written as results arrive. If writing fails, tests continue and the summary says so."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._runs: dict[tuple[str, str], tuple[RunFolder, Journal]] = {}
        self._finished: list[tuple[RunFolder, Totals]] = []
        self._written: list[str] = []
        self._problems: dict[str, None] = {}
        self._notes: list[str] = []

    def add(self, records: Sequence[dict[str, Any]]) -> None:
        """Write results to their runs."""
        for record in [Record(**each) for each in records]:
            try:
                run, journal = self._run(record)
                result = CaseResult.from_json(record.result)
                if record.quarantine is not None:
                    # The header of a run is written again when the run is finished, with this in it.
                    run.header.options["quarantined"][result.case_id] = record.quarantine
                journal.append(result, record.digest)
            except RightcallError as problem:
                self._problems[str(problem)] = None

    def finish(self, seconds: float, *, is_complete: bool) -> None:
        """Close the runs and write the reports."""
        for run, journal in self._runs.values():
            try:
                journal.close()
                if journal.trouble is not None:
                    self._problems[journal.trouble] = None
                self._finished.append(_finished(run, journal, seconds, is_complete))
                self._notes += _notes(journal) if is_complete else ()
            except RightcallError as problem:
                self._problems[str(problem)] = None
        for path in self._config.getoption("rightcall_report"):
            try:
                file = self._config.invocation_params.dir / path
                lost = [f"{_LOST}: {problem}" for problem in self._problems]
                write_report(file, self._finished, seconds, [*self._notes, *lost])
                self._written.append(path)
            except RightcallError as problem:
                self._problems[str(problem)] = None
        self._close()

    def summary_lines(self) -> Iterator[tuple[str, dict[str, bool]]]:
        """Yield the lines of the summary, each with its style."""
        for run, totals in self._finished:
            named = "" if self._temporary is not None else f"  run {run.short_id}"
            is_fine = totals.exit_code == 0 or (totals == Totals() and run.quarantined)
            style = {"green": True} if is_fine else {"red": True}
            apart = f", {len(run.quarantined):,} in quarantine" if run.quarantined else ""
            yield f"rightcall: {run.header.evalset}: {totals}{apart}{named}", style
        for note in self._notes:
            yield f"rightcall: {note}", {"yellow": True}
        for path in self._written:
            yield f"rightcall: report written to {path}", {}
        for problem in self._problems:
            yield f"rightcall: {_LOST}: {problem}", {"red": True, "bold": True}

    def _run(self, record: Record) -> tuple[RunFolder, Journal]:
        key = (record.evalset, record.agent)
        if key not in self._runs:
            commit, branch = commit_of(self._config.rootpath)
            run = create_run(
                self._folder(),
                commit=commit,
                branch=branch,
                agent=record.agent,
                agent_hash=record.agent_hash,
                evalset=record.evalset,
                evalset_hash=file_digest(self._config.invocation_params.dir / record.evalset),
                options={"pytest": True, "quarantined": {}},
            )
            self._runs[key] = run, run.journal()
        return self._runs[key]

    def _folder(self) -> Path:
        config = self._config
        given, written = config.getoption("rightcall_runs"), config.getini("rightcall_runs")
        if (given or written) == _NONE:
            self._temporary = self._temporary or tempfile.TemporaryDirectory(prefix="rightcall-")
            return Path(self._temporary.name)
        return config.invocation_params.dir / given if given else config.rootpath / (written or RUNS)

    def _close(self) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()


def _finished(run: RunFolder, journal: Journal, seconds: float, is_complete: bool) -> tuple[RunFolder, Totals]:
    tally, aggregates = Tally(quarantined=run.quarantined), Aggregates()
    for result in journal.results():
        tally.count(result.case_id, result.verdict, result.repeat)
        aggregates.add(() if result.case_id in run.quarantined else measures_of(result.results))
    totals, evaluators = tally.totals(), aggregates.by_evaluator()
    finished = run.finish(totals, evaluators, seconds, is_complete=is_complete, rate=tally.rate(), journal=journal)
    return finished, totals


def _notes(journal: Journal) -> Iterator[str]:
    """Yield notes on the rules of a run as a whole."""
    rules = RuleUse()
    for result in journal.results():
        rules.add(result.case_id, rule_uses(result))
    yield from rules.notes()


_WIDTH = 100


def _html(report: Report) -> Iterator[str]:
    from rightcall.reporting.pages import html_report  # slow to import, and only needed here

    return html_report(report)


FORMATS: dict[str, Callable[[Report], Iterator[str]]] = {
    ".html": _html,
    ".json": json_report,
    ".xml": junit_report,
    ".md": markdown_report,
    ".txt": lambda report: full_report(report, Paper(width=_WIDTH), max_detail=1_000),
}
"""The formats, by the suffix of the file."""


def write_report(path: Path, runs: Sequence[tuple[RunFolder, Totals]], seconds: float, notes: Sequence[str]) -> None:
    """Write the results of runs to a file atomically, redacted.

    Raises:
        RightcallError: the suffix is not known, or the file cannot be written.
    """
    form = format_of(path)
    # Written beside the target and renamed, so that a report is never incomplete.
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        try:
            with open(unfinished, "w", encoding="utf-8", opener=_private if form is _html else None) as file:
                file.writelines(form(redacted_report(_report(runs, seconds, notes))))
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as problem:
        raise RightcallError(f"{path}: {problem.strerror or problem}") from None


def check_reports(paths: Sequence[Path]) -> None:
    """Check before any test is run that the reports can be written. Raises `pytest.UsageError`."""
    import pytest

    for path in paths:
        try:
            format_of(path)
            if path.suffix.lower() == ".html":
                from rightcall.reporting.pages import check_installed

                check_installed()
        except RightcallError as problem:
            raise pytest.UsageError(f"--rightcall-report: {problem}") from None
        if path.is_dir() or not os.access(path.parent, os.W_OK):
            raise pytest.UsageError(f"--rightcall-report: {path}: no file can be written there")


def format_of(path: Path) -> Callable[[Report], Iterator[str]]:
    """Return the format for the suffix of a file. Raises `RightcallError`."""
    if path.suffix.lower() not in FORMATS:
        raise RightcallError(f"{path}: a report's name ends in {', '.join(FORMATS)}")
    return FORMATS[path.suffix.lower()]


def _report(finished: Sequence[tuple[RunFolder, Totals]], seconds: float, notes: Sequence[str]) -> Report:
    runs = [run for run, _ in finished]
    results = runs[0].results if len(runs) == 1 else lambda: _prefixed_results(runs)
    quarantined = runs[0].quarantined if len(runs) == 1 else dict(_prefixed_quarantine(runs))
    aggregates, warnings = Aggregates(), Counter[str]()
    for result in results():
        aggregates.add(() if result.case_id in quarantined else measures_of(result.results))
        warnings.update(result.notes)
    names = Totals.__struct_fields__
    return Report(
        results=results,
        totals=Totals(*[sum(getattr(totals, name) for _, totals in finished) for name in names]),
        evaluators=aggregates.by_evaluator(),
        subject=", ".join(dict.fromkeys([run.header.evalset for run in runs])),
        seconds=seconds,
        run_id=runs[0].short_id if len(runs) == 1 else "",
        agent=", ".join(dict.fromkeys([run.header.agent for run in runs])),
        facts=runs[0].header.known() if len(runs) == 1 else (),
        notes=tuple(notes),
        warnings=warnings,
        quarantined=quarantined,
    )


def _prefixed_results(runs: Sequence[RunFolder]) -> Iterator[CaseResult]:
    """Yield the results of several runs, with case ids prefixed: they are unique only within an eval set."""
    for run, place in _prefixes(runs):
        for result in run.results():
            yield msgspec.structs.replace(result, case_id=f"{place}::{result.case_id}")


def _prefixed_quarantine(runs: Sequence[RunFolder]) -> Iterator[tuple[str, Quarantine]]:
    for run, place in _prefixes(runs):
        for case_id, quarantine in run.quarantined.items():
            yield f"{place}::{case_id}", quarantine


def _prefixes(runs: Sequence[RunFolder]) -> Iterator[tuple[RunFolder, str]]:
    often = Counter([run.header.evalset for run in runs])
    for run in runs:
        evalset = run.header.evalset
        yield run, evalset if often[evalset] == 1 else f"{run.header.agent}::{evalset}"


def _private(path: str, flags: int) -> int:
    # Readable for the owner only: an HTML report contains the calls of every case.
    return os.open(path, flags, 0o600)


class ChosenAgent(msgspec.Struct, frozen=True):
    """The name of an agent, the folder that it is loaded from, and a digest of its files, if they are known."""

    name: str
    home: Path
    digest: str | None


class AgentPool:
    """The agents of one pytest process. Each runs in its own process until the session ends."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._configurations: dict[Path, Configuration] = {}
        self._chosen: dict[str, ChosenAgent] = {}
        self._kept: dict[tuple[str, Path, float, int], KeptAgent] = {}
        self._recorded: dict[str, dict[str, list[Any]]] = {}

    def run(self, eval_set: EvalSet, case: Case) -> CaseResult:
        """Run and judge a case.

        Raises:
            AgentError: the eval set has no agent, or it cannot be loaded.
            RightcallError: the recording to replay, or the project's configuration, cannot be read.
        """
        agent = self.choose(eval_set)
        if case.mocks and is_external(agent.name):
            raise AgentError(
                f"{case.source}: the tools of {agent.name!r:.80} cannot be mocked: it is not a Python agent"
            )
        options = self._options(eval_set)
        key = (agent.name, agent.home, options.timeout, options.max_memory)
        if key not in self._kept:
            self._kept[key] = KeptAgent(agent.name, str(agent.home), options)
        finished = self._kept[key].run(CaseJob.of(case, recording=self._recording(eval_set, case)))
        return judge_outcome(case, finished.outcome, finished.trajectory)

    def choose(self, eval_set: EvalSet) -> ChosenAgent:
        """Return the agent of an eval set, which is named on the command line, in the file or in the configuration."""
        if eval_set.path not in self._chosen:
            name, home = self._named(eval_set)
            files = agent_files(name, home)
            self._chosen[eval_set.path] = ChosenAgent(name, home, files_digest(files) if files else None)
        return self._chosen[eval_set.path]

    def close(self) -> None:
        """End all processes."""
        for kept in self._kept.values():
            kept.close()
        self._kept.clear()

    def _named(self, eval_set: EvalSet) -> tuple[str, Path]:
        config, path = self._config, Path(eval_set.path)
        if given := config.getoption("rightcall_agent"):
            return str(given), config.invocation_params.dir
        if eval_set.agent is not None:
            trust = bool(config.getoption("rightcall_trust"))
            return eval_set.agent, agent_folder(eval_set.agent, path, trust, "give --rightcall-trust")
        if written := config.getini("rightcall_agent"):
            return str(written), config.rootpath
        configuration = self._configuration(path)
        if isinstance(written := configuration.values.get("agent"), str):
            return written, configuration.folder
        raise AgentError(f"{path} names no agent: add `agent:` to it, or give --rightcall-agent")

    def _options(self, eval_set: EvalSet) -> RunOptions:
        written = self._configuration(Path(eval_set.path)).values
        timeout, memory = written.get("timeout"), written.get("max_memory")
        return RunOptions(
            timeout=float(timeout or eval_set.timeout or DEFAULT_TIMEOUT),
            max_memory=bytes_of(str(memory)) if memory is not None else DEFAULT_MEMORY,
        )

    def _configuration(self, path: Path) -> Configuration:
        folder = path.resolve().parent
        if folder not in self._configurations:
            self._configurations[folder] = load_configuration(folder)
        return self._configurations[folder]

    def _recording(self, eval_set: EvalSet, case: Case) -> list[Any] | None:
        if not self._config.getoption("rightcall_replay"):
            return None
        from rightcall.running.mocking import Recording
        from rightcall.running.project import recording_path

        if eval_set.path not in self._recorded:
            answers = self._recorded.setdefault(eval_set.path, {})
            for entry in Recording.load(recording_path(eval_set.path)).entries:
                answers.setdefault(entry.case, []).append(msgspec.to_builtins(entry))
        return self._recorded[eval_set.path].get(case.id, [])
