"""Cells of rows as the fields of a span: attributes, times, events, scopes, in every form that databases print."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import repeat
from typing import Any

import msgspec

from rightcall.errors import InputError
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.reading.conventions import lazy_attributes
from rightcall.reading.spans import UNREADABLE, Event, RawAttributes, Span, nanoseconds, plain_value, undecoded
from rightcall.values.decoding import decode_json, decode_text

from ._otlp import otlp_span

_DEEPEST = 20
_BLANK = frozenset({"", "{}", "[]", "null"})
_NO_EVENTS = (None, "", "[]", "null")
_EVENT = {"name": "name", "eventname": "name", "attributes": "attributes"}
_EVENT |= dict.fromkeys(("timeunixnano", "timestamp", "time", "timens"), "time")
# The size of a number since 1970 shows its unit: below the first bound it is seconds until the year 5138, below the
# second milliseconds until then, and so on.
_SIZES = ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3))

Attributes = dict[str, Any] | RawAttributes


def attributes_in(cell: Any, limits: Limits) -> Attributes:
    """Return the attributes in a cell: an object, pairs, objects with `key` and `value`, or any of these as text.

    Raises:
        InputError: the text is neither such JSON nor such a Python literal, which is how ClickHouse prints a map.
    """
    if cell.__class__ is dict:
        return opened({key: without_nulls(value) for key, value in cell.items() if value is not None})
    if not isinstance(cell, (str, bytes)):
        return _in_pairs(cell)
    if cell in _BLANK:
        return {}
    lazy = _lazily(cell, limits) if isinstance(cell, str) else None
    if lazy is not None:
        return lazy
    held = decode_json(cell, limits) if isinstance(cell, bytes) else decode_text(cell, limits)
    if not isinstance(held, Mapping):
        return _in_pairs(held)
    return opened({key: value for key, value in held.items() if value is not None})


def attributes_or_trouble(cell: Any, limits: Limits) -> Attributes:
    """Return the attributes in a cell; one that cannot be read becomes the attribute `UNREADABLE`."""
    try:
        return attributes_in(cell, limits)
    except InputError as problem:
        return {UNREADABLE: f"the attributes of a span could not be read: {problem}"}


def marked(attributes: Attributes, trouble: str) -> dict[str, Any]:
    """Return attributes with a note on what could not be read."""
    return {**{key: attributes.get(key) for key in attributes}, UNREADABLE: trouble}


def without_nulls(value: Any) -> Any:
    """Return a value without nulls inside: a struct column gives every row the fields of all rows."""
    if value.__class__ is dict:
        return {key: without_nulls(held) for key, held in value.items() if held is not None}
    if value.__class__ is list:
        return [without_nulls(held) for held in value]
    return value


def opened(attributes: dict[str, Any]) -> dict[str, Any]:
    """Add nested attributes under dotted names: `{"tool": {"name": …}}` is also `tool.name`."""
    nested = [(key, value) for key, value in attributes.items() if value.__class__ is dict and "." not in key]
    for key, value in nested:
        _open(key, value, attributes, 0)
    return attributes


def moment(value: Any, unit: int | None, is_duration: bool = False) -> int | None:
    """Return a time or duration in nanoseconds.

    Numbers are in the unit in the column's name. Without one, a duration is in nanoseconds, and the size of a time
    shows its unit.
    """
    if unit is None and not is_duration:
        return nanoseconds(value, _unit_of(value))
    return nanoseconds(value, unit or 1)


def span_of_cells(
    limits: Limits,
    trace_id: Any,
    span_id: Any,
    parent_id: Any,
    name: Any,
    start: int | None,
    end: int | None,
    attributes: Attributes,
    status: Any,
    message: Any,
    scope: Any,
    events: Any,
) -> Span:
    """Build one span, by way of the tolerant OTLP reader, which knows every spelling of ids and statuses."""
    troubles: list[str] = []
    if isinstance(status, str) and status[:1] == "{":
        status = _read(decode_json, status, troubles, limits)
    document = {
        "name": name,
        "traceId": trace_id,
        "spanId": span_id,
        "parentSpanId": parent_id,
        "startTimeUnixNano": start,
        "endTimeUnixNano": end,
        "status": status if isinstance(status, Mapping) else {"code": status, "message": message},
    }
    span = otlp_span(document, _scope_name(scope, troubles, limits))
    found = _read(_events_in, events, troubles, limits) if events and events not in _NO_EVENTS else None
    held = marked(attributes, troubles[0]) if troubles else attributes
    return msgspec.structs.replace(span, attributes=held, events=found or ())


def side_by_side(names: Any, moments: Any, attributes: Any) -> list[dict[str, Any]]:
    """Return the events of a row whose names, times and attributes are three lists (ClickHouse exporter)."""
    lists = [held if isinstance(held, list) and held else None for held in (names, moments, attributes)]
    held = zip(lists[0] or (), lists[1] or repeat(None), lists[2] or repeat(None), strict=False)
    return [{"name": name, "time": moment, "attributes": pairs} for name, moment, pairs in held]


def scope_name(scope: Any, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return the name of an instrumentation in a cell; empty if it has none, or cannot be read."""
    return _scope_name(scope, [], limits)


def _unit_of(value: Any) -> int:
    if isinstance(value, str) and value.isdecimal() and len(value) <= 40:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 1
    return next((unit for bound, unit in _SIZES if abs(value) < bound), 1)


def _lazily(text: str, limits: Limits) -> RawAttributes | None:
    """Return attributes decoded on demand; None if some are nested, or the text is not an object."""
    held = undecoded(text) if len(text) <= limits.text_bytes else None
    if held is None or any(["." not in each.key and bytes(each.value)[15:16] == b"{" for each in held]):
        return None
    return lazy_attributes(held)  # type: ignore[no-any-return]


def _in_pairs(held: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in held if isinstance(held, list) else ():
        if isinstance(pair, Mapping):
            key, value = pair.get("key"), pair.get("value")
        else:
            key, value = pair if isinstance(pair, tuple) and len(pair) == 2 else (None, None)
        value = plain_value(value) if isinstance(value, Mapping) else value
        if isinstance(key, str) and value is not None:
            found[key] = value
    return found


def _open(path: str, held: dict[str, Any], attributes: dict[str, Any], depth: int) -> None:
    for key, value in held.items():
        attributes.setdefault(f"{path}.{key}", value)
        if value.__class__ is dict and depth < _DEEPEST:
            _open(f"{path}.{key}", value, attributes, depth + 1)


def _events_in(held: Any, limits: Limits) -> list[Event]:
    held = decode_json(held, limits) if isinstance(held, (str, bytes)) else held
    return [_event(event, limits) for event in held if isinstance(event, Mapping)] if isinstance(held, list) else []


def _event(event: Mapping[str, Any], limits: Limits) -> Event:
    found = {_EVENT.get(key.lower().replace("_", "")): value for key, value in event.items() if value is not None}
    name, attributes = found.get("name"), attributes_in(found.get("attributes"), limits)
    time = nanoseconds(found.get("time"))
    return Event(name if isinstance(name, str) else "", attributes, time)  # type: ignore[arg-type]


def _scope_name(scope: Any, troubles: list[str], limits: Limits) -> str:
    """Return the name of an instrumentation: the cell itself, or `name` of an object in it."""
    if isinstance(scope, str) and scope[:1] != "{":
        return scope
    held = _read(decode_json, scope, troubles, limits) if isinstance(scope, str) else scope
    name = held.get("name") if isinstance(held, Mapping) else None
    return name if isinstance(name, str) else ""


def _read(read: Callable[[Any, Limits], Any], cell: Any, troubles: list[str], limits: Limits) -> Any:
    try:
        return read(cell, limits)
    except InputError as problem:
        troubles.append(f"a cell of a span could not be read: {problem}")
        return None
