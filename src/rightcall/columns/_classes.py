"""Expectations of calls, scored on classes of calls: two that satisfy the same expectations are the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import UNSET

from rightcall.evalsets import Check
from rightcall.evaluators import (
    ForbiddenTools,
    SingleToolUse,
    ToolCallArgsEvaluator,
    ToolCallCountEvaluator,
    ToolCallOutputEvaluator,
    ToolF1,
    ToolPrecision,
    ToolRecall,
    ToolTrajectoryEvaluator,
)
from rightcall.matchers import Pattern
from rightcall.trajectory import ToolCall, Trajectory

from ._calls import Calls
from ._outcomes import Measured
from ._rows import args_in, value_in

_MOST_CAUSES = 30
"""As many findings as evaluators list. Among more than that, the order decides which ones."""

_OPEN: frozenset[type] = frozenset(
    {ToolCallArgsEvaluator, ToolCallOutputEvaluator, ToolRecall, SingleToolUse, ForbiddenTools}
)
"""Evaluators that calls of other tools mean nothing to, nor the order of calls."""
_CLOSED: frozenset[type] = frozenset({ToolPrecision, ToolF1})
"""Evaluators that the order of calls means nothing to."""


class Sight(msgspec.Struct, frozen=True):
    """What the verdict of a check depends on: calls of some tools, what they satisfy, and perhaps others and order."""

    names: frozenset[str]
    patterns: tuple[Pattern, ...] = ()
    """What calls are held against; none where names are enough."""
    others: bool = False
    """Whether calls of other tools count."""
    order: bool = False

    @property
    def reads(self) -> str | None:
        """The field of calls that is read beside their names."""
        return next((pattern.part for pattern in self.patterns if not pattern.accepts_all), None)


def sight(check: Check) -> Sight | None:
    """What a check looks at; none where that may be anything."""
    kind, criteria = type(check.evaluator), check.criteria
    if kind is ToolCallCountEvaluator and criteria.takes_all:
        return Sight(frozenset(criteria.tool_calls_count))
    if kind in _OPEN | _CLOSED and criteria.takes_all:
        expected = criteria.plans[check.evaluator].expected
        return Sight(expected.name_set, tuple(expected.patterns), others=kind in _CLOSED)
    if kind is ToolTrajectoryEvaluator and criteria.takes_all:
        return _sight_of_path(criteria.plans[check.evaluator])
    return None


def _sight_of_path(plan: Any) -> Sight | None:
    if plan.by_turn:
        return None
    [expected] = plan.turns
    in_order = plan.match_type in ("EXACT", "IN_ORDER")
    others = plan.match_type not in ("IN_ORDER", "ANY_ORDER")
    return Sight(expected.name_set, tuple(expected.patterns), others=others, order=in_order)


class ClassScorer:
    """Scores rows of one batch: the first of each kind by the evaluator, the others by what was said of that one."""

    def __init__(self, check: Check, sight: Sight, calls: Calls) -> None:
        self._check, self._sight, self._calls = check, sight, calls
        wanted = {calls.code_of[name] for name in sight.names}
        self._ignored = b"" if sight.others else bytes(set(range(256)).difference(wanted))
        self._texts = calls.texts(sight.reads, wanted) if sight.reads is not None else None
        self._errors = calls.texts("error", wanted) if sight.reads == "output" else None
        self._classes = _Classes(sight, calls)
        self._known: dict[tuple[int, ...] | bytes, Measured] = {}

    def measured(self, begin: int, end: int) -> Measured:
        """What the evaluator says of a row.

        Raises:
            InputError: something that it has to look at cannot be read.
        """
        key = self._key(begin, end)
        try:
            return self._known[key]
        except KeyError:
            found = self._known[key] = self._asked(begin, end)
            return found

    def _key(self, begin: int, end: int) -> tuple[int, ...] | bytes:
        codes = self._calls.codes[begin:end]
        if self._texts is None:
            key: Any = codes.translate(None, self._ignored)
            return key if self._sight.order or len(key) > _MOST_CAUSES else bytes(sorted(key))
        parts = zip(codes, self._texts[begin:end], self._errors_of(begin, end), strict=True)
        classes, ignored = self._classes, self._ignored
        key = [classes[part] for part in parts if part[0] not in ignored]
        if not self._sight.order and len(key) <= _MOST_CAUSES:
            key.sort()
        return tuple(key)

    def _errors_of(self, begin: int, end: int) -> Sequence[str | None]:
        return (None,) * (end - begin) if self._errors is None else self._errors[begin:end]

    def _asked(self, begin: int, end: int) -> Measured:
        texts = (None,) * (end - begin) if self._texts is None else self._texts[begin:end]
        parts = zip(self._calls.codes[begin:end], texts, self._errors_of(begin, end), strict=True)
        calls = tuple([self._classes.call(part) for part in parts])
        return Measured.of(self._check.evaluator.evaluate(Trajectory(calls=calls), self._check.criteria))


_Part = tuple[int, str | None, str | None]
"""The number of a call's name, the text of the field that is read, and the error of the call."""


class _Classes(dict[_Part, int]):
    """The class of each call: a number for its name and for which of the expectations of that name it satisfies."""

    def __init__(self, sight: Sight, calls: Calls) -> None:
        self._reads, self._name_of = sight.reads, calls.name_of
        self._patterns: dict[str, list[Pattern]] = {}
        for pattern in sight.patterns:
            self._patterns.setdefault(pattern.name, []).append(pattern)
        self._numbers: dict[tuple[int, tuple[bool | None, ...]], int] = {}

    def __missing__(self, part: _Part) -> int:
        patterns = self._patterns.get(self._name_of[part[0]], ())
        call = self.call(part) if patterns else None
        satisfied = tuple([pattern.accepts(call) for pattern in patterns]) if call is not None else ()
        number = self[part] = self._numbers.setdefault((part[0], satisfied), len(self._numbers))
        return number

    def call(self, part: _Part) -> ToolCall:
        """The call itself, as far as it is looked at. Raises `InputError`."""
        code, text, error = part
        name = self._name_of[code]
        if text is None:
            return ToolCall(name=name, error=error)
        if self._reads == "args":
            return ToolCall(name=name, args=args_in(text), output=UNSET, error=error)
        return ToolCall(name=name, output=value_in(text), error=error)
