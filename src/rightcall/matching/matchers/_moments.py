"""The moment of a call: what had happened in its run when it was made."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from rightcall.values.trajectory import Trajectory


class CallMoment(msgspec.Struct, frozen=True):
    """One call of a run, by its position in the trajectory.

    `surely` says how to take what the trace does not say: as a no, or else as a yes. A matcher is asked both ways, and
    where the answers differ it is not known whether the call satisfies it.
    """

    trajectory: Trajectory
    position: int
    surely: bool = False

    def turned(self) -> CallMoment:
        """The same moment for what is denied: there a no is the careful answer where a yes would have been."""
        return CallMoment(self.trajectory, self.position, not self.surely)


MomentOf: TypeAlias = Callable[[int], CallMoment | None]
"""The moment of a call, given its place among the calls that are compared; `None` where it is not known."""
