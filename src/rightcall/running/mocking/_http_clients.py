"""Patches of Python's HTTP clients that route requests to models through a tap.

The SDKs of OpenAI, Anthropic, Google and Mistral use httpx or httpx2; requests and botocore (for Bedrock) use urllib3;
Google's asynchronous client uses aiohttp if it is installed; urllib uses `http.client`. The patches do nothing while
there is no tap. No client is imported here: a client is patched when the agent imports it.

A response that httpx streams is recorded while it is read. Other clients get the response when it is complete.
"""

from __future__ import annotations

import datetime
import functools
import inspect
import io
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import SimpleNamespace
from typing import Any

from rightcall.running.tracing import bound

from ._model_answers import (
    ModelAnswer,
    ModelRequest,
    ModelTap,
    is_host_of_a_provider,
    is_of_a_provider,
    model_request,
    model_tap,
)

_TAPPED = "__rightcall_tap__"
_passing: ContextVar[bool] = ContextVar("rightcall_passing", default=False)
"""Whether a request is being sent to the real model: clients use one another, and only the outermost is tapped."""
_REWRITTEN = frozenset({"content-encoding", "content-length", "transfer-encoding"})
"""Headers about how the content was transferred, which no longer apply: it is passed on decoded and as a whole."""
_REASON = "recorded"
"""The reason phrase in responses from a recording; any string is allowed (RFC 9112, section 4)."""


class Exchange:
    """A request to a model, and the tap that answers it or records its answer."""

    def __init__(self, tap: ModelTap, asked: ModelRequest) -> None:
        self._tap, self._asked = tap, asked

    def answered(self) -> ModelAnswer | None:
        """Return the answer of the tap; None to send the request to the real model."""
        return self._tap.answer(self._asked)

    def keep(self, status: int, kind: str | None, content: bytes) -> None:
        """Let the tap record the answer of the real model."""
        self._tap.keep(self._asked, ModelAnswer.of(status, kind or "", content))


def exchange_of(method: str, url: str, body: Callable[[], Any]) -> Exchange | None:
    """Return the exchange of a request; None if there is no tap, or it is not a request to a model."""
    tap = model_tap.get()
    if tap is None or _passing.get():
        return None
    is_any = is_of_a_provider(url)
    if method.upper() != "POST" and not is_any:
        return None
    content = body()
    content = content.encode() if isinstance(content, str) else content
    whole = bytes(content) if isinstance(content, (bytes, bytearray)) else b""
    path = "/" + url.partition("://")[2].partition("/")[2] if "://" in url else url
    asked = model_request(method.upper(), path, whole, is_any=is_any)
    return None if asked is None else Exchange(tap, asked)


@contextmanager
def passed_on() -> Iterator[None]:
    """Send a request to the real model: calls of other clients during the block are part of the same request."""
    token = _passing.set(True)
    try:
        yield
    finally:
        _passing.reset(token)


def replace(kind: type, name: str, make: Callable[[Any], Any]) -> None:
    """Replace a method of a class, once."""
    original = vars(kind)[name]
    if not hasattr(original, _TAPPED):
        made = functools.wraps(original)(make(original))
        setattr(made, _TAPPED, True)
        setattr(kind, name, made)


_CLIENTS = ("httpx", "httpx2", "urllib3", "http.client", "aiohttp")


class _Loading(MetaPathFinder):
    """An import hook that patches a client when it is imported."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname in _CLIENTS else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            _tap(module)

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def tap_http_clients() -> None:
    """Patch the clients that are imported, and install a hook, once, that patches others when they are imported."""
    if not any([isinstance(finder, _Loading) for finder in sys.meta_path]):
        sys.meta_path.insert(0, _Loading())
        sys.addaudithook(_see_connection)
    for name in _CLIENTS:
        if name in sys.modules:
            _tap(sys.modules[name])


def _see_connection(event: str, args: tuple[Any, ...]) -> None:
    """Report a connection to a provider by a client that is not tapped, such as a WebSocket, to the tap."""
    if event != "socket.getaddrinfo" or (tap := model_tap.get()) is None or _passing.get():
        return
    host = args[0].decode("ascii", "replace") if isinstance(args[0], bytes) else args[0]
    if isinstance(host, str) and is_host_of_a_provider(host):
        tap.see_connection(host)


def _tap(module: Any) -> None:

    TAPS[module.__name__](module)


def _tap_httpx(module: Any) -> None:
    """Tap `send` of httpx and httpx2, through which all requests go, streamed or not."""
    replace(module.Client, "send", functools.partial(_sending, module))
    replace(module.AsyncClient, "send", functools.partial(_sending_async, module))


def _sending(module: Any, original: Any) -> Callable[..., Any]:
    def send(self: Any, request: Any, **options: Any) -> Any:
        exchange = exchange_of(request.method, str(request.url), request.read)
        if exchange is None:
            return bound(original, self)(request, **options)
        answer = exchange.answered()
        if answer is not None:
            return _response(module, request, answer, is_streamed=bool(options.get("stream")))
        request.headers["accept-encoding"] = "identity"
        with passed_on():
            response = bound(original, self)(request, **options)
        if options.get("stream") and not response.is_stream_consumed:  # a transport may have read it already
            response.stream = _tee(module, response, _Kept(module, exchange, response))
        else:
            exchange.keep(response.status_code, response.headers.get("content-type"), response.content)
        return response

    return send


def _sending_async(module: Any, original: Any) -> Callable[..., Any]:
    async def send(self: Any, request: Any, **options: Any) -> Any:
        content = await request.aread() if model_tap.get() is not None else b""
        exchange = exchange_of(request.method, str(request.url), lambda: content)
        if exchange is None:
            return await bound(original, self)(request, **options)
        answer = exchange.answered()
        if answer is not None:
            return _response(module, request, answer, is_streamed=bool(options.get("stream")))
        request.headers["accept-encoding"] = "identity"
        with passed_on():
            response = await bound(original, self)(request, **options)
        if options.get("stream") and not response.is_stream_consumed:  # a transport may have read it already
            response.stream = _async_tee(module, response, _Kept(module, exchange, response))
        else:
            exchange.keep(response.status_code, response.headers.get("content-type"), response.content)
        return response

    return send


def _response(module: Any, request: Any, answer: ModelAnswer, *, is_streamed: bool) -> Any:
    content = answer.content
    body = {"stream": module.ByteStream(content)} if is_streamed else {"content": content}
    response = module.Response(answer.status, headers=answer.headers, request=request, **body)
    response.elapsed = datetime.timedelta(0)
    return response


class _Kept:
    """Collects the pieces of a stream, and records them when it ends or when the client closes it early."""

    def __init__(self, module: Any, exchange: Exchange, response: Any) -> None:
        self._module, self._exchange, self._response = module, exchange, response
        self._pieces: list[bytes] = []
        self._is_done = False

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)

    def end(self) -> None:
        """Record what was received, once."""
        if self._is_done:
            return
        self._is_done = True
        raw, headers = b"".join(self._pieces), self._response.headers
        # A server may compress although it was asked not to: the client's own decoders decompress it.
        plain = self._module.Response(200, headers=headers, content=raw).content
        self._exchange.keep(self._response.status_code, headers.get("content-type"), plain)


def _tee(module: Any, response: Any, kept: _Kept) -> Any:
    source = response.stream

    class Tee(module.SyncByteStream):  # type: ignore[misc]
        def __iter__(self) -> Iterator[bytes]:
            for piece in source:
                kept.add(piece)
                yield piece
            kept.end()

        def close(self) -> None:
            kept.end()
            source.close()

    return Tee()


def _async_tee(module: Any, response: Any, kept: _Kept) -> Any:
    source = response.stream

    class Tee(module.AsyncByteStream):  # type: ignore[misc]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in source:
                kept.add(piece)
                yield piece
            kept.end()

        async def aclose(self) -> None:
            kept.end()
            await source.aclose()

    return Tee()


def _tap_urllib3(module: Any) -> None:
    """Tap `urlopen` of urllib3's connection pools, which requests and botocore use as well."""

    def opening(original: Any) -> Callable[..., Any]:
        names = list(inspect.signature(original).parameters)[1:]

        def urlopen(self: Any, method: str, url: str, *args: Any, **options: Any) -> Any:
            given = {**dict(zip(names[2:], args, strict=False)), **options}
            exchange = exchange_of(method, _url(self.scheme, self.host, self.port, url), lambda: given.get("body"))
            if exchange is None:
                return bound(original, self)(method, url, *args, **options)
            whole = {"preload_content": given.get("preload_content", True), "request_method": method}
            make = functools.partial(module.response.HTTPResponse, **whole, request_url=url, version=11)
            answer = exchange.answered()
            if answer is not None:
                return make(
                    body=io.BytesIO(answer.content),
                    headers=answer.headers,
                    status=answer.status,
                    reason=_REASON,
                )
            with passed_on():
                live = bound(original, self)(method, url, **{**given, "preload_content": False})
                content = live.read(decode_content=True)
            exchange.keep(live.status, live.headers.get("content-type"), content)
            headers, retries = _whole(live.headers), getattr(live, "retries", None)
            return make(
                body=io.BytesIO(content), headers=headers, status=live.status, reason=live.reason, retries=retries
            )

        return urlopen

    replace(module.connectionpool.HTTPConnectionPool, "urlopen", opening)


def _tap_http_client(module: Any) -> None:
    """Tap `request` and `getresponse` of connections of `http.client`, which urllib uses."""

    def requesting(original: Any) -> Callable[..., Any]:
        def request(self: Any, method: str, url: str, body: Any = None, *args: Any, **options: Any) -> None:
            scheme = "https" if isinstance(self, module.HTTPSConnection) else "http"
            host, port = getattr(self, "_tunnel_host", None) or self.host, getattr(self, "_tunnel_port", None)
            exchange = exchange_of(method, _url(scheme, host, port or self.port, url), lambda: body)
            answer = exchange.answered() if exchange is not None else None
            self.__dict__[_PENDING] = (exchange, answer)
            if answer is None:
                bound(original, self)(method, url, body, *args, **options)

        return request

    def responding(original: Any) -> Callable[..., Any]:
        def getresponse(self: Any) -> Any:
            exchange, answer = self.__dict__.pop(_PENDING, (None, None))
            if answer is not None:
                return _parsed(module, answer.status, _REASON, answer.headers, answer.content)
            live = bound(original, self)()
            if exchange is None:
                return live
            content = live.read()
            exchange.keep(live.status, live.headers.get("content-type"), content)
            return _parsed(module, live.status, live.reason, dict(live.headers), content)

        return getresponse

    replace(module.HTTPConnection, "request", requesting)
    replace(module.HTTPConnection, "getresponse", responding)


_PENDING = "__rightcall_exchange__"


class _Wire:
    """Stands for a socket, from which `http.client` reads a response."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._content)


def _parsed(module: Any, status: int, reason: str, headers: Mapping[str, str], content: bytes) -> Any:
    """Return a response of `http.client`, made by its own parser because there is no constructor for it."""
    lines = [f"{name}: {value}" for name, value in {**_whole(headers), "Content-Length": len(content)}.items()]
    head = "\r\n".join([f"HTTP/1.1 {status} {reason}", *lines, "", ""])
    response = module.HTTPResponse(_Wire(head.encode("latin-1", "replace") + content))
    response.begin()
    return response


def _tap_aiohttp(module: Any) -> None:
    """Tap `_request` of aiohttp's sessions, which every public method awaits."""

    def requesting(original: Any) -> Callable[..., Any]:
        async def _request(self: Any, method: str, str_or_url: Any, **options: Any) -> Any:
            url = self._build_url(str_or_url)
            exchange = exchange_of(method, str(url), lambda: _aiohttp_body(options))
            if exchange is None:
                return await bound(original, self)(method, str_or_url, **options)
            answer = exchange.answered()
            if answer is None:
                with passed_on():
                    response = await bound(original, self)(method, str_or_url, **options)
                    content = await response.read()
                exchange.keep(response.status, response.headers.get("content-type"), content)
                response.content = _aiohttp_stream(module, content)
                return response
            made = _aiohttp_response(module, self, method, url, answer)
            wanted = options.get("raise_for_status")
            wanted = self._raise_for_status if wanted is None else wanted
            if callable(wanted):
                await wanted(made)
            elif wanted:
                made.raise_for_status()
            return made

        return _request

    replace(module.ClientSession, "_request", requesting)


def _aiohttp_body(options: Mapping[str, Any]) -> Any:
    value = options.get("json")
    return options.get("data") if value is None else json.dumps(value)


def _aiohttp_response(module: Any, session: Any, method: str, url: Any, answer: ModelAnswer) -> Any:
    """Return a response of aiohttp without a connection. The parameters of its constructor differ between versions."""
    import asyncio

    multidict = sys.modules["multidict"]  # aiohttp's own dependency, loaded by now
    headers = multidict.CIMultiDictProxy(
        multidict.CIMultiDict({**answer.headers, "content-length": str(len(answer.content))})
    )
    info = module.RequestInfo(url, method, headers, url)
    known: dict[str, Any] = {"request_info": info, "traces": [], "loop": asyncio.get_running_loop(), "session": session}
    known["stream_writer"] = SimpleNamespace(output_size=0)
    names = list(inspect.signature(module.ClientResponse.__init__).parameters)[3:]
    made = module.ClientResponse(method, url, **{name: known.get(name) for name in names})
    made.status, made.reason = answer.status, _REASON
    made._headers, made._raw_headers = headers, ()
    made.content = _aiohttp_stream(module, answer.content)
    return made


def _aiohttp_stream(module: Any, content: bytes) -> Any:
    import asyncio

    loop = asyncio.get_running_loop()
    protocol = module.client_proto.ResponseHandler(loop=loop)
    stream = module.StreamReader(protocol, limit=max(len(content), 1), loop=loop)
    stream.feed_data(content)
    stream.feed_eof()
    return stream


def _url(scheme: str, host: str, port: int | None, target: str) -> str:
    """Return the URL of a request, without the default port."""
    if "://" in target:
        return target
    is_usual = port in (None, 443 if scheme == "https" else 80)
    return f"{scheme}://{host}{'' if is_usual else f':{port}'}{target}"


def _whole(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name.lower() not in _REWRITTEN}


TAPS: dict[str, Callable[[Any], None]] = {
    "httpx": _tap_httpx,
    "httpx2": _tap_httpx,
    "urllib3": _tap_urllib3,
    "http.client": _tap_http_client,
    "aiohttp": _tap_aiohttp,
}
