"""The viewer as a server: an address to listen at, who may ask there, and connections that end."""

from __future__ import annotations

import asyncio
import errno
import hmac
import re
import secrets
import socket
from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import h11
import msgspec
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from rightcall.errors import ViewerError

_WAITING = 128
PORT = 8732
"""The default port of the viewer."""
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not bound to
"""The wildcard addresses, each with a loopback address to open instead."""
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::(\d{1,5}))?")
_SHORTEST = 16
_LONGEST = 1024
_SECONDS_FOR_A_HEAD = 5.0
_MOST_WAITING = 50


class Listener:
    """An address that is bound before it is announced.

    Args:
        host: An address or a name; any but a loopback address needs a token.
        port: `None` means the default port, or a free one if that is taken; 0 means any free one.
        has_token: Whether readers need a token.

    Raises:
        ViewerError: the address is not one of this machine, is taken, or would be open to the network.
    """

    def __init__(self, host: str, port: int | None = None, *, has_token: bool = False) -> None:
        if not is_loopback(host) and not has_token:
            raise ViewerError(
                f"--host {host}: others than you can reach this address; give --token, or a file with --token-file"
            )
        self._socket = _bound(host, port)
        self.hosts = Hosts(host, self._socket.getsockname()[1])

    @property
    def url(self) -> str:
        """Where a browser on this machine finds it."""
        host = ANY.get(self.hosts.host, self.hosts.host)
        return f"http://{in_url(host)}:{self.hosts.port}/"

    def serve(self, app: Callable[..., object], started: Callable[[], None]) -> None:
        """Answer until the process is interrupted or asked to end. `started` is called when it begins to."""
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level="error",
            access_log=False,
            lifespan="off",
            ws="none",
            http=Connection,
            loop="asyncio",
            proxy_headers=False,  # a request must not be able to claim another address for itself
            server_header=False,
            timeout_graceful_shutdown=1,
            limit_concurrency=100,
        )
        server = uvicorn.Server(config)
        self._socket.listen(_WAITING)
        try:
            started()
            server.run(sockets=[self._socket])
        except KeyboardInterrupt:
            return  # Ctrl-C is how a user stops the viewer

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def _bound(host: str, port: int | None) -> socket.socket:
    if port is not None:
        return _bound_to(host, port)
    try:
        return _bound_to(host, PORT)
    except ViewerError:
        return _bound_to(host, 0)


def _bound_to(host: str, port: int) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, kind, protocol)
    except (OSError, UnicodeError) as problem:
        raise ViewerError(f"--host {host}: {getattr(problem, 'strerror', None) or problem}") from None
    try:
        # Otherwise the port cannot be bound for a minute after the viewer ended (TIME_WAIT).
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError as problem:
        made.close()
        blamed = f"--host {host}" if problem.errno == errno.EADDRNOTAVAIL else f"--port {port}"
        raise ViewerError(f"{blamed}: {problem.strerror or problem}") from None
    return made


def is_loopback(host: str) -> bool:
    """Return whether an address reaches this machine only. A name other than `localhost` may mean anything."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class Hosts(msgspec.Struct, frozen=True):
    """The names under which the viewer answers, as a defence against DNS rebinding.

    Under any other name a web site could point its own name at this machine and read the answers as its own. A numeric
    address cannot be such a name, so when the viewer listens on all addresses, all of them are accepted, with any port:
    containers are reached through another one.
    """

    host: str
    port: int

    def allows(self, given: str) -> bool:
        """Return whether a `Host` header names this viewer."""
        found = _HOST.fullmatch(given)
        if found is None:
            return False
        name, port = found[1].lower(), int(found[2] or 80)
        if self.host in ANY:
            return name in _LOOPBACK or _is_address(name)
        return port == self.port and name in (*_LOOPBACK, in_url(self.host).lower())

    def allows_origin(self, given: str) -> bool:
        """Return whether an `Origin` header is that of the viewer's own pages."""
        scheme, _, host = given.partition("://")
        return scheme in ("http", "https") and self.allows(host)


class Token:
    """The token that opens the viewer, and the cookie of browsers that have shown it.

    The cookie is random, not the token, and is worthless once this process has ended.

    Raises:
        ViewerError: the token is too short to be hard to guess, or cannot be sent in a header.
    """

    def __init__(self, text: str) -> None:
        if not _SHORTEST <= len(text) <= _LONGEST or not text.isascii() or not text.isprintable() or " " in text:
            raise ViewerError(f"a token has {_SHORTEST} to {_LONGEST:,} ASCII characters, and no spaces among them")
        self._text = text.encode()
        self.cookie = secrets.token_urlsafe(32)

    def is_token(self, given: str) -> bool:
        """Return whether this is the token, in a time that does not depend on how much of it is right."""
        return hmac.compare_digest(given.encode(errors="replace"), self._text)

    def is_cookie(self, given: str) -> bool:
        """Return whether this is the cookie, in constant time too."""
        return hmac.compare_digest(given.encode(errors="replace"), self.cookie.encode())


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(24)


def in_url(host: str) -> str:
    """Return an address as it is written in a URL."""
    return f"[{host}]" if ":" in host else host


def _is_address(name: str) -> bool:
    try:
        ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True


class Connection(H11Protocol):
    """A connection that closes if the head of a request does not arrive in time.

    uvicorn has no timeout for a request's head, and counts the connection towards `limit_concurrency`: a hundred
    half-sent requests ("slow loris") would block everyone else. So a connection without a complete head is closed
    after a while, and the one that has waited longest when there are too many.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def _is_waiting(self) -> bool:
        return self.conn.their_state is h11.IDLE

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request, instead of the connection that has waited longest if there are too many."""
        super().connection_made(transport)
        self._wait()
        waiting = [each for each in self.connections if isinstance(each, Connection) and each._is_waiting]
        if len(waiting) > _MOST_WAITING:
            min(waiting, key=Connection._waits_until)._give_up()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        super().connection_lost(exc)
        if self._deadline is not None:
            self._deadline.cancel()

    def _wait(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(_SECONDS_FOR_A_HEAD, self._give_up)

    def _waits_until(self) -> float:
        return self._deadline.when() if self._deadline is not None else 0.0

    def _give_up(self) -> None:
        if self._is_waiting:
            # `connection_lost` runs one turn of the loop later; until then new connections would all abort this one.
            self.connections.discard(self)
            self.transport.abort()
