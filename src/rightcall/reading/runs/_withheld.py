"""Calls that were asked for, told apart by whether they were carried out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rightcall.reading.messages import key_of
from rightcall.reading.spans import NOTHING, Record
from rightcall.values.trajectory import WithheldCall


def made_and_withheld(records: Iterable[Record]) -> tuple[list[Record], list[Record]]:
    """The calls that were made, and those that were not. One that was put off first and made later was made."""
    made: list[Record] = []
    withheld: list[Record] = []
    for record in records:
        (withheld if record.withheld else made).append(record)
    if not withheld:
        return made, []
    ids = {record.call_id for record in made if record.call_id}
    latest = {(record.name, key_of(record.args)): _start(record) for record in sorted(made, key=_start)}
    return made, [record for record in withheld if record.call_id not in ids and not _was_made(record, latest)]


def withheld_call(record: Record) -> WithheldCall:
    """A call that was not made, as trajectories have it."""
    return WithheldCall(record.name, None if record.args is NOTHING else record.args, record.withheld)


def _was_made(record: Record, latest: Mapping[tuple[str, bytes | str], int]) -> bool:
    """Whether a span that was put off, and has no id, has one of the same call after it, by when such began last."""
    if record.call_id or record.span is None:
        return False
    return latest.get((record.name, key_of(record.args)), -1) >= _start(record)


def _start(record: Record) -> int:
    return record.span.start_ns or 0 if record.span else 0
