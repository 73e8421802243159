"""Arguments and outputs as attributes of spans: JSON where they are JSON, else a short text."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Set
from typing import Any

from ._binding import Binding

Recorded = str | bool | int | float

_LONGEST_REPR = 1_000
_WORD = 2**63
_PLACEHOLDERS = frozenset({"<not specified>", "<not serializable>", "N/A"})


def arguments_text(named: Mapping[str, Any]) -> str:
    """Arguments as a JSON object. What is not JSON becomes what it stands for, else its `repr`, cut short."""
    try:
        return _encode(named)
    except (TypeError, ValueError, RecursionError):
        return json.dumps({key: _harmless(value) for key, value in named.items()})


def decoded_arguments(text: str) -> dict[str, Any]:
    """The plain values of arguments that `arguments_text` wrote."""
    from rightcall.values.decoding import decode_json

    decoded: dict[str, Any] = decode_json(text)
    return decoded


def plain_arguments(function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name, as the plain JSON values that a stand-in and an observer get.

    Raises:
        TypeError: the function cannot be called with them.
    """
    return decoded_arguments(arguments_text(Binding(function).named(args, kwargs)))


def output_attribute(value: Any) -> Recorded:
    """An output as an attribute that readers give back as the same value.

    Text, numbers and booleans are themselves, lists and objects JSON. An object whose only key is `content` stands
    for its content, as in UiPath's tools. Whatever would be taken for something else stands inside such an object:
    null, an object with `content` and more, texts that some framework writes for "nothing".
    """
    if value.__class__ is str:
        return value if _is_plain_text(value) else _enclosed(value)
    if value.__class__ is bool or (value.__class__ is int and -_WORD <= value < _WORD):
        return value
    if value.__class__ is float and math.isfinite(value):
        return value
    text = _text(value)
    return text if text[0] in "{[" and not _is_misread(text) else f'{{"content": {text}}}'


def short_text(value: object) -> str:
    """The `repr` of anything, cut short, whatever its `__repr__` does."""
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - a repr that fails must not make a tool fail
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST_REPR else f"{text[: _LONGEST_REPR - 1]}…"


def _text(value: Any) -> str:
    try:
        return _encode(value)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(short_text(value))


def _harmless(value: Any) -> Any:
    try:
        return json.loads(_encode(value))
    except (TypeError, ValueError, RecursionError):
        return short_text(value)


def _plain(value: Any) -> Any:
    """What an object that is not JSON stands for."""
    try:
        found = _content_of(value)
    except Exception:  # noqa: BLE001 - the code of others must not make a tool fail because it is watched
        found = None
    return short_text(value) if found is None else found


def _content_of(value: Any) -> Any:
    kind = type(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Set):
        return sorted(value, key=repr)
    if hasattr(kind, "__dataclass_fields__"):
        return {name: getattr(value, name) for name in kind.__dataclass_fields__}
    if hasattr(kind, "__struct_fields__"):
        return {name: getattr(value, name) for name in kind.__struct_fields__}
    if hasattr(kind, "model_dump"):
        return value.model_dump(mode="json")
    if hasattr(kind, "__members__"):
        return value.value
    if hasattr(kind, "isoformat"):
        return value.isoformat()
    return str(value) if kind.__module__.partition(".")[0] in ("uuid", "decimal", "pathlib", "fractions") else None


def _is_plain_text(text: str) -> bool:
    if text in _PLACEHOLDERS:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate, which no exporter can write
        return False
    return True


def _is_misread(text: str) -> bool:
    """Whether an object would be taken for an envelope although it is more than one."""
    if '"content"' not in text:
        return False
    value = json.loads(text)
    return isinstance(value, dict) and "content" in value and len(value) > 1


def _enclosed(value: Any) -> str:
    return f'{{"content": {json.dumps(value)}}}'


_encode = json.JSONEncoder(default=_plain).encode
