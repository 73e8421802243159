"""What the model asked for, with the results that belong to it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.reading.talks import asks_for, chat, gives, says
from tests.reading.traces import request

from rightcall.reading import read, read_messages


def test_of_calls_that_wait_under_one_id_the_one_that_a_result_names_is_answered() -> None:
    asking = [asks_for("a", {}, "1"), asks_for("b", {}, "1")]
    results = [{**gives("of b", "1"), "name": "b"}, {**gives("of a", "1"), "name": "a"}]
    found = read_messages([says("user", "Go."), *asking, *results])

    assert [(call.name, call.output) for call in found.calls] == [("a", "of a"), ("b", "of b")]


def test_a_result_that_comes_once_more_is_of_the_last_call_of_its_id() -> None:
    without_output = {"role": "tool", "tool_call_id": "1"}
    calls = [asks_for("a", {}, "1"), gives("one", "1"), asks_for("a", {}, "1"), without_output, gives("two", "1")]
    found = read_messages([says("user", "Go."), *calls])

    assert [call.output for call in found.calls] == ["one", "two"]


@pytest.mark.parametrize("held", [1, None, [{"x": None, "y": 2}]])
def test_a_request_that_a_prompt_repeats_with_its_arguments_in_another_order_is_one(held: Any) -> None:
    asked, asking = says("user", "Go."), asks_for("a", {"p": held, "q": {"r": 1, "s": None}})
    again = asks_for("a", {"q": {"s": None, "r": 1}, "p": held})
    spans = [chat(1, [asked], asking), chat(2, [asked, again, gives("ok")], says("assistant", "Done."))]
    [found] = read(request(*spans))

    assert [(call.name, call.output) for call in found.calls] == [("a", "ok")]


def test_a_first_prompt_without_words_of_the_user_hides_no_calls_where_it_has_none() -> None:
    [found] = read(request(chat(1, [says("system", "Greet.")], says("assistant", "Hello."))))

    assert found.calls == ()
    assert found.calls_recorded
