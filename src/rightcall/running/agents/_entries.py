"""Which object of a module is the agent."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

from rightcall.errors import AgentError, nearest

from ._objects import METHODS

_ADK = ("google.adk.agents.", "google.adk.apps.")

OBVIOUS = ("main", "root_agent", "agent", "graph", "run", "answer")
"""Names that an agent goes by, the first that exists counts."""


def entry_of(module: ModuleType, where: str) -> tuple[str, Any]:
    """The name and the object of a module's one obvious agent.

    That is the first of `main`, `root_agent`, `agent`, `graph`, `run` and `answer` that can be run, else the only
    public function that the module itself defines.

    Raises:
        AgentError: there is none, or there are several functions and none has such a name.
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
    """The object a dotted name leads to, from a module on; a class on the way is instantiated if it needs nothing.

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
    return callable(value) or is_adk(value) or any([callable(getattr(value, name, None)) for name in METHODS])


def is_adk(value: Any) -> bool:
    """Whether a value is an agent of Google's ADK, told by its class, without importing ADK."""
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
