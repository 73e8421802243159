"""Turns of a conversation: which of its spans belong to the same one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec

from rightcall.reading.conventions import Role
from rightcall.reading.messages import Conversation, Exchange, carriers_among, words_of, words_shared
from rightcall.reading.spans import Span

from ._rooms import Room, Rooms, end_of
from ._tree import Tree

Talk = Callable[[Span], Conversation]
"""Reads the messages that a span carries."""


class Turns(msgspec.Struct, frozen=True):
    """The turns of a run."""

    count: int = 1
    begins: tuple[int, ...] = ()
    """When each turn but the first began."""
    traces: Mapping[str, tuple[int, ...]] = {}
    """For each trace in which there was work when it began, and when each further turn inside of it did."""
    is_known: bool = True
    """Whether these are all: where it is not known whether the user spoke in between, no call has a turn."""
    given: Mapping[int, int] | None = None
    """The turn of each span, by its identity, where turns were told apart while they ran; then no times are known."""
    ends: Mapping[int, int] = {}
    """When the work of each agent and model was over, by the identity of its span; the span may have ended later."""

    def of(self, span: Span) -> int | None:
        """The turn of a span; none where that cannot be told."""
        if self.given is not None:
            return self.given.get(id(span))
        begun = self.traces.get(span.trace_id)
        if begun is None or self.count == 1 or span.start_ns is None:
            return self.at(span.start_ns)
        return self.at(max(begun[0], span.start_ns))  # what is around the work of a trace began before it

    def at(self, time_ns: int | None) -> int | None:
        """The turn that was under way at a time."""
        if self.count == 1:
            return 0
        return None if time_ns is None or self.given is not None else bisect_right(self.begins, time_ns)

    def parted(self, spans: Iterable[Span]) -> list[list[Span]]:
        """The spans of each turn, without those that reach over several."""
        parts: list[list[Span]] = [[] for _ in range(self.count)]
        for span in spans:
            turn = self.of(span)
            further = self.traces.get(span.trace_id, ())[1:]
            end = self.ends.get(id(span)) or end_of(span)
            if turn is not None and not any([(span.start_ns or 0) < begin < end for begin in further]):
                parts[turn].append(span)
        return parts


def turns_in(spans: Sequence[Span], roles: Mapping[int, Role], tree: Tree, talk: Talk) -> Turns:
    """The turns that spans show.

    Traces of one conversation that follow one another, with an agent or model at work in them, are turns; one that
    began while another ran, such as a sub-agent's, is of the same turn. Inside of one trace, requests that follow one
    another are turns where the user said something new for the later one.
    """
    traces: dict[str, list[Span]] = {}
    for span in spans:
        if id(span) in roles and span.start_ns is not None:
            traces.setdefault(span.trace_id, []).append(span)
    is_known = _are_all_known(spans, roles, traces)
    if sum(map(len, traces.values())) < 2:
        return Turns(is_known=is_known)
    rooms = Rooms(spans, roles, tree)
    ends = {id(span): rooms.end_of_work(span) for at_work in traces.values() for span in at_work}
    begins = set(_begins_of_traces(traces.values(), ends))
    begun: dict[str, tuple[int, ...]] = {}
    for trace, at_work in traces.items():
        further, is_sure = _begins_of_requests(rooms.of(at_work), talk)
        begun[trace] = (min(map(_start, at_work)), *further)
        begins.update(further)
        is_known = is_known and is_sure
    return Turns(count=len(begins) + 1, begins=tuple(sorted(begins)), traces=begun, is_known=is_known, ends=ends)


def _are_all_known(spans: Sequence[Span], roles: Mapping[int, Role], traces: Mapping[str, Sequence[Span]]) -> bool:
    """Whether all spans of models and agents have a time, and those with messages say what they stand for."""
    if sum([id(span) in roles for span in spans]) > sum(map(len, traces.values())):
        return False
    return bool(traces) or sum([bool(carriers_among(span.attributes)) for span in spans]) < 2


def _begins_of_traces(traces: Iterable[Sequence[Span]], ends: Mapping[int, int]) -> Iterator[int]:
    times = sorted([(min(map(_start, trace)), max([ends[id(span)] for span in trace])) for trace in traces])
    latest = times[0][1]
    for begin, end in times[1:]:
        if begin >= latest:
            yield begin
        latest = max(latest, end)


def _start(span: Span) -> int:
    return span.start_ns or 0


def _begins_of_requests(rooms: Sequence[Room], talk: Talk) -> tuple[list[int], bool]:
    """When each turn but the first began, by the requests of a trace; and whether that could be told of all."""
    begins, is_sure = [], True
    told = [room for room in rooms if room.agent or _first_said(room.models, talk)] if len(rooms) > 1 else rooms
    rooms = told or rooms  # a model without messages beside others with them is one for embeddings, or the like
    latest = rooms[0].end if rooms else 0
    for last, room in pairwise(rooms):
        begin = room.begin_after(last)
        if begin >= latest:
            is_new = _is_asked_anew(last, room, talk)
            begins += [begin] if is_new else []
            is_sure = is_sure and is_new is not None
        latest = max(latest, room.end)
    return begins, is_sure


def _is_asked_anew(last: Room, room: Room, talk: Talk) -> bool | None:
    """Whether the user said something between two requests; none where that cannot be told.

    A hand-off, the next agent of a team or the next step of a graph is given what the user said before. Where messages
    do not tell, the same agent that is asked again, by nothing that is itself a request, is asked by the user.
    """
    same_agent = True if room.agent and room.agent == last.agent else None
    before, now = _first_said(reversed(last.models), talk), _first_said(room.models, talk)
    words_before, words = words_of(before), words_of(now)
    if not words or not words_before:
        return same_agent
    if words == words_before:
        return False
    shared = words_shared(words_before, words)
    if shared is None:
        return same_agent
    return len(words) > len(shared) and _follows_work(now)


def _first_said(models: Iterable[Span], talk: Talk) -> list[Exchange]:
    return next((said.input for span in models if (said := talk(span)).input), [])


def _follows_work(said: Sequence[Exchange]) -> bool:
    """Whether the agent was at work in a conversation before the last words of the user."""
    since_work = False
    for exchange in reversed(said):
        if exchange.is_of_user:
            since_work = True
        elif exchange.is_of_agent:
            return since_work
    return False
