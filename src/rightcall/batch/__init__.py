"""Scores many recorded traces: here, or in worker processes."""

from ._request import Request
from ._scorer import Scored
from ._scoring import Scoring

__all__ = ["Request", "Scored", "Scoring"]
