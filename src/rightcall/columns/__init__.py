"""Trajectories in columns of Arrow: what they look like there, and their scores."""

from ._kernel import score_batch
from ._plan import Plan
from ._rows import json_text, trajectories_batch, trajectory_of
from ._schema import CALL, SCORES, TRAJECTORIES

__all__ = ["CALL", "SCORES", "TRAJECTORIES", "Plan", "json_text", "score_batch", "trajectories_batch", "trajectory_of"]
