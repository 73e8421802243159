"""`rightcall check`: are these eval sets right?"""

from __future__ import annotations

import click

from rightcall.errors import RightcallError
from rightcall.evalsets import load_eval_set

from ._complaints import complain
from ._terminal import Screen


@click.command(name="check")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
def command(files: tuple[str, ...]) -> int:
    """Check eval sets: every key, every expectation, every id. Nothing is scored and nothing is imported."""
    screen, wrong = Screen(), 0
    for file in files:
        try:
            eval_set = load_eval_set(file)
        except RightcallError as problem:
            complain(problem)
            wrong += 1
            continue
        checks = sum(len(case.checks) for case in eval_set.cases)
        screen.line(f"{file}: {_count(len(eval_set.cases), 'case')}, {_count(checks, 'expectation')}")
    return 2 if wrong else 0


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
