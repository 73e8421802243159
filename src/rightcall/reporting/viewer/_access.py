"""Who may ask: under which names the viewer is reached, and the token that opens it."""

from __future__ import annotations

import hmac
import re
import secrets
import sys
import traceback
from ipaddress import ip_address

import msgspec
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rightcall.errors import ViewerError
from rightcall.reporting.reports import printable

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not bound to
"""The wildcard addresses, each with a loopback address to open instead."""
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::(\d{1,5}))?")
_SHORTEST = 16
_LONGEST = 1024
COOKIE = "rightcall-view"
LOGIN = "/login"
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_READING = ("GET", "HEAD")
# Fetch Metadata: browsers say which site made a request. "none" is the address bar or a bookmark.
_OWN_SITE = ("same-origin", "none")
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    '<meta name="viewport" content="width=device-width"><title>Rightcall</title><main>{}</main></html>'
)
_FROM_ELSEWHERE = _PAGE.format(
    "<h1>Opened from another site</h1><p>Another page led here. It can neither see nor change anything, "
    'but nothing is shown at its word.</p><p><a href="">Show the page</a></p>'
)
_ASK_TOKEN = _PAGE.format(
    f'<h1>Rightcall</h1><form method="post" action="{LOGIN}">'
    '<p><label>Token <input type="password" name="token" required autofocus autocomplete="current-password"></label> '
    "<button>Open</button></p></form>"
)


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


class Guard:
    """Everything that is served, behind the questions that every request has to answer.

    The `Host` must be one of ours, or 400; the `Origin` ours or not there, and the request not made for another site,
    or 403; the method one that reads, or 405; the token known, where there is one, or 401. WebSockets are refused. No
    answer lets another site read it, whatever it is.
    """

    def __init__(self, app: ASGIApp, hosts: Hosts, token: Token | None = None) -> None:
        self.app = app
        self._hosts = hosts
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        if scope["type"] != "http":
            return
        answer = Answer(send)
        try:
            await (self._refusal(scope) or self.app)(scope, receive, answer)
        except Exception:  # noqa: BLE001 - one request fails, which is a defect of ours; the others go on
            print(printable(traceback.format_exc()), file=sys.stderr)
            if not answer.has_begun:
                text = "this is a defect in Rightcall; the terminal that it was started from says more\n"
                await PlainTextResponse(text, 500)(scope, receive, answer)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        # Against DNS rebinding: a site that points its name at 127.0.0.1 still sends its own name.
        if len(given := headers.getlist("host")) != 1 or not self._hosts.allows(given[0]):
            return PlainTextResponse("this name is not the viewer's\n", 400)
        if not all(map(self._hosts.allows_origin, headers.getlist("origin"))) or "upgrade" in headers:
            return PlainTextResponse("requests of other sites are not answered\n", 403)
        if headers.get("sec-fetch-site", "none") not in _OWN_SITE:
            return HTMLResponse(_FROM_ELSEWHERE, 403)
        is_login = self._token is not None and scope["method"] == "POST" and scope["path"] == LOGIN
        if scope["method"] not in _READING and not is_login:
            return PlainTextResponse("the viewer only shows\n", 405, {"allow": ", ".join(_READING)})
        return None if is_login or self._is_known(headers) else token_wanted()

    def _is_known(self, headers: Headers) -> bool:
        if self._token is None:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._token.is_token(given.strip()):
            return True
        return self._token.is_cookie(cookie_parser(headers.get("cookie", "")).get(COOKIE, ""))


class Answer:
    """Where an answer is sent, with the headers that every answer has, and none that opens it to others."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        """Send a part of it."""
        if message["type"] == "http.response.start":
            self.has_begun = True
            MutableHeaders(scope=message).update(_HEADERS)
        await self._send(message)


def token_wanted() -> Response:
    """Return the page that asks for the token."""
    return HTMLResponse(_ASK_TOKEN, 401, {"www-authenticate": 'Bearer realm="rightcall"'})
