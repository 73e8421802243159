"""Calls that spans show, joined with the requests that messages show."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from rightcall.reading.conventions import WRAPPED_IN_MESSAGES
from rightcall.reading.messages import Requests
from rightcall.reading.spans import NOTHING, Record, are_told_apart, same_but_nulls


def join(records: list[Record], requests: Requests) -> list[Record]:
    """Fill the gaps of `records` from the requests of the model; the requests no span shows come back as calls.

    First by id, then by name and arguments, then by name alone where the span has no arguments, always in order.
    """
    open_records = _join_by_id(records, requests)
    open_requests = [request for request in requests.made if not request.joined]
    for key in (_context_name_args, _name_args, _name_only):
        open_records, open_requests = _pair(open_records, open_requests, requests, key)
    return _unseen(open_requests, records, open_records)


def _join_by_id(records: list[Record], requests: Requests) -> list[Record]:
    left = []
    for record in records:
        request = requests.with_id(record.call_id, record.name) if record.call_id else None
        if request is None or request.joined or requests.is_past(request) or not _compatible(record, request):
            left.append(record)
        else:
            _take(record, request)
    return left


Key = Callable[[Record, Requests | None], Hashable]


def _pair(
    records: list[Record], requests: list[Record], known: Requests, key: Key
) -> tuple[list[Record], list[Record]]:
    waiting: dict[Hashable, list[Record]] = {}
    for request in reversed(requests):
        waiting.setdefault(key(request, known), []).append(request)
    left = []
    for record in records:
        queue = waiting.get(key(record, None))
        found = next((request for request in reversed(queue) if _compatible(record, request)), None) if queue else None
        if found is None or queue is None:
            left.append(record)
        else:
            queue.remove(found)
            _take(record, found)
    return left, [request for request in requests if not request.joined]


def _context_name_args(record: Record, requests: Requests | None) -> Hashable:
    context = record.parent if requests is None else requests.contexts.get(id(record))
    return (id(context) if context is not None else None, *_name_args(record, requests))


def _name_args(record: Record, requests: Requests | None) -> tuple[Hashable, ...]:
    return (record.name, NOTHING if record.args is NOTHING else repr(sorted(record.args.items())))


def _name_only(record: Record, requests: Requests | None) -> Hashable:
    return record.name


def _compatible(record: Record, request: Record) -> bool:
    if are_told_apart(record, request):
        return False
    if record.turn is not None and request.turn is not None and record.turn != request.turn:
        return False
    if record.args is NOTHING or request.args is NOTHING:
        if record.bare is not NOTHING and request.args is not NOTHING:
            return len(request.args) == 1 and record.bare in request.args.values()
        return True
    return same_but_nulls(record.args, request.args)


def _take(record: Record, request: Record) -> None:
    if record.output is NOTHING and request.output is not NOTHING:
        for unwrap in WRAPPED_IN_MESSAGES.get(record.convention, ()):
            request.output = unwrap(request.output, request, {})
    record.fill(request)
    record.group, record.order = request.group, request.order
    request.joined = True


def _unseen(requests: list[Record], records: list[Record], open_records: list[Record]) -> list[Record]:
    """Requests that no span shows: calls never run, run elsewhere, or all of them where no tool is traced.

    Where a span of the same tool could not be joined, the request may well be that span: it is left out. So is one that
    repeats the id, name and arguments of a span's call: ADK keeps an answer beside the next one on the same span.
    """
    if not records:
        return requests
    doubtful = {record.name for record in open_records}
    made = {(record.call_id, _name_args(record, None)) for record in records if record.call_id}
    named = {(record.call_id, record.name) for record in records if record.call_id}
    return [
        request
        for request in requests
        if request.call_id
        and request.name not in doubtful
        and (request.call_id, _name_args(request, None)) not in made
        and (request.args is not NOTHING or (request.call_id, request.name) not in named)
    ]
