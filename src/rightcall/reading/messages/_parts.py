"""One message: its author, its text, and its parts, read as requested calls and results."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import msgspec

from rightcall.errors import InputError
from rightcall.reading.spans import (
    NOTHING,
    PLACEHOLDERS,
    CallRecord,
    UnparsableError,
    arguments,
    is_cut,
    is_scrubbed,
    outcome,
)
from rightcall.values.decoding import decode_json

from ._agent_parts import RUN_BY_SERVICE, Kind, Part
from ._part_formats import PARTS

Writer = Literal["user", "model", ""]

_WRITERS: dict[str, Writer] = {
    "user": "user",
    "human": "user",
    "humanmessage": "user",
    "request": "user",
    "user_message": "user",
    "assistant_message": "model",
    "user.message": "user",
    "agent.message": "model",
    "gen_ai.user.message": "user",
    "assistant": "model",
    "bot": "model",
    "model": "model",
    "ai": "model",
    "aimessage": "model",
    "aimessagechunk": "model",
    "response": "model",
    "gen_ai.choice": "model",
    "gen_ai.assistant.message": "model",
}
_HIDDEN = "[REDACTED]"
"""Pydantic AI's text for the name of an MCP server in prompts; the answer that asked for the call names it."""
_TEXTS = frozenset({"text", "output_text", "input_text", "user-prompt"})
_SPOKEN = frozenset({"audio", "input_audio", "output_audio"})  # of OpenAI's Realtime API, with a transcript
_KINDS = ("type", "block_type", "part_kind", "content_type")
_CONTENTS = ("content", "contents", "parts", "blocks", "items", "task", "message")
_MOST_WRAPPINGS = 5
_WRAPPERS = frozenset({"data", "message", "lc", "info"})
_UNWRAPPED = (str, list, type(None))
"""Types of the content of a message that does not wrap another message."""
_CHATTING = frozenset({"user", "human", "assistant", "ai", "model", "system", "developer"})
_OF_PLAIN = frozenset({"role", "content", "parts", "finish_reason"})
_OF_TEXTS = (frozenset({"type", "content"}), frozenset({"type", "text"}), frozenset({"text"}))
_OPENED = ("[{", '{"')
"""Prefixes of text that may be parts as JSON."""
_OF_AUTOGEN = "Message"
_BY_USER = "isCreatedByUser"  # in a message of LibreChat, which has no role


def writer_of(message: Any) -> Writer:
    """Return whether the user or the model wrote a message; empty for instructions, results and unknown authors."""
    if isinstance(message, Mapping) and (message.get("isMeta") is True or message.get("isCompactSummary") is True):
        return ""  # Claude Code wrote it
    message = unwrapped(message)
    if not isinstance(message, Mapping):
        return ""
    for key in ("role", "type", "kind", "event.name", "message_type"):
        value = message.get(key)
        if value is not None and (found := _WRITERS.get(str(value).lower())):
            return found
    if is_task(message):
        return "user"
    if message.get("role") == "agent":
        return "model"  # in logs of telephone calls
    source, kind = message.get("source"), message.get("type")
    if isinstance(source, str) and isinstance(kind, str) and kind.endswith(_OF_AUTOGEN):
        return "user" if source == "user" else "model"
    by_user = message.get(_BY_USER)
    return ("user" if by_user else "model") if isinstance(by_user, bool) else ""


def text_of(message: Any) -> str | None:
    """Return the text of a message; None if there is none."""
    return _text_in(content_of(message)) or None


def is_task(message: Mapping[str, Any]) -> bool:
    """Whether a message is the first step of smolagents. Logs of tasks (CrewAI) have other keys beside `task`."""
    return "task" in message and message.keys() <= {"task", "task_images"}


def content_of(message: Any) -> Any:
    """Return the content of a message: a text, or a list of parts."""
    message = unwrapped(message)
    if not isinstance(message, Mapping):
        return None
    has_writer = "role" in message or _BY_USER in message
    is_in_text = has_writer and not any([key in message for key in _CONTENTS])
    return next((message[key] for key in (("text",) if is_in_text else _CONTENTS) if message.get(key)), None)


def asks_for_calls(message: Mapping[str, Any]) -> bool:
    """Whether a message has a list of calls, of any format."""
    held = unwrapped(message)
    return bool(held.get("tool_calls") or held.get("toolCalls") or held.get("function_call"))


def is_plain(message: Mapping[str, Any]) -> bool:
    """Whether a message is only text, in one of its commonest forms. It is a shortcut: most messages are.

    Such a message has neither a call nor a result, nor anything that may be one.
    """
    inner = message.get("message")
    if inner.__class__ is dict and len(message) == 1:
        message = inner  # OpenInference
    role, content = message.get("role"), message.get("content")
    if role.__class__ is not str or role not in _CHATTING or not message.keys() <= _OF_PLAIN:
        return False
    if message.get("finish_reason", "").__class__ is not str:
        return False
    if content.__class__ is str:
        return "parts" not in message and content[:2] not in _OPENED
    parts = message.get("parts")
    return parts.__class__ is list and "content" not in message and all([is_text(part) for part in parts])


def is_text(part: Any) -> bool:
    """Whether a part of a message is only text, in one of its commonest forms."""
    text = part.get("text", part.get("content")) if part.__class__ is dict else None
    if text.__class__ is not str or part.keys() not in _OF_TEXTS or part.get("type", "text") != "text":
        return False
    return text[:2] not in _OPENED


def is_pair(message: Any) -> bool:
    """Whether a message is a pair of role and text, as LangChain accepts them."""
    return (
        isinstance(message, list)
        and len(message) == 2
        and all([isinstance(each, str) for each in message])
        and message[0] in ("user", "human", "ai", "assistant", "system")
    )


def unwrapped(message: Any) -> Any:
    """Return the message inside the wrappers of libraries, with the role from a wrapper if it has none."""
    if message.__class__ is dict and _WRAPPERS.isdisjoint(message) and message.get("content").__class__ in _UNWRAPPED:
        return message  # most messages
    if is_pair(message):
        return {"role": message[0], "content": message[1]}
    for _ in range(_MOST_WRAPPINGS):
        if not isinstance(message, Mapping):
            return message
        inner = _held_message(message)
        if inner is None:
            return message
        message = inner
    return message


def _held_message(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the message inside one wrapper; None if this is not a wrapper."""
    data, inner, content = message.get("data"), message.get("message"), message.get("content")
    if isinstance(data, dict) and "content" in data:
        return {"type": message.get("type"), **data}
    if message.get("lc") == 1 and isinstance(message.get("kwargs"), Mapping):
        return constructed(message)
    if isinstance(inner, dict):
        return inner
    if isinstance(inner, str) and "finish_reason" in message:
        return {"role": "assistant", "content": inner}
    if isinstance(content, dict) and ("parts" in content or "role" in content):
        # Mastra writes the role beside the content.
        return content if "role" in content or "role" not in message else {"role": message["role"], **content}
    info = message.get("info")
    if isinstance(info, dict) and isinstance(info.get("role"), str) and isinstance(message.get("parts"), list):
        return {"role": info["role"], "parts": message["parts"]}  # OpenCode
    return None


def constructed(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message in a dump of LangChain. In JavaScript's dumps its type is taken from the class."""
    kwargs = document.get("kwargs") if document.get("lc") == 1 else None
    if not isinstance(kwargs, dict) or "type" in kwargs:
        return kwargs if isinstance(kwargs, dict) else document
    names = document.get("id")
    name = names[-1] if isinstance(names, list) and names else ""
    return {"type": _CLASSES.get(name, name) if isinstance(name, str) else "", **kwargs}


_CLASSES = {"ToolMessage": "tool", "ToolMessageChunk": "tool", "FunctionMessage": "function"}


def _text_in(value: Any) -> str:
    if isinstance(value, str):
        blocks = _blocks(value)
        return value if blocks is None else _text_in(blocks)
    if not isinstance(value, list):
        return ""
    return "".join([_text_of_part(part) for part in value])


def _text_of_part(part: Any) -> str:
    """Return the text of a part; empty for parts of other types, such as thoughts, calls and images."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        return ""
    inner = part.get("message_content")
    part = inner if isinstance(inner, Mapping) else part
    kind = next((part[key] for key in _KINDS if isinstance(part.get(key), str)), None)
    if kind is not None and kind not in _TEXTS and kind not in _SPOKEN:
        return ""
    if kind is None and part.get("thought"):
        return ""
    text = part.get("transcript" if kind in _SPOKEN else "text", part.get("content") if kind in _TEXTS else None)
    if isinstance(text, Mapping):
        text = text.get("value")  # threads of OpenAI's assistants
    return text if isinstance(text, str) else ""


def _blocks(text: str) -> list[Any] | None:
    # OpenLLMetry and Strands keep blocks of content as JSON text.
    if text[:2] != "[{":
        return None
    try:
        value = decode_json(text)
    except InputError:
        return None
    known = isinstance(value, list) and all(isinstance(block, dict) and _is_block(block) for block in value)
    return value if known else None


def _is_block(block: Mapping[str, Any]) -> bool:
    return bool({"type", "text", "toolUse", "toolResult", "json", "reasoningContent"} & block.keys())


_MOST_SHAPES = 4096  # the cache is cleared when it is full: hostile logs may have any number of shapes
_CALLS = frozenset({"tool_call", "tool_use", "function_call"})
"""Types of blocks of calls."""
# Only types that a row asks for are part of a shape, so that a log with any number of types has few shapes.
_TYPES = frozenset(
    [wanted for part in PARTS for key, wanted in part.marks if key == "type" and isinstance(wanted, str)]
)


class _Gathered(NamedTuple):
    """Keys whose values are gathered into an object."""

    keys: tuple[str, ...]


_Step = str | _Gathered
_Place = _Step | tuple[_Step, ...]
"""A key or several keys, or the steps of a path into inner objects."""
_Marks = tuple[tuple[_Place, Any], ...]
_Shape = tuple[Any, ...]
"""The type of an object, if a row asks for it, and the keys."""


class PartRow(msgspec.Struct, frozen=True):
    """A row of the table as it applies to objects of one shape: without the places that such objects do not have."""

    part: Part
    format: str
    kind: Kind
    marks: _Marks
    """The marks that the shape does not decide."""
    name: tuple[_Place, ...]
    id: tuple[_Place, ...]
    value: tuple[_Place, ...]
    output: tuple[_Place, ...]
    message: tuple[_Place, ...]
    failure: _Marks
    refusal: tuple[tuple[_Place, Any, str], ...]
    caller: tuple[_Place, ...]
    """Where the id of the call is whose code made this one."""


_rows: dict[_Shape, tuple[PartRow, ...]] = {}


def part_of(document: Mapping[str, Any]) -> PartRow | None:
    """Return the format of a part of a message: the first row of the table that fits; None if it is not a part."""
    kind = document.get("type")
    shape = (kind if kind.__class__ is str and kind in _TYPES else None, *document)
    rows = _rows.get(shape)
    for row in _learn(shape) if rows is None else rows:
        for place, wanted in row.marks:
            if not _fits(_inside(document, place), wanted):
                break
        else:
            return row
    return None


@lru_cache(maxsize=_MOST_SHAPES)
def may_be_part(keys: tuple[str, ...]) -> bool:
    """Whether an object with these keys may be a part of a message, depending on its values."""
    return any([{key.split(".")[0] for key, _ in part.marks}.issubset(keys) for part in PARTS])


def read_part(document: Mapping[str, Any], row: PartRow) -> CallRecord | None:
    """Read a part as a record of a requested call or of a result; None for a call without a usable name."""
    part, name = row.part, _first(document, row.name)
    if row.kind == "call" and row is not _PARTIAL and not (isinstance(name, str) and name):
        return None
    name = _tool_name(part, name)
    record = CallRecord(name.strip("'\"") if isinstance(name, str) else "", format=row.format)
    call_id = _first(document, row.id)
    if isinstance(call_id, list) and len(call_id) == 1:
        call_id = call_id[0]  # SWE-agent lists the calls that a message answers
    record.call_id = call_id if isinstance(call_id, str) and call_id and call_id not in PLACEHOLDERS else None
    record.of_user = document.get("requestor") == "user"
    if row.caller:
        caller = _first(document, row.caller)
        record.caller = caller if isinstance(caller, str) else None
    if row.refusal:
        record.withheld = _refusal(document, row)
    # MLflow makes up arguments for calls without a name.
    held = _first(document, row.value) if name is not NOTHING or row.kind == "result" else NOTHING
    if held is NOTHING and part.nulls and document.get(part.value[-1], NOTHING) is None:
        held = "" if row.kind == "call" else None
    if row.kind == "call":
        _take_args(record, held)
        if part.naming is not None and record.args.__class__ is dict:
            # The arguments are keys of an item. SDKs write null for those that were not set, or leave them out.
            record.args = {key: value for key, value in record.args.items() if value is not None}
        if part.output:
            _take_output(record, document, row, _first(document, row.output))
    else:
        _take_output(record, document, row, held)
    return record


def _tool_name(part: Part, held: Any) -> Any:
    """Return the name of the tool, given the value at its place; empty if it was hidden."""
    name = part.naming(held) if part.naming is not None and isinstance(held, str) else held
    return "" if isinstance(name, str) and _HIDDEN in name else name


def partial_part(key: str, item: Any) -> PartRow | None:
    """Return the format of a call with an id but no name or arguments; other messages may have those."""
    value = item.get("tool_call", item) if isinstance(item, Mapping) else item
    if not isinstance(value, Mapping) or not (key == "tool_calls" or str(value.get("type")) in _CALLS):
        return None
    call_id = _first(value, ("id", "call_id"))
    return _PARTIAL if isinstance(call_id, str) and call_id and call_id not in PLACEHOLDERS else None


def _refusal(document: Mapping[str, Any], row: PartRow) -> str:
    """Return why a call was not made, if its part says so; otherwise an empty text."""
    for place, wanted, default in row.refusal:
        if _failed(_inside(document, place), wanted):
            reason = _first(document, row.message)
            return reason if isinstance(reason, str) and reason else default
    return ""


def _learn(shape: _Shape) -> tuple[PartRow, ...]:
    """Find the rows that objects of a shape may fit, each with the marks that the shape does not decide.

    Messages repeat few shapes, so a part is compared with two or three rows instead of with all of them.
    """
    if len(_rows) >= _MOST_SHAPES:
        _rows.clear()
    kind, *keys = shape
    found = _rows[shape] = tuple([_row(part, keys) for part in PARTS if _may_fit(part, kind, keys)])
    return found


def _may_fit(part: Part, kind: Any, keys: list[Any]) -> bool:
    names = [(key.split(".")[0], key, wanted) for key, wanted in part.marks]
    return all([name in keys and (key != "type" or callable(wanted) or wanted == kind) for name, key, wanted in names])


def _row(part: Part, keys: Container[Any] | None) -> PartRow:
    """Return a row for objects with these keys; for any object if they are None."""

    def places(paths: Iterable[str]) -> tuple[_Place, ...]:
        return tuple([_place(path) for path in paths if keys is None or path[:1] == "{" or path.split(".")[0] in keys])

    def marks(told: Iterable[tuple[str, Any]]) -> _Marks:
        return tuple([(place, wanted) for key, wanted in told for place in places((key,))])

    return PartRow(
        part,
        part.format,
        part.kind,
        marks=marks([(key, wanted) for key, wanted in part.marks if not _is_settled(key, wanted)]),
        name=places(part.name),
        id=places(part.id),
        value=places(part.value),
        output=places(part.output),
        message=places(part.message),
        failure=marks(part.failure),
        refusal=tuple([(place, wanted, why) for key, wanted, why in part.refusal for place in places((key,))]),
        caller=places(("caller.tool_id", "caller.caller_id") if part.format in RUN_BY_SERVICE else ()),
    )


def _place(path: str) -> _Place:
    steps = [_Gathered(tuple(step[1:-1].split(","))) if step[:1] == "{" else step for step in path.split(".")]
    return steps[0] if len(steps) == 1 else tuple(steps)


def _is_settled(key: str, wanted: Any) -> bool:
    """Whether a mark is decided by the shape of an object: its keys, and its type if a row asks for that."""
    return not callable(wanted) if key == "type" else wanted is None and "." not in key


_PARTIAL = _row(
    Part(
        "a call without a name or arguments",
        "call",
        marks=(),
        name=("name", "function.name", "tool_call.name", "tool_call.function.name"),
        id=("id", "call_id", "tool_call.id", "tool_call.call_id"),
        value=("arguments", "function.arguments", "tool_call.arguments", "tool_call.function.arguments"),
    ),
    None,
)


def _take_args(record: CallRecord, held: Any) -> None:
    if held is NOTHING or held is None:
        return
    try:
        # A model that calls a tool without arguments may write an empty text.
        value = {} if held == "" else arguments(held)
    except UnparsableError:
        record.unparsable = True
        record.cut_at = len(held) if is_cut(held) else 0
        return
    if isinstance(value, dict) and not is_scrubbed(held):
        record.args = value


def _take_output(record: CallRecord, document: Mapping[str, Any], row: PartRow, held: Any) -> None:
    if row.failure:
        record.failed = any([_failed(_inside(document, place), wanted) for place, wanted in row.failure])
    if held is not NOTHING and document.get("preliminary") is not True:  # Vercel: the tool had not ended
        value = outcome(held)
        for unwrap in row.part.unwrap:
            value = unwrap(value, record, {})
        if value is not NOTHING and not is_scrubbed(held):
            record.output = value
    if record.failed and not record.error:
        message = _first(document, row.message)
        record.error = message if isinstance(message, str) else _as_text(record.output)


def _as_text(value: Any) -> str | None:
    """Return an error as text; a list or an object, such as the mistakes in arguments, as JSON."""
    if isinstance(value, (list, dict)) and value:
        return json.dumps(value, ensure_ascii=False)
    return value if isinstance(value, str) and value else None


def _first(document: Mapping[str, Any], places: tuple[_Place, ...]) -> Any:
    for place in places:
        value = document.get(place) if place.__class__ is str else _inside(document, place)
        if value is not NOTHING and value is not None:
            return value
    return NOTHING


def _inside(document: Any, place: _Place) -> Any:
    if place.__class__ is str:
        return document.get(place, NOTHING)
    if place.__class__ is _Gathered:
        return {key: document[key] for key in place.keys if document.get(key) is not None}
    for step in place:
        if not isinstance(document, dict):
            return NOTHING
        document = _inside(document, step)
    return document


def _fits(value: Any, wanted: Any) -> bool:
    if wanted is None:
        return value is not NOTHING
    if isinstance(wanted, type):
        return isinstance(value, wanted)
    return bool(wanted(value)) if callable(wanted) else bool(value == wanted)


def _failed(value: Any, wanted: Any) -> bool:
    return bool(value) and value is not NOTHING if wanted is None else bool(value == wanted)
