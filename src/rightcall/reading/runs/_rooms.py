"""Requests among the spans of a run: what the user, or the program around the agent, asked one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain

import msgspec

from rightcall.reading.conventions import CallShape, Role
from rightcall.reading.spans import Span

from ._answers import GIVEN
from ._tree import Tree

_NAMES = ("gen_ai.agent.name", "agent.name", "agent_name", "graph.node.id")
_INVOKED = ("invoke_agent ", "agent_run [")
_NEVER = 1 << 80


class Room(msgspec.Struct):
    """A span that stands for one request, and the models that were at work for it.

    A request is what has a question of its own, or is an agent with a name; outside of these, each use of a model.
    """

    span: Span
    agent: str
    """The name of the agent; empty where none is known."""
    path: tuple[Span, ...]
    """The spans around it, from the inside."""
    begin: int
    end: int
    models: list[Span]

    def begin_after(self, last: Room) -> int:
        """When the request began, with those spans around it that were not around the last one."""
        shared = {id(span) for span in last.path}
        own = [span.start_ns for span in self.path if id(span) not in shared and span.start_ns is not None]
        return min([self.begin, *own])


class Rooms:
    """The requests of a run that are neither inside of one another nor inside of a call."""

    def __init__(self, spans: Sequence[Span], roles: Mapping[int, Role], tree: Tree) -> None:
        self._spans: dict[str | None, Span] = {span.span_id: span for span in spans if span.span_id}
        self._outermost: dict[int, Span | None] = {}
        self._ends: dict[int, int] = {}
        self._roles, self._tree = roles, tree

    def of(self, at_work: Iterable[Span]) -> list[Room]:
        """The requests for which agents and models were at work, in order."""
        rooms: dict[int, Room] = {}
        for span in sorted(at_work, key=lambda span: (span.start_ns or 0, -end_of(span))):
            if self._tree.enclosing(span) is not None:
                continue
            is_model = self._roles[id(span)] == "model"
            found = self._request_around(span) or (self._model_around(span) if is_model else None)
            if found is None:
                continue  # an agent without a name or a question: a trace that frameworks put around their runs
            room = rooms.get(id(found)) or rooms.setdefault(id(found), self._room(found))
            room.end = max(room.end, self.end_of_work(span))
            if is_model:
                room.models.append(span)
        return sorted(rooms.values(), key=lambda room: room.begin)

    def end_of_work(self, span: Span) -> int:
        """When the work was over that a span of an agent or a model stands for.

        An agent is at work no longer than the agents around it: the span of a generator ends when the generator is
        thrown away, which may be turns later.
        """
        end = end_of(span)
        return end if self._roles[id(span)] == "model" else min(end, self._first_end(span))

    def _room(self, span: Span) -> Room:
        path = tuple(self._around(span))
        return Room(span, _own_name(span, self._roles), path, span.start_ns or 0, end_of(span), [])

    def _request_around(self, span: Span) -> Span | None:
        """The outermost request around a span, or the span where it is one itself."""
        way: list[Span] = []
        found: Span | None = None
        for each in (span, *self._around(span)):
            if id(each) in self._outermost:
                found = self._outermost[id(each)]
                break
            way.append(each)
        for each in reversed(way):
            found = self._outermost[id(each)] = found or (each if self._is_request(each) else None)
        return found

    def _first_end(self, span: Span) -> int:
        """When the first of the agents ended that a span is, or is inside of."""
        way: list[Span] = []
        end = _NEVER
        for each in chain((span,), self._around(span)):
            if id(each) in self._ends:
                end = self._ends[id(each)]
                break
            way.append(each)
        for each in reversed(way):
            if each.end_ns and self._roles.get(id(each)) == "agent":
                end = min(end, end_of(each))
            self._ends[id(each)] = end
        return end

    def _model_around(self, span: Span) -> Span:
        """The outermost model around a model: one use of it, seen by several instrumentations."""
        return [span, *[each for each in self._around(span) if self._roles.get(id(each)) == "model"]][-1]

    def _around(self, span: Span) -> Iterator[Span]:
        seen = {span.span_id}
        above = self._spans.get(span.parent_id)
        while above is not None and above.span_id not in seen:
            seen.add(above.span_id)
            yield above
            above = self._spans.get(above.parent_id)

    def _is_request(self, span: Span) -> bool:
        if self._roles.get(id(span)) == "model" or span.kind.__class__ is CallShape:
            return False
        return bool(_own_name(span, self._roles)) or not GIVEN.isdisjoint(span.attributes.keys())


def _own_name(span: Span, roles: Mapping[int, Role]) -> str:
    """The name that an agent's span has in an attribute; empty where it has none.

    The name of the span itself does not count: it may be that of a trace which a framework puts around its runs.
    """
    if roles.get(id(span)) != "agent":
        return ""
    named = next((str(held) for key in _NAMES if (held := span.attributes.get(key))), "")
    return named or (span.name if span.name.startswith(_INVOKED) else "")


def end_of(span: Span) -> int:
    """When a span ended; one that never did, when it began."""
    return max(span.end_ns or 0, span.start_ns or 0)
