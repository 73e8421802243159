"""Choose the agent of an eval set, and keep the processes that agents run in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall.cases.evalsets import Case, EvalSet
from rightcall.cases.verdicts import judge_outcome
from rightcall.errors import AgentError
from rightcall.reporting.store import files_digest
from rightcall.running.project import (
    Configuration,
    agent_files,
    agent_folder,
    bytes_of,
    is_external,
    load_configuration,
)
from rightcall.running.runner import DEFAULT_MEMORY, DEFAULT_TIMEOUT, CaseJob, KeptAgent, RunOptions
from rightcall.values.results import CaseResult

if TYPE_CHECKING:
    import pytest


class ChosenAgent(msgspec.Struct, frozen=True):
    """The name of an agent, the folder it is loaded from, and the digest of its files, if they are known."""

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
            AgentError: there is no agent for it, or it cannot be loaded.
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
        """Return the agent of an eval set: named on the command line, by the file, or by the configuration."""
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
