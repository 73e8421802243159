"""Order the calls of a run, find where the order is unknown, and group calls that ran together."""

from __future__ import annotations

from itertools import groupby
from operator import lt
from typing import Any

from rightcall.reading.spans import CallRecord


def ordered(records: list[CallRecord]) -> list[CallRecord]:
    """Sort calls by start time, then as the model asked for them, then parent before child, then as recorded.

    Calls without a start time come last.
    """
    starts: list[Any] = [record.span.start_ns if record.span else record.asked_ns for record in records]
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


def unsettled(records: list[CallRecord]) -> tuple[tuple[int, int], ...]:
    """Return ranges of calls that start together, or at an unknown time, and whose order nothing shows."""
    if len(records) < 2:
        return ()
    if any([_start(record) is None for record in records]):
        # A call without a time may have been made before any other, unless one conversation has them all in order.
        # Agents inside calls have separate conversations, whose position among the others nothing shows.
        is_told = all([record.order >= 0 and record.parent is records[0].parent for record in records])
        return () if is_told else ((0, len(records)),)
    if not _has_ties(records):
        return ()
    found = []
    position = 0
    for _, tied in groupby(records, key=lambda record: (_start(record), id(record.parent))):
        together = list(tied)
        end = position + len(together)
        if len(together) > 1 and not all(record.order >= 0 for record in together):
            found.append((position, end))
        position = end
    return tuple(found)


def _has_ties(records: list[CallRecord]) -> bool:
    """Whether calls start at the same time."""
    starts = [record.span.start_ns for record in records if record.span and record.span.start_ns is not None]
    return len(set(starts)) < len(starts)


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


def number_groups(records: list[CallRecord]) -> None:
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
    return first.under == second.under or first.under is None or second.under is None


def _start(record: CallRecord) -> int | None:
    return record.span.start_ns if record.span else record.asked_ns


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
