"""Collect the messages of users and models in a run, each once, with its position among the calls."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from rightcall.limits import Limits
from rightcall.reading.conventions import CallShape, Role, agent_name
from rightcall.reading.messages import Conversation, Exchange, exchanges_of, turns_in_log
from rightcall.reading.spans import CallRecord
from rightcall.values.trajectory import Message, MessageWriter

from ._conversations import Conversations
from ._input_output import GivenLog, plain_texts
from ._span_tree import ReadSpan, Tree
from ._tokens import stated_tokens
from ._turns import Turns

_MOST = 10_000
"""The most messages kept of one run. A message whose text is not kept takes about 100 bytes."""
_BESIDE = 8
"""How many earlier calls of models are compared with one, to find records of it by other instrumentations."""
_INSTRUCTIONS = frozenset({"system", "developer", "systemmessage", "system_message", "gen_ai.system.message"})
_MODELS = (
    "gen_ai.response.model",
    "gen_ai.request.model",
    "llm.model_name",
    "ai.response.model",
    "ai.model.id",
    "model_name",
)
# OpenLIT and OpenLLMetry, OpenInference, Pydantic AI with Logfire.
_COSTS = ("gen_ai.usage.cost", "llm.cost.total", "operation.cost")
_TOKENS = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))
_LONGEST_NAME = 200
_FIGURES = ("turn", "agent", "parent_id", "model", "input_tokens", "output_tokens", "cost", "start_ns", "end_ns")
"""Fields of a message that come from the span of a model's call, apart from the text."""
_ById = Mapping[tuple[str, str | None], "ReadSpan"]


class Recorded(msgspec.Struct, frozen=True):
    """What is known of a run once its calls were read."""

    spans: Sequence[ReadSpan]
    roles: Mapping[int, Role]
    tree: Tree
    turns: Turns
    conversations: Conversations
    logs: Sequence[GivenLog]
    calls: Sequence[CallRecord]


def messages_of(run: Recorded, limits: Limits) -> tuple[Message, ...]:
    """Return the messages of a run in order, within the limits.

    They are taken from the spans of models, with times and tokens. If these have no text, they are taken from the log
    of messages, or else from the span with the longest conversation, such as an agent's.
    """
    by_spans = _Sayings(run, limits)
    for use in _uses(run):
        by_spans.add_use(use)
    if by_spans.has_text:
        return by_spans.messages()
    by_logs = _Sayings(run, limits)
    for said in run.logs:
        messages = said.log.messages or (said.log.snapshots[-1] if said.log.snapshots else [])
        exchanges = exchanges_of(messages)
        by_logs.add_log(exchanges, turns_in_log(exchanges) if said.turn is None else [said.turn] * len(exchanges))
    if not by_logs.has_text:
        longest = max(_conversations(run), key=lambda said: len(said.input) + len(said.output), default=None)
        exchanges = [*longest.input, *longest.output] if longest is not None else []
        by_logs.add_log(exchanges, [None] * len(exchanges))
    return _timed(by_logs.messages(), by_spans.messages()) if by_logs.has_text else by_spans.messages()


def _timed(told: Sequence[Message], recorded: Sequence[Message]) -> tuple[Message, ...]:
    """Return messages of a log with times and tokens from spans, if both have the same number of model messages."""
    uses = [message for message in recorded if message.writer == "model"]
    if len(uses) != sum([message.writer == "model" for message in told]):
        return tuple(told)
    figures = iter(uses)
    return tuple([_with_figures(each, next(figures)) if each.writer == "model" else each for each in told])


def _with_figures(message: Message, use: Message) -> Message:
    known = {name: value for name in _FIGURES if (value := getattr(use, name)) is not None}
    return msgspec.structs.replace(message, **known)


def _conversations(run: Recorded) -> Iterable[Conversation]:
    for span in run.spans:
        if span.kind.__class__ is not CallShape:
            yield run.conversations.of(span)


class _Use(msgspec.Struct, frozen=True):
    """One call of a model: its innermost span, and the spans around it that record the same call."""

    span: ReadSpan
    around: tuple[ReadSpan, ...] = ()


def _uses(run: Recorded) -> list[_Use]:
    """Return the calls of models, by start time. A span around several of them is a loop, not a call."""
    models = [span for span in run.spans if run.roles.get(id(span)) == "model"]
    by_id: _ById = {(span.trace_id, span.span_id): span for span in run.spans if span.span_id}
    holders = {id(span): _models_around(span, by_id, run.roles) for span in models}
    inside = Counter([id(holder) for value in holders.values() for holder in value])
    # The innermost of nested records is the call. Those around it add what it lacks, if it is the only one in them.
    leaves = [span for span in models if not inside[id(span)]]
    alone = Counter([id(holder) for span in leaves for holder in holders[id(span)]])
    uses = [_Use(span, tuple([each for each in holders[id(span)] if alone[id(each)] == 1])) for span in leaves]
    return sorted(uses, key=lambda use: use.span.start_ns if use.span.start_ns is not None else 1 << 80)


def _models_around(span: ReadSpan, by_id: _ById, roles: Mapping[int, Role]) -> list[ReadSpan]:
    return [each for each in _around(span, by_id) if roles.get(id(each)) == "model"]


def _around(span: ReadSpan, by_id: _ById) -> list[ReadSpan]:
    found: list[ReadSpan] = []
    seen = {span.span_id}
    above = by_id.get((span.trace_id, span.parent_id))
    while above is not None and above.span_id not in seen:
        seen.add(above.span_id)
        found.append(above)
        above = by_id.get((above.trace_id, above.parent_id))
    return found


class _Told(msgspec.Struct, frozen=True):
    """One instrumentation's record of a call of a model."""

    span: ReadSpan
    text: str
    asks: int
    given: int | None
    made: int | None

    def is_same_as(self, other: _Told) -> bool:
        """Whether another instrumentation recorded the same call: at the same time, with the same text or tokens."""
        span, beside = self.span, other.span
        if None in (span.start_ns, span.end_ns, beside.start_ns, beside.end_ns) or span.scope == beside.scope:
            return False
        is_at_once = (span.start_ns or 0) < (beside.end_ns or 0) and (beside.start_ns or 0) < (span.end_ns or 0)
        same_words = (self.text, self.asks) == (other.text, other.asks)
        same_tokens = self.given is not None and (self.given, self.made) == (other.given, other.made)
        return is_at_once and (same_words or same_tokens)


class _Sayings:
    """The messages of a run while they are collected."""

    def __init__(self, run: Recorded, limits: Limits) -> None:
        self._run = run
        self._limits = limits
        self._room = limits.messages_text
        self._found: list[Message] = []
        self._said: Counter[object] = Counter()
        self._by_id: _ById = {(span.trace_id, span.span_id): span for span in run.spans if span.span_id}
        self._places = {call.call_id: place for place, call in enumerate(run.calls) if call.call_id is not None}
        starts = [call.span.start_ns for call in run.calls if call.span is not None]
        self._starts = [start for start in starts if start is not None]
        self._is_timed = len(self._starts) == len(run.calls) and self._starts == sorted(self._starts)
        self._told: list[_Told] = []
        self.has_text = False
        """Whether any message has a text."""

    def messages(self) -> tuple[Message, ...]:
        """Return the messages, sorted by their positions among the calls."""
        return tuple(sorted(self._found, key=lambda message: message.at))

    def add_use(self, use: _Use) -> None:
        """Add a call of a model: the new messages of its prompt, and its answer."""
        said = next((value for span in (use.span, *use.around) if (value := self._run.conversations.of(span))), None)
        given, returned = plain_texts(use.span)
        span, holder = use.span, self._run.tree.enclosing(use.span)
        known: dict[str, Any] = {
            "turn": self._run.turns.of(span) if self._run.turns.count > 1 else None,
            "agent": self._agent_of(span),
            "parent_id": None if holder is None else holder.span.span_id if holder.span else holder.call_id,
        }
        before = self._place(span.start_ns)
        self._add_new(said.input if said is not None else [], known, before)
        if given and not any([message.writer == "user" for message in self._found]):
            self._add("user", given, at=before, **known)
        output = [each for each in said.output if each.writer != "user"] if said is not None else []
        asked = [call for exchange in output for call in exchange.calls]
        spoken = [exchange.text for exchange in output if exchange.text.strip('"')]  # LangChain writes "" as JSON
        text = "\n".join(spoken) or ("" if asked else returned)
        figures = _figures([span, *use.around])
        if self._is_repeated(_Told(span, text, len(asked), figures["input_tokens"], figures["output_tokens"])):
            return
        at = self._asked_at(asked, self._place(span.end_ns))
        self._add("model", text, at=at, asks=len(asked), start_ns=span.start_ns, end_ns=span.end_ns, **known, **figures)

    def add_log(self, exchanges: Sequence[Exchange], turns: Sequence[int | None]) -> None:
        """Add a log of messages, without those that an earlier log has."""
        seen: Counter[object] = Counter()
        cursor = 0
        for exchange, turn in zip(exchanges, turns, strict=True):
            writer = _writer_of(exchange)
            at = self._asked_at(exchange.calls, cursor)
            key = (writer, exchange.text, tuple([call.call_id or call.name for call in exchange.calls]))
            seen[key] += 1
            if writer and (exchange.text or exchange.calls) and seen[key] > self._said[key]:
                self._said[key] += 1
                self._add(
                    writer, exchange.text, at=at, asks=len(exchange.calls), turn=turn, **_told_by(exchange.message)
                )
            places = [self._places[call.call_id] + 1 for call in exchange.calls if call.call_id in self._places]
            cursor = min(max([at + len(exchange.calls), *places]), len(self._run.calls))

    def _add_new(self, exchanges: Iterable[Exchange], known: Mapping[str, Any], at: int) -> None:
        """Add the user messages and instructions of a prompt that no earlier prompt has."""
        seen: Counter[object] = Counter()
        for exchange in exchanges:
            writer = "user" if exchange.is_of_user else _writer_of(exchange)
            if writer not in ("user", "system") or not exchange.text:
                continue
            key = (writer, exchange.text)
            seen[key] += 1
            if seen[key] > self._said[key]:
                self._said[key] += 1
                self._add(writer, exchange.text, at=at, **known)

    def _add(self, writer: MessageWriter, text: str, **known: Any) -> None:
        if len(self._found) >= _MOST:
            return
        kept = text[: min(self._limits.message_text, self._room)]
        self._room -= len(kept)
        self.has_text = self.has_text or bool(text)
        self._found.append(Message(writer=writer, text=kept, left_out=len(text) - len(kept), **known))

    def _is_repeated(self, told: _Told) -> bool:
        """Whether another instrumentation has recorded the same call of the model; remember this one if not."""
        if any([told.is_same_as(other) for other in self._told[-_BESIDE:]]):
            return True
        self._told.append(told)
        return False

    def _asked_at(self, asked: Sequence[CallRecord], otherwise: int) -> int:
        """Return the position of the first requested call, found by id; `otherwise` if none is found."""
        return min([self._places[call.call_id] for call in asked if call.call_id in self._places], default=otherwise)

    def _place(self, time_ns: int | None) -> int:
        """Return how many calls started before a time; without times, the position of the last message so far."""
        if time_ns is None or not self._is_timed:
            return max([message.at for message in self._found], default=0)
        return bisect_left(self._starts, time_ns)

    def _agent_of(self, span: ReadSpan) -> str | None:
        agents = [each for each in _around(span, self._by_id) if self._run.roles.get(id(each)) == "agent"]
        named = next((name for each in agents if (name := agent_name(each))), None)
        return named[:_LONGEST_NAME] if named is not None else None


def _writer_of(exchange: Exchange) -> MessageWriter | None:
    if exchange.calls:
        return "model"
    if exchange.results:
        return None
    told = (exchange.role, exchange.message.get("event.name"))
    if any([isinstance(each, str) and each.lower() in _INSTRUCTIONS for each in told]):
        return "system"
    return exchange.writer or None


def _figures(spans: Sequence[ReadSpan]) -> dict[str, Any]:
    """Return the model, the tokens and the cost of a call of a model, each from the first span that states it."""
    stated = [stated_tokens(span) for span in spans]
    given = next((given for given, _ in stated if given is not None), None)
    made = next((made for _, made in stated if made is not None), None)
    held = [span.attributes.get(key) for key in _MODELS for span in spans]
    model = next((each for each in held if isinstance(each, str) and each.strip('"') not in ("", "unknown")), None)
    costs = [span.attributes.get(key) for key in _COSTS for span in spans]
    cost = next((float(each) for each in costs if each is not None and _is_amount(each)), None)
    return {
        "model": model.strip('"')[:_LONGEST_NAME] if model is not None else None,
        "input_tokens": given,
        "output_tokens": made,
        "cost": cost,
    }


def _is_amount(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e9


def _told_by(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the model and the tokens that a message in a log states."""
    inner = message.get("message")
    holders = [held for held in (message, inner) if isinstance(held, Mapping)]
    usage: Mapping[str, Any] = next((held["usage"] for held in holders if isinstance(held.get("usage"), Mapping)), {})
    given, made = [next((usage[key] for key in keys if _is_count(usage.get(key))), None) for keys in _TOKENS]
    model = next((held["model"] for held in holders if isinstance(held.get("model"), str)), None)
    return {"model": model[:_LONGEST_NAME] if model else None, "input_tokens": given, "output_tokens": made}


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**15
