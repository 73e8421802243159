"""Merge the calls of a run, join them with the requests of models, and order them as far as their order is known."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from copy import copy
from itertools import groupby
from operator import attrgetter, lt
from typing import TYPE_CHECKING, Any, TypeAlias

from rightcall.reading import messages
from rightcall.reading.conventions import BY_GUARDRAIL, ELSEWHERE, WRAPPED_IN_MESSAGES
from rightcall.reading.spans import (
    NOTHING,
    CallRecord,
    UnparsableError,
    arguments,
    has_made_up_id,
    have_different_ids,
    same_but_nulls,
)
from rightcall.version import SCOPE

from ._span_tree import Tree

if TYPE_CHECKING:
    from rightcall.reading.messages import Requests


_MCP = "mcp"
_id_of = attrgetter("call_id")
_MOST_CANDIDATES = 64  # concurrent calls of one name that are compared, so that n of them do not take n² steps


def without_duplicates(records: list[CallRecord], tree: Tree) -> list[CallRecord]:
    """Merge records of one call by several instrumentations; `records` are in order of start.

    Two spans are one call if names, arguments and ids agree and they are of different instrumentations: one directly
    inside the other, or both at the same time. Spans of one instrumentation are retries, recursion, or the same call
    in parallel, and are not merged; only an MCP client and its server may share an instrumentation.
    """
    return _beside(_nested(records, tree), tree) if may_be_seen_twice(records) else records


def may_be_seen_twice(records: list[CallRecord]) -> bool:
    """Whether calls may be recorded twice: by several instrumentations, or by an MCP client and its server."""
    return len({record.layers for record in records}) > 1 or any(record.convention == _MCP for record in records)


def _nested(records: list[CallRecord], tree: Tree) -> list[CallRecord]:
    """Merge records with the record directly around them, if that is of the same call."""
    kept = []
    for record in records:
        outer = tree.directly_enclosing(record.span) if record.span else None
        if outer is not None and outer is not record and _agree(outer, record) and _differ(outer, record):
            _merge(outer, record, tree)
        else:
            kept.append(record)
    return kept


def _beside(records: list[CallRecord], tree: Tree) -> list[CallRecord]:
    """Merge records of the same call that overlap in time."""
    kept: list[CallRecord] = []
    by_name: dict[str, list[CallRecord]] = {}
    open_by_name: dict[str, list[CallRecord]] = {}
    for record in records:
        candidates, known = open_by_name.setdefault(record.name, []), by_name.setdefault(record.name, [])
        start = record.span.start_ns if record.span else None
        if start is not None:
            # Records come in order of start: what ended before this one cannot overlap later ones either.
            candidates[:] = [other for other in candidates if _is_untimed(other) or end_of_call(other) > start]
            del candidates[:-_MOST_CANDIDATES]
        else:
            candidates = known[-_MOST_CANDIDATES:]  # without a start time, it may be the same call as any of them
        twin = next((other for other in candidates if _may_be_one(other, record, tree)), None)
        if twin is None or tree.parent_of(record) is twin:
            kept.append(record)
            known.append(record)
            open_by_name[record.name].append(record)
        else:
            record.is_doubtful = _are_doubtful(twin, record)
            _merge(twin, record, tree)
    return kept


def _may_be_one(first: CallRecord, second: CallRecord, tree: Tree) -> bool:
    """Whether two records may be one call: of different instrumentations, or of an MCP client and its server."""
    if not _agree(first, second):
        return False
    if not _shares_layer(first, second):
        return True
    # An MCP server's span is inside its client's span, unless its parent is missing.
    return second.convention == _MCP and second.span is not None and not tree.is_known_around(second.span)


def _are_doubtful(first: CallRecord, second: CallRecord) -> bool:
    """Whether two merged records may be two calls after all, because times are missing or the layer is the same."""
    return _is_untimed(first) or _is_untimed(second) or _shares_layer(first, second)


def _is_untimed(record: CallRecord) -> bool:
    span = record.span
    return span is None or span.start_ns is None or span.end_ns is None


def _has_defaults(record: CallRecord, other: CallRecord) -> bool:
    """Whether a span of a marked function has the arguments of another record of the call, and defaults beside them."""
    if record.span is None or record.span.scope != SCOPE or NOTHING in (record.args, other.args):
        return False
    return len(other.args) < len(record.args) and all(
        [key in record.args and same_but_nulls(record.args[key], value) for key, value in other.args.items()]
    )


def _merge(record: CallRecord, other: CallRecord, tree: Tree) -> None:
    if _has_defaults(record, other):
        record.args = other.args
    record.fill(other)
    if other.span and other.span.span_id:
        tree.stand_for(other.span.span_id, record)


def _differ(outer: CallRecord, inner: CallRecord) -> bool:
    return not _shares_layer(outer, inner) or inner.convention == _MCP


def _shares_layer(first: CallRecord, second: CallRecord) -> bool:
    return any(layer in first.layers for layer in second.layers)


def _agree(first: CallRecord, second: CallRecord) -> bool:
    """Whether two records have the same name, and ids and arguments that do not contradict each other."""
    if first.name != second.name:
        return False
    if first.call_id and second.call_id and first.call_id != second.call_id:
        return False
    if first.args is not NOTHING and second.args is not NOTHING:
        is_one = same_but_nulls(first.args, second.args)
        return is_one or _has_defaults(first, second) or _has_defaults(second, first)
    return _bare_agrees(first, second) and _bare_agrees(second, first)


def _bare_agrees(first: CallRecord, second: CallRecord) -> bool:
    """Whether a value recorded without the name of its parameter can be the only argument of the other record."""
    if first.bare is NOTHING or second.args is NOTHING:
        return True
    return _is_only_argument(first.bare, second.args)


def _is_only_argument(value: Any, args: Mapping[str, Any]) -> bool:
    """Whether a value is the only one of some arguments, or what a text that is the only one says as JSON."""
    return (len(args) == 1 and value in args.values()) or _is_in_text(value, args)


def _is_in_text(value: Any, args: Mapping[str, Any]) -> bool:
    """Whether some arguments are one text, which says this value as JSON.

    OpenInference records the only argument of a tool of LangChain as it is: the text `{"a": 1}` looks like arguments.
    """
    held = next(iter(args.values())) if len(args) == 1 else None
    if held.__class__ is not str or (value.__class__ is dict and held.lstrip()[:1] not in ("{", '"')):
        return False  # the second, because most texts are not objects, and finding that out is slow
    try:
        return bool(arguments(held) == value)
    except UnparsableError:
        return False


def join(records: list[CallRecord], requests: Requests) -> list[CallRecord]:
    """Fill the gaps of `records` from the requests of models, and return the requests that have no span.

    Spans and requests are paired by id, then by name and arguments, those with the same output first, then by name if
    the arguments of one are missing; always in order.
    """
    left = _join_by_id(records, requests)
    surplus = _surplus_attempts(left, [request for request in requests.made if not request.joined])
    # A call that was withheld and made later has one request, which is paired with the call that was made.
    open_records = sorted(left, key=lambda record: bool(record.withheld) or id(record) in surplus)
    # From the most certain key to the least: a step sees only what those before it left unpaired.
    open_requests = [request for request in requests.made if not request.joined]
    open_records, open_requests = _pair_by_output(open_records, open_requests, requests)
    for key in (_context_name_args, _name_args, _name_only):
        open_records, open_requests = _pair(open_records, open_requests, requests, key)
    _forget_places(records, [request for request in open_requests if not request.call_id])
    return _unseen(open_requests, records, _without_attempts(records, open_records))


def _surplus_attempts(records: list[CallRecord], requests: list[CallRecord]) -> set[int]:
    """Return the attempts, by `id()`, as far as there are more calls of some arguments than requests."""
    if not requests or not any([record.failed or record.call_id for record in records]):
        return set()
    more = Counter([_name_args(record, None) for record in records])
    more.subtract([_name_args(request, None) for request in requests])
    found: set[int] = set()
    for record in _attempts(records, _tool_args):
        more[key := _name_args(record, None)] -= 1
        found.update([id(record)] if more[key] >= 0 else ())
    return found


def _without_attempts(records: list[CallRecord], left: list[CallRecord]) -> list[CallRecord]:
    """Return those without a request that are not attempts of a later call; attempts get its turn and group."""
    called: dict[Hashable, list[CallRecord]] = {}
    unpaired = set(map(id, left))
    for record in records if left else ():
        if id(record) not in unpaired:
            called.setdefault(_tool_args(record), []).append(record)
    others = []
    for record in left:
        later = [found for found in called.get(_tool_args(record), ()) if _is_tried_again(record, found)]
        if later:
            record.turn, record.group = later[0].turn, later[0].group
        else:
            others.append(record)
    return others


def _attempts(records: list[CallRecord], key: Callable[[CallRecord], Hashable]) -> list[CallRecord]:
    """Return the calls whose next call with the same key is the next attempt, in the order of `records`."""
    later: dict[Hashable, CallRecord] = {}
    found = []
    for record in reversed(records):
        own = key(record)
        next_one, later[own] = later.get(own), record
        if next_one is not None and _is_tried_again(record, next_one):
            found.append(record)
    return found[::-1]


def _is_tried_again(record: CallRecord, later: CallRecord) -> bool:
    """Whether another call of the same tool, or of the same id, began as the next attempt when a call was over.

    What a framework runs again has the id of the first attempt, whatever came of that. Without this id, or with one
    that is made up and begins again in each turn, only a call that failed is tried again.
    """
    begun = _start(later)
    if begun is None or not 0 < end_of_call(record) <= begun:
        return False
    if record.call_id and record.call_id == later.call_id and not has_made_up_id(record):
        return True
    return record.failed and record.agent == later.agent and not have_different_ids(record, later)


def _tool_args(record: CallRecord) -> Hashable:
    return id(record.parent), *_name_args(record, None)


def _join_by_id(records: list[CallRecord], requests: Requests) -> list[CallRecord]:
    """Join records with the requests that have their ids, and return the other records."""
    left = []
    counts = Counter([record.call_id for record in records])
    tried_again = set(map(id, _attempts([record for record in records if record.call_id], _id_of)))
    for record in records:
        request = requests.with_id(record.call_id, record.name) if record.call_id else None
        if request is None or request.joined or requests.is_past(request):
            left.append(record)
            continue
        if id(record) in tried_again and requests.is_only(request) and _compatible(record, request):
            _take(record, _without_result(request))  # the model was told what came of the last try
            continue
        # A person may have edited the arguments: an id that is used only once identifies the call anyway.
        is_only = counts[record.call_id] == 1 and requests.is_only(request) and not has_made_up_id(record)
        if _compatible(record, request) or (is_only and _may_be_of_one_turn(record, request)):
            _take(record, request)
        else:
            left.append(record)
    return left


def _without_result(request: CallRecord) -> CallRecord:
    found = copy(request)
    found.output, found.error, found.failed, found.withheld = NOTHING, None, False, ""
    return found


def _pair_by_output(
    records: list[CallRecord], requests: list[CallRecord], known: Requests
) -> tuple[list[CallRecord], list[CallRecord]]:
    """Pair calls of tools that were requested or made several times by their outputs, as far as these were recorded.

    If the span of one of several equal requests is missing, the request left over is then the right one; and of several
    tries that one request led to, the model was told of the one with its result.
    """
    counts = Counter([request.name for request in requests])
    counts |= Counter([record.name for record in records])
    told = [record for record in records if counts[record.name] > 1 and record.output is not NOTHING]
    asked = [request for request in requests if counts[request.name] > 1 and request.output is not NOTHING]
    left = set(map(id, _pair(told, asked, known, _context_name_args_output)[0]))
    paired = {id(record) for record in told} - left
    return [each for each in records if id(each) not in paired], [each for each in requests if not each.joined]


Key: TypeAlias = "Callable[[CallRecord, Requests | None], Hashable]"


def _pair(
    records: list[CallRecord], requests: list[CallRecord], known: Requests, key: Key
) -> tuple[list[CallRecord], list[CallRecord]]:
    """Join records with compatible requests of the same key, in order, and return the others of both."""
    if not records or not requests:
        return records, requests
    waiting: dict[Hashable, list[CallRecord]] = {}
    for request in reversed(requests):
        waiting.setdefault(key(request, known), []).append(request)
    for record in _unclear(records) if key is not _name_only else ():
        # A call whose arguments are missing may belong to any of several equal requests, and one whose arguments are
        # known to a request without: those are paired by name.
        if record.args is NOTHING or len(waiting.get(key(record, None), ())) > 1:
            waiting.pop(key(record, None), None)
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


def _unclear(records: list[CallRecord]) -> list[CallRecord]:
    """Return the calls of tools that have calls with and calls without recorded arguments."""
    unknown = {record.name for record in records if record.args is NOTHING}
    known = {record.name for record in records if record.args is not NOTHING} if unknown else set()
    return [record for record in records if record.name in unknown & known] if known else []


def _context_name_args_output(record: CallRecord, requests: Requests | None) -> Hashable:
    return _context_name_args(record, requests), messages.key_of(record.output)


def _context_name_args(record: CallRecord, requests: Requests | None) -> Hashable:
    context = record.parent if requests is None else requests.contexts.get(id(record))
    return (id(context) if context is not None else None, *_name_args(record, requests))


def _name_args(record: CallRecord, requests: Requests | None) -> tuple[Hashable, ...]:
    return (record.name, NOTHING if record.args is NOTHING else repr(sorted(record.args.items())))


def _name_only(record: CallRecord, requests: Requests | None) -> Hashable:
    return record.name


def _compatible(record: CallRecord, request: CallRecord) -> bool:
    """Whether ids, turns and arguments allow a request to be that of a record; missing ones contradict nothing."""
    if have_different_ids(record, request):
        return False
    if not _may_be_of_one_turn(record, request):
        return False
    if record.args is NOTHING or request.args is NOTHING:
        if record.bare is not NOTHING and request.args is not NOTHING:
            return _is_only_argument(record.bare, request.args)
        return True
    is_same = same_but_nulls(record.args, request.args) or _is_in_text(record.args, request.args)
    return is_same or _has_defaults(record, request)


def _may_be_of_one_turn(record: CallRecord, request: CallRecord) -> bool:
    return None in (record.turn, request.turn) or record.turn == request.turn


def _take(record: CallRecord, request: CallRecord) -> None:
    """Fill a record from its request, and mark the request as joined."""
    # OpenAI Agents starts the span of a tool before it asks for approval, and ends it with the result of a guardrail.
    if request.withheld and (record.is_open or request.withheld == BY_GUARDRAIL):
        record.withheld = request.withheld
    if record.withheld == ELSEWHERE and not (request.is_open or request.withheld):
        # The program that ran the tool gave the agent a result; the span has the exception that deferred the call.
        record.withheld, record.failed, record.error = "", False, None
    if record.output is NOTHING and request.output is not NOTHING:
        for unwrap in WRAPPED_IN_MESSAGES.get(record.convention, ()):
            request.output = unwrap(request.output, request, {})
    if _has_defaults(record, request) or (
        NOTHING not in (record.args, request.args) and _is_in_text(record.args, request.args)
    ):
        record.args = request.args
    record.fill(request)
    record.group, record.order = request.group, request.order
    request.joined = True


def _forget_places(records: list[CallRecord], left: list[CallRecord]) -> None:
    """Remove group and order of calls which may belong to a request without an id that was left unpaired.

    A request that one message records without its id, and another one with it, is collected as two requests.
    """
    told: dict[Hashable, list[CallRecord]] = {}
    for request in left:
        told.setdefault(_name_args(request, None), []).append(request)
    sizes = Counter([record.group for record in records]) if told else Counter()
    orders = sorted([record.order for record in records]) if told else []
    beside = {key: any([sizes[request.group] for request in requests]) for key, requests in told.items()}
    for record in records if told else ():
        if requests := told.get(key := _name_args(record, None)):
            first, last = min(requests[0].order, record.order), max(requests[-1].order, record.order)
            if bisect_left(orders, last) > bisect_right(orders, first):
                record.order = -1
            if beside[key] or sizes[record.group] > 1:
                record.group = None


def part_siblings(records: list[CallRecord]) -> None:
    """Take calls that one message asked for out of one another, where only their times placed one inside the other.

    Of two sub-agents that tools started at once, the one that ran longer seems to hold the other.
    """
    for record in records:
        above = record.parent
        if above is None or record.group is None or record.group != above.group or not (record.span and above.span):
            continue
        if record.span.parent_id == above.span.parent_id:
            record.parent, record.agent = above.parent, record.agent or above.agent


def _unseen(requests: list[CallRecord], records: list[CallRecord], open_records: list[CallRecord]) -> list[CallRecord]:
    """Return the requests that have no span: calls never run, run elsewhere, or all of them if no tool is traced.

    Left out are requests that may be a call with a span: those of a tool with an unpaired span; those with the id, name
    and arguments of a call (ADK records an answer again beside the next one on the same span); and those without an id
    but with the name and arguments of a call.
    """
    if not records or not requests:
        return requests
    doubtful = {record.name for record in open_records}
    # Sets, because a run may have tens of thousands of calls and each request is looked up.
    made = {(record.call_id, _name_args(record, None)) for record in records if record.call_id}
    named = {(record.call_id, record.name) for record in records if record.call_id}
    told = {key for record in records for key in (_name_args(record, None), (record.name, NOTHING))}
    unclear = doubtful | {record.name for record in records if record.args is NOTHING}
    return [
        request
        for request in requests
        if request.name not in (doubtful if request.call_id else unclear)
        and (request.call_id or _name_args(request, None) not in told)
        and (request.call_id, _name_args(request, None)) not in made
        and (request.args is not NOTHING or (request.call_id, request.name) not in named)
    ]


def ordered(records: list[CallRecord]) -> list[CallRecord]:
    """Sort calls by start time, then in the order of the model's requests, then parents first, then as recorded.

    If some have no start time, all are in the order of the requests if that is known; otherwise those come last.
    """
    starts: list[Any] = [_start(record) for record in records]
    if None in starts and _are_told(records):
        return sorted(records, key=lambda record: record.order)
    # A shortcut without a sort key for each call: most runs are in order already, or have distinct times.
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
    """Return ranges of calls whose order is not known: they start together or at an unknown time.

    Calls requested at once may start in any order, so the order of those without spans is not known.

    With `in_log`, all calls are in one log of messages, in order.
    """
    if len(records) < 2:
        return ()
    if not all([record.is_begun for record in records]):
        return ((0, len(records)),)
    if any([_start(record) is None for record in records]):
        # A call without a time may have been made before any other, unless one conversation has them all in order.
        # Agents inside calls have conversations of their own, whose position among the others is not recorded; and
        # several traces of one conversation are ordered only by their times. A log has all calls in order.
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
    """Return ranges in order, with overlapping ranges merged."""
    found: list[tuple[int, int]] = []
    for first, end in sorted(ranges):
        if found and first < found[-1][1]:
            first, end = found[-1][0], max(end, found.pop()[1])
        found.append((first, end))
    return tuple(found)


def _mixed(records: list[CallRecord]) -> list[tuple[int, int]]:
    """Return the ranges of groups of calls requested at once of which only some have a span with a start time."""
    places: dict[str, list[int]] = {}
    for place, record in enumerate(records):
        if record.group is not None:
            places.setdefault(record.group, []).append(place)
    found = [held for held in places.values() if len({records[place].span is None for place in held}) > 1]
    return [(held[0], held[-1] + 1) for held in found]


def group_by_time(records: list[CallRecord]) -> None:
    """Group calls that overlap in time under one agent, if messages have not put them into a group.

    Spans between a call and its agent are ignored: frameworks, servers and queues add them. Calls made in threads that
    lost the context of the agent may belong to any agent.
    """
    has_groups = any([record.group is not None for record in records])
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
    if has_groups:  # others are numbered already, as they are found in order
        _number_groups(records)


def _number_groups(records: list[CallRecord]) -> None:
    """Number the groups of calls in order of their first calls, each kind separately.

    This way the name of a group depends only on the calls, not on what else was read before.
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
    # A call that ran within the time of another one may have been made by it, unless both are in the same span.
    if not (first.is_parent_known and second.is_parent_known) and end_of_call(second) <= end_of_call(first):
        return first.within is not None and first.within == second.within
    return first.under == second.under or first.under is None or second.under is None


def _start(record: CallRecord) -> int | None:
    """Return when a call started, or was requested; None if only a later prompt shows that it was made."""
    if record.span:
        return record.span.start_ns
    return None if record.is_told_later else record.asked_ns


def _depths(records: list[CallRecord]) -> dict[int, int]:
    """Count the ancestors of each call, by its `id()`; a cycle of parents is followed once."""
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
    """Return when a call ended, at least a nanosecond after its start; 0 if the start is unknown."""
    span = record.span
    if span is None or span.start_ns is None:
        return 0
    return max(span.end_ns or 0, span.start_ns + 1)
