"""How an agent fared when it was run for a case."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

Cause: TypeAlias = Literal["", "raised", "timed_out", "died", "memory", "output", "mock", "read"]
"""Why a run gave nothing to judge: empty where it gave something.

`raised`: the agent raised. `timed_out`: it took longer than it may. `died`: its process ended or was stopped.
`memory`: it took more memory than it may. `output`: what it gave back, or did, cannot be kept. `mock`: it called a
tool in a way that no mock or recording answers. `read`: it opened a file that says what is expected of it.
"""


class Outcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one run of an agent ended."""

    seconds: float = 0.0
    """How long it took, by a clock that is never set."""
    cause: Cause = ""
    error: str | None = None
    """What went wrong, in one sentence; `None` where the agent came to an end."""
    traceback: str | None = None
    stdout: str = ""
    """What was printed while it ran, on standard output and standard error: the last part, if it was much."""
