"""`survivors`: what assertions of a test would not notice."""

from __future__ import annotations

import pytest

from rightcall import InputError, Trajectory, calls, check
from rightcall.testing.assertions import survivors

RUN = [{"search": {"query": "laptop"}}, {"book": {"id": 7}}]


def test_a_check_of_the_whole_path_notices_every_fault() -> None:
    assert survivors(RUN, lambda made: check(made, RUN, args="exact")) == []


def test_a_check_of_names_lets_other_arguments_pass() -> None:
    found = survivors(RUN, lambda made: check(made, ["search", "book"]))

    assert found == [
        'another `query` for `search`: "laptop changed"',
        "another `id` for `book`: 8",
        "no `query` for `search`",
        "no `id` for `book`",
    ]


def test_faults_are_made_of_what_other_runs_do() -> None:
    other = [{"search": {"query": "phone"}}, {"cancel": {}}]

    found = survivors(RUN, lambda made: calls(made).in_order("search", "book"), others=[other])

    assert "`cancel` called as well" in found
    assert 'another `query` for `search`: "phone"' in found


def test_a_plain_assertion_is_a_check_as_well() -> None:
    def books_once(made: Trajectory) -> None:
        assert made.names.count("book") == 1

    assert survivors(RUN, books_once, operators=["drop", "repeat"]) == ["without `search`", "`search` made twice"]


def test_a_run_that_does_not_pass_is_an_error() -> None:
    with pytest.raises(InputError, match="does not pass with the run as it is"):
        survivors(RUN, lambda made: check(made, ["search"]))
