"""Which attributes of a span hold messages, and on which side of the model."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any, Literal

import msgspec

from rightcall.reading.conventions import shape_of
from rightcall.reading.spans import RawAttributes, by_number

Side = Literal["input", "output"]

_WHOLE: dict[str, Side] = {
    "gen_ai.input.messages": "input",
    "gen_ai.output.messages": "output",
    "pydantic_ai.all_messages": "input",
    "all_messages_events": "input",
    "events": "input",
    "ai.prompt.messages": "input",
    "ai.response.toolCalls": "output",
    "ai.result.toolCalls": "output",
    "gcp.vertex.agent.llm_request": "input",
    "gcp.vertex.agent.llm_response": "output",
    "haystack.agent.step.llm.input": "input",
    "haystack.agent.step.llm.output": "output",
    "llm.input_messages": "input",
    "llm.output_messages": "output",
}
"""Attributes that hold messages on spans of any kind."""

_OF_MODELS: dict[str, Side] = {
    "mlflow.spanInputs": "input",
    "mlflow.spanOutputs": "output",
    "langfuse.observation.input": "input",
    "langfuse.observation.output": "output",
    "langfuse.observation.tool_calls": "output",
    "gen_ai.prompt": "input",
    "gen_ai.completion": "output",
    "openai_agents.input": "input",
    "openai_agents.output": "output",
}
"""Attributes that hold messages on spans of a model, and other things elsewhere."""

# OpenInference, spec/semantic_conventions.md: lists are flattened, because attributes cannot hold objects.
_NUMBERED: dict[str, Side] = {
    "llm.input_messages.": "input",
    "llm.output_messages.": "output",
    "gen_ai.prompt.": "input",
    "gen_ai.completion.": "output",
}
"""Prefixes of attributes that hold messages leaf by leaf: `llm.input_messages.0.message.role`."""


class MessageAttributes(msgspec.Struct, frozen=True):
    """Attributes that hold messages: one that holds them all, or many that hold a leaf each."""

    side: Side
    keys: tuple[str, ...]
    only_models: bool = False
    """Whether they hold messages on spans of a model only."""
    beginning: str = ""
    """The prefix of attributes that hold a leaf each; empty if one attribute holds all messages."""
    messages: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    """For each message the paths of its leaves, and the attributes that hold them."""


def message_attributes(attributes: Any) -> tuple[MessageAttributes, ...]:
    """Return the attributes of a span that hold messages; found once per shape."""
    shape = attributes.shape if attributes.__class__ is RawAttributes else shape_of(tuple(attributes))
    if shape.message_attributes is None:
        shape.message_attributes = _find_attributes(attributes)
    found: tuple[MessageAttributes, ...] = shape.message_attributes
    return found


def _find_attributes(keys: Iterable[str]) -> tuple[MessageAttributes, ...]:
    """Find the attributes that hold messages among some names."""
    whole: list[MessageAttributes] = []
    numbered: dict[str, list[str]] = {}
    for key in keys:
        if key in _WHOLE:
            whole.append(MessageAttributes(_WHOLE[key], (key,)))
        elif key in _OF_MODELS:
            whole.append(MessageAttributes(_OF_MODELS[key], (key,), only_models=True))
        else:
            for beginning in _NUMBERED:
                if key.startswith(beginning):
                    numbered.setdefault(beginning, []).append(key)
    return (*whole, *(_numbered_attributes(beginning, tuple(keys)) for beginning, keys in numbered.items()))


def _numbered_attributes(beginning: str, keys: tuple[str, ...]) -> MessageAttributes:
    """Group attributes that hold a leaf each by message, if every key has the number of its message."""
    messages: dict[str, list[tuple[str, str]]] = {}
    for key in keys:
        number, _, name = key[len(beginning) :].partition(".")
        messages.setdefault(number, []).append((name, key))
    if any([number.isdecimal() for number in messages]):
        # OpenLLMetry has other attributes under the same prefix: `gen_ai.prompt.prompt_filter_results`.
        messages = {number: leaves for number, leaves in messages.items() if number.isdecimal()}
        keys = tuple([key for leaves in messages.values() for _, key in leaves])
    regular = all([number.isdecimal() for number in messages]) and all([name for name, _ in chain(*messages.values())])
    return MessageAttributes(
        side=_NUMBERED[beginning],
        keys=keys,
        beginning=beginning,
        messages=tuple([_names_and_keys(messages[number]) for number in sorted(messages, key=by_number)])
        if regular
        else (),
    )


def _names_and_keys(leaves: list[tuple[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple([name for name, _ in leaves]), tuple([key for _, key in leaves])
