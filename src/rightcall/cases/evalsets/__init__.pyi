from ._cases import Case as Case, Check as Check, EvalSet as EvalSet, Format as Format, OverallCheck as OverallCheck
from ._converting import convert_eval_set as convert_eval_set
from ._editing import Editing as Editing
from ._expecting import criteria_path as criteria_path
from ._given import compile_expectation as compile_expectation
from ._loading import (
    load_eval_set as load_eval_set,
    load_expectation as load_expectation,
    parse_eval_set as parse_eval_set,
)
from ._schema import eval_set_schema as eval_set_schema
from ._selecting import selected as selected
from ._yaml import dump_yaml as dump_yaml
