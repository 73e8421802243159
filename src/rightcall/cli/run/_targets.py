"""Which agent and which eval set a command means, and whether the agent may be run."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click
import msgspec

from rightcall.cases.evalsets import EvalSet, code_files, load_eval_set, load_eval_set_with_code
from rightcall.errors import RightcallError
from rightcall.reporting.store import files_digest
from rightcall.running.project import (
    OWN_FILE,
    Configuration,
    agent_files,
    agent_folder,
    current_project,
    is_external,
    recorded_agent_folder,
)

_DATA = (".yaml", ".yml", ".json")


class Chosen(msgspec.Struct, frozen=True):
    """What is to be run on what."""

    agent: str
    project: Path
    """Where the agent is looked for."""
    eval_set: EvalSet

    @property
    def is_elsewhere(self) -> bool:
        """Whether the agent is a program or an endpoint, so that its tools are out of reach."""
        return is_external(self.agent)

    def agent_digest(self) -> str | None:
        """The digest of the files that the agent is made of; none where they cannot be known."""
        sources = self.sources()
        return files_digest(sources) if sources else None

    def sources(self) -> list[Path]:
        """The files that the agent is made of, as far as they can be known."""
        return agent_files(self.agent, self.project)


def choose(
    names: Sequence[str], configuration: Configuration, trust: bool, recorded: tuple[str, str] | None = None
) -> Chosen:
    """The agent and the eval set that the names on the command line mean; what they leave open, the files say.

    One name is an eval set if it is one, else an agent. `recorded` has the agent and the eval set of the run that is
    resumed.

    Raises:
        RightcallError: one of the two is missing or wrong, or the agent is not to be trusted.
    """
    agent, path = _split(names)
    if path is None:
        path = recorded[1] if recorded is not None else _configured(configuration, "evalset")
    eval_set = load_eval_set_with_code(path, trust=trust, home=current_project())
    if agent is not None:
        return Chosen(agent, Path.cwd(), eval_set)
    if recorded is not None and recorded[0] not in (eval_set.agent, configuration.values.get("agent")):
        return Chosen(recorded[0], recorded_agent_folder(recorded[0], trust), eval_set)
    if eval_set.agent is not None:
        project = agent_folder(eval_set.agent, Path(eval_set.path), trust, home=current_project())
        return Chosen(eval_set.agent, project, eval_set)
    return Chosen(_configured(configuration, "agent"), configuration.folder, eval_set)


def files_in_play(names: Sequence[str], configuration: Configuration, trust: bool) -> list[Path]:
    """The files that decide what is run on what: configuration, eval set and agent, as far as they are known."""
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
    """Whether a name is that of an eval set: by its ending, so that its mistakes are reported, else by its content."""
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
        what = "an eval set" if key == "evalset" else "an agent"
        raise click.UsageError(f"{what} is missing: name it on the command line, or as {key!r} in {OWN_FILE}")
    return os.path.relpath(configuration.folder / value) if key == "evalset" else value
