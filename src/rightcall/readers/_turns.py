"""Turns of a conversation: which of its spans belong to the same one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import msgspec

from ._carriers import Conversation
from ._roles import Role
from ._rooms import Room, Rooms, end_of
from ._span import Span
from ._threads import words_of, words_shared
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
    given: Mapping[int, int] | None = None
    """The turn of each span, by its identity, where turns were told apart while they ran; then no times are known."""

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
            if turn is not None and not any([(span.start_ns or 0) < begin < end_of(span) for begin in further]):
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
    if sum(map(len, traces.values())) < 2:
        return Turns()
    rooms = Rooms(spans, roles, tree)
    further = {trace: tuple(_begins_of_requests(rooms.of(held), talk)) for trace, held in traces.items()}
    begins = {*_begins_of_traces(traces.values()), *[begin for held in further.values() for begin in held]}
    begun = {trace: (min(map(_start, held)), *further[trace]) for trace, held in traces.items()}
    return Turns(count=len(begins) + 1, begins=tuple(sorted(begins)), traces=begun)


def _begins_of_traces(traces: Iterable[Sequence[Span]]) -> Iterator[int]:
    times = sorted([(min(map(_start, trace)), max(map(end_of, trace))) for trace in traces])
    latest = times[0][1]
    for begin, end in times[1:]:
        if begin >= latest:
            yield begin
        latest = max(latest, end)


def _start(span: Span) -> int:
    return span.start_ns or 0


def _begins_of_requests(rooms: Sequence[Room], talk: Talk) -> Iterator[int]:
    latest = rooms[0].end if rooms else 0
    for last, room in pairwise(rooms):
        begin = room.begin_after(last)
        if begin >= latest and _is_asked_anew(last, room, talk):
            yield begin
        latest = max(latest, room.end)


def _is_asked_anew(last: Room, room: Room, talk: Talk) -> bool:
    """Whether the user said something between two requests.

    A hand-off, the next agent of a team or the next step of a graph is given what the user said before. Where messages
    do not tell, the same agent that is asked again, by nothing that is itself a request, is asked by the user.
    """
    is_same_agent = bool(room.agent) and room.agent == last.agent
    before, now = _first_said(reversed(last.models), talk), _first_said(room.models, talk)
    if before is None or now is None:
        return is_same_agent
    words_before, words = words_of(before.input), words_of(now.input)
    if not words or words == words_before:
        return False
    shared = words_shared(words_before, words)
    if shared is None:
        return is_same_agent
    return len(words) > len(shared) and _follows_work(now)


def _first_said(models: Iterable[Span], talk: Talk) -> Conversation | None:
    return next((said for span in models if (said := talk(span)).input), None)


def _follows_work(said: Conversation) -> bool:
    """Whether the agent was at work in a conversation before the last words of the user."""
    since_work = False
    for exchange in reversed(said.input):
        if exchange.is_of_user:
            since_work = True
        elif exchange.is_of_agent:
            return since_work
    return False
