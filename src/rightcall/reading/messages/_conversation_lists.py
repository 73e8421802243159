"""Conversations in the documents of services and data sets: pages of items, batches, ShareGPT's turns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rightcall._lazy import lazy_pattern
from rightcall.errors import InputError
from rightcall.values.decoding import decode_json, decode_text

from ._log import Log, called, decoded, listed, plain, returned, said, word
from ._message_exchange import has_messages, messages_of


def is_run_steps(document: Any) -> bool:
    """Whether a document is a page of steps of a run of OpenAI's or Azure's assistants."""
    return any([plain(each).get("object") == "thread.run.step" for each in listed(plain(document).get("data"))])


def run_step_logs(page: dict[str, Any]) -> list[Log]:
    """Return the log of a run: the calls of its steps, oldest first."""
    steps = list(page["data"])
    times = [plain(step).get("created_at") for step in steps]
    if all([isinstance(time, (int, float)) for time in times]):
        steps.sort(key=lambda step: step["created_at"])
    messages: list[Any] = []
    for step in steps:
        details = plain(plain(step).get("step_details"))
        if details.get("type") == "message_creation":
            continue
        calls = details.get("tool_calls")
        pairs = [_step_call(call) for call in calls] if isinstance(calls, list) else [[step]]
        messages += [pair[0] for pair in pairs]  # the model asks for all calls of a step at once
        messages += [each for pair in pairs for each in pair[1:]]
    return [Log(messages, id=word(plain(steps[0]).get("run_id")) or None)]


def _step_call(call: Any) -> list[Any]:
    held, call_id = plain(call), plain(call).get("id")
    kind = word(held.get("type"))
    inner = plain(held.get(kind))
    if kind == "function" and isinstance(inner.get("name"), str):
        made = called(call_id, inner["name"], inner.get("arguments"))
        return [made] if inner.get("output") is None else [made, returned(call_id, inner["output"])]
    if kind == "code_interpreter" and "input" in inner:
        made = called(call_id, kind, {"input": inner["input"]})
        return [made, returned(call_id, inner.get("outputs"))] if "outputs" in inner else [made]
    if kind == "file_search":
        return [called(call_id, kind, None), returned(call_id, inner.get("results"))]
    return [{"tool_calls": [call or "an empty call"]}]


def is_batch_answer(document: Any) -> bool:
    """Whether a document is a line of the output of OpenAI's or Anthropic's batches: one answer of a model."""
    held = plain(document)
    return isinstance(held.get("custom_id"), str) and _batch_answer(held) is not None


def _batch_answer(line: Mapping[str, Any]) -> dict[str, Any] | None:
    answers = [plain(line.get("response")).get("body"), plain(line.get("result")).get("message")]
    return next((answer for answer in answers if isinstance(answer, dict)), None)


def batch_logs(line: dict[str, Any]) -> list[Log]:
    """Return the log of one answer. Its `custom_id` is the id of a case."""
    return [Log(messages_of(_batch_answer(line)), id=line["custom_id"], about={"case_id": line["custom_id"]})]


def is_item_page(document: Any) -> bool:
    """Whether a document is a page of a list: items of a response, events of a managed agent."""
    held = plain(document)
    marks = {"object", "has_more", "next_page", "first_id", "last_id"} & held.keys()
    items = held.get("data")
    return bool(marks) and isinstance(items, list) and _are_items(items)


def _are_items(items: list[Any]) -> bool:
    # Answers of a model that an account keeps are conversations of their own.
    kinds = {word(plain(item).get("object")) for item in items}
    return has_messages(items) and not kinds & {"chat.completion", "response", "thread.run"}


def item_page_logs(pages: list[Any]) -> list[Log]:
    """Return the log of all pages together. A list whose results come before their calls is newest first."""
    items = [item for page in pages for item in (page["data"] if is_item_page(page) else [page])]
    place: dict[str, int] = {}
    for number, item in enumerate(items):
        if plain(item).get("type") == "function_call" and isinstance(item.get("call_id"), str):
            place.setdefault(item["call_id"], number)
    answered = [
        (number, place[item["call_id"]])
        for number, item in enumerate(items)
        if plain(item).get("type") == "function_call_output" and word(item.get("call_id")) in place
    ]
    is_newest_first = bool(answered) and all([result < call for result, call in answered])
    times = [time for item in items if isinstance(time := plain(item).get("created_at"), (int, float))]
    if times and len(times) == len(items):
        is_newest_first = times[0] > times[-1]
    return [Log(items[::-1] if is_newest_first else items)]


def is_agno_session(document: Any) -> bool:
    """Whether a document is a session of Agno: runs, each with its messages."""
    runs = plain(document).get("runs")
    return (
        "session_id" in plain(document) and isinstance(runs, list) and any(["messages" in plain(run) for run in runs])
    )


def agno_logs(session: dict[str, Any]) -> list[Log]:
    """Return the log of a session: the messages of its runs, without those that a run takes over from those before."""
    messages: list[Any] = []
    for run in session["runs"]:
        held = listed(plain(run).get("messages"))
        messages += [each for each in held if plain(each).get("from_history") is not True] or [run]
    inner = any([plain(run).get("parent_run_id") for run in session["runs"]])
    nested = "runs of the members of a team, beside those of the team" if inner else ""
    return [Log(messages, id=word(session["session_id"]) or None, about=session, nested=nested)]


def is_query_and_response(document: Any) -> bool:
    """Whether a document is a row of Azure's evaluations: a conversation so far, and the messages that answer it."""
    held = plain(document)
    answers = held.get("response")
    return "query" in held and "messages" not in held and isinstance(answers, list) and has_messages(answers)


def query_logs(row: dict[str, Any]) -> list[Log]:
    """Return the log of a row. What the query says was said before."""
    asked = row["query"]
    before = asked if isinstance(asked, list) else [said("user", asked)]
    return [Log([*before, *row["response"]], about=row)]


def is_sharegpt(document: Any) -> bool:
    """Whether a document is a conversation in ShareGPT's format: `from` and `value`."""
    held = plain(document).get("conversations")
    return isinstance(held, list) and any(["from" in plain(turn) and "value" in plain(turn) for turn in held])


_HUMAN = frozenset({"human", "user"})
_RESULTS = frozenset({"observation", "tool", "function_response"})


def sharegpt_logs(document: dict[str, Any]) -> list[Log]:
    """Return the log of a conversation. Turns have no ids: results answer the calls before them in order."""
    turns = [(word(plain(turn).get("from")), plain(turn).get("value"), turn) for turn in document["conversations"]]
    return [Log(_turn_messages(turns), id=word(document.get("id")) or None, about=document)]


def _turn_messages(turns: list[tuple[str, Any, Any]]) -> list[Any]:
    messages: list[Any] = []
    waiting: list[str] = []
    for number, (role, value, turn) in enumerate(turns):
        calls = list(_written_calls(value)) if role == "function_call" else _tagged_calls(role, value)
        results = _tagged("tool_response", value) if role in _RESULTS else []
        if calls:
            ids = [f"{number}.{place}" for place in range(len(calls))]
            waiting += ids
            made = [called(name, *call) for name, call in zip(ids, calls, strict=True)]
            messages.append({"role": "assistant", "content": made})
        elif role == "function_call":
            messages.append({"tool_calls": [turn]})
        elif results and len(results) == len(waiting):
            messages += [returned(waiting.pop(0), _told_result(result)) for result in results]
        elif role in _RESULTS and waiting and len(results) < 2:
            messages.append(returned(waiting.pop(0), _told_result(results[0]) if results else value))
        elif role in _HUMAN or role in (*_MODEL, "system"):
            messages.append(said("user" if role in _HUMAN else "system" if role == "system" else "assistant", value))
        else:
            messages.append({"role": role or "tool", "content": value, "turn": turn})
    return messages


_MODEL = ("gpt", "assistant", "model")


def _tagged(tag: str, value: Any) -> list[Any]:
    """Return what lies in the tags of a text, as Hermes writes them; the text itself where it cannot be decoded."""
    pieces = value.split(f"<{tag}>")[1:] if isinstance(value, str) else ()
    inside = [piece.partition(f"</{tag}>") for piece in pieces]
    return [_literal(text.strip()) for text, _, _ in inside] if all([end for _, end, _ in inside]) else []


def _literal(text: str) -> Any:
    try:
        return decode_text(text)
    except InputError:
        return text


def _tagged_calls(role: str, value: Any) -> list[tuple[str, Any]]:
    """Return the calls in the tags of a text of the model; none if one of them cannot be read."""
    held = _tagged("tool_call", value) if role in _MODEL else []
    return list(_written_calls(held)) if held else []


def _told_result(result: Any) -> Any:
    """Return the result of a tool without the name beside it."""
    return result["content"] if isinstance(result, dict) and result.keys() == {"name", "content"} else result


def _written_calls(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the calls in the text of a turn; none if one of them cannot be read."""
    try:
        held = decode_json(value) if isinstance(value, str) else value
    except InputError:
        return
    calls = [plain(each) for each in (held if isinstance(held, list) else [held])]
    if all([isinstance(call.get("name"), str) and "arguments" in call for call in calls]):
        yield from [(call["name"], call["arguments"]) for call in calls]


def is_glaive(document: Any) -> bool:
    """Whether a document is a row of Glaive's function calling: a chat as one text."""
    chat = word(plain(document).get("chat"))
    return "USER:" in chat[:_BEGINNING] and "ASSISTANT:" in chat and "system" in plain(document)


def glaive_logs(row: dict[str, Any]) -> list[Log]:
    """Return the log of a chat. A call that cannot be read stays text, which says that it is one."""
    pieces = _SPEAKERS.split(row["chat"])
    turns: list[tuple[str, Any, Any]] = []
    for speaker, text in zip(pieces[1::2], pieces[2::2], strict=True):
        text = text.replace("<|endoftext|>", "").strip()
        call = _GLAIVE_CALL.fullmatch(text) if speaker == "ASSISTANT" else None
        args = decoded(call[2].replace("\\'", "'")) if call else None
        if call and isinstance(args, dict):
            turns.append(("function_call", {"name": call[1], "arguments": args}, text))
        else:
            turns.append(({"USER": "user", "ASSISTANT": "assistant"}.get(speaker, "tool"), text, text))
    return [Log(_turn_messages(turns), about=row)]


_BEGINNING = 100
_SPEAKERS = lazy_pattern(r"^[ \t]*(USER|ASSISTANT|FUNCTION RESPONSE): ?", re.M)
_GLAIVE_CALL = lazy_pattern(r"<functioncall> ?\{\"name\": \"([^\"\n]{1,200})\", ?\"arguments\": ?'?(\{.*\})'?\}", re.S)
