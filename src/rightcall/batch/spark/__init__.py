"""Scores by Spark: of DataFrames in a notebook or a job, and of tables from the command line."""

from ._frames import score
from ._session import spark_session
from ._spans import trajectories
from ._tables import score_tables

__all__ = ["score", "score_tables", "spark_session", "trajectories"]
