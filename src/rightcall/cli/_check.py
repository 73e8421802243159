"""`rightcall check`: are these eval sets right?"""

from __future__ import annotations

from collections import Counter

import click

from rightcall.cases.evalsets import EvalSet, load_eval_set
from rightcall.errors import RightcallError
from rightcall.judging import CODE_OF_YOURS, UnavailableEvaluator, UnimportedOverall

from ._errors import print_error
from ._terminal import Screen

_FORMATS = {"native": "", "uipath": " (UiPath)", "adk": " (ADK)"}


@click.command(name="check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
def command(files: tuple[str, ...]) -> int:
    """Check eval sets: every key, every expectation, every id. Nothing is scored and nothing is imported.

    FILES may be in the native format, in UiPath's or in ADK's.
    """
    screen, wrong = Screen(), 0
    for file in files:
        try:
            eval_set = load_eval_set(file)
        except RightcallError as problem:
            print_error(problem)
            wrong += 1
            continue
        checks = sum(len(case.checks) for case in eval_set.cases)
        whose = _FORMATS[eval_set.format]
        screen.line(f"{file}: {_count(len(eval_set.cases), 'case')}, {_count(checks, 'expectation')}{whose}")
        for note in _unavailable(eval_set):
            screen.line(f"  note: {note}")
    return 2 if wrong else 0


def _unavailable(eval_set: EvalSet) -> list[str]:
    """What the eval set asks for that is not available: each by name, and in how many cases."""
    evaluators = [check.evaluator for case in eval_set.cases for check in case.checks]
    code = [each.evaluator for each in eval_set.overall if isinstance(each.evaluator, UnimportedOverall)]
    missing = [each for each in evaluators if isinstance(each, UnavailableEvaluator)]
    counted = Counter((each.id, each.type_id, each.reason) for each in missing)
    return [
        f"{name!r} ({wanted}) was not checked: {reason}"
        if reason == CODE_OF_YOURS
        else f"{name!r} ({wanted}) is not yet available: {reason}; {_count(cases, 'case')} cannot pass"
        for (name, wanted, reason), cases in counted.items()
    ] + [f"{each.id!r} ({each.type_id}) was not checked: {CODE_OF_YOURS}" for each in code]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
