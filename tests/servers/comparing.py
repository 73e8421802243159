"""Where what was read from a server's export differs from what was read from the recording."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from rightcall import RightcallError, read

_TIMES = ("start_ns", "end_ns", "duration_ns")
_ADVICE = "; to record them: "


def differences(original: bytes, export: bytes, *, precision_ns: int) -> list[str]:
    """Every place where the two differ, but for what no server keeps; nothing if both are the same JSON.

    No server keeps the name of the instrumentation with a span, so that name, and the advice in a warning that
    depends on it, is not compared. Times are the same if they differ by no more than twice the server's precision: a
    duration has two ends.
    """
    wanted = _comparable(original)
    try:
        found = _comparable(export)
    except RightcallError as problem:
        return [f"not read: {problem}"]
    return list(_differences("$", wanted, found, precision_ns))


def _comparable(data: bytes) -> Any:
    plain = msgspec.to_builtins(list(read(data)))
    for trajectory in plain:
        trajectory["metadata"].pop("instrumentation", None)
        trajectory["warnings"] = [warning.partition(_ADVICE)[0] for warning in trajectory["warnings"]]
    return plain


def _differences(path: str, wanted: Any, found: Any, precision_ns: int) -> Iterator[str]:
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in {**wanted, **found}:
            if not (key in _TIMES and _is_near(wanted.get(key), found.get(key), 2 * precision_ns)):
                yield from _differences(f"{path}.{key}", wanted.get(key), found.get(key), precision_ns)
    elif isinstance(wanted, (list, tuple)) and isinstance(found, (list, tuple)) and len(wanted) == len(found):
        for place, pair in enumerate(zip(wanted, found, strict=True)):
            yield from _differences(f"{path}[{place}]", *pair, precision_ns)
    elif wanted != found or type(wanted) is not type(found):
        yield f"{path}: {_shown(wanted)} ≠ {_shown(found)}"


def _is_near(wanted: Any, found: Any, precision_ns: int) -> bool:
    return isinstance(wanted, int) and isinstance(found, int) and abs(wanted - found) <= precision_ns


def _shown(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"{len(value)} items"
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:99]}…"
