"""The moment of a call: what had happened in its run when it was made."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from rightcall.values.trajectory import Trajectory


class Moment(msgspec.Struct, frozen=True):
    """One call of a run, by its position in the trajectory."""

    trajectory: Trajectory
    position: int


MomentOf: TypeAlias = Callable[[int], Moment | None]
"""The moment of a call, given its place among the calls that are compared; `None` where it is not known."""
