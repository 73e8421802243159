"""The files behind an agent's name: where it is looked for, whether it may be run, what it is made of."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from rightcall.errors import AgentError

from ._files import TrustedProject, project_of, project_of_eval_set

_COMMAND = "cmd:"
_EXTERNAL = (_COMMAND, "http://", "https://")


def agent_folder(
    agent: str, evalset: Path, trust: bool, remedy: str = "give --trust", home: TrustedProject | None = None
) -> Path:
    """Return the folder in which to look for the agent that an eval set names: one in the eval set's project.

    The agent has to be inside `home`, which is the eval set's project by default.

    Raises:
        AgentError: the agent is outside, and `trust` is not given; `remedy` says how to give it.
    """
    project = project_of(evalset)
    trusted = home or project_of_eval_set(evalset)
    folders = [folder for folder in (project, evalset.resolve().parent) if folder is not None]
    folder = next((folder for folder in folders if (folder / _path_part(agent)).exists()), folders[0])
    if not trust and not _is_inside(agent, folder, trusted):
        raise AgentError(
            f"{evalset} names the agent {agent!r:.200}, which is not inside {trusted}; name the agent on the command "
            f"line, or {remedy}"
        )
    return folder


def recorded_agent_folder(agent: str, trust: bool) -> Path:
    """Return the folder in which to look for the agent of a run that is resumed: the current one.

    A run folder is data that may come from anyone, so the agent it names has to be inside the current project.

    Raises:
        AgentError: the agent is outside, and `trust` is not given.
    """
    here = Path.cwd()
    if not trust and not _is_inside(agent, here, TrustedProject(str(project_of(here) or here), "this project")):
        raise AgentError(
            f"the run was made with the agent {agent!r:.200}, which is not inside this project; name it on the command "
            "line again, or give --trust"
        )
    return here


def agent_files(agent: str, folder: Path) -> list[Path]:
    """Return the files whose content decides what an agent does, so that a change makes earlier results stale.

    For a file, all Python files beside it, which it may import; for a folder or a package, all below it; for a
    command, the files that it names. Empty for an installed package or an endpoint, whose files are not known.
    """
    if agent.startswith(_COMMAND):
        return _files_of_command(agent.removeprefix(_COMMAND), folder)
    path = _path_part(agent)
    found = folder / path
    if not found.exists():
        module = folder.joinpath(*path.split("."))
        found = module if module.is_dir() else module.with_suffix(".py")
    if not found.exists():
        return []
    files = _files_below(found) if found.is_dir() else found.parent.glob("*.py")
    # Editors leave broken links beside a file that is being edited, such as Emacs's `.#agent.py`.
    return sorted([file for file in files if file.name[0] != "." and file.is_file()])


def is_external(agent: str) -> bool:
    """Whether an agent is a command or an endpoint, so that its tools run in another process."""
    return agent.startswith(_EXTERNAL)


def _is_inside(agent: str, folder: Path, home: TrustedProject) -> bool:
    if is_external(agent):
        return False
    path = _path_part(agent)
    module = Path(*path.split(".")) if not path.endswith(".py") and "/" not in path else Path(path)
    found = [folder / path, folder / module.with_suffix(".py"), folder / module / "__init__.py"]
    return any(one.exists() and home.holds(one) for one in found)


def _path_part(agent: str) -> str:
    """The file, folder or module in an agent's name, without the `:function` after it."""
    path, colon, name = agent.rpartition(":")
    return path if colon and name.replace(".", "_").isidentifier() else agent


def _files_of_command(command: str, folder: Path) -> list[Path]:
    try:
        words = shlex.split(command)
    except ValueError:
        return []  # loading the agent reports it
    return [folder / word for word in words if (folder / word).is_file()]


def _files_below(folder: Path) -> Iterator[Path]:
    for above, folders, files in os.walk(folder):
        inside = Path(above)
        # Hidden folders and virtual environments are not the agent's own code.
        folders[:] = [one for one in folders if one[0] != "." and not (inside / one / "pyvenv.cfg").exists()]
        yield from [inside / file for file in files if file.endswith(".py")]
