"""Judge trajectories with faults in them: what a case notices, what it lets pass, and what does not count."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import msgspec

from rightcall.cases.evalsets import Case
from rightcall.cases.verdicts import has_async_evaluators, judge
from rightcall.errors import InputError, nearest
from rightcall.values.redaction import redacted_text, redacted_value
from rightcall.values.results import WORLD_OPERATORS, MutatedCase, Survivor, call_text, value_text
from rightcall.values.trajectory import ToolCall, Trajectory

from ._allowances import Allowances, Asking
from ._changes import value_at
from ._operators import OPERATORS, Mutant, Operator, Pool, mutants_of

MOST_MUTANTS = 200
"""Faults tried in one case; where there are more, some are drawn, always the same ones."""
_SHOWN = 120
_SHOWN_VALUE = 40

Answer: TypeAlias = Literal["noticed", "let pass", "unmeasured"]


class Golden(msgspec.Struct, frozen=True):
    """The trajectories of a case that pass. The first one is changed: the path that was taken most often."""

    case: Case
    trajectories: tuple[Trajectory, ...]

    @property
    def original(self) -> Trajectory:
        """The trajectory that faults are put into."""
        return self.trajectories[0]


class Tried(msgspec.Struct, frozen=True):
    """The faults of one case, by what became of them."""

    golden: Golden
    noticed: tuple[Mutant, ...]
    survived: tuple[Mutant, ...]
    set_aside: tuple[tuple[Mutant, str], ...]
    unmeasured: int
    left_out: int


def operators_named(names: Sequence[str]) -> tuple[Operator, ...]:
    """Return operators by their names, all of them if none is given. Raises `InputError`."""
    wanted = [part for name in names for part in name.split(",") if part]
    for name in wanted:
        if name not in OPERATORS:
            raise InputError(f"no operator {name!r:.40}; {nearest(name, OPERATORS)}")
    return tuple([operator for operator in OPERATORS if not wanted or operator in wanted])


def golden_of(
    cases: Sequence[Case], observed: Mapping[str, Sequence[Trajectory]], *, judges: bool = False
) -> tuple[list[Golden], dict[str, tuple[str, ...]]]:
    """Return the cases that can be tried, each with the trajectories that pass, and the others by reason."""
    found: list[Golden] = []
    others: dict[str, list[str]] = {}
    for case in cases:
        trajectories = observed.get(case.id, ())
        if not trajectories:
            others.setdefault("no trace", []).append(case.id)
        elif not case.checks:
            others.setdefault("nothing is expected", []).append(case.id)
        elif has_async_evaluators(case) and not judges:
            others.setdefault("a model judges it (--judges)", []).append(case.id)
        elif passing := [each for each in trajectories if judge(case, each).passed]:
            found.append(Golden(case, _commonest_first(passing)))
        else:
            others.setdefault("it does not pass", []).append(case.id)
    return found, {reason: tuple(ids) for reason, ids in others.items()}


def _commonest_first(trajectories: Sequence[Trajectory]) -> tuple[Trajectory, ...]:
    paths = [repr([(call.name, call.args) for call in each.calls]) for each in trajectories]
    counted = Counter(paths)
    # Python sorts stably: of paths that are equally common the one that was seen first is taken.
    order = sorted(range(len(paths)), key=lambda place: -counted[paths[place]])
    return tuple([trajectories[place] for place in order])


def pool_of(golden: Sequence[Golden]) -> Pool:
    """Return the tools and values of all cases."""
    return Pool.of({each.case.id: each.original for each in golden})


def answer_of(case: Case, trajectory: Trajectory) -> Answer:
    """Return whether a case notices what is wrong with a trajectory, by the first expectation that fails."""
    unmeasured = False
    if has_async_evaluators(case):
        verdict = judge(case, trajectory).verdict
        return "noticed" if verdict == "failed" else "let pass" if verdict == "passed" else "unmeasured"
    for check in case.checks:
        verdict = check.evaluator.evaluate(trajectory, check.criteria).verdict
        if verdict == "failed":
            return "noticed"
        unmeasured |= verdict != "passed"
    return "unmeasured" if unmeasured else "let pass"


def try_case(
    golden: Golden, pool: Pool, operators: Sequence[Operator] = OPERATORS, *, count_all: bool = False
) -> Tried:
    """Put every fault into the trajectory of a case, and judge it. With `count_all` none is set aside."""
    made = mutants_of(golden.original, pool, operators)
    drawn = made
    if len(made) > MOST_MUTANTS:
        chosen = sorted(random.Random(0).sample(range(len(made)), MOST_MUTANTS))  # noqa: S311 - a sample, no secret
        drawn = [made[number] for number in chosen]
    case = golden.case
    asking = Asking(Allowances.of(case), golden.original, lambda trajectory: answer_of(case, trajectory) == "noticed")
    noticed, survived, aside, unmeasured = [], [], [], 0
    for mutant in drawn:
        answer = answer_of(case, mutant.trajectory)
        if answer == "noticed":
            noticed.append(mutant)
        elif answer == "unmeasured":
            unmeasured += 1
        elif reason := "" if count_all else asking.reason(mutant):
            aside.append((mutant, reason))
        else:
            survived.append(mutant)
    return Tried(golden, tuple(noticed), tuple(survived), tuple(aside), unmeasured, len(made) - len(drawn))


def told_case(tried: Tried, lines: Mapping[int, str] | None = None) -> MutatedCase:
    """Return the faults of a case counted, given the line that would notice each survivor by its number."""
    noticed = Counter([mutant.operator for mutant in tried.noticed])
    survived = Counter([mutant.operator for mutant in tried.survived])
    seen = [operator for operator in OPERATORS if noticed[operator] or survived[operator]]
    texts = _CallTexts()
    return MutatedCase(
        case_id=tried.golden.case.id,
        expected=texts.of(tried.golden.original),
        cells={operator: (noticed[operator], noticed[operator] + survived[operator]) for operator in seen},
        survivors=tuple(
            [
                Survivor(
                    operator=mutant.operator,
                    told=told(mutant),
                    line=redacted_text((lines or {}).get(number, "")),
                    calls=texts.of(mutant.trajectory),
                )
                for number, mutant in enumerate(tried.survived)
                if mutant.operator not in WORLD_OPERATORS
            ]
        ),
        set_aside=dict(Counter([reason for _, reason in tried.set_aside])),
        unmeasured=tried.unmeasured,
        left_out=tried.left_out,
    )


def told(mutant: Mutant) -> str:
    """Return a fault in words, with the value that was put in, unless that is a secret."""
    if mutant.operator != "argument" or mutant.position is None:
        return mutant.told
    args = redacted_value(mutant.trajectory.calls[mutant.position].args)
    return f"{mutant.told}: {value_text(value_at(args, mutant.path), _SHOWN_VALUE)}"


class _CallTexts:
    """Calls as text, without secrets: a report of faults is kept beside the run."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def of(self, trajectory: Trajectory) -> tuple[str, ...]:
        """Return the calls of a trajectory, which has to live as long as this."""
        return tuple([self._text(call) for call in trajectory.calls if not call.internal])

    def _text(self, call: ToolCall) -> str:
        # Mutants share all calls but one with the original, and redacting one takes longer than judging it.
        if id(call) not in self._known:
            self._known[id(call)] = call_text(call.name, redacted_value(call.args), _SHOWN)
        return self._known[id(call)]
