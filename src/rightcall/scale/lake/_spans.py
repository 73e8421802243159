"""Tables of spans: all of a command are one, because the spans of a run may lie in any of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256

from msgspec.structs import replace

from ._files import Source
from ._fragments import Fragment, Reading
from ._places import place
from ._span_buckets import ParquetSpans, bucket_count, span_buckets


def cut_spans(tables: Sequence[Source], reading: Reading) -> Iterator[Fragment]:
    """The buckets that the spans of tables are to be sorted into. How many there are depends on the tables alone.

    Raises:
        InputError: a table cannot be read.
    """
    if not tables:
        return
    size = sum([_spans(table.address).size for table in tables])
    stamp = sha256("\n".join([f"{table.address} {table.stamp}" for table in tables]).encode("utf-8", "replace"))
    count = bucket_count(size)
    for number in range(count):
        yield Fragment(
            kind="spans",
            path=tables[0].address,
            stamp=stamp.hexdigest(),
            begin=number,
            end=count,
            size=size // count,
            tables=tuple([table.address for table in tables]),
            reading=reading,
        )


def sort_spans(fragments: Sequence[Fragment], folder: str) -> list[Fragment]:
    """The same fragments; those of spans with their buckets, which are files in a folder now.

    Raises:
        ConfigurationError: runs cannot be distinguished in the way that is asked for.
        InputError: a table cannot be read, or the folder cannot be written.
    """
    first = next((fragment for fragment in fragments if fragment.kind == "spans"), None)
    if first is None:
        return list(fragments)
    buckets = span_buckets(
        [_spans(address) for address in first.tables],
        folder,
        first.end,
        grouping=first.reading.grouping,
        metadata_attributes=(first.reading.case_attribute,),
    )
    return [replace(each, bucket=buckets[each.begin]) if each.kind == "spans" else each for each in fragments]


def _spans(address: str) -> ParquetSpans:
    where = place(address)
    return ParquetSpans(where.path, None if where.is_local else where.system)
