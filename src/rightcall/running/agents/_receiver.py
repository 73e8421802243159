"""A private receiver of spans: for one request, on this machine, behind a secret token."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import h11

from rightcall.errors import AgentError

from ._agent import document_listener
from ._http import MAX_HEAD, Headers, HttpError, HttpStream, headers_of

TOKEN_HEADER = "x-rightcall-token"  # noqa: S105 - the name of a header
_KEPT = ("/v1/traces", "/v1/logs")
_DROPPED = ("/v1/metrics",)
_PATIENCE = 30.0
"""Seconds in which a request has to be complete: a sender that stops half-way must not hold a case up."""
_GRACE = 1.0
"""Seconds that documents which are on their way have to arrive after the agent has answered."""
_ROUNDS = 10
"""Rounds of the event loop until a connection that waits in the backlog is accepted and served."""


class Receiver:
    """Receives OTLP over HTTP, as JSON or protobuf, and keeps the documents as they are.

    A sender needs the token: it is part of `endpoint`, and is accepted as a header as well.
    """

    def __init__(self, token: str, max_bytes: int) -> None:
        self.token = token
        self.endpoint = ""
        self._max_bytes = max_bytes
        self._documents: list[bytes] = []
        self._connections: set[asyncio.Task[None]] = set()
        self._refused = ""
        self._listener = document_listener.get()

    async def documents(self) -> tuple[bytes, ...]:
        """Return what was received, with what is on its way: a sender may end before it gets a response.

        Raises:
            AgentError: some of it had to be refused, so the rest may be incomplete.
        """
        for _ in range(_ROUNDS):
            await asyncio.sleep(0)
        if self._connections:
            await asyncio.wait(self._connections, timeout=_GRACE)
        if self._refused:
            raise AgentError(f"spans that the agent sent could not be accepted: {self._refused}")
        return tuple(self._documents)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, with one request."""
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        await asyncio.wait([task])

    async def close(self) -> None:
        """End the connections that are left."""
        left = list(self._connections)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            stream = HttpStream(h11.SERVER, reader, writer)
            status, kind = await self._status(stream)
            with suppress(OSError):  # the sender has gone; what it sent has been received
                await _respond(stream, status, kind)
                writer.close()
                await writer.wait_closed()
        finally:
            writer.close()

    async def _status(self, stream: HttpStream) -> tuple[int, str]:
        """Return the status of the response, and the content type of the request."""
        try:
            async with asyncio.timeout(_PATIENCE):
                return 200, await self._receive(stream)
        except HttpError as problem:
            return problem.status, "text/plain"
        except (TimeoutError, OSError):
            return 408, "text/plain"

    async def _receive(self, stream: HttpStream) -> str:
        try:
            head = await stream.read_head()
        except HttpError as problem:
            if self.token.encode() in stream.head:  # malformed, but from a sender that knows the token: the agent
                self._refuse(problem)
            raise
        assert isinstance(head, h11.Request)  # noqa: S101 - a server reads nothing else
        headers = headers_of(head)
        path = self._path(head.target.decode("ascii"), headers.get(TOKEN_HEADER, ""))
        if head.method != b"POST":
            raise HttpError(405, "only POST")
        if path not in _KEPT + _DROPPED:
            raise HttpError(404, "no such path")
        if path in _KEPT:
            await self._keep(stream, headers)
        return headers.get("content-type", "application/json").partition(";")[0]

    async def _keep(self, stream: HttpStream, headers: Headers) -> None:
        try:
            document = await stream.read_body(headers, self._room())
            if len(document) > self._room():  # others have been received meanwhile
                raise HttpError(413, f"more than {self._max_bytes:,} bytes in all")
        except BaseException as problem:
            self._refuse(problem)
            raise
        if document:
            self._documents.append(document)
            if self._listener is not None:
                self._listener(document)

    def _refuse(self, problem: BaseException) -> None:
        """Note that spans of the agent were refused: without an error, their calls would seem not to be made."""
        self._refused = self._refused or str(problem) or "they came too slowly"

    def _room(self) -> int:
        return self._max_bytes - sum(map(len, self._documents))

    def _path(self, target: str, header: str) -> str:
        """Return the requested path, without the token.

        Raises:
            HttpError: the token is neither in the path nor in the header.
        """
        _, marker, rest = target.partition("/r/")
        token, _, path = rest.partition("/")
        wanted = self.token.encode()
        if marker and hmac.compare_digest(token.encode(), wanted):
            return f"/{path}"
        if hmac.compare_digest(header.encode(), wanted):
            return target
        raise HttpError(401, "the token is missing or wrong")


@asynccontextmanager
async def receiving(max_bytes: int) -> AsyncIterator[Receiver]:
    """Run a receiver on a free port of the loopback interface, for as long as the block lasts."""
    receiver = Receiver(secrets.token_hex(16), max_bytes)
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, limit=MAX_HEAD)
    receiver.endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/r/{receiver.token}"
    try:
        yield receiver
    finally:
        server.close()
        await receiver.close()


async def _respond(stream: HttpStream, status: int, kind: str) -> None:
    # Success is an empty message in OTLP over protobuf, and an empty object in OTLP over JSON (OTLP specification,
    # "OTLP/HTTP Response").
    body = b"{}" if kind == "application/json" else b""
    kind = kind if kind in ("application/json", "application/x-protobuf") else "text/plain"
    headers = {"content-type": kind, "content-length": str(len(body)), "connection": "close"}
    await stream.send(h11.Response(status_code=status, headers=list(headers.items())), body)
