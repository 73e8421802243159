"""A proxy on loopback between a command in any language and its models, while they are recorded or replayed.

The command finds it by the variables that SDKs read. Requests that are not answered from a recording are passed on to
where the variables pointed before; nothing but the request and the body of the response is kept.
"""

from __future__ import annotations

import asyncio
import hmac
import secrets
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

import h11

from rightcall.running.mocking import (
    KEY_VARIABLES,
    PROVIDERS,
    ModelAnswer,
    ModelReplay,
    ModelRequest,
    ModelTap,
    Provider,
    model_request,
)

from ._http import MAX_HEAD, Headers, HttpError, HttpStream, headers_of

_PATIENCE = 600.0
"""Seconds that a model may take: the default of OpenAI's and Anthropic's SDKs."""
_HOP_BY_HOP = frozenset({"host", "connection", "content-length", "transfer-encoding", "accept-encoding", "keep-alive"})
"""Headers of one connection (RFC 9110, section 7.6.1), and the encoding, because what is kept has to be readable."""
_NOT_REACHED = 502


class ModelProxy:
    """Answers from a tap, or passes on and lets the tap keep the response."""

    def __init__(self, tap: ModelTap, environment: Mapping[str, str], max_bytes: int) -> None:
        self._tap, self._max_bytes = tap, max_bytes
        self._token = secrets.token_hex(16)
        self._upstream = {each.name: address for each in PROVIDERS if (address := _address(each, environment))}
        self._connections: set[asyncio.Task[None]] = set()

    def variables(self, port: int) -> dict[str, str]:
        """Return the variables that lead SDKs here."""
        root = f"http://127.0.0.1:{port}/m/{self._token}"
        return {name: f"{root}/{each.name}" for each in PROVIDERS if each.name in self._upstream for name in each.bases}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, with one request."""
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        await asyncio.wait([task])

    async def close(self) -> None:
        """End the connections that are left."""
        for task in (left := list(self._connections)):
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        stream = HttpStream(h11.SERVER, reader, writer)
        try:
            with suppress(OSError):  # the command has gone
                await self._respond(stream)
        finally:
            writer.close()

    async def _respond(self, stream: HttpStream) -> None:
        try:
            head = await stream.read_head()
            assert isinstance(head, h11.Request)  # noqa: S101 - a server reads nothing else
            provider, path = self._place(head.target.decode("ascii"))
            headers = headers_of(head)
            body = await stream.read_body(headers, self._max_bytes)
        except HttpError as problem:
            await _send(stream, _failure(problem.status, str(problem)))
            return
        method = head.method.decode("ascii")
        asked = model_request(method, path, body, is_any=True)
        assert asked is not None  # noqa: S101 - `is_any`
        answer = self._tap.answer(asked)
        if answer is not None:
            await _send(stream, answer)
            return
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._pass_on(stream, asked, _Request(method, self._upstream[provider], path, headers, body))
        except (HttpError, OSError, TimeoutError) as problem:
            if stream.has_begun:  # the provider broke off, or the command has gone: the answer ends where it is cut
                return
            reason = getattr(problem, "strerror", None) or str(problem) or "it took too long"
            await _send(stream, _failure(_NOT_REACHED, f"{provider} cannot be reached: {reason}"))

    def _place(self, target: str) -> tuple[str, str]:
        """Return the provider that a path is for, and the path there. Raises `HttpError`."""
        _, marker, rest = target.partition("/m/")
        token, _, rest = rest.partition("/")
        provider, _, path = rest.partition("/")
        if not marker or not hmac.compare_digest(token.encode(), self._token.encode()):
            raise HttpError(401, "the token is missing or wrong")
        if provider not in self._upstream:
            raise HttpError(404, f"no provider {provider[:40]!r}")
        return provider, f"/{path}"

    async def _pass_on(self, stream: HttpStream, asked: ModelRequest, request: _Request) -> None:
        """Send a request to its provider; send what comes back on as it comes, and have it kept when it is complete."""
        async with request.sent() as source:
            head = await source.read_head()
            assert isinstance(head, h11.Response)  # noqa: S101 - a client reads nothing else
            headers = headers_of(head)
            passed = {name: value for name, value in headers.items() if name not in _HOP_BY_HOP}
            await stream.begin(head.status_code, {**passed, "connection": "close"})
            content = bytearray()
            async for piece in source.pieces():
                content += piece
                if len(content) > self._max_bytes:
                    raise HttpError(413, f"more than {self._max_bytes:,} bytes")
                await stream.write(piece)
            # Before the end is sent: the command may ask again, or end, as soon as it has it.
            self._tap.keep(asked, ModelAnswer.of(head.status_code, headers.get("content-type", ""), bytes(content)))
            await stream.finish()


class _Request:
    """A request to a provider."""

    def __init__(self, method: str, address: str, path: str, headers: Headers, body: bytes) -> None:
        self._url = urlsplit(address)
        self._method, self._body = method, body
        self._target = self._url.path.rstrip("/") + path
        self._headers = {name: value for name, value in headers.items() if name not in _HOP_BY_HOP}

    @asynccontextmanager
    async def sent(self) -> AsyncIterator[HttpStream]:
        """Connect, send the request, and yield the stream to read the response from."""
        secure = ssl.create_default_context() if self._url.scheme == "https" else None
        host, port = self._url.hostname or "", self._url.port or (443 if secure else 80)
        reader, writer = await asyncio.open_connection(host, port, ssl=secure, limit=MAX_HEAD)
        try:
            stream = HttpStream(h11.CLIENT, reader, writer)
            own = {"host": self._url.netloc.rpartition("@")[2], "connection": "close", "accept-encoding": "identity"}
            headers = {**self._headers, **own, "content-length": str(len(self._body))}
            await stream.send(
                h11.Request(method=self._method, target=self._target, headers=list(headers.items())), self._body
            )
            yield stream
        finally:
            writer.close()


@asynccontextmanager
async def proxied_models(
    tap: ModelTap, environment: Mapping[str, str], max_bytes: int
) -> AsyncIterator[dict[str, str]]:
    """Run a proxy for as long as the block lasts; yield the variables that a command needs to find it.

    Where a recording answers, keys that are missing are made up: an SDK refuses to be made without one. Where models
    are asked they are not: an SDK may prefer a made-up one to that of another variable, as Gemini's does.
    """
    proxy = ModelProxy(tap, environment, max_bytes)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, limit=MAX_HEAD)
    made_up = KEY_VARIABLES if isinstance(tap, ModelReplay) else ()
    keys = {name: "not-needed" for name in made_up if name not in environment}
    local = {"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"}
    try:
        yield {**keys, **local, **proxy.variables(server.sockets[0].getsockname()[1])}
    finally:
        server.close()
        await proxy.close()


def _address(provider: Provider, environment: Mapping[str, str]) -> str:
    """Return where a provider is: where a variable points, else its usual address."""
    set_to = [environment[name] for name in provider.bases if environment.get(name, "").startswith("http")]
    return set_to[0] if set_to else provider.address


def _failure(status: int, message: str) -> ModelAnswer:
    return ModelAnswer(status=status, body={"error": {"message": message, "type": "rightcall"}})


async def _send(stream: HttpStream, answer: ModelAnswer) -> None:
    body = answer.content
    headers = {**answer.headers, "content-length": str(len(body)), "connection": "close"}
    await stream.send(h11.Response(status_code=answer.status, headers=list(headers.items())), body)
