"""The turns of a case, for its timeline: what was asked and answered, and what was expected in each."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rightcall.reporting.reports import ExpectedPath, paths_of
from rightcall.values.results import AlignedGroup, CaseResult, Step, ToolTrajectoryEvaluatorJustification
from rightcall.values.trajectory import Trajectory

from ._case_calls import value_shown
from ._templates import ShownText, shown_text

_TEXT = 1_000


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn of a conversation, or the whole run: what was asked and answered, and the steps that were expected."""

    number: int
    question: ShownText | None
    answer: ShownText | None
    steps: tuple[Step, ...] = ()
    groups: tuple[AlignedGroup, ...] = ()
    is_judged: bool = False
    """Whether a path is expected of this turn alone."""
    calls: Sequence[int] = ()
    """The positions of its calls."""
    was_run: bool = True
    """Whether the agent was run here, so that its input is known; otherwise this is a recorded trace."""


def turns_of(result: CaseResult) -> list[Turn]:
    """Return the turns of a case; a run without turns is one."""
    run = result.trajectory
    if run is None:
        return []
    paths, was_run = _main_paths(result), result.outcome is not None
    count = max(len(paths), len(run.turn_outputs), len(run.turn_inputs), 1)
    by_turn = _calls_by_turn(run, count)
    steps = _steps_by_turn(paths, by_turn)
    is_one = count == 1
    asked, answered = ((run.input,), (run.output,)) if is_one else (run.turn_inputs, run.turn_outputs)
    return [
        Turn(
            number=turn,
            question=_shown(asked[turn]) if turn < len(asked) else None,
            answer=_shown(answered[turn]) if turn < len(answered) else None,
            steps=steps[turn],
            groups=_groups_of(paths, turn),
            is_judged=turn < len(paths) and (is_one or len(paths) > 1),
            calls=by_turn[turn],
            was_run=was_run,
        )
        for turn in range(count)
    ]


def _calls_by_turn(run: Trajectory, count: int) -> list[list[int]]:
    """Return the positions of the calls of each turn; a call without one is in that of the call before it."""
    found: list[list[int]] = [[] for _ in range(count)]
    at = 0
    for position, call in enumerate(run.calls):
        at = min(call.turn, count - 1) if call.turn is not None else at
        found[at].append(position)
    return found


def _steps_by_turn(paths: Sequence[ExpectedPath], by_turn: Sequence[Sequence[int]]) -> list[tuple[Step, ...]]:
    """Return what was expected in each turn.

    A path that is expected of all turns together is parted by the calls it was compared with. What is missing is in the
    turn of the call before it: nothing says that the agent should have waited.
    """
    if len(paths) != 1:
        return [tuple(paths[turn].alignment.steps) if turn < len(paths) else () for turn in range(len(by_turn))]
    turn_of = {position: turn for turn, positions in enumerate(by_turn) for position in positions}
    found: list[list[Step]] = [[] for _ in by_turn]
    at = 0
    for step in paths[0].alignment.steps:
        at = turn_of.get(step.actual, at) if step.actual is not None else at
        found[at].append(step)
    return [tuple(steps) for steps in found]


def _groups_of(paths: Sequence[ExpectedPath], turn: int) -> tuple[AlignedGroup, ...]:
    path = paths[0] if len(paths) == 1 else paths[turn] if turn < len(paths) else None
    return tuple(path.alignment.groups) if path is not None else ()


def _shown(value: object) -> ShownText | None:
    """What was asked or answered: a text as it is, anything else as JSON."""
    if value is None:
        return None
    return shown_text(value, _TEXT, whole=True) if isinstance(value, str) else value_shown(value, _TEXT)


def _main_paths(result: CaseResult) -> list[ExpectedPath]:
    """The paths of the expectation that says most about the calls: a whole path, one that did not pass first."""
    ordered = sorted(
        result.results,
        key=lambda one: (not isinstance(one.details, ToolTrajectoryEvaluatorJustification), one.passed),
    )
    return next((paths for one in ordered if (paths := list(paths_of(result, one)))), [])
