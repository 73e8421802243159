"""Several choices in one answer of a model: which of them the agent used, the answer does not say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

from rightcall.errors import InputError
from rightcall.values.decoding import decode_json

from ._asides import says_why
from ._message_exchange import Exchange
from ._parts import unwrapped

_COUNT = "gen_ai.request.choice.count"
_PARAMETERS = "llm.invocation_parameters"
"""OpenInference: the parameters of the request, as JSON."""
_COUNTS = ("n", "candidate_count", "candidateCount")


def are_choices(answer: Sequence[Exchange], attributes: Mapping[str, Any]) -> bool:
    """Whether the messages of an answer are choices of which one was used, and at least one of them asks for a call.

    A message is a choice if it has a number, or a reason of its own for its end (OpenTelemetry GenAI, "Output
    messages": each is one choice). Without either, the span says how many choices were asked for.
    """
    if len(answer) < 2 or not any([exchange.calls for exchange in answer]):
        return False
    if len({_number(exchange.message) for exchange in answer}) > 1:
        return True
    ended = [exchange for exchange in answer if says_why(exchange.message) or says_why(unwrapped(exchange.message))]
    return len(ended) > 1 or _count_asked_for(attributes) > 1


def without_calls(answer: Sequence[Exchange]) -> list[Exchange]:
    """Return the messages of an answer as if they asked for no call; the originals belong to a cache."""
    found = [copy(exchange) for exchange in answer]
    for exchange in found:
        exchange.calls = []
    return found


def _number(message: Mapping[str, Any]) -> Any:
    """Return the number of a choice, in whatever form; 0 if it has none."""
    held = message.get("index")
    if isinstance(held, str) and held.strip("0") == "":
        return 0
    return held if isinstance(held, (str, int, float)) else 0


def _count_asked_for(attributes: Mapping[str, Any]) -> int:
    counts = [attributes.get(_COUNT)]
    text = attributes.get(_PARAMETERS)
    try:
        parameters = decode_json(text) if isinstance(text, str) else None
    except InputError:
        parameters = None
    counts += [parameters.get(key) for key in _COUNTS] if isinstance(parameters, dict) else []
    return max([count for count in counts if isinstance(count, int)], default=1)
