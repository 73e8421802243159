from ._calls import take_call as take_call
from ._grouping import GROUPINGS as GROUPINGS, Grouping as Grouping, Traces as Traces, keys_of as keys_of
from ._run import Run as Run
from ._sorting import (
    Sorting as Sorting,
    roots_of as roots_of,
    whole_runs as whole_runs,
    without_creations as without_creations,
)
