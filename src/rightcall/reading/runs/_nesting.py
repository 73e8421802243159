"""Agents that a tool started, and that left a trace of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rightcall.reading.conventions import CallShape, Role, kind_of
from rightcall.reading.spans import NOTHING, Record, Span

from ._answers import asked_and_answered
from ._grouping import begin_of, end_of
from ._tree import Tree

_MOST_OPEN = 64


def united_by_calls(runs: list[list[Span]]) -> list[list[Span]]:
    """The runs, each with those that one of its calls started.

    That is decided for each two of them, so that what else lies in a source makes no difference: the one began and
    ended inside of a call of the other, in which nothing else of an agent was seen, and inside of no other call; and
    what it was asked or answered is what the call was given or gave back, where both were recorded.
    """
    above: dict[int, int] = {}
    for inner, holders in _held(runs):
        [(outer, call), *others] = holders
        if not others and outer != inner and _may_be_of(runs[inner], call):
            above[inner] = outer
    if not above:
        return runs
    united: dict[int, list[Span]] = {}
    for index, run in enumerate(runs):
        united.setdefault(_top(index, above), []).extend(run)
    return list(united.values())


def _held(runs: list[list[Span]]) -> Iterator[tuple[int, list[tuple[int, Span]]]]:
    """Those of the runs that ran inside of calls of others, with these calls."""
    starts: list[tuple[int, int, int, Span | None]] = []
    for index, run in enumerate(runs):
        starts.append((begin_of(run), 1, index, None))
        starts += [(span.start_ns or 0, 0, index, span) for span in _leaf_calls(run)]
    open_calls: list[tuple[int, Span]] = []
    for start, _, index, call in sorted(starts, key=lambda entry: entry[:3]):
        open_calls = [entry for entry in open_calls if (entry[1].end_ns or 0) > start][-_MOST_OPEN:]
        if call is not None:
            open_calls.append((index, call))
            continue
        end = end_of(runs[index])
        holders = [entry for entry in open_calls if entry[0] != index and _holds(entry[1], start, end)]
        if holders:
            yield index, holders


def _leaf_calls(run: list[Span]) -> list[Span]:
    """The calls of a run in which neither a call nor an agent nor a model was seen."""
    parents = {span.span_id: span.parent_id for span in run}
    busy: set[str | None] = set()
    for span in run:
        above = span.parent_id if kind_of(span) else None
        while above is not None and above not in busy:
            busy.add(above)
            above = parents.get(above)
    return [span for span in run if isinstance(kind_of(span), CallShape) and span.span_id not in busy]


def _holds(call: Span, begin: int, end: int) -> bool:
    return call.start_ns is not None and call.end_ns is not None and call.start_ns < begin and end < call.end_ns


def _may_be_of(run: list[Span], call: Span) -> bool:
    """Whether nothing that was recorded speaks against it that a call started a run."""
    record = call.record
    if not isinstance(record, Record):
        return False
    roles: dict[int, Role] = {id(span): kind for span in run if (kind := kind_of(span)) in ("agent", "model")}
    asked, answered = asked_and_answered(run, roles, Tree(run, roles))
    compared = [
        _has(held, said) for held, said in ((record.args, asked), (record.output, answered)) if _is_known(held, said)
    ]
    return any(compared)


def _is_known(held: Any, said: Any) -> bool:
    return held is not NOTHING and held is not None and said is not None


def _has(held: Any, said: Any) -> bool:
    """Whether a value is, or has in it, what was said."""
    if isinstance(held, str) and isinstance(said, str):
        return said.strip() in held or (bool(held.strip()) and held.strip() in said)
    if isinstance(held, dict):
        return held == said or any(_has(each, said) for each in held.values())
    return any(_has(each, said) for each in held) if isinstance(held, list) else bool(held == said)


def _top(index: int, above: dict[int, int]) -> int:
    while index in above:
        index = above[index]
    return index
