"""OpenHands: trajectories of its events, of version 0 and of its SDK, and the output files of its evaluations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ._log import Log, called, listed, plain, refused, returned, said, word

# openhands/core/schema/action.py and observation.py: what is about the session, and not something the agent did.
_NO_CALLS = frozenset(
    {
        "message",
        "system",
        "recall",
        "null",
        "pause",
        "resume",
        "stop",
        "change_agent_state",
        "agent_state_changed",
        "condensation",
        "condensation_request",
        "loop_detection",
        "finish",
        "reject",
    }
)
_KEPT = ("thought", "security_risk", "confirmation_state", "hidden", "image_urls", "wait_for_response", "is_confirmed")
"""Keys of `args` that are not arguments of the action."""
_EVENTS = frozenset({"ActionEvent", "ObservationEvent", "MessageEvent", "AgentErrorEvent", "SystemPromptEvent"})
_OTHER_EVENTS = (
    "State",
    "ConversationState",
    "ConversationError",
    "Pause",
    "Interrupt",
    "Condens",
    "SystemPrompt",
    "Token",
    "LLMCompletion",
)
"""Beginnings of the kinds of events of the SDK that are about the session."""
_SOURCES = ("agent", "user", "environment")


def is_openhands(event: Any) -> bool:
    """Whether an item is an event of OpenHands."""
    if not isinstance(event, dict) or word(event.get("source")) not in _SOURCES:
        return False
    if word(event.get("kind")) in _EVENTS:
        return True
    named = isinstance(event.get("action"), str) or isinstance(event.get("observation"), str)
    return named and ("timestamp" in event or "args" in event or "extras" in event)


def openhands_logs(events: list[Any]) -> list[Log]:
    """Return the log of a trajectory."""
    return [Log(_messages(events))]


def is_evaluation(line: Any) -> bool:
    """Whether a document is a line of an evaluation of OpenHands."""
    if not isinstance(line, dict) or not isinstance(line.get("history"), list) or "instance_id" not in line:
        return False
    return any([is_openhands(each) for each in _flat(line["history"])])


def evaluation_logs(line: dict[str, Any]) -> list[Log]:
    """Return the log of an instance."""
    return [Log(_messages(_flat(line["history"])), id=word(line["instance_id"]) or None, about=line)]


def _flat(history: list[Any]) -> list[Any]:
    """Return the events of a history, which until 2024 was a list of pairs of an action and its observation."""
    return [each for item in history for each in (item if isinstance(item, list) else [item])]


def _messages(events: list[Any]) -> list[Any]:
    asked = [(str(plain(event).get("id")), plain(plain(event).get("tool_call_metadata"))) for event in events]
    ids = {number: held["tool_call_id"] for number, held in asked if isinstance(held.get("tool_call_id"), str)}
    return [message for event in events for message in _of_event(event, ids)]


def _of_event(event: Any, ids: Mapping[str, str]) -> Iterator[Any]:
    if not isinstance(event, dict):
        yield event
    elif isinstance(event.get("kind"), str):
        yield from _of_sdk(event, event["kind"])
    elif isinstance(event.get("action"), str):
        yield from _of_action(event, event["action"])
    elif isinstance(event.get("observation"), str):
        yield from _of_observation(event, event["observation"], ids)
    else:
        yield event


def _of_action(event: dict[str, Any], action: str) -> Iterator[Any]:
    args, source = plain(event.get("args")), event.get("source")
    asked = event.get("tool_call_metadata")
    if action in _NO_CALLS and (source != "agent" or not isinstance(asked, dict)):
        if action in ("message", "finish"):
            yield said("assistant" if source == "agent" else "user", _text(event, args))
        return
    if source != "agent":
        return  # what the user ran in the terminal beside the agent
    if not isinstance(asked, dict):
        yield called(str(event.get("id")), action, {key: held for key, held in args.items() if key not in _KEPT})
        return
    yield called(asked.get("tool_call_id"), asked.get("function_name"), _arguments(asked, args))
    if action == "finish":
        yield said("assistant", _text(event, args))


def _text(event: dict[str, Any], args: dict[str, Any]) -> str:
    return word(args.get("content")) or word(args.get("final_thought")) or word(event.get("message"))


def _arguments(asked: dict[str, Any], args: dict[str, Any]) -> Any:
    """Return the arguments that the model gave, else those of the action that it became."""
    response = plain(asked.get("model_response"))
    for choice in listed(response.get("choices")):
        for call in listed(plain(plain(choice).get("message")).get("tool_calls")):
            if plain(call).get("id") == asked.get("tool_call_id"):
                return plain(plain(call).get("function")).get("arguments")
    return {key: held for key, held in args.items() if key not in _KEPT}


def _of_observation(event: dict[str, Any], kind: str, ids: Mapping[str, str]) -> Iterator[Any]:
    """Yield the result of the call that an observation names, or of the action that caused it."""
    asked, cause = event.get("tool_call_metadata"), event.get("cause")
    if kind in _NO_CALLS:
        return
    call_id = asked.get("tool_call_id") if isinstance(asked, dict) else ids.get(str(cause), cause)
    if kind == "user_rejected":
        yield refused(call_id if isinstance(call_id, str) else str(call_id), event.get("content"))
    elif call_id is not None and event.get("source") != "user":
        yield returned(call_id if isinstance(call_id, str) else str(call_id), event.get("content"), kind == "error")


def _of_sdk(event: dict[str, Any], kind: str) -> Iterator[Any]:
    call_id, asked = event.get("tool_call_id"), plain(event.get("tool_call"))
    if kind == "MessageEvent" and isinstance(event.get("llm_message"), dict):
        yield event["llm_message"]
    elif kind == "ActionEvent":
        args = asked.get("arguments", plain(asked.get("function")).get("arguments"))
        if args is None:
            args = {key: held for key, held in plain(event.get("action")).items() if key != "kind"}
        yield called(call_id, event.get("tool_name"), args)
    elif kind == "ObservationEvent":
        held = plain(event.get("observation"))
        output = held.get("content", held.get("output", {key: each for key, each in held.items() if key != "kind"}))
        yield returned(call_id, output, held.get("is_error") is True)
    elif kind == "AgentErrorEvent":
        yield returned(call_id, None, True, event.get("error"))
    elif kind == "UserRejectObservation":
        yield refused(call_id, event.get("rejection_reason"))
    elif not kind.startswith(_OTHER_EVENTS):
        yield event
