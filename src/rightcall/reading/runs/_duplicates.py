"""One call seen by several instrumentations: recognised, and put together."""

from __future__ import annotations

from rightcall.reading.spans import NOTHING, Record, same_but_nulls

from ._tree import Tree

_MCP = "mcp"
_MOST_CANDIDATES = 64


def without_duplicates(records: list[Record], tree: Tree) -> list[Record]:
    """The calls, each once; `records` are in order of start.

    Two spans are one call if names, arguments and ids agree and they are of different instrumentations: one right
    inside the other, or side by side at the same time, one of each instrumentation. Spans of one instrumentation
    are never merged: those are retries, recursion, or the same call in parallel.
    """
    if len({record.layers for record in records}) < 2 and not any(record.convention == _MCP for record in records):
        return records
    return _beside(_nested(records, tree), tree)


def _nested(records: list[Record], tree: Tree) -> list[Record]:
    kept = []
    for record in records:
        outer = tree.directly_enclosing(record.span) if record.span else None
        if outer is not None and outer is not record and _agree(outer, record) and _differ(outer, record):
            _merge(outer, record, tree)
        else:
            kept.append(record)
    return kept


def _beside(records: list[Record], tree: Tree) -> list[Record]:
    kept: list[Record] = []
    open_by_name: dict[str, list[Record]] = {}
    for record in records:
        candidates = open_by_name.setdefault(record.name, [])
        start = record.span.start_ns if record.span else None
        if start is not None:
            candidates[:] = [other for other in candidates if _is_untimed(other) or _ends(other) > start]
            del candidates[:-_MOST_CANDIDATES]
        twin = next((other for other in candidates if _may_be_one(other, record, tree)), None)
        if twin is None or tree.parent_of(record) is twin:
            kept.append(record)
            candidates.append(record)
        else:
            record.is_doubtful = _are_doubtful(twin, record)
            _merge(twin, record, tree)
    return kept


def _may_be_one(first: Record, second: Record, tree: Tree) -> bool:
    """Whether two records may be of one call: each of another instrumentation, or one of a client and its server."""
    if not _agree(first, second):
        return False
    return not _shares_layer(first, second) or (second.convention == _MCP and tree.is_shapeless(second.span))


def _are_doubtful(first: Record, second: Record) -> bool:
    """Whether two records that are taken for one call may be two: what would show it was not recorded."""
    return _is_untimed(first) or _is_untimed(second) or _shares_layer(first, second)


def _is_untimed(record: Record) -> bool:
    span = record.span
    return span is None or span.start_ns is None or span.end_ns is None


def _merge(record: Record, other: Record, tree: Tree) -> None:
    record.fill(other)
    if other.span and other.span.span_id:
        tree.stand_for(other.span.span_id, record)


def _differ(outer: Record, inner: Record) -> bool:
    return not _shares_layer(outer, inner) or inner.convention == _MCP


def _shares_layer(first: Record, second: Record) -> bool:
    return any(layer in first.layers for layer in second.layers)


def _agree(first: Record, second: Record) -> bool:
    if first.name != second.name:
        return False
    if first.call_id and second.call_id and first.call_id != second.call_id:
        return False
    if first.args is not NOTHING and second.args is not NOTHING:
        return same_but_nulls(first.args, second.args)
    return _bare_agrees(first, second) and _bare_agrees(second, first)


def _bare_agrees(first: Record, second: Record) -> bool:
    """Whether an argument that lost its name is the only one of the other record."""
    if first.bare is NOTHING or second.args is NOTHING:
        return True
    return len(second.args) == 1 and first.bare in second.args.values()


def _ends(record: Record) -> int:
    span = record.span
    if span is None or span.start_ns is None:
        return 0
    return max(span.end_ns or 0, span.start_ns + 1)
