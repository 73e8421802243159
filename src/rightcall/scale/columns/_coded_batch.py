"""Encode the names of a batch as one byte for each call, and score its rows by the names of their calls."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
from rapidfuzz.distance import LCSseq

from rightcall.cases.evalsets import Check
from rightcall.cases.verdicts import weighted_score
from rightcall.judging import NameScope
from rightcall.limits import DEFAULT_LIMITS
from rightcall.values.results import CaseResult, EvaluationResult, Verdict, worst

from ._rows import SCORES

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
MOST_CAUSES = 30
"""The most findings that evaluators list. Rows with more are judged by them: the order decides which are listed."""
_BLANKS = [chr(BLANK) * length for length in range(LONGEST + 1)]


class Calls:
    """The calls of all rows of a batch, one after the other.

    Names are encoded once for the batch: `codes` has a byte for each call, so that the names of a row are a slice of
    it, which can be compared, counted and looked up at the speed of bytes. Only wanted names have a number of their own
    there; there are at most `MOST_NAMES` of them.
    """

    def __init__(self, batch: pa.RecordBatch, wanted: Iterable[str]) -> None:
        self._column = batch.column("calls")
        # A slice of a batch keeps the offsets and values of the whole: both are cut to what belongs to its rows.
        offsets = integers(self._column.offsets)
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
        return bytes_of(table.take(self._encoded.indices))

    @property
    def indices(self) -> pa.Array:
        """The index in the vocabulary of the name of each call, as a column."""
        return self._encoded.indices

    @cached_property
    def places(self) -> list[int]:
        """The index in the vocabulary of the name of each call."""
        return integers(self._encoded.indices)

    def rows(self) -> Iterator[tuple[int, int]]:
        """Yield where the calls of each row begin and end."""
        return pairwise(self.bounds)

    def keys(self, codes: bytes) -> pa.Array:
        """The numbers of the names in each row, those left out that are not among these."""
        return self.rows_of(codes, bytes_of(self.codes_of(codes)))

    def codes_of(self, codes: bytes) -> pa.Array:
        """The numbers of the names of all calls, those left out that are not among these."""
        kept = self.codes.translate(None, bytes(set(range(256)).difference(codes)))
        return pa.Array.from_buffers(pa.uint8(), len(kept), [None, pa.py_buffer(kept)])

    def rows_of(self, codes: bytes, data: bytes, width: int = 1) -> pa.Array:
        """What is held of the calls of names with these numbers, as many bytes for each, row by row."""
        # How many of them are before each call, and so where those of a row begin, without a step of Python for a row.
        counts = pc.cumulative_sum(self._mask(codes, pa.int32()))
        begins = pa.concat_arrays([pa.array([0], pa.int32()), counts]).take(pa.array(self.bounds, pa.int32()))
        offsets = pc.multiply(begins, pa.scalar(width, pa.int32()))
        return pa.Array.from_buffers(
            pa.binary(), len(offsets) - 1, [None, pa.py_buffer(bytes_of(offsets)), pa.py_buffer(data)]
        )

    def field_of(self, name: str, codes: bytes) -> pa.Array:
        """A field of the calls of names with these numbers. A table without it records none."""
        mask = self._mask(codes, pa.bool_())
        return self._field(name).filter(mask) if self._has(name) else pa.nulls(pc.sum(mask).as_py() or 0, pa.string())

    def call_at(self, index: int, field: str | None = None) -> Any:
        """The name of a call, or a field of it; `None` where the table has none such."""
        if field is None:
            return self.vocabulary[self._encoded.indices[index].as_py()]
        return self._field(field)[index].as_py() if self._has(field) else None

    def _mask(self, codes: bytes, kind: pa.DataType) -> pa.Array:
        """Which calls are of names with these numbers."""
        coded = pa.Array.from_buffers(pa.uint8(), len(self.codes), [None, pa.py_buffer(self.codes)])
        return pa.array([code in codes for code in range(256)]).cast(kind).take(coded)

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
        flags = internal.to_pylist()
        return {row for row, (begin, end) in enumerate(self.rows()) if any(flags[begin:end])}

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


def bytes_of(numbers: pa.Array) -> bytes:
    """The memory of a column of numbers without nulls."""
    buffer, size = numbers.buffers()[1], numbers.type.byte_width
    begin = numbers.offset * size
    return b"" if buffer is None else bytes(memoryview(buffer)[begin : begin + len(numbers) * size])


def integers(numbers: pa.Array) -> list[int]:
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
        """Return the number of an outcome: the next one if it has not occurred before."""
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
        outcomes = list(self._outcomes)
        rows = pa.array(numbers, pa.int32())
        distinct: dict[str, Any] = {
            "verdict": pa.array([each.verdict for each in outcomes], pa.string()),
            "score": pa.array([each.score for each in outcomes], pa.float64()),
            "measures": pa.array([_measures(each) for each in outcomes], _MEASURES),
            "error": pa.array([each.error for each in outcomes], pa.string()),
        }
        columns = {name: column.take(rows) for name, column in distinct.items()}
        return {**columns, "diagnoses": self._diagnoses(causes, columns["measures"])}

    def _diagnoses(self, causes: Sequence[Causes], measures: pa.Array) -> pa.Array:
        """Return the causes of each row; null if nothing was measured."""
        rows = [
            {"evaluator": evaluator, "code": code, "tool": tool or None} for evaluator, (code, tool) in self._causes
        ]
        flat = pa.array(rows, _DIAGNOSES.value_type).take(self._flat(causes))
        ends = array("i", accumulate(map(len, causes), initial=0))
        offsets = pa.Array.from_buffers(pa.int32(), len(ends), [None, pa.py_buffer(ends)])
        return pa.ListArray.from_arrays(offsets, flat, _DIAGNOSES, mask=measures.is_null())

    def _flat(self, causes: Sequence[Causes]) -> pa.Array:
        if len(self._causes) > _NARROW:
            return pa.array(chain.from_iterable(causes), pa.int32())
        # Numbers below 256 are a byte each, so that no Python integer is made for them.
        joined = b"".join(causes)  # type: ignore[arg-type] # which `packed` makes bytes
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
        self._faults = _Faults(scope, calls, outcomes, self._evaluator)
        self._numbers: dict[float, int] = {}
        scores = [self._score(common) for common in range(len(self._expected) + 1)]
        self._by_length = [(self._of_score(score), score >= self._threshold) for score in scores]
        """What is said of so many names in order, and whether that passes."""

    def scored(self, rows: Sequence[int]) -> list[Scored]:
        """Score rows as the evaluator would."""
        keys = self._calls.keys(self._expected)
        # Rows differ, so that a step of Python for each is what takes time: equal ones are found by Arrow.
        encoded = (keys if len(rows) == len(keys) else keys.take(pa.array(rows, pa.int32()))).dictionary_encode()
        known = [self._compared(key) for key in encoded.dictionary.to_pylist()]
        scored = [known[place] for place in integers(encoded.indices)]
        if not self._scope.extras:
            return scored
        bounds = self._calls.bounds
        return [self._with_extras(found, bounds[row], bounds[row + 1]) for found, row in zip(scored, rows, strict=True)]

    def _with_extras(self, found: Scored, begin: int, end: int) -> Scored:
        """Score a row in which unexpected calls are findings."""
        if end - begin + len(self._expected) > MOST_CAUSES:
            return NOT_SCORED
        strangers = self._faults.strangers(self._calls.places[begin:end])
        if not strangers and found[0] == self._of_score(1.0):
            return found
        number = self._of_score(0.0)
        return number, b"" if self._threshold <= 0.0 else packed(sorted([*found[1], *strangers]))

    def _compared(self, key: bytes) -> Scored:
        """Score the calls of expected names."""
        expected = self._expected
        if key == expected:
            return self._of_score(1.0), b""
        if len(expected) > MOST_CAUSES:
            return NOT_SCORED
        # Edits turn the expected names into the actual ones. With blanks in place of the actual names, they show which
        # expected names stay.
        edits = LCSseq.editops(expected, key)
        number, passes = self._by_length[(len(expected) + len(key) - len(edits)) // 2]
        if self._scope.scoring == "in common":
            score = self._faults.paired(key) / len(expected)
            number, passes = self._of_score(score), score >= self._threshold
        if passes:
            return number, b""
        return number, self._faults.of(key, edits.apply(self._text, _BLANKS[len(key)]).encode("latin-1"))

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
        narrow = scope.order and not scope.extras and max(self._moved.values(), default=0) < _NARROW
        self._tables = (_table(self._missing), _table(self._moved)) if narrow else None

    def of(self, key: bytes, common: bytes) -> Causes:
        """Return the causes of calls of expected names; `common` has a blank for each that is not in place."""
        # `translate` with bytes to delete is a set difference in C. For five names and ten calls it takes a quarter of
        # the time of a loop over the names.
        once = self._once
        absent = once.translate(None, key)
        if self._tables is not None and not self._repeated:
            missing_table, moved_table = self._tables
            return absent.translate(missing_table) + once.translate(moved_table, absent + common)
        moved = once.translate(None, absent + common) if self._scope.order else b""
        if self._repeated:
            absent, moved = self._with_repeated(key, common, absent, moved)
        missing = [self._missing[code] for code in absent]
        extra = [self._extra[code] for code, count in self._counts if self._extra and key.count(code) > count]
        return packed([*missing, *extra, *[self._moved[code] for code in moved]])

    def strangers(self, places: Sequence[int]) -> list[int]:
        """The faults that calls of unexpected names are, given by their places in the vocabulary."""
        stranger = self._stranger
        return [stranger[place] for place in set(places) if place in stranger]

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
