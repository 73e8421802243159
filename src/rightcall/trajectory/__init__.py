"""What the agent did: its tool calls, in order."""

from ._call import ToolCall
from ._order import in_order
from ._trajectory import Trajectory

__all__ = ["ToolCall", "Trajectory", "in_order"]
