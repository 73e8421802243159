"""Logs of requests to models and their responses, one a row: Helicone, LiteLLM, HAR, cassettes of VCR, own proxies.

Every request repeats the conversation so far. A request that begins with the messages and the answer of an earlier one
continues its conversation, so that each call is reported once; any other request begins a new conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.reading.spans import NOTHING, CallRecord

from ._conversation_reader import key_of
from ._event_lines import put_together, sent_events
from ._log import Log, decoded, listed, plain, returned, said, word
from ._message_exchange import exchange_of, has_messages, with_reason
from ._parts import text_of, writer_of
from ._unknown_calls import hidden_call, hidden_parts, is_wanted, spans_beside, steps_beside

_PAIRS = (
    (("request",), ("response",)),
    (("request", "body"), ("response", "body", "string")),
    (("request", "parsed_body"), ("response", "parsed_body")),
    (("request", "body"), ("response", "body")),
    (("request_body",), ("response_body",)),
    (("input", "inputBodyJson"), ("output", "outputBodyJson")),
    (("request", "postData", "text"), ("response", "content", "text")),
    (("inputs",), ("output",)),
    (("input",), ("output",)),
    (("full_request",), ("full_response",)),
    ((), ("response",)),
    ((), ("completion",)),
    ((), ("output",)),
    ((), ()),
)
"""Paths to the request and the response in a row: custom logs, VCR, Pydantic AI's tests, Portkey, Helicone, Bedrock,
HAR, Weave, Vertex AI, LiteLLM, data sets of TRL; at last rows in which the keys of both are merged."""
_SENT = (*_PAIRS[1:4], (("request", "postData", "text"), ("response", "content", "text")))
"""Paths to the bodies in rows that record all that was sent over HTTP."""

_ASKED = ("messages", "contents", "input", "prompt")
_ANSWERED = frozenset({"choices", "candidates", "output", "content", "error", "stopReason"})
_MERGED = frozenset({"choices", "candidates"})
"""Keys of a response that a request, with which it is merged, never has."""
_ROWS = frozenset({"request", "response", "request_body", "response_body", "outputBodyJson"})
_EVENT = "ToolCall"
"""The type of tool events in AutoGen's log."""
_OPERATION = lazy_pattern(r"([^/:]+)(?::[^/:]*)?\Z")
"""The name in a reference to a function that Weave traced: `weave:///me/shop/op/find:v1`."""
_ALIKE = 2
_SESSIONS = ("session_id", "trace_id", "Helicone-Session-Id", "litellm_session_id", "litellm_trace_id")


class _Row(msgspec.Struct, frozen=True):
    """One request to a model, and its response."""

    place: int
    about: Mapping[str, Any]
    asked: list[Any]
    answer: list[Any]
    previous: str
    """The id of the response that a server keeps as the history of this request."""
    response_id: str
    has_tools: bool
    unread: str


class _Talk(msgspec.Struct):
    """A conversation, put together from the rows read so far."""

    first: _Row
    messages: list[Any]
    has_tools: bool
    unread: str


def is_proxy_row(document: Any) -> bool:
    """Whether a document is a request to a model together with the response."""
    return _bodies(document) is not None


def cassette_rows(document: Any) -> list[Any]:
    """Return the rows of a cassette that has its requests in one list and the responses in another (LangChain)."""
    told = plain(document)
    requests, responses = listed(told.get("requests")), listed(told.get("responses"))
    if told.keys() != {"requests", "responses"} or len(requests) != len(responses):
        return []
    return [{"request": asked, "response": answer} for asked, answer in zip(requests, responses, strict=True)]


def _bodies(document: Any) -> tuple[dict[str, Any], Any, set[str]] | None:
    """Return the request and the response in a document, and the keys they are below; None if it does not have both."""
    value = plain(document)
    for to_request, to_response in _PAIRS:
        request, response = _at(value, to_request), _response_at(value, to_response)
        is_answer = _is_answer(response) if to_response else not _MERGED.isdisjoint(value)
        asked = _asked(request) if isinstance(request, dict) and is_answer else None
        # Messages that end with one of the model are a conversation, not a request, unless LiteLLM says so.
        if asked and (to_request or "call_type" in value or writer_of(plain(asked[-1])) != "model"):
            return request, response, {*(to_request[:1] or _ASKED), *(to_response[:1] or _MERGED)}
    return (value, value, {"input", "output"}) if _is_response(value) else None


def _is_answer(response: Any) -> bool:
    """Whether a response has one of the keys of answers, or is a message of the model, or messages that begin so."""
    first = response[0] if isinstance(response, list) and response else response
    is_message = isinstance(first, dict) and "role" in first and writer_of(first) == "model"
    is_answer = isinstance(response, dict) and (
        not _ANSWERED.isdisjoint(response) or bool(plain(response.get("message")))
    )
    return is_message or is_answer


def _is_response(value: Mapping[str, Any]) -> bool:
    """Whether a row has messages in both `input` and `output`, or is a response of OpenAI's with its input as text."""
    asked, answers = value.get("input"), value.get("output")
    is_asked = isinstance(asked, list) and has_messages(asked)
    is_text = isinstance(asked, str) and value.get("object") == "response" and "model" in value
    return (is_asked or is_text) and isinstance(answers, list) and has_messages(answers)


def _at(held: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        held = decoded(plain(held).get(key))
    return held


def _response_at(held: Any, path: tuple[str, ...]) -> Any:
    """Return a response; that of a stream is put together from its pieces, if all of them are there."""
    told = _untyped(plain(_at(held, path[:-1])).get(path[-1])) if path else held
    response = decoded(told) if path else held
    if isinstance(response, dict) or _is_answer(response):
        return response
    pieces = told if response is None else response
    return put_together(pieces) or _of_gemini(pieces) or _of_ollama(pieces)


def _untyped(value: Any) -> Any:
    """Return a response, or the pieces of one, without the types that Llama Stack records around them."""
    if isinstance(value, dict) and value.keys() == {"__type__", "__data__"}:
        return value["__data__"]
    return list(map(_untyped, value)) if isinstance(value, list) else value


def _of_gemini(pieces: Any) -> dict[str, Any] | None:
    """Return the response of Gemini in a stream of its pieces; None if they are others, or do not show its end."""
    told = [plain(decoded(text)) for text in sent_events(pieces)] if isinstance(pieces, str) else listed(pieces)
    several = [listed(plain(each).get("candidates")) for each in told]
    if not several or any([len(each) > 1 for each in several]):
        return None
    candidates = [plain(each) for found in several for each in found]
    reason = next(filter(None, [word(each.get("finishReason")) for each in candidates]), "")
    parts = [part for each in candidates for part in listed(plain(each.get("content")).get("parts"))]
    content = {"role": "model", "parts": parts}
    return {"candidates": [{"content": content, "finishReason": reason}]} if reason and parts else None


def _of_ollama(pieces: Any) -> dict[str, Any] | None:
    """Return the response of Ollama in a stream of its pieces, one a line; None if they are others, or lack the end."""
    told = [plain(decoded(line)) for line in pieces.split("\n") if line] if isinstance(pieces, str) else listed(pieces)
    several = [plain(plain(each).get("message")) for each in told]
    if not all(several) or not told or told[-1].get("done") is not True:
        return None
    calls = [call for each in several for call in listed(each.get("tool_calls"))]
    text = "".join([word(each.get("content")) for each in several])
    return {"message": {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}}


def _asked(request: Mapping[str, Any]) -> list[Any] | None:
    """Return the messages of a request; None if it has none."""
    for key in _ASKED:
        value = decoded(request.get(key)) if key == "messages" else request.get(key)
        if isinstance(value, list) and value and has_messages(value):
            return value
    is_response_api = isinstance(request.get("input"), str) and "model" in request
    return [said("user", request["input"])] if is_response_api else None


def proxy_logs(documents: list[Any]) -> list[Log]:
    """Return a log for each conversation, in the order in which they began."""
    rows, others = _rows(documents)
    talks: list[_Talk] = []
    # Conversations by state, a hash of all messages so far. Shorter requests come first in the loop, because a request
    # is never shorter than the one that it continues.
    latest: dict[int, _Talk] = {}
    left: set[int] = set()
    by_response: dict[str, _Talk] = {}
    by_question: dict[int, _Talk] = {}
    states = _States()
    for row in sorted(rows, key=lambda row: (bool(row.previous), len(row.asked), bool(row.answer))):
        talk = by_response.get(row.previous) if row.previous else _earlier(states.of(row.asked), latest, left)
        if talk is None and (talk := _partly_repeated(row, states, by_question)):
            left.add(states.of(talk.messages)[-1])
            latest.pop(states.of(talk.messages)[-1], None)
        if talk is None:
            talk = _Talk(row, [], row.has_tools, row.unread or _unknown_history(row, states, left))
            talks.append(talk)
        before = talk.messages if row.previous else []
        talk.messages = [*before, *row.asked, *_new(row, states)]
        talk.unread, talk.has_tools = talk.unread or row.unread, talk.has_tools or row.has_tools
        latest[states.of(talk.messages)[-1]] = talk
        by_question[states.of([*before, *row.asked])[-1]] = talk
        if row.response_id:
            by_response[row.response_id] = talk
    others = [each for each in others if not _is_told(each, talks) and not _is_elsewhere(plain(each))]
    keys = {key for row in rows for key in row.about}
    if any([_may_belong(each, keys) for each in others]) or (others and not any(map(_calls_in, talks))):
        for talk in talks:
            talk.unread = talk.unread or "a row that cannot be read, which may belong to this conversation"
    others = [each for each in others if _tool_in(each) is None]
    found = [_log(talk) for talk in _without_side_requests(sorted(talks, key=lambda talk: talk.first.place))]
    return [*found, Log(others)] if has_messages(others) else found


class _States:
    """The states of conversations: hashes of all messages up to each one.

    Requests repeat what was said before them, so a message is met as often as there are requests after it. It is read
    once, and recognised by its JSON from then on.
    """

    def __init__(self) -> None:
        self._marks: dict[bytes | str, tuple[Any, ...]] = {}

    def of(self, messages: Iterable[Any]) -> list[int]:
        """Return the state at each message, leaving out system prompts, which often contain the time."""
        state, found = 0, list[int]()
        for message in messages:
            if plain(message).get("role") not in ("system", "developer"):
                state = hash((state, self.mark(message)))
            found.append(state)
        return found

    def mark(self, message: Any) -> tuple[Any, ...]:
        """Return what identifies a message in any format."""
        written = key_of(message)
        known = self._marks.get(written)
        if known is None:
            known = self._marks[written] = _mark(message)
        return known


def _mark(message: Any) -> tuple[Any, ...]:
    """Return what identifies a message in any format: its writer, and ids of calls and results, or else its text."""
    if not isinstance(message, dict):
        return (str(message),)
    found = exchange_of(message)
    calls = tuple([call.call_id or (call.name, key_of(call.args)) for call in found.calls])
    results = tuple([call.call_id or key_of(call.output) for call in found.results])
    text = "" if calls or results else (text_of(message) or "").strip()
    return writer_of(message), calls, results, text


def _may_belong(row: Any, keys: set[str]) -> bool:
    """Whether a row is a request that cannot be read, a tool call that no request has, or a row of another table.

    Any other row of the same table, such as Weave's rows of functions, only repeats what the requests contain.
    """
    value = plain(row)
    return not _ROWS.isdisjoint(value) or _tool_in(value) is not None or len(keys & value.keys()) < _ALIKE


def _is_elsewhere(row: Mapping[str, Any]) -> bool:
    """Whether a row is what was sent over HTTP to others than a model: it neither asks one, nor holds what one says."""
    if not isinstance(plain(row.get("request")).get("method"), str):
        return False
    bodies = [(plain(_at(row, asked)), plain(_at(row, sent[:-1])).get(sent[-1])) for asked, sent in _SENT]
    asked, sent = next((pair for pair in bodies if pair[0] or pair[1]), ({}, None))
    answer = decoded(sent)
    held = plain(answer) or {"items": answer}
    if plain(next(iter(listed(held.get("data"))), None)).get("object") == "embedding":
        return True
    is_stream = answer is None and isinstance(sent, str) and bool(sent_events(sent))
    return not (_asks(asked) or is_stream or hidden_call({"": held}) or has_messages([held, *listed(answer)]))


def _asks(body: Mapping[str, Any]) -> bool:
    return "model" in body or any([isinstance(body.get(key), list) for key in _ASKED])


def _calls_in(talk: _Talk) -> list[Any]:
    return [call for message in talk.messages if isinstance(message, dict) for call in exchange_of(message).calls]


def _tool_in(event: Any) -> tuple[Any, Any, Any] | None:
    """Return the name, arguments and result of the call in the row of a tool; None if it is not the row of a tool."""
    value = plain(event)
    if value.get("type") == _EVENT:
        return value.get("tool_name"), value.get("arguments"), value.get("result", NOTHING)
    if plain(value.get("attributes")).get("kind") != "tool" or not isinstance(value.get("op_name"), str):
        return None
    name = _OPERATION.search(value["op_name"])
    result = NOTHING if value.get("exception") else value.get("output", NOTHING)
    return name[1] if name else "", value.get("inputs"), result


def _is_told(event: Any, talks: list[_Talk]) -> bool:
    """Whether a row (AutoGen's log, Weave) is a tool call that a conversation has. Its result is added there."""
    tool = _tool_in(event)
    if tool is None:
        return False
    name, args, result = tool
    for talk in talks:
        exchanges = [exchange_of(message) for message in talk.messages if isinstance(message, dict)]
        answered = {each.call_id for exchange in exchanges for each in exchange.results}
        made = [call for each in exchanges for call in each.calls if call.name == name]
        same = [call for call in made if key_of(call.args) == key_of(args)]
        waiting = [call for call in same if call.call_id not in answered]
        if waiting and result is not NOTHING:
            talk.messages = [*talk.messages, returned(waiting[0].call_id, result)]
        if same:
            return True
    return False


def _rows(documents: list[Any]) -> tuple[list[_Row], list[Any]]:
    """Return the rows with a request and a response, each once, and the other documents."""
    rows: list[_Row] = []
    others: list[Any] = []
    known: set[str] = set()
    for place, document in enumerate(documents):
        bodies = _bodies(document)
        if bodies is None:
            others.append(document)
            continue
        name = word(document.get("request_id")) or word(document.get("id"))
        if name and name in known:
            continue  # a row that was written twice
        known.add(name)
        rows.append(_row(place, document, *bodies))
    return rows, others


def _row(place: int, document: Mapping[str, Any], request: Mapping[str, Any], response: Any, taken: set[str]) -> _Row:
    told = [plain(document.get(key)) for key in ("metadata", "request_properties", "properties")]
    about = {key: value for each in (*told, document) for key, value in each.items()}
    answer, unread = _answer(response)
    tools = [each.get("tools") or each.get("functions") for each in (request, plain(document.get("model_parameters")))]
    asked = _asked(request) or []
    others = {key: decoded(value) for key, value in document.items() if key not in taken and not is_wanted(key)}
    return _Row(
        place,
        about,
        asked,
        answer,
        word(request.get("previous_response_id")),
        word(plain(response).get("id")),
        any(tools),
        unread or _calls_beside(others, [*asked, *answer]),
    )


def _calls_beside(others: Mapping[str, Any], messages: list[Any]) -> str:
    """Describe a call or a step beside a request and its response that is not in their messages; empty if none is."""
    beside = [(key, call) for key, held in hidden_parts(others) for call in _told([held])]
    if not beside:
        return steps_beside(others, messages) or spans_beside(others, messages)
    known = {each for call in _told(messages) for each in (call.call_id, call.name)}
    unknown = next((key for key, call in beside if (call.call_id or call.name) not in known), None)
    return "" if unknown is None else f"beside the request and its response there is a call below `{unknown[:40]}`"


def _told(messages: Iterable[Any]) -> list[CallRecord]:
    """Return the calls and results in messages."""
    exchanges = [exchange_of(message) for message in messages if isinstance(message, dict)]
    return [each for exchange in exchanges for each in (*exchange.calls, *exchange.results)]


def _answer(response: Any) -> tuple[list[Any], str]:
    """Return the messages of a response, and a description of what could not be read; empty if all could."""
    if isinstance(response, list):
        return response, ""
    several = listed(response.get("choices")) or listed(response.get("candidates"))
    if several:
        value = plain(several[0])
        message = value.get("message", value.get("content"))
        many = "a response with several answers, of which the log does not tell the one that was used"
        told = [with_reason(message, value)] if isinstance(message, dict) else []
        return told, many if len(several) > 1 else _odd(message)
    output = response.get("output")
    if plain(response.get("message")):  # Ollama, Cohere
        return [with_reason(response["message"], response)], ""
    if isinstance(output, dict):
        return [with_reason(plain(output.get("message")), response)], _odd(output.get("message"))
    if isinstance(output, list):
        return output, ""
    if "content" in response or "role" in response:
        return [{"role": "assistant", **response}], ""
    return [], "" if response.get("error") else "a response without an answer"


def _odd(message: Any) -> str:
    return "" if isinstance(message, dict) and message else "a response that is not a message"


def _new(row: _Row, states: _States) -> list[Any]:
    """Return the messages of the answer; none if the request already ends with them."""
    marks = [states.mark(message) for message in row.answer]
    has_it = bool(marks) and [states.mark(message) for message in row.asked[-len(marks) :]] == marks
    return [] if has_it else row.answer


def _earlier(asked: list[int], latest: dict[int, _Talk], left: set[int]) -> _Talk | None:
    """Return the conversation that a request with these states continues, the longest; None if it begins a new one."""
    for state in reversed(asked):
        if state in latest:
            left.add(state)
            return latest.pop(state)
    return None


def _partly_repeated(row: _Row, states: _States, by_question: dict[int, _Talk]) -> _Talk | None:
    """Return the conversation whose last answer a request repeats without some of its calls; None if there is none.

    CrewAI carries out only the first of several calls, and does not tell the model that it asked for others.
    """
    for state, message in zip(states.of(row.asked), row.asked[1:] if not row.previous else [], strict=False):
        talk = by_question.get(state)
        kept = set(states.mark(message)[1]) if isinstance(message, dict) else set()
        if talk is not None and kept and kept < set(states.mark(talk.messages[-1])[1]):
            return by_question.pop(state)
    return None


def _unknown_history(row: _Row, states: _States, left: set[int]) -> str:
    if row.previous:
        return "a history that is kept by the server, and is not in the log"
    if not left.isdisjoint(states.of(row.asked)):
        return "a conversation that branches off from another one"
    return ""


def _without_side_requests(talks: list[_Talk]) -> list[_Talk]:
    """Return conversations without those that had no tools, in sessions in which others made calls.

    Agents also ask models for titles and summaries. If several conversations of one session have calls, the order of
    the calls is not known, and this is noted.
    """
    calling: dict[str, list[_Talk]] = {}
    for talk in talks:
        if _calls_in(talk):
            calling.setdefault(_session(talk), []).append(talk)
    for session, several in calling.items():
        for talk in several if session and len(several) > 1 else ():
            talk.unread = talk.unread or "calls in several conversations of one session"
    return [
        talk
        for talk in talks
        if talk.has_tools or not _session(talk) or _session(talk) not in calling or talk in calling[_session(talk)]
    ]


def _session(talk: _Talk) -> str:
    return next(filter(None, [word(talk.first.about.get(key)) for key in _SESSIONS]), "")


def _log(talk: _Talk) -> Log:
    return Log(talk.messages, id=_session(talk) or None, about=talk.first.about, nested=talk.unread)
