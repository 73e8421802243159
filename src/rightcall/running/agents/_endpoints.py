"""Agents behind an HTTP endpoint: a request is posted as JSON, the answer is the body of the response."""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
from urllib.parse import SplitResult, urlsplit

import msgspec

from rightcall.errors import AgentError, shown

from ._agent import AgentAnswer, AgentOptions, AgentRequest, answer_from, request_json, traceparent_of
from ._http import MAX_HEAD, Head, HttpError, read_body, read_head
from ._receiver import TOKEN_HEADER, Receiver, receiving

ENDPOINT_HEADER = "x-rightcall-otlp-endpoint"
_FORBIDDEN = ("\r", "\n", "\0")


class EndpointAgent:
    """An endpoint that is sent every request, one connection each.

    Nothing but the address named is connected to: redirects are errors, proxies are not used. An endpoint on this
    machine is told where it may send its spans.
    """

    is_async = True

    def __init__(self, url: str, options: AgentOptions) -> None:
        self._url = _checked(url)
        self._options = options
        self._host = self._url.hostname or ""
        for name, value in options.headers.items():
            if any([mark in f"{name}{value}" for mark in _FORBIDDEN]) or ":" in name:
                raise AgentError(f"the header {name!r:.80} has a line break or a colon in it")

    async def answer(self, request: AgentRequest) -> AgentAnswer:
        """What the endpoint responds, and the spans it sent before it did.

        Raises:
            AgentError: it cannot be reached, responds with a status of 300 or more, with too much, or not in time.
        """
        request = msgspec.structs.replace(request, traceparent=traceparent_of(request))
        try:
            async with receiving(self._options.max_bytes) as receiver, asyncio.timeout(self._options.timeout):
                body = await self._post(request_json(request), self._headers(request, receiver))
                return answer_from(body, await receiver.documents(), self._options.max_bytes)
        except TimeoutError:
            raise AgentError(f"{self._told()} gave no answer within {self._options.timeout:g} s") from None
        except HttpError as problem:
            raise AgentError(f"{self._told()} responded with what is no HTTP, or too much of it: {problem}") from None
        except OSError as problem:
            raise AgentError(f"{self._told()} cannot be reached: {problem.strerror or problem}") from None

    def close(self) -> None:
        """Nothing is held between requests."""

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

    async def _post(self, said: bytes, headers: dict[str, str]) -> bytes:
        secure = ssl.create_default_context() if self._url.scheme == "https" else None
        port = self._url.port or (443 if secure else 80)
        reader, writer = await asyncio.open_connection(self._host, port, ssl=secure, limit=MAX_HEAD)
        try:
            target = (self._url.path or "/") + (f"?{self._url.query}" if self._url.query else "")
            lines = [f"POST {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
            head = "\r\n".join([*lines, f"content-length: {len(said)}", "", ""])
            writer.write(head.encode("utf-8") + said)
            await writer.drain()
            return await self._response(reader)
        finally:
            writer.close()

    async def _response(self, reader: asyncio.StreamReader) -> bytes:
        head = await read_head(reader)
        while head.first[1].startswith("1"):
            head = await read_head(reader)
        status = _status(head)
        body = await read_body(reader, head.headers, self._options.max_bytes, to_the_end=status not in (204, 304))
        if 300 <= status < 400:
            raise AgentError(
                f"{self._told()} redirects to {head.headers.get('location', 'nowhere')!r:.200}, which is not followed; "
                f"name that address if it is meant"
            )
        if status >= 400:
            beginning = " ".join(body[:1000].decode("utf-8", "replace").split())
            raise AgentError(f"{self._told()} responded with status {status}: {beginning[:200]!r}")
        return body

    def _told(self) -> str:
        """The address without a query, which may have a key in it."""
        return self._url._replace(query="", fragment="").geturl()


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as problem:
        raise AgentError(f"{url!r:.200} is no address of an endpoint: {problem}") from None
    if not parts.hostname or port == 0 or any([character <= " " for character in url]):
        raise AgentError(f"{url!r:.200} is no address of an endpoint; one is http://127.0.0.1:8000/answer")
    if parts.username is not None:
        raise AgentError("an address with a user name in it is not used; give an authorization header instead")
    return parts


def _status(head: Head) -> int:
    version, status, _ = head.first
    if not version.startswith("HTTP/1") or not (status.isdecimal() and len(status) == 3):
        raise HttpError(400, f"its first line is {shown(' '.join(head.first))}")
    return int(status)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
