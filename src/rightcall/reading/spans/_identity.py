"""Ids and times, as containers spell them."""

from __future__ import annotations

import base64
import binascii
import re
from datetime import UTC, datetime
from typing import Any

_HEX = re.compile(r"[0-9a-fA-F]+\Z")
_ISO = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9})\d*)?\s*(Z|[+-]\d\d:?\d\d)?\Z")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HEX_LENGTHS = (16, 32)
_BASE64_LENGTHS = (12, 24)


def span_id(value: Any) -> str | None:
    """An id as lower-case hexadecimal digits, or as it is; none for an absent or all-zero one.

    OTLP/JSON writes hexadecimal digits, protobuf's own JSON base64, SDKs `0x` and the digits, and some exports
    names of their own (`span_…`).
    """
    if value.__class__ is str and len(value) in _HEX_LENGTHS and value.isalnum():
        return value.lower() if value.strip("0") else None
    if not value:
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:016x}" if value else None
    if isinstance(value, bytes):
        return value.hex() if any(value) else None
    if not isinstance(value, str) or not value:
        return None
    # The base64 of 8 or 16 bytes is padded, and may begin with any two characters: `0x` as well.
    if len(value) in _BASE64_LENGTHS and value.endswith("="):
        text = _from_base64(value)
    else:
        text = value[2:] if value.startswith("0x") else value
    if not text.strip("0"):
        return None
    return text.lower() if _HEX.match(text) else text


def nanoseconds(value: Any, unit: int = 1) -> int | None:
    """A time in integer nanoseconds since 1970, from a number (or digits) of `unit` nanoseconds, or an ISO text.

    None where there is no time, or none that can be understood.
    """
    if value.__class__ is str and value.isdecimal() and len(value) <= 40:
        return int(value) * unit
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value * unit
    if isinstance(value, float):
        return int(value * unit) if -1e300 < value < 1e300 else None
    if isinstance(value, datetime):
        return _from_datetime(value)
    if not isinstance(value, str):
        return None
    if value[:1] == "-" and value[1:].isdecimal() and len(value) <= 40:
        return int(value) * unit
    return _from_iso(value)


def _from_base64(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).hex()
    except (binascii.Error, ValueError):
        return text


def _from_datetime(value: datetime) -> int:
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    since = aware - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000


def _from_iso(text: str) -> int | None:
    found = _ISO.match(text.strip())
    if not found:
        return None
    day, clock, fraction, zone = found.groups()
    zone = "+00:00" if zone in (None, "Z") else zone
    try:
        whole = datetime.fromisoformat(f"{day}T{clock}{zone}")
    except ValueError:
        return None
    return _from_datetime(whole) + int((fraction or "0").ljust(9, "0"))
