"""Nothing is connected to but what the user named."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from tests.running.agents.workshop import Workshop

WATCHED = """
import asyncio, inspect, json, sys
from pathlib import Path
from rightcall.running.agents import *

seen = []
def watch(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.bind", "socket.sendto"):
        seen.append([event, *map(str, args[1:] if event != "socket.getaddrinfo" else args[:2])])

sys.addaudithook(watch)
agent = load_agent(sys.argv[1], Path(sys.argv[2]), AgentOptions())
answer = agent.answer(AgentRequest(input="x", case_id="c"))
try:
    asyncio.run(answer) if inspect.iscoroutine(answer) else None
except Exception as problem:
    print(problem)
agent.close()
print(json.dumps(seen))
"""


def network_use(workshop: Workshop, named: str) -> tuple[str, list[list[str]]]:
    """What a process prints, and what it does on the network, while it runs an agent."""
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, named, str(workshop.project)], capture_output=True, text=True, check=True
    )
    *told, used = done.stdout.splitlines()
    return "\n".join(told), json.loads(used)


@pytest.mark.parametrize("text", ["def main(x): return x", "async def main(x): return x"])
def test_a_python_agent_uses_no_network(workshop: Workshop, text: str) -> None:
    workshop.write("agent.py", text)

    assert network_use(workshop, "agent.py") == ("", [])


def test_a_command_opens_one_port_of_the_loopback_interface(workshop: Workshop) -> None:
    _, used = network_use(workshop, "cmd:cat")

    assert [use for use in used if use[0] == "socket.bind"] == [["socket.bind", "('127.0.0.1', 0)"]]
    assert [use for use in used if use[0] in ("socket.connect", "socket.sendto")] == []
    assert {use[1] for use in used if use[0] == "socket.getaddrinfo"} <= {"127.0.0.1"}


def test_an_endpoint_is_all_that_is_connected_to(workshop: Workshop) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(307)
            self.send_header("location", "http://127.0.0.1:9/")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.handle_request).start()
        port = server.server_address[1]
        told, used = network_use(workshop, f"http://127.0.0.1:{port}/")

    assert "redirects to 'http://127.0.0.1:9/', which is not followed" in told
    assert [use for use in used if use[0] == "socket.connect"] == [["socket.connect", f"('127.0.0.1', {port})"]]
