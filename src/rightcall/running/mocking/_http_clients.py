"""Taps in the HTTP clients of Python: httpx, and httpx2, which the SDKs of OpenAI, Anthropic and Google use.

Replaced is `send`, the one public method that every request of a client goes through. It does what it did before
while nothing stands between the agent and its model.
"""

from __future__ import annotations

import datetime
import functools
import importlib
import importlib.util
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

from ._model_recording import ModelAnswer, ModelTap, model_tap
from ._model_requests import ModelRequest, model_request

_CLIENTS = ("httpx", "httpx2")
_TAPPED = "__rightcall_tap__"


def tap_http_clients() -> None:
    """Put the taps in place in the clients that are installed, once."""
    for name in _CLIENTS:
        if importlib.util.find_spec(name) is None:
            continue
        module = importlib.import_module(name)
        _replace(module.Client, functools.partial(_sending, module))
        _replace(module.AsyncClient, functools.partial(_sending_async, module))


def _replace(client: type, make: Callable[[Any], Any]) -> None:
    original = vars(client)["send"]
    if not hasattr(original, _TAPPED):
        made = functools.wraps(original)(make(original))
        setattr(made, _TAPPED, True)
        client.send = made  # type: ignore[attr-defined]


def _sending(module: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    def send(self: Any, request: Any, **options: Any) -> Any:
        tap = model_tap.get()
        asked = _asked(request, request.read()) if tap is not None and request.method == "POST" else None
        if tap is None or asked is None:
            return original(self, request, **options)
        answer = tap.answer(asked)
        if answer is not None:
            return _response(module, request, answer, is_streamed=bool(options.get("stream")))
        request.headers["accept-encoding"] = "identity"
        response = original(self, request, **options)
        if options.get("stream") and not response.is_stream_consumed:  # a transport may have read it already
            response.stream = _tee(module, response, _Kept(module, tap, asked, response))
        else:
            tap.keep(asked, _answer(response, response.content))
        return response

    return send


def _sending_async(module: Any, original: Callable[..., Any]) -> Callable[..., Any]:
    async def send(self: Any, request: Any, **options: Any) -> Any:
        tap = model_tap.get()
        asked = _asked(request, await request.aread()) if tap is not None and request.method == "POST" else None
        if tap is None or asked is None:
            return await original(self, request, **options)
        answer = tap.answer(asked)
        if answer is not None:
            return _response(module, request, answer, is_streamed=bool(options.get("stream")))
        request.headers["accept-encoding"] = "identity"
        response = await original(self, request, **options)
        if options.get("stream") and not response.is_stream_consumed:  # a transport may have read it already
            response.stream = _async_tee(module, response, _Kept(module, tap, asked, response))
        else:
            tap.keep(asked, _answer(response, response.content))
        return response

    return send


def _asked(request: Any, body: bytes) -> ModelRequest | None:
    return model_request(request.method, request.url.path, body)


def _answer(response: Any, content: bytes) -> ModelAnswer:
    return ModelAnswer.of(response.status_code, response.headers.get("content-type", ""), content)


def _response(module: Any, request: Any, answer: ModelAnswer, *, is_streamed: bool) -> Any:
    content = answer.content
    held = {"stream": module.ByteStream(content)} if is_streamed else {"content": content}
    response = module.Response(answer.status, headers=answer.headers, request=request, **held)
    response.elapsed = datetime.timedelta(0)
    return response


class _Kept:
    """The pieces of a stream, kept as one answer when it ends. A client that has read enough closes it early."""

    def __init__(self, module: Any, tap: ModelTap, asked: ModelRequest, response: Any) -> None:
        self._module, self._tap, self._asked, self._response = module, tap, asked, response
        self._pieces: list[bytes] = []
        self._is_done = False

    def add(self, piece: bytes) -> None:
        self._pieces.append(piece)

    def end(self) -> None:
        """Keep what came, once."""
        if self._is_done:
            return
        self._is_done = True
        raw = b"".join(self._pieces)
        # A server may compress although it was asked not to: the client's own decoders read it.
        plain = self._module.Response(200, headers=self._response.headers, content=raw).content
        self._tap.keep(self._asked, _answer(self._response, plain))


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
