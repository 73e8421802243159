"""Score the rows of a batch by their names alone, or by classes of calls: two that satisfy the same expectations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from rapidfuzz.distance import LCSseq

from rightcall.cases.evalsets import Check
from rightcall.errors import InputError, LimitError
from rightcall.judging import CallScope, NameScope
from rightcall.limits import Budget
from rightcall.values.results import Verdict
from rightcall.values.trajectory import ToolCall, Trajectory

from ._coded_batch import BLANK, LONGEST, NOT_SCORED, Calls, Causes, Measured, Outcomes, Scored, causes_of, packed
from ._rows import args_in, value_in

_MOST_CAUSES = 30
"""As many findings as evaluators list. What has more is judged by them, because the order decides which are listed."""
_BLANKS = [chr(BLANK) * length for length in range(LONGEST + 1)]
_CODES = ("RC101", "RC102", "RC103", "RC104", "RC105", "RC106", "RC107", "RC301")
_UNEXPECTED = "RC102"


class NamesScorer:
    """Scores rows of one batch by the names of their calls; `number_of` numbers what the evaluator would say."""

    def __init__(
        self, check: Check, scope: NameScope, calls: Calls, outcomes: Outcomes, number_of: Callable[[Measured], int]
    ) -> None:
        self._scope, self._calls, self._number_of = scope, calls, number_of
        self._evaluator, self._threshold = check.evaluator.id, check.evaluator.config.threshold
        self._expected = bytes([calls.code_of[name] for name in scope.expected])
        self._text = self._expected.decode("latin-1")
        self._unexpected = bytes(set(range(256)).difference(self._expected))
        self._faults = _Faults(scope, calls, outcomes, self._evaluator)
        self._scores = [self._score(common) for common in range(len(self._expected) + 1)]
        self._numbers: dict[float, int] = {}
        self._known: dict[bytes, Scored] = {}

    def scored(self, bounds: Iterable[tuple[int, int]]) -> list[Scored]:
        """What the evaluator would say of rows."""
        if self._scope.extras:
            return [self._with_extras(begin, end) for begin, end in bounds]
        codes, unexpected, known, scored = self._calls.codes, self._unexpected, self._known, []
        for begin, end in bounds:
            key = codes[begin:end].translate(None, unexpected)
            found = known.get(key)
            if found is None:
                found = known[key] = self._compared(key)
            scored.append(found)
        return scored

    def _with_extras(self, begin: int, end: int) -> Scored:
        """The result of a row in which unexpected calls are at fault."""
        codes = self._calls.codes[begin:end]
        key = codes.translate(None, self._unexpected)
        if end - begin + len(self._expected) > _MOST_CAUSES:
            return NOT_SCORED
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._compared(key)
        if len(key) == end - begin and found[0] == self._of_score(1.0):
            return found
        number = self._of_score(0.0)
        if self._threshold <= 0.0:
            return number, b""
        return number, self._faults.with_strangers(found[1], self._calls.places[begin:end])

    def _compared(self, key: bytes) -> Scored:
        """What is said of the calls of expected names."""
        expected = self._expected
        if key == expected:
            return self._of_score(1.0), b""
        if len(expected) > _MOST_CAUSES:
            return NOT_SCORED
        # Edits turn the expected names into the actual ones. Made with blanks for the latter, they show what stays.
        edits = LCSseq.editops(expected, key)
        common = edits.apply(self._text, _BLANKS[len(key)]).encode("latin-1")
        score = self._scores[len(common) - common.count(BLANK)]
        if self._scope.scoring == "in common":
            score = self._faults.paired(key) / len(expected)
        # Asked for once: rows differ, so that this is done for hundreds of thousands of them.
        number = self._numbers.get(score)
        number = self._of_score(score) if number is None else number
        return number, b"" if score >= self._threshold else self._faults.of(key, common)

    def _score(self, common: int) -> float:
        """The score of so many names in order, where that is what counts, and the calls are not the expected ones."""
        if self._scope.scoring == "share":
            return common / len(self._expected)
        return float(self._scope.scoring == "in order" and common == len(self._expected))

    def _of_score(self, score: float) -> int:
        found = self._numbers.get(score)
        if found is None:
            verdict: Verdict = "passed" if score >= self._threshold else "failed"
            found = self._numbers[score] = self._number_of(Measured(self._evaluator, verdict, score))
        return found


class _Faults:
    """What is wrong with calls: numbers of causes, which are in the order of their codes and tools."""

    def __init__(self, scope: NameScope, calls: Calls, outcomes: Outcomes, evaluator: str) -> None:
        self._scope = scope
        names = sorted(scope.names)
        codes = [calls.code_of[name] for name in names]
        self._counts = [(code, scope.expected.count(name)) for code, name in zip(codes, names, strict=True)]
        self._once = bytes([code for code, count in self._counts if count == 1])
        self._repeated = [(code, count) for code, count in self._counts if count > 1]
        self._all = bytes(codes)
        self._missing = _numbered(codes, outcomes.add(evaluator, [("RC101", name) for name in names]))
        called = sorted({*names, *map(str, calls.vocabulary)}) if scope.extras else []
        extras = dict(zip(called, outcomes.add(evaluator, [("RC102", name) for name in called]), strict=True))
        self._extra = {code: extras[name] for code, name in zip(codes, names, strict=True)} if scope.extras else {}
        self._stranger = {
            place: extras[str(name)]
            for place, name in enumerate(calls.vocabulary if scope.extras else ())
            if name not in scope.names
        }
        self._moved = _numbered(codes, outcomes.add(evaluator, [("RC103", name) for name in names]))
        narrow = not scope.extras and max(self._moved.values(), default=0) < 256
        self._tables = (_table(self._missing), _table(self._moved)) if narrow else None

    def of(self, key: bytes, common: bytes) -> Causes:
        """The faults of calls of expected names, given also with blanks for those that are not in place."""
        # `translate` with bytes to delete is a set difference in C. For five names and ten calls it takes a quarter of
        # the time of a loop over the names.
        absent = self._once.translate(None, key)
        moved = self._once.translate(None, absent + common) if self._scope.order else b""
        if self._repeated:
            absent, moved = self._with_repeated(key, common, absent, moved)
        if self._tables is not None:
            missing_table, moved_table = self._tables
            return absent.translate(missing_table) + moved.translate(moved_table)
        missing = [self._missing[code] for code in absent]
        extra = [self._extra[code] for code, count in self._counts if self._extra and key.count(code) > count]
        return packed([*missing, *extra, *[self._moved[code] for code in moved]])

    def with_strangers(self, faults: Causes, places: Sequence[int]) -> Causes:
        """Those faults, and calls of unexpected names, given by their places in the vocabulary."""
        stranger = self._stranger
        return packed(sorted([*faults, *[stranger[place] for place in set(places) if place in stranger]]))

    def paired(self, key: bytes) -> int:
        """How many expected names were called, each as often as it is expected."""
        return sum([min(key.count(code), count) for code, count in self._counts])

    def _with_repeated(self, key: bytes, common: bytes, absent: bytes, moved: bytes) -> tuple[bytes, bytes]:
        counted = [(code, key.count(code), count) for code, count in self._repeated]
        absent += bytes([code for code, actual, expected in counted if actual < expected])
        if self._scope.order:
            moved += bytes([code for code, actual, expected in counted if common.count(code) < min(actual, expected)])
        return self._sorted(absent), self._sorted(moved)

    def _sorted(self, codes: bytes) -> bytes:
        """Codes in the order of their names, each once."""
        # All without (all without these) is these, in the order of all.
        return self._all.translate(None, self._all.translate(None, codes))


def _numbered(codes: Sequence[int], numbers: range) -> dict[int, int]:
    return dict(zip(codes, numbers, strict=True))


def _table(numbers: Mapping[int, int]) -> bytes:
    """What turns codes into small numbers at once."""
    return bytes([numbers.get(code, 0) for code in range(256)])


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
        self._value: Callable[[str], Any] = args_in if scope.reads == "args" else value_in
        self._spends = any([pattern.spends for pattern in scope.patterns])
        self._patterns = {
            calls.code_of[name]: [pattern for pattern in scope.patterns if pattern.name == name] for name in scope.names
        }
        self._numbers: dict[tuple[int, tuple[bool | None, ...]], int] = {}
        self.open: set[int] = set()
        """The classes of calls of which the trace does not say whether they satisfy an expectation."""

    def __missing__(self, part: _Part) -> int:
        code, text, error = part
        # Entering a budget for every text took an eighth of the time, and plain comparisons need none.
        if self._spends:
            with Budget():
                satisfied = self._satisfied(code, text, error)
        else:
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
