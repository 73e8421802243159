"""Readers turn traces and logs of messages into trajectories."""

from ._bytes import bounded, check_not_server, check_size
from ._grouping import Grouping
from ._large import BlockReading, LargeFile, LeftLine, Rest, Waiting, large_file
from ._raw_spans import raw_span, raw_spans, read_raw_spans
from ._reading import INPUT_FORMATS, Turn, read, read_messages, read_spans, read_turns
from ._scattered import Beginnings, Scattered, check_grouping
from ._survey import Block
from ._table_columns import SpanColumns, known_columns, span_columns
from ._table_groups import Outline, group_columns, table_groups, table_outline
from ._table_spans import table_spans

__all__ = [
    "INPUT_FORMATS",
    "Beginnings",
    "Block",
    "BlockReading",
    "Grouping",
    "LargeFile",
    "LeftLine",
    "Outline",
    "Rest",
    "Scattered",
    "SpanColumns",
    "Turn",
    "Waiting",
    "bounded",
    "check_grouping",
    "check_not_server",
    "check_size",
    "group_columns",
    "known_columns",
    "large_file",
    "raw_span",
    "raw_spans",
    "read",
    "read_messages",
    "read_raw_spans",
    "read_spans",
    "read_turns",
    "span_columns",
    "table_groups",
    "table_outline",
    "table_spans",
]
