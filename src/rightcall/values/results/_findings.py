"""Findings: what went wrong, and how actual calls line up with expected ones."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from rightcall.values.trajectory import Trajectory

from ._text import Difference

_QUOTED = re.compile(r"`([^`(]{1,200})")
_LONGEST_NAME = 200


class NamedCall(msgspec.Struct, frozen=True):
    """A call that a finding is about: its position in its own list, from 0, and its text."""

    position: int
    text: str


class Finding(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that went wrong: a stable code, one sentence, and the calls it is about."""

    code: str
    """Such as `RC101`; `rightcall explain RC101` says more."""
    message: str
    expected: NamedCall | None = None
    actual: NamedCall | None = None
    path: str | None = None
    """Which part of the criteria it is about, such as `tool_calls[2]`."""
    help: str | None = None
    """A specific remedy, if there is one."""

    @property
    def tool(self) -> str:
        """The tool that it is about: of the call it names, or the first word in it that is quoted; else empty."""
        call = self.expected or self.actual
        if call is not None:
            return tool_in(call.text)
        if self.path is not None and self.path.startswith("tool_calls_count."):
            return self.path.partition(".")[2][:_LONGEST_NAME]
        quoted = _QUOTED.search(self.message) if self.code in ("RC301", "RC506") else None
        return quoted[1] if quoted else ""


def missing_calls(trajectory: Trajectory) -> Finding:
    """Return a finding that says why it is not known which calls were made."""
    if trajectory.not_understood:
        return Finding("RC304", f"calls may be missing that were not understood: {trajectory.not_understood}")
    if trajectory.calls:
        return Finding("RC301", "the trace may lack calls, so what was called is not all known")
    return Finding("RC301", "the trace has no tool data, so it is not known which calls were made")


def tool_in(text: str) -> str:
    """Return the name of the tool in the text of a call, cut if it is very long."""
    return text.partition("(")[0][:_LONGEST_NAME]


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of an alignment.

    `match`: as expected. `mismatch`: the same tool, but not as expected (`differences` says where). `moved`: as
    expected, but at another place in the order. `missing`: expected, not called. `extra`: called, not expected.
    A mismatch can be `out_of_place` as well; a moved step always is.
    """

    kind: Literal["match", "mismatch", "moved", "missing", "extra"]
    name: str
    expected: int | None = None
    """Position among the expected calls, from 0."""
    actual: int | None = None
    """Position in the trajectory, from 0."""
    differences: tuple[Difference, ...] = ()
    out_of_place: bool = False


class Alignment(msgspec.Struct, frozen=True, omit_defaults=True):
    """The alignment of actual and expected calls, step by step.

    `left_out` is the number of steps that are not listed because there are too many.
    """

    steps: tuple[Step, ...] = ()
    left_out: int = 0
