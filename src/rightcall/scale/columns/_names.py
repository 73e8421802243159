"""Expectations of names alone, scored on bytes: a byte a name, a string of them a trajectory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from rapidfuzz.distance import LCSseq

from rightcall.cases.evalsets import Check
from rightcall.judging import NameScope
from rightcall.values.results import Verdict

from ._calls import BLANK, LONGEST, Calls
from ._outcomes import NOT_SCORED, Causes, Measured, Outcomes, Scored, packed

_MOST_CAUSES = 30
"""As many findings as evaluators list. What has more is judged by them."""
_BLANKS = [chr(BLANK) * length for length in range(LONGEST + 1)]


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
        self._said: dict[float, int] = {}
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
        """What is said of a row in which calls are at fault that nobody expects."""
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
        if score >= self._threshold:
            return self._of_score(score), b""
        return self._of_score(score), self._faults.of(key, common)

    def _score(self, common: int) -> float:
        """The score of so many names in order, where that is what counts, and the calls are not the expected ones."""
        if self._scope.scoring == "share":
            return common / len(self._expected)
        return float(self._scope.scoring == "in order" and common == len(self._expected))

    def _of_score(self, score: float) -> int:
        found = self._said.get(score)
        if found is None:
            verdict: Verdict = "passed" if score >= self._threshold else "failed"
            found = self._said[score] = self._number_of(Measured(self._evaluator, verdict, score))
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
        """Those faults, and calls of names that nobody expects, given by their places in the vocabulary."""
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
