"""Values as YAML that people like to read, and that is read back as the same values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_WIDTH = 100
_PLAIN = re.compile(r"[A-Za-z_$](?:[\w ./()'$-]*[\w.)'$])?", re.ASCII)
# What YAML 1.1 takes for true and false is quoted, though 1.2 does not: editors may still go by it.
_OTHER_MEANING = re.compile(r"null|true|false|yes|no|on|off|y|n", re.IGNORECASE)
_UNPRINTABLE = re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def dump_yaml(value: Any) -> str:
    """A JSON value as YAML 1.2."""
    return "\n".join(block_lines(value, 0)) + "\n"


def block_lines(value: Any, level: int) -> Iterator[str]:
    """The lines of a value that stands on its own, `level` deep, without the indentation of what is around it."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _entry(f"{_text(key)}:", item, level)
    elif isinstance(value, list) and value:
        for item in value:
            first, *others = (
                block_lines(item, level + 1) if is_long(item, level) or _is_pair(item) else [flow_text(item)]
            )
            yield f"- {first}"
            yield from (f"  {line}" for line in others)
    else:
        yield flow_text(value)


def _entry(key: str, item: Any, level: int) -> Iterator[str]:
    if not is_long(item, level):
        yield f"{key} {flow_text(item)}"
        return
    yield key
    yield from (f"  {line}" for line in block_lines(item, level + 1))


def is_long(value: Any, level: int) -> bool:
    """Whether a value is better told over several lines: cases always, and whatever does not fit on one."""
    if not isinstance(value, (dict, list)) or not value:
        return False
    return _depth(value) > (1 if level < 4 else 2) or len(flow_text(value)) > _WIDTH - 2 * level


def _is_pair(value: Any) -> bool:
    """Whether a value is an object with one key, such as a call: a name and its arguments."""
    return isinstance(value, dict) and len(value) == 1


def _depth(value: Any) -> int:
    """How many objects and lists that are not empty stand inside each other."""
    if not isinstance(value, (dict, list)) or not value:
        return 0
    return 1 + max(map(_depth, value.values() if isinstance(value, dict) else value))


def flow_text(value: Any) -> str:
    """A value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key)}: {flow_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow_text, value)) + "]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"inf": ".inf", "-inf": "-.inf"}.get(str(value), ".nan")
    return json.dumps(value)


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and not _OTHER_MEANING.fullmatch(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)
