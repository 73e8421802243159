"""Things that are loaded on first use: exports of packages (PEP 562), and regular expressions, ours and others'."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any, AnyStr

_NOTHING: Mapping[str, Mapping[str, Any]] = {}


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
        home = f"{package}.{module}"
        # First in `sys.modules`: `import_module` spends most of its time on locks and relative names.
        value = getattr(sys.modules.get(home) or import_module(home), name)
        # From now on Python finds the name itself and does not call `__getattr__` again (PEP 562).
        setattr(sys.modules[package], name, value)
        return value

    return resolve, exported.copy, exported


def _modules_by_name(package: str) -> dict[str, str]:
    opened = sys.modules[package]
    # A loader's `get_data` reads from zip files, too, where the stub is not a file on disk.
    stub = opened.__loader__.get_data(f"{opened.__file__}i").decode()  # type: ignore[union-attr]
    found = {}
    module = ""
    # A stub has lines such as `from ._order import in_order as in_order` alone. Without a regular expression, because
    # compiling one takes longer than reading a stub.
    words = stub.split()
    for place, word in enumerate(words):
        if word == "from":
            module = words[place + 1].removeprefix(".")
        elif word == "as":
            found[words[place - 1]] = module
    return found


class LazyTable(Mapping[str, Any]):
    """Exports of a package by other names, such as type ids. One is imported when it is looked up."""

    def __init__(self, package: str, exports: Mapping[str, str]) -> None:
        self._package, self._exports = package, exports

    def __getitem__(self, name: str) -> Any:
        return getattr(sys.modules[self._package], self._exports[name])

    def __contains__(self, name: object) -> bool:  # the default would import the export
        return name in self._exports

    def __iter__(self) -> Iterator[str]:
        return iter(self._exports)

    def __len__(self) -> int:
        return len(self._exports)


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression that is compiled when it is first used, and then as fast as any other.

    A command uses few of the patterns in the modules that it imports. Compiling one takes 0.1 to 1 ms, and compiling
    all of them a tenth of the time of a short command.
    """
    return _LazyPattern(pattern, flags)  # type: ignore[return-value]


class _LazyPattern:
    def __init__(self, pattern: Any, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._given), name)  # `re` caches what it has compiled
        setattr(self, name, value)
        return value


@contextmanager
def light_imports(*packages: str, late: Mapping[str, Mapping[str, Any]] = _NOTHING) -> Iterator[None]:
    """Let imports in this block load less of other packages than they ask for.

    Regular expressions of `packages` are compiled on first use. Three quarters of `import yaml` are regular expressions
    of its parser in Python, which libyaml replaces: an eighth of the instructions of `rightcall score`.

    The modules in `late` have a stand-in, and are imported when something of them is used that the stand-in does not
    have itself. A module that is loaded already is used as it is. Only for the start of a program, because it affects
    all threads.
    """
    compile_now = re.compile

    def compile_later(pattern: Any, flags: int = 0) -> Any:
        # By the caller's package, because other threads may import other packages meanwhile.
        caller = sys._getframe(1).f_globals.get("__name__", "")
        return (lazy_pattern if caller.partition(".")[0] in packages else compile_now)(pattern, flags)

    stand_ins = {name: _LateModule(name) for name in late}
    for name, stand_in in stand_ins.items():
        stand_in.__dict__.update(late[name])
        sys.modules.setdefault(name, stand_in)
    re.compile = compile_later
    try:
        yield
    finally:
        re.compile = compile_now
        for name, stand_in in stand_ins.items():
            if sys.modules.get(name) is stand_in:
                del sys.modules[name]


class _LateModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name == "__path__":  # `from … import` asks for it, to tell modules from packages
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]  # or `import` would find the stand-in
        return getattr(import_module(self.__name__), name)
