"""HTTP/1.1 over asyncio's streams, for the receiver of spans and the client of endpoints. h11 does the parsing."""

from __future__ import annotations

import asyncio
import zlib
from typing import Any, TypeAlias

import h11

MAX_HEAD = 64 * 1024
"""Bytes of the first line and the headers; more are refused. nginx accepts 32 KiB in all, h11 by itself 16 KiB."""
_PIECE = 1 << 16

Headers: TypeAlias = dict[str, str]


class HttpError(Exception):
    """A message that is refused; `status` is what a server responds with."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class HttpStream:
    """One message in and one message out over a pair of streams. Everything that comes in is bounded."""

    def __init__(self, role: Any, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connection = h11.Connection(role, max_incomplete_event_size=MAX_HEAD)
        self._reader = reader
        self._writer = writer
        self._is_ended = False
        self.head = b""
        """The bytes of the head as they came, also of one that is refused."""

    async def send(self, head: h11.Request | h11.Response, body: bytes) -> None:
        """Send a whole message."""
        for event in (head, h11.Data(data=body), h11.EndOfMessage()):
            self._writer.write(self._connection.send(event) or b"")
        await self._writer.drain()

    async def read_head(self) -> h11.Request | h11.Response:
        """Read the head of a message; interim responses (1xx) are skipped.

        Raises:
            HttpError: it is malformed, too large, or the connection ends before its end.
        """
        room = MAX_HEAD
        while True:
            event = self._next_event("headers")
            if isinstance(event, (h11.Request, h11.Response)):
                return event
            if isinstance(event, h11.InformationalResponse):
                room = MAX_HEAD
            elif event is h11.NEED_DATA and room:
                # Not more than the room that is left: h11 checks its own limit only between two pieces, so a head that
                # is completed by a large piece would pass.
                data = await self._feed(room)
                self.head += data
                room -= len(data)
            elif event is h11.NEED_DATA:
                raise HttpError(431, f"the headers exceed {MAX_HEAD:,} bytes")
            else:
                raise HttpError(400, "the connection ended before the headers did")

    async def read_body(self, headers: Headers, max_bytes: int) -> bytes:
        """Read the body of a message, and decompress it.

        Raises:
            HttpError: it is larger than allowed, cut off, or compressed in an unknown way.
        """
        length = int(headers.get("content-length", 0))  # h11 has refused what is not a number
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
                raise HttpError(400, f"the connection ended before the {part} did") from None
            raise HttpError(problem.error_status_hint, f"malformed HTTP: {problem}") from None


def headers_of(head: h11.Request | h11.Response) -> Headers:
    """Return the headers with names in lower case; the last of several with the same name counts."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in head.headers}


def decompressed(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """Return a body without its gzip or deflate compression, if it has one.

    Raises:
        HttpError: another encoding, damaged data, or more than allowed once it is decompressed.
    """
    if encoding.lower() in ("", "identity"):
        return body
    if encoding.lower() not in ("gzip", "x-gzip", "deflate"):
        raise HttpError(415, f"the content encoding {encoding[:40]!r} is not known; use gzip")
    inflater = zlib.decompressobj(wbits=47)  # 32 + 15: detect gzip and zlib by the header (zlib's manual, inflateInit2)
    try:
        # One byte more than allowed, so that a bomb is noticed without inflating it.
        plain = inflater.decompress(body, max_bytes + 1)
    except zlib.error as problem:
        raise HttpError(400, f"damaged gzip data: {problem}") from None
    if len(plain) > max_bytes:
        raise HttpError(413, f"more than {max_bytes:,} bytes once decompressed")
    if not inflater.eof:
        raise HttpError(400, "the gzip data ends early")
    return plain
