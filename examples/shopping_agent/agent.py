"""The assistant: `answer` is a plain function, `root_agent` an agent of ADK if that is installed.

Both do what `planner.py` says. With `SHOPPING_AGENT_BASE_URL` and `SHOPPING_AGENT_MODEL` set, `answer` asks a model
instead.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

from rightcall import tool

from . import endpoint
from .planner import plan
from .shop import TOOLS

Session = dict[str, Any]


def answer(question: Any, session: Session | None = None) -> str:
    """Answer a customer; what was said before is in the session."""
    messages: list[dict[str, Any]] = ({} if session is None else session).setdefault("messages", [])
    messages.append({"role": "user", "content": _text(question)})
    if endpoint.is_configured():
        return endpoint.converse(messages, _TOOLS)
    decided = plan([message["content"] for message in messages if message["role"] == "user"])
    for calls in decided.rounds:
        for name, arguments in calls:
            _TOOLS[name](**arguments)
    messages.append({"role": "assistant", "content": decided.reply})
    return decided.reply


def _text(question: Any) -> str:
    """The text of a question: itself, that of ADK's content, or that under the key `query`."""
    if isinstance(question, dict) and "parts" in question:
        return " ".join(part.get("text", "") for part in question["parts"])
    return str(question.get("query", "")) if isinstance(question, dict) else str(question)


def _recorded(name: str) -> Callable[..., Any]:
    """A tool whose calls are recorded as they were asked for, without its defaults; so ADK records them, too."""
    return tool(name)(lambda **arguments: TOOLS[name](**arguments))


_TOOLS = {name: _recorded(name) for name in TOOLS}


def _has_adk() -> bool:
    try:
        return importlib.util.find_spec("google.adk") is not None
    except ModuleNotFoundError:
        return False


if _has_adk():
    from .scripted import root_agent as root_agent
