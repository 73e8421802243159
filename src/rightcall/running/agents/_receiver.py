"""A private receiver of spans: for one request, on this machine, with a token nobody else knows."""

from __future__ import annotations

import asyncio
import hmac
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from rightcall.errors import AgentError

from ._agent import document_listener
from ._http import MAX_HEAD, HttpError, read_body, read_head

TOKEN_HEADER = "x-rightcall-token"  # noqa: S105 - the name of a header
_KEPT = ("/v1/traces", "/v1/logs")
_DROPPED = ("/v1/metrics",)
_PATIENCE = 30.0
_GRACE = 1.0
_ROUNDS = 10
"""Of the event loop, until a connection that waits to be accepted is one that is being served."""


class Receiver:
    """Takes OTLP over HTTP, as JSON or protobuf, and keeps the documents as they are.

    A sender has to know the token: it is part of `endpoint`, and it is accepted as a header as well.
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
        """What was received, with what is on its way: a sender need not wait for a response before it ends.

        Raises:
            AgentError: some of it had to be refused, so that the rest may not be all there is.
        """
        for _ in range(_ROUNDS):
            await asyncio.sleep(0)
        if self._connections:
            await asyncio.wait(self._connections, timeout=_GRACE)
        if self._refused:
            raise AgentError(f"spans that the agent sent could not be taken: {self._refused}")
        return tuple(self._documents)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection, on which one message comes."""
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
            await _respond(writer, *await self._status(reader))
        finally:
            writer.close()

    async def _status(self, reader: asyncio.StreamReader) -> tuple[int, str]:
        """What to respond: a status, and the content type of the sender."""
        try:
            async with asyncio.timeout(_PATIENCE):
                return 200, await self._take(reader)
        except HttpError as problem:
            return problem.status, "text/plain"
        except (TimeoutError, OSError):
            return 408, "text/plain"

    async def _take(self, reader: asyncio.StreamReader) -> str:
        head = await read_head(reader)
        method, target, _ = head.first
        path = self._path(target, head.headers.get(TOKEN_HEADER, ""))
        if method != "POST":
            raise HttpError(405, "only POST")
        if path not in _KEPT + _DROPPED:
            raise HttpError(404, "no such path")
        if path in _KEPT:
            await self._keep(reader, head.headers)
        return head.headers.get("content-type", "application/json").partition(";")[0]

    async def _keep(self, reader: asyncio.StreamReader, headers: dict[str, str]) -> None:
        try:
            document = await read_body(reader, headers, self._room())
            if len(document) > self._room():  # others have been received meanwhile
                raise HttpError(413, f"more than {self._max_bytes:,} bytes in all")
        except BaseException as problem:
            self._refused = self._refused or str(problem) or "they came too slowly"
            raise
        if document:
            self._documents.append(document)
            if self._listener is not None:
                self._listener(document)

    def _room(self) -> int:
        return self._max_bytes - sum(map(len, self._documents))

    def _path(self, target: str, header: str) -> str:
        """The path that is asked for, without the token.

        Raises:
            HttpError: the token is in neither path nor header.
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
    """A receiver on a free port of the loopback interface, for as long as the block lasts."""
    receiver = Receiver(secrets.token_hex(16), max_bytes)
    server = await asyncio.start_server(receiver.serve, "127.0.0.1", 0, limit=MAX_HEAD)
    receiver.endpoint = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/r/{receiver.token}"
    try:
        yield receiver
    finally:
        server.close()
        await receiver.close()


async def _respond(writer: asyncio.StreamWriter, status: int, kind: str) -> None:
    # An empty message is the success of OTLP over protobuf, an empty object that of OTLP over JSON.
    body = b"{}" if kind == "application/json" else b""
    kind = kind if kind in ("application/json", "application/x-protobuf") else "text/plain"
    head = f"HTTP/1.1 {status} -\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    with suppress(OSError):  # a sender that has gone; what it sent has been taken
        writer.write(head.encode("latin-1") + body)
        await writer.drain()
        writer.close()
        await writer.wait_closed()
