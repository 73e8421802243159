"""Would your own assertions notice if the agent went wrong?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rightcall.cases.mutants import Allowances, Asking, Pool, described, mutants_of, operators_named
from rightcall.errors import InputError, NotMeasuredError
from rightcall.values.results import WORLD_OPERATORS
from rightcall.values.trajectory import Trajectory

from ._subjects import trajectory_of


def survivors(
    run: Any, check: Callable[[Trajectory], object], *, others: Iterable[Any] = (), operators: Sequence[str] = ()
) -> list[str]:
    """Return the faults that a check does not notice, in words; an empty list if it notices all of them.

    A copy of the run is made for each fault: a call left out, made twice or made earlier, another tool, another
    argument, another answer. `check` is called with each copy. It notices a fault by raising, as a failing test does.

    Args:
        run: A run that passes: a trajectory, a trace, a list of calls.
        check: The check. What it returns does not matter.
        others: Other runs of the agent. Faults are made of the tools and values that they use.
        operators: Only these kinds of faults; by default all that an agent can have.

    Raises:
        InputError: the check does not pass with the run as it is, or an operator has another name.
    """
    original = trajectory_of(run)
    if _passes(check, original) is not True:
        raise InputError("the check does not pass with the run as it is; give it a run that passes")
    known = {str(number): trajectory_of(each) for number, each in enumerate((original, *others))}
    wanted = operators_named(operators)
    if not operators:
        wanted = tuple([operator for operator in wanted if operator not in WORLD_OPERATORS])
    asking = Asking(Allowances(), original, lambda trajectory: _passes(check, trajectory) is False)
    return [
        described(mutant)
        for mutant in mutants_of(original, Pool.of(known), wanted)
        if _passes(check, mutant.trajectory) and not asking.reason(mutant)
    ]


def _passes(check: Callable[[Trajectory], object], trajectory: Trajectory) -> bool | None:
    """Return whether a check passes; `None` where it cannot tell."""
    try:
        check(trajectory)
    except NotMeasuredError:
        return None
    except Exception:  # noqa: BLE001 - whatever a test raises, it has failed
        return False
    return True
