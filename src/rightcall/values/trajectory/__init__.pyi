from ._call import ToolCall as ToolCall
from ._lines import is_trajectory as is_trajectory
from ._order import in_order as in_order
from ._raw_span import (
    KeptSpans as KeptSpans,
    RawEvent as RawEvent,
    RawSpan as RawSpan,
    SpanKind as SpanKind,
    SpanStatus as SpanStatus,
    spans_by_id as spans_by_id,
)
from ._trajectory import (
    NOT_UNDERSTOOD as NOT_UNDERSTOOD,
    NOT_UNDERSTOOD_NOTE as NOT_UNDERSTOOD_NOTE,
    Trajectory as Trajectory,
)
from ._usage import Usage as Usage, summed_usage as summed_usage
from ._withheld import WithheldCall as WithheldCall
