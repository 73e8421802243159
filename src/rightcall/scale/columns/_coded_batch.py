"""Encode the names of a batch as one byte for each call, and score its rows by names or by classes of calls."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz.distance import LCSseq

from rightcall.cases.evalsets import Check
from rightcall.cases.verdicts import weighted_score
from rightcall.errors import InputError, LimitError
from rightcall.judging import CallScope, NameScope
from rightcall.limits import DEFAULT_LIMITS, Budget
from rightcall.values.results import CaseResult, EvaluationResult, Verdict, worst
from rightcall.values.trajectory import ToolCall, Trajectory

from ._rows import SCORES, args_in, value_in

MOST_NAMES = 254
"""The most names that a byte can distinguish, beside the two values below."""
BLANK = 254
"""The number that no name has."""
OTHERS = 255
"""The number that all names share that are not wanted."""
_LONGEST_NAME = 60
LONGEST = 1_000
"""The most calls of a row that is scored here. Longer ones are judged by evaluators, which apply the limits."""
_MEASURES = SCORES.field("measures").type
_DIAGNOSES = SCORES.field("diagnoses").type

_NARROW = 256
"""How many numbers a byte can hold."""

Cause = tuple[str, str]
"""The code of a finding, and the tool that it is about."""
_MOST_CAUSES = 30
"""The most findings that evaluators list. Rows with more are judged by them: the order decides which are listed."""
_BLANKS = [chr(BLANK) * length for length in range(LONGEST + 1)]
_CODES = ("RC101", "RC102", "RC103", "RC104", "RC105", "RC106", "RC107", "RC301")
_UNEXPECTED = "RC102"


class Calls:
    """The calls of all rows of a batch, one after the other.

    Names are encoded once for the batch: `codes` has a byte for each call, so that the names of a row are a slice of
    it, which can be compared, counted and looked up at the speed of bytes. Only wanted names have a number of their own
    there; there are at most `MOST_NAMES` of them.
    """

    def __init__(self, batch: pa.RecordBatch, wanted: Iterable[str]) -> None:
        self._column = batch.column("calls")
        # A slice of a batch keeps the offsets and values of the whole: both are cut to what belongs to its rows.
        offsets = _integers(self._column.offsets)
        first, end = offsets[0], offsets[-1]
        self._values = self._column.values.slice(first, end - first)
        self.bounds = [offset - first for offset in offsets] if first else offsets
        """Where the calls of each row begin, and where those of the last end."""
        names = self._field("name") if pa.types.is_struct(self._values.type) else self._values
        # With "encode" a null is a value of the dictionary, so that `indices` has no nulls and is plain memory.
        self._encoded = names.dictionary_encode("encode")
        self.vocabulary: list[str | None] = self._encoded.dictionary.to_pylist()
        """The names that occur."""
        self.code_of = dict(zip(sorted(wanted), range(MOST_NAMES), strict=False))
        """The number of each wanted name."""
        self.name_of = {code: name for name, code in self.code_of.items()}

    @cached_property
    def codes(self) -> bytes:
        """The number of the name of each call, a byte each."""
        return self.numbered(self.code_of, pa.uint8())

    def numbered(self, numbers: Mapping[Any, int], width: pa.DataType) -> bytes:
        """Return the number of each call's name, in the byte order of the machine; `OTHERS` if it has none."""
        table = pa.array([numbers.get(name, OTHERS) for name in self.vocabulary], width)
        return _bytes(table.take(self._encoded.indices))

    @property
    def indices(self) -> pa.Array:
        """The index in the vocabulary of the name of each call, as a column."""
        return self._encoded.indices

    @cached_property
    def places(self) -> list[int]:
        """The index in the vocabulary of the name of each call."""
        return _integers(self._encoded.indices)

    def rows(self) -> Iterator[tuple[int, int]]:
        """Yield where the calls of each row begin and end."""
        return pairwise(self.bounds)

    def texts(self, field: str, codes: Collection[int]) -> Sequence[str | None]:
        """Return a field of all calls, `None` for calls of other codes. A table without the field recorded none."""
        if not self._has(field):
            return [None] * len(self.codes)
        wanted = pa.array([code in codes for code in range(256)])
        mask = wanted.take(pa.Array.from_buffers(pa.uint8(), len(self.codes), [None, pa.py_buffer(self.codes)]))
        texts: list[str | None] = pc.if_else(mask, self._field(field), None).to_pylist()
        return texts

    def odd_rows(self, batch: pa.RecordBatch, *, any_names: bool = False) -> set[int]:
        """Return the rows that evaluators have to judge, because they have more than calls in order, or less.

        With `any_names`, names that the text of a call would change are not odd, and neither are long rows.
        """
        odd = set() if any_names else set(_where(pc.greater(pc.list_value_length(self._column), LONGEST)))
        if self._column.null_count:
            odd.update(_where(pc.is_null(self._column)))
        is_plain = _is_name if any_names else _is_plain
        if any([not is_plain(name) for name in self.vocabulary]):
            odd.update(self._with_odd_names(is_plain))
        names = batch.schema.names
        if "unordered" in names:
            odd.update(_where(pc.greater(pc.list_value_length(batch.column("unordered")), 0)))
        if "calls_recorded" in names:
            odd.update(_where(pc.invert(batch.column("calls_recorded"))))
        return odd | self._with_internal_calls()

    def rows_with_groups(self) -> set[int]:
        """Return the rows in which neighbouring calls belong to one group."""
        if not self._has("group"):
            return set()
        groups = self._field("group")
        if len(groups) < 2 or groups.null_count == len(groups):
            return set()
        # In one pass over the column: a call like the one before it, unless it is the first of its row.
        same = pc.equal(groups.slice(1), groups.slice(0, len(groups) - 1)).fill_null(False)
        places = pc.indices_nonzero(same).to_pylist()
        begins = [begin for begin, _ in self.rows()]
        found = [(bisect_right(begins, place + 1) - 1, place + 1) for place in places]
        return {row for row, place in found if begins[row] != place}

    def outside(self, rows: set[int]) -> Any:
        """Return a mask of the calls that belong to other rows than these."""
        if not rows:
            return pa.scalar(True)
        kept = bytearray(b"\1" * self.bounds[-1])
        for row in rows:
            begin, end = self.bounds[row], self.bounds[row + 1]
            kept[begin:end] = bytes(end - begin)
        return pa.Array.from_buffers(pa.uint8(), len(kept), [None, pa.py_buffer(bytes(kept))]).cast(pa.bool_())

    def _with_odd_names(self, is_plain: Callable[[str | None], bool]) -> set[int]:
        odd = {place for place, name in enumerate(self.vocabulary) if not is_plain(name)}
        return {row for row, (begin, end) in enumerate(self.rows()) if not odd.isdisjoint(self.places[begin:end])}

    def _with_internal_calls(self) -> set[int]:
        if not self._has("internal"):
            return set()
        internal = pc.fill_null(self._field("internal"), True)  # it may be that it is not known
        if not pc.any(internal).as_py():
            return set()
        held = internal.to_pylist()
        return {row for row, (begin, end) in enumerate(self.rows()) if any(held[begin:end])}

    def field(self, name: str) -> Any:
        """Return a field of all calls; `None` if the table does not have it."""
        return self._field(name) if self._has(name) else None

    def _has(self, field: str) -> bool:
        return bool(pa.types.is_struct(self._values.type) and self._values.type.get_field_index(field) >= 0)

    def _field(self, name: str) -> pa.Array:
        return pc.struct_field(self._values, name)


def _is_plain(name: str | None) -> bool:
    """Return whether a name is valid, and the text of a call shows it as it is."""
    return name is not None and 0 < len(name) <= _LONGEST_NAME and "(" not in name


def _is_name(name: str | None) -> bool:
    """Return whether a tool may have this name at all."""
    return name is not None and 0 < len(name) <= DEFAULT_LIMITS.name_length


def _bytes(numbers: pa.Array) -> bytes:
    buffer, size = numbers.buffers()[1], numbers.type.byte_width
    begin = numbers.offset * size
    return b"" if buffer is None else bytes(memoryview(buffer)[begin : begin + len(numbers) * size])


def _integers(numbers: pa.Array) -> list[int]:
    """Return the numbers of a column of int32 without nulls, ten times as fast as `to_pylist`."""
    buffer = numbers.buffers()[1]
    return (
        [] if buffer is None else memoryview(buffer).cast("i")[numbers.offset : numbers.offset + len(numbers)].tolist()
    )


def _where(mask: pa.Array) -> list[int]:
    found: list[int] = pc.indices_nonzero(mask.fill_null(False)).to_pylist()
    return found


class Measured(msgspec.Struct, frozen=True):
    """The result of one evaluator for a row."""

    evaluator: str
    verdict: Verdict
    score: float | None
    error: str | None = None

    @classmethod
    def of(cls, result: EvaluationResult) -> Measured:
        """Return what is kept of a result."""
        return cls(result.evaluator, result.verdict, result.score, result.error)


class Outcome(msgspec.Struct, frozen=True):
    """The result of a row, of all evaluators together. There are few different ones."""

    verdict: Verdict
    score: float | None = None
    measured: tuple[Measured, ...] = ()
    error: str | None = None

    @classmethod
    def of(cls, checks: Sequence[Check], measured: Sequence[Measured]) -> Outcome:
        """Return the outcome of the results of all evaluators, in the order of the checks."""
        verdict = worst([each.verdict for each in measured])
        score = weighted_score(checks, [each.score for each in measured])
        return cls(verdict, score, tuple(measured), next((each.error for each in measured if each.error), None))

    @classmethod
    def of_result(cls, result: CaseResult) -> Outcome:
        """Return the outcome of the result of a case."""
        measured = tuple([Measured.of(each) for each in result.results])
        error = next((each.error for each in measured if each.error), None)
        if not measured and result.findings:
            error = result.findings[0].finding.message
        return cls(result.verdict, result.score, measured, error)


def causes_of(result: EvaluationResult) -> list[Cause]:
    """Return why a result did not pass: each cause once, sorted by code and tool."""
    if result.passed:
        return []
    return sorted({(finding.code, finding.tool) for finding in result.findings})


Causes = Sequence[int]
"""Numbers of causes, in order: as bytes if they are small, because there may be very many rows."""

Scored = tuple[int, Causes]
"""The number of the outcome of a row, or of the result of one evaluator, and the numbers of its causes."""

NOT_SCORED: Scored = (-1, b"")
"""Marks a row that evaluators have to judge."""


class Outcomes:
    """The outcomes and causes that occur in a batch, a number for each."""

    def __init__(self) -> None:
        self._outcomes: dict[Outcome, int] = {}
        self._causes: list[tuple[str, Cause]] = []

    def number(self, outcome: Outcome) -> int:
        """Return the number of an outcome."""
        return self._outcomes.setdefault(outcome, len(self._outcomes))

    def add(self, evaluator: str, causes: Sequence[Cause]) -> range:
        """Add causes that an evaluator may report, and return their numbers, which are consecutive."""
        first = len(self._causes)
        self._causes += [(evaluator, cause) for cause in causes]
        return range(first, len(self._causes))

    def causes(self, result: EvaluationResult) -> Causes:
        """Add the causes of a result, and return their numbers."""
        return packed(self.add(result.evaluator, causes_of(result)))

    def columns(self, numbers: Sequence[int], causes: Sequence[Causes]) -> dict[str, pa.Array]:
        """Return the columns of `SCORES` for rows with these outcomes and causes."""
        held = list(self._outcomes)
        rows = pa.array(numbers, pa.int32())
        distinct: dict[str, Any] = {
            "verdict": pa.array([each.verdict for each in held], pa.string()),
            "score": pa.array([each.score for each in held], pa.float64()),
            "measures": pa.array([_measures(each) for each in held], _MEASURES),
            "error": pa.array([each.error for each in held], pa.string()),
        }
        columns = {name: column.take(rows) for name, column in distinct.items()}
        return {**columns, "diagnoses": self._diagnoses(causes, columns["measures"])}

    def _diagnoses(self, causes: Sequence[Causes], measures: pa.Array) -> pa.Array:
        """Return the causes of each row; null if nothing was measured."""
        held = [
            {"evaluator": evaluator, "code": code, "tool": tool or None} for evaluator, (code, tool) in self._causes
        ]
        flat = pa.array(held, _DIAGNOSES.value_type).take(self._flat(causes))
        offsets = pa.array(accumulate(map(len, causes), initial=0), pa.int32())
        return pa.ListArray.from_arrays(offsets, flat, _DIAGNOSES, mask=measures.is_null())

    def _flat(self, causes: Sequence[Causes]) -> pa.Array:
        if len(self._causes) > _NARROW:
            return pa.array(chain.from_iterable(causes), pa.int32())
        # Numbers below 256 are a byte each, so that no Python integer is made for them.
        joined = b"".join(map(bytes, causes))
        return pa.Array.from_buffers(pa.uint8(), len(joined), [None, pa.py_buffer(joined)])


def packed(numbers: Sequence[int]) -> Causes:
    """Return numbers of causes as they are stored: as bytes if all of them fit."""
    return bytes(numbers) if not numbers or max(numbers) < _NARROW else tuple(numbers)


def _measures(outcome: Outcome) -> list[dict[str, Any]] | None:
    if not outcome.measured:
        return None
    return [{"evaluator": each.evaluator, "verdict": each.verdict, "score": each.score} for each in outcome.measured]


class NamesScorer:
    """Scores rows of one batch by the names of their calls; `number_of` returns the number of a result."""

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
        """Score rows as the evaluator would."""
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
        """Score a row in which unexpected calls are findings."""
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
        """Score the calls of expected names."""
        expected = self._expected
        if key == expected:
            return self._of_score(1.0), b""
        if len(expected) > _MOST_CAUSES:
            return NOT_SCORED
        # Edits turn the expected names into the actual ones. With blanks in place of the actual names, they show which
        # expected names stay.
        edits = LCSseq.editops(expected, key)
        common = edits.apply(self._text, _BLANKS[len(key)]).encode("latin-1")
        score = self._scores[len(common) - common.count(BLANK)]
        if self._scope.scoring == "in common":
            score = self._faults.paired(key) / len(expected)
        # Looked up here first: that saves a call of `_of_score` for hundreds of thousands of different rows.
        number = self._numbers.get(score)
        number = self._of_score(score) if number is None else number
        return number, b"" if score >= self._threshold else self._faults.of(key, common)

    def _score(self, common: int) -> float:
        """Return the score of a number of names in order, if the calls are not exactly the expected ones."""
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
    """What is wrong with calls: numbers of causes, in the order of their codes and tools."""

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
        """Return the causes of calls of expected names; `common` has a blank for each that is not in place."""
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
        """Add causes for calls of unexpected names, given by their indexes in the vocabulary."""
        stranger = self._stranger
        return packed(sorted([*faults, *[stranger[place] for place in set(places) if place in stranger]]))

    def paired(self, key: bytes) -> int:
        """Return how many expected names were called, each counted at most as often as it is expected."""
        return sum([min(key.count(code), count) for code, count in self._counts])

    def _with_repeated(self, key: bytes, common: bytes, absent: bytes, moved: bytes) -> tuple[bytes, bytes]:
        counted = [(code, key.count(code), count) for code, count in self._repeated]
        absent += bytes([code for code, actual, expected in counted if actual < expected])
        if self._scope.order:
            moved += bytes([code for code, actual, expected in counted if common.count(code) < min(actual, expected)])
        return self._sorted(absent), self._sorted(moved)

    def _sorted(self, codes: bytes) -> bytes:
        """Return codes in the order of their names, each once."""
        # Removing from all codes those that are not given leaves the given ones, in the order of all.
        return self._all.translate(None, self._all.translate(None, codes))


def _numbered(codes: Sequence[int], numbers: range) -> dict[int, int]:
    return dict(zip(codes, numbers, strict=True))


def _table(numbers: Mapping[int, int]) -> bytes:
    """Return a table for `bytes.translate` that turns codes into small numbers."""
    return bytes([numbers.get(code, 0) for code in range(256)])


class ClassScorer:
    """Scores rows of one batch: the evaluator judges the first row of each kind, and the others get the same result.

    Of calls of other tools, only their number and their names count, if they count at all: if one of them is a finding,
    each of them is.
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
        """Score rows. A row in which something that is needed cannot be read is left to the evaluator."""
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
        """Return the classes of the calls that count, sorted if their order makes no difference."""
        codes = self._calls.codes[begin:end]
        if self._texts is None:
            key = codes.translate(None, self._unwanted)
            return key if self._scope.order else bytes(sorted(key))
        parts = zip(codes, self._texts[begin:end], self._errors_of(begin, end), strict=True)
        classes, unwanted = self._classes, self._unwanted
        found = [classes[part] for part in parts if part[0] not in unwanted]
        # If it is open whether a call satisfies an expectation, sure pairs are made first, and of several ways to make
        # them the order decides which calls remain: findings depend on it, though the score does not.
        ordered = self._scope.order or not classes.open.isdisjoint(found)
        return tuple(found if ordered else sorted(found))

    def _is_capped(self, calls: int, others: int) -> bool:
        """Return whether an evaluator may have more findings than it lists; in some scopes each call can be one."""
        counts_calls = self._scope.finds_calls
        return len(self._scope.patterns) + others + (calls if counts_calls or others else 0) > _MOST_CAUSES

    def _errors_of(self, begin: int, end: int) -> Sequence[str | None]:
        return (None,) * (end - begin) if self._errors is None else self._errors[begin:end]

    def _asked(self, begin: int, end: int) -> _Kind:
        """Have the evaluator judge a row; findings about calls of other tools are added for each row."""
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
    """The result of rows of one kind, and whether calls of other tools are findings."""

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
        """The classes of calls for which it is open whether they satisfy an expectation."""

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
        """Return the call itself, with the fields that are read. Raises `InputError`."""
        if text is None or self._reads is None:
            return ToolCall(name=name, error=error)
        fields = {self._reads: self._value(text)}
        return ToolCall(name=name, error=error, **fields)
