"""The conversations of a run: the messages in its spans and log records, each read once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rightcall.reading.conventions import CallShape, Role
from rightcall.reading.messages import Conversation, Requests, SpanMessages
from rightcall.reading.spans import LogRecord

from ._notes import NotUnderstood
from ._read_span import ReadSpan
from ._span_tree import Tree
from ._turns import Turns


class Conversations:
    """The conversations of a run, by span."""

    def __init__(self, spans: Sequence[ReadSpan], roles: Mapping[int, Role], logs: Iterable[LogRecord]) -> None:
        self._spans, self._roles, self._logs = spans, roles, logs
        self._messages = SpanMessages()
        self._carried: dict[int, Conversation] = {}
        self._logged: list[Conversation] | None = None

    def of(self, span: ReadSpan) -> Conversation:
        """Return the conversation in a span, or in the log records of the span."""
        carried = self._carried_by(span)
        if carried or span.span_id is None:
            return carried
        return next((said for said in self._by_logs() if said.span_id == span.span_id), carried)

    def add_to(self, requests: Requests, turns: Turns, tree: Tree, not_understood: NotUnderstood) -> None:
        """Add every conversation to the requests: models' before agents', in order of time."""
        held = [(span, self._carried_by(span)) for span in self._spans if span.kind.__class__ is not CallShape]
        found = [(said, turns.of(span)) for span, said in held if said]
        turn_of = {span.span_id: turns.of(span) for span in self._spans} if self._by_logs() else {}
        found += [(said, turn_of.get(said.span_id, turns.at(said.start_ns))) for said in self._by_logs()]
        _note_copies([said for said, _ in found])
        found.sort(key=lambda pair: (not pair[0].of_model, pair[0].start_ns or 0))
        contexts = {span.span_id: tree.enclosing(span) for span in self._spans} if found else {}
        placed = {span.span_id: tree.is_known_around(span) for span in self._spans} if found else {}
        for said, turn in found:
            not_understood.note_messages([*said.input, *said.output], " of a span")
            context = contexts.get(said.span_id)
            requests.is_placed = placed.get(said.span_id, True)
            requests.add(said.input, said.output, context, said.start_ns, said.end_ns, turn or 0, said.of_model)

    def _carried_by(self, span: ReadSpan) -> Conversation:
        known = self._carried.get(id(span))
        if known is None:
            known = self._carried[id(span)] = self._messages.in_span(span, self._roles.get(id(span)))
        return known

    def _by_logs(self) -> list[Conversation]:
        if self._logged is None:
            self._logged = self._messages.in_logs(self._logs)
        return self._logged


def _note_copies(conversations: Iterable[Conversation]) -> None:
    """Demote a model's span that lists calls of the models inside it, and more, to an agent's.

    Vercel's outer span lists at once what the inner ones ask for one after the other.
    """
    asked = [(said, _asked_for(said)) for said in conversations if said.of_model]
    fewest: dict[str, int] = {}
    for _, ids in asked:
        for call_id in ids:
            fewest[call_id] = min(len(ids), fewest.get(call_id, len(ids)))
    for said, ids in asked:
        if any([fewest[call_id] < len(ids) for call_id in ids]):
            said.of_model = False


def _asked_for(said: Conversation) -> set[str]:
    return {call.call_id for exchange in said.output for call in exchange.calls if call.call_id}
