"""Who may ask: under which names the viewer is reached, and the token that opens it."""

from __future__ import annotations

import hmac
import re
import secrets
from ipaddress import ip_address

import msgspec

from rightcall.errors import ViewerError

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not bound to
"""The wildcard addresses, each with a loopback address to open instead."""
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::(\d{1,5}))?")
_SHORTEST = 16
_LONGEST = 1024


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
