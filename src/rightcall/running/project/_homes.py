"""Where an agent is looked for that data names, and whether it may be run."""

from __future__ import annotations

from pathlib import Path

from rightcall.errors import AgentError
from rightcall.running.places import Home, home_of_eval_set, project_of

from ._sources import sources_of

_ELSEWHERE = ("cmd:", "http://", "https://")


def home_of(agent: str, evalset: Path, trust: bool, remedy: str = "give --trust", home: Home | None = None) -> Path:
    """Where the agent that an eval set names is looked for: in the eval set's project, and nowhere else.

    It has to lie in `home`, which is that project unless something else is given.

    Raises:
        AgentError: it lies elsewhere, and nobody trusts it; `remedy` says how to.
    """
    project = project_of(evalset)
    trusted = home or home_of_eval_set(evalset)
    folders = [folder for folder in (project, evalset.resolve().parent) if folder is not None]
    folder = next((folder for folder in folders if (folder / _place(agent)).exists()), folders[0])
    if not trust and not _is_inside(agent, folder, trusted):
        raise AgentError(
            f"{evalset} names the agent {agent!r:.200}, which is not inside {trusted}; name the agent on the command "
            f"line, or {remedy}"
        )
    return folder


def home_of_recorded(agent: str, trust: bool) -> Path:
    """Where the agent of a run that is resumed is looked for: a run is data, and may come from anybody.

    Raises:
        AgentError: it lies outside of this project, and nobody trusts it.
    """
    here = Path.cwd()
    if not trust and not _is_inside(agent, here, Home(str(project_of(here) or here), "this project")):
        raise AgentError(
            f"the run was made with the agent {agent!r:.200}, which is not inside this project; name it on the command "
            "line again, or give --trust"
        )
    return here


def agent_files(agent: str, home: Path) -> list[Path]:
    """The files that an agent is made of; none where they cannot be known."""
    return sources_of(agent, _place(agent), home)


def is_elsewhere(agent: str) -> bool:
    """Whether an agent is a program or an endpoint, so that its tools are out of reach."""
    return agent.startswith(_ELSEWHERE)


def _is_inside(agent: str, folder: Path, home: Home) -> bool:
    if is_elsewhere(agent):
        return False
    place = _place(agent)
    below = Path(*place.split(".")) if not place.endswith(".py") and "/" not in place else Path(place)
    found = [folder / place, folder / below.with_suffix(".py"), folder / below / "__init__.py"]
    return any(one.exists() and home.holds(one) for one in found)


def _place(agent: str) -> str:
    """The file, folder or module of an agent's name."""
    place, colon, name = agent.rpartition(":")
    return place if colon and name.replace(".", "_").isidentifier() else agent
