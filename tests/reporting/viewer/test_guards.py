"""Who is answered, and what no answer is without."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from starlette.routing import Route, Router
from tests.reporting.viewer.viewing import PORT, RIGHT, Browser, new_run, results_of

from rightcall.cli._view import ProjectEditor
from rightcall.errors import ViewerError
from rightcall.reporting.pages import case_key, key_of
from rightcall.reporting.viewer import EditSession, Hosts, Token, is_loopback, new_token

SECRET = "a-token-that-is-long-enough"
METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"]
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
STRANGERS: dict[str, tuple[dict[str, str], int]] = {
    "another name": ({"host": f"evil.example:{PORT}"}, 400),
    "another port": ({"host": "127.0.0.1:80"}, 400),
    "no port": ({"host": "localhost"}, 400),
    "a name that begins like ours": ({"host": f"localhost.evil.example:{PORT}"}, 400),
    "a name with a user": ({"host": f"evil@127.0.0.1:{PORT}"}, 400),
    "an empty name": ({"host": ""}, 400),
    "another origin": ({"origin": "http://evil.example"}, 403),
    "our origin on another port": ({"origin": "http://127.0.0.1:3000"}, 403),
    "no origin at all": ({"origin": "null"}, 403),
    "an origin of a file": ({"origin": "file://"}, 403),
    "another site": ({"sec-fetch-site": "cross-site"}, 403),
    "another port of this machine": ({"sec-fetch-site": "same-site"}, 403),
    "another site, to be looked at": ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}, 403),
    "a web socket": ({"connection": "upgrade", "upgrade": "websocket"}, 403),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("guarded")
    new_run(folder / "runs", *results_of(folder, laptop_search=RIGHT))
    return folder / "runs"


def addresses(browser: Browser) -> list[str]:
    """An address for every route that there is, and for one that there is not."""
    router = browser.app.app
    assert isinstance(router, Router)
    [name] = browser.library.names()
    keys = {"cases": case_key("laptop_search"), "tools": key_of("search")}
    made = []
    for route in router.routes:
        assert isinstance(route, Route)
        kind = next((kind for kind in keys if f"/{kind}/" in route.path), "")
        action = "accept" if kind else "baseline"
        made.append(route.path.replace("{run}", name).replace("{key}", keys.get(kind, "")).replace("{action}", action))
    assert not any("{" in address for address in made)
    return [*made, "/nothing/here"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("stranger", STRANGERS)
def test_strangers_are_answered_nothing_whatever_they_ask(runs: Path, stranger: str, method: str) -> None:
    headers, status = STRANGERS[stranger]
    browser = Browser(runs, session=EditSession(ProjectEditor(runs.parent)))
    for address in addresses(browser):
        answer = browser.ask(method, address, headers)

        assert answer.status == status
        assert "laptop_search" not in answer.text
        assert answer.headers["content-security-policy"] == POLICY


@pytest.mark.parametrize("method", METHODS[2:])
def test_nothing_but_reading_is_allowed(runs: Path, method: str) -> None:
    browser = Browser(runs)

    answers = [browser.ask(method, address, {}) for address in addresses(browser)]

    assert {answer.status for answer in answers} == {405}
    assert {answer.headers["allow"] for answer in answers} == {"GET, HEAD"}


def test_every_answer_has_the_same_headers_and_none_opens_it_to_another_site(runs: Path) -> None:
    browser = Browser(runs)
    for address in addresses(browser):
        for headers in ({}, {"host": "evil"}, {"origin": f"http://localhost:{PORT}"}):
            answer = browser.ask("GET", address, headers)

            assert answer.headers["content-security-policy"] == POLICY
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["referrer-policy"] == "no-referrer"
            assert answer.headers["cross-origin-opener-policy"] == "same-origin"
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"
            assert answer.headers["cache-control"] == "no-store"
            assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_this_machine_is_answered_by_each_of_its_names(runs: Path, host: str) -> None:
    browser = Browser(runs)

    assert browser.get("/", host=f"{host}:{PORT}", origin=f"http://{host}:{PORT}").status == 200
    assert browser.get("/", host=f"{host}:{PORT}", sec_fetch_site="same-origin").status == 200


def test_a_web_socket_is_closed_before_it_is_open(runs: Path) -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    asyncio.run(Browser(runs).app({"type": "websocket", "path": "/", "headers": []}, receive, send))

    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_every_route_wants_the_token_where_there_is_one(runs: Path, method: str) -> None:
    browser = Browser(runs, Token(SECRET))
    wrong: list[dict[str, str]] = [
        {},
        {"authorization": f"Bearer {SECRET}x"},
        {"authorization": f"Basic {SECRET}"},
        {"authorization": "Bearer"},
        {"cookie": f"rightcall-view={SECRET}"},
        {"cookie": "rightcall-view="},
        {"cookie": "rightcall-view=\xff\xfe"},
    ]
    for address in addresses(browser):
        for headers in wrong:
            answer = browser.ask(method, address, headers)

            assert answer.status == 401, (address, headers)
            assert "laptop_search" not in answer.text
            assert SECRET not in answer.text


def test_a_header_with_the_token_opens_every_page(runs: Path) -> None:
    browser = Browser(runs, Token(SECRET))
    closed = ("/login", "/nothing/here", "/compare", "/paths")  # pages of nothing, or of what was not asked
    opened = [each for each in addresses(browser) if each not in closed and not each.endswith("/mutants")]

    answers = {address: browser.get(address, authorization=f"Bearer {SECRET}").status for address in opened}
    assert {address: status for address, status in answers.items() if status != 200} == {}


def test_a_form_with_the_token_gives_a_cookie_that_is_not_the_token(runs: Path) -> None:
    browser = Browser(runs, Token(SECRET))
    answer = browser.ask("POST", "/login", {"origin": f"http://127.0.0.1:{PORT}"}, f"token={SECRET}".encode())
    cookie = answer.headers["set-cookie"]

    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert SECRET not in cookie
    assert browser.get("/", cookie=cookie.partition(";")[0]).status == 200


BODIES = [b"", b"token=", b"token=wrong", b"x" * 100_000, b"&".join([b"a=1"] * 50), b"\xff\xfe=%ff", b"token=%00"]


@pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
def test_a_form_without_the_token_gives_nothing(runs: Path, body: bytes) -> None:
    answer = Browser(runs, Token(SECRET)).ask("POST", "/login", {}, body)

    assert answer.status == 401
    assert "set-cookie" not in answer.headers


def test_without_a_token_there_is_no_form(runs: Path) -> None:
    assert Browser(runs).ask("POST", "/login", {}, b"token=x").status == 405


@pytest.mark.parametrize(
    "text", ["short", "x" * 2_000, "with a space in between", "ünïcode-is-no-header", "new\nlines-are-bad"]
)
def test_a_token_that_is_easy_to_guess_or_no_header_is_refused(text: str) -> None:
    with pytest.raises(ViewerError, match="a token has 16 to 1,024 ASCII characters"):
        Token(text)


def test_tokens_that_are_made_are_long_and_differ() -> None:
    assert len({new_token() for _ in range(100)}) == 100
    assert Token(new_token()).is_token("") is False


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.5", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_only_addresses_that_nobody_else_reaches_are_loopback(host: str, alone: bool) -> None:
    assert is_loopback(host) is alone


def test_where_every_address_is_listened_to_numbers_will_do_and_names_will_not() -> None:
    hosts = Hosts("0.0.0.0", PORT)

    assert [hosts.allows(host) for host in ("192.168.1.5:8732", "[fe80::1]:80", "localhost:9000")] == [True] * 3
    assert [hosts.allows(host) for host in ("evil.example:8732", "192.168.1.5.evil:8732", "")] == [False] * 3


def test_a_defect_is_one_answer_without_details_and_a_traceback_on_the_terminal(
    runs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    browser = Browser(runs)

    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("\x1b[31mof a stranger")

    browser.app.app = broken
    answer = browser.get("/")

    assert answer.status == 500
    assert answer.text == "this is a defect in Rightcall; the terminal that it was started from says more\n"
    assert answer.headers["content-security-policy"] == POLICY
    assert "RuntimeError: \\u001b[31mof a stranger" in capsys.readouterr().err
