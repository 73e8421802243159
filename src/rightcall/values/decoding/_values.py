"""Python values from outside, held to the shape and the size of JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rightcall.errors import InputError, shown
from rightcall.limits import DEFAULT_LIMITS, Limits

_SCALARS = frozenset({str, float, bool, type(None)})


def admit(
    value: Any, limits: Limits = DEFAULT_LIMITS, *, where: str = "$", foreign: bool = False, opened: bool = False
) -> Any:
    """Return a copy of `value` made of plain JSON types only: dict, list, str, int, float, bool, None.

    Tuples become lists, subclasses their plain type. With `foreign`, objects that are not JSON are kept as
    they are, for expectations whose `__eq__` decides; a cycle or a depth beyond the limit is refused either way.
    With `opened`, pydantic models, dataclasses and structs are the objects that their fields make: SDKs give such.

    Raises:
        InputError: naming the path of what is not a JSON value, too deep, or too much.
    """
    return _Admission(limits, where, foreign, opened).plain(value)


def check_shape(value: Any, most_nodes: int, limits: Limits) -> None:
    """Refuse a decoded value that is deeper or holds more than the limits allow.

    `most_nodes` is an upper bound of the values in it: when that is small there is nothing to walk.

    Raises:
        InputError: too deep, or too much.
    """
    if most_nodes <= limits.depth:
        return
    # Level by level and not recursively: a value can be deeper than Python's recursion limit.
    level, depth, seen = [value], 0, 0
    while level:
        seen += len(level)
        level = [held for held in level if held.__class__ in (dict, list)]
        depth += bool(level)
        if depth > limits.depth or seen > limits.nodes:
            raise InputError(_too_deep(limits) if depth > limits.depth else _too_much(limits))
        level = [item for held in level for item in (held.values() if held.__class__ is dict else held)]


class _Admission:
    """One walk over one value, with its path and the number of values seen."""

    def __init__(self, limits: Limits, root: str, foreign: bool, opened: bool) -> None:
        self._limits = limits
        self._foreign = foreign
        self._opened = opened
        self._path: list[str | int] = []
        self._root = root
        self._seen = 0

    def plain(self, value: Any) -> Any:
        self._seen += 1
        if self._seen > self._limits.nodes:
            raise InputError(f"{_too_much(self._limits)}, at {self._where()}")
        # One lookup decides for nearly all values; the checks below are for subclasses and other mappings.
        kind = type(value)
        if kind in _SCALARS:
            return value
        if kind is dict or isinstance(value, Mapping):
            return self._plain_object(value)
        if isinstance(value, (list, tuple)):
            return self._plain_list(value)
        return self._plain_scalar(value)

    def _plain_object(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        plain = {}
        self._enter()
        for key, item in value.items():
            if not isinstance(key, str):
                raise InputError(f"the key {shown(key)} at {self._where()} is not text, as keys of JSON objects are")
            self._path[-1] = key
            plain[str.__str__(key)] = self.plain(item)
        self._path.pop()
        return plain

    def _plain_list(self, value: Sequence[Any]) -> list[Any]:
        plain = []
        self._enter()
        for index, item in enumerate(value):
            self._path[-1] = index
            plain.append(self.plain(item))
        self._path.pop()
        return plain

    def _plain_scalar(self, value: Any) -> Any:
        if isinstance(value, int):
            if value.bit_length() > self._limits.integer_bits:
                raise InputError(f"an integer of {value.bit_length():,} bits at {self._where()} is too large")
            return int(value)
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, float):
            return float(value)
        fields = _fields(value) if self._opened else None
        if fields is not None:
            return self._plain_object(fields)
        if self._foreign:
            return value
        raise InputError(f"a {type(value).__name__} at {self._where()} is not a JSON value")

    def _enter(self) -> None:
        if len(self._path) >= self._limits.depth:
            raise InputError(f"{_too_deep(self._limits)} (or without end), at {self._where()}")
        self._path.append("")

    def _where(self) -> str:
        steps = [f"[{step}]" if isinstance(step, int) else f".{step[:40]}" for step in self._path[:10]]
        return self._root + "".join(steps) + ("…" if len(self._path) > len(steps) else "")


def _fields(value: Any) -> dict[str, Any] | None:
    """Return the declared fields of a model, dataclass or struct; `None` for any other object."""
    kind = type(value)
    if hasattr(kind, "model_dump"):
        dumped = _dumped(value)
        return dumped if isinstance(dumped, dict) else None
    names = getattr(kind, "__dataclass_fields__", None) or getattr(kind, "__struct_fields__", None)
    return {name: getattr(value, name, None) for name in names} if names else None


def _dumped(model: Any) -> Any:
    try:
        return model.model_dump(mode="json", warnings=False)
    except ValueError:  # part of it is not JSON; it is kept, or refused with its path
        return model.model_dump(warnings=False)


def _too_deep(limits: Limits) -> str:
    return f"nested deeper than the limit of {limits.depth} levels"


def _too_much(limits: Limits) -> str:
    return f"more than the limit of {limits.nodes:,} values"
