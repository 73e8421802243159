from ._code_finder import (
    CodeFinder as CodeFinder,
    code_files as code_files,
    load_eval_set_with_code as load_eval_set_with_code,
)
