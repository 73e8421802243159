"""Expectations of calls, scored on classes of calls: two that satisfy the same expectations are the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import msgspec

from rightcall.cases.evalsets import Check
from rightcall.errors import InputError, LimitError
from rightcall.judging import CallScope
from rightcall.limits import Budget
from rightcall.values.trajectory import ToolCall, Trajectory

from ._calls import Calls
from ._outcomes import NOT_SCORED, Measured, Outcomes, Scored, causes_of, packed
from ._rows import args_in, value_in

_MOST_CAUSES = 30
"""As many findings as evaluators list. Among more than that, the order decides which ones."""
_CODES = ("RC101", "RC102", "RC103", "RC104", "RC105", "RC106", "RC107", "RC301")
_UNEXPECTED = "RC102"


class ClassScorer:
    """Scores rows of one batch: the first of each kind by the evaluator, the others by what it said of that one.

    Of calls of other tools, only their number and their names count, where they count at all: each of them is at fault
    wherever one of them is.
    """

    def __init__(
        self, check: Check, scope: CallScope, calls: Calls, outcomes: Outcomes, number_of: Callable[[Measured], int]
    ) -> None:
        self._check, self._scope, self._calls, self._number_of = check, scope, calls, number_of
        self._wanted = bytes([calls.code_of[name] for name in scope.names])
        self._unwanted = bytes(set(range(256)).difference(self._wanted))
        self._texts = calls.texts(scope.reads, self._wanted) if scope.reads is not None else None
        self._errors = calls.texts("error", self._wanted) if scope.reads == "output" else None
        self._classes = _Classes(scope, calls)
        names = sorted({*scope.names, *map(str, calls.vocabulary)} if scope.others else scope.names)
        causes = [(code, tool) for code in _CODES for tool in ("", *names)]
        self._numbers = dict(zip(causes, outcomes.add(check.evaluator.id, causes), strict=True))
        self._known: dict[Hashable, _Kind] = {}

    def scored(self, bounds: Iterable[tuple[int, int]]) -> list[Scored]:
        """What the evaluator says of rows. Where something that it has to look at cannot be read, it says nothing."""
        return [self._scored(begin, end) for begin, end in bounds]

    def _scored(self, begin: int, end: int) -> Scored:
        try:
            key = self._key(begin, end)
        except (InputError, LimitError):  # the evaluator is asked about this row alone, and says what is wrong
            return NOT_SCORED
        others = end - begin - len(key) if self._scope.others else 0
        if len(self._scope.patterns) + len(key) + others > _MOST_CAUSES and self._is_capped(len(key), others):
            return NOT_SCORED
        kind = self._known.get((key, others))
        if kind is None:
            kind = self._known[key, others] = self._asked(begin, end)
        return self._with_others(kind, begin, end) if kind.blames_others else kind.scored

    def _key(self, begin: int, end: int) -> tuple[int, ...] | bytes:
        """The classes of the calls that are looked at, sorted where the evaluator says the same of every order."""
        codes = self._calls.codes[begin:end]
        if self._texts is None:
            key = codes.translate(None, self._unwanted)
            return key if self._scope.order else bytes(sorted(key))
        parts = zip(codes, self._texts[begin:end], self._errors_of(begin, end), strict=True)
        classes, unwanted = self._classes, self._unwanted
        found = [classes[part] for part in parts if part[0] not in unwanted]
        # Where it is open whether a call satisfies an expectation, sure pairs are made first, and of several ways to
        # make them the order decides which calls are left: findings depend on it, though the score does not.
        ordered = self._scope.order or not classes.open.isdisjoint(found)
        return tuple(found if ordered else sorted(found))

    def _is_capped(self, calls: int, others: int) -> bool:
        """Whether an evaluator may have more to say than it lists: of calls where they are at fault by themselves."""
        counts_calls = self._scope.finds_calls
        return len(self._scope.patterns) + others + (calls if counts_calls or others else 0) > _MOST_CAUSES

    def _errors_of(self, begin: int, end: int) -> Sequence[str | None]:
        return (None,) * (end - begin) if self._errors is None else self._errors[begin:end]

    def _asked(self, begin: int, end: int) -> _Kind:
        """What the evaluator says of a row, apart from calls of other tools."""
        calls = tuple([self._call(index) for index in range(begin, end)])
        result = self._check.evaluator.evaluate(Trajectory(calls=calls), self._check.criteria)
        causes = causes_of(result)
        if any([cause not in self._numbers for cause in causes]):
            return _Kind(NOT_SCORED)
        own = [cause for cause in causes if cause[0] != _UNEXPECTED or cause[1] in self._scope.names]
        scored = self._number_of(Measured.of(result)), packed([self._numbers[cause] for cause in own])
        return _Kind(scored, len(own) < len(causes))

    def _call(self, index: int) -> ToolCall:
        text = None if self._texts is None else self._texts[index]
        error = None if self._errors is None else self._errors[index]
        return self._classes.call(str(self._calls.vocabulary[self._calls.places[index]]), text, error)

    def _with_others(self, kind: _Kind, begin: int, end: int) -> Scored:
        number, causes = kind.scored
        names = {str(self._calls.vocabulary[place]) for place in set(self._calls.places[begin:end])}
        extras = [self._numbers[_UNEXPECTED, name] for name in names - self._scope.names]
        return number, packed(sorted([*causes, *extras]))


class _Kind(msgspec.Struct, frozen=True):
    """What is said of rows of one kind, and whether calls of other tools are at fault."""

    scored: Scored
    blames_others: bool = False


_Part = tuple[int, str | None, str | None]
"""The number of a call's name, the text of the field that is read, and the error of the call."""


class _Classes(dict[_Part, int]):
    """The class of each call: a number for its name and for which of the expectations of that name it satisfies."""

    def __init__(self, scope: CallScope, calls: Calls) -> None:
        self._reads, self._name_of = scope.reads, calls.name_of
        self._patterns = {
            calls.code_of[name]: [pattern for pattern in scope.patterns if pattern.name == name] for name in scope.names
        }
        self._numbers: dict[tuple[int, tuple[bool | None, ...]], int] = {}
        self.open: set[int] = set()
        """The classes of calls of which the trace does not tell whether they satisfy an expectation."""

    def __missing__(self, part: _Part) -> int:
        code, text, error = part
        with Budget():
            satisfied = self._satisfied(code, text, error)
        number = self[part] = self._numbers.setdefault((code, satisfied), len(self._numbers))
        if None in satisfied:
            self.open.add(number)
        return number

    def _satisfied(self, code: int, text: str | None, error: str | None) -> tuple[bool | None, ...]:
        if text is None or error is not None:
            call = self.call(self._name_of[code], text, error)
            return tuple([pattern.accepts(call) for pattern in self._patterns[code]])
        value = self._value(text)
        return tuple([pattern.accepts_part(value) for pattern in self._patterns[code]])

    def call(self, name: str, text: str | None, error: str | None) -> ToolCall:
        """The call itself, as far as it is looked at. Raises `InputError`."""
        if text is None or self._reads is None:
            return ToolCall(name=name, error=error)
        fields = {self._reads: self._value(text)}
        return ToolCall(name=name, error=error, **fields)

    def _value(self, text: str) -> Any:
        return args_in(text) if self._reads == "args" else value_in(text)
