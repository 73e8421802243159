"""Trajectories in columns of Arrow: what they look like there, how they come from tables of spans, and their scores."""

from ._conforming import plain_rows
from ._kernel import score_batch
from ._plan import Plan
from ._rows import json_text, trajectories_batch, trajectory_of
from ._schema import CALL, SCORES, TRAJECTORIES
from ._spans import is_span_table, span_trajectories

__all__ = [
    "CALL",
    "SCORES",
    "TRAJECTORIES",
    "Plan",
    "is_span_table",
    "json_text",
    "plain_rows",
    "score_batch",
    "span_trajectories",
    "trajectories_batch",
    "trajectory_of",
]
