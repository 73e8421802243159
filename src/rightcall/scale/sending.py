"""Functions that an engine sends to its workers, and that say so where Rightcall is missing there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rightcall.version import __version__


def sendable(home: str, name: str, *fixed: Any) -> Callable[[Any], Any]:
    """A function of one argument that calls `name` of the module `home` with it and, behind it, with what is fixed.

    Engines send a function within a function by value, and others by their names alone: where there is no Rightcall,
    or another version of it, something has to be there to say so. For the same reason what is fixed has to be plain.
    """
    version = __version__

    def call(given: Any) -> Any:
        from importlib import import_module
        from platform import node

        try:
            found = import_module("rightcall.version").__version__
            function = getattr(import_module(home), name)
        except ImportError as problem:
            raise ImportError(
                f"Rightcall cannot be imported on {node() or 'a worker'} ({problem}): install rightcall[arrow]=="
                f"{version} wherever the engine runs Python"
            ) from None
        if found != version:
            raise ImportError(f"Rightcall is {found} on {node() or 'a worker'}, and {version} where the plan was made")
        return function(given, *fixed)

    return call
