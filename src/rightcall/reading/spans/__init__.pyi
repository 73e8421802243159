from ._attributes import (
    Attribute as Attribute,
    RawAttributes as RawAttributes,
    by_number as by_number,
    plain_attributes as plain_attributes,
    plain_value as plain_value,
    restored as restored,
    undecoded as undecoded,
    unnested as unnested,
)
from ._call_record import (
    CallRecord as CallRecord,
    has_made_up_id as has_made_up_id,
    have_different_ids as have_different_ids,
)
from ._recorded_values import (
    NOTHING as NOTHING,
    PLACEHOLDERS as PLACEHOLDERS,
    SCRUBBED as SCRUBBED,
    UnparsableError as UnparsableError,
    arguments as arguments,
    is_scrubbed as is_scrubbed,
    nanoseconds as nanoseconds,
    outcome as outcome,
    same_but_nulls as same_but_nulls,
    span_id as span_id,
)
from ._span import (
    Event as Event,
    Item as Item,
    LazyEvents as LazyEvents,
    LogRecord as LogRecord,
    OtherDocument as OtherDocument,
    PackedSpan as PackedSpan,
    Span as Span,
    topmost as topmost,
)
