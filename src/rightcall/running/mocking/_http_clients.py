"""Taps in the HTTP clients of Python, at the one method that every request of a client goes through.

httpx and httpx2 are under the SDKs of OpenAI, Anthropic, Google and Mistral; urllib3 is under requests and botocore,
which asks Bedrock; aiohttp is under Google's asynchronous client where it is installed; `http.client` is under urllib.
A tap does nothing while nothing stands between the agent and its model, and a client that is not imported is not
imported here: its tap is put in place when it is.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

from ._model_answers import ModelAnswer, ModelTap, model_tap
from ._model_requests import ModelRequest, is_host_of_a_provider, is_of_a_provider, model_request

_TAPPED = "__rightcall_tap__"
_passing: ContextVar[bool] = ContextVar("rightcall_passing", default=False)
"""Whether a request is being passed on: clients are built on one another, and the outermost tap counts."""


class Exchange:
    """A request that a tap is asked about, and the answer to it once there is one."""

    def __init__(self, tap: ModelTap, asked: ModelRequest) -> None:
        self._tap, self._asked = tap, asked

    def answered(self) -> ModelAnswer | None:
        """Return the answer of the tap; None if the model itself is asked."""
        return self._tap.answer(self._asked)

    def keep(self, status: int, kind: str | None, content: bytes) -> None:
        """Have the answer of the model itself kept."""
        self._tap.keep(self._asked, ModelAnswer.of(status, kind or "", content))


def exchange_of(method: str, url: str, body: Callable[[], Any]) -> Exchange | None:
    """Return the exchange that a request begins; None if nothing stands in between, or it is not one to a model."""
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
    """Ask the model itself: what a client asks of another client meanwhile is the same request."""
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
    """Puts the tap of a client in place when the client has been imported."""

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
    """Put the taps in place in the clients that are loaded, and have the others tapped when they are, once."""
    if not any([isinstance(finder, _Loading) for finder in sys.meta_path]):
        sys.meta_path.insert(0, _Loading())
        sys.addaudithook(_see_connection)
    for name in _CLIENTS:
        if name in sys.modules:
            _tap(sys.modules[name])


def _see_connection(event: str, args: tuple[Any, ...]) -> None:
    """Tell the tap of a connection to a provider that no tapped client makes, such as a WebSocket."""
    if event != "socket.getaddrinfo" or (tap := model_tap.get()) is None or _passing.get():
        return
    host = args[0].decode("ascii", "replace") if isinstance(args[0], bytes) else args[0]
    if isinstance(host, str) and is_host_of_a_provider(host):
        tap.see_connection(host)


def _tap(module: Any) -> None:
    from ._client_taps import TAPS

    TAPS[module.__name__](module)
