"""Find what a run records besides its calls: the user's question, the agent's answer, the case, scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from math import inf
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall.reading import messages
from rightcall.reading.conventions import CallShape, Role, deferred_in, is_graph_node
from rightcall.reading.messages import Log, message_attributes, messages_in, messages_in_event, writer_of
from rightcall.reading.spans import (
    CASE,
    CASES,
    NOTHING,
    REPEAT,
    REPEATS,
    SCORES,
    TOLD,
    LogRecord,
    is_cut,
    is_incomplete,
    is_replaced,
    outcome,
    topmost,
)

from ._span_tree import ReadSpan, Tree

if TYPE_CHECKING:
    from rightcall.reading.messages import Exchange, Side


_JSON = "application/json"
_LLAMA_INDEX = "openinference.instrumentation.llama_index"
_SHOWN = "assistant: "
"""What `ChatResponse` of LlamaIndex begins with as text, which OpenInference records as the output of a model."""
_QUOTED = "text, or a quoted text"
"""OpenLLMetry's decorators write every output as JSON; its instrumentations of frameworks write plain texts."""
_INPUT: dict[str, str] = {
    "input.value": "input.mime_type",
    "mlflow.spanInputs": _JSON,
    "langfuse.observation.input": "",
    "traceloop.entity.input": _JSON,
    "haystack.agent.input": _JSON,
    "ai.prompt": _JSON,
    "gen_ai.prompt": _JSON,
    "openai_agents.input": "",
    "genkit:input": _JSON,
}
"""Attributes with the input of a span, each with the attribute of its MIME type, or `_JSON` if it is always JSON."""

_OUTPUT: dict[str, str] = {
    "output.value": "output.mime_type",
    "final_result": "",
    "mlflow.spanOutputs": _JSON,
    "langfuse.observation.output": "",
    "crewai.crew.result": "",
    "traceloop.entity.output": _QUOTED,
    "haystack.agent.output": _JSON,
    "ai.response.text": "",
    "ai.result.text": "",
    "gen_ai.completion": _JSON,
    "openai_agents.output": "",
    "genkit:output": _JSON,
}
# Where Logfire keeps the input and output of models.
_GIVEN_TO_MODELS = {**_INPUT, "input": _JSON, "raw_input": _JSON}
_MADE_BY_MODELS = {**_OUTPUT, "output": _JSON, "response": _JSON}

# OpenInference, spec/semantic_conventions.md: kinds of spans whose output is for the agent, not for the user.
_HELPERS = frozenset({"retriever", "embedding", "reranker", "guardrail", "evaluator", "prompt"})
_CONVERSATIONS = frozenset({"pydantic_ai.all_messages", "all_messages_events"})
GIVEN = frozenset(_INPUT)
"""Attributes with the input of a span."""

KEYS = frozenset({*_INPUT, *_OUTPUT})
"""Attributes with the input or output of a span."""

Found = Callable[["_Speakers", ReadSpan], Any]
Order = Callable[[ReadSpan], tuple[float, float]]
WITHIN = ("metadata.", "langfuse.trace.metadata.", "langfuse.observation.metadata.", "langsmith.metadata.")
"""Prefixes of attributes with metadata that the author of an agent attached to a run."""
METADATA_KEYS = {f"{prefix}{name}": name for prefix in ("", *WITHIN) for name in TOLD}
"""The attributes that every run keeps in its metadata, with their names there."""
_AGENT = "gen_ai.agent.name"
_LANGSMITH = "langsmith.span.kind"
_MOST_MESSAGES = 1_000
_DEEPEST = 4
_MOST_VALUES = 200
_LONGEST = 1_000


def asked_and_answered(
    spans: Sequence[ReadSpan], roles: Mapping[int, Role], tree: Tree, logs: Iterable[LogRecord] = ()
) -> tuple[Any, Any]:
    """Return the question and the answer of a run, or of one of its turns; None if unknown.

    Spans inside calls are ignored, and so are spans that have nothing to do with agents. Among the remaining topmost
    spans, the first to start has the question, and the last to end has the answer. If such a span has none, the agents
    and models inside it are asked, for texts only: other values there are internals of the framework.
    """
    speakers = _Speakers(spans, roles, tree, logs)
    given, returned = speakers.found(_question, _begins_first), speakers.found(_answer, _ends_last)
    if given is NOTHING:
        given = speakers.found(_last_word, _begins_first)
    # A text in place of the answer hides it. A span inside may have another answer, so none is looked for there.
    return _unless_lost(given), _unless_lost(returned)


def _unless_lost(found: Any) -> Any:
    return None if found is NOTHING or is_replaced(found) or deferred_in(outcome(found)) else found


def has_answer(span: ReadSpan) -> bool:
    """Whether a span records an output, or messages or events that may contain one."""
    if not _OUTPUT.keys().isdisjoint(span.attributes.keys()):
        return True
    holders = [holder for holder in message_attributes(span.attributes) if holder.side == "output"]
    carried = [key for holder in holders for key in holder.keys if not _is_cut_off(span.attributes.get(key))]
    return bool(carried or tuple(span.events) or not _CONVERSATIONS.isdisjoint(span.attributes.keys()))


def _is_cut_off(value: Any) -> bool:
    """Whether messages as JSON text were truncated by an exporter's limit on the length of attributes."""
    return isinstance(value, str) and value.startswith("[{") and (not value.endswith("]") or is_cut(value))


class _Speakers:
    """The agents and models of a run that are not inside calls, and the spans around them with an input or output."""

    def __init__(
        self, spans: Sequence[ReadSpan], roles: Mapping[int, Role], tree: Tree, logs: Iterable[LogRecord]
    ) -> None:
        self._parents = {span.span_id: span.parent_id for span in spans if span.span_id}
        self._scopes = {span.span_id: span.scope for span in spans if span.span_id}
        self._roots = [span for span in spans if span.parent_id is None]
        self.roles, self._tree = roles, tree
        self._known: dict[str | None, ReadSpan] = {}
        self._inside: dict[int, list[ReadSpan]] = {}
        self._heard: dict[tuple[int, Side], list[Any]] = {}
        self._logs: dict[str | None, list[LogRecord]] = {}
        for record in logs:
            self._logs.setdefault(record.span_id, []).append(record)
        speaking = [span for span in spans if self._speaks(span) and tree.enclosing(span) is None]
        self._known = {span.span_id: span for span in speaking if span.span_id}
        tops = []
        for span in speaking:
            above = self._above(span)
            if above is None:
                tops.append(span)
            elif id(span) in roles:
                self._inside.setdefault(id(above), []).append(span)
        # A model that was used outside of all agents is not the run, if there are agents.
        runs = [span for span in tops if roles.get(id(span)) == "agent" or id(span) in self._inside]
        self._tops = runs or tops
        around = Counter([span.parent_id for span in tops])
        below = [span for span in tops if span.parent_id and id(span) not in roles]
        self._steps = {id(span) for span in below if around[span.parent_id] > 1 or is_graph_node(span)}
        """Topmost spans that are steps of one that is missing: where an agent was killed, its own span never ends."""

    def found(self, find: Found, order: Order, level: list[ReadSpan] | None = None, whole: bool = False) -> Any:
        """Return what `find` finds in the first topmost span by `order`, or in spans that ran at the same time.

        With `whole`, the only span of a level below is that of the same agent as the topmost one.
        """
        if level is None and len(self._tops) > 1 and not all(map(_is_timed, self._tops)):
            return self._found_in_all(find)
        spans = _beside_the_first(sorted(self._tops if level is None else level, key=order))
        for span in spans if level is not None or self._tree.is_whole else spans[:1]:
            # Inside of others, a span that lost its kind may as well be a step of the framework.
            is_known = level is None or bool(span.kind) or id(span) not in self.roles
            found = find(self, span) if is_known else NOTHING
            # Below the topmost spans only text counts: the state of a graph or a tool is not for the user.
            is_top = whole or (level is None and self._is_top(span))
            if found is not NOTHING and (is_top or isinstance(found, str)) and id(span) not in self._steps:
                return found
            inside = self._inside.get(id(span), [])
            is_twice = is_top and len(inside) == 1 and _is_recorded_twice(span, inside[0])
            found = self.found(find, order, inside, whole=is_twice)
            if found is not NOTHING:
                return found
        return NOTHING

    def _found_in_all(self, find: Found) -> Any:
        """Return the value that all topmost spans share, for spans that lack the times to order them."""
        found = [find(self, span) for span in self._tops]
        return found[0] if all([each == found[0] for each in found]) and self._is_top(self._tops[0]) else NOTHING

    def _is_top(self, span: ReadSpan) -> bool:
        """Whether a span is certainly topmost.

        The spans above it, if any, must be of other instrumentations: one of the same instrumentation may lack its
        input or output. A span without a parent must not be within the time of another such span.
        """
        if span.parent_id is not None:
            return self._tree.is_whole and span.scope not in self._scopes_around(span)
        return not any([_is_within(span, other) for other in self._roots if other is not span])

    def _scopes_around(self, span: ReadSpan) -> set[str]:
        above, seen = span.parent_id, {span.span_id}
        while above is not None and above not in seen:
            seen.add(above)
            above = self._parents.get(above)
        return {self._scopes[each] for each in seen if each in self._scopes and each != span.span_id}

    def messages(self, span: ReadSpan, side: Side) -> list[Any]:
        """Return the messages of a span and its log records on one side: input or output."""
        known = self._heard.get((id(span), side))
        if known is not None:
            return known
        found = self._heard[id(span), side] = []
        if is_incomplete(span.attributes):
            return found
        is_model = self.roles.get(id(span)) == "model"
        holders = [holder for holder in message_attributes(span.attributes) if holder.side == side]
        tellings = [messages_in(span.attributes, each) for each in holders if is_model or not each.only_models]
        # Attributes of several conventions, and those that servers add, repeat the same messages: one is enough.
        found += next(filter(None, reversed(tellings)), [])
        for event in span.events:
            found += messages_in_event(event.name, event.attributes, event.attributes).get(side, ())
        for log in self._logs.get(span.span_id, ()):
            body = log.body if isinstance(log.body, Mapping) else {}
            found += messages_in_event(log.name, body, log.attributes).get(side, ())
        return found

    def _speaks(self, span: ReadSpan) -> bool:
        if span.kind.__class__ is CallShape:
            return False
        if id(span) in self.roles:
            return True
        if KEYS.isdisjoint(span.attributes.keys()) and not self._has_moved(span):
            return False
        return str(span.attributes.get("openinference.span.kind", "")).lower() not in _HELPERS

    def _has_moved(self, span: ReadSpan) -> bool:
        """Whether the input or output of a span is in a log record, where AWS's OpenTelemetry distribution puts it."""
        bodies = [log.body for log in self._logs.get(span.span_id, ()) if isinstance(log.body, Mapping)]
        return any(["input" in body or "output" in body for body in bodies])

    def _above(self, span: ReadSpan) -> ReadSpan | None:
        """Return the nearest agent or model around a span, or the topmost span around it with an input or output."""
        above, seen, found = span.parent_id, {span.span_id}, None
        while above is not None and above not in seen:
            known = self._known.get(above)
            if known is not None and id(known) in self.roles:
                return known
            found = known or found
            seen.add(above)
            above = self._parents.get(above)
        return found


def _is_recorded_twice(outer: ReadSpan, inner: ReadSpan) -> bool:
    """Whether two spans are of one agent: OpenLLMetry has two for a graph of LangGraph, and values on the inner one."""
    if outer.scope != inner.scope or not KEYS.isdisjoint(outer.attributes.keys()):
        return False
    name = outer.attributes.get(_AGENT)
    return name is not None and name == inner.attributes.get(_AGENT)


def _question(speakers: _Speakers, span: ReadSpan) -> Any:
    """Return the question in a span's input, or at the end of its prompt; `NOTHING` if there is none."""
    if speakers.roles.get(id(span)) != "model":
        found = next(_values(span, _INPUT, messages.given_in), NOTHING)
        if found is not NOTHING:
            return found
    prompt = speakers.messages(span, "input")
    # If other messages follow it, the last text of the user may be a framework's prompt to try again.
    asked = messages.question_in(prompt) if prompt and writer_of(prompt[-1]) == "user" else None
    return asked or _of_model(speakers, span, messages.given_in)


def _last_word(speakers: _Speakers, span: ReadSpan) -> Any:
    """Return the last text of the user in a span's prompt, even if other messages follow it."""
    return messages.question_in(speakers.messages(span, "input")) or NOTHING


def _answer(speakers: _Speakers, span: ReadSpan) -> Any:
    """Return the answer in a span's output, or in its messages; `NOTHING` if there is none."""
    made = speakers.messages(span, "output")
    said = messages.answer_in(made or speakers.messages(span, "input"))
    if speakers.roles.get(id(span)) != "model":
        found = next(_values(span, _OUTPUT, messages.returned_in), NOTHING)
        if found == {} and _LANGSMITH in span.attributes:
            return None  # the outputs of a run that raised, or was left, before it had any
        if found is not NOTHING:
            # A model with an output schema answers with a call, whose arguments Pydantic AI records as text.
            if said and found.__class__ is str and found.rstrip("\n") == said.rstrip("\n"):
                return found.rstrip("\n")  # Strands ends each text of an answer with a line break
            is_asked = made or speakers.messages(span, "input")
            return found if said or not is_asked else outcome(found, keeps_quotes=True)
    if said:
        return said.rstrip("\n")
    found = _of_model(speakers, span, messages.returned_in)
    # An object beside a message that asks for calls repeats that message; it is not an answer.
    is_object = found is not NOTHING and outcome(found).__class__ in (dict, list)
    return NOTHING if is_object and any([exchange.calls for exchange in messages.exchanges_of(made)]) else found


def _of_model(speakers: _Speakers, span: ReadSpan, find: Callable[[Any, bool], Any]) -> Any:
    """Return the input or output of a model's span if it is text: other values are not for the user."""
    if speakers.roles.get(id(span)) != "model":
        return NOTHING
    return next(_texts_of_model(span, find), NOTHING)


def plain_texts(span: ReadSpan) -> tuple[str, str]:
    """Return the input and the output of a model's span as recorded outside of messages; empty if there is no text."""
    return next(_texts_of_model(span, messages.given_in), ""), next(_texts_of_model(span, messages.returned_in), "")


def _texts_of_model(span: ReadSpan, find: Callable[[Any, bool], Any]) -> Iterator[str]:
    keys = _GIVEN_TO_MODELS if find is messages.given_in else _MADE_BY_MODELS
    texts = (found for found in _values(span, keys, find) if isinstance(found, str))
    return filter(None, map(_in_shown_message, texts)) if span.scope == _LLAMA_INDEX else texts


def _in_shown_message(text: str) -> str:
    """Return the content of a message as LlamaIndex shows it as text, with its role; empty if it has none."""
    content = text.removeprefix(_SHOWN)
    return "" if content == "None" and content != text else content


def _values(span: ReadSpan, keys: Mapping[str, str], find: Callable[[Any, bool], Any]) -> Iterator[Any]:
    """Yield what `find` returns for each of some attributes of a span, in the order of `keys`."""
    attributes, names = span.attributes, span.attributes.keys()
    for key, kind in keys.items():
        held = attributes.get(key) if key in names else None
        if held is not None:
            held = outcome(held) if kind == _QUOTED and held.__class__ is str and held[:1] == '"' else held
            found = find(held, kind == _JSON or attributes.get(kind) == _JSON)
            if found is not NOTHING and not _is_about_response(found, attributes):
                yield found


def _is_about_response(found: Any, attributes: Mapping[str, Any]) -> bool:
    """Whether an output only repeats `gen_ai.response.…` attributes: Phoenix makes up such outputs."""
    if found.__class__ is not dict or not found:
        return False
    return all(
        [value is not None and value == attributes.get(f"gen_ai.response.{key}") for key, value in found.items()]
    )


def _beside_the_first(level: list[ReadSpan]) -> list[ReadSpan]:
    """Return the first span, and those that ran at the same time."""
    if len(level) < 2:
        return level
    first, last = _times(level[0])
    timed = [(span, *_times(span)) for span in level]
    return [span for span, start, end in timed if span is level[0] or (start < last and first < end)]


def _is_within(span: ReadSpan, other: ReadSpan) -> bool:
    (start, end), (first, last) = _times(span), _times(other)
    return span.trace_id == other.trace_id and first <= start and end <= last


def _begins_first(span: ReadSpan) -> tuple[float, float]:
    start, end = _times(span)
    return start, -end


def _ends_last(span: ReadSpan) -> tuple[float, float]:
    start, end = _times(span)
    return -end, start


def _is_timed(span: ReadSpan) -> bool:
    return span.start_ns is not None and span.end_ns is not None


def _times(span: ReadSpan) -> tuple[float, float]:
    start = inf if span.start_ns is None else span.start_ns
    return start, start if span.end_ns is None else span.end_ns


class GivenLog(msgspec.Struct, frozen=True):
    """A log of messages: a whole conversation, or the conversation up to the end of a turn."""

    log: Log
    turn: int | None = None
    """The turn at the end of which the log was returned; None for a whole conversation."""
    asked: str | None = None
    """What the user asked in that turn, if known."""


def asked_and_answered_in(log: list[Any], exchanges: list[Exchange]) -> list[tuple[Any, Any]]:
    """Return question and answer of each turn of a log, by its messages and their exchanges; at least one pair."""
    told = [
        (turn or 0, each)
        for turn, each in zip(messages.turns_in_log(exchanges), zip(log, exchanges, strict=True), strict=True)
    ]
    # Messages of sub-agents are left out, unless a file has nothing else.
    if any([exchange.parent_id is None and exchange.is_of_agent for exchange in exchanges]):
        told = [pair for pair in told if pair[1][1].parent_id is None] or told
    parts = [[each for _, each in part] for _, part in groupby(told, key=lambda pair: pair[0])]
    return [
        (
            _first_question([exchange for _, exchange in part]),
            messages.answer_in([message for message, exchange in part if not _is_act_of_user(exchange)]),
        )
        for part in parts
    ] or [(None, None)]


def _is_act_of_user(exchange: Exchange) -> bool:
    """Whether a message has only a call of a simulated user, or its result."""
    results = bool(exchange.results) and all([result.of_user for result in exchange.results])
    return (results or bool(exchange.of_user)) and not exchange.calls and not exchange.is_of_user


def _first_question(exchanges: list[Exchange]) -> str | None:
    return next((each.text for each in exchanges if each.writer == "user" and each.text and not each.is_note), None)


class Kept(msgspec.Struct, frozen=True):
    """What to keep of a run besides its calls."""

    attributes: tuple[str, ...] = ()
    """Attributes of spans, and keys of logs, that are kept in the metadata."""
    about_runs: bool = True
    """Whether to read input, output and token usage of runs. Off if no check needs them, because it takes time."""


def run_metadata(log: Log, spans: Sequence[ReadSpan], keys: tuple[str, ...]) -> dict[str, Any]:
    """Return the metadata of a run: the attributes in `keys` as they are, the case, the repeat, and scores.

    The id of the case is kept under `CASE`, if that is one of `keys`.
    """
    found = {key: held for key in keys if (held := _kept(key, log, spans)) is not None}
    places = [place for place in _places(log, spans) if place]
    if not places:
        return found
    if CASE in keys and CASE not in found:
        case = _first(places, (CASE, *CASES), (str, int))
        found |= {} if case is None else {CASE: case}
    repeat = _first(places, (REPEAT, *REPEATS), (int, str))
    found |= {} if repeat is None else {"repeat": repeat}
    for name in SCORES:
        held = _first(places, (name,), (int, float, str, dict))
        if held is not None and _is_small(held):
            found[name] = held
    return found


def _kept(key: str, log: Log, spans: Sequence[ReadSpan]) -> Any:
    """Return the first value of a key in the log, its metadata, its lines, and the spans; None if there is none."""
    metadata = log.about.get("metadata")
    lines = log.messages[:_MOST_MESSAGES] if not log.about else []
    for holder in (log.about, metadata, *lines):
        if isinstance(holder, Mapping) and holder.get(key) is not None:
            return holder[key]
    names = (key, *[f"{prefix}{key}" for prefix in WITHIN])
    wanted = frozenset(names)
    holders = [span.attributes for span in spans if not wanted.isdisjoint(span.attributes.keys())]
    found = [attributes.get(name) for name in names for attributes in holders if name in attributes]
    return found[0] if found else None


def _places(log: Log, spans: Sequence[ReadSpan]) -> Iterator[Mapping[str, Any]]:
    """Yield the objects that may have metadata of the run, best first: around messages, lines, topmost spans."""
    if log.about:
        yield log.about
        metadata = log.about.get("metadata")
        if isinstance(metadata, Mapping):
            yield metadata
    elif log.messages:
        names = {CASE, REPEAT, *CASES, *REPEATS}
        lines = [line for line in log.messages[:_MOST_MESSAGES] if isinstance(line, Mapping)]
        yield from ({key: line[key] for key in names & line.keys()} for line in lines if not names.isdisjoint(line))
    for span in topmost(spans):
        hits = [key for key in span.attributes if key in METADATA_KEYS]
        # Longest keys first: a name without a prefix overwrites the same name with one.
        yield {METADATA_KEYS[key]: span.attributes.get(key) for key in sorted(hits, key=len, reverse=True)}


def _first(places: Iterable[Mapping[str, Any]], names: tuple[str, ...], kinds: tuple[type, ...]) -> Any:
    for place in places:
        for name in names:
            value = place.get(name)
            if isinstance(value, kinds) and value != "" and (not isinstance(value, bool) or name in SCORES):
                return value
    return None


def _is_small(value: Any) -> bool:
    """Whether a value is small enough to keep with each run: a number, a short text, or a few of them."""
    level = [value]
    for _ in range(_DEEPEST):
        if len(level) > _MOST_VALUES or any([isinstance(each, (list, str)) and len(each) > _LONGEST for each in level]):
            return False
        level = [inner for each in level for inner in (each.values() if isinstance(each, Mapping) else ())]
    return not level
