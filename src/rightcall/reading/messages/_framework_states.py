"""Find messages, input and output in the states, results and streams that frameworks record, such as LangGraph's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import takewhile
from typing import Any, NamedTuple

from rightcall._lazy import lazy_pattern
from rightcall.errors import InputError
from rightcall.reading.conventions import ASKED_FOR, REFUSED, REFUSED_BY_USER
from rightcall.reading.spans import NOTHING, CallRecord, object_in, outcome
from rightcall.values.decoding import decode_text

from ._acting_text import is_step
from ._log import Log, listed, plain, refused, word
from ._message_exchange import exchange_of, exchanges_of, has_messages, is_about_session
from ._parts import (
    asks_for_calls,
    content_of,
    is_pair,
    part_of,
    text_of,
    unwrapped,
    writer_of,
)

_DEPTH = 6
_WRITTEN_DEPTH = 3
_WRITTEN_OBJECT = lazy_pattern(
    r"<[\w.]+ object at 0x|<?(?:\w+=)?(?:(?:[A-Z][a-z0-9]+){2,}\(\w+=|[A-Z]\w*\(\w+=.*[)>]\s*\Z)", re.S
)
"""The `repr` of a Python object, such as `StopEvent(result=…)`."""
_WRITTEN = lazy_pattern(r"content=(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\") additional_kwargs=", re.S)
_ASKS = lazy_pattern(r" tool_calls=\[\{")
_RESULT = lazy_pattern(r" tool_call_id='")

_LISTS = ("messages", "choices", "generations", "contents")
"""Keys of the messages in a state or in a model's response."""

_WRAPPINGS: tuple[tuple[str, frozenset[str]], ...] = (
    ("outputs", frozenset({"kwargs"})),
    ("inputs", frozenset({"kwargs", "tags"})),
    ("chat_message", frozenset({"inner_messages"})),
    ("response", frozenset({"current_agent_name"})),
    ("new_message", frozenset({"invocation_id"})),
    ("new_message", frozenset({"session_id", "run_config"})),
)
"""Keys under which OpenLLMetry, AutoGen, LlamaIndex and ADK wrap the value, and the other keys of the wrapper."""
_BESIDE = (
    frozenset({"tags", "metadata"}),
    frozenset({"init_state", "start_event"}),
    frozenset({"session_id", "state_delta", "run_config"}),
)
"""Keys beside the value in wrappers of OpenLLMetry, LlamaIndex and ADK, whichever version wrote them."""

_CONTENTS = frozenset({"content", "parts", "contents", "blocks", "tool_calls"})
_TASKS = frozenset({"stream", "reset", "cancellation_token"})
"""Keys beside the `task` of smolagents and AutoGen."""
_STATES = ("values", "channel_values")
_RETURNED = ("output.value", "traceloop.entity.output", "langfuse.observation.output", "gen_ai.completion")
"""Where OpenInference, OpenLLMetry, Langfuse and LangSmith keep the state that a graph returned."""
_MODES = frozenset({"values", "updates", "messages", "debug", "metadata", "end"})
"""Modes of a stream's events: states, updates, and others that only repeat those."""


def question_in(messages: list[Any]) -> str | None:
    """Return the last text of the user: earlier ones belong to earlier turns."""
    if len(messages) == 1 and isinstance(messages[0], list) and not is_pair(messages[0]):
        return question_in(messages[0])  # LangChain's prompts: a list of messages for each
    for message in reversed(messages):
        text = _written_text(message) if isinstance(message, str) else _said_by_user(message)
        if text:
            return text
    return None


def answer_in(messages: list[Any]) -> str | None:
    """Return the text of the last message, if the model wrote it and it asks for no call that is still open.

    A message may hold results beside its calls (tools that a provider runs, messages of a user interface); the answer
    is the text after them.
    """
    last = next((message for message in reversed(messages) if not is_about_session(message)), None)
    if isinstance(last, list) and last:
        last = last[-1]  # LangChain's generations: a list of answers for each prompt
    if isinstance(last, str):
        return _written_text(last) if len(messages) > 1 else None
    if isinstance(last, dict) and is_step(last):
        return _answer_of_step(last)
    if isinstance(last, dict) and "current_agent_name" in last:
        last = last.get("response")  # the result of an agent of LlamaIndex
    if not isinstance(last, dict) or writer_of(last) != "model" or asks_for_calls(last):
        return None
    exchange = exchange_of(last)
    if not exchange.calls and not exchange.results:
        return "".join([*_fragments_before(messages), text_of(last) or ""]) or None
    if exchange.unread:
        return None  # it may be a call that is still open
    known = {result.call_id for result in exchange.results if result.call_id}
    made = [each for each in exchange.calls if each.withheld not in (REFUSED, REFUSED_BY_USER)]
    waiting = [each for each in made if each.output is NOTHING and not each.failed and each.call_id not in known]
    # Without ids (Gemini's code) each result is of one of the calls.
    unnamed = [result for result in exchange.results if not result.call_id]
    is_open = len(waiting) > len(unnamed) or any([call.call_id for call in waiting])
    return None if is_open else text_of({"content": _after_calls(content_of(last))})


def _fragments_before(messages: list[Any]) -> list[str]:
    """Return the texts right before the last message that belong to it.

    ADK records the chunks of a stream as messages with an empty finish reason, each continued by the next one.
    """
    before = takewhile(_is_unfinished, reversed(messages[:-1]))
    return [text_of(message) or "" for message in before][::-1]


def _is_unfinished(message: Any) -> bool:
    return isinstance(message, dict) and message.get("finish_reason") == "" and writer_of(message) == "model"


def _written_text(message: str) -> str | None:
    """Return the text in the `repr` of a LangChain message; None if it asks for calls or is a result."""
    found = _WRITTEN.match(message)
    if found is None or _ASKS.search(message, found.end()) or _RESULT.search(message, found.end()):
        return None
    try:
        text = decode_text(found["text"])
    except InputError:
        return None
    return text if isinstance(text, str) and text else None


def _answer_of_step(step: dict[str, Any]) -> str | None:
    """Return the answer in the last step of smolagents: what `final_answer` was called with."""
    answers = [call.args for call in exchange_of(step).calls if call.name == "final_answer"]
    given = [args.get("answer") if isinstance(args, dict) else args for args in answers]
    returned = step.get("action_output") if step.get("is_final_answer") is True else None
    found = next(iter(given), None) if returned is None else returned  # agents that call tools leave it empty
    return found if isinstance(found, str) else None


def _after_calls(content: Any) -> Any:
    """Return the parts of a message's content after the last call or result."""
    if not isinstance(content, list):
        return content
    after = 0
    for place, part in enumerate(content, 1):
        found = exchange_of({"role": "assistant", "content": [part]})
        after = place if found.calls or found.results else after
    return content[after:]


def given_in(held: Any, encoded: bool = False) -> Any:
    """Return the user's question in the recorded input of a span; `NOTHING` if it cannot be found."""
    value = outcome(held, encoded=encoded, keeps_quotes=not encoded)
    if isinstance(value, list):
        found = _in_messages(value, question_in)
    else:
        found = _given_in_object(value, 0) if isinstance(value, dict) else value
    return NOTHING if found == "" or _is_written(found) else found


def returned_in(held: Any, encoded: bool = False) -> Any:
    """Return the answer to the user in the recorded output of a span; `NOTHING` if it cannot be found.

    A text that is not a state is returned as it is, unless the producer writes every value `encoded` as JSON.
    """
    value = outcome(held, encoded=encoded, keeps_quotes=not encoded)
    found = _returned_in_value(value, 0)
    if found == "" or _is_written(found):
        return NOTHING
    return found if found is not value or encoded else held


def _returned_in_value(value: Any, depth: int) -> Any:
    """Return the answer in a framework's output: in its messages, inside its wrappers, or the value itself."""
    if isinstance(value, list):
        return _in_messages(value, answer_in)
    if not isinstance(value, dict) or depth > _DEPTH:
        return value
    if isinstance(value.get("raw"), str) and {"tasks_output", "expected_output"} & value.keys():
        return value["raw"]  # CrewAI
    if isinstance(value.get("trajectory"), dict) and "reasoning" in value:
        fields = value.keys() - {"trajectory", "reasoning"}  # DSPy; of several fields, any may be the answer
        return value[fields.pop()] if len(fields) == 1 else None
    if _is_event(value):
        return text_of(value) or NOTHING
    if {"finish_reason", "content"} <= value.keys() and "role" not in value:
        return value["content"] if isinstance(value["content"], str) else NOTHING  # a model of AutoGen
    messages = _messages_of(value)
    if messages is not None:
        # LangChain's agents have the answer here if they were given a schema for it.
        made = value.get("structured_response")
        found = answer_in(messages) if made is None else made
        return NOTHING if found is None else found
    inner = _wrapped(value)
    if inner is None:
        return NOTHING if _is_lost_state(value) else value
    return _returned_in_value(inner, depth + 1)


def _given_in_object(value: dict[str, Any], depth: int) -> Any:
    """Return the question in a framework's input: in its messages, inside its wrappers, or the object itself."""
    if isinstance(value.get("task"), str) and _TASKS & value.keys():
        return value["task"]
    messages = _messages_of(value)
    if messages is not None:
        found = question_in(messages)
        return NOTHING if found is None else found
    inner = _wrapped(value)
    if inner is None and _is_lost_state(value):
        return NOTHING
    if isinstance(value.get("prompt"), str) and value.keys() <= {"prompt", "system"}:
        return value["prompt"]  # Vercel
    if value.keys() == {"args", "kwargs"} and isinstance(value["args"], list) and isinstance(value["kwargs"], dict):
        return _given_in_call(value["args"], value["kwargs"])
    if isinstance(inner, dict) and depth < _DEPTH:
        return _given_in_object(inner, depth + 1)
    return _only_text(value)


def _given_in_call(positional: list[Any], named: dict[str, Any]) -> Any:
    """Return what a function was called with: its only argument, or its named ones."""
    if not positional:
        return _only_text(named) if named else NOTHING
    return positional[0] if len(positional) == 1 and not named else NOTHING


def _only_text(value: dict[str, Any]) -> Any:
    """Return the only value of an object if it is a text: the question, whatever the parameter is called."""
    held = list(value.values())
    if value.keys() == {"role"}:
        return NOTHING  # a message without its content
    return held[0] if len(held) == 1 and isinstance(held[0], str) else value


def _in_messages(value: list[Any], find: Any) -> Any:
    if not _are_messages(value):
        return NOTHING if value and all([_is_call(each) for each in value]) else value
    found = find(value)
    return NOTHING if found is None else found


def _is_call(value: Any) -> bool:
    """Whether a value is a requested call, as Vercel returns them instead of a text."""
    part = part_of(value) if isinstance(value, dict) else None
    return part is not None and part.kind == "call"


def _said_by_user(message: Any) -> str | None:
    return text_of(message) if writer_of(message) == "user" else None


def _messages_of(value: dict[str, Any]) -> list[Any] | None:
    """Return the messages that an object holds, or the object itself in a list if it is a message."""
    keys = (*_LISTS, "output") if value.get("object") == "response" else _LISTS
    for key in keys:
        held = value.get(key)
        if isinstance(held, list) and _are_messages(held):
            return held
    return [value] if _is_message(value) else None


def _is_lost_state(value: dict[str, Any]) -> bool:
    """Whether an object is a state or its wrapper with the messages incomplete, and so neither question nor answer.

    It has messages without a writer, parts of LangChain's dumps, or only what frameworks put beside the state: the
    other arguments of a callback, of a LlamaIndex workflow's start, or of an ADK runner.
    """
    held = value.get("messages")
    if isinstance(held, list) and held and all(["content" in plain(unwrapped(each)) for each in held]):
        return True
    if any([beside <= value.keys() for beside in _BESIDE]):
        return True
    return value.keys() == {"kwargs"} or _holds_dump(value, 0)


def _holds_dump(value: Any, depth: int) -> bool:
    """Whether a value is, or contains, an object that LangChain dumped, complete or not."""
    if isinstance(value, list):
        return depth < _DEPTH and any([_holds_dump(each, depth + 1) for each in value])
    if not isinstance(value, dict) or depth >= _DEPTH:
        return False
    signs = (value.get("lc") == 1, value.get("type") == "constructor", isinstance(value.get("id"), list))
    return sum(signs) > 1 or any([_holds_dump(each, depth + 1) for each in value.values()])


def _are_messages(held: list[Any]) -> bool:
    if any([is_pair(each) for each in held]):
        return True
    if held and isinstance(held[0], list):
        return _are_messages(held[0])
    if held and isinstance(held[0], str):
        return all(isinstance(each, str) and each.startswith("content=") for each in held)
    return any(_is_message(each) for each in held)


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict) or not writer_of(value):
        return False
    return text_of(value) is not None or bool(_CONTENTS & value.keys() or isinstance(value.get("message"), dict))


def _is_written(value: Any, depth: int = 0) -> bool:
    """Whether a value is, or contains, the `repr` of an object."""
    if isinstance(value, str):
        return _WRITTEN_OBJECT.match(value) is not None
    if depth >= _WRITTEN_DEPTH or not isinstance(value, (dict, list)):
        return False
    return any(_is_written(each, depth + 1) for each in (value.values() if isinstance(value, dict) else value))


_OF_EVENTS = frozenset({"author", "invocation_id", "actions"})
"""Keys that every event of ADK has; an incomplete event may lack one of them."""


def _is_event(value: Mapping[str, Any]) -> bool:
    """Whether a value is an event of ADK. It has no content if the run was interrupted."""
    return len(_OF_EVENTS & value.keys()) > 1


def _wrapped(value: Mapping[str, Any]) -> Any:
    """Return the value inside a framework's wrapper; None if this is not one."""
    for key, beside in _WRAPPINGS:
        if key in value and beside <= value.keys():
            return value[key]
    result = value.get("result") if value.keys() == {"result"} else None
    return result if isinstance(result, dict) and "current_agent_name" in result else None


class _Event(NamedTuple):
    """An event of a stream, or a state."""

    mode: str
    """What the data is, such as `values` or `updates`; empty if not recorded."""
    namespace: tuple[str, ...]
    """The nodes, outermost first, inside which a subgraph runs; empty for the graph itself."""
    data: dict[str, Any]


def is_graph_state(document: Any) -> bool:
    """Whether a document is a state of a LangGraph: a snapshot, a checkpoint, a thread, an event of a stream."""
    return _state_messages(_event_of(document)) is not None


def is_graph_update(document: Any) -> bool:
    """Whether a document is an update of a LangGraph: what each node adds, by its name."""
    return bool(_update_messages(_event_of(document)))


def graph_logs(documents: list[Any]) -> list[Log]:
    """Return the log of a graph: the messages of its longest state, or else those of all updates, each once.

    If the stream has events of subgraphs, the log has all messages in the order of the stream; those that no event of
    the graph itself has are marked as written inside a node.
    """
    events = [_event_of(document) for document in documents]
    states = [(event, state) for event in events if (state := _state_messages(event)) is not None]
    own = [(event, state) for event, state in states if not event.namespace]
    last, longest = max(own, key=lambda pair: len(pair[1]), default=(None, []))
    if any([event.namespace for event in events]):
        messages, nested = _with_subgraphs(events, longest)
    else:
        updates = [message for event in events for message in _update_messages(event)]
        messages = _by_id([*longest, *([] if states else updates)])
        nested = _note_on_removed([*[state for _, state in states], updates], messages)
    stopped = [event.data for event in events if event is last or "__interrupt__" in event.data]
    for held in stopped:
        messages, nested = interrupted(held, messages, nested)
    unread = [each for each, event in zip(documents, events, strict=True) if not _is_of_graph(event)]
    threads = [word(plain(document).get("thread_id")) for document in documents]
    return [Log([*messages, *unread], id=next(filter(None, threads), None), nested=nested)]


def _event_of(document: Any) -> _Event:
    """Return a document as an event of a stream; a state outside of a stream has no mode.

    LangGraph's server writes `{"event": "values|child:id", "data": …}`. In Python an event is
    `{"type": …, "ns": …, "data": …}`, or a tuple: the namespace if subgraphs are streamed, the mode if several were
    requested, then the data.
    """
    if isinstance(document, list):
        namespace = document[0] if document and isinstance(document[0], list) else []
        rest = document[1:] if document and document[0] is namespace else document
        if not rest or len(rest) > 2 or len(document) < 2 or not _is_namespace(namespace):
            return _Event("", (), {})
        data = plain(rest[-1])
        mode = "values" if isinstance(data.get("messages"), list) else "updates"
        return _Event(word(rest[0]) if len(rest) == 2 else mode, tuple(namespace), data)
    value = plain(document)
    if word(value.get("event")):
        mode, *nodes = value["event"].split("|")
        return _Event(mode, tuple(nodes), plain(value.get("data")))
    if _is_namespace(value.get("ns")) and "data" in value and word(value.get("type")):
        return _Event(value["type"], tuple(value["ns"]), plain(value["data"]))
    return _Event("", (), value)


def _is_namespace(value: Any) -> bool:
    """Whether a value is a namespace: a list of nodes, each with the id of its task."""
    return isinstance(value, list) and all([isinstance(node, str) and ":" in node for node in value])


def _state_messages(event: _Event) -> list[Any] | None:
    if event.mode not in ("", "values"):
        return None
    for state in [event.data] if event.mode else [plain(event.data.get(key)) for key in _STATES]:
        messages = state.get("messages")
        if isinstance(messages, list) and (not messages or has_messages(messages)):
            return messages
    return None


def _update_messages(event: _Event) -> list[Any]:
    """Return the messages of an update; none unless all are of LangChain, since other objects have this shape, too."""
    held = event.data if event.mode in ("", "updates") else {}
    if not held or any([each is not None and not isinstance(each, dict) for each in held.values()]):
        return []
    added: list[Any] = []
    for node in held.values():
        messages = plain(node).get("messages")
        added += messages if isinstance(messages, list) else [messages] if isinstance(messages, dict) else []
    return added if all([_is_of_langchain(each) for each in added]) else []


def _is_of_langchain(message: Any) -> bool:
    value = plain(message)
    return word(value.get("type")) in ("ai", "human", "tool", "system", "remove", "AIMessageChunk") or "lc" in value


def _with_subgraphs(events: Iterable[_Event], longest: list[Any]) -> tuple[list[Any], str]:
    """Return the messages of a graph and its subgraphs, each once, and a note if some were removed or have no id."""
    told = [(event.namespace, message) for event in events for message in _told_by(event)]
    own = {identity(message) for namespace, message in told if not namespace}
    messages = _by_id([message for _, message in told])
    if not all([identity(message) for message in messages]):
        return messages, "messages without ids, which subgraphs and the graph around them may both tell of"
    removed = _note_on_removed([[message for namespace, message in told if not namespace]], longest) if longest else ""
    return [each if identity(each) in own else {**each, "isSidechain": True} for each in messages], removed


def _told_by(event: _Event) -> list[Any]:
    state = _state_messages(event)
    return _update_messages(event) if state is None else state


def _note_on_removed(told: Iterable[list[Any]], kept: list[Any]) -> str:
    known = {identity(message) for message in kept}
    held = [message for each in told for message in each if plain(message).get("type") != "remove"]
    is_gone = any([identity(message) not in known for message in held])
    return "messages that a later state of the graph no longer has" if is_gone else ""


OPEN = "calls that were open when the graph was interrupted"
"""The note on calls without a result in an interrupted graph: not understood, unless spans show how they ended."""


def results_in_state(attributes: Mapping[str, Any], call_ids: Iterable[str]) -> list[CallRecord]:
    """Return the results in the state that a graph returned in a span, if any of them is of one of these calls."""
    names = attributes.keys()
    for held in [attributes.get(key) for key in _RETURNED if key in names]:
        if isinstance(held, str) and '"messages"' in held and any([call_id in held for call_id in call_ids]):
            state = object_in(held)
            messages = object_in(state.get("outputs", state)).get("messages")
            told = exchanges_of(messages) if isinstance(messages, list) else []
            return [result for each in told for result in each.results]
    return []


def interrupted(document: Mapping[str, Any], messages: list[Any], nested: str) -> tuple[list[Any], str]:
    """Return the messages of a state and a note, changed if the graph was interrupted in that state.

    If it was interrupted to ask a person for approval (`HumanInTheLoopMiddleware`), calls without a result were not
    made, and are marked so. Any other interruption may come from inside a tool, while other tools were running.
    """
    held = [document.get("__interrupt__"), plain(document.get("values")).get("__interrupt__")]
    held += [plain(task).get("interrupts") for task in listed(document.get("tasks"))]
    found = [plain(each) for interrupts in held for each in listed(interrupts)]
    if not found:
        return messages, nested
    said = exchanges_of(messages)
    answered = {result.call_id for exchange in said for result in exchange.results}
    waiting = [call.call_id for exchange in said for call in exchange.calls if call.call_id not in answered]
    if all([isinstance(plain(each.get("value")).get("action_requests"), list) for each in found]):
        return [*messages, *[refused(call_id, ASKED_FOR) for call_id in waiting]], nested
    return messages, nested or (OPEN if waiting else "")


def _is_of_graph(event: _Event) -> bool:
    if event.mode:
        return event.mode.partition("/")[0] in _MODES
    is_known = bool(_told_by(event)) or _state_messages(event) == [] or event.data.keys() == {"__interrupt__"}
    return is_known or not any(event.data.values())


def _by_id(messages: list[Any]) -> list[Any]:
    """Return each message once, in its last version, at its first position; removed messages are left out."""
    found: dict[Any, Any] = {}
    for number, message in enumerate(messages):
        key = identity(message) or number
        if plain(message).get("type") == "remove":
            found.pop(key, None)
        else:
            found[key] = message
    return list(found.values())


def identity(message: Any) -> str:
    """Return the id of a message; empty if it has none."""
    value = plain(message)
    inner = plain(value.get("kwargs"))
    return word(inner.get("id")) or word(value.get("id"))
