from ._read import (
    Reading as Reading,
    Turn as Turn,
    read as read,
    read_messages as read_messages,
    read_spans as read_spans,
    read_turns as read_turns,
)
from .formats._containers import INPUT_FORMATS as INPUT_FORMATS
from .runs._notes import Recognised as Recognised
from .runs._run_builder import NO_TOOL_DATA as NO_TOOL_DATA
from .runs._traces import Grouping as Grouping
from .sources._document_reader import bounded as bounded, check_not_server as check_not_server, check_size as check_size
from .sources._large_file import (
    BlockReader as BlockReader,
    FileBlock as FileBlock,
    LargeFile as LargeFile,
    LeftLine as LeftLine,
    SplitRuns as SplitRuns,
    WaitingRun as WaitingRun,
    large_file as large_file,
)
from .sources._raw_spans import raw_span as raw_span, raw_spans as raw_spans, read_raw_spans as read_raw_spans
from .sources._run_collector import (
    Beginnings as Beginnings,
    UnorderedSpans as UnorderedSpans,
    check_grouping as check_grouping,
)
from .spans._span import CASES as CASES, REPEATS as REPEATS
from .tables import (
    Outline as Outline,
    SpanColumns as SpanColumns,
    group_columns as group_columns,
    known_columns as known_columns,
    span_columns as span_columns,
    table_groups as table_groups,
    table_outline as table_outline,
    table_spans as table_spans,
)
