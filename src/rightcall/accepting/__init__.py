"""Expectations made from what was observed: an eval set and trajectories in, an edit of the eval set out."""

from ._accepting import Acceptance, CaseOutcome, Observed, accept
from ._collecting import Collected, collect

__all__ = ["Acceptance", "CaseOutcome", "Collected", "Observed", "accept", "collect"]
