"""What Python agents give back, as plain values."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

import msgspec

from rightcall.limits import DEFAULT_LIMITS


def plain(value: Any, depth: int = DEFAULT_LIMITS.depth) -> Any:
    """A value with pydantic models, dataclasses, structs and enums made plain, also inside lists and objects.

    Everything else stays as it is, and so does what lies deeper than values may be.
    """
    if isinstance(value, enum.Enum):
        return plain(value.value, depth - 1)
    if value is None or isinstance(value, (str, int, float)) or depth <= 0:
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item, depth - 1) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item, depth - 1) for key, item in value.items()}
    return _opened(value, depth)


def _dumped(model: Any, depth: int) -> Any:
    try:
        return model.model_dump(mode="json")
    except ValueError:  # something in it is no JSON; that is for whoever keeps the answer to tell, with its place
        return plain(model.model_dump(), depth - 1)


def _opened(value: Any, depth: int) -> Any:
    kind = type(value)
    if isinstance(value, type):
        return value
    if hasattr(kind, "model_dump"):
        return _dumped(value, depth)
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name), depth - 1) for name in value.__struct_fields__}
    if hasattr(kind, "__dataclass_fields__"):
        return {name: plain(getattr(value, name), depth - 1) for name in kind.__dataclass_fields__}
    return value
