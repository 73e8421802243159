"""Turns of a conversation whose every turn is a trace of its own."""

from __future__ import annotations

from collections.abc import Mapping

from ._record import Record
from ._roles import Role
from ._span import Span


def number_turns(records: list[Record], spans: list[Span], roles: Mapping[int, Role]) -> None:
    """Number the turns of calls, where several traces with an agent or model at work follow one another.

    A trace that began while another ran, such as a sub-agent's, is of the same turn.
    """
    times = _times_at_work(spans, roles)
    if len(times) < 2:
        return
    turns: dict[str, int] = {}
    turn, latest = -1, -1
    for trace, (begin, end) in sorted(times.items(), key=lambda item: item[1]):
        turn += begin >= latest
        latest = max(latest, end)
        turns[trace] = turn
    for record in records:
        if record.turn is None and record.span and turn:
            record.turn = turns.get(record.span.trace_id)


def _times_at_work(spans: list[Span], roles: Mapping[int, Role]) -> dict[str, tuple[int, int]]:
    if not roles or all([span.trace_id == spans[0].trace_id for span in spans]):
        return {}
    times: dict[str, tuple[int, int]] = {}
    for span in spans:
        if id(span) in roles and span.start_ns is not None:
            begin, end = times.get(span.trace_id, (span.start_ns, span.start_ns))
            times[span.trace_id] = min(begin, span.start_ns), max(end, span.end_ns or span.start_ns)
    return times
