"""Trajectories as JSON lines, told apart from other lines."""

from __future__ import annotations

from rightcall.errors import InputError
from rightcall.values.decoding import decode_json


def is_trajectory(line: bytes) -> bool:
    """Whether a line is a trajectory: an object with a list of calls, each of them a name or an object with one."""
    if not line.lstrip().startswith(b"{") or b'"calls"' not in line:
        return False
    try:
        document = decode_json(line)
    except InputError:
        return False
    calls = document.get("calls") if isinstance(document, dict) else None
    if not isinstance(calls, list):
        return False
    return all([isinstance(call, str) or (isinstance(call, dict) and "name" in call) for call in calls])
