"""The arguments of a call by name, as Python binds them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

_RECEIVERS = ("self", "cls")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Binding:
    """How the arguments of one function get their names.

    Defaults are applied; `self` and `cls` are left out; `*args` is a list under its name; what `**kwargs` takes
    stands beside the others, unless a parameter has that name already.
    """

    __slots__ = ("_defaults", "_function", "_is_ready", "_order", "_positional", "_receiver", "_signature", "_simple")

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._is_ready = False

    def named(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call by name.

        Raises:
            TypeError: the function cannot be called with them.
        """
        if not self._is_ready:
            self._prepare()
        if self._simple and len(args) <= len(self._positional):
            named = self._quickly(args, kwargs)
            if named is not None:
                return named
        return self._slowly(args, kwargs)

    def _prepare(self) -> None:
        """Look at the signature: when the first call is recorded, because most programs record none."""
        try:
            signature = inspect.signature(self._function)
        except (TypeError, ValueError):  # some functions written in C have none
            signature = inspect.Signature(
                [inspect.Parameter(name, kind) for name, kind in zip(("args", "kwargs"), _VARIADIC, strict=True)]
            )
        parameters = list(signature.parameters.values())
        self._signature = signature
        self._positional = tuple([each.name for each in parameters if each.kind in _POSITIONAL])
        self._order = tuple([each.name for each in parameters])
        self._defaults = {each.name: each.default for each in parameters if each.default is not each.empty}
        self._simple = all([each.kind not in (*_VARIADIC, inspect.Parameter.POSITIONAL_ONLY) for each in parameters])
        first = self._positional[0] if self._positional else None
        self._receiver = first if first in _RECEIVERS else None
        self._is_ready = True

    def _quickly(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any] | None:
        """The arguments of an ordinary call; None where something about it is not. A tenth of what `bind` costs."""
        given = dict(zip(self._positional, args, strict=False))
        if kwargs:
            if not given.keys().isdisjoint(kwargs):
                return None
            given.update(kwargs)
        named, defaults = {}, self._defaults
        for name in self._order:
            if name in given:
                named[name] = given[name]
            elif name in defaults:
                named[name] = defaults[name]
            else:
                return None
        if len(given) > len(named) or not given.keys() <= named.keys():
            return None
        if self._receiver is not None:
            del named[self._receiver]
        return named

    def _slowly(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        named: dict[str, Any] = {}
        for name, value in bound.arguments.items():
            kind = self._signature.parameters[name].kind
            if kind is inspect.Parameter.VAR_KEYWORD:
                taken = {key: value.pop(key) for key in list(value) if key in self._order or key in named}
                named.update(value)
                if taken:
                    named[name] = taken
            elif kind is inspect.Parameter.VAR_POSITIONAL:
                if value:
                    named[name] = list(value)
            elif name != self._receiver:
                named[name] = value
        return named
