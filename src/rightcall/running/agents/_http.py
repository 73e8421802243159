"""As much of HTTP/1.1 as a private receiver and a client of endpoints need, on asyncio's streams."""

from __future__ import annotations

import asyncio
import zlib
from typing import NamedTuple

MAX_HEAD = 64 * 1024


class HttpError(Exception):
    """A message that cannot be taken; `status` is what a server answers it with."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Head(NamedTuple):
    """The first line of a message, split at spaces, and its headers with names in lower case."""

    first: tuple[str, str, str]
    headers: dict[str, str]


async def read_head(reader: asyncio.StreamReader) -> Head:
    """The head of a message.

    Of a header that comes twice the last counts, but two lengths that differ are refused.

    Raises:
        HttpError: it is malformed, too large, or the connection ends before its end.
    """
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError:
        raise HttpError(431, f"the headers exceed {MAX_HEAD:,} bytes") from None
    except asyncio.IncompleteReadError:
        raise HttpError(400, "the connection ended before the headers did") from None
    line, *fields = raw.decode("latin-1").split("\r\n")[:-2]
    first = (*line.split(" ", 2), "", "")[:3]
    headers: dict[str, str] = {}
    for field in fields:
        name, colon, value = field.partition(":")
        key, value = name.strip().lower(), value.strip()
        if not colon or name != name.strip() or (key == "content-length" and headers.get(key, value) != value):
            raise HttpError(400, "a malformed header")
        headers[key] = value
    return Head((first[0], first[1], first[2]), headers)


async def read_body(
    reader: asyncio.StreamReader, headers: dict[str, str], max_bytes: int, *, to_the_end: bool = False
) -> bytes:
    """The body of a message: in chunks, of the length given, or (if `to_the_end`) whatever comes.

    Raises:
        HttpError: it is larger than allowed, cut off, or packed in a way that is not known.
    """
    try:
        if "chunked" in headers.get("transfer-encoding", "").lower():
            body = await _read_chunks(reader, max_bytes)
        elif "content-length" in headers:
            body = await reader.readexactly(_length(headers["content-length"], 10, max_bytes))
        else:
            body = await _read_all(reader, max_bytes) if to_the_end else b""
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
        raise HttpError(400, "the connection ended before the body did") from None
    return inflated(body, headers.get("content-encoding", ""), max_bytes)


def inflated(body: bytes, encoding: str, max_bytes: int) -> bytes:
    """A body without its gzip packing, if it has one.

    Raises:
        HttpError: another packing, damaged data, or more than allowed once it is inflated.
    """
    if encoding.lower() in ("", "identity"):
        return body
    if encoding.lower() not in ("gzip", "x-gzip", "deflate"):
        raise HttpError(415, f"the content encoding {encoding[:40]!r} is not known; use gzip")
    inflater = zlib.decompressobj(wbits=47)
    try:
        plain = inflater.decompress(body, max_bytes + 1)
    except zlib.error as problem:
        raise HttpError(400, f"damaged gzip data: {problem}") from None
    if len(plain) > max_bytes:
        raise HttpError(413, f"more than {max_bytes:,} bytes once inflated")
    if not inflater.eof:
        raise HttpError(400, "the gzip data ends early")
    return plain


async def _read_chunks(reader: asyncio.StreamReader, max_bytes: int) -> bytes:
    body = bytearray()
    while True:
        line = await reader.readuntil(b"\n")
        size = _length(line.split(b";")[0].strip().decode("latin-1"), 16, max_bytes - len(body))
        if size == 0:
            while (await reader.readuntil(b"\n")).strip():
                pass
            return bytes(body)
        body += await reader.readexactly(size)
        await reader.readexactly(2)


async def _read_all(reader: asyncio.StreamReader, max_bytes: int) -> bytes:
    body = bytearray()
    while piece := await reader.read(1 << 16):
        body += piece
        if len(body) > max_bytes:
            raise HttpError(413, f"more than {max_bytes:,} bytes")
    return bytes(body)


def _length(text: str, base: int, max_bytes: int) -> int:
    if not text.isalnum() or len(text) > 16:
        raise HttpError(400, "a malformed length")
    try:
        size = int(text, base)
    except ValueError:
        raise HttpError(400, "a malformed length") from None
    if size > max_bytes:
        raise HttpError(413, f"{size:,} bytes are more than allowed")
    return size
