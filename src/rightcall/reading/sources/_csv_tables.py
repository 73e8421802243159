"""Tables of spans, and of conversations, as CSV."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator

from rightcall.errors import InputError
from rightcall.reading.formats import is_header, items_of
from rightcall.reading.messages import CONVERSATION_COLUMNS
from rightcall.reading.spans import Item

_LONGEST_CELL = 1 << 27
# csv refuses cells beyond 128 KiB by default, and a cell with a model's messages is often longer.


def is_table(head: bytes) -> bool:
    """Whether a file begins with the names of the columns of a table of spans or conversations."""
    if head.lstrip()[:1] in (b"{", b"["):
        return False
    line = head.removeprefix(codecs.BOM_UTF8).split(b"\n")[0].decode("utf-8", "replace")
    try:
        names = next(csv.reader([line]), [])
    except csv.Error:
        return False
    return "context.span_id" in names or is_header(names) or not CONVERSATION_COLUMNS.isdisjoint(names)


def csv_items(data: bytes, input_format: str | None) -> Iterator[Item]:
    """Yield the spans, or the rows, of a table. Raises `InputError` if it cannot be cut into cells."""
    usual = csv.field_size_limit(_LONGEST_CELL)  # a setting of the whole process, so it is put back below
    try:
        rows = list(csv.DictReader(io.StringIO(data.decode("utf-8-sig", "replace"), newline="")))
    except csv.Error as problem:
        raise InputError(f"not a table of spans: {problem}") from None
    finally:
        csv.field_size_limit(usual)
    for row in rows:
        yield from items_of({key: value for key, value in row.items() if isinstance(key, str)}, input_format)
