"""Expectations of names alone, scored on bytes: a byte a name, a string of them a trajectory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal, TypeAlias

import msgspec
from rapidfuzz.distance import LCSseq

from rightcall.evalsets import Check
from rightcall.evaluators import (
    ExecutionOrderEvaluator,
    ToolCallOrderEvaluator,
    ToolTrajectoryEvaluator,
)

from ._calls import Calls
from ._outcomes import Cause, Measured, ordered

_MOST_CAUSES = 30
"""As many findings as evaluators list. What has more is judged by them."""
_MISSING, _EXTRA, _MOVED = 1, 2, 4
_CODES = {_MISSING: "RC101", _EXTRA: "RC102", _MOVED: "RC103"}

Scoring: TypeAlias = Literal["share", "equal", "in order", "in common"]


class NamesRule(msgspec.Struct, frozen=True):
    """Names that are expected, how calls are held to them, and which calls are at fault where they fail.

    Scores: `share` is the part of the expected names that is in order, `in common` the part that was called at all;
    `equal` is 1.0 where the calls are the expected ones, `in order` where these are among them in order; else 0.0.
    """

    expected: tuple[str, ...]
    scoring: Scoring
    threshold: float
    order: bool = True
    """Whether a call at another place than expected is at fault."""
    extras: bool = False
    """Whether a call that nobody expects is."""

    reads: ClassVar[None] = None
    """Nothing of calls is read beside their names."""

    @property
    def names(self) -> frozenset[str]:
        """The tools that are looked at."""
        return frozenset(self.expected)

    @property
    def others(self) -> bool:
        """Whether calls of other tools count."""
        return self.extras


def names_rule(check: Check) -> NamesRule | None:
    """The rule of a check that looks at the names of calls, in order; none where it is another one."""
    if not check.criteria.takes_all:
        return None
    for kind, rule_of in _RULES:
        if type(check.evaluator) is kind:
            return rule_of(check)
    return None


def _of_order(check: Check) -> NamesRule | None:
    config, expected = check.evaluator.config, check.criteria.tool_calls_order
    scoring: Scoring = "equal" if config.strict else "share"
    return NamesRule(expected, scoring, config.threshold, extras=config.strict)


def _of_execution(check: Check) -> NamesRule | None:
    config, expected = check.evaluator.config, check.criteria.expected_output
    scoring: dict[str, Scoring] = {"exact": "equal", "ordering": "share", "set": "in common"}
    mode = config.mode
    return NamesRule(expected, scoring[mode], config.threshold, order=mode != "set", extras=mode == "exact")


def _of_trajectory(check: Check) -> NamesRule | None:
    plan = check.criteria.plans[check.evaluator]
    scorings: dict[str, Scoring] = {"EXACT": "equal", "IN_ORDER": "in order"}
    scoring = scorings.get(plan.match_type)
    if plan.by_turn or not plan.turns[0].names_only or scoring is None or check.evaluator.config.partial_credit:
        return None
    return NamesRule(plan.turns[0].names, scoring, check.evaluator.config.threshold, extras=scoring == "equal")


_RULES: Sequence[tuple[type, Callable[[Check], NamesRule | None]]] = (
    (ToolCallOrderEvaluator, _of_order),
    (ExecutionOrderEvaluator, _of_execution),
    (ToolTrajectoryEvaluator, _of_trajectory),
)


class NamesScorer:
    """Scores rows of one batch by a rule of names."""

    def __init__(self, rule: NamesRule, calls: Calls, evaluator: str) -> None:
        self._rule, self._calls, self._evaluator = rule, calls, evaluator
        self._expected = bytes([calls.code_of[name] for name in rule.expected])
        self._wanted = [(code, self._expected.count(code)) for code in dict.fromkeys(self._expected)]
        self._unexpected = bytes(set(range(256)).difference(self._expected))
        # Calls that nobody expects are left out, where they are not at fault.
        self._ignored = b"" if rule.extras else self._unexpected
        self._known: dict[bytes, Measured | None] = {}
        self._kinds: dict[tuple[float, bytes, bytes], Measured] = {}

    def measured(self, begin: int, end: int) -> Measured | None:
        """What the evaluator would say of a row; none where it has to be asked."""
        key = self._calls.codes[begin:end].translate(None, self._ignored)
        try:
            return self._known[key]
        except KeyError:
            found = self._known[key] = self._compared(key)
            return found

    def _compared(self, key: bytes) -> Measured | None:
        expected, rule = self._expected, self._rule
        if len(key) + len(expected) > _MOST_CAUSES:
            return None
        strangers, expectable = b"", key
        if rule.extras:
            strangers = bytes(sorted(set(key.translate(None, expected))))
            expectable = key.translate(None, self._unexpected)
        blocks = LCSseq.editops(expected, expectable).as_matching_blocks()
        common = b"".join([expected[first : first + size] for first, _, size in blocks])
        faults = bytes([self._fault(key.count(code), count, common.count(code)) for code, count in self._wanted])
        kind = (self._score(key, len(common)), faults, strangers)
        found = self._kinds.get(kind)
        if found is None:
            found = self._kinds[kind] = self._judged(*kind)
        return found

    def _score(self, key: bytes, common: int) -> float:
        match self._rule.scoring:
            case "share":
                return common / len(self._expected)
            case "equal":
                return float(key == self._expected)
            case "in order":
                return float(common == len(self._expected))
            case "in common":
                return sum([min(key.count(code), count) for code, count in self._wanted]) / len(self._expected)

    def _fault(self, actual: int, expected: int, in_place: int) -> int:
        """What is wrong with the calls of one name, a bit each."""
        fault = _MISSING if actual < expected else _EXTRA if actual > expected and self._rule.extras else 0
        return fault | _MOVED if self._rule.order and in_place < min(actual, expected) else fault

    def _judged(self, score: float, faults: bytes, strangers: bytes) -> Measured:
        if score >= self._rule.threshold:
            return Measured(self._evaluator, "passed", score)
        names = self._calls.name_of
        causes: list[Cause] = [(_CODES[_EXTRA], names[code]) for code in strangers]
        for (code, _), fault in zip(self._wanted, faults, strict=True):
            causes += [(_CODES[bit], names[code]) for bit in _CODES if fault & bit]
        return Measured(self._evaluator, "failed", score, ordered(causes))
