"""Calls that were asked for, told apart by whether they were carried out."""

from __future__ import annotations

from collections.abc import Iterable

from rightcall.trajectory import WithheldCall

from ._record import Record
from ._requests import key_of
from ._values import NOTHING


def made_and_withheld(records: Iterable[Record]) -> tuple[list[Record], list[Record]]:
    """The calls that were made, and those that were not. One that was put off first and made later was made."""
    made: list[Record] = []
    withheld: list[Record] = []
    for record in records:
        (withheld if record.withheld else made).append(record)
    if not withheld:
        return made, []
    ids = {record.call_id for record in made if record.call_id}
    return made, [record for record in withheld if record.call_id not in ids and not _was_made(record, made)]


def withheld_call(record: Record) -> WithheldCall:
    """A call that was not made, as trajectories have it."""
    return WithheldCall(record.name, None if record.args is NOTHING else record.args, record.withheld)


def _was_made(record: Record, made: list[Record]) -> bool:
    """Whether a call without an id was made after it had been put off."""
    if record.call_id:
        return False
    start = record.span.start_ns if record.span else None
    return any(
        [
            other.name == record.name
            and key_of(other.args) == key_of(record.args)
            and (start is None or other.span is None or (other.span.start_ns or 0) >= start)
            for other in made
        ]
    )
