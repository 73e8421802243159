"""One call that holds a trace against everything expected of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightcall.cases.evalsets import Case, EvalSet, compile_expectation
from rightcall.cases.verdicts import judge
from rightcall.errors import CriteriaError, shown
from rightcall.values.results import CaseResult
from rightcall.values.trajectory import Trajectory

from ._outcomes import at_the_users_line, calling_place, deliver, unnamed
from ._subjects import trajectory_of, written_call


@at_the_users_line
def check(
    subject: Any,
    expected: Any,
    *,
    match: str | None = None,
    args: str | None = None,
    threshold: float | None = None,
) -> CaseResult:
    """Hold what an agent did against what is expected, and raise where it differs. All problems are told at once.

    Args:
        subject: What the agent did: a trajectory, what `capture` captured, a path, spans, messages, a list of calls.
        expected: A list of calls, or a trajectory, to be followed as `match` says; or an object with any of the keys
            that `expect` has in an eval set, such as `{"order": […], "never": […]}`; or a case of an eval set.
        match: `exact`, `in_order`, `any_order`, `unordered` or `subset`; `exact` by default.
        args: `subset`, `exact`, `superset` or `ignore`; `subset` by default.
        threshold: The score from which an expectation holds; 1.0 by default.

    Returns:
        The result, with the score and the trajectory.

    Raises:
        CheckFailedError: the agent did something else. It is an `AssertionError`.
        NotMeasuredError: nobody can tell, because what decides it was not recorded, or judging broke.
        CriteriaError: the expectation is wrong.
        InputError: no calls can be read from the subject.
    """
    __tracebackhide__ = True
    case = _case(expected, {"match": match, "args": args, "threshold": threshold})
    return deliver(case, judge(case, trajectory_of(subject)))


def _case(expected: Any, settings: dict[str, Any]) -> Case:
    if isinstance(expected, Case):
        if given := [name for name, value in settings.items() if value is not None]:
            raise CriteriaError(f"a case says itself how it is judged; leave out {', '.join(given)}")
        return expected
    if isinstance(expected, Trajectory):
        expected = expected.calls
    if isinstance(expected, (list, tuple)):
        expected = {"calls": [written_call(item) for item in expected]}
    if isinstance(expected, (str, EvalSet)) or not isinstance(expected, Mapping):
        raise CriteriaError(
            f"what is expected is a list of calls, an object such as {{'never': ['delete']}}, or a case, "
            f"not {shown(expected)}"
        )
    place = calling_place()
    return unnamed(compile_expectation(expected, place, **settings), place)
