"""Models asked by any HTTP client of Python: recorded from a server on loopback, replayed when it is gone."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import botocore.config
import botocore.session
import httpx
import pytest
import requests
import urllib3

from rightcall.errors import MockError
from rightcall.running.mocking import ModelRecorder, ModelReplay, tapping_models

SSE = 'data: {"delta": "He"}\n\ndata: {"delta": "llo"}\n\ndata: [DONE]\n\n'


class Upstream(BaseHTTPRequestHandler):
    """A model that says how often it was asked, streams when asked to, and is broken when asked about it."""

    protocol_version = "HTTP/1.1"
    asked = 0

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        type(self).asked += 1
        status, kind, said = 200, "application/json", json.dumps({"said": self.asked})
        if body.get("stream"):
            kind, said = "text/event-stream", SSE
        elif "broken" in json.dumps(body):
            status = 500
        self._send(status, kind, said)

    def do_GET(self) -> None:
        type(self).asked += 1
        self._send(200, "application/json", json.dumps({"models": self.asked}))

    def _send(self, status: int, kind: str, said: str) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said.encode())

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@contextmanager
def upstream() -> Iterator[str]:
    """The address of a model on loopback, until the block ends."""
    Upstream.asked = 0
    server = ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def body_of(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "gpt", "messages": [{"role": "user", "content": text}], **more}


def by_httpx(url: str, body: dict[str, Any]) -> tuple[int, str]:
    response = httpx.post(url, json=body)
    return response.status_code, response.text


def by_requests(url: str, body: dict[str, Any]) -> tuple[int, str]:
    response = requests.post(url, json=body, timeout=10, stream=bool(body.get("stream")))
    return response.status_code, b"".join(response.iter_content(7)).decode()


def by_urllib3(url: str, body: dict[str, Any]) -> tuple[int, str]:
    response = urllib3.PoolManager().request("POST", url, json=body, retries=False)
    return response.status, response.data.decode()


def by_urllib3_piece_by_piece(url: str, body: dict[str, Any]) -> tuple[int, str]:
    response = urllib3.PoolManager().request("POST", url, json=body, retries=False, preload_content=False)
    return response.status, b"".join(response.stream(5)).decode()


def by_urllib(url: str, body: dict[str, Any]) -> tuple[int, str]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as response:
            return response.status, b"".join(response).decode()
    except urllib.error.HTTPError as problem:
        return problem.code, problem.read().decode()


def by_aiohttp(url: str, body: dict[str, Any]) -> tuple[int, str]:
    aiohttp = pytest.importorskip("aiohttp")

    async def ask() -> tuple[int, str]:
        async with aiohttp.ClientSession() as session, session.post(url, json=body) as response:
            return response.status, await response.text()

    return asyncio.run(ask())


def by_aiohttp_line_by_line(url: str, body: dict[str, Any]) -> tuple[int, str]:
    aiohttp = pytest.importorskip("aiohttp")

    async def ask() -> tuple[int, str]:
        async with aiohttp.ClientSession() as session, session.post(url, data=json.dumps(body).encode()) as response:
            return response.status, b"".join([line async for line in response.content]).decode()

    return asyncio.run(ask())


CLIENTS = (
    *(by_httpx, by_requests, by_urllib3, by_urllib3_piece_by_piece),
    *(by_urllib, by_aiohttp, by_aiohttp_line_by_line),
)


@pytest.mark.parametrize("ask", CLIENTS)
def test_a_model_is_recorded_and_replayed_whichever_client_asks_it(
    ask: Callable[[str, dict[str, Any]], tuple[int, str]],
) -> None:
    bodies = [body_of("Hi"), body_of("Hi"), body_of("Hi", stream=True), body_of("broken")]
    recorder = ModelRecorder("a")
    with upstream() as address, tapping_models(recorder):
        url = f"{address}/v1/chat/completions"
        live = [ask(url, body) for body in bodies]

    with tapping_models(ModelReplay("a", recorder.entries)):
        again = [ask(url, body) for body in bodies]

    assert [(status, said.replace(" ", "")) for status, said in again] == [
        (200, '{"said":1}'),
        (200, '{"said":2}'),
        (200, SSE.replace(" ", "")),
        (500, '{"said":4}'),
    ]
    assert len(live) == len(recorder.entries) == 4
    assert [status for status, _ in live] == [200, 200, 200, 500]
    assert live[2][1] == SSE


@pytest.mark.parametrize("ask", CLIENTS)
def test_nothing_is_sent_while_a_model_is_replayed(ask: Callable[[str, dict[str, Any]], tuple[int, str]]) -> None:
    replay = ModelReplay("a", [])
    with upstream() as address, tapping_models(replay):
        status, said = ask(f"{address}/v1/chat/completions", body_of("Hi"))

    assert Upstream.asked == 0
    assert status == 400
    assert "RC508 model-not-recorded" in said
    assert len(replay.problems) == 1


@pytest.mark.parametrize("ask", CLIENTS)
def test_what_is_not_sent_to_a_model_is_left_alone(ask: Callable[[str, dict[str, Any]], tuple[int, str]]) -> None:
    with upstream() as address, tapping_models(ModelReplay("a", [])):
        status, said = ask(f"{address}/orders", {"order": 7})

    assert (status, json.loads(said)) == (200, {"said": 1})


def test_every_request_to_a_provider_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = ModelRecorder("a")
    with upstream() as address, tapping_models(recorder):
        monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1")
        live = requests.get(f"{address}/v1/models", timeout=10).json()
        requests.get(f"{address}/health", timeout=10)

    with tapping_models(ModelReplay("a", recorder.entries)):
        assert requests.get(f"{address}/v1/models", timeout=10).json() == live

    assert [entry.request.api for entry in recorder.entries] == ["GET /v1/models"]


def test_telemetry_of_a_provider_is_neither_kept_nor_sent_when_replayed(monkeypatch: pytest.MonkeyPatch) -> None:
    recorder, replay = ModelRecorder("a"), ModelReplay("a", [])
    with upstream() as address:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{address}/v1")
        with tapping_models(recorder):
            httpx.post(f"{address}/v1/traces/ingest", json={"data": []})
        with tapping_models(replay):
            assert httpx.post(f"{address}/v1/traces/ingest", json={"data": []}).status_code == 200

    assert Upstream.asked == 1
    assert (recorder.entries, replay.problems) == ((), ())


@pytest.mark.parametrize("host", ["api.openai.com", "models.example.invalid"])
def test_a_provider_is_not_reached_by_a_client_of_its_own_while_it_is_replayed(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://models.example.invalid/anthropic")
    replay = ModelReplay("a", [])

    with tapping_models(replay), pytest.raises(MockError, match="by a client that is neither recorded nor replayed"):
        socket.create_connection((host, 443), timeout=1)
    with tapping_models(replay), pytest.raises(MockError):
        asyncio.run(connected(host))

    assert len(replay.problems) == 2


async def connected(host: str) -> None:
    await asyncio.open_connection(host, 443)


def test_bedrock_is_recorded_through_botocore() -> None:
    def ask(address: str) -> Any:
        session = botocore.session.Session()
        session.set_credentials("none", "none")
        config = botocore.config.Config(retries={"total_max_attempts": 1})
        client = session.create_client("bedrock-runtime", "us-east-1", endpoint_url=address, config=config)
        body = json.dumps({"messages": [{"role": "user", "content": "Hi"}], "anthropic_version": "x"})
        return json.loads(client.invoke_model(modelId="claude:0", body=body)["body"].read())

    recorder = ModelRecorder("a")
    with upstream() as address, tapping_models(recorder):
        live = ask(address)
    with tapping_models(ModelReplay("a", recorder.entries)):
        assert ask(address) == live == {"said": 1}

    assert [(entry.request.api, entry.request.model) for entry in recorder.entries] == [("bedrock", "claude:0")]


def test_a_client_that_asks_by_another_one_is_recorded_once() -> None:
    class ByRequests(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            made = requests.post(str(request.url), data=request.content, timeout=10)
            return httpx.Response(made.status_code, content=made.content)

    recorder = ModelRecorder("a")
    with upstream() as address, tapping_models(recorder), httpx.Client(transport=ByRequests()) as client:
        client.post(f"{address}/v1/chat/completions", json=body_of("Hi"))

    assert len(recorder.entries) == 1


LATE = """
import sys
from rightcall.errors import MockError
from rightcall.running.mocking import ModelReplay, tapping_models

with tapping_models(replay := ModelReplay("a", [])):
    assert not {"httpx", "requests", "urllib3", "aiohttp"} & set(sys.modules)
    import requests, httpx
    url, body = "http://127.0.0.1:9/v1/chat/completions", {"model": "gpt", "messages": []}
    print(requests.post(url, json=body).status_code, httpx.post(url, json=body).status_code, len(replay.problems))
"""


def test_a_client_that_is_imported_later_is_tapped_then_and_none_is_imported_for_it() -> None:
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True, check=False)

    assert done.stdout == "400 400 2\n", done.stderr
