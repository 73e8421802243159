from ._containers import (
    INPUT_FORMATS as INPUT_FORMATS,
    format_of as format_of,
    is_table_header as is_table_header,
    items_of as items_of,
    row_items as row_items,
)
from ._exports import (
    is_live_span as is_live_span,
    is_mlflow_trace as is_mlflow_trace,
    live_span as live_span,
    mlflow_spans as mlflow_spans,
)
from ._otlp import (
    NO_EVENTS as NO_EVENTS,
    OtlpRequest as OtlpRequest,
    OtlpSpan as OtlpSpan,
    decode_request as decode_request,
    finished as finished,
    is_otlp as is_otlp,
    looks_like_protobuf as looks_like_protobuf,
    otlp_span as otlp_span,
    protobuf_items as protobuf_items,
    protobuf_span as protobuf_span,
    protobuf_spans as protobuf_spans,
    span_in as span_in,
    spans_in as spans_in,
    split_request as split_request,
)
from ._rows import (
    OPENED as OPENED,
    Attributes as Attributes,
    Path as Path,
    attribute_columns as attribute_columns,
    attributes_or_trouble as attributes_or_trouble,
    fields_of as fields_of,
    folded as folded,
    moment as moment,
    opened as opened,
    scope_name as scope_name,
    side_by_side as side_by_side,
    span_of_cells as span_of_cells,
    without_nulls as without_nulls,
)
