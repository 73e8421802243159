"""The addresses of the viewer, and what answers at each."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route, Router

from rightcall.errors import StoreError
from rightcall.reporting.pages import Crumb, Links, MessagePage, message_html, script, stylesheet

from ._access import COOKIE, LOGIN, Guard, Hosts, Token, token_wanted
from ._compare_view import MOST_RUNS, compare_page
from ._library import Library
from ._run_view import shown_case, shown_run
from ._runs_view import runs_page
from ._tool_view import tool_page

_LINKS = Links()
_CANNOT_BE_READ = 422
_MOST_BODY = 4_096
_Page = Callable[[Request], str | Response | None]


def make_app(library: Library, hosts: Hosts, token: Token | None = None) -> Guard:
    """Return the viewer as an ASGI application that answers to these host names, with or without a token."""
    site = _Site(library)
    routes = [
        Route("/", site.page(site.runs)),
        Route("/runs/{run}", site.page(site.run)),
        Route("/runs/{run}/cases/{key}", site.page(site.case)),
        Route("/runs/{run}/tools/{key}", site.page(site.tool)),
        Route("/compare", site.page(site.compare)),
        Route("/style.css", lambda request: Response(stylesheet(), media_type="text/css")),
        Route("/script.js", lambda request: Response(script(), media_type="text/javascript")),
    ]
    if token is not None:
        routes.append(Route(LOGIN, _login(token), methods=["POST"]))
    return Guard(Router(routes, redirect_slashes=False, default=_not_found), hosts, token)


class _Site:
    """The pages of a library, one at a time, because they share its caches."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._lock = Lock()

    def page(self, view: _Page) -> Callable[[Request], Response]:
        """Return the handler of an address: a page, or one that says why there is none."""

        def answer(request: Request) -> Response:
            try:
                with self._lock:
                    made = view(request)
            except StoreError as problem:
                return _message("This run cannot be read", str(problem), status=_CANNOT_BE_READ)
            if made is None:
                return _message("Not here", "There is no such run, case or tool here, or not any more.", status=404)
            return made if isinstance(made, Response) else _html(made)

        return answer

    def runs(self, request: Request) -> str:
        return runs_page(self._library, request.query_params, _LINKS)

    def run(self, request: Request) -> str | None:
        return shown_run(self._library, request.path_params["run"], request.query_params, _LINKS)

    def case(self, request: Request) -> str | None:
        run, key = request.path_params["run"], request.path_params["key"]
        return shown_case(self._library, run, key, request.query_params, _LINKS)

    def tool(self, request: Request) -> str | None:
        run, key = request.path_params["run"], request.path_params["key"]
        return tool_page(self._library, run, key, request.query_params, _LINKS)

    def compare(self, request: Request) -> str | Response | None:
        query = request.query_params
        ticked = sorted(set(query.getlist("run")))[: MOST_RUNS + 1]
        if len(ticked) == 2:
            return RedirectResponse(_LINKS.compare(*ticked), 303)
        names = ticked or [name for name in (query.get("a", ""), query.get("b", "")) if name]
        if not 2 <= len(names) <= MOST_RUNS:
            said = f"Tick two runs on the page of all runs, or up to {MOST_RUNS}, and compare them."
            return _message("Which runs?", said, status=400)
        return compare_page(self._library, names, query, _LINKS)


def _login(token: Token) -> Callable[..., object]:
    async def login(request: Request) -> Response:
        body = b""
        async for piece in request.stream():
            body += piece
            # The sender is not known yet, so do not read more than a token can be.
            if len(body) > _MOST_BODY:
                return token_wanted()
        if not token.is_token(_field(body, "token")):
            return token_wanted()
        answer = RedirectResponse(_LINKS.runs(), 303)
        answer.set_cookie(COOKIE, token.cookie, httponly=True, samesite="strict")
        return answer

    return login


def _field(body: bytes, name: str) -> str:
    """Return a field of a form; empty if it is not there."""
    try:
        return parse_qs(body.decode(errors="replace"), max_num_fields=5).get(name, [""])[0].strip()
    except ValueError:  # more fields than that
        return ""


async def _not_found(scope: object, receive: object, send: object) -> None:
    answer = _message("Not here", "There is no such page.", status=404)
    await answer(scope, receive, send)  # type: ignore[arg-type]


def _message(title: str, sentence: str, *, status: int) -> Response:
    page = MessagePage(title=title, sentences=(sentence,), trail=(Crumb("Runs", _LINKS.runs()), Crumb(title)))
    return _html(message_html(page, _LINKS), status)


def _html(text: str, status: int = 200) -> Response:
    return HTMLResponse(text.encode(errors="backslashreplace"), status)
