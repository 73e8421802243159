"""Tell the framework's own calls from calls of the agent's tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rightcall._lazy import lazy_pattern
from rightcall.reading.conventions import Role, agent_name, is_dspy
from rightcall.reading.messages import Log
from rightcall.reading.spans import NOTHING, CallRecord, Span

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
