"""Trace servers on loopback that answer as the documented interfaces do, and remember what they were asked."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

SECOND = 10**9
START = 1_700_000_000 * SECOND


@dataclass
class Asked:
    """A request that came."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: Any


@dataclass
class Answer:
    """What a server answers."""

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0
    """Seconds between two bytes of the body."""


Respond = Callable[[Asked], Answer]


@dataclass
class Loopback:
    """A server that runs, and the requests it had."""

    host: str
    asked: list[Asked]


@contextmanager
def served(respond: Respond) -> Iterator[Loopback]:
    """A server on a free port of loopback, until the block ends."""
    asked: list[Asked] = []

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            parts = urlsplit(self.path)
            length = int(self.headers.get("content-length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Asked(self.command, unquote(parts.path), parse_qs(parts.query), headers, body)
            asked.append(request)
            answer = respond(request)
            content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            for name, value in {"content-length": str(len(content)), **answer.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(ConnectionError):  # the other side has heard enough
                for piece in [bytes([byte]) for byte in content] if answer.pause else [content]:
                    self.wfile.write(piece)
                    time.sleep(answer.pause)

        do_GET = do_POST = do_PATCH = _answer  # noqa: N815 - the names that http.server looks for

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield Loopback(f"127.0.0.1:{server.server_port}", asked)
    finally:
        server.shutdown()
        server.server_close()


def trace_id(number: int) -> str:
    """The id of the trace with this number."""
    return f"{number + 1:032x}"


def agent_span(number: int) -> dict[str, Any]:
    """The root of the trace with this number, as OTLP in JSON: a run of an agent, so many seconds in."""
    asked = {"input.value": f"question {number % 2}", "output.value": "done"}
    role = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"}
    return _span(number, "invoke_agent shop", 0, {**role, **asked})


def span(number: int, tool: str = "search", **args: Any) -> dict[str, Any]:
    """A call of a tool in the trace with this number."""
    arguments = {"gen_ai.tool.name": tool, "gen_ai.tool.call.arguments": json.dumps(args)}
    made = _span(number, f"execute_tool {tool}", len(tool), {"gen_ai.operation.name": "execute_tool", **arguments})
    return {**made, "parentSpanId": agent_span(number)["spanId"]}


def trace(number: int) -> list[dict[str, Any]]:
    """The spans of the trace with this number: an agent that calls one tool."""
    return [agent_span(number), span(number, q=number)]


def _span(number: int, name: str, place: int, texts: dict[str, str]) -> dict[str, Any]:
    start = START + number * SECOND + place
    return {
        "traceId": trace_id(number),
        "spanId": hashlib.sha256(f"{number} {name}".encode()).hexdigest()[:16],
        "name": name,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 1000),
        "attributes": [{"key": key, "value": {"stringValue": text}} for key, text in texts.items()],
    }


def otlp(spans: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Spans as a document of OTLP."""
    return {"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}


class PhoenixLike:
    """Traces in pages, spans by trace, annotations that replace those of the same name and identifier."""

    def __init__(self, traces: int = 0, page: int = 10) -> None:
        self.spans = {trace_id(number): trace(number) for number in range(traces)}
        self.annotations: dict[tuple[str, ...], dict[str, Any]] = {}
        self._page = page

    @property
    def labels(self) -> list[str]:
        """The labels of all annotations."""
        return [each["result"]["label"] for each in list(self.annotations.values())]

    def __call__(self, asked: Asked) -> Answer:
        if asked.path == "/v1/projects":
            return Answer({"data": [{"name": "support"}], "next_cursor": None})
        if asked.path == "/v1/projects/support/traces":
            return self._listed(asked)
        if asked.path == "/v1/projects/support/spans/otlpv1":
            return self._fetched(asked)
        if asked.path in ("/v1/trace_annotations", "/v1/span_annotations"):
            for each in asked.body["data"]:
                place = each.get("trace_id") or each["span_id"]
                self.annotations[place, each["name"], each["identifier"]] = each
            return Answer({"data": []})
        return Answer(b"not found", 404)

    def _listed(self, asked: Asked) -> Answer:
        found = sorted(self.spans, reverse=True)
        start = int(asked.query.get("cursor", ["0"])[0])
        end = start + min(self._page, int(asked.query["limit"][0]))
        following = str(end) if end < len(found) else None
        return Answer({"data": [{"trace_id": each} for each in found[start:end]], "next_cursor": following})

    def _fetched(self, asked: Asked) -> Answer:
        wanted = asked.query["trace_id"]
        spans = [each for trace in wanted for each in self.spans.get(trace, [])]
        start = int(asked.query.get("cursor", ["0"])[0])
        end = start + self._page
        following = str(end) if end < len(spans) else None
        return Answer({"data": spans[start:end], "next_cursor": following})
