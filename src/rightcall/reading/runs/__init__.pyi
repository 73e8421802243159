from ._call_plans import call_plans as call_plans
from ._input_output import Kept as Kept
from ._notes import Recognised as Recognised, Warnings as Warnings
from ._run_builder import RunBuilder as RunBuilder
from ._simple_runs import SimpleRun as SimpleRun, SimpleRuns as SimpleRuns
from ._span_calls import read_span as read_span
from ._span_tree import ReadSpan as ReadSpan, once_each as once_each
from ._traces import (
    GROUPINGS as GROUPINGS,
    Grouping as Grouping,
    Run as Run,
    RunFilter as RunFilter,
    Traces as Traces,
    keys_of as keys_of,
    roots_of as roots_of,
    spans_of as spans_of,
    whole_runs as whole_runs,
    without_creations as without_creations,
)
