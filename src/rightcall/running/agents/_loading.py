"""From the name of an agent to an agent."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from rightcall.errors import AgentError, RightcallError, nearest

from ._adk import AdkAgent
from ._agent import Agent, AgentOptions
from ._entries import entry_of, is_adk, named_entry
from ._functions import function_agent
from ._modules import SearchPath, import_file, import_name
from ._objects import object_agent

_FORMS = "file.py:function, module:function, file.py, a folder, cmd:program, or http://…"
_COMMAND = "cmd:"
_ENDPOINTS = ("http://", "https://")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_ATTRIBUTE = re.compile(r"(?P<place>.+):(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")
_FOLDER_FILES = ("__init__.py", "agent.py", "main.py")


def load_agent(named: str, project: Path, options: AgentOptions = AgentOptions()) -> Agent:  # noqa: B008 - frozen
    """The agent of a name.

    - `file.py:function`, `file.py:object.method`, `module:function`: that function or object.
    - `file.py` or `module`: its one obvious entry (`main`, `root_agent`, `agent`, `graph`, `run`, `answer`, or the only
      public function).
    - a folder: the `root_agent` of its `__init__.py`, `agent.py` or `main.py`, else the one obvious entry of the last
      of these files that is there.
    - `cmd:program argument…`: a command that reads a request as JSON and writes its answer.
    - `http://…` or `https://…`: an endpoint that is sent the request as JSON.

    A relative path, and a module, are looked for below `project`. Importing a module runs it.

    Raises:
        AgentError: there is nothing of this name, it cannot be imported, or it cannot be run.
        MissingExtraError: it needs a package that is not installed.
    """
    named, project, search = named.strip(), project.resolve(), SearchPath()
    if named.startswith(_COMMAND):
        from ._commands import CommandAgent

        return CommandAgent(named.removeprefix(_COMMAND), project, options)
    if named.startswith(_ENDPOINTS):
        from ._endpoints import EndpointAgent

        return EndpointAgent(named, options)
    try:
        name, found = _found(named, project, search)
        return _python_agent(found, name, search)
    except RightcallError:
        search.restore()
        raise


def _found(named: str, project: Path, search: SearchPath) -> tuple[str, Any]:
    """The object that a name means, and how to call it in messages."""
    place, wanted = named, None
    if (split := _ATTRIBUTE.fullmatch(named)) and not (project / named).exists():
        place, wanted = split["place"], split["name"]
    path = (project / place).resolve()
    if path.is_dir():
        return _in_folder(path, place, wanted, search)
    if place.endswith(".py"):
        module = import_file(_existing(path, place), search)
    elif _MODULE.fullmatch(place):
        module = import_name(place, project, search)
    else:
        raise AgentError(f"no agent {named!r:.200}: there is no such file below {project}; an agent is {_FORMS}")
    return _in_module(module, place, wanted)


def _in_module(module: ModuleType, place: str, wanted: str | None) -> tuple[str, Any]:
    if wanted is not None:
        return f"{place}:{wanted}", named_entry(module, wanted, place)
    name, value = entry_of(module, place)
    return f"{place}:{name}", value


def _in_folder(folder: Path, place: str, wanted: str | None, search: SearchPath) -> tuple[str, Any]:
    files = [folder / name for name in _FOLDER_FILES if (folder / name).is_file()]
    if not files:
        raise AgentError(f"the folder {place} has none of {', '.join(_FOLDER_FILES)}; an agent is {_FORMS}")
    name, known = wanted or "root_agent", []
    for file in files:
        module = import_file(file, search)
        if hasattr(module, name.partition(".")[0]):
            return f"{place}:{name}", named_entry(module, name, place)
        known += [one for one in vars(module) if not one.startswith("_")]
    if wanted is not None:
        raise AgentError(f"{place} has no {wanted!r}; {nearest(wanted, known)}")
    return _in_module(module, f"{place}/{files[-1].name}", None)


def _existing(path: Path, place: str) -> Path:
    if path.is_file():
        return path
    beside = [one.name for one in path.parent.glob("*.py")] if path.parent.is_dir() else []
    if not path.parent.is_dir():
        raise AgentError(f"no file {place}: there is no folder {path.parent}")
    raise AgentError(f"no file {place} in {path.parent}; {nearest(path.name, sorted(beside))}")


def _python_agent(found: Any, name: str, search: SearchPath) -> Agent:
    if is_adk(found):
        return AdkAgent(found, name, search.restore)
    agent = None if inspect.isroutine(found) else object_agent(found, search.restore)
    return agent or function_agent(found, name, search.restore)
