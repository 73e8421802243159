"""Tell the framework's own calls, and spans that only asked a person about a call, from calls that were made.

A framework that asks a person ends the span of the tool, or of the agent, and resumes once it has the answer. So a call
may have several spans, or none. One rule holds for all of them:

- If another span of the same call follows, a span only asked. The last one, or messages, show the outcome of the call.
- If none follows and the agent did not resume, the call waits: it is withheld.
- If the agent resumed and nothing shows the outcome of the call, it is not known whether it was made.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.reading.conventions import (
    ANSWERS,
    ASKED_FOR,
    BY_GUARDRAIL,
    ELSEWHERE,
    FOR_APPROVAL,
    HANDOFFS,
    REFUSED,
    CallShape,
    Role,
    agent_name,
    deferred_in,
    interruption_in,
    is_dspy,
)
from rightcall.reading.messages import UNCONFIRMED, Exchange, Log, Requests, key_of
from rightcall.reading.spans import NOTHING, CallRecord, Span, UnparsableError, arguments, object_in, same_but_nulls
from rightcall.values.trajectory import WithheldCall

if TYPE_CHECKING:
    from ._conversations import Conversations
    from ._span_tree import ReadSpan, Tree


_FINISH = "finish"
"""The tool by which DSPy's `ReAct` ends."""
_ANSWERS_OF_A_TYPE = "final_result_"
_PROCESSED = "Final result processed."
"""The prefix of Pydantic AI's output tools if an answer may have several types, and what these tools return."""
_STRUCTURED = (
    "Returning structured response: ",
    "Error: Failed to parse structured output for tool '",
    "Error: Model incorrectly returned multiple structured responses (",
)
"""The starts of the results of calls by which LangChain's agents give a structured answer; their names vary."""
_VALIDATED = "Successfully validated {name} structured output"
"""What such a call returns in Strands, where the tool is called like the type of the answer."""
_HANDED_OVER = ("handoff", "Agent {to_agent} is now handling the request")
"""The hand-off of LlamaIndex's `AgentWorkflow`, and how its result begins."""
# Questions to the user, which ADK writes as calls in its events.
_OF_ADK = frozenset({"adk_request_confirmation", "adk_request_credential", "adk_request_input"})
_HANDOFF_SPAN = "openai-agents, hand-off"
_NAMED_SPAN = "handoff to "
"""How OpenInference names the span of a hand-off in OpenAI Agents."""
_TO_ANY = "agent"
"""`transfer_to_agent` (ADK) and `handoff_to_agent` (Strands) have the name of the agent among their arguments."""
_TARGETS = ("agent_name", "agent", "target")
_WORDS = frozenset({*_TARGETS, "message", "context", "reason", "task_description"})
"""Arguments of hand-offs: LangGraph has `task_description`, Strands `message` and `context`; `reason` is common."""
_RETURNED = ("assistant", "handoff_to", "transfer_to_agent")
"""Keys of the only value that a hand-off returns: OpenAI Agents, Agent Framework, ADK."""
_PARENT = "__parent__"
"""The graph of LangGraph's `Command` that goes to another agent."""
# LangGraph says "Successfully transferred to billing", AutoGen "Transferred to it, adopting the role of it", Strands
# "Handing off to billing: …". A bank's tool may say that money was "transferred to savings".
_SURE = lazy_pattern(
    r"\s*successfully transferred (?:back )?to \W*(?P<agent>.+)|.*adopt\w* (?:the role|persona)\b", re.I | re.S
)
_LIKELY = lazy_pattern(r".*\b(?:transferr?(?:ed|ing)?|hand(?:ed|ing)?[ -]?off|delegated)\b", re.I | re.S)
_SIGNS = lazy_pattern(r"[\W_]+")
_AUTHORS = ("name", "author", "source", "sender", "agent")
_OTHERS = frozenset({"user", "human", "tool", "system", "function", "developer"})
_LONGEST = 2_000
_ASKS, _REJECTS = UNCONFIRMED
_OPENAI_AGENTS = "openai_agents"
_OWN_EXPORT = "openai-agents"
_ADK = ("gcp.vertex.agent", "google_adk")
_ONE_CALL = lazy_pattern(r"adk-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\Z")
"""An id that ADK makes up for one call. It runs the tool again under this id only if a person was asked about it."""
_INTERRUPT = lazy_pattern(
    r"'id': 'v1:(?:before_tool_call|tool_call|middleware_execute_tool):(?P<call>[^']{1,200}):[0-9a-f-]{36}'"
)
"""An interrupt in the answer of an agent of Strands, which writes them as Python does."""
_LONGEST_ANSWER = 100_000
_TRIPPED = lazy_pattern(
    r"(?:\A|'error': '|\AError running tool: )Tool input guardrail \S{1,200} triggered tripwire(?:'\}{1,2})?\Z"
)
"""The error of a call in OpenAI Agents, alone or in the data of the error."""


def agents_in(
    spans: Iterable[Span], roles: Mapping[int, Role], calls: Iterable[CallRecord], logs: Iterable[Log]
) -> frozenset[str]:
    """Return the names of the agents of a run, as far as spans, calls and authors of messages show them.

    If no call is named like a hand-off, they are not needed, and none are returned.
    """
    if not any([record.name.startswith(HANDOFFS) for record in calls]):
        return frozenset()
    found: set[Any] = {record.agent for record in calls}
    for span in spans:
        if roles.get(id(span)) == "agent":
            found.add(agent_name(span))
            found.update(_listed(span.attributes.get("handoffs")))
    for message in [message for log in logs for message in log.messages]:
        found.update(_authors(message))
    return frozenset([_plain(name) for name in found if isinstance(name, str)]) - {""}


def is_internal(record: CallRecord, agents: frozenset[str]) -> bool | None:
    """Return whether a call is the framework's own; `None` if only its name looks like it.

    A name alone decides nothing: `transfer_to_savings` may be a tool of a bank.
    """
    name = record.name
    if name in ANSWERS or name in _OF_ADK or (name == _FINISH and is_dspy(record.span)):
        return True
    if record.args and _is_answer(record):
        return True
    if name.startswith(_ANSWERS_OF_A_TYPE):
        return None if record.output is NOTHING else record.output == _PROCESSED
    if name == _HANDED_OVER[0] and record.args.__class__ is dict and "to_agent" in record.args:
        handed = _HANDED_OVER[1].format(to_agent=record.args["to_agent"])
        return None if record.output is NOTHING else str(record.output).startswith(handed)
    prefix = next((each for each in HANDOFFS if name.startswith(each)), None)
    if prefix is None:
        return False
    if record.convention == _HANDOFF_SPAN or (record.span is not None and record.span.name.startswith(_NAMED_SPAN)):
        return True
    args = record.args if isinstance(record.args, dict) else {}
    target = name[len(prefix) :]
    targets = [args.get(key) for key in _TARGETS] if target == _TO_ANY else [target]
    if any([isinstance(each, str) and _plain(each) in agents for each in targets]):
        return True
    return _by_content(record, args, [each for each in targets if isinstance(each, str)])


def _is_answer(record: CallRecord) -> bool:
    """Whether what a call returned says that it gave a structured answer; tools for that may have any name."""
    said = record.error if record.failed else record.output
    if said.__class__ is not str:
        return False
    return said in (_PROCESSED, _VALIDATED.format(name=record.name)) or said.startswith(_STRUCTURED)


def _by_content(record: CallRecord, args: Mapping[str, Any], targets: Sequence[str]) -> bool | None:
    """Decide by arguments and result: a hand-off returns the other agent, or a sentence about it."""
    output = _value(record.output)
    if output is NOTHING or output is None or output == "" or record.failed:
        return None
    if isinstance(output, dict) and len(output) == 1 and next(iter(output)) in _RETURNED:
        return True
    if isinstance(output, dict) and output.get("graph") == _PARENT:
        return output.get("goto") in targets or None
    if not isinstance(output, str):
        return False
    said = _SURE.match(output[:_LONGEST])
    if said is not None:
        to = _plain(said["agent"] or "")
        return True if not to or any([to.startswith(_plain(target)) for target in targets]) else None
    # Arguments that hand-offs do not have are data for a tool, unless the result is about the other agent.
    names_target = any([_plain(target) in _plain(output[:_LONGEST]) for target in targets])
    is_like = names_target and _LIKELY.match(output[:_LONGEST]) is not None
    return None if is_like or _WORDS.issuperset(args) else False


def _value(output: Any) -> Any:
    """Return an output, decoded if it is the text of a small object or of nothing."""
    if isinstance(output, str) and len(output) <= _LONGEST and output.lstrip()[:1] in ("{", "n"):
        try:
            return json.loads(output)
        except ValueError:
            return output
    return output


def _plain(name: str) -> str:
    return _SIGNS.sub("", name).lower()


def _listed(value: Any) -> list[Any]:
    """Return the agents that an agent may hand off to, as Logfire records them."""
    try:
        names = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return []
    return list(names) if isinstance(names, (list, tuple)) else []


def _authors(message: Any) -> list[str]:
    """Return the names of the agent that wrote a message; LangChain's dumps have them one level down."""
    if not isinstance(message, dict):
        return []
    forms = [message, *[value for key in ("kwargs", "data") if isinstance(value := message.get(key), dict)]]
    if any([str(form.get(key, "")).lower() in _OTHERS for form in forms for key in ("role", "type")]):
        return []
    named = [form.get(key) for form in forms for key in _AUTHORS]
    return [name for name in named if isinstance(name, str)]


def without_questions(records: Sequence[CallRecord], requests: Requests) -> tuple[list[CallRecord], CallRecord | None]:
    """Return the calls of spans, without spans that only asked about a call that a later span repeats.

    Also return the first span for which it is not known whether it only asked. `records` are in order of start.
    """
    unsure = _withhold_surplus(records, requests)
    _doubt_without_ids(records)
    last: dict[Hashable, CallRecord] = {}
    kept: list[CallRecord] = []
    late: set[int] = set()
    for record in reversed(records):
        if _says(record, _ASKS):
            record.withheld = record.withheld or ASKED_FOR
        final = last.get(_call_of(record))
        if final is not None and record.call_id and not record.withheld and _says(final, _ASKS):
            late.add(id(final))  # the question lost its start, so it came last
            record.is_asked = True
            last[_call_of(record)] = record
        elif final is not None and _only_asked(record):
            # Other frameworks mark a span that only asked: without the mark, the last one is of a call that was made.
            final.is_asked = final.is_asked or not record.withheld or _says(record, _ASKS)
            continue
        kept.append(record)
        last.setdefault(_call_of(record), record)
        last.setdefault(_name_args(record), record)
    return [record for record in reversed(kept) if id(record) not in late], unsure


def _call_of(record: CallRecord) -> Hashable:
    """Return the key of the call that a span belongs to: its id and name, or its name and arguments without an id."""
    return (record.call_id, record.name) if record.call_id else _name_args(record)


def _name_args(record: CallRecord) -> Hashable:
    return None, record.name, NOTHING if record.args is NOTHING else key_of(record.args)


def _only_asked(record: CallRecord) -> bool:
    """Return whether a span only asked about a call, if another span of the same call follows."""
    if record.withheld:
        return record.withheld != REFUSED
    return record.call_id is not None and _ONE_CALL.match(record.call_id) is not None


def _says(record: CallRecord, text: str) -> bool:
    """Return whether a call returned a sentence of ADK about confirmation."""
    return record.error == text or (record.output.__class__ is dict and record.output == {"error": text})


def _doubt_without_ids(records: Sequence[CallRecord]) -> None:
    """Mark spans of ADK without ids and results: each may only have asked about the call of another span.

    ADK ends the span of an agent to ask, and begins another one once it has the answer.
    """
    later: dict[str, CallRecord] = {}
    for record in reversed(records):
        if record.span is not None and record.span.scope.endswith(_ADK) and _is_unsettled(record):
            other = later.setdefault(record.name, record)
            is_of_other = other is not record and (record.under is None or record.under != other.under)
            if is_of_other and not (record.call_id and other.call_id):
                record.is_asked = other.is_asked = True


def _withhold_surplus(records: Sequence[CallRecord], requests: Requests) -> CallRecord | None:
    """Withhold surplus spans of OpenAI Agents without results and ids, if a model asked for fewer calls than there are.

    OpenAI Agents begins a span before it asks for approval, and another one once it has it. A span surely only asked if
    one with the same arguments and a result follows; else the first span that may be a call is returned. A span without
    a scope, as in exports of some servers, may be of any framework, where both are calls.

    The framework's own export may not have what models asked for, and has no result of a tool that returned nothing.
    If one of its spans only asked, any other span without a result may have, too.
    """
    if not any([_may_ask(record) for record in records]):
        return None
    asked = Counter([request.name for request in requests.made])
    may_ask_all = _is_any_told_again([record for record in records if _is_exported(record)])
    told: dict[str, list[CallRecord]] = {}
    for record in records:
        if not (record.call_id or record.withheld) and (asked[record.name] or (may_ask_all and _is_exported(record))):
            told.setdefault(record.name, []).append(record)
    unsure = None
    for name, spans in told.items():
        returned = {_name_args(record): place for place, record in enumerate(spans) if not record.is_open}
        may_ask = [(place, record) for place, record in enumerate(spans) if _may_ask(record)]
        # Sure questions come first: any other span may be a call whose result is lost.
        may_ask.sort(key=lambda each: returned.get(_name_args(each[1]), -1) < each[0])
        for place, record in may_ask[: max(len(spans) - asked[name], 0)]:
            is_told_again = record.args is not NOTHING and returned.get(_name_args(record), -1) > place
            is_sure = is_told_again and record.span is not None and bool(record.span.scope or _is_exported(record))
            unsure = unsure or (None if is_sure else record)
            record.withheld = ASKED_FOR
    return unsure


def _may_ask(record: CallRecord) -> bool:
    """Return whether a span may have ended to ask for approval; exports of some servers have no scopes."""
    if not record.is_open or record.call_id or record.span is None:
        return False
    return not record.span.scope or record.span.scope.endswith(_OPENAI_AGENTS)


def _is_exported(record: CallRecord) -> bool:
    """Return whether a call is in OpenAI Agents' own export, with its contents."""
    return record.convention == _OWN_EXPORT and record.args is not NOTHING


def _is_any_told_again(records: Sequence[CallRecord]) -> bool:
    """Return whether a span without a result is followed by one with the same arguments and a result."""
    later: set[Hashable] = set()
    for record in reversed(records):
        if not record.is_open:
            later.add(_name_args(record))
        elif _name_args(record) in later:
            return True
    return False


class Wait(msgspec.Struct, frozen=True):
    """A call that an agent ended for, to wait for a person or for another program."""

    reason: str
    end_ns: int | None
    has_gone_on: bool
    """Whether the agent resumed later, or may have."""
    name: str = ""
    """The tool, if the agent names it."""
    args: Any = NOTHING

    def may_be(self, record: CallRecord) -> bool:
        """Return whether a call without an id may be this one."""
        if self.name and self.name != record.name:
            return False
        return NOTHING in (self.args, record.args) or same_but_nulls(self.args, record.args)

    def precedes(self, span: Span | None) -> bool | None:
        """Return whether a span of the call began after its agent ended; `None` if that is not known.

        Strands may also ask from inside a tool, whose span began before.
        """
        if span is None:
            return False
        return None if span.start_ns is None or self.end_ns is None else span.start_ns >= self.end_ns


def withhold_waiting(
    records: Sequence[CallRecord],
    spans: Sequence[ReadSpan],
    roles: Mapping[int, Role],
    conversations: Conversations,
    tree: Tree,
) -> CallRecord | None:
    """Withhold calls that wait for a person, and calls that were rejected; return the first that may have been made."""
    for record in records:
        if record.is_asked and _says(record, _REJECTS):
            record.withheld = REFUSED
    _doubt_last(records, [span.start_ns for span in spans if roles.get(id(span)) == "model"])
    lost = _withhold_ended(records, _waits_in(spans, roles, conversations))
    _withhold_interrupted(records, spans, tree)
    _withhold_tripped(records, spans)
    _doubt_deferred(records, [span for span in spans if roles.get(id(span)) == "agent"])
    unsure = [record for record in records if record.is_asked and (_is_unsettled(record) or _is_elsewhere(record))]
    for record in unsure:
        record.withheld = record.withheld or ASKED_FOR  # it is not known that the call was made
    return unsure[0] if unsure else lost


def _doubt_last(records: Iterable[CallRecord], models: Iterable[int | None]) -> None:
    """Mark spans of OpenAI Agents that have no result and no model call after them: they may have only asked a person.

    OpenAI Agents calls a model again after a tool call, or answers with the result, unless a person has to approve a
    call first.
    """
    last = max([start or 0 for start in models], default=0)
    for record in records:
        if record.span is not None and record.is_open and record.span.scope.endswith(_OPENAI_AGENTS):
            record.is_asked = record.is_asked or (record.span.start_ns or last) >= last


def _is_unsettled(record: CallRecord) -> bool:
    """Return whether the outcome of a call is unknown: it has no result, no error with a message, and no refusal."""
    return record.output is NOTHING and record.error is None and not record.withheld


def _withhold_ended(records: Sequence[CallRecord], waits: Mapping[Any, Wait]) -> CallRecord | None:
    """Withhold calls without a result that an agent ended for; return one without a record that may have been made.

    A call without an id is taken for one that an agent ended for, unless there are more of them: then each may be one.
    """
    if not waits:
        return None
    ids = Counter([record.call_id for record in records if record.call_id])
    unsure: CallRecord | None = None
    waiting = [record for record in records if record.is_open]
    for record in waiting:
        wait = waits.get(record.call_id) if record.call_id else None
        if wait is not None:
            _apply(wait, record, is_told_again=ids[record.call_id or ""] > 1)
    for record in records:
        wait = waits.get(record.call_id) if record.call_id and record.span is None else None
        # A tool has a span where the call was approved, and the text of a refusal is the program's own.
        if wait is not None and wait.reason == ASKED_FOR and not (record.is_open or record.withheld):
            record.withheld, unsure = ASKED_FOR, unsure or record
    lost = [wait for call_id, wait in waits.items() if call_id not in ids]
    nameless = [
        record
        for record in waiting
        if not record.call_id and record.span is None and any([wait.may_be(record) for wait in lost])
    ]
    for record in nameless if len(nameless) > len(lost) else ():
        record.is_asked = True
    for record, wait in zip(nameless, lost, strict=False) if len(nameless) <= len(lost) else ():
        _apply(wait, record)
    untold = [wait for wait in lost[len(nameless) :] if wait.has_gone_on]
    return CallRecord(untold[0].name or "a tool") if untold else unsure


def _withhold_interrupted(records: Iterable[CallRecord], spans: Sequence[ReadSpan], tree: Tree) -> None:
    """Withhold calls that only messages show, without a result, if their graph was interrupted after it was asked.

    LangChain's `HumanInTheLoopMiddleware` interrupts a graph before it makes any call of an answer. An interruption for
    anything else may come from inside a tool while others ran, and after any of them the graph may have gone on, with
    spans that got lost: then it is not known whether the calls were made.
    """
    open_calls = [record for record in records if record.span is None and record.is_open]
    for span in spans if open_calls else ():
        told = "" if span.kind.__class__ is CallShape else interruption_in(span)
        around = tree.enclosing(span) if told else None
        for record in open_calls if told else ():
            is_later = None not in (record.asked_ns, span.start_ns) and (record.asked_ns or 0) > (span.start_ns or 0)
            if record.parent is not around or is_later:
                continue
            if FOR_APPROVAL in told and not any([other.kind and _follows(other, span) for other in spans]):
                record.withheld = ASKED_FOR
            else:
                record.is_asked = True


def _doubt_deferred(records: Iterable[CallRecord], agents: Sequence[ReadSpan]) -> None:
    """Doubt that calls which their tools deferred were not made, if their agent began later: it had their results."""
    for record in records:
        span = record.span
        if span is not None and _is_elsewhere(record):
            same = [each for each in agents if record.agent in (None, agent_name(each))]
            record.is_asked = record.is_asked or any([_follows(each, span) for each in same])


def _is_elsewhere(record: CallRecord) -> bool:
    return record.withheld == ELSEWHERE


def _withhold_tripped(records: Iterable[CallRecord], spans: Iterable[ReadSpan]) -> None:
    """Withhold calls before which a guardrail of OpenAI Agents ended the run.

    The span of a call whose tool ran another agent has the same error if a guardrail ended that agent.
    """
    tripped = [record for record in records if record.span and record.error and _TRIPPED.search(record.error)]
    around = {span.parent_id for span in spans} if tripped else set()
    for record in tripped:
        if record.span and record.span.span_id not in around:
            record.withheld = BY_GUARDRAIL


def _follows(other: Span, span: Span) -> bool:
    """Return whether a span began, or may have begun, after another one had ended."""
    return other.start_ns is None or span.end_ns is None or other.start_ns >= span.end_ns


def _apply(wait: Wait, record: CallRecord, is_told_again: bool = False) -> None:
    is_later = wait.precedes(record.span)
    if is_later is None or (wait.has_gone_on and not is_later and not is_told_again):
        record.is_asked = True
    elif not is_later:
        record.withheld = wait.reason


def _waits_in(spans: Sequence[ReadSpan], roles: Mapping[int, Role], conversations: Conversations) -> dict[Any, Wait]:
    """Return the calls, by id, for which agents of Pydantic AI and Strands ended."""
    agents = [span for span in spans if roles.get(id(span)) == "agent"]
    waits: dict[Any, Wait] = {}
    for span in agents:
        deferred = _deferred_in(object_in(span.attributes.get("final_result")))
        interrupted = _interrupted_in(conversations.of(span).output)
        if deferred or interrupted:
            has_gone_on = any([_may_continue(other, span) for other in agents])
            for call_id, reason, name, args in [*deferred, *interrupted]:
                waits[call_id] = Wait(reason, span.end_ns, has_gone_on, name, args)
    return waits


def _may_continue(other: Span, span: Span) -> bool:
    """Return whether a span of an agent may continue another span of the same agent, after that one ended."""
    return other is not span and agent_name(other) == agent_name(span) and _follows(other, span)


def asked_before(records: Iterable[CallRecord], models: Iterable[int | None]) -> CallRecord | None:
    """Return a call with an id that began before the first model call; `None` if there is none.

    No message has its request either: the run resumes after a person answered, and what came before is elsewhere.
    """
    first = min([start or 0 for start in models], default=0)  # one whose start is lost may be the first
    begun = [(record, record.span.start_ns or first) for record in records if record.span and record.order < 0]
    return next((record for record, start in begun if record.call_id and start < first), None)


_Found = tuple[Any, str, str, Any]
"""The id of a call, why it waits, its tool and its arguments, as far as they are known."""


def _deferred_in(output: Mapping[str, Any]) -> list[_Found]:
    return [
        (call["tool_call_id"], reason, _text(call["tool_name"]), _arguments(call.get("args")))
        for reason, call in deferred_in(output)
    ]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _arguments(held: Any) -> Any:
    try:
        value = arguments(held)
    except UnparsableError:
        return NOTHING
    return value if value.__class__ is dict else NOTHING


def _interrupted_in(exchanges: Iterable[Exchange]) -> list[_Found]:
    """Return the calls at which an agent of Strands was interrupted to ask a person."""
    texts = [each.text for each in exchanges if each.message.get("finish_reason") == "interrupt"]
    found = [each["call"] for text in texts for each in _INTERRUPT.finditer(text[:_LONGEST_ANSWER])]
    return [(call_id, ASKED_FOR, "", NOTHING) for call_id in found]


def made_and_withheld(records: Iterable[CallRecord]) -> tuple[list[CallRecord], list[CallRecord]]:
    """Return the calls that were made and those that were withheld. A call withheld first and made later was made."""
    made: list[CallRecord] = []
    withheld: list[CallRecord] = []
    for record in records:
        (withheld if record.withheld else made).append(record)
    ids = {record.call_id for record in made if record.call_id} if withheld else set()
    return made, [record for record in withheld if record.call_id not in ids]


def withheld_call(record: CallRecord) -> WithheldCall:
    """Return a call that was not made, as trajectories record it."""
    return WithheldCall(record.name, None if record.args is NOTHING else record.args, record.withheld)
