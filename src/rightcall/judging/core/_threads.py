"""Plain functions that are waited for: each runs in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio

ValueT = TypeVar("ValueT")


async def in_thread(work: Callable[[], ValueT]) -> ValueT:
    """What a function gives back, or raises, that may take its time.

    One that never returns keeps its thread, which nobody can kill; it does not keep the process from ending.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    future: asyncio.Future[ValueT] = loop.create_future()
    threading.Thread(target=_run, args=(work, loop, future), name="rightcall-evaluator", daemon=True).start()
    return await future


def _run(work: Callable[[], Any], loop: asyncio.AbstractEventLoop, future: asyncio.Future[Any]) -> None:
    try:
        value = work()
    except StopIteration as problem:  # a future cannot hold it
        _hand_over(loop, future.set_exception, RuntimeError(f"StopIteration: {problem}"), future)
    except BaseException as problem:  # noqa: BLE001 - it is raised where it is waited for
        _hand_over(loop, future.set_exception, problem, future)
    else:
        _hand_over(loop, future.set_result, value, future)


def _hand_over(
    loop: asyncio.AbstractEventLoop, settle: Callable[[Any], None], value: Any, future: asyncio.Future[Any]
) -> None:
    def settled() -> None:
        if not future.done():
            settle(value)

    try:
        loop.call_soon_threadsafe(settled)
    except RuntimeError:
        return  # the loop is closed: nobody waits any more
