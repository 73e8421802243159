"""Evaluators of the user's own: found, trusted, imported."""

from ._finding import CodeFinder
from ._loading import load_eval_set_with_code

__all__ = ["CodeFinder", "load_eval_set_with_code"]
