"""Servers that are busy, wrong, endless or hostile."""

from __future__ import annotations

import gzip
import io
from typing import Any

import pytest
from tests.connect.loopback import Answer, Asked, PhoenixLike, served

from rightcall.connect import parse_address, pull
from rightcall.connect._web import Web
from rightcall.errors import InputError, TraceServerError

KEY = "px-3f1c9a7752e04b6d"


def _pulled(host: str, scheme: str = "phoenix", query: str = "") -> list[bytes]:
    file = io.BytesIO()
    pull(parse_address(f"{scheme}://{host}/support{query}"), file)
    return file.getvalue().splitlines()


class _Busy(PhoenixLike):
    """Answers with errors before it answers."""

    def __init__(self, *statuses: int) -> None:
        super().__init__(3)
        self._statuses = list(statuses)

    def __call__(self, asked: Asked) -> Answer:
        if self._statuses:
            return Answer({"detail": "busy"}, self._statuses.pop(0), {"retry-after": "0"})
        return super().__call__(asked)


def test_a_busy_server_is_asked_again() -> None:
    with served(_Busy(429, 503, 500)) as server:
        found = _pulled(server.host)

    assert len(found) == 3


def test_a_server_that_stays_busy_is_given_up() -> None:
    with served(lambda _: Answer({}, 429, {"retry-after": "0"})) as server:
        with pytest.raises(TraceServerError, match="after 6 tries: it answers 429 Too Many Requests"):
            _pulled(server.host)

        assert len(server.asked) == 6


def _looping(asked: Asked) -> Answer:
    return Answer({"data": [{"trace_id": "a"}], "next_cursor": "again"})


HOSTILE: dict[str, tuple[Any, str]] = {
    "a web page": (lambda _: Answer(b"<html><h1>Hello</h1>"), "got a web page"),
    "nonsense": (lambda _: Answer(b"\xff\xfe{"), "something else"),
    "deep": (lambda _: Answer(b'{"data":' + b"[" * 100_000), "something else"),
    "pages that loop": (_looping, "pages do not end"),
    "elsewhere": (lambda _: Answer(b"", 302, {"location": "http://evil.example/?k=1"}), "http://evil.example/;"),
    "no key": (lambda _: Answer({}, 401), "PHOENIX_API_KEY"),
    "half of an answer": (lambda _: Answer(b'{"data": [{"trace_id": "a'), "something else"),
    "not packed": (lambda _: Answer(b"{}", 200, {"content-encoding": "gzip"}), "but it is not"),
    "packed otherwise": (lambda _: Answer(b"{}", 200, {"content-encoding": "br"}), "compresses its answers with 'br'"),
    "large": (lambda _: Answer(bytes(65 << 20)), "larger than 64 MB"),
    "a bomb": (
        lambda _: Answer(gzip.compress(bytes(80 << 20)), 200, {"content-encoding": "gzip"}),
        "larger than 64 MB",
    ),
}


@pytest.mark.parametrize(("respond", "expected"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_server_costs_one_clear_error(respond: Any, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PHOENIX_API_KEY", raising=False)
    with served(respond) as server, pytest.raises(TraceServerError) as raised:
        _pulled(server.host)

    assert expected in str(raised.value)
    assert "k=1" not in str(raised.value)


def test_a_name_with_a_slash_that_looks_like_a_prefix_is_explained() -> None:
    with (
        served(lambda _: Answer(b"<html>")) as server,
        pytest.raises(TraceServerError, match="a / in a name is written %2F"),
    ):
        pull(parse_address(f"phoenix://{server.host}/my/shop"), io.BytesIO())


def test_nothing_that_listens_is_reported_soon() -> None:
    with served(PhoenixLike()) as server:
        host = server.host

    with pytest.raises(TraceServerError, match="after 3 tries"):
        _pulled(host)


def test_an_unknown_project_is_answered_with_those_there_are() -> None:
    with served(PhoenixLike()) as server, pytest.raises(TraceServerError, match="did you mean 'support'"):
        pull(parse_address(f"phoenix://{server.host}/suport"), io.BytesIO())


def test_a_key_goes_to_its_server_and_into_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with served(lambda asked: Answer({"said": asked.headers["authorization"]}, 403)) as server:
        with pytest.raises(TraceServerError) as raised:
            _pulled(server.host, query="?key=MY_KEY")

        assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(raised.value)
    assert "MY_KEY" in str(raised.value)


def test_a_key_that_is_named_and_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(InputError, match="MY_KEY"):
        _pulled("localhost:1", query="?key=MY_KEY")


def test_over_plain_http_to_another_machine_no_key_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    with pytest.raises(InputError, match="not sent over plain http"):
        _pulled("traces.example", "phoenix+http", "?key=MY_KEY")


def test_an_answer_that_never_ends_is_given_up() -> None:
    def dripping(asked: Asked) -> Answer:
        return Answer(b" " * 200, pause=0.05)

    with (
        served(dripping) as server,
        Web(parse_address(f"phoenix://{server.host}/a"), patience=1) as web,
        pytest.raises(TraceServerError, match="/v1/projects was not answered within 1 s"),
    ):
        web.get("/v1/projects", as_type=dict[str, Any])


def test_an_answer_of_which_the_end_is_missing_is_asked_for_again_and_then_given_up() -> None:
    with (
        served(lambda _: Answer(b"{}", 200, {"content-length": "9"})) as server,
        Web(parse_address(f"phoenix://{server.host}/a"), sleep=lambda _: None) as web,
        pytest.raises(TraceServerError, match="after 6 tries"),
    ):
        web.get("/v1/projects", as_type=dict[str, Any])


KEYS = {
    "PHOENIX_API_KEY": KEY,
    "MLFLOW_TRACKING_TOKEN": "correct horse battery",
    "LANGFUSE_PUBLIC_KEY": "pk-lf-1",
    "LANGFUSE_SECRET_KEY": "sk-lf-77aa77aa",
    "LANGSMITH_API_KEY": "lsv2_pt_abcdef",
    "TEMPO_TOKEN": "glc_zzzz1111yyyy",
    "JAEGER_TOKEN": "hunter2hunter2",
}
FORMS = ("phoenix://{}/a", "mlflow://{}/a", "langfuse://{}", "langsmith://{}/a", "tempo://{}", "jaeger://{}/a")


@pytest.mark.parametrize("status", [200, 302, 400, 401, 403, 404, 409, 422, 501])
@pytest.mark.parametrize("form", FORMS)
def test_a_server_that_says_the_key_again_does_not_get_it_printed(
    form: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)

    def echoing(asked: Asked) -> Answer:
        sent = f"{asked.headers.get('authorization', '')} {asked.headers.get('x-api-key', '')}".strip()
        bare = sent.partition(" ")[2] or sent
        said = "." * 150 + f" {sent} {bare}"  # a key that is cut would not be found
        return Answer(said.encode(), status, {"location": f"http://x.example/{bare}"})

    with served(echoing) as server, pytest.raises(TraceServerError) as raised:
        pull(parse_address(form.format(server.host)), io.BytesIO())

    secrets = [*KEYS.values(), "cGstbGYtMTpzay1sZi03N2FhNzdhYQ=="]
    assert [secret for secret in secrets if secret[:6] in str(raised.value)] == []


def test_a_name_that_is_the_key_is_not_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHOENIX_API_KEY", KEY)

    def naming(asked: Asked) -> Answer:
        return Answer({"data": [{"name": KEY}]}) if asked.path == "/v1/projects" else Answer({}, 404)

    with served(naming) as server, pytest.raises(TraceServerError, match=r"known: \[key\]"):
        pull(parse_address(f"phoenix://{server.host}/a"), io.BytesIO())
