"""Tell the framework's own calls, and calls that were withheld, from calls of the agent's tools that were made."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rightcall._lazy import lazy_pattern
from rightcall.reading.conventions import ASKED_FOR, ELSEWHERE, REFUSED, Role, agent_name, is_dspy
from rightcall.reading.messages import UNCONFIRMED, Exchange, Log, key_of
from rightcall.reading.spans import NOTHING, CallRecord, Span, object_in
from rightcall.values.trajectory import WithheldCall

if TYPE_CHECKING:
    from ._conversations import Conversations
    from ._span_tree import ReadSpan

# smolagents answers by calling `final_answer`, Pydantic AI by calling its output tool, `final_result`, ADK by calling
# `set_model_response` where it has an output schema.
_ANSWERS = frozenset({"final_answer", "final_result", "set_model_response"})
_FINISH = "finish"
"""The tool by which DSPy's `ReAct` ends."""
_ANSWERS_OF_A_TYPE = "final_result_"
_PROCESSED = "Final result processed."
"""How the output tools of Pydantic AI are named where an answer may have several types, and what they return."""
_STRUCTURED = "Returning structured response: "
"""How the results begin of the calls by which LangChain's agents give a structured answer; a tool has another name."""
# Questions to the user, which ADK writes as calls in its events.
_OF_ADK = frozenset({"adk_request_confirmation", "adk_request_credential", "adk_request_input"})
# To a model a hand-off is a tool: `transfer_to_…` in OpenAI Agents, AutoGen and LangGraph, `transfer_back_to_…` in
# LangGraph, `handoff_to_…` in Microsoft's Agent Framework and Strands.
_HANDOFFS = ("transfer_to_", "transfer_back_to_", "handoff_to_")
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
_INTERRUPT = lazy_pattern(
    r"'id': 'v1:(?:before_tool_call|tool_call|middleware_execute_tool):(?P<call>[^']{1,200}):[0-9a-f-]{36}'"
)
"""An interrupt in the answer of an agent of Strands, which writes them as Python does."""
_LONGEST_ANSWER = 100_000


def agents_in(
    spans: Iterable[Span], roles: Mapping[int, Role], calls: Iterable[CallRecord], logs: Iterable[Log]
) -> frozenset[str]:
    """Return the names of the agents of a run, as far as spans, calls and authors of messages show them.

    Nothing is looked at where no call is named like a hand-off.
    """
    if not any([record.name.startswith(_HANDOFFS) for record in calls]):
        return frozenset()
    found: set[Any] = {record.agent for record in calls}
    for span in spans:
        if roles.get(id(span)) == "agent":
            found.add(agent_name(span))
            found.update(_listed(span.attributes.get("handoffs")))
    for message in [message for log in logs for message in log.messages]:
        found.update(_authors(message))
    return frozenset([_plain(name) for name in found if isinstance(name, str)]) - {""}


def is_named_like_own(name: str) -> bool:
    """Whether a call is named like a framework's own."""
    return name in _ANSWERS or name.startswith(_HANDOFFS)


def is_internal(record: CallRecord, agents: frozenset[str]) -> bool | None:
    """Return whether a call is the framework's own; `None` where only its name looks like it.

    A name alone decides nothing: `transfer_to_savings` may be a tool of a bank.
    """
    name = record.name
    if name in _ANSWERS or name in _OF_ADK or (name == _FINISH and is_dspy(record.span)):
        return True
    if name.startswith(_ANSWERS_OF_A_TYPE):
        return None if record.output is NOTHING else record.output == _PROCESSED
    if record.output.__class__ is str and record.output.startswith(_STRUCTURED) and record.args:
        return True
    prefix = next((each for each in _HANDOFFS if name.startswith(each)), None)
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


def _by_content(record: CallRecord, args: Mapping[str, Any], targets: Sequence[str]) -> bool | None:
    """Decide by what was given and returned: a hand-off returns the other agent, or a sentence about it."""
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
    # What the agent gave beside the words of a hand-off is data for a tool, unless the answer is about the other agent.
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


def _listed(held: Any) -> list[Any]:
    """Return the agents to which Logfire says that an agent may hand over."""
    try:
        names = json.loads(held) if isinstance(held, str) else held
    except ValueError:
        return []
    return list(names) if isinstance(names, (list, tuple)) else []


def _authors(message: Any) -> list[str]:
    """Return the names of the agent that wrote a message; LangChain's dumps have them one level down."""
    if not isinstance(message, dict):
        return []
    forms = [message, *[held for key in ("kwargs", "data") if isinstance(held := message.get(key), dict)]]
    if any([str(form.get(key, "")).lower() in _OTHERS for form in forms for key in ("role", "type")]):
        return []
    named = [form.get(key) for form in forms for key in _AUTHORS]
    return [name for name in named if isinstance(name, str)]


def made_and_withheld(records: Iterable[CallRecord]) -> tuple[list[CallRecord], list[CallRecord]]:
    """Return the calls that were made and those that were withheld. A call deferred first and made later was made."""
    made: list[CallRecord] = []
    withheld: list[CallRecord] = []
    for record in _each_once(list(records)):
        (withheld if record.withheld else made).append(record)
    if not withheld:
        return made, []
    ids = {record.call_id for record in made if record.call_id}
    latest = {(record.name, key_of(record.args)): _span_start(record) for record in sorted(made, key=_span_start)}
    return made, [record for record in withheld if record.call_id not in ids and not _was_made(record, latest)]


def _each_once(records: list[CallRecord]) -> list[CallRecord]:
    """Return calls without those that ADK made again once they were confirmed or rejected, with the same id.

    The answer that a call is rejected, after one with the same id that it has to be confirmed, is no tool's.
    """
    unconfirmed = [record for record in records if record.error in UNCONFIRMED and record.call_id]
    if not unconfirmed:
        return records
    asks, rejects = UNCONFIRMED
    last = {(record.call_id, record.name): record for record in records}
    for record in unconfirmed:
        final = last[record.call_id, record.name]
        if record.error == asks and final.error == rejects:
            final.withheld = final.withheld or REFUSED
    again = {id(record) for record in unconfirmed if last[record.call_id, record.name] is not record}
    return [record for record in records if id(record) not in again]


def withhold_waiting(
    records: Sequence[CallRecord], spans: Iterable[ReadSpan], roles: Mapping[int, Role], conversations: Conversations
) -> CallRecord | None:
    """Withhold calls without a result for which an agent ended to wait (Pydantic AI, Strands).

    A call that lost its id is one that is waited for, unless there are more of them: then the first is returned.
    """
    waiting = [record for record in records if record.is_open and (record.call_id or record.span is None)]
    waits: dict[Any, tuple[str, int | None]] = {}
    for span in spans if waiting else ():
        if roles.get(id(span)) == "agent":
            reasons = _deferred_in(object_in(span.attributes.get("final_result")))
            reasons.update(_interrupted_in(conversations.of(span).output))
            waits.update({call_id: (reason, span.end_ns) for call_id, reason in reasons.items()})
    for record in [each for each in waiting if each.call_id]:
        reason, end_ns = waits.get(record.call_id, ("", None))
        if _is_before(record.span, end_ns):
            record.withheld = reason
    ids = {record.call_id for record in records}
    left = [reason for call_id, (reason, _) in waits.items() if call_id not in ids]
    nameless = [record for record in waiting if not (record.call_id or record.withheld)]
    if len(nameless) > len(left):
        return nameless[0] if left else None
    for record, reason in zip(nameless, left, strict=False):
        record.withheld = reason
    return None


def _is_before(span: Span | None, end_ns: int | None) -> bool:
    """Whether a call has no span, or one that began before its agent ended: Strands asks from inside of a tool, too."""
    return span is None or (span.start_ns is not None and end_ns is not None and span.start_ns < end_ns)


def _deferred_in(output: Mapping[str, Any]) -> dict[Any, str]:
    """Return why calls wait, by their ids, if an output is a `DeferredToolRequests`."""
    if not {"calls", "approvals"} <= output.keys() <= {"calls", "approvals", "metadata"}:
        return {}
    listed = [(ELSEWHERE, output["calls"]), (ASKED_FOR, output["approvals"])]
    return {
        call.get("tool_call_id"): reason
        for reason, calls in listed
        if isinstance(calls, list)
        for call in calls
        if isinstance(call, dict)
    }


def _interrupted_in(said: Iterable[Exchange]) -> dict[Any, str]:
    """Return the calls, by their ids, at which an agent of Strands was interrupted to ask a person."""
    texts = [each.text for each in said if each.message.get("finish_reason") == "interrupt"]
    return {found["call"]: ASKED_FOR for text in texts for found in _INTERRUPT.finditer(text[:_LONGEST_ANSWER])}


def withheld_call(record: CallRecord) -> WithheldCall:
    """Return a call that was not made, as trajectories have it."""
    return WithheldCall(record.name, None if record.args is NOTHING else record.args, record.withheld)


def _was_made(record: CallRecord, latest: Mapping[tuple[str, bytes | str], int]) -> bool:
    """Whether a deferred call without an id was made later: a call of the same name and arguments starts after it."""
    if record.call_id or record.span is None:
        return False
    return latest.get((record.name, key_of(record.args)), -1) >= _span_start(record)


def _span_start(record: CallRecord) -> int:
    return record.span.start_ns or 0 if record.span else 0
