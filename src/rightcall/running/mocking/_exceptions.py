"""Find exceptions by name, in Python and in loaded modules. Nothing is ever imported: names come from data."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, TypeGuard

from rightcall.errors import MockError, nearest, shown


def exception_named(name: str, arguments: Sequence[Any], where: str) -> Exception:
    """Make an exception of the type with this name: `KeyError`, `RateLimitError`, `shop.errors.SoldOut`.

    A name with a module is looked up in that module, if it is loaded; one without among the exceptions of Python, then
    in all loaded modules.

    Raises:
        MockError: no type, or more than one, has this name, or it is not an `Exception`.
    """
    kind = _type_named(name, where)
    try:
        return kind(*arguments)
    except Exception:  # noqa: BLE001 - some need more arguments; the type is what an agent looks at
        made: Exception = kind.__new__(kind, *arguments)
        made.args = tuple(arguments)
        return made


def _type_named(name: str, where: str) -> type[Exception]:
    found = list(dict.fromkeys(_candidates(name)))
    if not found:
        known = [each for each in dir(builtins) if _is_exception(getattr(builtins, each))]
        raise MockError(
            f"{where} raises {shown(name)}, which is neither an exception of Python nor in a loaded module; "
            f"{nearest(name, known) if '.' not in name else 'is its module imported by the agent?'}"
        )
    if len(found) > 1:
        places = ", ".join(sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in found)[:5])
        raise MockError(f"{where} raises {shown(name)}, and there are several: {places}; write it with its module")
    return found[0]


def _candidates(name: str) -> Iterator[type[Exception]]:
    own = vars(builtins).get(name)
    if _is_exception(own):
        yield own
        return
    module_name, dot, inner = name.rpartition(".")
    if not dot:
        for module in list(sys.modules.values()):
            # `__dict__` and not `getattr`: a module's `__getattr__` (PEP 562) may import something.
            held = getattr(module, "__dict__", {}).get(name)
            if _is_exception(held):
                yield held
    while module_name:
        found = _inside(sys.modules.get(module_name), inner)
        if found is not None:
            yield found
            return
        module_name, _, last = module_name.rpartition(".")
        inner = f"{last}.{inner}"


def _inside(module: ModuleType | None, path: str) -> type[Exception] | None:
    held: Any = module
    for step in path.split("."):
        if not isinstance(held, (ModuleType, type)):
            return None
        held = vars(held).get(step)
    return held if _is_exception(held) else None


def _is_exception(value: Any) -> TypeGuard[type[Exception]]:
    return isinstance(value, type) and issubclass(value, Exception)
