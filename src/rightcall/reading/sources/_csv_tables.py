"""Tables of spans, and of conversations, as CSV."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterator

from rightcall.errors import InputError
from rightcall.reading.formats import is_table_header, row_items
from rightcall.reading.messages import CONVERSATION_COLUMNS
from rightcall.reading.spans import Item

_LONGEST_CELL = 1 << 27
# csv refuses cells beyond 128 KiB by default, and a cell with a model's messages is often longer.
_SEPARATORS = (",", "\t", ";")
"""The second is ClickHouse's, the third that of spreadsheets where the comma is the decimal point."""


def is_table(head: bytes) -> bool:
    """Whether a file begins with the names of the columns of a table of spans or conversations."""
    return _separator(head) != ""


def csv_items(data: bytes, input_format: str | None) -> Iterator[Item]:
    """Yield the spans, or the rows, of a table. Raises `InputError` if it cannot be cut into cells."""
    usual = csv.field_size_limit(_LONGEST_CELL)  # a setting of the whole process, so it is put back below
    try:
        text = io.StringIO(data.decode("utf-8-sig", "replace"), newline="")
        rows = list(csv.DictReader(text, delimiter=_separator(data) or ","))
    except csv.Error as problem:
        raise InputError(f"not a table of spans: {problem}") from None
    finally:
        csv.field_size_limit(usual)
    for row in rows:
        yield from row_items({key: value for key, value in row.items() if isinstance(key, str)}, input_format)


def _separator(head: bytes) -> str:
    """Return what separates the cells of a table, if its first line has names of columns; otherwise an empty text."""
    if head.lstrip()[:1] in (b"{", b"["):
        return ""
    line = head.removeprefix(codecs.BOM_UTF8).split(b"\n", 1)[0].decode("utf-8", "replace")
    for separator in _SEPARATORS:
        try:
            names = next(csv.reader([line], delimiter=separator), [])
        except csv.Error:
            continue
        if "context.span_id" in names or is_table_header(names) or not CONVERSATION_COLUMNS.isdisjoint(names):
            return separator
    return ""
