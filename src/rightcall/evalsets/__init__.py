"""Cases on disk: load, validate, name the evaluators, and know where each key stands."""

from ._cases import Case, Check, EvalSet, Format, OverallCheck
from ._converting import convert_eval_set
from ._editing import Editing
from ._expecting import criteria_path
from ._given import compile_expectation
from ._loading import load_eval_set, load_expectation, parse_eval_set
from ._schema import eval_set_schema
from ._selecting import selected
from ._yaml import dump_yaml

__all__ = [
    "Case",
    "Check",
    "Editing",
    "EvalSet",
    "Format",
    "OverallCheck",
    "compile_expectation",
    "convert_eval_set",
    "criteria_path",
    "dump_yaml",
    "eval_set_schema",
    "load_eval_set",
    "load_expectation",
    "parse_eval_set",
    "selected",
]
