"""What a test reads is noted in every field, however it is read."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests import snapshots
from tests.reading import conftest
from tests.reading.differential import plain_run
from tests.reading.kept_reads import FILE, WRITTEN_TO, line_of, noted
from tests.reading.talks import agent_span, log, says
from tests.reading.traces import call, request

from rightcall import read, read_messages, read_spans


def line(*sources: Any) -> str:
    with noted() as found:
        for source in sources:
            list(read(source))
    return line_of(found)


def test_what_is_read_in_any_way_is_noted_once() -> None:
    spans = request(agent_span(1), call(2, parent=1))
    with noted() as found:
        list(read(json.dumps(plain_run()).encode()))
        [read_spans([spans]), read_spans([spans])]
        read_messages(log())

    assert sorted(about for _, about in found) == [
        "lookup_order refund, 2 turns",
        "search",
        "search book pay search",
    ]


def test_no_field_changes_unseen() -> None:
    asked, other = [[says("user", question), says("assistant", "Yes")] for question in ("Is it?", "Was it?")]

    assert line(asked) == line(asked, asked)
    assert len({line(asked), line(other), line(asked, other)}) == 3


def test_a_line_is_one_line_whatever_tools_are_called() -> None:
    found = line(request(call(1, tool="a\n\t\ud800")))

    assert found.endswith(" 1: a\\n\\t\\ud800")


class Item:
    """A test, as far as the hook looks at it."""

    def __init__(self, name: str) -> None:
        self.nodeid, self.path = f"tests/reading/{name}", snapshots.DATA / name.partition("::")[0]

    def get_closest_marker(self, name: str) -> None:
        return None


def test_a_test_that_reads_something_else_than_before_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(WRITTEN_TO, raising=False)
    monkeypatch.setattr(conftest, "SEED", "")
    name = next(iter(snapshots.kept(FILE)))
    running = conftest.pytest_runtest_call(Item(name))  # type: ignore[arg-type]
    next(running)
    read_messages([says("user", "something else")])

    with pytest.raises(AssertionError, match="reads something else than before"):
        next(running)
