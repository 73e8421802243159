"""Learn an expectation from good runs, at the strictest level that other good runs would meet."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rightcall.cases.evalsets import Case, parse_eval_set
from rightcall.cases.verdicts import judge
from rightcall.errors import DocumentError
from rightcall.values.trajectory import Trajectory

from ._levels import Learned, Level, learn_at
from ._slots import calls_of

ENOUGH = 0.9
"""The share of left-out runs that a level has to accept, or the next weaker one is taken."""
FEW = 5
"""Below as many runs the whole path is not expected: what held in N runs fails in the next with a chance of up to
1/(N + 1), a bound on a count with 2/(N + 1), and a whole path is made of many of both."""
_MOST_LEFT_OUT = 20


class Lesson(msgspec.Struct, frozen=True):
    """What was learned, and how sure it is."""

    learned: Learned
    accepted: int
    """How many left-out runs were accepted by what the others teach."""
    left_out: int
    """How many were left out, one after the other; 0 if there was one run only."""
    weaker_than: tuple[tuple[Level, int, int], ...] = ()
    """The stricter levels that were tried, and how many left-out runs each accepted, of how many."""


def learn(
    runs: Sequence[Trajectory],
    *,
    around: Mapping[str, Any] | None = None,
    strict: Level | None = None,
    tools: Sequence[str] = (),
) -> Lesson | None:
    """Return one expectation that all runs meet; `None` if they have nothing in common that can be judged.

    Args:
        runs: The good runs, at least one.
        around: The eval set that it is for, whose defaults count.
        strict: The level; by default the strictest that accepts 90 % of runs that are left out.
        tools: Tools that the agent is known to have, beside those of these runs.
    """
    trial = DraftJudge(around or {})
    defaults = (around or {}).get("defaults") or {}
    tried: list[tuple[Level, int, int]] = []
    best: Lesson | None = None
    # Runs without a call have one path, however few they are: to allow lookups would loosen `calls: []`.
    is_whole = len(runs) >= FEW or not any([calls_of(run) for run in runs])
    levels: tuple[Level, ...] = (strict,) if strict is not None else (2, 1, 0) if is_whole else (1, 0)
    for level in levels:
        learned = _explicit(learn_at(level, runs, tools), defaults)
        if not trial.accepts(learned, runs):
            continue
        accepted, left_out = leave_one_out(level, runs, tools, trial)
        # A weaker level that accepts no more would give something away for nothing; of a few runs that is not known.
        if best is None or accepted > best.accepted or len(runs) < FEW:
            best = Lesson(learned, accepted, left_out, tuple(tried))
        if strict is not None or not left_out or accepted >= ENOUGH * left_out:
            return best
        tried.append((level, accepted, left_out))
    return best


def _explicit(learned: Learned, defaults: Mapping[str, Any]) -> Learned:
    """Return what was learned with its settings written out where the eval set has defaults of its own."""
    settings = {"match": "exact", "args": "subset", "extra": "forbid", "failed": "count"}
    needed = {key: value for key, value in settings.items() if key in defaults}
    if not needed:
        return learned
    calls = learned.expect["calls"]
    if isinstance(calls, dict):
        return msgspec.structs.replace(learned, expect={**learned.expect, "calls": {**needed, **calls}})
    moved = {(*path[:1], "expected", *path[1:]): count for path, count in learned.support.items() if path[0] == "calls"}
    others = {path: count for path, count in learned.support.items() if path[0] != "calls"}
    expect = {**learned.expect, "calls": {"expected": calls, **needed}}
    return msgspec.structs.replace(learned, expect=expect, support=moved | others)


def leave_one_out(level: Level, runs: Sequence[Trajectory], tools: Sequence[str], trial: DraftJudge) -> tuple[int, int]:
    """Return how many runs are accepted by what the others teach, of how many that were left out in turn."""
    if len(runs) < 2:
        return 0, 0
    step = max(1, len(runs) // _MOST_LEFT_OUT)
    chosen = range(0, len(runs), step)
    accepted = 0
    for number in chosen:
        others = [run for place, run in enumerate(runs) if place != number]
        accepted += trial.accepts(learn_at(level, others, tools), [runs[number]])
    return accepted, len(chosen)


class DraftJudge:
    """Judges runs by what was learned, as the eval set would."""

    def __init__(self, around: Mapping[str, Any]) -> None:
        self._around = {key: value for key, value in around.items() if key != "cases"}

    def accepts(self, learned: Learned, runs: Sequence[Trajectory]) -> bool:
        """Whether all runs meet what was learned."""
        case = self.case(learned.expect)
        return case is not None and all([judge(case, run).passed for run in runs])

    def case(self, expect: Mapping[str, Any]) -> Case | None:
        """Return a case that expects this; `None` if it cannot be loaded."""
        document = {**self._around, "cases": [{"id": "trial", "expect": expect}]}
        try:
            [case] = parse_eval_set(json.dumps(document), "trial").cases
        except DocumentError:
            return None
        return case
