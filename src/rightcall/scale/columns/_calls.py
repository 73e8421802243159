"""The calls of a batch, with a small number for each name."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

import pyarrow as pa
import pyarrow.compute as pc

MOST_NAMES = 254
"""Names that a byte can tell apart, beside the two values below."""
BLANK = 254
"""The number that no name has."""
OTHERS = 255
"""The number that all names share which are not looked for."""
_LONGEST_NAME = 60
LONGEST = 1_000
"""Calls beyond which a trajectory is judged in the ordinary way, which knows the limits."""


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
        self._bounds = [offset - first for offset in offsets] if first else offsets
        names = self._field("name") if pa.types.is_struct(self._values.type) else self._values
        # With "encode" a null is a value of the dictionary, so that `indices` has no nulls and is plain memory.
        self._encoded = names.dictionary_encode("encode")
        self.vocabulary: list[str | None] = self._encoded.dictionary.to_pylist()
        """The names that occur."""
        self.code_of = dict(zip(sorted(wanted), range(MOST_NAMES), strict=False))
        """The number of each name that is looked for."""
        self.name_of = {code: name for name, code in self.code_of.items()}
        table = pa.array([self.code_of.get(name, OTHERS) for name in self.vocabulary], pa.uint8())
        self.codes = _bytes(table.take(self._encoded.indices))

    @cached_property
    def places(self) -> list[int]:
        """The place in the vocabulary of the name of each call."""
        return _integers(self._encoded.indices)

    def rows(self) -> Iterator[tuple[int, int]]:
        """Where the calls of each row begin and end."""
        return pairwise(self._bounds)

    def texts(self, field: str, codes: Collection[int]) -> Sequence[str | None]:
        """A field of all calls, those of names with other numbers left out. A table without it records none."""
        if not self._has(field):
            return [None] * len(self.codes)
        wanted = pa.array([code in codes for code in range(256)])
        mask = wanted.take(pa.Array.from_buffers(pa.uint8(), len(self.codes), [None, pa.py_buffer(self.codes)]))
        texts: list[str | None] = pc.if_else(mask, self._field(field), None).to_pylist()
        return texts

    def odd_rows(self, batch: pa.RecordBatch) -> set[int]:
        """Rows that have to be judged in the ordinary way: there is more to them than calls in order, or less."""
        odd = {row for row, (begin, end) in enumerate(self.rows()) if end - begin > LONGEST}
        if self._column.null_count:
            odd.update(_where(pc.is_null(self._column)))
        if any([not _is_plain(name) for name in self.vocabulary]):
            odd.update(self._with_odd_names())
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

    def _with_odd_names(self) -> set[int]:
        odd = {place for place, name in enumerate(self.vocabulary) if not _is_plain(name)}
        return {row for row, (begin, end) in enumerate(self.rows()) if not odd.isdisjoint(self.places[begin:end])}

    def _with_internal_calls(self) -> set[int]:
        if not self._has("internal"):
            return set()
        internal = self._field("internal")
        if not pc.any(internal).as_py():
            return set()
        held = internal.to_pylist()
        return {row for row, (begin, end) in enumerate(self.rows()) if any(held[begin:end])}

    def _has(self, field: str) -> bool:
        return bool(pa.types.is_struct(self._values.type) and self._values.type.get_field_index(field) >= 0)

    def _field(self, name: str) -> pa.Array:
        return pc.struct_field(self._values, name)


def _is_plain(name: str | None) -> bool:
    """Whether a name is one, and the text of a call shows it as it is."""
    return name is not None and 0 < len(name) <= _LONGEST_NAME and "(" not in name


def _bytes(numbers: pa.Array) -> bytes:
    buffer = numbers.buffers()[1]
    return b"" if buffer is None else bytes(memoryview(buffer)[numbers.offset : numbers.offset + len(numbers)])


def _integers(numbers: pa.Array) -> list[int]:
    """The numbers of a column of int32 without nulls, ten times as fast as `to_pylist` has them."""
    buffer = numbers.buffers()[1]
    return (
        [] if buffer is None else memoryview(buffer).cast("i")[numbers.offset : numbers.offset + len(numbers)].tolist()
    )


def _where(mask: pa.Array) -> list[int]:
    found: list[int] = pc.indices_nonzero(mask.fill_null(False)).to_pylist()
    return found
