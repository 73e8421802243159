"""The viewer as a server: an address to listen at, and the loop that answers."""

from __future__ import annotations

import errno
import socket
from collections.abc import Callable

from rightcall.errors import ViewerError

from ._access import ANY, Hosts, in_url, is_loopback

_WAITING = 128
PORT = 8732
"""The default port of the viewer."""


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
        import uvicorn

        from ._connection import Connection

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
