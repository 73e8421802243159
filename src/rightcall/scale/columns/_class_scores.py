"""Rows scored by the classes of their calls: which of the expectations of its name each call satisfies."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rightcall.cases.evalsets import Check
from rightcall.errors import InputError, LimitError
from rightcall.judging import CallScope
from rightcall.limits import Budget
from rightcall.values.trajectory import ToolCall, Trajectory

from ._coded_batch import (
    MOST_CAUSES,
    NOT_SCORED,
    Calls,
    Cause,
    Measured,
    Outcomes,
    Scored,
    bytes_of,
    causes_of,
    integers,
    packed,
)
from ._rows import args_in, value_in

_CODES = ("RC101", "RC102", "RC103", "RC104", "RC105", "RC106", "RC107", "RC301")
_UNEXPECTED = "RC102"
_WIDTH = 2
"""Bytes of the number of a class."""
_UNREAD = 0xFFFF
"""Stands for the class of a call that cannot be read."""
_MOST_KINDS = 10_000
"""The most kinds of rows whose results are cached for a check."""


class Kinds:
    """The results of a check by kind of row, kept across batches, and the numbers of classes of calls.

    An evaluator gives all rows of a kind the same result, so only the first one is judged.
    """

    def __init__(self) -> None:
        self.said: dict[Hashable, _Judged] = {}
        self.open: set[int] = set()
        """The classes of calls for which it is open whether they satisfy an expectation."""
        self._numbers: dict[tuple[int, tuple[bool | None, ...]], int] = {}

    def class_of(self, code: int, satisfied: tuple[bool | None, ...]) -> int:
        """Return the number of a class: calls of one name that satisfy the same expectations."""
        number = self._numbers.get((code, satisfied))
        if number is None:
            # If there are too many classes, rows with the remaining ones are judged by the evaluator.
            number = self._numbers[code, satisfied] = min(len(self._numbers), _UNREAD)
            if None in satisfied:
                self.open.add(number)
        return number

    def note(self, key: Hashable, judged: _Judged) -> _Judged:
        """Cache the result of rows of a kind."""
        if len(self.said) >= _MOST_KINDS:
            self.said.clear()
        self.said[key] = judged
        return judged


class _Judged(msgspec.Struct, frozen=True):
    """The result of rows of one kind, and whether calls of other tools are findings."""

    measured: Measured | None
    """`None` if every row has to be judged by itself."""
    causes: tuple[Cause, ...] = ()
    blames_others: bool = False


class _Kind(msgspec.Struct, frozen=True):
    """The result of a kind of rows, encoded in the numbers of a batch."""

    scored: Scored = NOT_SCORED
    blames_others: bool = False
    goes_by_place: bool = False
    """Whether the result also depends on the positions of calls of other tools."""


_UNSCORED = _Kind()


class ClassScorer:
    """Scores rows of one batch: the evaluator judges the first row of each kind, and the others get the same result.

    Of calls of other tools, only their number and their names count, if they count at all: if one of them is a finding,
    each of them is.
    """

    def __init__(
        self,
        check: Check,
        scope: CallScope,
        kinds: Kinds,
        calls: Calls,
        outcomes: Outcomes,
        number_of: Callable[[Measured], int],
    ) -> None:
        self._check, self._scope, self._kinds, self._calls, self._number_of = check, scope, kinds, calls, number_of
        self._wanted = bytes([calls.code_of[name] for name in scope.names])
        self._expected = bytes([calls.code_of[pattern.name] for pattern in scope.patterns])
        self._is_wanted = bytes([code in self._wanted for code in range(256)])
        self._reader = _CallReader(scope, calls)
        names = sorted({*scope.names, *map(str, calls.vocabulary)} if scope.others else scope.names)
        causes = [(code, tool) for code in _CODES for tool in ("", *names)]
        self._numbers = dict(zip(causes, outcomes.add(check.evaluator.id, causes), strict=True))
        self._known: dict[Hashable, _Kind] = {}

    def scored(self, rows: Sequence[int]) -> list[Scored]:
        """Score rows. A row in which something that is needed cannot be read is left to the evaluator."""
        keys = self._calls.keys(self._wanted) if self._scope.reads is None else self._classes()
        encoded = (keys if len(rows) == len(keys) else keys.take(pa.array(rows, pa.int32()))).dictionary_encode()
        settled = [self._settled(key) for key in encoded.dictionary.to_pylist()]
        bounds, counts_others, scored = self._calls.bounds, self._scope.others, []
        met: dict[tuple[int, int], _Kind] = {}
        for row, place in zip(rows, integers(encoded.indices), strict=True):
            key = settled[place]
            others = bounds[row + 1] - bounds[row] - len(key) if counts_others and key is not None else 0
            kind = met.get((place, others))
            if kind is None:
                kind = met[place, others] = _UNSCORED if key is None else self._kind(key, others, row)
            if kind.goes_by_place and key is not None:
                kind = self._known_kind(key, self._layout(row), row)
            scored.append(self._with_others(kind, row) if kind.blames_others else kind.scored)
        return scored

    def _classes(self) -> pa.Array:
        """Return the classes of the calls that count, row by row."""
        # The name and the strings of a call are combined into one number, so that Arrow finds equal calls, and each
        # different one is compared once.
        numbers = self._calls.codes_of(self._wanted).cast(pa.int64())
        texts: list[list[str | None]] = []
        for field in self._reader.fields:
            column = self._calls.field_of(field, self._wanted).dictionary_encode("encode")
            texts.append(column.dictionary.to_pylist())
            numbers = pc.add(pc.multiply(numbers, len(texts[-1])), column.indices.cast(pa.int64()))
        encoded = numbers.dictionary_encode()
        classes = array("H", [self._class(number, *texts) for number in encoded.dictionary.to_pylist()])
        column = pa.Array.from_buffers(pa.uint16(), len(classes), [None, pa.py_buffer(classes)])
        return self._calls.rows_of(self._wanted, bytes_of(column.take(encoded.indices)), _WIDTH)

    def _class(self, number: int, texts: Sequence[str | None], errors: Sequence[str | None] = (None,)) -> int:
        if len(errors) == 1:
            error = errors[0]
        else:
            number, place = divmod(number, len(errors))
            error = errors[place]
        code, place = divmod(number, len(texts))
        try:
            return self._kinds.class_of(code, self._reader.satisfied(code, texts[place], error))
        except (InputError, LimitError):  # the evaluator is asked about such a row alone, and says what is wrong
            return _UNREAD

    def _settled(self, key: bytes) -> Sequence[int] | None:
        """Return the classes of a row, sorted if their order makes no difference; `None` if one cannot be read."""
        if self._scope.reads is None:
            return key if self._scope.order else bytes(sorted(key))
        found = memoryview(key).cast("H").tolist()
        if _UNREAD in found:
            return None
        # If it is open whether a call satisfies an expectation, sure pairs are made first, and of several ways to make
        # them the order decides which calls remain: findings depend on it, though the score does not.
        is_ordered = self._scope.order or not self._kinds.open.isdisjoint(found)
        return tuple(found if is_ordered else sorted(found))

    def _kind(self, key: Sequence[int], others: int, row: int) -> _Kind:
        """Return the result of rows with these classes of calls, and this number of calls of other tools."""
        if len(self._scope.patterns) + len(key) + others > MOST_CAUSES and self._is_capped(len(key), others):
            return _UNSCORED
        kind = self._known_kind(key, others, row)
        is_faulty = kind.blames_others or len(kind.scored[1]) > 0
        if self._scope.order and others and is_faulty and self._may_be_paired_otherwise(row):
            return msgspec.structs.replace(kind, goes_by_place=True)
        return kind

    def _may_be_paired_otherwise(self, row: int) -> bool:
        """Whether a call may be paired with several expectations of its name, or one of these with several calls.

        Pairs are chosen by position, which depends on the calls of other tools in between.
        """
        codes = self._calls.codes[self._calls.bounds[row] : self._calls.bounds[row + 1]]
        return any([codes.count(code) + self._expected.count(code) > 2 for code in set(codes) & set(self._wanted)])

    def _known_kind(self, key: Sequence[int], others: int | bytes, row: int) -> _Kind:
        """Return the cached result of rows with these classes, given the number or the positions of other calls."""
        kind = self._known.get((key, others))
        if kind is None:
            value = self._kinds.said.get((key, others)) or self._kinds.note((key, others), self._judge(row))
            kind = self._known[key, others] = self._in_numbers(value)
        return kind

    def _layout(self, row: int) -> bytes:
        """Return the positions of calls of other tools in a row, a byte for each call."""
        return self._calls.codes[self._calls.bounds[row] : self._calls.bounds[row + 1]].translate(self._is_wanted)

    def _is_capped(self, calls: int, others: int) -> bool:
        """Return whether an evaluator may have more findings than it lists; in some scopes each call can be one."""
        counts_calls = self._scope.finds_calls
        return len(self._scope.patterns) + others + (calls if counts_calls or others else 0) > MOST_CAUSES

    def _judge(self, row: int) -> _Judged:
        """Have the evaluator judge a row; findings about calls of other tools are added for each row."""
        calls = tuple([self._reader.call_at(index) for index in range(*self._calls.bounds[row : row + 2])])
        result = self._check.evaluator.evaluate(Trajectory(calls=calls), self._check.criteria)
        causes = causes_of(result)
        if any([cause not in self._numbers for cause in causes]):
            return _Judged(None)
        own = [cause for cause in causes if cause[0] != _UNEXPECTED or cause[1] in self._scope.names]
        return _Judged(Measured.of(result), tuple(own), len(own) < len(causes))

    def _in_numbers(self, judged: _Judged) -> _Kind:
        if judged.measured is None:
            return _UNSCORED
        causes = packed([self._numbers[cause] for cause in judged.causes])
        return _Kind((self._number_of(judged.measured), causes), judged.blames_others)

    def _with_others(self, kind: _Kind, row: int) -> Scored:
        number, causes = kind.scored
        begin, end = self._calls.bounds[row], self._calls.bounds[row + 1]
        names = {str(self._calls.vocabulary[place]) for place in set(self._calls.places[begin:end])}
        extras = [self._numbers[_UNEXPECTED, name] for name in names - self._scope.names]
        return number, packed(sorted([*causes, *extras]))


class _CallReader:
    """Reads the fields of calls that a scope compares, and tells which expectations they satisfy."""

    def __init__(self, scope: CallScope, calls: Calls) -> None:
        self._reads, self._calls = scope.reads, calls
        self.fields = ("output", "error") if scope.reads == "output" else (scope.reads,) if scope.reads else ()
        """The fields of calls that are compared."""
        self._value: Callable[[str], Any] = args_in if scope.reads == "args" else value_in
        self._spends = any([pattern.spends for pattern in scope.patterns])
        self._patterns = {
            calls.code_of[name]: [pattern for pattern in scope.patterns if pattern.name == name] for name in scope.names
        }

    def satisfied(self, code: int, text: str | None, error: str | None) -> tuple[bool | None, ...]:
        """Return whether a call satisfies each expectation of its name. Raises `InputError` and `LimitError`."""
        # Entering a budget for every string took an eighth of the time, and plain comparisons need none.
        if self._spends:
            with Budget():
                return self._compared(code, text, error)
        return self._compared(code, text, error)

    def _compared(self, code: int, text: str | None, error: str | None) -> tuple[bool | None, ...]:
        if text is None or error is not None:
            call = self._call(self._calls.name_of[code], text, error)
            return tuple([pattern.accepts(call) for pattern in self._patterns[code]])
        value = self._value(text)
        return tuple([pattern.accepts_part(value) for pattern in self._patterns[code]])

    def call_at(self, index: int) -> ToolCall:
        """Return a call of the batch with the fields that are compared; for other tools, only the name."""
        name = str(self._calls.call_at(index))
        fields = self.fields if self._calls.codes[index] in self._patterns else ()
        text, error = ([self._calls.call_at(index, field) for field in fields] + [None, None])[:2]
        return self._call(name, text, error)

    def _call(self, name: str, text: str | None, error: str | None) -> ToolCall:
        if text is None or self._reads is None:
            return ToolCall(name=name, error=error)
        fields = {self._reads: self._value(text)}
        return ToolCall(name=name, error=error, **fields)
