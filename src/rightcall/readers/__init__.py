"""Readers turn traces and logs of messages into trajectories."""

from ._grouping import Grouping
from ._large import BlockReading, LargeFile, LeftLine, Rest, Waiting, large_file
from ._raw_spans import raw_span, raw_spans
from ._reading import INPUT_FORMATS, read, read_messages, read_spans
from ._survey import Block

__all__ = [
    "INPUT_FORMATS",
    "Block",
    "BlockReading",
    "Grouping",
    "LargeFile",
    "LeftLine",
    "Rest",
    "Waiting",
    "large_file",
    "raw_span",
    "raw_spans",
    "read",
    "read_messages",
    "read_spans",
]
