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
from ._identity import nanoseconds as nanoseconds, span_id as span_id
from ._record import Record as Record, are_told_apart as are_told_apart, has_made_up_id as has_made_up_id
from ._span import (
    Event as Event,
    Item as Item,
    LazyEvents as LazyEvents,
    LogRecord as LogRecord,
    Loose as Loose,
    PackedSpan as PackedSpan,
    Span as Span,
    once_each as once_each,
    topmost as topmost,
)
from ._values import (
    NOTHING as NOTHING,
    PLACEHOLDERS as PLACEHOLDERS,
    SCRUBBED as SCRUBBED,
    UnparsableError as UnparsableError,
    arguments as arguments,
    is_scrubbed as is_scrubbed,
    outcome as outcome,
    same_but_nulls as same_but_nulls,
)
from ._warnings import Warnings as Warnings
