"""Text that stands for a value: JSON, else a Python literal."""

from __future__ import annotations

import ast
import re
from typing import Any

from rightcall.errors import InputError
from rightcall.limits import DEFAULT_LIMITS, Limits

from ._json import decode_json
from ._values import admit

# Python warns of escapes it does not know and keeps their backslash; doubling it says the same without a warning.
_UNKNOWN_ESCAPE = re.compile(r"""\\(\\|(?![\n\\'"abfnrtvxuUN0-7]))""")


def decode_text(text: str, limits: Limits = DEFAULT_LIMITS) -> Any:
    """The value a text stands for: read as JSON, else as a Python literal such as `{'city': 'Paris'}`.

    Tuples become lists. Nothing is executed.

    Raises:
        InputError: the text is neither, or exceeds the limits.
    """
    try:
        return decode_json(text, limits)
    except InputError as problem:
        return _decode_literal(text, limits, problem)


def _decode_literal(text: str, limits: Limits, problem: InputError) -> Any:
    if len(text) > limits.literal_bytes:
        raise problem
    try:
        value = ast.literal_eval(_UNKNOWN_ESCAPE.sub(r"\\\\", text.strip()))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        raise InputError("neither JSON nor a Python literal") from None
    return admit(value, limits)
