"""Cases on disk: load, validate, name the evaluators, and know where each key stands."""

from ._cases import Case, Check, EvalSet
from ._loading import load_eval_set, load_expectation

__all__ = ["Case", "Check", "EvalSet", "load_eval_set", "load_expectation"]
