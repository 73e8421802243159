"""Split the documents of a source into logs: the messages of one conversation each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ._acting_text import acts_by_text
from ._conversation_lists import identity, interrupted
from ._log import Log, unused_in
from ._message_exchange import exchange_of, exchanges_of, has_messages, messages_of
from ._parts import part_of, writer_of
from ._step_parts import is_step
from ._transcripts import transcript_logs
from ._unknown_calls import DEFINITIONS, hidden_call, is_wanted, steps_beside

_WHOLE = ("messages", "conversation", "history", "contents", "traj", "events", "steps")
"""Keys under which an object holds a whole conversation; other lists of messages are the response to one request."""

_ANSWERS = ("response", "completion", "output", "outputs", "choices", "generations", "result")
"""Keys of the model's response, in logs of requests."""

_IDS = ("trace_id", "conversation_id", "session_id", "id")


def logs_in(documents: list[Any]) -> tuple[list[Log], int]:
    """Return the conversations in the documents or lines of a source, and how many of these hold no messages.

    A line or list item that is, or holds, a list of messages is a conversation. Lines that are single messages or
    events are one conversation together, which an event among them may repeat.
    """
    found, others = transcript_logs(documents)
    if not found:
        return _plain_logs(documents)
    logs, left_out = _plain_logs(others) if others else ([], 0)
    # A list of transcripts may have other conversations beside them, and what is neither.
    known = [bool(log.snapshots) or has_messages(log.messages) for log in logs]
    left_out += sum([len(log.messages) for log, is_known in zip(logs, known, strict=True) if not is_known])
    return [*found, *[log for log, is_known in zip(logs, known, strict=True) if is_known]], left_out


def _plain_logs(documents: list[Any]) -> tuple[list[Log], int]:
    if len(documents) == 1 and isinstance(documents[0], list) and any([_is_whole(item) for item in documents[0]]):
        documents = documents[0]
    if len(documents) == 1:
        return [_log(documents[0])], 0
    whole = [document for document in documents if _is_whole(document)]
    others = [message for document in documents if not _is_whole(document) for message in messages_of(document)]
    if not whole or has_messages(others):
        return [Log(others, tuple([messages_of(document) for document in whole]))], 0
    return _without_earlier_states([_log(document) for document in whole]), len(others)


_UNIQUE = 16
"""Letters of an id that no two messages share by chance; data sets also number their messages."""


def _without_earlier_states(logs: list[Log]) -> list[Log]:
    """Return the logs without those that the next one goes on from: states of a LangGraph, one a line."""
    found: list[Log] = []
    for log in logs:
        before = found[-1].messages if found else []
        if before and _goes_on(before, log.messages):
            found[-1] = log
        elif before and not _unique_ids(before).isdisjoint(_unique_ids(log.messages)):
            longest = max(found[-1], log, key=lambda each: len(each.messages))
            found[-1] = msgspec.structs.replace(longest, nested=longest.nested or _CHANGED)
        else:
            found.append(log)
    return found


_CHANGED = "states of one conversation that do not follow from one another"


def _goes_on(before: list[Any], after: list[Any]) -> bool:
    """Whether a conversation is another one that went on. Repeats of a case may begin alike, with ids of their own."""
    if len(after) < len(before) or not all([identity(message) for message in before]):
        return False
    is_longer = len(after) > len(before) or len(_unique_ids(before)) == len(before)
    return is_longer and after[: len(before)] == before


def _unique_ids(messages: list[Any]) -> set[str]:
    return {name for message in messages if len(name := identity(message)) >= _UNIQUE}


def _is_whole(item: Any) -> bool:
    """Whether an item is a whole conversation, not a message or an event of one."""
    if isinstance(item, list):
        return not item or (all([isinstance(each, dict) for each in item]) and has_messages(item))
    if not isinstance(item, dict) or "role" in item or part_of(item) is not None or is_step(item):
        return False
    return _held(item) is not None


def _held(item: Mapping[str, Any]) -> list[Any] | None:
    """Return the messages that an object holds; None if it is not a conversation."""
    lists = [item[key] for key in _WHOLE if isinstance(item.get(key), list)]
    found = next((messages_of(held) for held in lists if held and has_messages(messages_of(held))), None)
    # An empty list is a conversation in which nothing was said, and that is not the same as no conversation.
    if found is None and lists and not any(lists):
        return []
    return _under_another_key(item) if found is None else found


def _under_another_key(item: Mapping[str, Any]) -> list[Any] | None:
    """Return the only list of messages of a user and a model that an object holds, whatever its key is."""
    found = [
        held
        for key, held in item.items()
        if isinstance(held, list) and key not in DEFINITIONS and not is_wanted(key) and key not in _ANSWERS
        if _is_conversation(held)
    ]
    return found[0] if len(found) == 1 else None


def _is_conversation(held: list[Any]) -> bool:
    writers = {writer_of(message) for message in held[:_MOST_LOOKED_AT] if isinstance(message, dict)}
    return writers >= {"user", "model"} and all([isinstance(message, dict) for message in held])


_MOST_LOOKED_AT = 1_000


def _log(document: Any) -> Log:
    if not isinstance(document, dict) or not _is_whole(document):
        return Log(messages_of(document))
    messages = _held(document) or []
    named = next((document[key] for key in _IDS if isinstance(document.get(key), (str, int)) and document[key]), None)
    steps, nested = _beside(document, messages)
    messages, nested = interrupted(document, messages, nested)
    name = None if named is None else str(named)
    return Log(messages, (), name, document, steps, nested, unused=unused_in(document, *_WHOLE))


def _beside(document: Mapping[str, Any], messages: list[Any]) -> tuple[str, str]:
    """Describe what an object holds beside its messages: steps of an agent, and other conversations."""
    # mini-swe-agent writes the commands of its model as a block of text, so no message shows a call.
    written = document.get("trajectory_format")
    steps = steps_beside(document, messages)
    if isinstance(written, str) and written.startswith("mini-swe-agent") and messages:
        steps = f"the messages are in the format {written[:40]}, whose calls are text"
    answers = {key: document[key] for key in _ANSWERS if key in document}
    answer = hidden_call(answers)
    steps = steps or _text_that_acts(answers)
    others = [key for key, held in document.items() if isinstance(held, list) and held and _is_whole(held[0])]
    nested = [str(key)[:40] for key in others if isinstance(document[key][0], dict)]
    if nested:
        return steps, f"beside the messages there are conversations in `{nested[0]}`"
    return steps, f"beside the messages there is {answer}" if answer else _other_message(document, messages)


def _other_message(document: Mapping[str, Any], messages: list[Any]) -> str:
    """Describe a message of the model beside the messages that asks for a call which they do not have."""
    known: set[tuple[str | None, str]] | None = None
    for key, held in document.items():
        if held is messages or key in DEFINITIONS or is_wanted(key):
            continue
        inner = held.get("messages") if isinstance(held, dict) else None
        others = inner if isinstance(inner, list) else held if isinstance(held, list) else [held]
        for message in others[:_MOST_LOOKED_AT]:
            if not isinstance(message, dict) or "role" not in message or writer_of(message) != "model":
                continue
            asked = {(call.call_id, call.name) for call in exchange_of(message).calls}
            if asked and known is None:
                known = {(call.call_id, call.name) for each in exchanges_of(messages) for call in each.calls}
            if asked - (known or set()):
                return f"beside the messages there is `{str(key)[:40]}`, a message that asks for a call"
    return ""


def _text_that_acts(answers: Mapping[str, Any]) -> str:
    """Describe a response in text that asks for a call (DSPy's history of a model)."""
    for key, held in answers.items():
        if any([isinstance(text, str) and acts_by_text(text) for text in (held if isinstance(held, list) else [held])]):
            return f"beside the messages there is `{key}`, which asks for a call in its text"
    return ""
