"""The result files of benchmarks: Inspect's logs, the simulations of τ²-bench, the answers of ToolBench."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ._log import Log, called, listed, plain, returned, word

_ATTACHED = "attachment://"
_DEEPEST = 20


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
    """Describe a call in the events of a sample that no message shows: of a sub-agent, or from before a summary."""
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
    """Return a message with the tools that the model's server ran in it as calls, and with the error of a tool."""
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
    """Return the calls in the events of a sample that has no messages: it was cut off by an error or a limit."""
    found: list[Any] = []
    for event in events:
        if isinstance(event, dict) and event.get("event") == "tool":
            error = plain(event.get("error")).get("message")
            found.append(called(event.get("id"), event.get("function"), event.get("arguments")))
            output = event.get("result") if error is None else None
            found.append(returned(event.get("id"), output, error is not None, error))
    return found


def _attached(value: Any, attachments: Mapping[str, Any], depth: int) -> Any:
    """Return a value with the texts that the log keeps apart from its messages because they are long."""
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
    held = document.get("simulations") if isinstance(document, dict) else None
    return isinstance(held, list) and any([isinstance(plain(each).get("messages"), list) for each in held])


def tau2_logs(document: dict[str, Any]) -> list[Log]:
    """Return a log for each simulation."""
    found = []
    for simulation in map(plain, document["simulations"]):
        about = {**simulation, "reward": plain(simulation.get("reward_info")).get("reward")}
        messages = [each for message in listed(simulation.get("messages")) for each in _single(message)]
        found.append(Log(messages, id=word(simulation.get("id")) or None, about=about))
    return found


def _single(message: Any) -> list[Any]:
    """Return the messages inside one with the results of several calls."""
    several = message.get("tool_messages") if isinstance(message, dict) else None
    return several if isinstance(several, list) else [message]


def is_toolbench_answer(document: Any) -> bool:
    """Whether a document is an answer of ToolBench."""
    held = document.get("answer_generation") if isinstance(document, dict) else None
    return isinstance(held, dict) and ("train_messages" in held or "chain" in held)


def toolbench_logs(document: dict[str, Any]) -> list[Log]:
    """Return the log of an answer: the messages of the path that led to it.

    Each list of `train_messages` goes one step further than the one before. Branches that the search gave up are in
    `tree` alone.
    """
    paths = [path for path in listed(document["answer_generation"].get("train_messages")) if isinstance(path, list)]
    unread = "" if paths else "the path to the answer, which has no messages: the answer was not accepted"
    about = {**document, "success": document.get("win")}
    return [Log(max(paths, key=len, default=[]), about=about, nested=unread)]
