"""Front doors that import what is behind them when a name is first used (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any


def open_late(
    package: str, homes: Mapping[str, Iterable[str]], *others: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The `__getattr__`, `__dir__` and `__all__` of a package whose exports are at home in modules of it.

    `homes` has the names of each module, which is imported when one of them is first used; from then on the name is an
    ordinary attribute of the package. `others` are exported as well, and are there from the beginning. Type checkers do
    not follow this: a door shows them the same names as imports, and a test holds the two against each other.
    """
    home_of = {name: home for home, names in homes.items() for name in names}
    exported = sorted([*home_of, *others])

    def resolve(name: str) -> Any:
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f".{home}", package), name)
        setattr(sys.modules[package], name, value)
        return value

    return resolve, exported.copy, exported
