"""A case to take along: the command that runs it again, and what it did as an expectation and as a test."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.values.decoding import dump_json
from rightcall.values.results import CaseResult
from rightcall.values.trajectory import ToolCall

_MOST_CALLS = 100
_LONGEST = 20_000
_FUNCTION = lazy_pattern(r"([A-Za-z_]\w*)\.py:([A-Za-z_]\w*)", re.A)
_OTHER = lazy_pattern(r"\W+", re.A)


class Copy(msgspec.Struct, frozen=True):
    """A text to copy, and what it is."""

    label: str
    text: str
    is_command: bool = False


def copies_of(result: CaseResult, agent: str, evalset: str) -> tuple[Copy, ...]:
    """Return the texts that a case can be copied as. A text that would be very long is left out."""
    made = []
    if agent and evalset:
        words = ["rightcall", "run", agent, evalset, "--case", result.case_id]
        made.append(Copy("Command", " ".join(map(shlex.quote, words)), is_command=True))
    calls = [call for call in result.trajectory.calls if not call.internal] if result.trajectory is not None else []
    if calls and len(calls) <= _MOST_CALLS:
        made.append(Copy("Expectation", _expectation(calls)))
        made.append(Copy("Pytest test", _test(result, agent, calls)))
    return tuple([each for each in made if len(each.text) <= _LONGEST])


def _expectation(calls: Sequence[ToolCall]) -> str:
    """Return calls as an eval set expects them. JSON is YAML, so that no value has to be quoted in another way."""
    lines = [f"  - {dump_json(call.name)}: {dump_json(_expected(call))}" for call in calls]
    return "\n".join(["calls:", *lines]) + "\n"


def _expected(call: ToolCall) -> Any:
    """Return the arguments of a call so that none of them is taken for a matcher."""
    args = {} if call.args is None else dict(call.args)
    return {key: {"$literal": held} if "$" in dump_json(held) else held for key, held in args.items()}


def _test(result: CaseResult, agent: str, calls: Sequence[ToolCall]) -> str:
    found = _FUNCTION.fullmatch(agent)
    given = result.trajectory.input if result.trajectory is not None else None
    name = _OTHER.sub("_", result.case_id)[:60].strip("_") or "case"
    lines = ["from rightcall import capture, check", ""]
    lines += [f"from {found[1]} import {found[2]}", ""] if found else []
    asked = f"{found[2]}({given!r})" if found else "...  # ask your agent"
    lines += ["", f"def test_{name}():", "    with capture() as captured:", f"        {asked}", "    check(captured, ["]
    lines += [f"        {{{call.name!r}: {_expected(call)!r}}}," for call in calls]
    return "\n".join([*lines, "    ])"]) + "\n"
