"""HTTP/1.1 over asyncio, parsed by h11: agents behind an endpoint, and a private receiver of spans.

A receiver runs during one request to an agent, on the loopback interface, and is protected by a token.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import os
import re
import secrets
import ssl
import string
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeAlias
from urllib.parse import SplitResult, quote, urlsplit

import h11
import msgspec

from rightcall.errors import AgentError

from ._agent import (
    AgentAnswer,
    AgentOptions,
    AgentRequest,
    answer_from,
    document_listener,
    request_json,
    traceparent_of,
)

MAX_HEAD = 64 * 1024
"""The maximum size of the first line and the headers in bytes. nginx accepts 32 KiB in all, h11 by default 16 KiB."""
_PIECE = 1 << 16

Headers: TypeAlias = dict[str, str]
TOKEN_HEADER = "x-rightcall-token"  # noqa: S105 - the name of a header
_KEPT = ("/v1/traces", "/v1/logs")
_DROPPED = ("/v1/metrics",)
_ERRNO = re.compile(r"\[Errno (\d+)\]")
_PATIENCE = 30.0
"""Seconds until a request has to be complete: a sender that stops half-way must not block a case."""
_GRACE = 1.0
"""Seconds to wait, after the agent has answered, for documents that are being received."""
_ROUNDS = 10
"""Iterations of the event loop after which a connection in the backlog has been accepted."""
ENDPOINT_HEADER = "x-rightcall-otlp-endpoint"
_SMALL = 1000


class HttpError(Exception):
    """A message that is refused; `status` is the status code of the response."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class HttpStream:
    """Sends one message and receives one over a pair of streams. The size of what is received is limited."""

    def __init__(self, role: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connection = h11.Connection(role, max_incomplete_event_size=MAX_HEAD)
        self._reader = reader
        self._writer = writer
        self._is_ended = False
        self.head = b""
        """The bytes of the head as received, even if it is refused."""

    async def send(self, head: h11.Request | h11.Response, body: bytes) -> None:
        """Send a whole message."""
        for event in (head, h11.Data(data=body), h11.EndOfMessage()):
            self._writer.write(self._connection.send(event) or b"")
        await self._writer.drain()

    @property
    def has_begun(self) -> bool:
        """Whether the head of a response has been sent, so that no other response can be."""
        return self._connection.our_state not in (h11.IDLE, h11.SEND_RESPONSE)

    async def begin(self, status: int, headers: Headers) -> None:
        """Send the head of a response whose body comes in pieces."""
        await self._write(h11.Response(status_code=status, headers=list(headers.items())))

    async def write(self, piece: bytes) -> None:
        """Send a piece of the body."""
        await self._write(h11.Data(data=piece))

    async def finish(self) -> None:
        """Send the end of the message."""
        await self._write(h11.EndOfMessage())

    async def _write(self, event: h11.Event) -> None:
        self._writer.write(self._connection.send(event) or b"")
        await self._writer.drain()

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body of a message as it arrives.

        Raises:
            HttpError: it is malformed or cut off.
        """
        while True:
            event = self._next_event("body")
            if event is h11.NEED_DATA:
                await self._feed(_PIECE)
            elif isinstance(event, h11.Data):
                yield bytes(event.data)
            else:
                return

    async def read_head(self) -> h11.Request | h11.Response:
        """Read the head of a message; interim responses (1xx) are skipped.

        Raises:
            HttpError: it is malformed, too large, or cut off.
        """
        room = MAX_HEAD
        while True:
            event = self._next_event("headers")
            if isinstance(event, (h11.Request, h11.Response)):
                return event
            if isinstance(event, h11.InformationalResponse):
                room = MAX_HEAD
            elif event is h11.NEED_DATA and room:
                # Read no more than the limit leaves: h11 checks its own limit only between two pieces, so it would
                # accept a head that is completed by a large piece.
                data = await self._feed(room)
                self.head += data
                room -= len(data)
            elif event is h11.NEED_DATA:
                raise HttpError(431, f"the headers exceed {MAX_HEAD:,} bytes")
            else:
                raise HttpError(400, "the connection was closed before the headers ended")

    async def read_body(self, headers: Headers, max_bytes: int) -> bytes:
        """Read the body of a message, and decompress it.

        Raises:
            HttpError: it is larger than allowed, cut off, or compressed in an unknown way.
        """
        length = int(headers.get("content-length", 0))  # h11 has refused anything but a number
        if length > max_bytes:
            raise HttpError(413, f"{length:,} bytes are more than allowed")
        body = bytearray()
        while True:
            event = self._next_event("body")
            if event is h11.NEED_DATA:
                await self._feed(_PIECE)
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > max_bytes:
                    raise HttpError(413, f"more than {max_bytes:,} bytes")
            else:
                return decompressed(bytes(body), headers.get("content-encoding", ""), max_bytes)

    async def _feed(self, most: int) -> bytes:
        data = await self._reader.read(most)
        self._is_ended = not data
        self._connection.receive_data(data)
        return data

    def _next_event(self, part: str) -> Any:
        try:
            return self._connection.next_event()
        except h11.RemoteProtocolError as problem:
            if self._is_ended:
                raise HttpError(400, f"the connection was closed before the {part} ended") from None
            raise HttpError(problem.error_status_hint, f"it is not HTTP: {problem}") from None


def headers_of(head: h11.Request | h11.Response) -> Headers:
    """Return the headers with names in lower case; the last of several with the same name counts."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}


def decompressed(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """Decompress a body if it is encoded as gzip or deflate.

    Raises:
        HttpError: the encoding is another one, the data is damaged, or it is larger than allowed.
    """
    if encoding.lower() in ("", "identity"):
        return body
    if encoding.lower() not in ("gzip", "x-gzip", "deflate"):
        raise HttpError(415, f"the content encoding {encoding[:40]!r} is not known; use gzip")
    inflater = zlib.decompressobj(wbits=47)  # 32 + 15: detect gzip and zlib by the header (zlib's manual, inflateInit2)
    try:
        # At most one byte more than allowed: enough to notice a decompression bomb without inflating it.
        plain = inflater.decompress(body, max_bytes + 1)
    except zlib.error as problem:
        raise HttpError(400, f"damaged gzip data: {problem}") from None
    if len(plain) > max_bytes:
        raise HttpError(413, f"more than {max_bytes:,} bytes once decompressed")
    if not inflater.eof:
        raise HttpError(400, "the gzip data ends early")
    return plain


class Receiver:
    """Receives OTLP over HTTP, as JSON or protobuf, and keeps the documents as they are.

    A sender needs the token, in the path (it is part of `endpoint`) or in a header.
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
        """Return the documents, after waiting for those being received: a sender may end before it gets a response.

        Raises:
            AgentError: a document was refused, so the spans may be incomplete.
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
        """End open connections."""
        left = list(self._connections)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            stream = HttpStream(h11.SERVER, reader, writer)
            status, kind = await self._status(stream)
            with suppress(OSError):  # the sender has closed the connection; what it sent has been received
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
            if self.token.encode() in stream.head:  # malformed, but only the agent knows the token
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
            if len(document) > self._room():  # other documents have been received meanwhile
                raise HttpError(413, f"more than {self._max_bytes:,} bytes in all")
        except BaseException as problem:
            self._refuse(problem)
            raise
        if document:
            self._documents.append(document)
            if self._listener is not None:
                self._listener(document)

    def _refuse(self, problem: BaseException) -> None:
        """Remember that spans were refused: without an error, the calls in them would seem not to have been made."""
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
    """Run a receiver on a free port of the loopback interface during the block."""
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


def _reason(problem: OSError) -> str:
    """Return why there is no connection. The words of asyncio are about its own calls, to one address or several."""
    number = problem.errno or next(iter(map(int, _ERRNO.findall(str(problem)))), 0)
    return os.strerror(number) if number > 0 else str(problem.strerror or problem)


class EndpointAgent:
    """An HTTP endpoint, with a new connection for every request.

    Only the given address is contacted: redirects are errors, and proxies are not used. An endpoint on this machine is
    sent the address and token of a receiver for its spans.
    """

    is_async = True
    target = None

    def __init__(self, url: str, options: AgentOptions) -> None:
        self._url = _checked(url)
        self._options = options
        self._host = self._url.hostname or ""
        target = (self._url.path or "/") + (f"?{self._url.query}" if self._url.query else "")
        # ASCII stays as it is; other characters are percent-encoded as UTF-8 (RFC 3986, section 2.5).
        self._target = quote(target, safe=string.punctuation)
        for name, value in options.headers.items():
            self._check_header(name, value)

    async def answer(self, request: AgentRequest) -> AgentAnswer:
        """Post the request; return the response, and the spans that the endpoint sent before it.

        Raises:
            AgentError: the endpoint cannot be reached, or its response has a status of 300 or more, is too large or
                too late.
        """
        request = msgspec.structs.replace(request, traceparent=traceparent_of(request))
        try:
            async with receiving(self._options.max_bytes) as receiver, asyncio.timeout(self._options.timeout):
                body = await self._post(request_json(request), self._headers(request, receiver))
                return answer_from(body, await receiver.documents(), self._options.max_bytes)
        except TimeoutError:
            raise AgentError(f"{self._address()} did not answer within {self._options.timeout:g} s") from None
        except HttpError as problem:
            raise AgentError(f"the response of {self._address()} cannot be read: {problem}") from None
        except OSError as problem:
            raise AgentError(f"{self._address()} cannot be reached: {_reason(problem)}") from None

    def close(self) -> None:
        """Do nothing: there is no connection between requests."""

    def _headers(self, request: AgentRequest, receiver: Receiver) -> dict[str, str]:
        host = f"[{self._host}]" if ":" in self._host else self._host
        headers = {
            "host": f"{host}:{self._url.port}" if self._url.port else host,
            "content-type": "application/json",
            "accept": "application/json, text/plain",
            "connection": "close",
            "traceparent": request.traceparent,
        }
        if _is_loopback(self._host):
            headers |= {ENDPOINT_HEADER: receiver.endpoint, TOKEN_HEADER: receiver.token}
        return headers | {name.lower(): value for name, value in self._options.headers.items()}

    async def _post(self, body: bytes, headers: dict[str, str]) -> bytes:
        secure = ssl.create_default_context() if self._url.scheme == "https" else None
        port = self._url.port or (443 if secure else 80)
        head = self._head({**headers, "content-length": str(len(body))})
        reader, writer = await asyncio.open_connection(self._host, port, ssl=secure, limit=MAX_HEAD)
        try:
            stream = HttpStream(h11.CLIENT, reader, writer)
            await stream.send(head, body)
            return await self._response(stream)
        finally:
            writer.close()

    def _head(self, headers: dict[str, str]) -> h11.Request:
        encoded = [(name.encode(), value.strip().encode()) for name, value in headers.items()]
        return h11.Request(method="POST", target=self._target, headers=encoded)

    def _check_header(self, name: str, value: str) -> None:
        try:
            self._head({"host": "x", name: value})
        except (h11.LocalProtocolError, UnicodeEncodeError):
            raise AgentError(
                f"the header {name!r:.80} cannot be sent: its name may have letters, digits and hyphens, and its value "
                "must not have a line break in it"
            ) from None

    async def _response(self, stream: HttpStream) -> bytes:
        head = await stream.read_head()
        if not isinstance(head, h11.Response) or not head.http_version.startswith(b"1."):
            raise HttpError(400, f"it is HTTP/{head.http_version.decode('ascii')}")
        headers, status = headers_of(head), head.status_code
        body = await stream.read_body(headers, self._options.max_bytes)
        if 300 <= status < 400:
            raise AgentError(
                f"{self._address()} redirects to {headers.get('location', 'nowhere')!r:.200}, which is not followed; "
                f"name that address if it is the right one"
            )
        if status >= 400:
            beginning = " ".join(body[:_SMALL].decode("utf-8", "replace").split())
            raise AgentError(f"{self._address()} responded with status {status}: {beginning[:200]!r}")
        return body

    def _address(self) -> str:
        """Return the address without its query, which may contain an API key."""
        return self._url._replace(query="", fragment="").geturl()


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as problem:
        raise AgentError(f"{url!r:.200} is not the address of an endpoint: {problem}") from None
    if not parts.hostname or port == 0 or any([character <= " " for character in url]):
        raise AgentError(f"{url!r:.200} is not the address of an endpoint, such as http://127.0.0.1:8000/answer")
    if parts.username is not None:
        raise AgentError("an address with a user name in it is not accepted; give an authorization header instead")
    return parts


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
