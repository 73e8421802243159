"""Readers turn traces and logs of messages into trajectories."""

from ._grouping import Grouping
from ._reading import INPUT_FORMATS, read, read_messages, read_spans

__all__ = ["INPUT_FORMATS", "Grouping", "read", "read_messages", "read_spans"]
