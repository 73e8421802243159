"""Read conversations in documents of services, data sets and benchmarks: pages of items, batches, exports of chats."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import InputError
from rightcall.values.decoding import decode_json, decode_text

from ._log import Log, called, decoded, listed, plain, returned, said, word
from ._message_exchange import has_messages, messages_of
from ._parts import writer_of

_ATTACHED = "attachment://"
_DEEPEST = 20
_ROLES = {"user": "user", "agent": "assistant", "system": "system"}


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
    value = plain(document)
    return isinstance(value.get("custom_id"), str) and _batch_answer(value) is not None


def _batch_answer(line: Mapping[str, Any]) -> dict[str, Any] | None:
    answers = [plain(line.get("response")).get("body"), plain(line.get("result")).get("message")]
    return next((answer for answer in answers if isinstance(answer, dict)), None)


def batch_logs(line: dict[str, Any]) -> list[Log]:
    """Return the log of one answer. Its `custom_id` is the id of a case."""
    return [Log(messages_of(_batch_answer(line)), id=line["custom_id"], about={"case_id": line["custom_id"]})]


def is_item_page(document: Any) -> bool:
    """Whether a document is a page of a list: items of a response, events of a managed agent."""
    value = plain(document)
    marks = {"object", "has_more", "next_page", "first_id", "last_id"} & value.keys()
    return bool(marks) and _are_items(_items_of(value))


def _items_of(page: dict[str, Any]) -> list[Any]:
    """Return the items of a page; those of Mistral's conversations are its `entries`, of their responses `outputs`."""
    is_of_mistral = word(page.get("object")).startswith("conversation.") and "data" not in page
    return listed(page.get(("entries" if "entries" in page else "outputs") if is_of_mistral else "data"))


def _are_items(items: list[Any]) -> bool:
    # A page of stored responses of a model is not one conversation: each response is its own.
    kinds = {word(plain(item).get("object")) for item in items}
    return has_messages(items) and not kinds & {"chat.completion", "response", "thread.run"}


def item_page_logs(pages: list[Any]) -> list[Log]:
    """Return the log of all pages together, oldest item first, going by timestamps or by calls and their results."""
    items = [item for page in pages for item in (_items_of(page) if is_item_page(page) else [page])]
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
    if not answered and not is_newest_first:
        # A page without calls of functions has at most the question and the answer to tell its order.
        is_newest_first = bool(items) and (writer_of(items[0]), writer_of(items[-1])) == ("model", "user")
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
    """Return the log of a session: the messages of its runs, without the history that a run repeats."""
    messages: list[Any] = []
    for run in session["runs"]:
        held = listed(plain(run).get("messages"))
        messages += [each for each in held if plain(each).get("from_history") is not True] or [run]
    inner = any([plain(run).get("parent_run_id") for run in session["runs"]])
    nested = "runs of the members of a team, beside those of the team" if inner else ""
    return [Log(messages, id=word(session["session_id"]) or None, about=session, nested=nested)]


def is_query_and_response(document: Any) -> bool:
    """Whether a document is a row of Azure's evaluations: a conversation so far, and the messages that answer it."""
    value = plain(document)
    answers = value.get("response")
    return "query" in value and "messages" not in value and isinstance(answers, list) and has_messages(answers)


def query_logs(row: dict[str, Any]) -> list[Log]:
    """Return the log of a row: the messages of the query, then those of the response."""
    asked = row["query"]
    before = asked if isinstance(asked, list) else [said("user", asked)]
    return [Log([*before, *row["response"]], about=row)]


def is_sharegpt(document: Any) -> bool:
    """Whether a document is a conversation in ShareGPT's format: `from` and `value`."""
    value = plain(document).get("conversations")
    return isinstance(value, list) and any(["from" in plain(turn) and "value" in plain(turn) for turn in value])


_HUMAN = frozenset({"human", "user"})
_RESULTS = frozenset({"observation", "tool", "function_response"})


def sharegpt_logs(document: dict[str, Any]) -> list[Log]:
    """Return the log of a conversation. Turns have no ids: results answer the calls before them in order."""
    turns = [(word(plain(turn).get("from")), plain(turn).get("value"), turn) for turn in document["conversations"]]
    return [Log(_turn_messages(turns), id=word(document.get("id")) or None, about=document)]


def _turn_messages(turns: list[tuple[str, Any, Any]]) -> list[Any]:
    """Return messages for turns of role, value and original, with made-up ids that pair results with calls in order."""
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


def is_hermes_message(message: Any) -> bool:
    """Whether a message is text of the model with calls in the tags of Hermes, which Qwen's template writes, too."""
    value = plain(message)
    # In backticks a text about tags quotes them.
    is_told = _is_only_text(value) and "`" not in value["content"]
    return is_told and bool(_tagged_calls(value["role"], value["content"]))


def is_hermes_chat(document: Any) -> bool:
    """Whether an object has messages of nothing but text, some of which have calls in the tags of Hermes."""
    return _of_hermes(listed(plain(document).get("messages")))


def _of_hermes(messages: list[Any]) -> bool:
    return all([_is_only_text(plain(each)) for each in messages]) and any(map(is_hermes_message, messages))


def _is_only_text(message: dict[str, Any]) -> bool:
    asks = message.get("tool_calls") or message.get("function_call")
    return isinstance(message.get("role"), str) and isinstance(message.get("content"), str) and not asks


def hermes_chat_logs(document: dict[str, Any]) -> list[Log]:
    """Return the log of an object with messages of Hermes."""
    return [msgspec.structs.replace(hermes_logs(document["messages"])[0], about=document)]


def hermes_logs(messages: list[Any]) -> list[Log]:
    """Return the log of messages of Hermes: calls and results lie in tags, and have no ids."""
    if not _of_hermes(messages):
        return [Log(messages)]
    return [Log(_turn_messages([(_role(each), each["content"], each) for each in messages]))]


def _role(message: dict[str, Any]) -> str:
    """Return the role of a message; that of a tool, where a template wrote results in the name of the user."""
    text = message["content"].strip()
    is_result = text.startswith("<tool_response>") and text.endswith("</tool_response>")
    return "tool" if is_result else word(message["role"])


def _tagged(tag: str, value: Any) -> list[Any]:
    """Return the values between the tags of a text (Hermes), decoded where possible; none if a tag is not closed."""
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
    """Return the content of a result, without the name of its tool."""
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
    """Whether a document is a row of Glaive's function-calling data set: a chat as one text."""
    chat = word(plain(document).get("chat"))
    return "USER:" in chat[:_BEGINNING] and "ASSISTANT:" in chat and "system" in plain(document)


def glaive_logs(row: dict[str, Any]) -> list[Log]:
    """Return the log of a chat. A call that cannot be read stays text, and its tag is then a sign of a call."""
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


def is_inspect_log(document: Any) -> bool:
    """Whether a document is a log of Inspect, or one sample of it."""
    if not isinstance(document, dict):
        return False
    is_log = isinstance(document.get("eval"), dict) and isinstance(document.get("samples"), list)
    return is_log or _is_sample(document)


def _is_sample(document: Any) -> bool:
    return isinstance(document, dict) and {"id", "epoch", "messages", "target"} <= document.keys()


def inspect_logs(document: dict[str, Any]) -> list[Log]:
    """Return a log for each sample."""
    samples = [document] if _is_sample(document) else document["samples"]
    return [_sample_log(sample) if isinstance(sample, dict) else Log([sample]) for sample in samples]


def _sample_log(sample: dict[str, Any]) -> Log:
    messages = [_message(message) for message in listed(sample.get("messages"))]
    nested = _only_in_events(listed(sample.get("events")), messages, 0) if messages else ""
    if not messages:
        messages = _tool_events(listed(sample.get("events")))
    attachments = sample.get("attachments")
    if isinstance(attachments, dict) and attachments:
        messages = _attached(messages, attachments, 0)
    about = {
        "case_id": sample.get("id"),
        "epoch": sample.get("epoch"),
        "scores": {name: plain(score).get("value") for name, score in plain(sample.get("scores")).items()},
    }
    named = sample.get("uuid")
    return Log(messages, id=word(named) or None, about=about, nested=nested)


def _only_in_events(events: list[Any], messages: list[Any], depth: int) -> str:
    """Describe a call that a sample has only in its events: made by a sub-agent, or before a summary; else empty."""
    told = [
        each
        for message in map(plain, messages)
        for key in ("tool_calls", "content")
        for each in listed(message.get(key))
    ]
    shown = {word(plain(each).get("id")) for each in told}
    for event in map(plain, events):
        if event.get("event") == "tool" and word(event.get("id")) not in shown:
            return f"beside the messages there is a call of {word(event.get('function'))[:40]} in the events"
        inner = listed(event.get("events")) if depth < _DEEPEST else []
        if inner and (found := _only_in_events(inner, messages, depth + 1)):
            return found
    return ""


def _message(message: Any) -> Any:
    """Return a message with blocks of tools that the model's server ran as calls and results, and errors as objects."""
    if not isinstance(message, dict):
        return message
    if isinstance(message.get("tool_error"), str):  # the name of `error` until 2024
        return {**message, "error": {"message": message["tool_error"]}}
    blocks = message.get("content")
    if not isinstance(blocks, list) or not any([plain(block).get("type") == "tool_use" for block in blocks]):
        return message
    return {**message, "content": [part for block in blocks for part in _server_call(block)]}


def _server_call(block: Any) -> list[Any]:
    if plain(block).get("type") != "tool_use" or "arguments" not in block:
        return [block]
    error = word(block.get("error"))
    made = called(block.get("id"), block.get("name"), block["arguments"])
    return [made, returned(block.get("id"), None if error else block.get("result"), bool(error), error)]


def _tool_events(events: list[Any]) -> list[Any]:
    """Return the calls in the events of a sample without messages, which an error or a limit ended early."""
    found: list[Any] = []
    for event in events:
        if isinstance(event, dict) and event.get("event") == "tool":
            error = plain(event.get("error")).get("message")
            found.append(called(event.get("id"), event.get("function"), event.get("arguments")))
            output = event.get("result") if error is None else None
            found.append(returned(event.get("id"), output, error is not None, error))
    return found


def _attached(value: Any, attachments: Mapping[str, Any], depth: int) -> Any:
    """Return a value with references to attachments, in which Inspect stores long texts, replaced by those texts."""
    if isinstance(value, str):
        held = attachments.get(value[len(_ATTACHED) :]) if value.startswith(_ATTACHED) else None
        return held if isinstance(held, str) else value
    if depth >= _DEEPEST:
        return value
    if isinstance(value, dict):
        return {key: _attached(held, attachments, depth + 1) for key, held in value.items()}
    return [_attached(held, attachments, depth + 1) for held in value] if isinstance(value, list) else value


def is_tau2_results(document: Any) -> bool:
    """Whether a document is a file of results of τ²-bench."""
    value = document.get("simulations") if isinstance(document, dict) else None
    return isinstance(value, list) and any([isinstance(plain(each).get("messages"), list) for each in value])


def tau2_logs(document: dict[str, Any]) -> list[Log]:
    """Return a log for each simulation."""
    found = []
    for simulation in map(plain, document["simulations"]):
        about = {**simulation, "reward": plain(simulation.get("reward_info")).get("reward")}
        messages = [each for message in listed(simulation.get("messages")) for each in _single(message)]
        found.append(Log(messages, id=word(simulation.get("id")) or None, about=about))
    return found


def _single(message: Any) -> list[Any]:
    """Split a message with the results of several calls into one message a result."""
    several = message.get("tool_messages") if isinstance(message, dict) else None
    return several if isinstance(several, list) else [message]


def is_toolbench_answer(document: Any) -> bool:
    """Whether a document is an answer of ToolBench."""
    value = document.get("answer_generation") if isinstance(document, dict) else None
    return isinstance(value, dict) and ("train_messages" in value or "chain" in value)


def toolbench_logs(document: dict[str, Any]) -> list[Log]:
    """Return the log of an answer: the messages of the path that led to it.

    Each list in `train_messages` has one step more than the list before. Branches that the search abandoned are only
    in `tree`, which is not read.
    """
    paths = [path for path in listed(document["answer_generation"].get("train_messages")) if isinstance(path, list)]
    unread = "" if paths else "the path to the answer, which has no messages: the answer was not accepted"
    about = {**document, "success": document.get("win")}
    return [Log(max(paths, key=len, default=[]), about=about, nested=unread)]


def is_atif(document: Any) -> bool:
    """Whether a document is a trajectory of ATIF."""
    return (
        isinstance(document, dict)
        and word(document.get("schema_version")).startswith("ATIF")
        and isinstance(document.get("steps"), list)
    )


def atif_logs(document: dict[str, Any]) -> list[Log]:
    """Return the log of a trajectory."""
    inner = [each for each in listed(document.get("subagent_trajectories")) if is_atif(each)]
    log = Log(
        [message for step in document["steps"] for message in _of_step(step)],
        id=word(document.get("trajectory_id")) or word(document.get("session_id")) or None,
        about=document,
        nested="beside the steps there are conversations in `subagent_trajectories`" if inner else "",
    )
    return [log]


def _of_step(step: Any) -> list[Any]:
    role = _ROLES.get(word(step.get("source"))) if isinstance(step, dict) else None
    if role is None:
        return [step]
    if step.get("is_copied_context") is True:
        return []  # it belongs to the trajectory that this one continues
    message: dict[str, Any] = {"role": role, "content": step.get("message")}
    if step.get("tool_calls"):
        message["tool_calls"] = step["tool_calls"]
    results = listed(plain(step.get("observation")).get("results"))
    calls = listed(step.get("tool_calls"))
    if len(calls) == len(results) == 1 and _is_told(results[0]):
        # The only result of the only call need not name it (Harbor, RFC 0001, "ObservationResult").
        results = [{**results[0], "source_call_id": plain(calls[0]).get("tool_call_id")}]
    # A result without a call is a notice of the environment to the agent.
    return [message, *[result for result in results if not _is_told(result)]]


def _is_told(result: Any) -> bool:
    return isinstance(result, dict) and result.get("source_call_id") is None


_EVERYBODY = ("all", "")
"""Recipients of a message of ChatGPT's model to the user; any other one is a tool."""
_THOUGHTS = frozenset({"thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"})
"""Types of content that is not said to anybody: thoughts of the model, and what it is told of the user."""
_SENDERS = {"human": "user", "assistant": "assistant"}


def is_chatgpt(document: Any) -> bool:
    """Whether a document is a conversation of ChatGPT: a tree of messages under `mapping`."""
    nodes = plain(document).get("mapping")
    return isinstance(nodes, dict) and any([{"message", "parent"} <= plain(node).keys() for node in nodes.values()])


def chatgpt_logs(document: dict[str, Any]) -> list[Log]:
    """Return the log of a conversation: the path to its current message.

    Answers that the user had written anew, and questions before they were edited, are on other branches of the tree.
    """
    path, lost = _path(document["mapping"], word(document.get("current_node")))
    messages: list[Any] = []
    waiting: list[tuple[str, str]] = []
    for number, message in enumerate(reversed(path)):
        value = plain(message)
        if word(plain(value.get("author")).get("role")) == "tool":
            _add_result(value, messages, waiting)
        elif message:
            messages += _of_chatgpt(message, f"call-{number}", waiting)
    named = word(document.get("conversation_id")) or word(document.get("id"))
    return [Log(messages, id=named or None, about=document, nested=lost)]


def _path(nodes: dict[str, Any], last: str) -> tuple[list[Any], str]:
    """Return the messages from a node up to the root, newest first, and a description of what is missing."""
    leaves = [name for name, node in nodes.items() if not listed(plain(node).get("children"))]
    if last not in nodes and len(leaves) != 1:
        return [], "messages on several branches, of which none is the current one"
    path: list[Any] = []
    key: Any = last if last in nodes else leaves[0]
    while key in nodes and len(path) < len(nodes):
        value = plain(nodes[key])
        path.append(value.get("message"))
        key = value.get("parent")
        if not isinstance(key, str):
            break
    roots = [node for node in nodes.values() if isinstance(node, dict) and node.get("parent") is None]
    is_whole = key is None and roots == [value] and all(path[:-1])
    return path, "" if is_whole else "messages that the current one came after"


def _of_chatgpt(message: Any, call_id: str, waiting: list[tuple[str, str]]) -> list[Any]:
    """Return the messages in a node. `waiting` has the tools and ids of calls without a result; results have no ids."""
    held, content = plain(message), plain(plain(message).get("content"))
    role, recipient = word(plain(held.get("author")).get("role")), word(held.get("recipient"))
    if role == "system" or word(content.get("content_type")) in _THOUGHTS:
        return []
    if role == "assistant" and recipient not in _EVERYBODY:
        written = _written(content)
        args = decoded(written)
        waiting.append((recipient, call_id))
        return [called(call_id, recipient, args if isinstance(args, dict) else {"input": written})]
    return [said(role, _written(content))] if role in ("user", "assistant") else [{"tool_calls": [message]}]


def _add_result(message: dict[str, Any], messages: list[Any], waiting: list[tuple[str, str]]) -> None:
    """Add the result in a message of a tool: of the last call of that tool, or more of the result right before it."""
    content, name = plain(message.get("content")), word(plain(message.get("author")).get("name"))
    tool, text = name.partition(".")[0], _written(content)
    of_tool = [each for each in waiting if tool in ("", each[0].partition(".")[0])]
    before = plain(messages[-1]) if messages else {}
    if of_tool:
        waiting.remove(of_tool[-1])
        failed = content.get("content_type") == "system_error"
        messages.append({**returned(of_tool[-1][1], text, failed), "name": tool})
    elif before.get("type") == "tool_result" and before.get("name") == tool:
        messages[-1] = {**before, "content": [*(listed(before["content"]) or [before["content"]]), text]}
    else:
        messages.append({"role": "tool", "name": name, "content": text})


def _written(content: dict[str, Any]) -> str:
    """Return the text of a message: of code and results under `text`, else in its parts."""
    parts = [each if isinstance(each, str) else word(plain(each).get("text")) for each in listed(content.get("parts"))]
    return word(content.get("text")) or word(content.get("result")) or "".join(parts)


def is_claude_chat(document: Any) -> bool:
    """Whether a document is a conversation of Claude.ai."""
    messages = plain(document).get("chat_messages")
    return isinstance(messages, list) and any(["sender" in plain(message) for message in messages])


def claude_chat_logs(document: dict[str, Any]) -> list[Log]:
    """Return the log of a conversation. Older exports have calls and results without ids, one after the other."""
    messages: list[Any] = []
    # The first exports had texts alone, and had no calls.
    has_blocks = any([listed(plain(message).get("content")) for message in document["chat_messages"]])
    for number, message in enumerate(document["chat_messages"]):
        value = plain(message)
        role, blocks = _SENDERS.get(word(value.get("sender"))), value.get("content")
        if role and isinstance(blocks, list) and blocks:
            messages.append({"role": role, "content": _with_ids(blocks, f"{number}")})
        elif role and value.get("text") and not (has_blocks and role == "assistant"):
            messages.append(said(role, value["text"]))
        else:
            messages.append({"tool_calls": [message or "an empty message"]})
    return [Log(messages, id=word(document.get("uuid")) or None, about=document)]


def _with_ids(blocks: list[Any], prefix: str) -> list[Any]:
    """Return blocks in which each call has an id, and each result that of the last call of its tool."""
    found: list[Any] = []
    waiting: list[tuple[str, str]] = []
    for place, block in enumerate(blocks):
        value = plain(block)
        kind, name = value.get("type"), word(value.get("name"))
        if kind == "tool_use" and not value.get("id"):
            waiting.append((name, f"{prefix}.{place}"))
            found.append({**value, "id": f"{prefix}.{place}"})
        elif kind == "tool_result" and not value.get("tool_use_id") and (same := [e for e in waiting if e[0] == name]):
            waiting.remove(same[-1])
            found.append({**value, "tool_use_id": same[-1][1]})
        else:
            found.append(block)
    return found
