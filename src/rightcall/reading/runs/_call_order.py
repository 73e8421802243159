"""The order of the calls of a run, where it is not known, and which of them ran at once."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from operator import lt
from typing import Any

from rightcall.reading.spans import CallRecord


def ordered(records: list[CallRecord]) -> list[CallRecord]:
    """Sort calls by start time, then as the model asked for them, then parent before child, then as recorded.

    Where some have no start time, all are in the order of the model if it is known, else those come last.
    """
    starts: list[Any] = [_start(record) for record in records]
    if None in starts and _are_told(records):
        return sorted(records, key=lambda record: record.order)
    # Most runs are in order already, or have distinct times: both are settled without making a key for each call.
    if None not in starts:
        if all(map(lt, starts, starts[1:])):
            return records
        if len(set(starts)) == len(starts):
            return [records[place] for place in sorted(range(len(starts)), key=starts.__getitem__)]
    depths = _depths(records) if any([record.parent for record in records]) else {}
    timed = [(record, _start(record)) for record in records]
    by_start = sorted(timed, key=lambda pair: (pair[1] is None, pair[1] or 0))
    result: list[CallRecord] = []
    for _, tied in groupby(by_start, key=lambda pair: pair[1]):
        together = [record for record, _ in tied]
        if len(together) > 1:
            asked = all(record.order >= 0 for record in together)
            together.sort(key=lambda record: (record.order if asked else 0, depths.get(id(record), 0)))
        result.extend(together)
    return result


def unsettled(records: list[CallRecord], in_log: bool = False) -> tuple[tuple[int, int], ...]:
    """Return ranges of calls that start together, or at an unknown time, and whose order nothing shows.

    Calls asked for at once start in any order: that of those without spans is not known.

    With `in_log`, all of them are in one log of messages, in order.
    """
    if len(records) < 2:
        return ()
    if not all([record.is_begun for record in records]):
        return ((0, len(records)),)
    if any([_start(record) is None for record in records]):
        # A call without a time may have been made before any other, unless one conversation has them all in order.
        # Agents inside calls have separate conversations, whose position among the others nothing shows.
        # So have traces of one conversation, which nothing but their times puts in order. A log has all in its order.
        return () if _are_told(records, in_log) else ((0, len(records)),)
    found = _mixed(records)
    position = 0
    for _, tied in groupby(records, key=lambda record: (_start(record), id(record.parent))):
        together = list(tied)
        end = position + len(together)
        if len(together) > 1 and not all(record.order >= 0 for record in together):
            found.append((position, end))
        position = end
    return _merged(found)


def _are_told(records: Sequence[CallRecord], in_log: bool = False) -> bool:
    """Whether the messages of one conversation have all calls in order."""
    is_one = all([record.parent is records[0].parent for record in records])
    is_one = is_one and len({record.span.trace_id for record in records if record.span}) < 2
    return (is_one or in_log) and all([record.order >= 0 for record in records])


def _merged(ranges: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return ranges in order, those that overlap as one."""
    found: list[tuple[int, int]] = []
    for first, end in sorted(ranges):
        if found and first < found[-1][1]:
            first, end = found[-1][0], max(end, found.pop()[1])
        found.append((first, end))
    return tuple(found)


def _mixed(records: list[CallRecord]) -> list[tuple[int, int]]:
    """Return ranges that hold calls asked for at once, of which only some have spans that show when they began."""
    places: dict[str, list[int]] = {}
    for place, record in enumerate(records):
        if record.group is not None:
            places.setdefault(record.group, []).append(place)
    found = [held for held in places.values() if len({records[place].span is None for place in held}) > 1]
    return [(held[0], held[-1] + 1) for held in found]


def group_by_time(records: list[CallRecord]) -> None:
    """Group calls that overlap under one agent, if no message shows what was asked for at once.

    Spans between a call and its agent are ignored: frameworks, servers and queues add them. Calls made in threads,
    where the context of the agent is lost, may belong to any agent.
    """
    number = 0
    cluster: list[CallRecord] = []
    latest = 0
    for record in records:
        span = record.span
        if record.group is not None or span is None or span.start_ns is None or span.end_ns is None:
            continue
        if not record.is_placed:
            continue
        if cluster and span.start_ns < latest and _may_be_asked_together(cluster[-1], record):
            if cluster[0].group is None:
                number += 1
                cluster[0].group = f"overlap-{number}"
            record.group = cluster[0].group
            cluster.append(record)
            latest = max(latest, span.end_ns)
        else:
            cluster, latest = [record], span.end_ns
    _number_groups(records)


def _number_groups(records: list[CallRecord]) -> None:
    """Number the groups of calls in order of their first calls, each kind separately.

    This way the name of a group depends on the calls alone, not on what else was read before.
    """
    names: dict[str, str] = {}
    counts: dict[str, int] = {}
    for record in records:
        if record.group is None:
            continue
        if record.group not in names:
            kind = record.group.rpartition("-")[0]
            counts[kind] = counts.get(kind, 0) + 1
            names[record.group] = f"{kind}-{counts[kind]}"
        record.group = names[record.group]


def _may_be_asked_together(first: CallRecord, second: CallRecord) -> bool:
    if first.parent is not second.parent or first.turn != second.turn:
        return False
    # What ran inside the time of another call may have been made by it, unless both are in the same span.
    if not (first.is_parent_known and second.is_parent_known) and end_of_call(second) <= end_of_call(first):
        return first.within is not None and first.within == second.within
    return first.under == second.under or first.under is None or second.under is None


def _start(record: CallRecord) -> int | None:
    """Return when a call began, or was asked for; a prompt that tells of it shows only that it was made before."""
    if record.span:
        return record.span.start_ns
    return None if record.is_told_later else record.asked_ns


def _depths(records: list[CallRecord]) -> dict[int, int]:
    """Count the calls around each call; a cycle of parents ends where it closes."""
    known: dict[int, int] = {}
    for record in records:
        chain: list[CallRecord] = []
        above: CallRecord | None = record
        while above is not None and id(above) not in known:
            known[id(above)] = 0
            chain.append(above)
            above = above.parent
        depth = -1 if above is None else known[id(above)]
        for held in reversed(chain):
            depth += 1
            known[id(held)] = depth
    return known


def end_of_call(record: CallRecord) -> int:
    """Return when a call ended; at the least, it took a nanosecond."""
    span = record.span
    if span is None or span.start_ns is None:
        return 0
    return max(span.end_ns or 0, span.start_ns + 1)
