from ._clock import Batches as Batches, Clock as Clock, Order as Order
from ._messages import Message as Message, MessageWriter as MessageWriter
from ._raw_spans import (
    KeptSpans as KeptSpans,
    RawEvent as RawEvent,
    RawSpan as RawSpan,
    SpanKind as SpanKind,
    SpanStatus as SpanStatus,
    span_text as span_text,
    spans_by_id as spans_by_id,
)
from ._trajectory import (
    NOT_UNDERSTOOD as NOT_UNDERSTOOD,
    NOT_UNDERSTOOD_NOTE as NOT_UNDERSTOOD_NOTE,
    ToolCall as ToolCall,
    Trajectory as Trajectory,
    Usage as Usage,
    WithheldCall as WithheldCall,
    has_failed as has_failed,
    in_order as in_order,
    is_suspected as is_suspected,
    is_trajectory as is_trajectory,
    summed_usage as summed_usage,
)
