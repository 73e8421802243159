"""Recognise the columns of a table of spans by the names that exporters give them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall.errors import InputError
from rightcall.reading.formats import OPENED, Path, attribute_columns, fields_of, folded
from rightcall.reading.spans import TOLD

if TYPE_CHECKING:
    import pyarrow as pa

LOOKED_FOR_COLUMNS = (
    "looked for columns of spans (trace_id, span_id, name, start_time; TraceId, context.trace_id and so on) and of "
    "MLflow's traces (trace or spans)"
)
"""The columns of a table of spans, for the message about another table."""

_IDS = ("string", "large_string", "binary", "large_binary", "fixed_size_binary", "dictionary", "int", "uint", "null")
_RIGHT_IDS = "they should be text (hexadecimal digits or base64) or bytes"

# Parquet specification, VariantEncoding: a group of two binary fields, which readers without VARIANT see as a struct.
_VARIANT = frozenset({"metadata", "value"})


class SpanColumns(msgspec.Struct, frozen=True):
    """Which columns of a table hold the fields of a span."""

    paths: dict[str, Path]
    """The column of each field, or the path into a struct column."""
    units: dict[str, int | None]
    """Nanoseconds per unit of each time; None if the column does not say."""
    attributes: dict[str, str]
    """The columns that hold one attribute each, and its name."""

    @property
    def holds_traces(self) -> bool:
        """Whether each row is a whole trace."""
        return "span_id" not in self.paths

    @property
    def needed(self) -> list[str]:
        """The columns to read."""
        return list(dict.fromkeys([*(path[0] for path in self.paths.values()), *self.attributes]))


def span_columns(schema: pa.Schema, kept: Collection[str] = ()) -> SpanColumns | None:
    """Return which columns hold the fields of a span; None if this is not a table of spans.

    Columns that tell the case, the repeat or the score of a run are attributes, and so are those in `kept`.

    A row is a span if there are columns for trace id, span id, name and start. It is a whole trace if there is a column
    of traces or of their spans, as in MLflow's tables. A table with a column `calls` holds trajectories.
    """
    names = list(schema.names)
    if "calls" in names:
        return None
    paths, units = fields_of(dict(_spelled(schema)))
    attributes = attribute_columns(names)
    used = {path[0] for path in paths.values()}
    told = {name: name for name in names if (name in TOLD or name in kept) and name not in used}
    if {"trace_id", "span_id", "name", "start"} <= paths.keys():
        others = {"trace", "spans", "row_id"} if attributes else {"trace", "spans", "row_id", "kind"}
        held = {field: path for field, path in paths.items() if field not in others}
        return SpanColumns(held, units, attributes | told)
    for field in ("trace", "spans"):
        if field in paths and _may_hold(schema, paths[field]):
            return SpanColumns({held: paths[held] for held in (field, "row_id") if held in paths}, {}, {})
    return None


def known_columns(schema: pa.Schema, name: str, kept: Collection[str] = ()) -> SpanColumns:
    """Return which columns hold the fields of a span, and those in `kept`.

    Raises:
        InputError: this is not a table of spans, or a column has a type that cannot be read.
    """
    columns = span_columns(schema, kept)
    if columns is None:
        there = ", ".join(schema.names[:12]) + (", …" if len(schema.names) > 12 else "")
        raise InputError(f"{name}: not a table of spans; {LOOKED_FOR_COLUMNS}; there are {there or 'none'}")
    needed, seen = set(columns.needed), set()
    for field in schema:
        if field.name not in needed:
            continue
        if field.name in seen:
            raise InputError(f"{name}: there are several columns {field.name}")
        if _is_variant(field.type):
            advice = f"write it as JSON text, with to_json({field.name})"
            raise InputError(f"{name}: column {field.name} is a VARIANT; {advice}")
        seen.add(field.name)
    kind = _type_at(schema, columns.paths.get("trace_id", ()))
    if kind is not None and not str(kind).startswith(_IDS):
        raise InputError(f"{name}: ids of traces are {kind} in column {columns.paths['trace_id'][0]}; {_RIGHT_IDS}")
    return columns


def _spelled(schema: pa.Schema) -> Iterator[tuple[str, Path]]:
    """Yield each column, and each field of known structs, by its letters and digits; the first of two alike."""
    found: dict[str, Path] = {}
    for field in schema:
        name = folded(field.name)
        found.setdefault(name, (field.name,))
        if name in OPENED and str(field.type).startswith("struct"):
            for inner in field.type:
                found.setdefault(name + folded(inner.name), (field.name, inner.name))
    yield from found.items()


def _may_hold(schema: pa.Schema, path: Path) -> bool:
    """Whether a column can hold spans: as text, or as lists and structs."""
    return str(schema.field(path[0]).type).startswith(("string", "large_string", "list", "large_list", "struct"))


def _type_at(schema: pa.Schema, path: Path) -> Any:
    kind: Any = schema.field(path[0]).type if path else None
    for name in path[1:]:
        kind = kind.field(name).type
    return kind


def _is_variant(kind: Any) -> bool:
    """Whether a type is Parquet's VARIANT, or the struct with `metadata` and `value` that represents it."""
    text = str(kind) if kind.num_fields <= len(_VARIANT) else ""
    return "variant" in text or (text.startswith("struct") and {field.name for field in kind} == _VARIANT)
