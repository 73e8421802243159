"""What the agent did: its tool calls, in order; and spans as they were recorded."""

from ._call import ToolCall
from ._order import in_order
from ._raw_span import KeptSpans, RawEvent, RawSpan, SpanKind, SpanStatus, spans_by_id
from ._trajectory import NOT_UNDERSTOOD, NOT_UNDERSTOOD_NOTE, Trajectory
from ._usage import Usage, summed_usage
from ._withheld import WithheldCall

__all__ = [
    "NOT_UNDERSTOOD",
    "NOT_UNDERSTOOD_NOTE",
    "KeptSpans",
    "RawEvent",
    "RawSpan",
    "SpanKind",
    "SpanStatus",
    "ToolCall",
    "Trajectory",
    "Usage",
    "WithheldCall",
    "in_order",
    "spans_by_id",
    "summed_usage",
]
