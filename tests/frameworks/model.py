"""A scripted model on loopback that speaks the protocols of OpenAI and Gemini.

It has no state but a counter for call ids: what it says next depends on the conversation that it is sent.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any

from . import protocols
from .script import next_step


@dataclass(frozen=True)
class Model:
    """The address of a model that is being served, and the requests that it refused."""

    address: str
    refused: list[str]


@contextmanager
def served() -> Iterator[Model]:
    """A model on a free port of loopback, until the block ends."""
    refused: list[str] = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(count(1), refused))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Model(f"http://127.0.0.1:{server.server_port}", refused)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(ids: Iterator[int], refused: list[str]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            protocol = protocols.of(self.path)
            if protocol is None:
                refused.append(self.path)
                self.send_error(404)
                return
            said = next_step(protocol.conversation(request))
            number = next(ids)
            if protocol.is_streamed(self.path, request):
                self._stream(protocol.chunks(said, number, request))
            else:
                self._send("application/json", json.dumps(protocol.answer(said, number, request)).encode())

        def _stream(self, chunks: list[Mapping[str, Any]]) -> None:
            lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
            self._send("text/event-stream", "".join([*lines, "data: [DONE]\n\n"]).encode())

        def _send(self, kind: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    return Handler
