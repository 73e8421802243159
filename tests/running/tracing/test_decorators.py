"""The decorators: what they leave of a function, and what a call leaves in a trace."""

from __future__ import annotations

import asyncio
import functools
import inspect
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from rightcall import ToolCall, capture, tool, traced
from rightcall.running.tracing import Captured, marks_of, mock_tool_span, mockable

DECORATORS: dict[str, Callable[[Any], Any]] = {
    "traced": traced(),
    "mockable": mockable(example_calls=["get_temperature('Rome')"]),
    "mock_tool_span": mock_tool_span,
}


def calls_of(captured: Captured) -> list[tuple[str, Any, Any]]:
    return [(call.name, call.args, call.output) for call in captured.trajectory().calls]


def only_call(captured: Captured) -> ToolCall:
    [call] = captured.trajectory().calls
    return call


@pytest.mark.parametrize("order", list(itertools.permutations(DECORATORS)), ids=lambda order: " ".join(order))
def test_the_decorators_together_leave_one_span_whatever_their_order(order: tuple[str, ...]) -> None:
    async def get_temperature(city: str) -> dict[str, Any]:
        return {"content": {"temperature": 72.5, "unit": "fahrenheit"}}

    decorated = get_temperature
    for name in order:
        decorated = DECORATORS[name](decorated)

    with capture() as captured:
        asyncio.run(decorated("Rome"))

    assert len(captured.spans) == 1
    assert calls_of(captured) == [("get_temperature", {"city": "Rome"}, {"temperature": 72.5, "unit": "fahrenheit"})]


@pytest.mark.parametrize(
    ("decorator", "name"),
    [
        pytest.param(tool, "search", id="bare"),
        pytest.param(tool(), "search", id="parentheses"),
        pytest.param(tool("find"), "find", id="a name"),
        pytest.param(tool(name="find"), "find", id="a name by keyword"),
        pytest.param(traced(name="looking", span_type="tool"), "search", id="traced with a span type"),
        pytest.param(mock_tool_span, "search", id="mock_tool_span"),
        pytest.param(mock_tool_span(), "search", id="mock_tool_span with parentheses"),
    ],
)
def test_a_tool_is_recorded_under_its_name(decorator: Any, name: str) -> None:
    def search(query: str) -> list[str]:
        return [query]

    with capture() as captured:
        decorator(search)("laptop")

    assert calls_of(captured) == [(name, {"query": "laptop"}, ["laptop"])]


@pytest.mark.parametrize("decorator", [traced, traced(), traced("search"), traced(name="search")])
def test_a_traced_function_is_a_span_and_no_call(decorator: Any) -> None:
    def search(query: str) -> str:
        return query.upper()

    with capture() as captured:
        decorator(search)("laptop")

    [span] = captured.spans
    assert (span.name, dict(span.attributes)) == (
        "search",
        {"input.value": '{"query": "laptop"}', "output.value": "LAPTOP"},
    )
    assert captured.trajectory().calls == ()


def test_what_a_traced_agent_was_given_and_gave_back_is_that_of_the_run() -> None:
    @traced
    def agent(question: str) -> str:
        return f"the answer to {question}"

    with capture() as captured:
        agent("it all")

    trajectory = captured.trajectory()
    assert (trajectory.input, trajectory.output) == ("it all", "the answer to it all")


def test_a_function_that_is_only_mockable_leaves_no_span() -> None:
    @mockable
    def search(query: str) -> str:
        return query

    with capture() as captured:
        assert search("laptop") == "laptop"

    assert captured.spans == ()


def test_the_examples_of_a_mockable_function_are_kept() -> None:
    @tool("find")
    @mockable(example_calls=[{"id": "1"}])
    @traced("looking")
    def search(query: str) -> str:
        return query

    marks = marks_of(search)

    assert marks is not None
    assert (marks.example_calls, marks.tool, marks.span) == (({"id": "1"},), "find", "looking")


def test_decorating_again_leaves_the_first_one_as_it_was() -> None:
    @tool
    def search() -> None:
        return None

    other = tool("find")(search)
    with capture() as captured:
        search()
        other()

    assert captured.trajectory().names == ("search", "find")


def test_the_decorators_of_others_in_between_keep_working() -> None:
    def twice(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any) -> Any:
            return [function(*args), function(*args)]

        return wrapper

    @traced("both")
    @twice
    @tool
    def search(query: str) -> str:
        return query

    with capture() as captured:
        assert search("a") == ["a", "a"]

    assert [span.name for span in captured.spans] == ["both", "search", "search"]
    assert captured.trajectory().names == ("search", "search")


def test_names_documents_and_signatures_stay() -> None:
    def search(query: str, *, limit: int = 5) -> list[str]:
        """Look for something."""
        return [query] * limit

    decorated = traced()(mockable()(tool(search)))

    assert (decorated.__name__, decorated.__doc__, decorated.__module__) == ("search", "Look for something.", __name__)
    assert inspect.signature(decorated) == inspect.signature(search)
    assert decorated.__annotations__ == search.__annotations__


async def coroutine_function() -> None: ...


def generator_function() -> Iterator[int]:
    yield 1


async def async_generator_function() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("function", "is_kind"),
    [
        (coroutine_function, inspect.iscoroutinefunction),
        (generator_function, inspect.isgeneratorfunction),
        (async_generator_function, inspect.isasyncgenfunction),
    ],
)
def test_a_function_stays_what_it_is(function: Any, is_kind: Callable[[Any], bool]) -> None:
    assert is_kind(tool(function))


class Shop:
    def __init__(self) -> None:
        self.name = "corner"

    @tool
    def by_self(self, sku: str) -> str:
        return f"{self.name} {sku}"

    @tool
    @classmethod
    def tool_of_class(cls, sku: str) -> str:
        return f"{cls.__name__} {sku}"

    @classmethod
    @tool
    def class_of_tool(cls, sku: str) -> str:
        return f"{cls.__name__} {sku}"

    @tool
    @staticmethod
    def tool_of_static(sku: str) -> str:
        return sku

    @staticmethod
    @tool
    def static_of_tool(sku: str) -> str:
        return sku


@pytest.mark.parametrize(
    ("name", "output"),
    [
        ("by_self", "corner P1"),
        ("tool_of_class", "Shop P1"),
        ("class_of_tool", "Shop P1"),
        ("tool_of_static", "P1"),
        ("static_of_tool", "P1"),
    ],
)
def test_methods_are_recorded_without_their_object(name: str, output: str) -> None:
    with capture() as captured:
        assert getattr(Shop(), name)("P1") == output

    assert calls_of(captured) == [(name, {"sku": "P1"}, output)]


def test_a_bound_method_can_be_decorated() -> None:
    named = tool("look")(Shop().by_self)

    with capture() as captured:
        assert named("P1") == "corner P1"

    assert calls_of(captured) == [("look", {"sku": "P1"}, "corner P1")]


def test_a_partial_application_can_be_decorated() -> None:
    def search(query: str, limit: int) -> str:
        return query * limit

    with capture() as captured:
        assert tool(functools.partial(search, limit=2))("ab") == "abab"

    assert calls_of(captured) == [("search", {"query": "ab", "limit": 2}, "abab")]


@pytest.mark.parametrize("wrong", [3, Shop, object()])
def test_what_is_no_function_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="only functions can be decorated, not"):
        tool(wrong)


def test_an_exception_is_recorded_and_raised_as_it_is() -> None:
    problem = KeyError("P9")

    @traced()
    @tool
    def price(sku: str) -> int:
        raise problem

    with capture() as captured, pytest.raises(KeyError) as raised:
        price("P9")

    frames = [frame.name for frame in raised.traceback]
    assert raised.value is problem
    assert frames[-2:] == ["wrapper", "price"]
    assert frames.count("wrapper") == 1
    assert (problem.__cause__, problem.__context__) == (None, None)
    call = only_call(captured)
    assert (call.error, call.args, call.output) == ("'P9'", {"sku": "P9"}, None)


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_an_exception_without_a_text_reaches_the_agent_all_the_same() -> None:
    @tool
    def fail() -> None:
        raise UnspeakableError

    with capture() as captured, pytest.raises(UnspeakableError):
        fail()

    assert only_call(captured).error == f"{__name__}.UnspeakableError"


def test_a_cancelled_tool_is_a_call_that_went_wrong() -> None:
    @tool
    async def wait() -> None:
        await asyncio.sleep(60)

    async def run() -> None:
        task = asyncio.create_task(wait())
        await asyncio.sleep(0)
        task.cancel()
        await task

    with capture() as captured, pytest.raises(asyncio.CancelledError):
        asyncio.run(run())

    assert only_call(captured).error == "asyncio.exceptions.CancelledError"


def test_a_plain_function_that_returns_a_coroutine_is_a_call_until_that_ends() -> None:
    async def later(city: str) -> str:
        await asyncio.sleep(0)
        return city.upper()

    with capture() as captured:
        assert asyncio.run(tool("get")(lambda city: later(city))("Rome")) == "ROME"

    assert calls_of(captured) == [("get", {"city": "Rome"}, "ROME")]


def test_wrong_arguments_are_refused_by_the_function_itself() -> None:
    @tool
    def search(query: str) -> str:
        return query

    with capture() as captured, pytest.raises(TypeError, match=r"search\(\) got an unexpected keyword argument 'q'"):
        search(q="laptop")  # type: ignore[call-arg]

    call = only_call(captured)
    assert (call.name, call.args) == ("search", {"q": "laptop"})
    assert "unexpected keyword argument" in str(call.error)


def test_nothing_is_recorded_without_a_capture() -> None:
    @traced()
    @tool
    def search(query: str) -> str:
        return query

    with capture() as captured:
        pass
    search("laptop")

    assert captured.spans == ()
