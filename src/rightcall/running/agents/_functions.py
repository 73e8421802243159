"""Agents that are Python functions: sync, async, generators, or objects that can be called."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, Callable
from typing import Any

from ._agent import Answer, Request
from ._arguments import Arguments
from ._results import answer_in


class FunctionAgent:
    """A function that blocks; of a generator the last value it yields is the output."""

    is_async = False

    def __init__(self, function: Callable[..., Any], name: str, close: Callable[[], None]) -> None:
        self._function = function
        self._arguments = Arguments(function, name)
        self._close = close

    def answer(self, request: Request) -> Answer:
        """The function's answer."""
        positional, named = self._arguments.of(request)
        result = self._function(*positional, **named)
        if inspect.isgenerator(result):
            return answer_in(_last_of(result))
        if inspect.isawaitable(result) or isinstance(result, AsyncIterable):
            return answer_in(_waited_for(result))
        return answer_in(result)

    def close(self) -> None:
        """Take the agent's folder from the search path."""
        self._close()


class AsyncFunctionAgent:
    """A coroutine function or an asynchronous generator."""

    is_async = True

    def __init__(self, function: Callable[..., Any], name: str, close: Callable[[], None]) -> None:
        self._function = function
        self._arguments = Arguments(function, name)
        self._close = close

    async def answer(self, request: Request) -> Answer:
        """The function's answer."""
        positional, named = self._arguments.of(request)
        return answer_in(await settled(self._function(*positional, **named)))

    def close(self) -> None:
        """Take the agent's folder from the search path."""
        self._close()


def function_agent(
    function: Callable[..., Any], name: str, close: Callable[[], None]
) -> FunctionAgent | AsyncFunctionAgent:
    """The agent that a callable is, asynchronous if the callable is.

    Raises:
        AgentError: its parameters cannot be known.
    """
    kind = AsyncFunctionAgent if is_asynchronous(function) else FunctionAgent
    return kind(function, name, close)


def is_asynchronous(function: Callable[..., Any]) -> bool:
    """Whether calling this gives something to be awaited, so far as can be told without calling it."""
    called = function if inspect.isroutine(function) else getattr(type(function), "__call__", function)  # noqa: B004
    inner = getattr(function, "func", function)  # a functools.partial
    candidates = (function, called, inner)
    return any([inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in candidates])


async def settled(result: Any) -> Any:
    """What an awaitable gives, or the last value of an asynchronous generator; anything else is itself."""
    if inspect.isawaitable(result):
        result = await result
    if isinstance(result, AsyncIterable):
        last = None
        async for value in result:
            last = value
        return last
    return _last_of(result) if inspect.isgenerator(result) else result


def _last_of(generator: Any) -> Any:
    last = None
    for value in generator:
        last = value
    return last


def _waited_for(result: Any) -> Any:
    # A plain function that hands back a coroutine, such as a lambda around one: it runs in this thread.
    import asyncio

    return asyncio.run(settled(result))
