"""A batch in numbers: a byte for the name of each call, and a number for each outcome of a row and for each cause."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, chain, pairwise
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rightcall.cases.evalsets import Check
from rightcall.cases.verdicts import weighted_score
from rightcall.limits import DEFAULT_LIMITS
from rightcall.values.results import CaseResult, EvaluationResult, Verdict, worst

from ._conform import SCORES

MOST_NAMES = 254
"""Names that a byte can tell apart, beside the two values below."""
BLANK = 254
"""The number that no name has."""
OTHERS = 255
"""The number that all names share which are not looked for."""
_LONGEST_NAME = 60
LONGEST = 1_000
"""Calls beyond which a trajectory is judged in the ordinary way, which knows the limits."""
_MEASURES = SCORES.field("measures").type
_DIAGNOSES = SCORES.field("diagnoses").type

_NARROW = 256
"""Numbers that a byte can hold."""

Cause = tuple[str, str]
"""The code of a finding, and the tool that it is about."""


class Calls:
    """The calls of all rows of a batch, one after the other.

    Names are encoded once for the batch: `codes` has a byte for each call, so that the names of a row are a slice of
    it, which can be compared, counted and looked up at the speed of bytes. Only names that are looked for have a number
    of their own there; there are at most `MOST_NAMES` of them.
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
        """The number of each name that is looked for."""
        self.name_of = {code: name for name, code in self.code_of.items()}

    @cached_property
    def codes(self) -> bytes:
        """The number of the name of each call, a byte each."""
        return self.numbered(self.code_of, pa.uint8())

    def numbered(self, numbers: Mapping[Any, int], width: pa.DataType) -> bytes:
        """The number of the name of each call, in the order of the machine's bytes; `OTHERS` where it has none."""
        table = pa.array([numbers.get(name, OTHERS) for name in self.vocabulary], width)
        return _bytes(table.take(self._encoded.indices))

    @property
    def indices(self) -> pa.Array:
        """The place in the vocabulary of the name of each call, as a column."""
        return self._encoded.indices

    @cached_property
    def places(self) -> list[int]:
        """The place in the vocabulary of the name of each call."""
        return _integers(self._encoded.indices)

    def rows(self) -> Iterator[tuple[int, int]]:
        """Where the calls of each row begin and end."""
        return pairwise(self.bounds)

    def texts(self, field: str, codes: Collection[int]) -> Sequence[str | None]:
        """A field of all calls, those of names with other numbers left out. A table without it records none."""
        if not self._has(field):
            return [None] * len(self.codes)
        wanted = pa.array([code in codes for code in range(256)])
        mask = wanted.take(pa.Array.from_buffers(pa.uint8(), len(self.codes), [None, pa.py_buffer(self.codes)]))
        texts: list[str | None] = pc.if_else(mask, self._field(field), None).to_pylist()
        return texts

    def odd_rows(self, batch: pa.RecordBatch, *, any_names: bool = False) -> set[int]:
        """Rows that have to be judged in the ordinary way: there is more to them than calls in order, or less.

        With `any_names`, names that texts of calls would change are not odd, and neither are long rows.
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
        """Rows in which neighbouring calls are of one group."""
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
        """Which calls belong to other rows than these."""
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
        """A field of all calls; `None` where the table has none such."""
        return self._field(name) if self._has(name) else None

    def _has(self, field: str) -> bool:
        return bool(pa.types.is_struct(self._values.type) and self._values.type.get_field_index(field) >= 0)

    def _field(self, name: str) -> pa.Array:
        return pc.struct_field(self._values, name)


def _is_plain(name: str | None) -> bool:
    """Whether a name is one, and the text of a call shows it as it is."""
    return name is not None and 0 < len(name) <= _LONGEST_NAME and "(" not in name


def _is_name(name: str | None) -> bool:
    """Whether a tool may have this name at all."""
    return name is not None and 0 < len(name) <= DEFAULT_LIMITS.name_length


def _bytes(numbers: pa.Array) -> bytes:
    buffer, size = numbers.buffers()[1], numbers.type.byte_width
    begin = numbers.offset * size
    return b"" if buffer is None else bytes(memoryview(buffer)[begin : begin + len(numbers) * size])


def _integers(numbers: pa.Array) -> list[int]:
    """The numbers of a column of int32 without nulls, ten times as fast as `to_pylist` has them."""
    buffer = numbers.buffers()[1]
    return (
        [] if buffer is None else memoryview(buffer).cast("i")[numbers.offset : numbers.offset + len(numbers)].tolist()
    )


def _where(mask: pa.Array) -> list[int]:
    found: list[int] = pc.indices_nonzero(mask.fill_null(False)).to_pylist()
    return found


class Measured(msgspec.Struct, frozen=True):
    """What one evaluator says of a row."""

    evaluator: str
    verdict: Verdict
    score: float | None
    error: str | None = None

    @classmethod
    def of(cls, result: EvaluationResult) -> Measured:
        """What counts of a result."""
        return cls(result.evaluator, result.verdict, result.score, result.error)


class Outcome(msgspec.Struct, frozen=True):
    """The result of a row, of all evaluators together. There are few different ones."""

    verdict: Verdict
    score: float | None = None
    measured: tuple[Measured, ...] = ()
    error: str | None = None

    @classmethod
    def of(cls, checks: Sequence[Check], measured: Sequence[Measured]) -> Outcome:
        """The outcome of what each evaluator says, in the order of the checks."""
        verdict = worst([each.verdict for each in measured])
        score = weighted_score(checks, [each.score for each in measured])
        return cls(verdict, score, tuple(measured), next((each.error for each in measured if each.error), None))

    @classmethod
    def of_result(cls, result: CaseResult) -> Outcome:
        """The outcome that the result of a case is."""
        measured = tuple([Measured.of(each) for each in result.results])
        error = next((each.error for each in measured if each.error), None)
        if not measured and result.findings:
            error = result.findings[0].finding.message
        return cls(result.verdict, result.score, measured, error)


def causes_of(result: EvaluationResult) -> list[Cause]:
    """Why a result did not pass, each cause once, by code and tool."""
    if result.passed:
        return []
    return sorted({(finding.code, finding.tool) for finding in result.findings})


Causes = Sequence[int]
"""Numbers of causes, in order: bytes where they are small, because there may be very many rows to report."""

Scored = tuple[int, Causes]
"""The number of what is said of a row, and those of the causes."""

NOT_SCORED: Scored = (-1, b"")
"""Stands for a row that is to be judged in the ordinary way."""


class Outcomes:
    """The outcomes and causes that occur in a batch, a number for each."""

    def __init__(self) -> None:
        self._outcomes: dict[Outcome, int] = {}
        self._causes: list[tuple[str, Cause]] = []

    def number(self, outcome: Outcome) -> int:
        """The number of an outcome."""
        return self._outcomes.setdefault(outcome, len(self._outcomes))

    def add(self, evaluator: str, causes: Sequence[Cause]) -> range:
        """Numbers for causes that an evaluator may name, one after the other."""
        first = len(self._causes)
        self._causes += [(evaluator, cause) for cause in causes]
        return range(first, len(self._causes))

    def causes(self, result: EvaluationResult) -> Causes:
        """Numbers for the causes of a result."""
        return packed(self.add(result.evaluator, causes_of(result)))

    def columns(self, numbers: Sequence[int], causes: Sequence[Causes]) -> dict[str, pa.Array]:
        """What rows with these outcomes and causes say in the columns of `SCORES`."""
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
        """The causes of each row; null where nothing was measured."""
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
    """Numbers of causes in the form that is held."""
    return bytes(numbers) if not numbers or max(numbers) < _NARROW else tuple(numbers)


def _measures(outcome: Outcome) -> list[dict[str, Any]] | None:
    if not outcome.measured:
        return None
    return [{"evaluator": each.evaluator, "verdict": each.verdict, "score": each.score} for each in outcome.measured]
