"""Which result belongs to which request, where ids do not say it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rightcall.reading.spans import NOTHING, CallRecord, has_made_up_id

from ._argument_keys import key_of

ITEM = "fc_"
"""Prefix of ids of items in OpenAI's Responses API, which OpenLLMetry records instead of ids of calls (`call_…`)."""
MOST_WAITING = 64
"""Calls that wait for results at once and are compared with them: more only in hostile logs."""


def ungroup(records: Sequence[CallRecord]) -> None:
    """Take calls out of their groups: nothing tells whether they were asked for at once."""
    for record in records:
        record.group = None


def may_answer(result: CallRecord, request: CallRecord) -> bool:
    """Whether a result can belong to a request, by name and id."""
    if result.name and result.name != request.name:
        return False
    return not result.call_id or not request.call_id or request.call_id.startswith(ITEM)


def is_answered(record: CallRecord) -> bool:
    """Whether a request has a result."""
    return record.failed or record.output is not NOTHING


def has_own_id(record: CallRecord) -> bool:
    """Whether a call has an id that its model gave it."""
    return bool(record.call_id) and not has_made_up_id(record)


def only_pairing(
    results: Sequence[CallRecord], requests: Sequence[CallRecord]
) -> tuple[list[tuple[CallRecord, CallRecord]], Sequence[CallRecord]]:
    """Pair results without ids with requests, each with the one that is left for it; equal results in their order.

    Returns also the results whose requests are missing. With more results than requests, no result is sure to belong to
    any of them, and those that are too many count as theirs.
    """
    if not len(results) <= len(requests) <= MOST_WAITING:
        return [], results[len(requests) :]
    if len(results) == len(requests) and _are_in_order(results, requests):
        return list(zip(requests, results, strict=True)), []
    open_results, left, pairs = list(results), list(requests), []
    while open_results:
        found = [(result, [each for each in left if may_answer(result, each)]) for result in open_results]
        only = next(((each[0], result) for result, each in found if len(each) == 1), None)
        if only is None:
            break
        request, result = only
        pairs.append(only)
        open_results.remove(result)
        left.remove(request)
    # Which of several equal results belongs to which request makes no difference, as long as each can.
    are_equal = all([_are_equal(open_results[0], each) for each in open_results])
    if len(open_results) == len(left) and are_equal and all(map(may_answer, open_results, left)):
        return [*pairs, *zip(left, open_results, strict=True)], []
    return pairs, [result for result in open_results if not any([may_answer(result, each) for each in left])]


def _are_in_order(results: Sequence[CallRecord], requests: Sequence[CallRecord]) -> bool:
    """Whether ids say nothing, and were not lost: results share one, or have none of the kind that requests have."""
    if not all(map(may_answer, results, requests)):
        return False
    ids = {result.call_id for result in results}
    if len(ids) == 1:
        return None not in ids and not any([request.call_id for request in requests])
    return None not in ids and all([(request.call_id or "").startswith(ITEM) for request in requests])


def only_order(results: Sequence[CallRecord], requests: Sequence[CallRecord]) -> list[tuple[CallRecord, CallRecord]]:
    """Pair results with requests in their order, each with the one that it can belong to; none if one has no request.

    A result may repeat that of an answered request. Results with ids that no request has come as tools end: of calls
    asked for at once, any may be theirs.
    """
    first, last = _embedded(results, requests), _embedded(results[::-1], requests[::-1])
    sure = [(one, result) for one, other, result in zip(first, last[::-1], results, strict=False) if one is other]
    sizes = Counter([record.group for record in requests])
    return [(request, result) for request, result in sure if not result.call_id or sizes[request.group] == 1]


def _embedded(results: Sequence[CallRecord], requests: Sequence[CallRecord]) -> list[CallRecord]:
    """Return the first request that each result can belong to, in order; nothing if there are not enough."""
    found: list[CallRecord] = []
    for request in requests:
        result = results[len(found)] if len(found) < len(results) else None
        if (
            result is not None
            and may_answer(result, request)
            and (not is_answered(request) or _repeats(result, request))
        ):
            found.append(request)
    return found if len(found) == len(results) else []


def _repeats(result: CallRecord, request: CallRecord) -> bool:
    return result.failed == request.failed and key_of(result.output) == key_of(request.output)


def _are_equal(first: CallRecord, second: CallRecord) -> bool:
    is_same = (first.name, first.error, first.failed) == (second.name, second.error, second.failed)
    return is_same and key_of(first.output) == key_of(second.output)
