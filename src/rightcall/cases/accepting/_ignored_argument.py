"""Take one argument out of an expected call, by editing the text of an eval set."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rightcall.cases.evalsets import Case, DocumentEditor, EvalSet, criteria_path, parse_eval_set
from rightcall.cases.verdicts import judge
from rightcall.errors import DocumentError, RightcallError
from rightcall.values.decoding import Path, apply_edits
from rightcall.values.results import CaseResult, EvaluationResult, Step, ToolTrajectoryEvaluatorJustification
from rightcall.values.trajectory import Trajectory

from ._acceptance import Acceptance, CaseOutcome

_TYPES = ("tool-trajectory", "tool-call-args")
_ANY = {"$any": True}
_STEPS = re.compile(r"\[(\d{1,6})\]|\.?([^.\[\]]+)")


class IgnoredArgument(msgspec.Struct, frozen=True):
    """Which argument is not to be looked at any more."""

    case_id: str
    expectation: str
    """The key of the expectation, such as `calls`."""
    position: int
    """The call that was made with another value, from 0."""
    argument: str
    """The argument, or a part of it: `amount`, `items[0].id`."""


def ignore(text: str, eval_set: EvalSet, ignored: IgnoredArgument, trajectory: Trajectory) -> Acceptance:
    """Change the text of an eval set so that one argument of one expected call is not looked at.

    It is taken out where arguments that are not named are allowed; otherwise any value of it is.

    Raises:
        RightcallError: there is no such argument in a list of expected calls, or it cannot be changed by itself.
    """
    number, case = _case(eval_set, ignored.case_id)
    turn, step = _compared(case, ignored, trajectory)
    for is_removed in (True, False):
        editor = DocumentEditor(text)
        written = _at(editor.value, ("cases", number))
        path = _written_path(written, turn, step, ignored)
        holder = _at(written, path[:-1])
        changed = {key: held for key, held in holder.items() if key != path[-1]} if is_removed else None
        editor.change(("cases", number, *path[:-1]), changed if changed is not None else {**holder, path[-1]: _ANY})
        after = apply_edits(text, editor.edits())
        try:
            edited = _case(parse_eval_set(after, eval_set.path), ignored.case_id)[1]
        except DocumentError as problem:
            raise RightcallError(f"{eval_set.path}: not edited, because it would be wrong: {problem}") from None
        result = judge(edited, trajectory)
        if not _differs(result, ignored):
            kind, reason = ("passes", "") if result.passed else ("left", "it still does not pass")
            outcome = CaseOutcome(case.id, "updated" if kind == "passes" else "left", "", reason, not result.passed)
            return Acceptance(text, after, editor.edits(), [outcome])
    raise RightcallError(f"{ignored.argument}: cannot be ignored by itself; change the expectation by hand")


def _case(eval_set: EvalSet, case_id: str) -> tuple[int, Case]:
    found = next(((number, case) for number, case in enumerate(eval_set.cases) if case.id == case_id), None)
    if found is None:
        raise RightcallError(f"{eval_set.path}: has no case {case_id!r:.80} any more")
    return found


def _compared(case: Case, ignored: IgnoredArgument, trajectory: Trajectory) -> tuple[int, Step]:
    """Return the turn and the step in which the call was compared with an expected one."""
    steps = _steps(judge(case, trajectory), ignored)
    found = next((each for each in steps if each[1].expected is not None), None)
    if found is None:
        raise RightcallError(f"{case.id}: no expected call of `{ignored.expectation}` has this difference any more")
    return found


def _differs(result: CaseResult, ignored: IgnoredArgument) -> bool:
    paths = [difference.path for _, step in _steps(result, ignored) for difference in step.differences]
    return any([_keys(path)[: len(_keys(ignored.argument))] == _keys(ignored.argument) for path in paths])


def _steps(result: CaseResult, ignored: IgnoredArgument) -> list[tuple[int, Step]]:
    """Return the steps in which an expectation was compared with the call, each with its turn."""
    named = [one for one in result.results if one.evaluator == ignored.expectation]
    steps = [each for one in named for each in _all_steps(one)]
    return [(turn, step) for turn, step in steps if step.actual == ignored.position]


def _all_steps(result: EvaluationResult) -> list[tuple[int, Step]]:
    if isinstance(result.details, ToolTrajectoryEvaluatorJustification):
        return [(turn.turn, step) for turn in result.details.turns for step in turn.alignment.steps]
    alignment = getattr(result.details, "alignment", None)
    return [(0, step) for step in alignment.steps] if alignment is not None else []


def _written_path(written: Any, turn: int, step: Step, ignored: IgnoredArgument) -> Path:
    """Return the path from a written case to the argument of the call that a step is about."""
    of_turn: Path = ("turns", turn, "expect", ignored.expectation)
    outer: Path = of_turn if _at(written, of_turn) is not None else ("expect", ignored.expectation)
    expectation = _at(written, outer)
    found = [criteria_path(expectation, type_id) for type_id in _TYPES] if expectation is not None else []
    inside = next((path for path in found if path is not None), None)
    # A step says where its call is written only where calls are in groups; else the number of the call is its place.
    place = _keys(step.path) if step.path else ("expected", step.expected or 0)
    place = place[2:] if place[0] == "expected_turns" else place[1:]
    call = _at(written, (*outer, *inside, *place)) if inside is not None else None
    if inside is None or not isinstance(call, dict):
        raise RightcallError(f"{ignored.argument}: is not written in a plain list of calls; change it by hand")
    holder = "args" if isinstance(call.get("name"), str) and "args" in call else next(iter(call), "")
    path: Path = (*outer, *inside, *place, holder, *_keys(ignored.argument))
    held: Any = _at(written, path[:-1])
    if not isinstance(held, dict) or path[-1] not in held:
        raise RightcallError(f"{ignored.argument}: is not written there by itself; change it by hand")
    return path


def _keys(argument: str) -> Path:
    """Return the keys of a path such as `items[0].id`."""
    found = _STEPS.findall(argument.removeprefix("$").removeprefix("."))
    return tuple([int(number) if number else name for number, name in found])


def _at(value: Any, path: Path) -> Any:
    for step in path:
        is_there = (isinstance(value, dict) and step in value) or (
            isinstance(value, list) and isinstance(step, int) and step < len(value)
        )
        if not is_there:
            return None
        value = value[step]
    return value
