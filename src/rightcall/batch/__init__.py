"""Scores many recorded traces: here, or in worker processes."""

from ._observing import Observing
from ._pool import default_workers, start_method
from ._request import Request
from ._scorer import Scored
from ._scoring import Scoring
from ._sending import sendable
from ._sources import Sources
from ._span_buckets import SpanBucket, bucket_count, span_buckets
from ._span_tables import ParquetSpans, SpanTable
from ._tables import is_trajectory

__all__ = [
    "Observing",
    "ParquetSpans",
    "Request",
    "Scored",
    "Scoring",
    "Sources",
    "SpanBucket",
    "SpanTable",
    "bucket_count",
    "default_workers",
    "is_trajectory",
    "sendable",
    "span_buckets",
    "start_method",
]
