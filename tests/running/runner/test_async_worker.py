"""Tasks that frameworks leave running on purpose are no calls that were missed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from rightcall.running.runner._async_worker import _is_housekeeping


def made_in(path: str, text: str) -> Any:
    """The value of `made` in a file at this path."""
    held: dict[str, Any] = {}
    exec(compile(text, path, "exec"), held)
    return held["made"]


CLIENT = "class AsyncClient:\n    async def aclose(self): pass\nmade = AsyncClient.aclose(None)"
CONNECT = "async def _stdio_transport_connect_task(): pass\nmade = _stdio_transport_connect_task()"
OWN = "async def work(): pass\nmade = work()"


@pytest.mark.parametrize(
    ("path", "text", "name", "expected"),
    [
        ("/lib/google/genai/client.py", CLIENT, "Task-1", True),
        ("/lib/fastmcp/client/transports/stdio.py", CONNECT, "Task-1", True),
        ("/lib/anyio/_core/_tasks.py", OWN, "mcp.client.stdio.stdio_client.<locals>.stdin_writer", True),
        ("/home/me/client.py", CLIENT, "Task-1", False),
        ("/lib/google/genai/client.py", OWN, "Task-1", False),
        ("/home/me/agent.py", OWN, "my mcp.client.task", False),
    ],
    ids=["Gemini", "FastMCP", "MCP", "another client", "another task of Gemini", "a task of the agent"],
)
def test_a_task_that_a_framework_leaves_running_is_known(path: str, text: str, name: str, expected: bool) -> None:
    async def ask() -> bool:
        task = asyncio.get_running_loop().create_task(made_in(path, text), name=name)
        found = _is_housekeeping(task)
        await task
        return found

    assert asyncio.run(ask()) is expected
