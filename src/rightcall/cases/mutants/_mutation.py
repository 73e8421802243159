"""Judge trajectories with faults in them: what a case notices, what it lets pass, and what it explicitly allows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, Literal, TypeAlias

import msgspec

from rightcall.cases.evalsets import Case
from rightcall.cases.verdicts import has_async_evaluators, judge
from rightcall.errors import InputError, nearest
from rightcall.judging import StepGroup
from rightcall.values.redaction import redacted_text, redacted_value
from rightcall.values.results import WORLD_OPERATORS, MutatedCase, Survivor, call_text, value_text
from rightcall.values.trajectory import ToolCall, Trajectory

from ._changes import renamed, repeated, value_at, with_args
from ._operators import OPERATORS, UNKNOWN_TOOL, Mutant, Operator, Pool, mutants_of

MOST_MUTANTS = 200
"""Faults tried in one case; where there are more, some are drawn, always the same ones."""
_SHOWN = 120
_SHOWN_VALUE = 40
Answer: TypeAlias = Literal["noticed", "let pass", "unmeasured"]
_MANY = 60
"""More calls of one tool than a case that bounds their number would allow."""
_FREE_ORDER = ("ANY_ORDER", "UNORDERED", "SUBSET")


class Golden(msgspec.Struct, frozen=True):
    """The trajectories of a case that pass. The first one is changed: the path that was taken most often."""

    case: Case
    trajectories: tuple[Trajectory, ...]

    @property
    def original(self) -> Trajectory:
        """The trajectory that faults are put into."""
        return self.trajectories[0]


class Tried(msgspec.Struct, frozen=True):
    """The faults of one case, by outcome."""

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


def mutated_case(tried: Tried, lines: Mapping[int, str] | None = None) -> MutatedCase:
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
                    fault=described(mutant),
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


def described(mutant: Mutant) -> str:
    """Return a fault in words, with the value that was put in, unless that is a secret."""
    if mutant.operator != "argument" or mutant.position is None:
        return mutant.description
    args = redacted_value(mutant.trajectory.calls[mutant.position].args)
    return f"{mutant.description}: {value_text(value_at(args, mutant.path), _SHOWN_VALUE)}"


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


class Allowances(msgspec.Struct, frozen=True):
    """The words of a case about tools: which may be left out, repeated, called in any order, or are ignored."""

    any_order: bool = False
    together: tuple[frozenset[str], ...] = ()
    optional: frozenset[str] = frozenset()
    repeated: frozenset[str] = frozenset()
    ignored: tuple[Set[str], ...] = ()
    named: Set[str] | None = None
    """The tools that steps name, where the case says that others do not matter."""

    @classmethod
    def of(cls, case: Case) -> Allowances:
        """Return what the expected calls of a case allow."""
        found = _Words()
        ignored, any_order = [], False
        named: Set[str] | None = None
        for check in case.checks:
            criteria = check.criteria
            if getattr(criteria, "ignore_tools", ()):
                ignored.append(criteria.ignored)
            if check.evaluator.type_id != "tool-trajectory":
                continue
            config = check.evaluator.config
            any_order |= (criteria.match_type or config.match_type) in _FREE_ORDER
            if (criteria.extra or config.extra) in ("allow", "others"):
                named = check.evaluator.plan(criteria).names
            for steps in criteria.expected_turns or (criteria.expected or (),):
                found.read(steps)
        return cls(
            any_order=any_order,
            together=tuple(found.together),
            optional=frozenset(found.optional),
            repeated=frozenset(found.repeated),
            ignored=tuple(ignored),
            named=named,
        )


class _Words:
    """The names of tools below the words of steps."""

    def __init__(self) -> None:
        self.together: list[frozenset[str]] = []
        self.optional: set[str] = set()
        self.repeated: set[str] = set()

    def read(self, steps: Sequence[Any]) -> None:
        for step in steps:
            if not isinstance(step, StepGroup):
                continue
            names = _names(step)
            if step.word in ("any_order", "at_once"):
                self.together.append(names)
            elif step.word in ("optional", "one_of"):
                self.optional |= names
            elif step.word == "repeat":
                self.repeated |= names
            self.read(step.items)


def _names(step: Any) -> frozenset[str]:
    if not isinstance(step, StepGroup):
        return frozenset({step.name})
    return frozenset().union(*[_names(item) for item in step.items])


class Asking:
    """Finds out why a fault is let pass, by what a case says and by asking about other trajectories."""

    def __init__(self, allowed: Allowances, original: Trajectory, notices: Callable[[Trajectory], bool]) -> None:
        self._allowed = allowed
        self._original = original
        self._notices = notices
        self._closed: dict[int, bool] = {}
        self._misses: dict[tuple[int, str | int], bool] = {}

    def reason(self, mutant: Mutant) -> str:
        """Return why a fault that was let pass is none, or an empty text."""
        if mutant.tool and any([mutant.tool in ignored for ignored in self._allowed.ignored]):
            return "the case ignores the tool"
        if self._allowed.named is not None and any([tool not in self._allowed.named for tool in _tools(mutant)]):
            return "the case says that other tools do not matter"
        ask: Callable[[Mutant], str] = getattr(self, f"_{mutant.operator.replace('-', '_')}", lambda _: "")
        return ask(mutant)

    def _drop(self, mutant: Mutant) -> str:
        if mutant.tool in self._allowed.optional | self._allowed.repeated or self._is_closed(mutant):
            return "the case says that it may be left out"
        return ""

    def _repeat(self, mutant: Mutant) -> str:
        if mutant.tool in self._allowed.repeated:
            return "the case says that it may be repeated"
        # A case that would notice many calls bounds their number, and two are within the bounds.
        if mutant.position is not None and self._notices(repeated(self._original, mutant.position, _MANY)):
            return "the case says that it may be repeated"
        return ""

    def _swap(self, mutant: Mutant) -> str:
        calls, position = self._original.calls, mutant.position or 0
        one, two = calls[position], calls[position + 1]
        if one.group is not None and one.group == two.group:
            return "the calls were asked for at once"
        if any([first <= position and position + 1 < end for first, end in self._original.unordered]):
            return "their order was not recorded"
        both = {one.name, two.name}
        if self._allowed.any_order or any([both <= names for names in self._allowed.together]):
            return "the case says that the order is free"
        return ""

    def _other_tool(self, mutant: Mutant) -> str:
        return "the case says that the other tool will do" if self._is_closed(mutant) else ""

    def _other_case(self, mutant: Mutant) -> str:
        # A call that only the other path has must be one that the case names, or it is let pass with any other.
        own = set(self._original.names)
        calls = mutant.trajectory.calls
        foreign = [position for position, call in enumerate(calls) if call.name not in own] or range(len(calls))
        if all([self._notices(renamed(mutant.trajectory, position, UNKNOWN_TOOL)) for position in foreign]):
            return "the case allows this path, too"
        return ""

    def _argument(self, mutant: Mutant) -> str:
        # Asked by taking the argument away: a case that misses it looks at it, and accepts other values on purpose.
        position, key = mutant.position or 0, mutant.path[0]
        if (position, key) not in self._misses:
            args = self._original.calls[position].args or {}
            left = {other: value for other, value in args.items() if other != key}
            self._misses[position, key] = self._notices(with_args(self._original, position, left))
        return "the case lets the value vary" if self._misses[position, key] else ""

    def _argument_added(self, mutant: Mutant) -> str:
        return "arguments that the case does not name are allowed"

    def _is_closed(self, mutant: Mutant) -> bool:
        """Whether no unknown tool may be called in this place: then what may be called there is written."""
        if mutant.position is None:
            return False
        if mutant.position not in self._closed:
            asked = renamed(self._original, mutant.position, UNKNOWN_TOOL)
            self._closed[mutant.position] = self._notices(asked)
        return self._closed[mutant.position]


def _tools(mutant: Mutant) -> list[str]:
    """Return the tools that a fault is about."""
    return [tool for tool in (mutant.tool, mutant.after) if tool]
