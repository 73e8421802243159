"""Agents behind an HTTP endpoint: a request is posted as JSON, the answer is the body of the response."""

from __future__ import annotations

import asyncio
import ipaddress
import ssl
import string
from urllib.parse import SplitResult, quote, urlsplit

import h11
import msgspec

from rightcall.errors import AgentError

from ._agent import AgentAnswer, AgentOptions, AgentRequest, answer_from, request_json, traceparent_of
from ._http import MAX_HEAD, TOKEN_HEADER, HttpError, HttpStream, Receiver, headers_of, receiving

ENDPOINT_HEADER = "x-rightcall-otlp-endpoint"
_SMALL = 1000


class EndpointAgent:
    """An endpoint that gets every request on a new connection.

    Only the given address is connected to: redirects are errors, and proxies are not used. An endpoint on this machine
    gets the address to which it may send its spans.
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
            AgentError: it cannot be reached, responds with a status of 300 or more, with too much, or not in time.
        """
        request = msgspec.structs.replace(request, traceparent=traceparent_of(request))
        try:
            async with receiving(self._options.max_bytes) as receiver, asyncio.timeout(self._options.timeout):
                body = await self._post(request_json(request), self._headers(request, receiver))
                return answer_from(body, await receiver.documents(), self._options.max_bytes)
        except TimeoutError:
            raise AgentError(f"{self._address()} gave no answer within {self._options.timeout:g} s") from None
        except HttpError as problem:
            raise AgentError(f"the response of {self._address()} is not valid HTTP, or too large: {problem}") from None
        except OSError as problem:
            raise AgentError(f"{self._address()} cannot be reached: {problem.strerror or problem}") from None

    def close(self) -> None:
        """Do nothing: nothing is held between requests."""

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
        """Return the address without its query, which may have a key in it."""
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
