"""Where what was read from a server's export differs from what was read from the recording."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rightcall import RightcallError, read

_TIMES = ("start_ns", "end_ns", "duration_ns")
_ADVICE = "; to record them: "


def differences(original: bytes, export: bytes, *, whole_microseconds: bool) -> list[str]:
    """Every place where the two differ, but for what no server keeps; nothing if both are the same JSON.

    No server keeps the name of the instrumentation with a span, so that name, and the advice in a warning that
    depends on it, is not compared. Times are cut where a server keeps whole microseconds.
    """
    wanted = _comparable(original, whole_microseconds)
    try:
        found = _comparable(export, whole_microseconds)
    except RightcallError as problem:
        return [f"not read: {problem}"]
    return list(_differences("$", wanted, found))


def _comparable(data: bytes, whole_microseconds: bool) -> Any:
    plain = msgspec.to_builtins(list(read(data)))
    for trajectory in plain:
        trajectory["metadata"].pop("instrumentation", None)
        trajectory["warnings"] = [warning.partition(_ADVICE)[0] for warning in trajectory["warnings"]]
    return _cut(plain) if whole_microseconds else plain


def _differences(path: str, wanted: Any, found: Any) -> Iterator[str]:
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in {**wanted, **found}:
            yield from _differences(f"{path}.{key}", wanted.get(key), found.get(key))
    elif isinstance(wanted, (list, tuple)) and isinstance(found, (list, tuple)) and len(wanted) == len(found):
        for place, pair in enumerate(zip(wanted, found, strict=True)):
            yield from _differences(f"{path}[{place}]", *pair)
    elif wanted != found or type(wanted) is not type(found):
        yield f"{path}: {_shown(wanted)} ≠ {_shown(found)}"


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _microseconds(held) if key in _TIMES else _cut(held) for key, held in value.items()}
    return [_cut(held) for held in value] if isinstance(value, (list, tuple)) else value


def _microseconds(value: Any) -> Any:
    return value // 1000 * 1000 if isinstance(value, int) else value


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"{len(value)} items"
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:99]}…"
