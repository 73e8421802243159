"""Captures: each has exactly its own spans."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import random
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry import context as telemetry_context, trace
from opentelemetry.sdk.trace import TracerProvider

from rightcall import capture, tool
from rightcall.errors import LimitError
from rightcall.limits import Limits
from rightcall.running.tracing import Captured


@tool
def look(case: Any) -> Any:
    return case


def cases_in(captured: Captured) -> list[Any]:
    return [call.args["case"] for call in captured.trajectory().calls if call.args]


def test_concurrent_captures_in_tasks_have_their_own_calls_in_order() -> None:
    async def step(case: int, number: int) -> None:
        await asyncio.sleep(random.random() / 1000)
        look([case, number])

    async def run(case: int) -> Captured:
        with capture() as captured:
            for number in range(3):
                await step(case, number)
            await asyncio.gather(*(step(case, number) for number in range(3, 6)))
        return captured

    async def run_all() -> list[Captured]:
        return await asyncio.gather(*(run(case) for case in range(50)))

    for case, captured in enumerate(asyncio.run(run_all())):
        found = cases_in(captured)
        assert found[:3] == [[case, 0], [case, 1], [case, 2]]
        assert sorted(found) == [[case, number] for number in range(6)]


def test_calls_are_in_order_though_the_clock_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    @tool
    def outer() -> None:
        look("inside")

    monkeypatch.setattr("opentelemetry.sdk.trace.time_ns", lambda: 1_000)
    with capture() as captured:
        look("first")
        outer()
        look("last")

    path = captured.trajectory()
    assert [call.args for call in path.calls] == [{"case": "first"}, {}, {"case": "inside"}, {"case": "last"}]
    assert path.unordered == ()


def test_concurrent_captures_in_threads_have_their_own_calls() -> None:
    captures: dict[int, Captured] = {}
    together = threading.Barrier(8)

    def run(case: int) -> None:
        together.wait(30)
        with capture() as captured:
            for _ in range(20):
                look(case)
        captures[case] = captured

    threads = [threading.Thread(target=run, args=(case,)) for case in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert {case: cases_in(captured) for case, captured in captures.items()} == {case: [case] * 20 for case in range(8)}


def test_the_inner_and_the_outer_capture_get_the_calls_of_the_inner() -> None:
    with capture() as outer:
        look("before")
        with capture() as inner:
            look("inside")
        look("after")

    assert cases_in(inner) == ["inside"]
    assert cases_in(outer) == ["before", "inside", "after"]


def test_a_span_that_is_open_when_the_capture_ends_is_kept_as_it_stood() -> None:
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("agent")

    with capture() as captured:
        span = tracer.start_span("search", attributes={"tool.name": "search", "input.value": '{"q": 1}'})
    span.set_attribute("output.value", "late")
    span.end()

    [call] = captured.trajectory().calls
    assert (call.args, call.end_ns) == ({"q": 1}, None)
    assert call.unrecorded == {"output"}


def test_calls_that_begin_after_the_capture_are_not_in_it() -> None:
    go = threading.Event()

    def later() -> None:
        go.wait(30)
        look("late")

    with capture() as outer:
        with capture() as inner:
            look("early")
            thread = threading.Thread(target=later)
            thread.start()
        go.set()
        thread.join(30)

    assert cases_in(inner) == ["early"]
    assert cases_in(outer) == ["early", "late"]


def test_a_thread_of_another_capture_gives_a_call_to_the_capture_of_its_parent() -> None:
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("server")
    requests: list[Any] = []
    asked, answered = threading.Event(), threading.Event()

    def serve() -> None:
        asked.wait(30)
        with tracer.start_as_current_span("search", context=requests[0], attributes={"tool.name": "search"}):
            look("served")
        answered.set()

    with capture() as first:
        thread = threading.Thread(target=serve)
        thread.start()
        second_context = telemetry_context.Context()
        second: list[Captured] = []

        def ask() -> None:
            with capture() as captured, tracer.start_as_current_span("request") as span:
                requests.append(trace.set_span_in_context(span, second_context))
                asked.set()
                answered.wait(30)
            second.append(captured)

        contextvars.Context().run(ask)
        thread.join(30)

    assert first.trajectory().names == ()
    assert second[0].trajectory().names == ("search", "look")


def test_a_call_below_a_span_of_an_inner_capture_that_is_over_belongs_to_the_outer_one() -> None:
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("agent")

    with capture() as outer:
        with capture() as inner, tracer.start_as_current_span("request") as span:
            below = trace.set_span_in_context(span, telemetry_context.Context())
        contextvars.Context().run(
            lambda: tracer.start_span("late", context=below, attributes={"tool.name": "late"}).end()
        )

    assert inner.trajectory().names == ()
    assert outer.trajectory().names == ("late",)


def test_a_capture_that_is_over_is_held_by_nobody_not_even_by_a_thread_that_lives_on() -> None:
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, args=(30,))

    def run() -> weakref.ref[Any]:
        with capture(Limits(captured_spans=2)) as captured:
            thread.start()
            for case in range(5):
                look(case)
        return weakref.ref(captured.spans[0])

    left = run()
    gc.collect()
    is_gone = left() is None
    stop.set()
    thread.join(30)

    assert is_gone


def test_equal_ids_lose_no_call() -> None:
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("agent")
    state = random.getstate()

    with capture() as captured:
        for _ in range(3):
            random.seed(0)
            tracer.start_span("search", attributes={"tool.name": "search"}).end()
    random.setstate(state)

    assert captured.trajectory().names == ("search", "search", "search")


def test_a_capture_leaves_the_random_numbers_of_an_agent_alone() -> None:
    random.seed(7)
    expected = random.random()
    random.seed(7)

    with capture():
        look("something")
        found = random.random()

    assert found == expected


def test_too_many_spans_are_an_error_and_no_trajectory() -> None:
    with capture(Limits(captured_spans=2)) as captured:
        for number in range(5):
            look(number)

    assert (len(captured.spans), captured.left_out) == (2, 3)
    with pytest.raises(LimitError, match=r"5 spans in one run; the limit is 2 \(captured_spans\)"):
        captured.trajectory()


def test_the_calls_so_far_can_be_seen_while_the_capture_is_open() -> None:
    @tool
    def outer() -> tuple[str, ...]:
        look("x")
        return captured.trajectory().names

    with capture() as captured:
        assert outer() == ("outer", "look")


def test_a_capture_that_fails_is_over() -> None:
    captures = []

    def agent() -> None:
        with capture() as captured:
            captures.append(captured)
            look(1)
            raise ValueError("agent")

    with pytest.raises(ValueError, match="agent"):
        agent()
    look(2)

    assert cases_in(captures[0]) == [1]


def test_a_capture_may_be_left_in_another_context_than_it_was_entered_in() -> None:
    @contextmanager
    def fixture() -> Iterator[Captured]:
        with capture() as captured:
            yield captured

    made = fixture()
    here = contextvars.copy_context()
    captured = here.run(made.__enter__)
    here.run(look, "inside")
    made.__exit__(None, None, None)
    here.run(look, "outside")

    assert cases_in(captured) == ["inside"]


def test_a_capture_can_be_taken_into_a_context_that_is_older() -> None:
    older = contextvars.copy_context()
    with capture() as captured:

        def inside() -> None:
            with captured.here():
                look("taken")

        older.run(look, "left out")
        older.run(inside)
        older.run(look, "left out again")

    assert cases_in(captured) == ["taken"]
