"""Scores many recorded traces: here, or in worker processes."""

from ._observing import Observing
from ._pool import default_workers, start_method
from ._request import Request
from ._scorer import Scored
from ._scoring import Scoring
from ._sources import Sources

__all__ = ["Observing", "Request", "Scored", "Scoring", "Sources", "default_workers", "start_method"]
