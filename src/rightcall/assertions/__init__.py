"""Assertions for tests: what an agent called, held against what was expected, raising where it differs."""

from ._checking import check
from ._evaluating import evaluate
from ._fluent import Calls, calls
from ._outcomes import listening, problem_of
from ._soft import Soft, soft
from ._subjects import trajectory_of

__all__ = ["Calls", "Soft", "calls", "check", "evaluate", "listening", "problem_of", "soft", "trajectory_of"]
