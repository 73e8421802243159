"""Find and load an agent by its name."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

from rightcall.errors import AgentError, MissingExtraError, RightcallError, nearest

from ._agent import Agent, AgentOptions
from ._modules import SearchPath, import_file, import_name
from ._python_agents import AdkAgent, function_agent, is_openai_agent, method_of, object_agent

_FORMS = "file.py:function, module:function, file.py, a folder, cmd:program, or http://…"
_COMMAND = "cmd:"
_ENDPOINTS = ("http://", "https://")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_ATTRIBUTE = re.compile(r"(?P<place>.+):(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")
_FOLDER_FILES = ("__init__.py", "agent.py", "main.py")

_ADK = ("google.adk.agents.", "google.adk.apps.")

OBVIOUS = ("main", "root_agent", "agent", "graph", "run", "answer")
"""Common names of agents; the first that exists is taken."""


def load_agent(named: str, project: Path, options: AgentOptions = AgentOptions()) -> Agent:  # noqa: B008 - frozen
    """Load the agent with this name.

    - `file.py:function`, `file.py:object.method`, `module:function`: that function or object.
    - `file.py` or `module`: its one obvious entry (`main`, `root_agent`, `agent`, `graph`, `run`, `answer`, or the only
      public function).
    - a folder: the `root_agent` of its `__init__.py`, `agent.py` or `main.py`, else the one obvious entry of the last
      of these files that exists.
    - `cmd:program argument…`: a command that reads a request as JSON and writes its answer.
    - `http://…` or `https://…`: an endpoint that is sent the request as JSON.

    A relative path, and a module, are looked for below `project`. Importing a module runs it.

    Raises:
        AgentError: nothing has this name, it cannot be imported, or it cannot be run.
        MissingExtraError: it needs a package that is not installed.
    """
    named, project, search = named.strip(), project.resolve(), SearchPath()
    if named.startswith((_COMMAND, *_ENDPOINTS)):
        return _external_agent(named, project, options)
    try:
        name, found = _found(named, project, search)
        return _python_agent(found, name, search)
    except RightcallError:
        search.restore()
        raise


def _external_agent(named: str, project: Path, options: AgentOptions) -> Agent:
    try:  # here, because Python agents need neither asyncio nor h11
        from ._commands import CommandAgent
        from ._endpoints import EndpointAgent
    except ImportError:
        raise MissingExtraError("commands and endpoints as agents need h11: pip install rightcall") from None
    if named.startswith(_COMMAND):
        return CommandAgent(named.removeprefix(_COMMAND), project, options)
    return EndpointAgent(named, options)


def _found(named: str, project: Path, search: SearchPath) -> tuple[str, Any]:
    """Return the object with this name, and its name for messages."""
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


def entry_of(module: ModuleType, where: str) -> tuple[str, Any]:
    """Return the name and the object of a module's one obvious agent.

    That is the first of `main`, `root_agent`, `agent`, `graph`, `run` and `answer` that can be run, else the only
    public function that the module itself defines.

    Raises:
        AgentError: there is none, or there are several functions without such a name.
    """
    for name in OBVIOUS:
        if is_runnable(getattr(module, name, None)):
            return name, getattr(module, name)
    functions = [name for name, value in vars(module).items() if _is_own_function(name, value, module)]
    if len(functions) == 1:
        return functions[0], getattr(module, functions[0])
    if functions:
        listed = ", ".join(f"{where}:{name}" for name in functions[:10])
        raise AgentError(f"{where} has several functions; say which is the agent: {listed}")
    raise AgentError(f"{where} has nothing that can be run; an agent is a function such as main, agent, run or answer")


def named_entry(module: ModuleType, dotted: str, where: str) -> Any:
    """Return the object of a dotted name in a module; a class on the way is instantiated if it needs no arguments.

    Raises:
        AgentError: there is no such name, it cannot be run, or it is a class that needs arguments.
    """
    value: Any = module
    for name in dotted.split("."):
        value = _instance(value, where) if isinstance(value, type) and _needs_self(value, name) else value
        if not hasattr(value, name):
            known = [one for one in dir(value) if not one.startswith("_")]
            raise AgentError(f"{where} has no {name!r}; {nearest(name, known)}")
        value = getattr(value, name)
    value = _instance(value, where) if isinstance(value, type) else value
    if not is_runnable(value) or inspect.ismodule(value):
        raise AgentError(f"{where}:{dotted} is a {type(value).__name__}, which cannot be run")
    return value


def is_runnable(value: Any) -> bool:
    """Whether a value is a function, or an object that can be called, invoked or run, or one of ADK's agents."""
    if value is None or isinstance(value, type) or inspect.ismodule(value):
        return False
    return callable(value) or is_adk(value) or is_openai_agent(value) or method_of(value) is not None


def is_adk(value: Any) -> bool:
    """Whether a value is an agent of Google's ADK, known by its class, without importing ADK."""
    return any([kind.__module__.startswith(_ADK) for kind in type(value).__mro__])


def _is_own_function(name: str, value: Any, module: ModuleType) -> bool:
    return inspect.isfunction(value) and not name.startswith("_") and value.__module__ == module.__name__


def _needs_self(kind: type, name: str) -> bool:
    found = inspect.getattr_static(kind, name, None)
    return found is not None and not isinstance(found, (staticmethod, classmethod)) and callable(found)


def _instance(kind: type, where: str) -> Any:
    try:
        needed = [one.name for one in inspect.signature(kind).parameters.values() if _is_needed(one)]
    except (TypeError, ValueError):
        needed = ["its arguments"]
    if needed:
        name = f"{where}:{kind.__name__}"
        raise AgentError(
            f"{name} is a class that needs {', '.join(needed)}; make an instance in the file and name that"
        )
    return kind()


def _is_needed(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind not in (
        parameter.VAR_POSITIONAL,
        parameter.VAR_KEYWORD,
    )
