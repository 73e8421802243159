"""The same assistant, led by a model behind an endpoint that speaks OpenAI's chat completions."""

from __future__ import annotations

import inspect
import json
import os
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any

from .shop import TOOLS

INSTRUCTION = (
    "You are the assistant of a shop. For a question about a product: search for it, get its details, then check the "
    "inventory. Before you put anything into the cart, check the inventory. Answer in one or two sentences."
)
_ROUNDS = 10


def is_configured() -> bool:
    """Whether the environment names an endpoint and a model."""
    return bool(os.environ.get("SHOPPING_AGENT_BASE_URL") and os.environ.get("SHOPPING_AGENT_MODEL"))


def converse(messages: list[dict[str, Any]], tools: Mapping[str, Callable[..., Any]]) -> str:
    """What the model says in the end; whatever is said on the way is added to the messages."""
    for _ in range(_ROUNDS):
        message = _complete(messages)
        messages.append(message)
        calls = message.get("tool_calls") or []
        if not calls:
            return message.get("content") or ""
        for call in calls:
            content = json.dumps(_called(call["function"], tools))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    raise RuntimeError(f"the model still calls tools after {_ROUNDS} rounds")


def _complete(messages: list[dict[str, Any]]) -> dict[str, Any]:
    url = os.environ["SHOPPING_AGENT_BASE_URL"].rstrip("/") + "/chat/completions"
    if not url.startswith(("http://", "https://")):
        raise ValueError(f"SHOPPING_AGENT_BASE_URL is no address of an endpoint: {url}")
    body = {
        "model": os.environ["SHOPPING_AGENT_MODEL"],
        "messages": [{"role": "system", "content": INSTRUCTION}, *messages],
        "tools": [_described(name) for name in TOOLS],
        "temperature": 0,
    }
    key = os.environ.get("SHOPPING_AGENT_API_KEY", "")
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - checked above
    with urllib.request.urlopen(request, timeout=60) as response:  # noqa: S310 - checked above
        made: dict[str, Any] = json.load(response)["choices"][0]["message"]
    return made


def _called(function: dict[str, Any], tools: Mapping[str, Callable[..., Any]]) -> Any:
    made = tools.get(function["name"])
    if made is None:
        return {"error": f"there is no tool {function['name']}"}
    try:
        return made(**json.loads(function["arguments"] or "{}"))
    except (TypeError, ValueError) as problem:
        return {"error": str(problem)}


def _described(name: str) -> dict[str, Any]:
    """A tool as the endpoint wants it described: its name, its docstring, its parameters."""
    parameters = inspect.signature(TOOLS[name]).parameters.values()
    properties = {one.name: {"type": "integer" if one.annotation == "int" else "string"} for one in parameters}
    required = [one.name for one in parameters if one.default is one.empty]
    schema = {"type": "object", "properties": properties, "required": required}
    described = {"name": name, "description": inspect.getdoc(TOOLS[name]), "parameters": schema}
    return {"type": "function", "function": described}
