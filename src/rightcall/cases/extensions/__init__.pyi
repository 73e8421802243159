from ._finding import CodeFinder as CodeFinder
from ._loading import code_files as code_files, load_eval_set_with_code as load_eval_set_with_code
