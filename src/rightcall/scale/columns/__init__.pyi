from ._kernel import (
    TOLD_COLUMNS as TOLD_COLUMNS,
    Plan as Plan,
    joined_rows as joined_rows,
    score_batch as score_batch,
    with_column as with_column,
)
from ._path_columns import FIELDS as FIELDS, ColumnPaths as ColumnPaths
from ._rows import (
    CALL as CALL,
    SCORES as SCORES,
    TRAJECTORIES as TRAJECTORIES,
    column_text as column_text,
    is_span_table as is_span_table,
    json_text as json_text,
    plain_rows as plain_rows,
    span_trajectories as span_trajectories,
    trajectories_batch as trajectories_batch,
    trajectory_of as trajectory_of,
)
