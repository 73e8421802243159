from ._containers import INPUT_FORMATS as INPUT_FORMATS, items_of as items_of
from ._exports import (
    is_live_span as is_live_span,
    is_mlflow_trace as is_mlflow_trace,
    live_span as live_span,
    mlflow_spans as mlflow_spans,
)
from ._otlp import (
    decode_request as decode_request,
    is_otlp as is_otlp,
    otlp_span as otlp_span,
    span_in as span_in,
    spans_in as spans_in,
    split_request as split_request,
)
from ._protobuf import (
    looks_like_protobuf as looks_like_protobuf,
    protobuf_items as protobuf_items,
    protobuf_span as protobuf_span,
    protobuf_spans as protobuf_spans,
)
