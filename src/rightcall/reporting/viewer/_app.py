"""The viewer's web application: its routes and handlers, access control, and the address it listens on."""

from __future__ import annotations

import asyncio
import errno
import hmac
import re
import secrets
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from threading import Lock
from typing import Any
from urllib.parse import parse_qs

import h11
import msgspec
import uvicorn
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from rightcall.errors import RightcallError, StoreError, ViewerError
from rightcall.reporting.pages import Crumb, Links, MessagePage, message_html, script, stylesheet
from rightcall.reporting.reports import printable

from ._edit_view import ACTIONS, EditSession, Proposal, edit_page
from ._library import Library
from ._paths_view import shown_paths
from ._run_view import shown_case, shown_mutants, shown_run, tool_page
from ._runs_view import MOST_RUNS, compare_page, runs_page, shown_search, shown_trends

_LINKS = Links()
_CANNOT_BE_READ = 422
_CHANGED = 409
_MOST_BODY = 4_096
_MOST_FORM = 16_384
_Page = Callable[[Request], str | Response | None]
COOKIE = "rightcall-view"
LOGIN = "/login"
UNDO = "/undo"
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
_OWN_PAGE = re.compile(r"/(?:runs/[\w.-]+(?:/cases/[\w.-]+)?|compare)(?:\?[\w.%&=+~*-]*)?", re.A)
# Fetch Metadata: browsers send which site made a request. "none" is the address bar or a bookmark.
_OWN_SITE = ("same-origin", "none")
_PAGE = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
    '<meta name="viewport" content="width=device-width"><title>Rightcall</title><main>{}</main></html>'
)
_FROM_ELSEWHERE = _PAGE.format(
    "<h1>Opened from another site</h1><p>A link or script of another site led here. That site can neither see "
    'nor change anything, but the page is shown only if you ask for it.</p><p><a href="">Show the page</a></p>'
)
_ASK_TOKEN = _PAGE.format(
    f'<h1>Rightcall</h1><form method="post" action="{LOGIN}">'
    '<p><label>Token <input type="password" name="token" required autofocus autocomplete="current-password"></label> '
    "<button>Open</button></p></form>"
)
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


def make_app(library: Library, hosts: Hosts, token: Token | None = None, session: EditSession | None = None) -> Guard:
    """Return the viewer as an ASGI application for these host names, with or without a token.

    Without a session for edits, its pages offer none.
    """
    site = _Site(library, session)
    routes = [
        Route("/", site.page(site.runs)),
        Route("/runs/{run}", site.page(site.run)),
        Route("/runs/{run}/cases/{key}", site.page(site.case)),
        Route("/runs/{run}/tools/{key}", site.page(site.tool)),
        Route("/runs/{run}/mutants", site.page(site.mutants)),
        *([] if session is None else _acting_routes(site, session)),
        Route("/compare", site.page(site.compare)),
        Route("/paths", site.page(site.paths)),
        Route("/trends", site.page(site.trends)),
        Route("/search", site.page(site.search)),
        Route("/style.css", lambda request: Response(stylesheet(), media_type="text/css")),
        Route("/script.js", lambda request: Response(script(), media_type="text/javascript")),
    ]
    if token is not None:
        routes.append(Route(LOGIN, _login(token), methods=["POST"]))
    return Guard(
        Router(routes, redirect_slashes=False, default=_not_found), hosts, token, is_acting=session is not None
    )


def _acting_routes(site: _Site, session: EditSession) -> list[Route]:
    """Return the routes of edits: GET shows one, and POST from our own form writes it."""
    case, run = "/runs/{run}/cases/{key}/{action}", "/runs/{run}/{action}"
    return [
        *[Route(path, site.page(site.edit), methods=["GET"]) for path in (case, run)],
        *[Route(path, _posted(session, site.page(site.write)), methods=["POST"]) for path in (case, run)],
        Route(UNDO, _posted(session, site.page(site.undo)), methods=["POST"]),
    ]


class _Site:
    """The handlers of a library's pages. One runs at a time, because they share its caches."""

    def __init__(self, library: Library, session: EditSession | None = None) -> None:
        self._library = library
        self._session = session
        self._lock = Lock()

    def page(self, view: _Page) -> Callable[[Request], Response]:
        """Return the handler of an address. Errors become pages with a message."""

        def answer(request: Request) -> Response:
            try:
                with self._lock:
                    made = view(request)
            except StoreError as problem:
                return _message("This run cannot be read", str(problem), status=_CANNOT_BE_READ)
            except RightcallError as problem:
                return _message("Nothing was written", str(problem), status=_CANNOT_BE_READ)
            if made is None:
                return _message("Not found", "There is no such run, case or tool, or it was removed.", status=404)
            return made if isinstance(made, Response) else _html(made)

        return answer

    def runs(self, request: Request) -> str:
        return runs_page(self._library, request.query_params, _LINKS)

    def run(self, request: Request) -> str | None:
        return shown_run(self._library, request.path_params["run"], request.query_params, _LINKS, self._session)

    def case(self, request: Request) -> str | None:
        run, key = request.path_params["run"], request.path_params["key"]
        return shown_case(self._library, run, key, request.query_params, _LINKS, self._session)

    def tool(self, request: Request) -> str | None:
        run, key = request.path_params["run"], request.path_params["key"]
        return tool_page(self._library, run, key, request.query_params, _LINKS)

    def mutants(self, request: Request) -> str | None:
        return shown_mutants(self._library, request.path_params["run"], _LINKS)

    def paths(self, request: Request) -> str | None:
        return shown_paths(self._library, request.query_params, _LINKS)

    def trends(self, request: Request) -> str:
        return shown_trends(self._library, request.query_params, _LINKS)

    def edit(self, request: Request) -> str | None:
        """Return the page of a proposed edit."""
        made = self._edit(request, request.query_params)
        return made[0] if made is not None else None

    def write(self, request: Request) -> str | Response | None:
        """Write the edit that a form was sent for, if it is still the one that was shown."""
        fields: Mapping[str, str] = request.state.fields
        made = self._edit(request, fields)
        if made is None or self._session is None:
            return None
        page, proposal = made
        if proposal is None or not proposal.lines:
            return _html(page, _CANNOT_BE_READ)
        if fields.get("stamp") != proposal.stamp:
            again = self._edit(request, fields, "The file has changed since this was shown. Look at it again.")
            return _html(again[0] if again is not None else page, _CHANGED)
        written = self._session.write(proposal)
        run, key = request.path_params["run"], request.path_params.get("key")
        there = _own(fields.get("back", "")) or (_LINKS.case(run, key) if key else _LINKS.run(run))
        return RedirectResponse(f"{there}{'&' if '?' in there else '?'}done={written.number}", 303)

    def undo(self, request: Request) -> str | Response | None:
        """Undo the last edit."""
        if self._session is None:
            return None
        path = self._session.undo()
        back = _own(request.state.fields.get("back", ""))
        return RedirectResponse(back, 303) if back else _message("Undone", f"{path} is as it was.", status=200)

    def _edit(self, request: Request, query: Mapping[str, str], note: str = "") -> tuple[str, Proposal | None] | None:
        action, key = request.path_params["action"], request.path_params.get("key", "")
        if self._session is None or action not in (ACTIONS if key else ("baseline",)):
            return None
        return edit_page(self._session, self._library, request.path_params["run"], action, key, query, _LINKS, note)

    def search(self, request: Request) -> str:
        return shown_search(self._library, request.query_params, _LINKS)

    def compare(self, request: Request) -> str | Response | None:
        query = request.query_params
        ticked = sorted(set(query.getlist("run")))[: MOST_RUNS + 1]
        if len(ticked) == 2:
            return RedirectResponse(_LINKS.compare(*ticked), 303)
        names = ticked or [name for name in (query.get("a", ""), query.get("b", "")) if name]
        if not 2 <= len(names) <= MOST_RUNS:
            hint = f"On the page of all runs, select 2 to {MOST_RUNS} runs and compare them."
            return _message("Which runs?", hint, status=400)
        return compare_page(self._library, names, query, _LINKS, query.getlist("ignore"))


def _posted(session: EditSession, answer: Callable[[Request], Response]) -> Callable[..., object]:
    """Return the handler of a form, which parses its fields and checks its token."""

    async def post(request: Request) -> Response:
        body = await _body(request, _MOST_FORM)
        if body is None:
            return PlainTextResponse("this is more than a form of ours has\n", 413)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        request.state.fields = _fields(body) if kind == "application/x-www-form-urlencoded" else {}
        if not session.is_token(request.state.fields.get("token", "")):
            return _message(
                "Not done", "This form is not of this viewer, or of an earlier one. Open the page again.", status=403
            )
        return await run_in_threadpool(answer, request)

    return post


def _login(token: Token) -> Callable[..., object]:
    async def login(request: Request) -> Response:
        # The sender is not authenticated yet, so do not read more than a token can have.
        body = await _body(request, _MOST_BODY)
        if body is None or not token.is_token(_fields(body).get("token", "").strip()):
            return token_wanted()
        answer = RedirectResponse(_LINKS.runs(), 303)
        answer.set_cookie(COOKIE, token.cookie, httponly=True, samesite="strict")
        return answer

    return login


async def _body(request: Request, most: int) -> bytes | None:
    """Return the body of a request; `None` if it is larger than this, and then the rest is not read."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            return None
    return body


def _own(back: str) -> str:
    """Return the address of our page that a form returns to; empty if it is not ours, to prevent open redirects."""
    found = _OWN_PAGE.fullmatch(back)
    return back if found is not None and len(back) <= _MOST_BODY else ""


def _fields(body: bytes) -> dict[str, str]:
    """Return the fields of a form; empty if there are more than any of ours has."""
    try:
        return {key: value[0] for key, value in parse_qs(body.decode(errors="replace"), max_num_fields=10).items()}
    except ValueError:  # more fields than that
        return {}


async def _not_found(scope: object, receive: object, send: object) -> None:
    answer = _message("Not found", "There is no such page.", status=404)
    await answer(scope, receive, send)  # type: ignore[arg-type]


def _message(title: str, sentence: str, *, status: int) -> Response:
    page = MessagePage(title=title, sentences=(sentence,), trail=(Crumb("Runs", _LINKS.runs()), Crumb(title)))
    return _html(message_html(page, _LINKS), status)


def _html(text: str, status: int = 200) -> Response:
    return HTMLResponse(text.encode(errors="backslashreplace"), status)


class Guard:
    """Check every request before it reaches the application.

    The `Host` must be ours, or 400; the `Origin` ours or absent, and the request not from another site, or 403; the
    method a reading one, or 405; the token valid, if there is one, or 401. WebSockets are refused. No response can be
    read by another site. A form that changes something must come from our own page, and its handler checks the token in
    it.
    """

    def __init__(self, app: ASGIApp, hosts: Hosts, token: Token | None = None, *, is_acting: bool = False) -> None:
        self.app = app
        self._is_acting = is_acting
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
        except Exception:  # noqa: BLE001 - a defect of ours fails one request, and the others go on
            print(printable(traceback.format_exc()), file=sys.stderr)
            if not answer.has_begun:
                text = "this is a defect in Rightcall; the terminal that it was started from says more\n"
                await PlainTextResponse(text, 500)(scope, receive, answer)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        # Against DNS rebinding: a site that points its name at 127.0.0.1 still sends that name.
        if len(given := headers.getlist("host")) != 1 or not self._hosts.allows(given[0]):
            return PlainTextResponse("this name is not the viewer's\n", 400)
        origins = headers.getlist("origin")
        # Our pages have the referrer policy `no-referrer`, so browsers send the origin `null` with their forms (Fetch,
        # "append a request Origin header"). `Sec-Fetch-Site`, which no page can set, shows that it is our own.
        if origins == ["null"] and headers.get("sec-fetch-site") == "same-origin":
            origins = []
        if not all(map(self._hosts.allows_origin, origins)) or "upgrade" in headers:
            return PlainTextResponse("requests of other sites are not answered\n", 403)
        if headers.get("sec-fetch-site", "none") not in _OWN_SITE:
            return HTMLResponse(_FROM_ELSEWHERE, 403)
        is_login = self._token is not None and scope["method"] == "POST" and scope["path"] == LOGIN
        is_form = self._is_acting and scope["method"] == "POST" and (scope["path"] == UNDO or is_edit(scope["path"]))
        if scope["method"] not in _READING and not is_login and not is_form:
            return PlainTextResponse("the viewer only shows\n", 405, {"allow": ", ".join(_READING)})
        # Browsers send the origin of a form. A request without one is not from a browser, or hides its origin.
        if is_form and len(headers.getlist("origin")) != 1 and headers.get("sec-fetch-site") != "same-origin":
            return PlainTextResponse("a form has to say which page it comes from\n", 403)
        return None if is_login or self._is_known(headers) else token_wanted()

    def _is_known(self, headers: Headers) -> bool:
        if self._token is None:
            return True
        scheme, _, given = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._token.is_token(given.strip()):
            return True
        return self._token.is_cookie(cookie_parser(headers.get("cookie", "")).get(COOKIE, ""))


class Answer:
    """The sender of a response, which adds our security headers."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        """Send a part of the response."""
        if message["type"] == "http.response.start":
            self.has_begun = True
            MutableHeaders(scope=message).update(_HEADERS)
        await self._send(message)


def is_edit(path: str) -> bool:
    """Return whether an address is that of an edit."""
    return path.startswith("/runs/") and path.rpartition("/")[2] in (*ACTIONS, "baseline")


def token_wanted() -> Response:
    """Return the page that asks for the token."""
    return HTMLResponse(_ASK_TOKEN, 401, {"www-authenticate": 'Bearer realm="rightcall"'})


class Listener:
    """An address that is bound before it is announced.

    Args:
        host: An address or a name; any but a loopback address needs a token.
        port: `None` means the default port, or a free one if that is taken; 0 means any free one.
        has_token: Whether users need a token.

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
        """The address for a browser on this machine."""
        host = ANY.get(self.hosts.host, self.hosts.host)
        return f"http://{in_url(host)}:{self.hosts.port}/"

    def serve(self, app: Callable[..., object], started: Callable[[], None]) -> None:
        """Serve until the process is interrupted or terminated. `started` is called first."""
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
        # Otherwise the port cannot be bound for a minute after the viewer has ended (TIME_WAIT).
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
    except OSError as problem:
        made.close()
        blamed = f"--host {host}" if problem.errno == errno.EADDRNOTAVAIL else f"--port {port}"
        raise ViewerError(f"{blamed}: {problem.strerror or problem}") from None
    return made


def is_loopback(host: str) -> bool:
    """Return whether an address reaches only this machine. A name other than `localhost` may mean anything."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class Hosts(msgspec.Struct, frozen=True):
    """The host names that the viewer answers to, as a defence against DNS rebinding.

    Under any other name, a web site could point its own name at this machine and read the responses as its own. A
    numeric address cannot be such a name, so if the viewer listens on all addresses, all of them are accepted, with any
    port: containers are reached through another one.
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
    """The token for access to the viewer, and the cookie of browsers that have entered it.

    The cookie is random, unrelated to the token, and worthless once this process has ended.

    Raises:
        ViewerError: the token is too short to be hard to guess, or cannot be sent in a header.
    """

    def __init__(self, text: str) -> None:
        if not _SHORTEST <= len(text) <= _LONGEST or not text.isascii() or not text.isprintable() or " " in text:
            raise ViewerError(f"a token has {_SHORTEST} to {_LONGEST:,} ASCII characters, and no spaces among them")
        self._text = text.encode()
        self.cookie = secrets.token_urlsafe(32)

    def is_token(self, given: str) -> bool:
        """Return whether this is the token, in constant time."""
        return hmac.compare_digest(given.encode(errors="replace"), self._text)

    def is_cookie(self, given: str) -> bool:
        """Return whether this is the cookie, in constant time."""
        return hmac.compare_digest(given.encode(errors="replace"), self.cookie.encode())


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(24)


def in_url(host: str) -> str:
    """Return a host as it is written in a URL."""
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
    half-sent requests ("slow loris") would block everyone else. So a connection without a complete head is closed after
    a while, and if there are too many, the one that has waited longest.
    """

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def _is_waiting(self) -> bool:
        return self.conn.their_state is h11.IDLE

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request. If too many connections wait, close the one that has waited longest."""
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
        """Stop waiting."""
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
            # `connection_lost` runs in the next iteration of the loop. Until then, others would all abort this one.
            self.connections.discard(self)
            self.transport.abort()
