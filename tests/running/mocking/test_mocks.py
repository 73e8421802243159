"""Mocks as eval sets have them: which calls they answer, and what with."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, strategies as st

from rightcall import CriteriaError, capture, tool, traced
from rightcall.errors import MockError
from rightcall.running.mocking import Mocks, use_mocks
from rightcall.running.tracing import mockable

RAN: list[str] = []
"""The real tools that ran. None should."""


@tool
def get_price(sku: str, currency: str = "EUR") -> Any:
    RAN.append(sku)
    return 99


@pytest.fixture(autouse=True)
def _no_real_tool_ran() -> Iterator[None]:
    RAN.clear()
    yield
    assert RAN == []


def answers(written: Any, *skus: str) -> list[Any]:
    """What calls with these arguments are answered with; exceptions as they are."""
    found: list[Any] = []
    with use_mocks(Mocks.of({"get_price": written})):
        for sku in skus:
            try:
                found.append(get_price(sku))
            except Exception as problem:  # noqa: BLE001 - what is raised is what is tested
                found.append(problem)
    return found


@pytest.mark.parametrize("value", [None, 0, "", [1, 2], {"in_stock": True}, {"content": {"a": 1}}])
def test_a_fixed_return_answers_every_call(value: Any) -> None:
    assert answers({"returns": value}, "P1", "P2") == [value, value]


def test_a_mock_of_a_name_with_a_star_answers_for_every_tool_that_fits() -> None:
    mocks = Mocks.of({"search_*": {"returns": 1}, "search_hotels": {"returns": 2}, "*": {"returns": 3}})

    answers = [mocks.answer(tool, {}) for tool in ("search_flights", "search_hotels", "book")]

    assert [answer.value for answer in answers if answer is not None] == [1, 2, 3]
    assert mocks.answers_for("search_flights")
    assert not Mocks.of({"search_*": {"returns": 1}}).answers_for("book")


def test_the_first_rule_that_fits_answers() -> None:
    rules = [
        {"when": {"sku": {"$regex": "^P"}}, "returns": 10},
        {"when": {"sku": "P1"}, "returns": 11},
        {"when": {"sku": "X", "currency": "EUR"}, "returns": 12},
        {"returns": 13},
    ]

    assert answers(rules, "P1", "X", "other") == [10, 12, 13]


def test_an_exception_of_python_is_raised_with_its_message() -> None:
    [first, second] = answers({"raises": {"type": "KeyError", "message": "no X"}}, "X", "X")

    assert (type(first), first.args) == (KeyError, ("no X",))
    assert first is not second


def test_an_exception_may_be_a_name_alone() -> None:
    [found] = answers({"raises": "TimeoutError"}, "X")

    assert (type(found), found.args) == (TimeoutError, ())


@pytest.mark.parametrize("written", [{"sequence": [1, 2]}, {"returns": [1, 2], "each": True}])
def test_a_sequence_answers_one_call_after_the_other_and_is_then_used_up(written: Any) -> None:
    first, second, third = answers(written, "a", "b", "c")

    assert (first, second) == (1, 2)
    assert isinstance(third, MockError)
    assert str(third) == "the mock of 'get_price' has a sequence of 2, which is used up: this is call 3"


def test_steps_return_and_raise_and_the_last_one_is_repeated() -> None:
    first, second, third, fourth = answers({"then": [{"returns": 1}, {"raises": "OSError"}, {"returns": 3}]}, *"abcd")

    assert (first, type(second), third, fourth) == (1, OSError, 3, 3)


def test_arguments_may_be_compared_by_their_place() -> None:
    rules = [
        {"positional": ["P1", {"$in": ["EUR", "USD"]}], "returns": 1},
        {"positional": ["P1", "X", 3], "returns": 2},
    ]

    first, second = answers(rules, "P1", "P2")

    assert first == 1
    assert isinstance(second, MockError)


def test_a_call_that_no_rule_is_for_is_an_error_that_is_remembered() -> None:
    mocks = Mocks.of({"get_price": [{"when": {"sku": "P1"}, "returns": 1}]})

    with use_mocks(mocks), pytest.raises(MockError, match=r"no mock of 'get_price' matches .*'P9'") as raised:
        get_price("P9")

    assert mocks.problems == (raised.value,)


def test_tools_that_are_not_mocked_run() -> None:
    @tool
    def search(query: str) -> str:
        return query.upper()

    with use_mocks(Mocks.of({"get_price": {"returns": 1}})):
        assert search("laptop") == "LAPTOP"


def test_a_mocked_call_is_a_call_like_any_other() -> None:
    def spans() -> list[Any]:
        with capture() as captured:
            search("laptop")
        return [(span.name, dict(span.attributes), span.status.status_code) for span in captured.spans]

    @traced()
    @mockable(example_calls=[])
    @tool
    def search(query: str, limit: int = 5) -> list[str]:
        return [query]

    real = spans()
    with use_mocks(Mocks.of({"search": {"returns": ["laptop"]}})):
        mocked = spans()

    assert mocked == real


def test_a_mocked_exception_is_recorded() -> None:
    mocks = Mocks.of({"get_price": {"raises": {"type": "OSError", "message": "off"}}})

    with capture() as captured, use_mocks(mocks), pytest.raises(OSError, match="off"):
        get_price("P1")

    [call] = captured.trajectory().calls
    assert (call.name, call.error) == ("get_price", "off")


def test_a_mocked_call_with_wrong_arguments_is_refused() -> None:
    with use_mocks(Mocks.of({"get_price": {"returns": 1}})), pytest.raises(TypeError):
        get_price()  # type: ignore[call-arg]


def test_a_traced_function_that_is_no_tool_is_not_mocked() -> None:
    @traced
    def helper() -> str:
        return "real"

    with use_mocks(Mocks.of({"helper": {"returns": "mocked"}})):
        assert helper() == "real"


def test_a_function_that_is_only_mockable_is_mocked() -> None:
    @mockable(name="fetch")
    def download() -> str:
        return "real"

    with use_mocks(Mocks.of({"fetch": {"returns": "mocked"}})):
        assert download() == "mocked"


def test_a_mock_of_an_async_tool_is_awaited() -> None:
    @tool
    async def search(query: str) -> str:
        return query

    async def run() -> list[Any]:
        return [await search("a"), await asyncio.create_task(search("b"))]

    with use_mocks(Mocks.of({"search": {"sequence": ["one", "two"]}})):
        assert asyncio.run(run()) == ["one", "two"]


def test_a_mock_of_a_generator_yields_the_values_of_its_list() -> None:
    @tool
    def pages() -> Iterator[int]:
        yield 0

    @tool
    async def async_pages() -> AsyncIterator[int]:
        yield 0

    async def run() -> list[Any]:
        return [page async for page in async_pages()]

    mocks = Mocks.of({"pages": {"returns": [1, 2]}, "async_pages": {"returns": "only"}})
    with capture() as captured, use_mocks(mocks):
        assert (list(pages()), asyncio.run(run())) == ([1, 2], ["only"])

    assert [call.output for call in captured.trajectory().calls] == [[1, 2], ["only"]]


def test_what_an_agent_does_to_a_value_does_not_show_in_the_next() -> None:
    with use_mocks(Mocks.of({"get_price": {"returns": {"prices": [1]}}})):
        get_price("P1")["prices"].append(2)

        assert get_price("P1") == {"prices": [1]}


def test_threads_share_a_sequence_without_losing_or_doubling_a_value() -> None:
    with use_mocks(Mocks.of({"get_price": {"sequence": list(range(200))}})), ThreadPoolExecutor(8) as pool:
        found = list(pool.map(get_price, ["P"] * 200))

    assert sorted(found) == list(range(200))


def test_the_inner_of_two_answers_first_and_the_outer_what_is_left() -> None:
    outer = Mocks.of({"get_price": {"returns": "outer"}, "search": {"returns": "outer"}})

    @tool
    def search() -> str:
        return "real"

    with use_mocks(outer):
        with use_mocks(Mocks.of({"get_price": {"returns": "inner"}})):
            within = (get_price("P1"), search())
        after = get_price("P1")

    assert (within, after) == (("inner", "outer"), "outer")


@pytest.mark.parametrize(
    ("written", "path", "message"),
    [
        ({"a": 3}, ("a",), "the mock of 'a': expected an object such as {returns: …}, not 3"),
        ({"a": []}, ("a",), "the mock of 'a' has no rules"),
        ({"a": {"retuns": 1}}, ("a", "retuns"), "unknown key 'retuns'; did you mean 'returns'?"),
        ({"a": {"when": {}}}, ("a",), "a rule has one of returns, sequence, raises, then, and none is given"),
        ({"a": {"returns": 1, "raises": "X"}}, ("a", "raises"), "not returns and raises"),
        ({"a": [{"returns": 1}, {"sequence": []}]}, ("a", 1, "sequence"), "expected a list that is not empty"),
        ({"a": {"returns": 1, "each": True}}, ("a", "returns"), "expected a list"),
        ({"a": {"raises": "X", "each": True}}, ("a", "each"), "'each' is true or false"),
        ({"a": {"raises": 3}}, ("a", "raises"), "'raises' is a name or {type: …, message: …}, not 3"),
        ({"a": {"raises": {"message": "x"}}}, ("a", "raises"), "the type of an exception is its name, not None"),
        ({"a": {"raises": {"type": "X", "message": 1}}}, ("a", "raises", "message"), "is a string, not 1"),
        ({"a": {"then": [{"returns": 1}, 2]}}, ("a", "then", 1), "a step is {returns: …} or {raises: …}, not 2"),
        ({"a": {"when": 3, "returns": 1}}, ("a", "when"), "'when' is an object of arguments, not 3"),
        (
            {"a": [{"when": {"x": 1, "y": {"$regx": "b"}}, "returns": 1}]},
            ("a", 0, "when", "y"),
            "unknown matcher '$regx'; did you mean '$regex'?",
        ),
        ({"a": {"positional": [{"$regex": 3}], "returns": 1}}, ("a", "positional", 0), "positional[0].$regex takes"),
        ({"a": {"returns": {1: 2}}}, ("a", "returns"), "is not text"),
        ({"": {"returns": 1}}, ("",), "a tool's name has 1 to 10,000 characters"),
    ],
)
def test_a_mistake_is_told_with_the_path_that_leads_to_it(written: Any, path: tuple[Any, ...], message: str) -> None:
    with pytest.raises(CriteriaError) as raised:
        Mocks.of(written)

    assert message in str(raised.value)
    assert raised.value.path == path


def test_mocks_that_are_no_object_are_refused() -> None:
    with pytest.raises(CriteriaError, match="mocks are an object with the names of tools as keys, not"):
        Mocks.of(["a"])  # type: ignore[arg-type]


@given(st.lists(st.sampled_from(["a", "b", "c", "d"]), max_size=12))
def test_each_rule_has_a_sequence_of_its_own(skus: list[str]) -> None:
    rules = [{"when": {"sku": sku}, "sequence": [f"{sku}{n}" for n in range(12)]} for sku in "abcd"]
    counts = {sku: itertools.count() for sku in "abcd"}

    assert answers(rules, *skus) == [f"{sku}{next(counts[sku])}" for sku in skus]


@pytest.mark.parametrize("name", ["os.system", "__import__", "/etc/passwd", "https://example.com", "builtins.exec"])
def test_a_name_is_only_a_name(name: str) -> None:
    def real() -> str:
        return "real"

    with use_mocks(Mocks.of({name: {"returns": "mocked"}})):
        assert (tool(name)(real)(), real()) == ("mocked", "real")
