"""Cases on disk: load, validate, name the evaluators, and know where each key stands."""

from ._cases import Case, Check, EvalSet, Format
from ._converting import convert_eval_set
from ._loading import load_eval_set, load_expectation
from ._schema import eval_set_schema

__all__ = [
    "Case",
    "Check",
    "EvalSet",
    "Format",
    "convert_eval_set",
    "eval_set_schema",
    "load_eval_set",
    "load_expectation",
]
