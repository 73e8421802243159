from ._grouping import GROUPINGS as GROUPINGS, Grouping as Grouping, Traces as Traces, keys_of as keys_of
from ._notes import Warnings as Warnings
from ._read_span import ReadSpan as ReadSpan, once_each as once_each
from ._run_builder import RunBuilder as RunBuilder
from ._run_filter import (
    RunFilter as RunFilter,
    roots_of as roots_of,
    whole_runs as whole_runs,
    without_creations as without_creations,
)
from ._span_calls import read_span as read_span
