"""Packages that import what they export when a name is first used (PEP 562)."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

_IMPORT = re.compile(r"^from \.(\S+) import (\([^)]*\)|.*)$", re.MULTILINE)
_NAME = re.compile(r"(\w+) as \w+")


def lazy_exports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose exports are listed in its `__init__.pyi`.

    The stub is the only list: type checkers and editors read it, and so does this function. A module is imported when
    one of its names is first used; from then on the name is an ordinary attribute of the package.
    """
    module_of = _modules_by_name(package)
    exported = sorted(module_of)

    def resolve(name: str) -> Any:
        module = module_of.get(name)
        if module is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f".{module}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    return resolve, exported.copy, exported


def _modules_by_name(package: str) -> dict[str, str]:
    opened = sys.modules[package]
    # A loader's `get_data` reads from zip files, too, where the stub is not a file on disk.
    stub = opened.__loader__.get_data(f"{opened.__file__}i").decode()  # type: ignore[union-attr]
    return {name: module for module, names in _IMPORT.findall(stub) for name in _NAME.findall(names)}
