"""The corpus is what the other tests take it for."""

from tests.hostile import corpus


def test_there_is_enough_of_every_kind_and_nothing_twice() -> None:
    assert len(corpus.SHORT) == len(set(corpus.SHORT)) >= 400
    assert len(corpus.NAMES) == len(set(corpus.NAMES)) >= 60
    pages = ("script", "handler", "link", "embedding", "css", "template", "json")
    assert sum(len(corpus.PAYLOADS[kind]) for kind in pages) >= 200
    assert len(corpus.LONG[0]) == 1_000_000


def test_what_would_be_obeyed_is_seen() -> None:
    assert corpus.harmful("\x1b[31m\u202e\n\t") == {"\x1b", "\u202e"}
    assert corpus.obeyed("a\n ::error::b\nc ##[x]") == [" ::error::b", "c ##[x]"]
