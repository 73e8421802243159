"""Checks of every request before it is answered, and headers of every answer."""

from __future__ import annotations

import sys
import traceback

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rightcall.reporting.reports import printable

from ._access import Hosts, Token

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
