"""Split a run into the turns of its conversation."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from math import inf
from operator import itemgetter
from typing import Any

import msgspec

from rightcall.reading import messages
from rightcall.reading.conventions import CallShape, Role
from rightcall.reading.messages import (
    Conversation,
    Exchange,
    message_attributes,
    stopped_to_call,
)
from rightcall.reading.spans import Span, is_incomplete

from ._input_output import GIVEN
from ._span_tree import ReadSpan, Tree

_NAMES = ("gen_ai.agent.name", "agent.name", "agent_name", "graph.node.id")
# OpenTelemetry GenAI, "Invoke agent span", and the name that ADK used before it.
_INVOKED = ("invoke_agent ", "agent_run [")


class UserRequest(msgspec.Struct):
    """One request to the agent, by the user or by the program around it: its span, and the models used for it.

    A request is a span with an input, or an agent with a name; outside of these, each use of a model is one.
    """

    span: ReadSpan
    agent: str
    """The name of the agent; empty if unknown."""
    path: tuple[ReadSpan, ...]
    """The spans around it, innermost first."""
    begin: int
    end: float
    models: list[ReadSpan]

    def begin_after(self, last: UserRequest) -> int:
        """Return when the request began, including spans around it that are not around the last request."""
        shared = {id(span) for span in last.path}
        own = [span.start_ns for span in self.path if id(span) not in shared and span.start_ns is not None]
        return min([self.begin, *own])

    @property
    def is_torn(self) -> bool:
        """Whether something was dropped of the spans of its models: it may have had messages."""
        return any([is_incomplete(span.attributes) for span in self.models])

    def is_for_agent_of(self, last: UserRequest) -> bool:
        """Whether this request and the last one are known to be for the same agent."""
        return bool(self.agent) and self.agent == last.agent

    def has_other_words_than(self, last: UserRequest) -> bool:
        """Whether both requests have plain text as input, and different ones. A person's decision would be JSON."""
        before, now = _given_to(last.span), _given_to(self.span)
        return (
            bool(before and now) and all(map(_is_plain, [*before, *now])) and not any([each in before for each in now])
        )


class UserRequests:
    """The requests of a run that are inside neither each other nor a call."""

    def __init__(self, spans: Sequence[ReadSpan], roles: Mapping[int, Role], tree: Tree) -> None:
        self._spans: dict[str | None, ReadSpan] = {span.span_id: span for span in spans if span.span_id}
        # Results are cached for every span on the way up, so that a chain of n spans is walked once, not n times.
        self._outermost: dict[int, ReadSpan | None] = {}
        self._ends: dict[int, float] = {}
        self._roles, self._tree = roles, tree

    def of(self, at_work: Iterable[ReadSpan]) -> list[UserRequest]:
        """Return the requests for which these agents and models worked, in order."""
        requests: dict[int, UserRequest] = {}
        for span in sorted(at_work, key=lambda span: (span.start_ns or 0, -end_of(span))):
            if self._tree.enclosing(span) is not None:
                continue
            is_model = self._roles[id(span)] == "model"
            found = self._request_around(span) or (self._model_around(span) if is_model else None)
            if found is None:
                continue  # an agent without name and input: the span that frameworks put around their runs
            request = requests.get(id(found)) or requests.setdefault(id(found), self._request(found))
            request.end = max(request.end, self.end_of_work(span))
            if is_model:
                request.models.append(span)
        return sorted(requests.values(), key=lambda request: request.begin)

    def end_of_work(self, span: ReadSpan) -> float:
        """Return when an agent or a model finished its work.

        An agent works no longer than the agents around it: the span of a generator ends when the generator is
        collected, which may be turns later.
        """
        end = end_of(span)
        return end if self._roles[id(span)] == "model" else min(end, self._first_end(span))

    def _request(self, span: ReadSpan) -> UserRequest:
        path = tuple(self._around(span))
        return UserRequest(span, _own_name(span, self._roles), path, span.start_ns or 0, end_of(span), [])

    def _request_around(self, span: ReadSpan) -> ReadSpan | None:
        """Return the outermost request around a span, the span included."""
        way: list[ReadSpan] = []
        found: ReadSpan | None = None
        for each in (span, *self._around(span)):
            if id(each) in self._outermost:
                found = self._outermost[id(each)]
                break
            way.append(each)
        for each in reversed(way):
            found = self._outermost[id(each)] = found or (each if self._is_request(each) else None)
        return found

    def _first_end(self, span: ReadSpan) -> float:
        """Return the earliest end of the agents around a span, the span included."""
        way: list[ReadSpan] = []
        end: float = inf
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

    def _model_around(self, span: ReadSpan) -> ReadSpan:
        """Return the outermost model around a model: one use of it, recorded by several instrumentations."""
        return [span, *[each for each in self._around(span) if self._roles.get(id(each)) == "model"]][-1]

    def _around(self, span: ReadSpan) -> Iterator[ReadSpan]:
        seen = {span.span_id}
        above = self._spans.get(span.parent_id)
        while above is not None and above.span_id not in seen:
            seen.add(above.span_id)
            yield above
            above = self._spans.get(above.parent_id)

    def _is_request(self, span: ReadSpan) -> bool:
        if self._roles.get(id(span)) == "model" or span.kind.__class__ is CallShape:
            return False
        return bool(_own_name(span, self._roles)) or not GIVEN.isdisjoint(span.attributes.keys())


def _own_name(span: ReadSpan, roles: Mapping[int, Role]) -> str:
    """Return the name of an agent in an attribute of its span; empty if there is none.

    The name of the span itself does not count: frameworks put a span with the name of a workflow around their runs.
    """
    if roles.get(id(span)) != "agent":
        return ""
    named = next((str(value) for key in _NAMES if (value := span.attributes.get(key))), "")
    return named or (span.name if span.name.startswith(_INVOKED) else "")


def _given_to(span: ReadSpan) -> list[Any]:
    return [value for key in GIVEN if (value := span.attributes.get(key))]


def _is_plain(value: Any) -> bool:
    return isinstance(value, str) and not value.startswith(("{", "["))


def end_of(span: ReadSpan) -> int:
    """Return when a span ended, or when it began if it never did."""
    return max(span.end_ns or 0, span.start_ns or 0)


ReadMessages = Callable[[ReadSpan], Conversation]
"""Returns the messages of a span."""


class Turns(msgspec.Struct, frozen=True):
    """The turns of a run."""

    count: int = 1
    begins: tuple[int, ...] = ()
    """When each turn but the first began."""
    traces: Mapping[str, tuple[int, ...]] = {}
    """For each trace with an agent or model, when the first of these started, and when each further turn began."""
    is_known: bool = True
    """Whether all turns were found. If the user may have written in between, calls get no turn."""
    given: Mapping[int, int] | None = None
    """The turn of each span by `id()`, if turns were recorded one by one; then there are no times."""
    ends: Mapping[int, float] = {}
    """When each agent and model finished its work, by `id()` of its span, which may have ended later."""

    def of(self, span: Span) -> int | None:
        """Return the turn of a span; None if unknown."""
        if self.given is not None:
            return self.given.get(id(span))
        if self.count == 1:
            return 0
        begun = self.traces.get(span.trace_id)
        if begun is None or span.start_ns is None:
            return self.at(span.start_ns)
        return self.at(max(begun[0], span.start_ns))  # spans around the first agent or model began before it

    def at(self, time_ns: int | None) -> int | None:
        """Return the turn at a time."""
        if self.count == 1:
            return 0
        return None if time_ns is None or self.given is not None else bisect_right(self.begins, time_ns)

    def are_ends_sure(self, at_work: Iterable[ReadSpan]) -> tuple[bool, bool]:
        """Whether the first and the last turn are certain: no work without a turn may be before or after them."""
        ends = [span.end_ns for span in at_work if self.begins and self.of(span) is None]
        if None in ends:
            return False, False
        known = [end for end in ends if end is not None]
        return not any([end <= self.begins[0] for end in known]), not any([end > self.begins[-1] for end in known])

    def parted(self, spans: Iterable[ReadSpan]) -> list[list[ReadSpan]]:
        """Return the spans of each turn, without those that extend over several."""
        parts: list[list[ReadSpan]] = [[] for _ in range(self.count)]
        for span in spans:
            turn = self.of(span)
            further = self.traces.get(span.trace_id, ())[1:]
            end = self.ends.get(id(span)) or end_of(span)
            if turn is not None and not any([(span.start_ns or 0) < begin < end for begin in further]):
                parts[turn].append(span)
        return parts


def turns_in(spans: Sequence[ReadSpan], roles: Mapping[int, Role], tree: Tree, read: ReadMessages) -> Turns:
    """Find the turns of a run by its spans.

    Consecutive traces of one conversation with an agent or model are turns, unless the agent resumes its work in the
    later one; a trace that began while another ran, such as a sub-agent's, belongs to the same turn. Inside one trace,
    consecutive requests are turns if the user wrote something new for the later one.
    """
    traces: dict[str, list[ReadSpan]] = {}
    for span in spans:
        if id(span) in roles and span.start_ns is not None:
            traces.setdefault(span.trace_id, []).append(span)
    is_known = _are_all_known(spans, roles, tree)
    if sum(map(len, traces.values())) < 2:
        return Turns(is_known=is_known)
    requests = UserRequests(spans, roles, tree)
    ends = {id(span): requests.end_of_work(span) for at_work in traces.values() for span in at_work}
    if len(traces) > 1:
        _end_before_next_turn(traces, ends, roles, read)
    asked = {trace: requests.of(at_work) for trace, at_work in traces.items()}
    # Without any message, a run that waited for a person cannot be distinguished from one that got a new question: then
    # what looks like a turn counts as one.
    is_silent = not any(span.events or message_attributes(span.attributes) for span in spans)
    # In most servers a trace is one request. But where nothing is recorded around an agent, each use of a model is a
    # trace, and so is the rest of a run that waited for a person.
    begins: set[int] = set()
    for begin, last, trace in _following_traces(traces, ends):
        goes_on = _goes_on(_models(traces[last], roles), _models(traces[trace], roles), read)
        if goes_on is None and (is_silent or _have_other_words(asked[last], asked[trace])):
            goes_on = False
        begins.update([] if goes_on else [begin])
        is_known = is_known and goes_on is not None
    begun: dict[str, tuple[int, ...]] = {}
    for trace, at_work in traces.items():
        later, is_sure = _begins_of_requests(asked[trace], read, is_silent)
        begun[trace] = (min([span.start_ns or 0 for span in at_work]), *later)
        begins.update(later)
        is_known = is_known and is_sure
    return Turns(count=len(begins) + 1, begins=tuple(sorted(begins)), traces=begun, is_known=is_known, ends=ends)


def _end_before_next_turn(
    traces: Mapping[str, Sequence[ReadSpan]], ends: dict[int, float], roles: Mapping[int, Role], read: ReadMessages
) -> None:
    """End the work of a trace where one begins in which the user answers it, whatever the ends of its spans say.

    Around AutoGen's agents, OpenInference records only their generators, which end when they are collected.
    """
    begins = {trace: min([span.start_ns or 0 for span in at_work]) for trace, at_work in traces.items()}
    first, *others = sorted(traces, key=begins.__getitem__)
    latest, end = first, max([ends[id(span)] for span in traces[first]])
    for trace in others:
        begin = begins[trace]
        last = _models(traces[latest], roles) if begin < end else []
        is_over = bool(last) and max(map(end_of, last)) <= begin
        if is_over and _is_answered_by_user(last, _models(traces[trace], roles), read):
            ends.update({id(span): min(ends[id(span)], begin) for span in traces[latest]})
            end = begin
        own = max([ends[id(span)] for span in traces[trace]])
        latest, end = (trace, own) if own >= end else (latest, end)


def _is_answered_by_user(last: Sequence[ReadSpan], trace: Sequence[ReadSpan], read: ReadMessages) -> bool:
    """Whether a trace goes on with the conversation of another, which was answered, by a new text of the user."""
    before, now = _first_said(reversed(last), read), _first_said(trace, read)
    words_before, words = messages.words_of(before), messages.words_of(now)
    is_longer = len(words) > len(words_before) > 0 and words[: len(words_before)] == words_before
    return is_longer and _follows_work(now) is True and _have_answered(last, read)


def _goes_on(last: Sequence[ReadSpan], trace: Sequence[ReadSpan], read: ReadMessages) -> bool | None:
    """Whether the models of a trace continue the turn of the trace before; None if unknown.

    They do if their first prompt has only results, or if it ends with calls or results and has no new text of the user.
    They do not if the user wrote something new, or if the trace before ended with an answer.
    """
    before, now = _first_said(reversed(last), read), _first_said(trace, read)
    if _holds_results_alone(now):
        return True
    written = [each for each in now if each.is_of_user or each.is_of_agent]
    words_before, words = messages.words_of(before), messages.words_of(now)
    if written and (written[-1].calls or written[-1].results) and words and words == words_before:
        return True
    is_asked = words != words_before and _ends_with_words(now)
    return False if is_asked or _have_answered(last, read) else None


def _have_other_words(last: Sequence[UserRequest], trace: Sequence[UserRequest]) -> bool:
    return bool(last and trace) and trace[0].has_other_words_than(last[-1])


def _models(trace: Iterable[ReadSpan], roles: Mapping[int, Role]) -> list[ReadSpan]:
    """Return the spans of models in a trace, by start time."""
    return sorted([span for span in trace if roles[id(span)] == "model"], key=lambda span: span.start_ns or 0)


def _are_all_known(spans: Sequence[ReadSpan], roles: Mapping[int, Role], tree: Tree) -> bool:
    """Whether turns can be found: agents and models have times and parents, and spans with messages a known kind."""
    at_work = [span for span in spans if id(span) in roles]
    if len(at_work) > 1 and not (tree.is_whole and all([None not in (span.start_ns, span.end_ns) for span in at_work])):
        return False
    is_timed = any([span.start_ns is not None for span in at_work])
    return is_timed or sum([bool(message_attributes(span.attributes)) for span in spans]) < 2


def _following_traces(
    traces: Mapping[str, Sequence[ReadSpan]], ends: Mapping[int, float]
) -> Iterator[tuple[int, str, str]]:
    """Yield each trace that began after all earlier ones had ended: its start, the trace before it, and the trace."""
    times = [
        (min([span.start_ns or 0 for span in at_work]), max([ends[id(span)] for span in at_work]), trace)
        for trace, at_work in traces.items()
    ]
    times.sort(key=itemgetter(0, 1))
    latest = times[0][1]
    for (_, _, last), (begin, end, trace) in pairwise(times):
        if begin >= latest:
            yield begin, last, trace
        latest = max(latest, end)


def _begins_of_requests(requests: Sequence[UserRequest], read: ReadMessages, is_silent: bool) -> tuple[list[int], bool]:
    """Return when each turn after the first one began in a trace, and whether this is known for all its requests."""
    if len(requests) < 2:
        return [], True
    begins, is_sure = [], True
    told = [request for request in requests if request.agent or _first_said(request.models, read) or request.is_torn]
    requests = told or requests  # a model without messages, where others have some, makes embeddings or the like
    latest = requests[0].end
    for last, request in pairwise(requests):
        begin = request.begin_after(last)
        if begin >= latest:
            is_new = _is_asked_anew(last, request, read)
            if is_new is None and is_silent and request.is_for_agent_of(last):
                is_new = True
            # If this is unknown for one agent, its requests count as turns: each of them has to show its own calls.
            begins += [begin] if is_new or (is_new is None and request.is_for_agent_of(last)) else []
            is_sure = is_sure and is_new is not None
        latest = max(latest, request.end)
    return begins, is_sure


def _is_asked_anew(last: UserRequest, request: UserRequest, read: ReadMessages) -> bool | None:
    """Whether the user wrote something between two requests; None if unknown.

    After a hand-off, the next agent of a team or the next step of a graph gets the same text of the user. If messages
    do not show it, a new request to the same agent is the user's if the agent had answered, or if its input is another
    text. An agent that had requested calls may have waited for a person's approval.
    """
    before, now = _first_said(reversed(last.models), read), _first_said(request.models, read)
    words_before, words = messages.words_of(before), messages.words_of(now)
    # The same texts again: the next agent of a team, or the next step of a graph, got the same question.
    if _holds_results_alone(now) or (words and words == words_before):
        return False
    shared = messages.words_shared(words_before, words) if words and words_before else None
    if shared is None:
        has_other_words = (bool(words_before) and _ends_with_words(now)) or request.has_other_words_than(last)
        return (
            True if request.is_for_agent_of(last) and (has_other_words or _have_answered(last.models, read)) else None
        )
    return _follows_work(now) if len(words) > len(shared) else False


def _holds_results_alone(exchanges: Sequence[Exchange]) -> bool:
    """Whether a prompt has only results, so that the model continues its work.

    Anthropic's instrumentation records only what is new in a prompt, and a server that stores the conversation is sent
    no more than that.
    """
    return bool(exchanges) and all([exchange.results for exchange in exchanges])


def _ends_with_words(exchanges: Sequence[Exchange]) -> bool:
    return bool(exchanges) and exchanges[-1].is_of_user and bool(exchanges[-1].text)


def _have_answered(models: Sequence[ReadSpan], read: ReadMessages) -> bool:
    """Whether the last model answered with a text, and asked for no call."""
    if not models or stopped_to_call(models[-1].attributes):
        return False
    said = read(models[-1]).output
    is_at_work = any([each.calls or each.unread or each.is_broken_off for each in said])
    return not is_at_work and any([each.text for each in said])


def _first_said(models: Iterable[ReadSpan], read: ReadMessages) -> list[Exchange]:
    return next((said.input for span in models if (said := read(span)).input), [])


def _follows_work(exchanges: Sequence[Exchange]) -> bool | None:
    """Whether a message of the agent comes before the last texts of the user; None if others come after them, too.

    A span around several uses of a model has its last prompt (Google ADK's by OpenInference), and one of an agent that
    resumes its work has such a prompt as well.
    """
    since_work = has_gone_on = False
    for exchange in reversed(exchanges):
        if exchange.is_of_user:
            since_work = True
        elif exchange.is_of_agent:
            if since_work:
                return None if has_gone_on else True
            has_gone_on = True
    return False
