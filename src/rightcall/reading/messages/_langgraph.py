"""States and streams of LangGraph: snapshots, checkpoints, what each node adds, what subgraphs tell of themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rightcall.reading.conventions import ASKED_FOR

from ._log import Log, listed, plain, refused, word
from ._message_exchange import exchanges_of, has_messages

_STATES = ("values", "channel_values")
_MODES = frozenset({"values", "updates", "messages", "debug", "metadata", "end"})
"""What events of a stream hold: states, updates, and what repeats them."""


class _Event(NamedTuple):
    """An event of a stream, or a state."""

    mode: str
    """Empty if the data has to show it."""
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
    """Return the log of a graph: the messages of its longest state, or all that its updates added, each once.

    Where subgraphs tell of themselves, the log has all messages in the order of the stream: those that no state of the
    graph itself has were written inside one of its nodes.
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
    """Return an event of a stream in any of its forms; a state that is no event has no mode.

    The server writes `{"event": "values|child:id", "data": …}`. In Python it is `{"type": …, "ns": …, "data": …}`, or
    the data alone, after the mode if several were asked for, and after the namespace if those of subgraphs were.
    """
    if isinstance(document, list):
        namespace = document[0] if document and isinstance(document[0], list) else []
        rest = document[1:] if document and document[0] is namespace else document
        if not rest or len(rest) > 2 or len(document) < 2 or not _is_namespace(namespace):
            return _Event("", (), {})
        data = plain(rest[-1])
        mode = "values" if isinstance(data.get("messages"), list) else "updates"
        return _Event(word(rest[0]) if len(rest) == 2 else mode, tuple(namespace), data)
    held = plain(document)
    if word(held.get("event")):
        mode, *nodes = held["event"].split("|")
        return _Event(mode, tuple(nodes), plain(held.get("data")))
    if _is_namespace(held.get("ns")) and "data" in held and word(held.get("type")):
        return _Event(held["type"], tuple(held["ns"]), plain(held["data"]))
    return _Event("", (), held)


def _is_namespace(held: Any) -> bool:
    """Whether these are nodes, each with the id of its task."""
    return isinstance(held, list) and all([isinstance(node, str) and ":" in node for node in held])


def _state_messages(event: _Event) -> list[Any] | None:
    if event.mode not in ("", "values"):
        return None
    for state in [event.data] if event.mode else [plain(event.data.get(key)) for key in _STATES]:
        messages = state.get("messages")
        if isinstance(messages, list) and (not messages or has_messages(messages)):
            return messages
    return None


def _update_messages(event: _Event) -> list[Any]:
    """Return the messages of an update. A hand-written object of objects has none of LangChain's types."""
    held = event.data if event.mode in ("", "updates") else {}
    if not held or any([each is not None and not isinstance(each, dict) for each in held.values()]):
        return []
    added: list[Any] = []
    for node in held.values():
        messages = plain(node).get("messages")
        added += messages if isinstance(messages, list) else [messages] if isinstance(messages, dict) else []
    return added if all([_is_of_langchain(each) for each in added]) else []


def _is_of_langchain(message: Any) -> bool:
    held = plain(message)
    return word(held.get("type")) in ("ai", "human", "tool", "system", "remove", "AIMessageChunk") or "lc" in held


def _with_subgraphs(events: Iterable[_Event], longest: list[Any]) -> tuple[list[Any], str]:
    """Return the messages of a graph and its subgraphs, each once, and a note on those that cannot be told apart."""
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
"""What is not understood of such calls, unless spans show what came of them."""


def interrupted(document: Mapping[str, Any], messages: list[Any], nested: str) -> tuple[list[Any], str]:
    """Return the messages of a state, and a note, if the graph was interrupted at it.

    Where it asks a person to approve calls (`HumanInTheLoopMiddleware`), no open call has been made. Any other
    interruption may come from inside a tool, while other tools were at work.
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
    """Return messages once each, as they were last reported, where they were first reported; removals take effect."""
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
    held = plain(message)
    inner = plain(held.get("kwargs"))
    return word(inner.get("id")) or word(held.get("id"))
