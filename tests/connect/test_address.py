"""Addresses of trace servers."""

from __future__ import annotations

import pytest
from tests.walls import for_each

from rightcall.connect import Address, Query, is_address, parse_address
from rightcall.errors import InputError

DAY = 86_400 * 10**9
NOW = 1_700_000_000


def _parsed(text: str, **more: object) -> Address:
    return parse_address(text, now=lambda: NOW, **more)  # type: ignore[arg-type]


@for_each(
    "row",
    {
        "phoenix://localhost:6006/support": "http://localhost:6006",
        "phoenix://127.0.0.1:6006/support": "http://127.0.0.1:6006",
        "phoenix://[::1]:6006/support": "http://[::1]:6006",
        "phoenix://traces.example/support": "https://traces.example",
        "phoenix+http://traces.example/support": "http://traces.example",
        "phoenix+https://localhost:6006/support": "http://localhost:6006",
        "phoenix://traces.example/under/a/prefix/support": "https://traces.example/under/a/prefix",
        "phoenix:support": "http://localhost:6006",
        "mlflow:/Default": "http://localhost:5000",
        "langfuse:": "https://cloud.langfuse.com",
        "langfuse://self.example/langfuse": "https://self.example/langfuse",
        "langsmith:///shop": "https://api.smith.langchain.com",
        "tempo://localhost:3200": "http://localhost:3200",
        "jaeger://localhost:16686/shop": "http://localhost:16686",
    }.items(),
)
def test_requests_go_by_https_except_on_this_machine(row: tuple[str, str]) -> None:
    text, base = row

    assert _parsed(text).base == base


def test_the_last_part_of_the_path_is_the_project() -> None:
    assert _parsed("phoenix://traces.example/under/my%20shop").place == "my shop"


def test_a_query_says_what_is_wanted() -> None:
    asked = "since=1d&until=2023-11-14T22:00:00Z&limit=5&trace=a,b&trace=c&session=s&tag=t&filter=x%3D1"

    found = _parsed(f"phoenix://localhost/support?{asked}").query

    assert found == Query(
        since_ns=NOW * 10**9 - DAY,
        until_ns=1_699_999_200 * 10**9,
        limit=5,
        traces=("a", "b", "c"),
        session="s",
        tag="t",
        filter="x=1",
    )


def test_keys_are_sent_only_where_others_cannot_read_them() -> None:
    told = {text: _parsed(text).takes_keys for text in ("phoenix://x.example/a", "phoenix+http://x.example/a")}

    assert told == {"phoenix://x.example/a": True, "phoenix+http://x.example/a": False}
    assert _parsed("phoenix+http://localhost:6006/a").takes_keys


@for_each(
    "row",
    {
        "phoenix://user:secret@localhost/a": "must not hold a key",
        "phoenix://localhost:port/a": "port",
        "phoenix://localhost/a?since=yesterday": "is not a time",
        "phoenix://localhost/a?since=1d&until=2d": "no trace can match",
        "phoenix://localhost/a?limit=0": "is not a number of traces",
        "phoenix://localhost/a?limit=many": "is not a number of traces",
        "phoenix://localhost/a?limits=5": "did you mean 'limit'",
        "phoenix://localhost/a?limit=5&limit=6": "given twice",
        "phoenix://localhost/a?tag=": "has no value",
        "phoenix://localhost/a?key=sk-not-a-name": "the name of the environment variable",
        "phenix://localhost/a": "did you mean 'phoenix'",
        "otlp+http://localhost:4318": "--push-to",
    }.items(),
)
def test_a_mistake_is_explained_without_what_may_be_a_key(row: tuple[str, str]) -> None:
    text, expected = row

    with pytest.raises(InputError) as raised:
        _parsed(text)

    assert expected in str(raised.value)
    assert "secret" not in str(raised.value)


ALIASES = {"prod": {"url": "phoenix://traces.example/support?limit=9", "key": "PROD_KEY"}, "local": "mlflow:Default"}


def test_an_alias_stands_for_an_address_and_may_ask_for_more() -> None:
    found = _parsed("prod:?since=1d", aliases=ALIASES)

    assert (str(found), found.key) == ("phoenix://traces.example/support", "PROD_KEY")
    assert (found.query.limit, found.query.since_ns) == (9, NOW * 10**9 - DAY)
    assert _parsed("local:", aliases=ALIASES).place == "Default"


def test_only_known_schemes_and_aliases_are_addresses() -> None:
    texts = ("phoenix:a", "phoenix+http://h/a", "prod:", "trace.json", "s3://bucket/x", "C:\\traces.json", "http://h/a")

    assert [text for text in texts if is_address(text, ALIASES)] == ["phoenix:a", "phoenix+http://h/a", "prod:"]


@pytest.mark.parametrize("written", [{"key": "A"}, {"url": "phoenix:a", "token": "x"}, 7])
def test_an_alias_that_is_written_wrongly_is_explained(written: object) -> None:
    with pytest.raises(InputError, match=r"\[sources\] prod"):
        _parsed("prod:", aliases={"prod": written})
