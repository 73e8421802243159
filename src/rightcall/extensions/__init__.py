"""Evaluators of the user's own: found, trusted, imported."""

from ._finding import CodeFinder
from ._loading import code_files, load_eval_set_with_code

__all__ = ["CodeFinder", "code_files", "load_eval_set_with_code"]
