"""Eval sets with the code that they name."""

from __future__ import annotations

from pathlib import Path

from rightcall.evalsets import EvalSet, load_eval_set
from rightcall.limits import DEFAULT_LIMITS, Limits

from ._finding import CodeFinder


def load_eval_set_with_code(path: str | Path, *, trust: bool = False, limits: Limits = DEFAULT_LIMITS) -> EvalSet:
    """The eval set in a file, and the evaluators of the user's own that it names. Importing a module runs it.

    Args:
        path: The file.
        trust: Whether code may be imported that lies outside of the project of the eval set.
        limits: The budgets.

    Raises:
        DocumentError: the file is wrong, or names code that is not there, cannot be imported or is not to be trusted.
        InputError: the file cannot be read.
    """
    return load_eval_set(path, limits, CodeFinder(Path(path), trust))
