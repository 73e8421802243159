"""Where an agent is looked for that data names, and whether it may be run."""

from __future__ import annotations

from pathlib import Path

from rightcall.errors import AgentError
from rightcall.places import OWN_FILE, PROJECT_FILE, project_of

from ._sources import sources_of

_ELSEWHERE = ("cmd:", "http://", "https://")


def home_of(agent: str, evalset: Path, trust: bool, remedy: str = "give --trust") -> Path:
    """Where the agent that an eval set names is looked for: in the eval set's project, and nowhere else.

    Raises:
        AgentError: it lies elsewhere, and nobody trusts it; `remedy` says how to.
    """
    project = project_of(evalset)
    homes = [home for home in (project, evalset.resolve().parent) if home is not None]
    home = next((home for home in homes if (home / _place(agent)).exists()), homes[0])
    if not trust and not (project is not None and _is_inside(agent, home, project)):
        raise AgentError(
            f"{evalset} names the agent {agent!r:.200}, which is not inside the project of the eval set "
            f"({project or f'no folder above it has {OWN_FILE} or {PROJECT_FILE}'}); name the agent on the command "
            f"line, or {remedy}"
        )
    return home


def home_of_recorded(agent: str, trust: bool) -> Path:
    """Where the agent of a run that is resumed is looked for: a run is data, and may come from anybody.

    Raises:
        AgentError: it lies outside of this project, and nobody trusts it.
    """
    here = Path.cwd()
    if not trust and not _is_inside(agent, here, project_of(here) or here):
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


def _is_inside(agent: str, home: Path, project: Path) -> bool:
    if is_elsewhere(agent):
        return False
    place = _place(agent)
    below = Path(*place.split(".")) if not place.endswith(".py") and "/" not in place else Path(place)
    found = [home / place, home / below.with_suffix(".py"), home / below / "__init__.py"]
    return any(one.exists() and one.resolve().is_relative_to(project.resolve()) for one in found)


def _place(agent: str) -> str:
    """The file, folder or module of an agent's name."""
    place, colon, name = agent.rpartition(":")
    return place if colon and name.replace(".", "_").isidentifier() else agent
