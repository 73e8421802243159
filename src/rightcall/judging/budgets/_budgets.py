"""What the evaluators of efficiency and health have in common: figures of a run, and how high they may be."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, ClassVar, TypeAlias, TypeVar

import msgspec

from rightcall.errors import shown
from rightcall.judging.core import Config, Criteria, Evaluator, Made, Measurement, Selection
from rightcall.values.results import BudgetCheck, BudgetsJustification, Finding, Justification, NamedCall, call_text

_MOST = 10**15
_MOST_FINDINGS = 40
_BELOW_ONE = math.nextafter(1.0, 0.0)


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
    """How many there may be."""

    at_most: Whole


class Figure(msgspec.Struct, frozen=True):
    """A figure of a run, or its bounds where the trace leaves it open, and how high it may be."""

    key: str
    """The key of the criteria that has the limit."""
    what: str
    """What is measured, such as `calls`."""
    limit: float
    low: float
    high: float
    told: str
    """The message where it is too high: `12 calls were made, at most 8 are allowed`."""
    unknown: str = ""
    """What is missing, where the trace leaves it open."""

    @property
    def holds(self) -> bool | None:
        """Whether the figure is within its limit; `None` where the trace leaves it open."""
        if self.high <= self.limit:
            return True
        return False if self.low > self.limit else None


class BudgetPlan(msgspec.Struct, frozen=True):
    """Criteria as they are: there is nothing to compile."""

    spends: ClassVar[bool] = False
    criteria: Any
    names: frozenset[str] = frozenset()
    size: int = 0


class Spent(msgspec.Struct, frozen=True):
    """The figures of a run, and how to find the calls that are to blame."""

    figures: Sequence[Figure]
    blame: Callable[[], Iterator[Finding]] = lambda: iter(())


ConfigT = TypeVar("ConfigT", bound=Config)
CriteriaT = TypeVar("CriteriaT", bound=Criteria)


class BudgetEvaluator(Evaluator[ConfigT, CriteriaT, BudgetPlan]):
    """Compares figures of a run with limits: 1.0 within them, else limit / figure, the lowest of several."""

    code: ClassVar[str]
    """Of the finding that says that a limit does not hold."""
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
        """The figures, each with its limit, and with bounds where there are doubts about the calls."""


def share(limit: float, figure: float) -> float:
    """1.0 where a figure is within its limit, else less: how much of it the limit would have covered."""
    return 1.0 if figure <= limit else min(_BELOW_ONE, limit / figure)


class BudgetAccount(msgspec.Struct, frozen=True):
    """The figures of a run and their limits."""

    spent: Spent
    code: str

    def justify(self) -> Justification:
        """Each figure beside its limit."""
        return BudgetsJustification(
            budgets=[
                BudgetCheck(each.what, each.limit, each.low if each.low == each.high else None, each.holds)
                for each in self.spent.figures
            ]
        )

    def find(self) -> tuple[Finding, ...]:
        """Each figure that is too high or left open, and the calls that are to blame."""
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
    """Return how many calls may have been made."""
    return math.inf if selection.doubts is not None and selection.doubts.missing else len(selection.calls)


def named(selection: Selection, index: int) -> NamedCall:
    """A selected call, as findings name it."""
    call = selection.calls[index]
    return NamedCall(selection.position(index), call_text(call.name, None if "args" in call.unrecorded else call.args))


def number_of(selection: Selection, index: int) -> str:
    """Which call of the trajectory it is, from 1."""
    return f"call {selection.position(index) + 1:,}"


def pair_findings(
    selection: Selection, pairs: Iterable[tuple[int, int]], code: str, message: Callable[[str, str], str]
) -> Iterator[Finding]:
    """A finding for each call that has to do with an earlier one; the message is made of the two."""
    for index, earlier in pairs:
        call = named(selection, index)
        yield Finding(code, message(call.text, number_of(selection, earlier)), actual=call, path="at_most")
