"""The moment of a call: its position in the run, which determines what the agent had seen by then."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from rightcall.values.trajectory import Trajectory


class CallMoment(msgspec.Struct, frozen=True):
    """One call of a run, by its position in the trajectory.

    `surely` says how to count what was not recorded: as a mismatch, or otherwise as a match. A matcher is tried both
    ways, and if the answers differ, it is unknown whether the call satisfies it.
    """

    trajectory: Trajectory
    position: int
    surely: bool = False

    def turned(self) -> CallMoment:
        """Return the moment with `surely` inverted, for use inside a negation."""
        return CallMoment(self.trajectory, self.position, not self.surely)


MomentOf: TypeAlias = Callable[[int], CallMoment | None]
"""Returns the moment of a call, given its index among the compared calls; `None` if it is not known."""
