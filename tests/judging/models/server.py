"""An endpoint on this machine that speaks chat completions, and misbehaves as it is told."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

_BLOCK = re.compile(r"^\[data ([0-9a-f]{32}) (\w+)\]\n(.*?)\n\[end \1\]$", re.MULTILINE | re.DOTALL)


class Asked(NamedTuple):
    """A request as the endpoint received it."""

    body: dict[str, Any]
    headers: dict[str, str]
    at: float

    @property
    def system(self) -> str:
        return str(self.body["messages"][0]["content"])

    @property
    def user(self) -> str:
        return str(self.body["messages"][1]["content"])

    @property
    def blocks(self) -> dict[str, str]:
        """The data blocks, as an honest judge finds them."""
        return {name: text for _, name, text in _BLOCK.findall(self.user)}

    @property
    def outside(self) -> str:
        """Every byte that is not inside of a block, without what is new in each request."""
        boundary = re.findall(r"\[data ([0-9a-f]{32}) ", self.system)[0]
        return (self.system + "\n" + _BLOCK.sub(r"[data \1 \2][end \1]", self.user)).replace(boundary, "BOUNDARY")


class Response(NamedTuple):
    """What the endpoint does with a request."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = {}
    pause: float = 0.0
    """Seconds before each byte of the body."""
    cut: bool = False
    """Whether the connection ends in the middle of the body."""


Script = Callable[[Asked], Response]


def completion(content: Any, **other: Any) -> Response:
    """An ordinary answer with this content, which is written as JSON unless it is a text."""
    text = content if isinstance(content, str) or content is None else json.dumps(content)
    message = {"role": "assistant", "content": text, "refusal": other.pop("refusal", None)}
    choice = {"index": 0, "message": message, "finish_reason": other.pop("finish_reason", "stop")}
    value = {"id": "x", "object": "chat.completion", "created": 0, "model": "judge-1", "choices": [choice]}
    value["usage"] = {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}
    return Response(body=json.dumps({**value, **other}).encode())


def judged(score: float = 100, reason: str = "as it should be", call: int | None = None) -> Response:
    """A judgement without rubrics, of a run with calls."""
    return completion({"reason": reason, "call": call, "score": score})


class Endpoint:
    """The endpoint while it listens: its address, and what it was asked."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.most_at_once = 0
        self._at_once = 0
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.endpoint = self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def serve(self) -> None:
        self._server.serve_forever(poll_interval=0.02)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def respond(self, asked: Asked) -> Response:
        with self._lock:
            self.asked.append(asked)
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return self.script(asked)
        finally:
            with self._lock:
                self._at_once -= 1


@contextmanager
def listening(script: Script | Response) -> Iterator[Endpoint]:
    """An endpoint that does as it is told, for a while."""
    endpoint = Endpoint((lambda asked: script) if isinstance(script, Response) else script)
    thread = threading.Thread(target=endpoint.serve, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.close()
        thread.join(5)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    endpoint: Endpoint

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever asked has stopped listening: that is the point of some tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        response = self.server.endpoint.respond(Asked(body, headers, time.monotonic()))
        self.send_response(response.status)
        for name, value in {"content-type": "application/json", **response.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(response.body) + (100 if response.cut else 0)))
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        if not response.pause:
            self.wfile.write(response.body)
            return
        for byte in response.body:
            time.sleep(response.pause)
            self.wfile.write(bytes([byte]))
            self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is printed."""
