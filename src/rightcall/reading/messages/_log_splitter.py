"""Split the documents of a source into logs: the messages of one conversation each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from rightcall.errors import InputError
from rightcall.reading.formats import format_of
from rightcall.values.decoding import decode_text

from ._acting_text import acts_by_text, is_step
from ._framework_states import identity, interrupted
from ._log import ANSWERS, Log, decoded, listed, plain, unused_in, word
from ._message_exchange import calling_id, exchange_of, exchanges_of, has_messages, messages_of, stopped_to_call
from ._parts import is_pair, part_of, writer_of
from ._transcripts import are_lines, is_transcript, transcript_logs
from ._unknown_calls import DEFINITIONS, call_in_line, has_spans, hidden_call, is_wanted, spans_beside, steps_beside

_WHOLE = ("messages", "conversation", "history", "contents", "traj", "events", "steps", "transcript_with_tool_calls")
"""Keys of a whole conversation in an object. Lists of messages under other keys may be the response to one request."""

_IDS = ("trace_id", "conversation_id", "session_id", "id")


def logs_in(documents: list[Any]) -> tuple[list[Log], int]:
    """Return the conversations in the documents or lines of a source, and the number of documents without messages.

    A line or list item that is, or contains, a list of messages is a conversation. Lines that are single messages or
    events form one conversation together, which an event among them may repeat. If there is neither, conversations are
    searched for inside the documents.
    """
    documents = _unlabelled(documents)
    logs, left_out = _logs_of(documents)
    is_read = any(map(_is_read, logs))
    if is_read and not left_out:
        return logs, 0
    listed = documents[0] if len(documents) == 1 and isinstance(documents[0], list) else documents
    others = [each for each in listed if not any(map(_is_read, _logs_of([each])[0]))] if is_read else documents
    inside = [_conversations_inside(document) for document in others]
    logs_inside = [[log for each in held for log in _logs_of([each])[0]] for held in inside]
    found = [log for several in logs_inside for log in _without_earlier_states(several)]
    known = [log for log in found if _is_read(log)]
    if not known:
        return logs, left_out
    return [*logs, *known] if is_read else known, inside.count([]) + len(found) - len(known)


def _unlabelled(documents: list[Any]) -> list[Any]:
    """Return events without the labels in front of them: recordings of an SDK have lines such as `[method, event]`.

    What was sent is a list of arguments. It is left out, as the events repeat it.
    """
    is_labelled = len(documents) > 1 and all([_has_label(each) for each in documents])
    if not is_labelled or are_lines(documents):
        return documents
    events = [event for _, event in documents if isinstance(event, dict)]
    return events if has_messages(events) else documents


def _has_label(document: Any) -> bool:
    return isinstance(document, list) and len(document) == 2 and isinstance(document[0], str) and not is_pair(document)


def _is_read(log: Log) -> bool:
    return not log.messages or bool(log.format or log.snapshots) or has_messages(log.messages)


def _logs_of(documents: list[Any]) -> tuple[list[Log], int]:
    """Return the logs of documents, transcripts first, and the number of items that are in none."""
    found, others = transcript_logs(documents)
    if not found:
        return _plain_logs(documents)
    logs, left_out = _plain_logs(others) if others else ([], 0)
    # A list of transcripts may contain other conversations, and items that are neither.
    known = [bool(log.snapshots) or has_messages(log.messages) for log in logs]
    unknown = [each for log, is_known in zip(logs, known, strict=True) if not is_known for each in log.messages]
    left_out += len(unknown)
    return [*_noted(found, unknown), *[log for log, is_known in zip(logs, known, strict=True) if is_known]], left_out


CONVERSATION_COLUMNS = frozenset([*_WHOLE, "conversations", "trajectory", "chat_history", "answers", "request"])
"""Names of columns that mark a table, in CSV or Parquet, as one of conversations."""
_DEEPEST = 5
_TRIED = 100  # items or keys; if none of the first ones has a conversation, the others are not searched
_NOT_RUNS = frozenset(["input", "inputs", "prompt", "prompts", "request", "query", "question", "context", "config"])
_NOT_RUNS |= {"examples", "few_shot", "demos", "demonstrations", "dataset", "eval_cases", "chosen", "rejected"}
"""Keys of inputs, examples and data sets: conversations below them are not runs."""
_PARTS_OF_RUN = frozenset(
    ["tasks_output", "member_responses", "members", "agents", "sub_agents", "subagents", "workers"]
)
"""Keys of the conversations of several agents in one run, whose order is not known (CrewAI, Agno)."""


def _conversations_inside(document: Any, depth: int = 0) -> list[Any]:
    """Return the conversations inside a document, or in the texts of its cells; none if it is unclear which are runs.

    An object may have any number of them below one key; if it has them below several, each of its keys has to have
    exactly one. What is beside a conversation is returned with it: it may be calls.
    """
    if depth > _DEEPEST or not isinstance(document, (dict, list, str)):
        return []
    held = _unpacked(document)
    if isinstance(held, list):
        if _is_conversation(held) or are_lines(held) or _are_answers(held):
            return [held]
        tried = [_conversations_inside(item, depth + 1) for item in held[:_TRIED]]
        if not any(tried):
            return []
        tried += [_conversations_inside(item, depth + 1) for item in held[_TRIED:]]
        return [each for item, inside in zip(held, tried, strict=True) for each in inside or [item]]
    if not isinstance(held, dict) or format_of(held):
        return []  # spans are not logs: their messages are prompts
    if is_transcript(held) or _is_conversation(_held(held) or []) or _are_answers([held]):
        return [held]
    found = _below(held, depth)
    if len(found) == 1 and not any(map(_is_given, found)):
        return _below_one_key(held, *found.popitem())
    is_index = len(found) == len(held) and all([len(several) == 1 for several in found.values()])
    if not is_index or any(map(_is_given, found)) or not set(ANSWERS).isdisjoint(found):
        return []
    return [_beside_it({"id": key}, "", each, True) for key, [each] in found.items()]


def _below_one_key(held: Mapping[str, Any], key: str, several: list[Any]) -> list[Any]:
    """Return the conversations below the only key that has some, with what is beside them; none if that is unclear.

    An answer without its question is one, too, if no call lies beside it.
    """
    if key in _PARTS_OF_RUN and len(several) > 1:
        return []
    others = {other: each for other, each in held.items() if other != key}
    are_answers = any([_are_answers(listed(each) or [each]) for each in several])
    if are_answers and (hidden_call(others) or _has_unread_request(others)):
        return []
    return [_beside_it(held, key, each, len(several) == 1) for each in several]


def _has_unread_request(others: Mapping[str, Any]) -> bool:
    """Whether a text beside an answer, which is not JSON, is a request with messages: they may have calls."""
    held = [each for value in others.values() for each in (value.values() if isinstance(value, dict) else [value])]
    return any([isinstance(each, str) and _REQUEST.search(each) is not None for each in held])


_REQUEST = re.compile(r'"(?:messages|contents)"\s{0,9}:\s{0,9}\[')


def _is_given(key: str) -> bool:
    """Whether a key is of inputs or examples: by itself, or by a word in it, as in `gen_ai.input.messages`."""
    return key in _NOT_RUNS or not _GIVEN.isdisjoint(_WORD.findall(key[:_LONGEST_KEY].lower()))


_GIVEN = frozenset({"input", "inputs", "prompt", "prompts"})
_WORD = re.compile(r"[a-z]+")
_LONGEST_KEY = 200


def _below(value: Mapping[str, Any], depth: int) -> dict[str, list[Any]]:
    """Return the conversations below each key of an object."""
    found: dict[str, list[Any]] = {}
    keys = [key for key, each in value.items() if isinstance(each, (dict, list)) and key not in DEFINITIONS]
    for number, key in enumerate(keys):
        if number == _TRIED and not found:
            break
        inside = [] if is_wanted(key) else _conversations_inside(value[key], depth + 1)
        found.update({key: inside} if inside else {})
    return found


def _unpacked(document: Any) -> Any:
    """Return a document, or an object's values, decoded where they are JSON or a Python literal in text."""
    if isinstance(document, str):
        return _of_text(document)
    if isinstance(document, dict) and any(
        [isinstance(value, str) and value[:1] in _TEXT_OF for value in document.values()]
    ):
        return {key: _of_text(value) if isinstance(value, str) else value for key, value in document.items()}
    return document


_TEXT_OF = ("[", "{")


def _of_text(text: str) -> Any:
    try:
        return decode_text(text) if text[:1] in _TEXT_OF else text
    except InputError:
        return text


def _beside_it(value: Mapping[str, Any], key: str, conversation: Any, is_only: bool) -> Any:
    """Return a conversation with the values beside it; without ids, unless it is the only conversation there."""
    others = {other: each for other, each in value.items() if other != key and (is_only or other not in _IDS)}
    if isinstance(conversation, list):
        return {**others, "messages": conversation} if _is_conversation(conversation) else conversation
    is_whole = not isinstance(conversation, dict) or is_transcript(conversation)
    return conversation if is_whole else {**others, **conversation}


def _plain_logs(documents: list[Any]) -> tuple[list[Log], int]:
    """Return the logs of documents that are not transcripts, and the number of documents that are in none."""
    if len(documents) == 1 and isinstance(documents[0], list):
        items = documents[0]
        if any([_is_whole(item) or _is_answer(item) for item in items]):
            documents = items
    if len(documents) == 1:
        parted = _by_conversation(documents[0]) if isinstance(documents[0], list) else []
        return parted or [_continued(_log(documents[0]), documents)], 0
    whole = [document for document in documents if _is_whole(document)]
    others = [message for document in documents if not _is_whole(document) for message in _apart(document)]
    if not whole or has_messages(others):
        parted = _by_conversation(others) if not whole else []
        log = Log(others, tuple([messages_of(document) for document in whole]))
        return parted or [_continued(log, documents)], 0
    return _noted(_without_earlier_states([_log(document) for document in whole]), others), len(others)


def _noted(logs: list[Log], others: list[Any]) -> list[Log]:
    """Return logs with a note if an item beside them, which is in none of them, has a sign of a call."""
    objects = [each for each in others[:_MOST_LOOKED_AT] if isinstance(each, dict)]
    sign = next((found for each in objects if (found := call_in_line(each))), "")
    sign = sign or ("an object with spans" if any(map(has_spans, objects)) else "")
    return [msgspec.structs.replace(log, nested=log.nested or f"{_BESIDE}{sign}") for log in logs] if sign else logs


_BESIDE = "beside the conversation there is "


def _is_answer(item: Any) -> bool:
    """Whether an item is an answer as an API of models gives it, with the model's message inside of it."""
    if not isinstance(item, dict) or "role" in item:
        return False
    is_marked = _is_response(item) or not _OFANSWERS.isdisjoint(item)
    return is_marked and messages_of(item) not in ([item], [])


_OFANSWERS = frozenset({"choices", "candidates", "generations", "stopReason"})
"""Keys of answers of Chat Completions, Gemini, LangChain and Converse; those of Responses say what they are."""


def _are_answers(items: list[Any]) -> bool:
    return bool(items) and all([_is_answer(item) and has_messages(messages_of(item)) for item in items])


def _is_response(document: Any) -> bool:
    return isinstance(document, dict) and document.get("object") == "response"


def _apart(document: Any) -> list[Any]:
    """Return the messages of a document; those of a response of OpenAI after a mark, so that they stay apart.

    The items of a response are calls that the model asked for at once. Those of the next response came later.
    """
    return [*([_THOUGHT] if _is_response(document) else ()), *messages_of(document)]


_THOUGHT = {"type": "reasoning", "summary": []}
"""An item of a response that says nothing."""


def _continued(log: Log, documents: list[Any]) -> Log:
    """Return a log with a note if a response in it continues one that is not there, which may have asked for calls."""
    responses = [document for document in documents if _is_response(document)]
    known = {word(each.get("id")) for each in responses}
    lost = next(
        (name for each in responses if (name := word(each.get("previous_response_id"))) not in {"", *known}), ""
    )
    nested = f"{_EARLIER}{lost[:40]}" if lost else _elsewhere(log.messages) or _only_begun(log.messages)
    return msgspec.structs.replace(log, nested=log.nested or nested) if nested else log


def _elsewhere(messages: list[Any]) -> str:
    """Describe the calls of sub-agents that a session of Claude Code counts and does not have; else empty.

    Since version 2 it writes the lines of sub-agents into files of their own. One that works in the background, or was
    broken off, has no count of its calls.
    """
    lines = [each for each in messages if isinstance(each, dict)]
    told = [plain(each.get("toolUseResult")) for each in lines]
    shown = {word(each.get("agentId")) for each in lines if each.get("isSidechain") is True}
    uncounted = {word(each.get("agentId")) for each in told if not isinstance(each.get("totalToolUseCount"), int)}
    if uncounted - shown - {""}:
        return "calls of a sub-agent that are in a file of its own"
    counts = [each.get("totalToolUseCount") for each in told]
    count = sum([each for each in counts if isinstance(each, int)])
    if not count:
        return ""
    inside = [each for each in lines if calling_id(each) is not None]
    # Progress repeats a message while it grows, so calls are counted by their ids.
    missing = count - len({call.call_id for each in inside for call in exchange_of(each).calls})
    return f"calls of sub-agents that are in files of their own: {missing} of {count}" if missing > 0 else ""


def _only_begun(messages: list[Any]) -> str:
    """Describe a message that a log of Claude Code has only in pieces (`stream_event`); empty if it has all whole."""
    lines = [each for each in messages if isinstance(each, dict)]
    events = [plain(each.get("event")) for each in lines if each.get("type") == "stream_event"]
    begun = {plain(each["message"]).get("id") for each in events if "message" in each}
    whole = [plain(each.get("message")).get("id") for each in lines if each.get("type") == "assistant"]
    return "a message of which only pieces are in the log" if begun.difference(whole) else ""


_EARLIER = "a response continues another one, which is not in the log: "


_CONVERSATION_IDS = ("conversation_id", "session_id", "thread_id", "chat_id", "conversationId", "threadId", "chatId")


def _by_conversation(messages: list[Any]) -> list[Log]:
    """Group messages by the id of their conversation; nothing unless each has one, and there are several."""
    for key in _CONVERSATION_IDS:
        named = [message.get(key) for message in messages if isinstance(message, dict) and "role" in message]
        if len(named) < len(messages) or not all([isinstance(name, (str, int)) for name in named]):
            continue
        parts: dict[Any, list[Any]] = {}
        for name, message in zip(named, messages, strict=True):
            parts.setdefault(name, []).append(message)
        if len(parts) > 1:
            return [Log(part, id=str(name)) for name, part in parts.items()]
    return []


_UNIQUE = 16
"""The least length of an id that is unique across conversations. Shorter ones may be numbers within a data set."""


def _without_earlier_states(logs: list[Log]) -> list[Log]:
    """Return the logs without those that the next log continues, such as states of a LangGraph with one a line."""
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
    """Whether a conversation continues another one. Repeats of a case may begin alike, but with different ids."""
    before, after = _without_marks(before), _without_marks(after)
    if len(after) < len(before) or not all([identity(message) for message in before]):
        return False
    is_longer = len(after) > len(before) or len(_unique_ids(before)) == len(before)
    return is_longer and after[: len(before)] == before


_HISTORY = "from_history"


def _without_marks(messages: list[Any]) -> list[Any]:
    """Return messages of a run of Agno without marks of history, and without instructions, which each run repeats."""
    if not any([isinstance(message, dict) and _HISTORY in message for message in messages]):
        return messages
    return [
        {key: value for key, value in message.items() if key != _HISTORY} if isinstance(message, dict) else message
        for message in messages
        if not (isinstance(message, dict) and message.get("role") in ("system", "developer"))
    ]


def _unique_ids(messages: list[Any]) -> set[str]:
    return {name for message in messages if len(name := identity(message)) >= _UNIQUE}


def _is_whole(item: Any) -> bool:
    """Whether an item is a whole conversation, not a message or an event of one."""
    if isinstance(item, list):
        return not item or has_messages(item)
    if not isinstance(item, dict) or "role" in item or part_of(item) is not None or is_step(item):
        return False
    if item.get("type") == "message":
        return False  # a message without a role
    return _held(item) is not None


def _held(item: Mapping[str, Any]) -> list[Any] | None:
    """Return the messages of an object that is a conversation; None if it is not one."""
    lists = [item[key] for key in _WHOLE if isinstance(item.get(key), list)]
    found = next((messages_of(held) for held in lists if held and has_messages(messages_of(held))), None)
    # An empty list is a conversation without messages, which is not the same as no conversation.
    if found is None and lists and not any(lists):
        return []
    return _under_another_key(item) if found is None else found


def _under_another_key(item: Mapping[str, Any]) -> list[Any] | None:
    """Return the only list of messages of both user and model in an object, under any key; None without such a list."""
    found = [
        value
        for key, value in item.items()
        if isinstance(value, list) and key not in DEFINITIONS and not is_wanted(key) and key not in ANSWERS
        if _is_conversation(value)
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
    taken = [key for key, value in document.items() if value is messages]
    named = next((document[key] for key in _IDS if isinstance(document.get(key), (str, int)) and document[key]), None)
    steps, nested = _beside(document, messages)
    messages, nested = interrupted(document, messages, nested)
    name = None if named is None else str(named)
    return Log(messages, (), name, document, steps, nested, unused=unused_in(document, *_WHOLE, *taken))


def _beside(document: Mapping[str, Any], messages: list[Any]) -> tuple[str, str]:
    """Describe what an object has beside its messages: calls or steps of the agent, and other conversations."""
    # mini-swe-agent writes the commands of its model as a block of text, so no message shows a call.
    written = document.get("trajectory_format")
    document = {key: value if value is messages else _decoded(value) for key, value in document.items()}
    steps = steps_beside(document, messages) or spans_beside(document, messages)
    if isinstance(written, str) and written.startswith("mini-swe-agent") and messages:
        steps = f"the messages are in the format {written[:40]}, whose calls are text"
    answers = {key: document[key] for key in ANSWERS if key in document}
    answer = hidden_call(answers)
    steps = steps or _text_that_acts(answers)
    others = [key for key, value in document.items() if isinstance(value, list) and value and _is_whole(value[0])]
    nested = [str(key)[:40] for key in others if isinstance(document[key][0], dict)]
    if nested:
        return steps, f"beside the messages there are conversations in `{nested[0]}`"
    given = next((str(key) for key, value in document.items() if value is messages and _is_given(str(key))), "")
    if given:
        return steps, f"the messages in `{given[:40]}` are what a model was given, and its answer is not among them"
    answer = answer or _lost_answer(document, messages)
    return steps, f"beside the messages there is {answer}" if answer else _other_message(document, messages)


def _decoded(value: Any) -> Any:
    """Return the value of JSON text that is an object or a list of objects; any other value unchanged."""
    found = decoded(value) if isinstance(value, str) and value[:2] in _OBJECTS else None
    return value if found is None else found


_OBJECTS = ('{"', "[{")


def _lost_answer(document: Mapping[str, Any], messages: list[Any]) -> str:
    """Describe a response whose keys are merged with those of its request, if it asks for calls; else empty.

    Anthropic's has blocks in `content` and a `stop_reason`, Gemini's has `candidates`, OpenAI's has `choices`. A finish
    reason is about the response only if the messages end before it.
    """
    content = document.get("content")
    blocks = content if isinstance(content, list) else ()
    answer = exchange_of({"role": "assistant", "content": list(blocks)})
    if answer.calls:
        asked = {(call.call_id, call.name) for call in answer.calls}
        if asked - {(call.call_id, call.name) for each in exchanges_of(messages) for call in each.calls}:
            return "`content`, an answer that asks for a call"
    choices = [each for key in ("candidates", "choices") for each in listed(document.get(key))]
    is_stopped = any([stopped_to_call(each) for each in (document, *choices) if isinstance(each, Mapping)])
    is_open = is_stopped and bool(messages) and isinstance(messages[-1], dict) and writer_of(messages[-1]) != "model"
    return "a finish reason, which says that the model asked for a call" if is_open else ""


def _other_message(document: Mapping[str, Any], messages: list[Any]) -> str:
    """Describe a model's message outside of the list of messages that asks for a call not in the list; else empty."""
    known: set[tuple[str | None, str]] | None = None
    for key, value in document.items():
        if value is messages or key in DEFINITIONS or is_wanted(key):
            continue
        inner = value.get("messages") if isinstance(value, dict) else None
        others = inner if isinstance(inner, list) else value if isinstance(value, list) else [value]
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
    for key, value in answers.items():
        texts = [
            each.get("text") if isinstance(each, dict) else each
            for each in (value if isinstance(value, list) else [value])
        ]
        if any([isinstance(text, str) and acts_by_text(text) for text in texts]):
            return f"beside the messages there is `{key}`, which asks for a call in its text"
    return ""
