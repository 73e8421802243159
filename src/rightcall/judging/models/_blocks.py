"""Data for a judge: each value in a block of its own, between lines that nobody could have guessed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from rightcall.values.trajectory import ToolCall, Trajectory

# Control, bidirectional, zero-width and unassigned-looking characters, line separators, lone surrogates and, because
# some servers read `<|…|>` and `</s>` in a text as marks of their own, the bracket that all of these begin with.
_HIDDEN = re.compile(
    "[<\x00-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\uffa0\ufff0-\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=True, default=str).encode


class Block(msgspec.Struct, frozen=True):
    """A value that the judge is shown, and what it is called."""

    name: str
    value: Any
    lines: bool = False
    """Whether it is a list of which each item stands on a line of its own."""

    def text(self, boundary: str) -> str:
        """The block. Whatever the value is, it ends where it ends."""
        if self.lines:
            inside = "[\n" + ",\n".join([data_text(item) for item in self.value]) + "\n]"
        else:
            inside = data_text(self.value)
        return f"[data {boundary} {self.name}]\n{inside}\n[end {boundary}]"


def new_boundary() -> str:
    """What the lines around blocks have in common: made anew for each request."""
    import secrets

    return secrets.token_hex(16)


def data_text(value: Any) -> str:
    """A value as JSON on one line, with everything in it visible."""
    return _HIDDEN.sub(_escape, _encode(value))


def calls_of(trajectory: Trajectory) -> list[dict[str, Any]]:
    """The calls of a trajectory as a judge is shown them: numbered, and with what was not recorded told.

    How long they took is left out: it is never the same twice, and a run that is would be judged anew each time.
    """
    calls = trajectory.calls
    return [_call(number, call, calls, trajectory) for number, call in enumerate(calls)]


def _call(number: int, call: ToolCall, calls: Sequence[ToolCall], trajectory: Trajectory) -> dict[str, Any]:
    shown: dict[str, Any] = {"number": number + 1, "tool": call.name}
    for name in ("args", "output"):
        if name in call.unrecorded:
            shown.setdefault("not_recorded", []).append(name)
        else:
            shown[name] = getattr(call, name)
    shown |= {name: value for name in ("error", "agent", "turn") if (value := getattr(call, name)) is not None}
    together = _together(number, calls, trajectory)
    return shown | ({"at_the_same_time_as": together} if together else {})


def _together(number: int, calls: Sequence[ToolCall], trajectory: Trajectory) -> list[int]:
    """The numbers of neighbouring calls that ran at the same time, or in an order that nobody knows."""
    near = range(max(0, number - _NEAR), min(len(calls), number + _NEAR + 1))
    call = calls[number]
    free = [span for span in trajectory.unordered if span[0] <= number < span[1]]
    return [
        other + 1
        for other in near
        if other != number
        and (trajectory.concurrent(call, calls[other]) or any(low <= other < high for low, high in free))
    ]


_NEAR = 20
"""How far from a call others are looked for that ran at the same time."""


def _escape(found: re.Match[str]) -> str:
    character = ord(found[0])
    if character > 0xFFFF:
        character -= 0x10000
        return f"\\u{0xD800 + (character >> 10):04x}\\u{0xDC00 + (character & 0x3FF):04x}"
    return f"\\u{character:04x}"
