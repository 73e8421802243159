"""JSON values as texts: two values are equal exactly where their texts are."""

from __future__ import annotations

import json
from typing import Any

from rightcall.limits import Budget

# Texts are hashed with a secret of the process. Numbers and tuples are not, so that an agent could choose thousands of
# them with one hash, and a set of them would take quadratic time.
_written = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode
_CHARACTERS = 512
"""Characters of a text that are copied in one step."""
_CALL = 2
"""Steps that writing a value takes, however small it is."""


def canonical(value: Any, budget: Budget) -> str:
    """A JSON value as a text, the same for all values that equal it: `1` and `1.0`, but not `true`.

    Raises:
        LimitError: the value is larger than what is left of the budget.
    """
    budget.spend(_CALL)
    return _written(_plain(value, budget))


def _plain(value: Any, budget: Budget) -> Any:
    """The value with numbers written one way: whole ones as integers."""
    kind = value.__class__
    if kind is str:
        budget.spend(1 + len(value) // _CHARACTERS)
        return value
    if kind is list:
        budget.spend(1)
        return [_plain(item, budget) for item in value]
    if kind is dict:
        budget.spend(1 + len(value))
        return {key: _plain(item, budget) for key, item in value.items()}
    budget.spend(1)
    return int(value) if kind is float and value.is_integer() else value
