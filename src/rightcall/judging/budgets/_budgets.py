"""Shared by the evaluators of efficiency and errors: figures of a run with limits, and repeated calls."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, TypeVar

import msgspec

from rightcall.errors import shown
from rightcall.judging.core import Config, Criteria, Evaluator, Made, Measurement, Selection
from rightcall.values.results import BudgetCheck, BudgetsJustification, Finding, Justification, NamedCall, call_text
from rightcall.values.trajectory import ToolCall, has_failed

_MOST = 10**15
_MOST_FINDINGS = 40
_BELOW_ONE = math.nextafter(1.0, 0.0)
Pair = tuple[int, int]
"""The indices of a call and of the earlier call that it repeats."""


def _whole(value: Any) -> int:
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    if not whole or isinstance(value, bool) or not 0 <= value <= _MOST:
        raise ValueError(f"a whole number is expected, and not less than 0, not {shown(value)}")
    return int(value)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MOST:
        raise ValueError(f"a number is expected, and not less than 0, not {shown(value)}")
    return float(value)


Whole: TypeAlias = Annotated[int, Made(_whole)]
Number: TypeAlias = Annotated[float, Made(_number)]


class AtMost(Criteria):
    """A limit on a number."""

    goes_by_order: ClassVar[bool] = True

    at_most: Whole


class Figure(msgspec.Struct, frozen=True):
    """A figure of a run with its limit. `low` and `high` differ if the trace did not record enough."""

    key: str
    """The key of the criteria that has the limit."""
    what: str
    """The unit, such as `calls`."""
    limit: float
    low: float
    high: float
    told: str
    """The message if it is too high: `12 calls were made, at most 8 are allowed`."""
    unknown: str = ""
    """The message if it is unknown whether the limit holds."""

    @property
    def holds(self) -> bool | None:
        """Whether the figure is within its limit; `None` if unknown."""
        if self.high <= self.limit:
            return True
        return False if self.low > self.limit else None


class BudgetPlan(msgspec.Struct, frozen=True):
    """The criteria themselves: there is nothing to compile."""

    spends: ClassVar[bool] = False
    criteria: Any
    names: frozenset[str] = frozenset()
    size: int = 0


class Spent(msgspec.Struct, frozen=True):
    """The figures of a run, and a function that yields findings about the calls to blame."""

    figures: Sequence[Figure]
    blame: Callable[[], Iterator[Finding]] = lambda: iter(())


ConfigT = TypeVar("ConfigT", bound=Config)
CriteriaT = TypeVar("CriteriaT", bound=Criteria)


class BudgetEvaluator(Evaluator[ConfigT, CriteriaT, BudgetPlan]):
    """Compare figures of a run with limits: 1.0 within them, else limit / figure, the lowest of several."""

    code: ClassVar[str]
    """The code of the finding for an exceeded limit."""
    justification_type = BudgetsJustification

    def compile(self, criteria: CriteriaT) -> BudgetPlan:
        return BudgetPlan(criteria)

    def measure(self, selection: Selection, plan: BudgetPlan) -> Measurement:
        spent = self.spent(selection, plan.criteria)
        low = min([share(figure.limit, figure.high) for figure in spent.figures])
        high = min([share(figure.limit, figure.low) for figure in spent.figures])
        return Measurement(low, high, BudgetAccount(spent, self.code))

    def estimate(self, selection: Selection, plan: BudgetPlan) -> Measurement:
        return self.measure(selection, plan)

    @abstractmethod
    def spent(self, selection: Selection, criteria: CriteriaT) -> Spent:
        """Return the figures with their limits, as bounds if there are doubts about the calls."""


def share(limit: float, figure: float) -> float:
    """Return 1.0 if a figure is within its limit, else limit / figure."""
    return 1.0 if figure <= limit else min(_BELOW_ONE, limit / figure)


class BudgetAccount(msgspec.Struct, frozen=True):
    """The figures of a run and their limits."""

    spent: Spent
    code: str

    def justify(self) -> Justification:
        """Return each figure with its limit."""
        return BudgetsJustification(
            budgets=[
                BudgetCheck(each.what, each.limit, each.low if each.low == each.high else None, each.holds)
                for each in self.spent.figures
            ]
        )

    def find(self) -> tuple[Finding, ...]:
        """Return a finding for each figure that is too high or unknown, and for the calls to blame."""
        found: list[Finding] = []
        for figure in self.spent.figures:
            if figure.holds is False:
                found.append(Finding(self.code, figure.told, path=figure.key))
            elif figure.holds is None:
                found.append(Finding("RC301", figure.unknown, path=figure.key))
        blamed = [*self.spent.blame()] if found else []
        more = len(blamed) - _MOST_FINDINGS
        found += blamed[:_MOST_FINDINGS]
        return (*found, Finding(self.code, f"… and {more:,} more")) if more > 0 else tuple(found)


def most_calls(selection: Selection) -> float:
    """Return the highest possible number of calls."""
    return math.inf if selection.doubts is not None and selection.doubts.missing else len(selection.calls)


def named(selection: Selection, index: int) -> NamedCall:
    """Return a selected call as findings name it."""
    call = selection.calls[index]
    return NamedCall(selection.position(index), call_text(call.name, None if "args" in call.unrecorded else call.args))


def number_of(selection: Selection, index: int) -> str:
    """Return the number of a call in the trajectory, from 1, in words."""
    return f"call {selection.position(index) + 1:,}"


def pair_findings(
    selection: Selection, pairs: Iterable[tuple[int, int]], code: str, message: Callable[[str, str], str]
) -> Iterator[Finding]:
    """Yield a finding for each pair of a call and an earlier one, with a message made from both."""
    for index, earlier in pairs:
        call = named(selection, index)
        yield Finding(code, message(call.text, number_of(selection, earlier)), actual=call, path="at_most")


class Repeats(msgspec.Struct, frozen=True):
    """Calls that certainly repeat others, and calls that may."""

    sure: list[Pair]
    undecided: list[Pair]


class Cycle(msgspec.Struct, frozen=True):
    """Calls from `first` to before `end`, each like the one `period` calls before it."""

    first: int
    end: int
    period: int

    @property
    def times(self) -> int:
        """How often the same calls were made in a row. An incomplete last round does not count."""
        return (self.end - self.first) // self.period


def has_unknown_places(calls: Sequence[ToolCall]) -> bool:
    """Return whether it is unknown which calls are of the same agent and turn.

    If no call names an agent, all are by one agent, and likewise for turns. If only some calls have an agent or a turn,
    those of the others are unknown.
    """
    return any([None in place for place in _places(calls)])


def most_redundant(calls: Sequence[ToolCall]) -> int:
    """Return the highest possible number of repeated calls, whatever their order and agents."""
    repeated = 0
    for keys in _keys_by_tool(calls).values():
        known = [key for key in keys if key is not None]
        repeated += len(keys) - (1 if len(known) < len(keys) else len(set(known)))
    return repeated


def most_alike(calls: Sequence[ToolCall]) -> int:
    """Return how often the same call was made at most, whatever was not recorded."""
    alike = [0]
    for keys in _keys_by_tool(calls).values():
        known = Counter([key for key in keys if key is not None])
        alike.append(len(keys) - known.total() + max(known.values(), default=0))
    return max(alike)


def surely_redundant(calls: Sequence[ToolCall]) -> list[Pair]:
    """Return calls that certainly repeat the call right before them, whatever is unknown about others."""
    places = _places(calls)
    return [
        (index, index - 1)
        for index in range(1, len(calls))
        if None not in places[index]
        and places[index] == places[index - 1]
        and _key(calls[index]) is not None
        and _key(calls[index]) == _key(calls[index - 1])
        and _unchanged(calls[index - 1], calls[index])
    ]


def most_retries(calls: Sequence[ToolCall]) -> int:
    """Return the highest possible number of retries: one for each call that may have failed."""
    by_tool = Counter([call.name for call in calls])
    return sum([by_tool[call.name] > 1 and has_failed(call) is not False for call in calls])


def redundant_calls(calls: Sequence[ToolCall], read_only: Collection[str] = ()) -> Repeats:
    """Return calls that repeat an earlier one although nothing had changed since.

    The same call has the same tool and equal arguments, and is by the same agent in the same turn. Nothing changed if
    the earlier call succeeded, both returned the same, and all calls between them are of tools in `read_only`.
    """
    standing = _Walk(calls, read_only)
    found = Repeats([], [])
    for index in range(len(calls)):
        same = standing.same(index)
        if same is not None and standing.is_settled(same, index) and _unchanged(calls[same], calls[index]):
            found.sure.append((index, same))
        elif (other := standing.perhaps_the_same(index)) is not None:
            found.undecided.append((index, other))
        standing.pass_by(index)
    return found


def retries(calls: Sequence[ToolCall]) -> Repeats:
    """Return calls whose tool had failed when the same agent last called it in the same turn, with any arguments.

    Calls of unknown agents and turns are skipped: additional calls never reduce the number of retries.
    """
    newest: dict[Hashable, int] = {}
    found = Repeats([], [])
    for index, place in enumerate(_places(calls)):
        if None in place:
            continue
        last = newest.get(place)
        if last is not None and (outcome := has_failed(calls[last])) is not False:
            (found.sure if outcome else found.undecided).append((index, last))
        newest[place] = index
    return found


def cycles(calls: Sequence[ToolCall], longest: int) -> tuple[list[Cycle], list[Cycle]]:
    """Return calls that are made repeatedly, for every period up to `longest`: certainly, and possibly.

    Calls are alike if tool, arguments and result are equal, by the same agent in the same turn. A value that was not
    recorded is certainly like nothing, and possibly like anything.
    """
    keys = [(*place, _key(call), *_outcome(call)) for place, call in zip(_places(calls), calls, strict=True)]
    sure = [*_stretches(len(calls), longest, lambda one, other: None not in keys[one] and keys[one] == keys[other])]
    if not any(None in key for key in keys):
        return sure, sure
    return sure, [*_stretches(len(calls), longest, lambda one, other: _may_equal(keys[one], keys[other]))]


class _Walk:
    """The state of a walk through the calls of a trajectory."""

    def __init__(self, calls: Sequence[ToolCall], read_only: Collection[str]) -> None:
        self._calls = calls
        self._latest: dict[Hashable, int] = {}
        self._newest: dict[Hashable, int] = {}
        self._unclear: dict[Hashable, int] = {}
        self._went_well: set[Hashable] = set()
        self._changing = [call.name not in read_only for call in calls]
        self._before = [0]
        self._before_by_tool: list[int] = []
        counts: Counter[str] = Counter()
        for call, changing in zip(calls, self._changing, strict=True):
            self._before_by_tool.append(counts[call.name])
            counts[call.name] += changing
            self._before.append(self._before[-1] + changing)

    def same(self, index: int) -> int | None:
        """Return the last earlier call that is certainly the same."""
        key = _key(self._calls[index])
        return None if key is None else self._latest.get((_place(self._calls[index]), key))

    def is_settled(self, earlier: int, index: int) -> bool:
        """Return whether no call between two changed something, or may have been the same call."""
        return self._unclear.get(_place(self._calls[index]), -1) < earlier and not self._changes(earlier, index)

    def _changes(self, earlier: int, index: int) -> int:
        """Return how many calls between two may have changed something."""
        return self._before[index] - self._before[earlier] - self._changing[earlier]

    def perhaps_the_same(self, index: int) -> int | None:
        """Return an earlier call that this one may repeat, depending on what was not recorded."""
        call, place = self._calls[index], _place(self._calls[index])
        unclear = self._newest.get(place) if _key(call) is None else self._unclear.get(place)
        same = self.same(index)
        if same is not None and not self._changes(same, index) and _unchanged(self._calls[same], call) is None:
            return same
        if unclear is None or has_failed(call) or place not in self._went_well:
            return None
        # It may equal any call since the last change; checking the nearest is enough.
        return None if self._changes_by_others(unclear, index) else unclear

    def _changes_by_others(self, earlier: int, index: int) -> int:
        """Return how many calls of other tools between two may have changed something."""
        by_tool = self._before_by_tool[index] - self._before_by_tool[earlier]
        return self._before[index] - self._before[earlier] - by_tool

    def pass_by(self, index: int) -> None:
        """Add a call to the state."""
        place, key = _place(self._calls[index]), _key(self._calls[index])
        self._newest[place] = index
        if not has_failed(self._calls[index]):
            self._went_well.add(place)
        if key is None:
            self._unclear[place] = index
        else:
            self._latest[place, key] = index


def _stretches(count: int, longest: int, alike: Callable[[int, int], bool]) -> Iterator[Cycle]:
    """Yield maximal ranges, at least two periods long, in which each call is like the one a period before."""
    for period in range(1, min(longest, count // 2) + 1):
        first = 0
        for index in range(period, count + 1):
            if index == count or not alike(index - period, index):
                if index - first >= 2 * period:
                    yield Cycle(first, index, period)
                first = index - period + 1


def _unchanged(earlier: ToolCall, later: ToolCall) -> bool | None:
    """Return whether two calls succeeded with the same result; `None` if unknown."""
    outcomes = has_failed(earlier), has_failed(later)
    if True in outcomes:
        return False
    if "output" in earlier.unrecorded or "output" in later.unrecorded:
        return None
    if _frozen(earlier.output) != _frozen(later.output):
        return False
    return None if None in outcomes else True


def _place(call: ToolCall) -> Hashable:
    return (call.name, call.agent, call.turn)


def _places(calls: Sequence[ToolCall]) -> list[tuple[str, Hashable, Hashable]]:
    """Return the tool, agent and turn of each call; `None` for an agent or a turn that is unknown."""
    agents = _known_or_none("agent", calls)
    turns = _known_or_none("turn", calls)
    return [(call.name, agent, turn) for call, agent, turn in zip(calls, agents, turns, strict=True)]


def _known_or_none(field: Literal["agent", "turn"], calls: Sequence[ToolCall]) -> list[Hashable]:
    values = [getattr(call, field) for call in calls]
    if values.count(None) == len(values) and not any([field in call.unrecorded for call in calls]):
        return [...] * len(values)
    return values


def _keys_by_tool(calls: Sequence[ToolCall]) -> dict[str, list[Hashable]]:
    """Return a key for the arguments of each call, by tool."""
    keys: dict[str, list[Hashable]] = {}
    for call in calls:
        keys.setdefault(call.name, []).append(_key(call))
    return keys


def _key(call: ToolCall) -> Hashable:
    """Return a key for the arguments of a call; `None` if they were not recorded."""
    return None if "args" in call.unrecorded else (_frozen(call.args),)


def _outcome(call: ToolCall) -> tuple[Hashable, Hashable]:
    """Return the error and the output of a call as keys; `None` for what was not recorded."""
    is_lost = call.error is None and "output" in call.unrecorded
    error = None if "error" in call.unrecorded else (call.error,)
    return error, None if is_lost else (_frozen(call.output),)


def _may_equal(one: tuple[Hashable, ...], other: tuple[Hashable, ...]) -> bool:
    return all([mine is None or its is None or mine == its for mine, its in zip(one, other, strict=True)])


def _frozen(value: Any) -> Hashable:
    """Return a hashable equivalent of a JSON value. Two are equal exactly if the values are equal as JSON."""
    if isinstance(value, bool):
        return (bool, value)
    if isinstance(value, dict):
        return frozenset([(key, _frozen(item)) for key, item in value.items()])
    if isinstance(value, (list, tuple)):
        return (list, *map(_frozen, value))
    return (float, "NaN") if value != value else value
