from ._conform import CALL as CALL, SCORES as SCORES, TRAJECTORIES as TRAJECTORIES, plain_rows as plain_rows
from ._joined_rows import TOLD_COLUMNS as TOLD_COLUMNS, joined_rows as joined_rows, with_column as with_column
from ._kernel import score_batch as score_batch
from ._path_columns import FIELDS as FIELDS, ColumnPaths as ColumnPaths
from ._plan import Plan as Plan
from ._rows import (
    column_text as column_text,
    is_span_table as is_span_table,
    json_text as json_text,
    span_trajectories as span_trajectories,
    trajectories_batch as trajectories_batch,
    trajectory_of as trajectory_of,
)
