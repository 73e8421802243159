"""Agents behind an HTTP endpoint, with a real server."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from tests.running.agents.workshop import Workshop, ask

from rightcall import read
from rightcall.errors import AgentError

Respond = Callable[[BaseHTTPRequestHandler, Any], tuple[int, dict[str, str], bytes]]


@contextmanager
def served(respond: Respond) -> Iterator[str]:
    """The address of a server that responds like this."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            status, headers, answer = respond(self, json.loads(body))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(ConnectionError):  # an agent that has given up
                self.wfile.write(answer)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/answer"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def responding(status: int, body: bytes, **headers: str) -> Respond:
    return lambda handler, said: (status, {key.replace("_", "-"): value for key, value in headers.items()}, body)


def test_an_endpoint_is_posted_the_request_and_its_response_is_the_answer(workshop: Workshop) -> None:
    seen: dict[str, Any] = {}

    def respond(handler: BaseHTTPRequestHandler, said: Any) -> tuple[int, dict[str, str], bytes]:
        seen.update(headers=dict(handler.headers), said=said, path=handler.path)
        return 200, {}, json.dumps({"output": said["input"]["q"]}).encode()

    with served(respond) as url:
        agent = workshop.load(f"{url}?key=1", headers={"Authorization": "Bearer 5"})
        answer = ask(agent, {"q": "é"}, session=[1], run="r")

    assert answer.output == "é"
    assert seen["path"] == "/answer?key=1"
    assert (seen["said"]["run"], seen["said"]["session"]) == ("r", [1])
    assert seen["headers"]["traceparent"] == seen["said"]["traceparent"]
    assert seen["headers"]["authorization"] == "Bearer 5"


def test_an_endpoint_on_this_machine_may_send_its_spans(workshop: Workshop) -> None:
    def respond(handler: BaseHTTPRequestHandler, said: Any) -> tuple[int, dict[str, str], bytes]:
        attributes = [{"key": "tool.name", "value": {"stringValue": "look"}}]
        trace = handler.headers["traceparent"].split("-")[1]
        span = {"traceId": trace, "spanId": "0" * 15 + "1", "name": "x", "attributes": attributes}
        body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode()
        request = urllib.request.Request(handler.headers["x-rightcall-otlp-endpoint"] + "/v1/traces", body)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10):
            return 200, {}, b"done"

    with served(respond) as url:
        answer = ask(workshop.load(url), "x")

    [trajectory] = read(list(answer.documents), grouping="file")
    assert (answer.output, trajectory.names) == ("done", ("look",))


@pytest.mark.parametrize(
    ("status", "body", "headers", "complaint"),
    [
        (500, b"it   broke\n" + b"x" * 500, {}, "status 500: 'it broke xxx"),
        (404, b"", {}, "status 404"),
        (302, b"", {"location": "http://elsewhere.example/"}, "redirects to 'http://elsewhere.example/', which is not"),
        (200, b"x" * 2000, {}, "cannot be read: more than 1,000 bytes"),
        (200, b"x", {"content_length": "2000"}, "cannot be read: 2,000 bytes are more than allowed"),
        (200, b"x", {"content_length": "200"}, "closed before the body"),
        (200, b"x", {"content_encoding": "br"}, "'br' is not known"),
    ],
)
def test_a_response_that_is_no_answer_is_an_error(
    workshop: Workshop, status: int, body: bytes, headers: dict[str, str], complaint: str
) -> None:
    with served(responding(status, body, **headers)) as url:
        agent = workshop.load(url, max_bytes=1000)

        with pytest.raises(AgentError, match=complaint):
            ask(agent, "x")


def test_an_endpoint_that_takes_too_long_is_an_error(workshop: Workshop) -> None:
    over = threading.Event()

    def respond(handler: BaseHTTPRequestHandler, said: Any) -> tuple[int, dict[str, str], bytes]:
        over.wait(60)
        return 200, {}, b""

    with served(respond) as url:
        agent = workshop.load(url, timeout=0.2)

        with pytest.raises(AgentError, match=r"did not answer within 0\.2 s"):
            ask(agent, "x")
        over.set()


def test_an_endpoint_that_is_not_there_is_an_error_without_the_query(workshop: Workshop) -> None:
    with served(responding(200, b"")) as url:
        pass

    with pytest.raises(AgentError, match=r"/answer cannot be reached: ") as caught:
        ask(workshop.load(f"{url}?key=secret"), "x")

    assert "secret" not in str(caught.value)


def test_addresses_and_headers_may_have_any_letters(workshop: Workshop) -> None:
    seen: dict[str, Any] = {}

    def respond(handler: BaseHTTPRequestHandler, said: Any) -> tuple[int, dict[str, str], bytes]:
        seen.update(path=handler.path, word=handler.headers["x-word"].encode("latin-1").decode())
        return 200, {}, b"done"

    with served(respond) as url:
        ask(workshop.load(f"{url}/caf\u00e9?a={{b}}&c=%20", headers={"X-Word": " \u00e9t\u00e9 "}), "x")

    assert seen == {"path": "/answer/caf%C3%A9?a={b}&c=%20", "word": "\u00e9t\u00e9"}


def test_proxies_of_the_environment_are_not_used(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    with served(responding(200, b"direct")) as url:
        assert workshop.output(url, "x") == "direct"


@pytest.mark.parametrize(
    ("url", "options", "complaint"),
    [
        ("http://", {}, "not the address of an endpoint"),
        ("http://host:99999/", {}, "not the address of an endpoint"),
        ("http://host/a b", {}, "not the address of an endpoint"),
        ("https://me:secret@host/", {}, "authorization header instead"),
        ("http://host/", {"headers": {"x": "1\r\ny: 2"}}, "must not have a line break"),
        ("http://host/", {"headers": {"x y": "1"}}, "the header 'x y' cannot be sent"),
    ],
)
def test_an_address_that_cannot_be_used_is_known_before_anything_is_sent(
    workshop: Workshop, url: str, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(AgentError, match=complaint) as caught:
        workshop.load(url, **options)

    assert "secret" not in str(caught.value)
