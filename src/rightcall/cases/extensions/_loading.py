"""Eval sets with the code that they name."""

from __future__ import annotations

from pathlib import Path

from rightcall.cases.evalsets import EvalSet, load_eval_set
from rightcall.errors import RightcallError
from rightcall.judging import CODE_OF_YOURS, JudgeEvaluator, UnavailableEvaluator, UnimportedOverall
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.running.project import TrustedProject

from ._finding import CodeFinder


def load_eval_set_with_code(
    path: str | Path,
    *,
    trust: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    remedy: str = "give --trust",
    home: TrustedProject | None = None,
) -> EvalSet:
    """The eval set in a file, and the evaluators of the user's own that it names. Importing a module runs it.

    Args:
        path: The file.
        trust: Whether code may be imported wherever it lies.
        limits: The budgets.
        remedy: What the message says where code is not to be trusted.
        home: Where code may be imported from without trust; the project of the eval set by default.

    Raises:
        DocumentError: the file is wrong, or names code that is not there, cannot be imported or is not to be trusted.
        InputError: the file cannot be read.
    """
    return load_eval_set(path, limits, CodeFinder(Path(path), trust, remedy, home))


def code_files(path: str | Path) -> list[Path]:
    """The files of code that an eval set names, and those beside them, which they may import. Nothing is imported.

    There are none where the eval set cannot be loaded.
    """
    try:
        eval_set = load_eval_set(path)
    except RightcallError:
        return []
    evaluators = [check.evaluator for case in eval_set.cases for check in case.checks]
    checks = [each.type_id for each in evaluators if _is_code(each)]
    checks += [each.config.judge for each in evaluators if isinstance(each, JudgeEvaluator) and each.config.judge]
    overall = [each.evaluator.type_id for each in eval_set.overall if isinstance(each.evaluator, UnimportedOverall)]
    finder = CodeFinder(Path(path))
    found = {beside for type_id in dict.fromkeys([*checks, *overall]) for beside in finder.files(type_id)}
    return sorted(found)


def _is_code(evaluator: object) -> bool:
    return isinstance(evaluator, UnavailableEvaluator) and evaluator.reason == CODE_OF_YOURS
