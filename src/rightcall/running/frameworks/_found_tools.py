"""The tools of a loaded agent, found by looking at it, and the names among mocks that none of them has."""

from __future__ import annotations

import inspect
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from rightcall.errors import nearest, shown
from rightcall.running.tracing import declared_parameters, marked_tools

from ._adapter import Adapter, FoundTool
from ._adapters import stand_in_for_frameworks

_MOST_OBJECTS = 20_000
_UIPATH = "uipath.eval.mocks"
_INSTALLED = ("site-packages", "dist-packages", "lib/python")
_MARKED = "rightcall"
_LISTED = 12
"""How many names of tools a message lists."""


class ToolInventory(msgspec.Struct, frozen=True):
    """The tools of an agent, as far as they are known before it runs."""

    tools: tuple[FoundTool, ...] = ()
    is_open: bool = False
    """Whether there may be more that are made or listed only when the agent runs, and that can be stood in for."""

    @property
    def are_all_seen(self) -> bool:
        """Whether every call of a tool would be noticed: then no calls seen means that none were made."""
        return bool(self.tools) and not any([tool.problem for tool in self.tools])


def find_tools(target: Any, project: Path) -> ToolInventory:
    """Find the tools of an agent, and have the frameworks that it uses dispatch them through Rightcall.

    The search covers the agent itself, the modules of its project, and what these hold in lists, objects and closures.
    Tools that are marked with our decorators are found wherever they are.
    """
    adapters = stand_in_for_frameworks()
    found = {tool.name: tool for tool in _seen(adapters, _roots(target, project))}
    for marks in marked_tools():  # last, because a marked function that is a framework's tool is both
        if marks.tool not in found or found[marks.tool].problem:
            found[marks.tool] = FoundTool(marks.tool, _MARKED, declared_parameters(marks.function))
    tools = tuple(sorted(found.values(), key=lambda tool: tool.name))
    has_source = any([tool.is_source for tool in tools])
    # A framework is loaded and none of its objects is in sight: the agent makes them while it runs.
    is_made_later = bool(adapters) and not any([tool.framework != _MARKED for tool in tools])
    return ToolInventory(tools, has_source or is_made_later or _UIPATH in sys.modules)


def unreached_names(inventory: ToolInventory, names: Iterable[str]) -> str | None:
    """Return a sentence about the first name that nothing can stand in for; None if there is none.

    A name with `*` has to fit one tool. Where more tools may come while the agent runs, an unknown name is accepted.
    """
    tools = [tool for tool in inventory.tools if not tool.is_source]
    for name in names:
        fits = _pattern(name).matches if "*" in name else name.__eq__
        fitting = [tool for tool in tools if fits(tool.name)]
        reached = [tool for tool in fitting if not tool.problem]
        if fitting and not reached:
            return f"nothing can stand in for the tool {shown(name)} of {fitting[0].framework}: {fitting[0].problem}"
        if not fitting and not inventory.is_open:
            return _unknown(name, [tool.name for tool in tools])
    return None


def _pattern(name: str) -> Any:
    from rightcall.matching.matchers import NamePattern  # most workers have no name with `*`, and need no matchers

    return NamePattern.of(name)


def _unknown(name: str, known: list[str]) -> str:
    if not known:
        found = "no tools were found in the agent"
    else:
        listed = ", ".join(known[:_LISTED]) + (f" and {len(known) - _LISTED} more" if len(known) > _LISTED else "")
        found = f"the agent's tools are {listed} ({nearest(name, known)})"
    return (
        f"no tool {shown(name)} to stand in for: {found}; mark the function with @rightcall.tool, or correct the name"
    )


def _seen(adapters: tuple[Adapter, ...], roots: Iterable[Any]) -> Iterator[FoundTool]:
    left, seen = deque(roots), set[int]()
    kept: list[Any] = []  # so that no id is used twice while we look
    while left and len(seen) < _MOST_OBJECTS:
        value = left.popleft()
        if id(value) in seen:
            continue
        seen.add(id(value))
        kept.append(value)
        for adapter in adapters:
            for found in adapter.look(value):
                if isinstance(found, FoundTool):
                    yield found
                else:
                    left.extend(found)
        left.extend(_parts(value))


def _roots(target: Any, project: Path) -> Iterator[Any]:
    yield target
    own = sys.modules.get(getattr(target, "__module__", None) or "")
    if own is not None and _is_own(own):
        yield from list(vars(own).values())
    for module in list(sys.modules.values()):
        if _is_own(module) and Path(str(module.__file__)).is_relative_to(project):
            yield from list(vars(module).values())


def _parts(value: Any) -> Iterator[Any]:
    """Yield what a value of the agent's own code holds; objects of installed packages are left to the adapters."""
    if isinstance(value, (list, tuple, set, frozenset)):
        yield from value
    elif isinstance(value, Mapping):
        yield from value.values()
    elif inspect.isfunction(value):
        yield from _closed_over(value)
    elif inspect.ismethod(value):
        yield value.__self__
    elif not isinstance(value, (str, bytes, int, float, type, ModuleType)) and _is_own(
        sys.modules.get(type(value).__module__)
    ):
        yield from list(getattr(value, "__dict__", {}).values())


def _closed_over(function: Any) -> Iterator[Any]:
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not bound yet
            continue


def _is_own(module: Any) -> bool:
    """Whether a module is of the program itself, not of Python, an installed package or Rightcall."""
    file = getattr(module, "__file__", None) if isinstance(module, ModuleType) else None
    if not isinstance(file, str) or module.__name__.partition(".")[0] == _MARKED:
        return False
    return not any([part in file for part in _INSTALLED])
