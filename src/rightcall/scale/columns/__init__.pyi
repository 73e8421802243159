from ._conforming import plain_rows as plain_rows
from ._kernel import score_batch as score_batch
from ._plan import Plan as Plan
from ._rows import json_text as json_text, trajectories_batch as trajectories_batch, trajectory_of as trajectory_of
from ._schema import CALL as CALL, SCORES as SCORES, TRAJECTORIES as TRAJECTORIES
from ._spans import is_span_table as is_span_table, span_trajectories as span_trajectories
