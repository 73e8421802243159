"""The peers' side: what each failure prints, and says in what is raised, on standard output as JSON."""

import contextlib
import io
import json
import os
from collections.abc import Callable

from benchmarks.comparison.failures import FAILURES
from benchmarks.comparison.inputs import Input


def tell(fail: Callable[[Input], None]) -> None:
    """Print, for each path, all that a user would see of its failure."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Whatever a peer writes past Python's own streams goes to the log.
    json.dump({given.label: _seen(fail, given) for given in FAILURES}, answers)
    answers.close()


def _seen(fail: Callable[[Input], None], given: Input) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            fail(given)
            raised = "(nothing was raised: it passes)"
        except AssertionError as problem:
            raised = f"AssertionError: {problem}"
    lines = [line.rstrip() for line in f"{printed.getvalue().strip()}\n{raised}".strip().splitlines()]
    return "\n".join(lines)
