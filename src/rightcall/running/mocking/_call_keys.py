"""Keys by which recorded values are found again."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

_TRUE, _FALSE, _NAN = object(), object(), object()


def equality_key(value: Any) -> Hashable:
    """Return a hashable key of a JSON value; two keys are equal exactly if evaluators find the values equal."""
    if isinstance(value, dict):
        return frozenset([(key, equality_key(item)) for key, item in value.items()])
    if isinstance(value, list):
        return tuple([equality_key(item) for item in value])
    if isinstance(value, bool):
        # In Python `True == 1`, and both hash alike; in JSON they are two values (RFC 8259, section 3).
        return _TRUE if value else _FALSE
    # NaN differs from itself, so without a key of its own a recorded NaN would never be found.
    return _NAN if value != value else value
