"""Read the prompts and answers of models and agents in a run.

Some answers do not show which calls were made: those that stopped to call a tool but have no call (`Stop`), and those
of requests that failed, whose calls may not have been made (`_Failure`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from itertools import accumulate
from typing import Any

import msgspec

from rightcall.reading.conventions import CallShape, Role
from rightcall.reading.messages import (
    Conversation,
    Exchange,
    Requests,
    SpanMessages,
    answer_in,
    message_attributes,
    question_in,
    results_in_state,
    stopped_to_call,
    told_by_task,
)
from rightcall.reading.spans import CallRecord, LogRecord, is_incomplete

from ._input_output import has_answer
from ._notes import NotUnderstood
from ._span_tree import ReadSpan, Tree
from ._turns import Turns

_SILENT = Conversation()
_FEWEST_SUMMED = 2
_WHY = ", which says that its model stopped to call a tool, and shows no call"
_FAILED = "the request to the model failed"
_CHOICES = ", with several choices of an answer: which of them was used is not recorded"


class Conversations:
    """The conversations of a run, by span."""

    def __init__(self, spans: Sequence[ReadSpan], roles: Mapping[int, Role], logs: Iterable[LogRecord]) -> None:
        self._spans, self._roles, self._logs = spans, roles, logs
        self._messages = SpanMessages()
        self._carried: dict[int, Conversation] = {}
        self._logged: list[Conversation] | None = None
        self.stops: list[Stop] = []
        """The answers that stopped to call a tool but have no call; set by `add_to`."""
        self.unshown: Stop | None = None
        """The first of them whose calls are in no other message; set by `add_to`."""
        self._failures: list[_Failure] = []

    def of(self, span: ReadSpan) -> Conversation:
        """Return the conversation in a span, or in the log records of the span."""
        carried = self._carried_by(span)
        if carried or span.span_id is None:
            return carried
        return next((said for said in self._by_logs() if said.span_id == span.span_id), carried)

    def add_to(self, requests: Requests, turns: Turns, tree: Tree, not_understood: NotUnderstood) -> None:
        """Add every conversation to the requests: models' before agents', in order of time."""
        held = self._held(turns)
        self.stops = [stop for talk in held if (stop := talk.stop())]
        talks = [talk for talk in held if talk.said]
        self._failures = _failures_in(talks)
        _note_copies([talk.said for talk in talks])
        for said in self._sums(tree):
            said.of_model, said.output = False, [_ungrouped(exchange) for exchange in said.output]
        requests.is_unanswered = _is_unanswered(talks)
        # Those of unknown turns come last: their turns are found by the texts of those with known turns.
        talks.sort(key=lambda talk: (not talk.said.of_model, talk.turn is None, talk.said.start_ns or 0))
        for talk in talks:
            talk.add_to(requests, tree, not_understood)
        self.unshown = first_without_own_calls(self.stops, requests.made) if self.stops else None
        _forget_order(requests, [talk.said for talk in talks if talk.said.of_model])

    def take_states(self, requests: Requests) -> None:
        """Give requests without a result the one in the state with which a graph ended, which no model was shown."""
        open_ones = [
            record for record in requests.made if record.call_id and record.is_open and requests.is_only(record)
        ]
        waiting = {record.call_id or "": record for record in open_ones}
        for span in self._spans if waiting else ():
            for result in () if span.kind.__class__ is CallShape else results_in_state(span.attributes, waiting):
                request = waiting.get(result.call_id or "")
                if request is not None and request.is_open:
                    request.output, request.failed, request.error = result.output, result.failed, result.error

    def _held(self, turns: Turns) -> list[_Talk]:
        """Return the conversations of all spans that are not calls, including empty ones, and those of log records."""
        spans = [span for span in self._spans if span.kind.__class__ is not CallShape]
        found = [_Talk(self._carried_by(span), span, turns.of(span)) for span in spans]
        by_id = {span.span_id: span for span in self._spans if span.span_id} if self._by_logs() else {}
        for said in self._by_logs():
            span = by_id.get(said.span_id or "")
            # AWS's distribution also writes the input and output of a tool as messages.
            if span is None or span.kind.__class__ is not CallShape:
                turn = turns.at(said.start_ns) if span is None else turns.of(span)
                found.append(_Talk(said, span, turn, in_records=True))
        return found

    def withhold_failed(self, requests: Iterable[CallRecord]) -> CallRecord | None:
        """Withhold calls that models asked for in requests that failed; return the first that may have been made.

        An agent gets an exception instead of such an answer. That of a stream which broke off is recorded as far as it
        came. What has a result was made all the same, and so has what has a span: `requests` have none.
        """
        failures = {(each.begin_ns, each.end_ns): each for each in self._failures}
        unsure = None
        for request in requests if failures else ():
            failure = failures.get((request.asked_ns, request.answered_ns))
            if failure is not None and request.is_open and not request.is_told_later:
                request.withheld = _FAILED
                unsure = unsure or (None if failure.is_repeated else request)
        return unsure

    def asked_and_answered(self) -> tuple[Any, Any]:
        """Return the question and the answer of a run that has only log records; None if unknown."""
        said = self._by_logs()
        asked = question_in([each.message for each in said[0].input]) if said else None
        return asked, answer_in([each.message for each in said[-1].output]) if said else None

    def _sums(self, tree: Tree) -> list[Conversation]:
        """Return the conversations of model spans around several others, which repeat their answers (Vercel)."""
        models = [span for span in self._spans if self._roles.get(id(span)) == "model"]
        inner = Counter([tree.at_work_around(span) for span in models]) if len(models) > _FEWEST_SUMMED else {}
        around = [span for span in models if span.span_id and inner.get(span.span_id, 0) >= _FEWEST_SUMMED]
        return [said for span in around if (said := self._carried_by(span)) is not _SILENT]

    def _carried_by(self, span: ReadSpan) -> Conversation:
        known = self._carried.get(id(span))
        if known is None:
            role = self._roles.get(id(span))
            speaks = role == "model" or span.events or message_attributes(span.attributes)
            # What is left of messages that the SDK dropped in part says something else than they did.
            is_silent = (not speaks and not told_by_task(span.attributes, role)) or is_incomplete(span.attributes)
            known = self._carried[id(span)] = _SILENT if is_silent else self._messages.in_span(span, role)
        return known

    def _by_logs(self) -> list[Conversation]:
        if self._logged is None:
            self._logged = self._messages.in_logs(self._logs)
        return self._logged


class _Talk(msgspec.Struct, frozen=True):
    """A conversation with its span and its turn, each None if unknown."""

    said: Conversation
    span: ReadSpan | None
    turn: int | None
    in_records: bool = False
    """Whether it was read from log records, not from the span itself."""

    def stop(self) -> Stop | None:
        """Return the stop, if the model stopped to call a tool and has no call; else None."""
        if self.in_records or self.span is None:
            return stop_in_records(self.said, self.turn)
        return stop_of(self.span, self.said, self.turn)

    def add_to(self, requests: Requests, tree: Tree, not_understood: NotUnderstood) -> None:
        """Add the conversation to the requests."""
        said, span = self.said, self.span
        not_understood.note_messages([*said.input, *said.output], " of a span")
        context = tree.enclosing(span) if span else None
        requests.is_placed = span is None or context is not None or tree.is_known_around(span)
        agent = tree.agent_at(span) if span and context is None else None
        requests.add(said.input, said.output, context, said.start_ns, said.end_ns, self.turn, said.of_model, agent)

    def may_lack_answer(self) -> bool:
        """Whether the model may have given an answer that was not recorded."""
        if self.in_records or self.span is None:
            return True
        return not self.span.failed and (not has_answer(self.span) or _mute_in(self.said.output))


class _Failure(msgspec.Struct, frozen=True):
    """A request to a model that failed, and has calls in its answer."""

    begin_ns: int | None
    end_ns: int | None
    is_repeated: bool
    """Whether the model was asked the same again, so that the answer was not used."""


def _failures_in(talks: Sequence[_Talk]) -> list[_Failure]:
    models = [talk for talk in talks if talk.said.of_model and talk.span]
    failed = [talk for talk in models if talk.span and talk.span.failed and _asks(talk.said)]
    return [
        _Failure(talk.said.start_ns, talk.said.end_ns, any([_asks_again(talk.said, other.said) for other in models]))
        for talk in failed
    ]


def _asks(said: Conversation) -> bool:
    return any([exchange.calls for exchange in said.output])


def _asks_again(said: Conversation, other: Conversation) -> bool:
    """Whether a model was asked the same after an answer, without the answer."""
    if said.end_ns is None or other.start_ns is None or other.start_ns < said.end_ns:
        return False
    pairs = zip(said.input, other.input, strict=False)
    return len(said.input) == len(other.input) and all([one is two or one.message == two.message for one, two in pairs])


def _is_unanswered(talks: Iterable[_Talk]) -> bool:
    """Whether an answer of a model was not recorded, and is in no later prompt either."""
    given = [talk for talk in talks if talk.said.of_model and talk.said.input]
    given.sort(key=lambda talk: talk.said.start_ns or 0)
    longest = 0
    for talk in reversed(given):
        said = talk.said
        count = len(said.input)
        is_blank = count >= longest and all(map(_is_blank, said.output))
        # Asked last: the span's attributes have to be decoded for it, and nearly every answer was recorded.
        if is_blank and said.input[-1].writer != "model" and talk.may_lack_answer():
            return True
        longest = count if count > longest and not any(map(_is_lost, said.input)) else longest
    return False


def _forget_order(requests: Requests, answers: Sequence[Conversation]) -> None:
    """Remove the order of requests if it is not known for all of them when the model made them.

    An answer without a time may be older than any other. If some answers have no content, their requests are first seen
    in a later prompt, after requests that were made later.
    """
    said = [each for answer in answers for each in answer.output]
    is_mixed = _mute_in(said) and any([each.calls for each in said])
    if is_mixed or len({answer.start_ns is None for answer in answers}) > 1:
        for record in requests.known:
            record.order, record.asked_ns = -1, None if is_mixed else record.asked_ns


def _mute_in(exchanges: Iterable[Exchange]) -> bool:
    return any([each.is_mute for each in exchanges])


def _is_lost(message: Exchange) -> bool:
    """Whether a message in a prompt lacks its content, so that the prompt does not show an earlier answer."""
    return message.is_mute or not (message.calls or message.results or not message.is_blank)


def _is_blank(answer: Exchange) -> bool:
    told = answer.calls or answer.results or answer.message.get("finish_reason")
    return answer.is_mute or (not told and answer.is_blank)


def _note_copies(conversations: Iterable[Conversation]) -> None:
    """Mark a model's conversation as not a model's if it repeats calls of others together with more calls.

    Vercel's outer span lists all calls at once that the models inside it requested one after the other.
    """
    asked = [(said, _asked_for(said)) for said in conversations if said.of_model]
    fewest: dict[str, int] = {}
    for _, ids in asked:
        for call_id in ids:
            fewest[call_id] = min(len(ids), fewest.get(call_id, len(ids)))
    for said, ids in asked:
        if any([fewest[call_id] < len(ids) for call_id in ids]):
            said.of_model = False


def _ungrouped(exchange: Exchange) -> Exchange:
    """Return a copy of an exchange with its calls in no group; the original belongs to a cache."""
    if not exchange.calls:
        return exchange
    found = copy(exchange)
    found.calls = [copy(call) for call in exchange.calls]
    for call in found.calls:
        call.step = None
    return found


def _asked_for(said: Conversation) -> set[str]:
    return {call.call_id for exchange in said.output for call in exchange.calls if call.call_id}


class Stop(msgspec.Struct, frozen=True):
    """An answer that stopped to call a tool but does not show which: it has no call, or several choices."""

    told: str
    """A description of the answer, as something that was not understood."""
    begin_ns: int | None
    end_ns: int | None
    turn: int | None


def stop_of(span: ReadSpan, said: Conversation, turn: int | None) -> Stop | None:
    """Return the stop that the attributes or the messages of a span show; None if there is none."""
    why = _why(said, span.attributes)
    return Stop(f"the span {span.name[:80]!r}{why}", span.start_ns, span.end_ns, turn) if why else None


def stop_in_records(said: Conversation, turn: int | None) -> Stop | None:
    """Return the stop that log records show; None if there is none."""
    why = _why(said)
    return Stop(f"a log record{why}", said.start_ns, said.end_ns, turn) if why else None


def _why(said: Conversation, attributes: Mapping[str, Any] | None = None) -> str:
    """Describe why an answer is a stop, given the attributes of its span; empty if it is none."""
    if said.output and any([exchange.calls for exchange in said.output]):
        return ""
    if said.is_choice:
        return _CHOICES
    is_stopped = attributes is not None and stopped_to_call(attributes)
    return _WHY if is_stopped or any([exchange.is_broken_off for exchange in said.output]) else ""


def first_without_own_calls(stops: Iterable[Stop], requests: Sequence[CallRecord]) -> Stop | None:
    """Return the first stop without a request of its own, for runs with calls only in messages; None if each has one.

    A request belongs to a stop if another span has it at the same time, or if a later prompt is the first to have it.
    Stops at the same time are one stop, recorded by several instrumentations.
    """
    told = _Times(requests)
    prompts = iter(told.of_prompts)
    settled_ns = -1
    for stop in sorted(stops, key=lambda stop: stop.begin_ns or 0):
        begin, end = stop.begin_ns, stop.end_ns
        if begin is None or end is None:
            return stop
        is_known = begin < settled_ns or told.has_answer(begin, end)
        if not is_known and next((time for time in prompts if time >= end), None) is None:
            return stop
        settled_ns = max(settled_ns, end)
    return None


class _Times:
    """The times of answers with requests: when the models were asked, and when they answered."""

    def __init__(self, requests: Iterable[CallRecord]) -> None:
        timed = [record for record in requests if record.asked_ns is not None]
        shown = [record for record in timed if record.is_told_later]
        groups = {record.group or f"{id(record)}": record.asked_ns or 0 for record in shown}
        self.of_prompts = sorted(groups.values())
        """The times of prompts that are the first to show the requests of an earlier answer, one for each answer."""
        answers = [record for record in timed if not record.is_told_later]
        pairs = sorted([(record.asked_ns or 0, record.answered_ns or 0) for record in answers])
        self._asked = [asked for asked, _ in pairs]
        self._answered = list(accumulate([answered for _, answered in pairs], max))

    def has_answer(self, begin: int, end: int) -> bool:
        """Whether an answer with requests overlaps a time: then another span has the calls of the same answer."""
        before = bisect_left(self._asked, end)
        return before > 0 and self._answered[before - 1] > begin


def first_in_other_turn(stops: Iterable[Stop], turns: Collection[int | None]) -> Stop | None:
    """Return the first stop in none of these turns, which are those with a known call; None if there is none."""
    return next((stop for stop in stops if stop.turn not in turns), None)


def stop_in_log(exchanges: Sequence[Exchange]) -> str:
    """Describe the first message of a log that stopped to call a tool and has no call near it; otherwise return "".

    Claude Code writes each block of an answer as a line of its own, and streams end with the finish reason. So a call
    is near a message if neither a result nor a message of the user is between them. An event that ends a step comes
    after the results of its calls (Vercel's stream).
    """
    stopped, has_call, is_in_step = 0, False, False
    for place, exchange in enumerate(exchanges, 1):
        if exchange.results or exchange.is_of_user:
            if stopped and not has_call:
                break
            stopped, has_call = 0, False
        has_call = has_call or bool(exchange.calls)
        is_in_step = not exchange.is_of_user and (is_in_step or has_call)
        if exchange.is_broken_off and (exchange.writer or not is_in_step):
            stopped = stopped or place
        elif exchange.is_broken_off:
            is_in_step = False
    return f"message {stopped}{_WHY}" if stopped and not has_call else ""
