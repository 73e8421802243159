"""What servers and tools wrap spans in: tables that are not written row by row, answers of servers, hits of a search.

Nothing here tells whether something is a span: what a document may hold is given out, and the table of containers
tells what of it is known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rightcall.errors import InputError
from rightcall.values.decoding import decode_json

_KEYS = (
    *("data", "spans", "rows", "runs", "observations", "traces", "content", "events", "results"),
    *("result", "hits", "tables", "trace"),
)
"""Keys of lists of spans, and of objects around them: Jaeger's `result`, Elasticsearch's `hits`, Azure's `tables`."""
_NO_WRAPPING = frozenset({"messages", "role"})
"""Keys of conversations and messages: what lies beside messages does not stand for them."""
_MOST_CELLS = 5_000_000  # columns may claim any length, and rows of them are made before a span is
_FEWEST_COLUMNS = 4
"""An object of fewer lists is not a table of spans: they need two ids, a name and a start."""
_OBJECTS = ("", "{", "[")
_LINE = ("@message", "message")
_ABOUT_LINE = frozenset({"@message", "@ptr", "ingestionTime", "logStreamName"})
"""Keys of lines in CloudWatch, which keeps a span of AgentCore as the text of one."""


def held_in(document: Any) -> Iterator[Any]:
    """Yield what a document may hold: the rows of a table, the items of a list, a wrapped list or object."""
    if isinstance(document, list):
        yield from _held_in_list(document)
    if not isinstance(document, Mapping) or not _NO_WRAPPING.isdisjoint(document):
        return
    bare = held_by(document)
    if bare is not document:
        yield bare
    yield from rows_of(document)
    for key in _KEYS:
        held = document.get(key)
        if held and isinstance(held, (list, Mapping)):
            yield held


def _held_in_list(items: list[Any]) -> Iterator[list[Any]]:
    bare = [held_by(item) for item in items]
    if any([held is not item for held, item in zip(bare, items, strict=True)]):
        yield bare
    if items and all([isinstance(item, list) for item in items]):
        yield [each for item in items for each in item]  # Zipkin answers with a list of traces


def held_by(item: Any) -> Any:
    """Return the document that an item stands for: a hit of Elasticsearch, a line of CloudWatch; else the item."""
    if isinstance(item, list) and item and all([_is_field(each) for each in item]):
        item = {each["field"]: each.get("value") for each in item}  # a result of CloudWatch's Logs Insights
    if not isinstance(item, Mapping):
        return item
    source = item.get("_source")
    if isinstance(source, Mapping):
        return source
    text = next((item[key] for key in _LINE if isinstance(item.get(key), str)), "")
    if text[:1] != "{" or _ABOUT_LINE.isdisjoint(item):
        return item
    try:
        return decode_json(text)
    except InputError:
        return item


def with_objects(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a table with the objects and lists that its cells hold as JSON text; an empty cell holds null."""
    return {key: _object_in_cell(cell) for key, cell in row.items()}


def _object_in_cell(cell: Any) -> Any:
    if not isinstance(cell, str) or cell[:1] not in _OBJECTS:
        return cell
    try:
        return decode_json(cell) if cell else None
    except InputError:
        return cell


def is_by_columns(document: Any) -> bool:
    """Whether an object has a list, or an object, of as many values for each of its keys: a table, not a row."""
    if not isinstance(document, Mapping) or len(document) < _FEWEST_COLUMNS:
        return False
    first = next(iter(document.values()))
    if first.__class__ is list:
        return all([held.__class__ is list and len(held) == len(first) for held in document.values()])
    is_table = first.__class__ is dict and len(first) > 0
    return is_table and all([held.__class__ is dict and held.keys() == first.keys() for held in document.values()])


def rows_of(document: Any) -> Iterator[list[Any]]:
    """Yield the rows of a table, in each way in which it may be one: with its header apart, or column by column."""
    if not isinstance(document, Mapping):
        return
    names = _names(document)
    rows: list[Any] = next((document[key] for key in ("rows", "data") if isinstance(document.get(key), list)), [])
    if names and all([isinstance(row, list) and len(row) == len(names) for row in rows]):
        yield [dict(zip(names, row, strict=True)) for row in rows]  # pandas (`split`), ClickHouse, Azure Monitor
    columns = _columns(document, names)
    if columns:
        yield _transposed(columns)
    held = list(document.values())
    if held and all([each.__class__ is dict for each in held]):
        yield held  # an index: pandas (`index`) writes a row by its id, `columns` the other way round
    if is_by_columns(document):
        yield _transposed(
            {key: list(each.values() if each.__class__ is dict else each) for key, each in document.items()}
        )


def _names(document: Mapping[str, Any]) -> list[str]:
    """Return the header of a table: names, or objects with a name; empty if there is none."""
    held = document.get("columns") or document.get("meta")
    if not isinstance(held, list) or not held:
        return []
    names = [each.get("name") if isinstance(each, Mapping) else each for each in held]
    return [name for name in names if isinstance(name, str)] if all([isinstance(name, str) for name in names]) else []


def _columns(document: Mapping[str, Any], names: list[str]) -> dict[str, list[Any]]:
    """Return the columns of a table whose values lie beside its header: Logfire, ClickHouse."""
    columns, data = document.get("columns"), document.get("data")
    held: Any = None
    if isinstance(columns, list) and all([isinstance(each, Mapping) for each in columns]):
        held = [each.get("values") for each in columns]
    elif isinstance(data, Mapping):
        held = [data.get(name) for name in names]
    if not names or not isinstance(held, list) or len(held) != len(names):
        return {}
    lengths = {len(each) if isinstance(each, list) else None for each in held}
    return dict(zip(names, held, strict=True)) if len(lengths) == 1 and None not in lengths else {}


def _transposed(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    if sum([len(column) for column in columns.values()]) > _MOST_CELLS:
        return []
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _is_field(item: Any) -> bool:
    return isinstance(item, Mapping) and isinstance(item.get("field"), str)
