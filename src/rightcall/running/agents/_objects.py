"""Agents that are objects with `ainvoke`, `invoke` or `run`, such as compiled LangGraph graphs."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from typing import Any

from ._agent import Answer, Request
from ._functions import is_asynchronous, settled
from ._outputs import plain
from ._results import answer_in

METHODS = ("ainvoke", "invoke", "run")


class ObjectAgent:
    """An object whose `invoke` or `run` blocks."""

    is_async = False

    def __init__(self, target: Any, method: str, close: Callable[[], None]) -> None:
        self._target, self._method, self._close = target, method, close

    def answer(self, request: Request) -> Answer:
        """What the object's method gives for the input."""
        positional, named = question(self._target, request)
        return answered(getattr(self._target, self._method)(*positional, **named))

    def close(self) -> None:
        """Take the agent's folder from the search path."""
        self._close()


class AsyncObjectAgent(ObjectAgent):
    """An object whose method has to be awaited."""

    is_async = True

    async def answer(self, request: Request) -> Answer:  # type: ignore[override]
        """What the object's method gives for the input."""
        positional, named = question(self._target, request)
        return answered(await settled(getattr(self._target, self._method)(*positional, **named)))


def object_agent(target: Any, close: Callable[[], None]) -> ObjectAgent | None:
    """The agent that an object is, by the first of `ainvoke`, `invoke` and `run` that it has; `None` without any."""
    for method in METHODS:
        if callable(getattr(target, method, None)):
            asynchronous = method == "ainvoke" or is_asynchronous(getattr(target, method))
            return (AsyncObjectAgent if asynchronous else ObjectAgent)(target, method, close)
    return None


def question(target: Any, request: Request) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """What an object's method is called with.

    A graph (it has `channels`) with a state of `messages` takes a text as the user's message, and every graph is told
    which conversation this is, so that one with a checkpointer remembers earlier turns. Anything else gets the
    input as it is.
    """
    channels = getattr(target, "channels", None)
    if not isinstance(channels, Mapping):
        return (request.input,), {}
    given = request.input
    if isinstance(given, str) and "messages" in channels:
        given = {"messages": [("user", given)]}
    return (given, {"configurable": {"thread_id": request.run or uuid.uuid4().hex}}), {}


def answered(result: Any) -> Answer:
    """The answer in what an object gave back.

    A result with a list of `messages` stands for the text of the last one. A run result of a framework is known as
    such. Any other result that is no plain value and has an `output` stands for that. Anything else is the output.
    """
    messages = result.get("messages") if isinstance(result, Mapping) else getattr(result, "messages", None)
    if isinstance(messages, (list, tuple)) and messages:
        return Answer(output=text_of(messages[-1]), messages=plain(list(messages)))
    answer = answer_in(result)
    if answer.messages is None and not isinstance(result, (Mapping, str, list, tuple)) and hasattr(result, "output"):
        return Answer(output=plain(result.output))
    return answer


def text_of(message: Any) -> Any:
    """The text of a message in the usual forms; of one that has no text, what it holds instead."""
    if isinstance(message, (list, tuple)) and len(message) == 2:
        return message[1]
    content = message.get("content") if isinstance(message, Mapping) else getattr(message, "content", message)
    if isinstance(content, (list, tuple)):
        texts = [part if isinstance(part, str) else _text_of_part(part) for part in content]
        return "".join(texts) if any(texts) else plain(content)
    return plain(content)


def _text_of_part(part: Any) -> str:
    text = part.get("text") if isinstance(part, Mapping) else getattr(part, "text", None)
    return text if isinstance(text, str) else ""
