"""Arguments as text that is equal for equal arguments."""

from __future__ import annotations

from typing import Any

import msgspec

from rightcall.reading.spans import NOTHING
from rightcall.values.decoding import dump_json

_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode


def key_of(args: Any) -> bytes | str:
    """Return arguments as text that is equal for equal arguments."""
    if args is NOTHING:
        return b""
    try:
        written = _encode(args)
    except (OverflowError, UnicodeError, msgspec.MsgspecError, RecursionError):
        return dump_json(_sorted(args))
    # msgspec writes NaN as null, and the two are different arguments.
    return dump_json(_sorted(args)) if b"null" in written and _decode(written) != args else written


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
