from ._cases import (
    Case as Case,
    Check as Check,
    EvalSet as EvalSet,
    Format as Format,
    OverallCheck as OverallCheck,
    askable_cases as askable_cases,
    cases_with_tags as cases_with_tags,
    quarantined_cases as quarantined_cases,
    select_cases as select_cases,
    select_checks as select_checks,
)
from ._custom_code import (
    CodeFinder as CodeFinder,
    code_files as code_files,
    load_eval_set_with_code as load_eval_set_with_code,
)
from ._editor import (
    DocumentEditor as DocumentEditor,
    dump_yaml as dump_yaml,
    flow_text as flow_text,
    line_end as line_end,
)
from ._json_schema import eval_set_schema as eval_set_schema
from ._loader import (
    compile_expectation as compile_expectation,
    convert_eval_set as convert_eval_set,
    load_eval_set as load_eval_set,
    load_expectation as load_expectation,
    parse_eval_set as parse_eval_set,
)
from ._mistakes import eval_set_mistakes as eval_set_mistakes
from ._shorthands import criteria_path as criteria_path
