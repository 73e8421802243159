"""What a worker may say. A verdict is not among it."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from rightcall.errors import InputError
from rightcall.values.results import Cause
from rightcall.values.trajectory import KeptSpans, Trajectory

CUT_OFF = 187
"""The exit code of a worker that can hear or say nothing any more."""
CUT_OFF_REASON = "the agent closed descriptors that its process needs"


class Ready(msgspec.Struct, frozen=True, tag="ready", tag_field="is", forbid_unknown_fields=True):
    """The agent is loaded."""

    is_async: bool


class Failed(msgspec.Struct, frozen=True, tag="failed", tag_field="is", forbid_unknown_fields=True):
    """The agent cannot be loaded."""

    message: str


class Stuck(msgspec.Struct, frozen=True, tag="stuck", tag_field="is", forbid_unknown_fields=True):
    """The event loop does not come to anything, because of what this job does."""

    number: int


class Seen(msgspec.Struct, frozen=True, tag="seen", tag_field="is", forbid_unknown_fields=True):
    """What a job does: spans that have just begun or ended. Of two with one id the later one counts.

    They are read only if the job is killed or dies, which few jobs are.
    """

    number: int
    turn: int
    spans: KeptSpans


class Done(msgspec.Struct, frozen=True, kw_only=True, tag="done", tag_field="is", forbid_unknown_fields=True):
    """A job has come to an end."""

    number: int
    seconds: float
    cause: Cause = ""
    error: str | None = None
    traceback: str | None = None
    printed: str = ""
    trajectory: Trajectory | None = None
    recorded: tuple[Any, ...] = ()
    spans: KeptSpans | None = None
    altered: str | None = None
    """What the agent left altered in the process, where that cannot be undone."""


Reply: TypeAlias = Ready | Failed | Stuck | Seen | Done


def reply(message: Any) -> Reply:
    """What a message says.

    Raises:
        InputError: it says nothing that a worker may say.
    """
    try:
        said: Reply = msgspec.convert(message, Reply, strict=True)
    except msgspec.ValidationError as problem:
        raise InputError(str(problem)) from None
    if isinstance(said, Done) and (said.error is None) == bool(said.cause):
        raise InputError("an error without a cause, or a cause without an error")
    if isinstance(said, Done) and said.error is None and said.trajectory is None:
        raise InputError("neither an error nor what the agent did")
    if isinstance(said, Done) and said.spans is not None:
        said.spans.check()
    return said
