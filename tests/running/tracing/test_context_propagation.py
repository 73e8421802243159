"""Calls in other threads belong to the capture that they were started from."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rightcall import capture, tool
from rightcall.running.tracing import Captured, ToolAnswer, thread_patches, tool_observer, tool_stub


@tool
def look(case: Any) -> Any:
    return case


@tool
def spread(case: Any) -> None:
    """A tool that calls another one in a thread."""
    in_a_thread(case)


def in_a_thread(case: Any) -> None:
    thread = threading.Thread(target=look, args=(case,))
    thread.start()
    thread.join(30)


def in_a_subclass(case: Any) -> None:
    class Worker(threading.Thread):
        def run(self) -> None:
            look(case)

    worker = Worker()
    worker.start()
    worker.join(30)


def in_a_timer(case: Any) -> None:
    timer = threading.Timer(0, look, (case,))
    timer.start()
    timer.join(30)


def in_an_executor(case: Any) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(look, case).result(30)


def mapped(case: Any) -> None:
    with ThreadPoolExecutor(1) as pool:
        list(pool.map(look, [case]))


def in_run_in_executor(case: Any) -> None:
    async def run() -> None:
        await asyncio.get_running_loop().run_in_executor(None, look, case)

    asyncio.run(run())


def in_to_thread(case: Any) -> None:
    asyncio.run(asyncio.to_thread(look, case))


def in_a_thread_of_an_executor(case: Any) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(in_a_thread, case).result(30)


def in_a_loop_of_another_thread(case: Any) -> None:
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def run() -> None:
        await asyncio.to_thread(look, case)

    asyncio.run_coroutine_threadsafe(run(), loop).result(30)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(30)
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


WAYS = [
    in_a_thread,
    in_a_subclass,
    in_a_timer,
    in_an_executor,
    mapped,
    in_run_in_executor,
    in_to_thread,
    in_a_thread_of_an_executor,
    in_a_loop_of_another_thread,
]


def cases_in(captured: Captured) -> list[Any]:
    return [call.args["case"] for call in captured.trajectory().calls if call.args]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_call_in_another_thread_is_captured(way: Callable[[Any], None]) -> None:
    with capture() as captured:
        way("here")

    assert cases_in(captured) == ["here"]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_call_in_another_thread_is_below_the_span_it_was_started_in(way: Callable[[Any], None]) -> None:
    outer = tool("outer")(way)

    with capture() as captured:
        outer("here")

    first, second = captured.trajectory().calls
    assert (first.name, second.name, second.parent_id) == ("outer", "look", first.span_id)


def test_an_executor_that_many_captures_share_mixes_nothing() -> None:
    async def run(case: int, pool: ThreadPoolExecutor) -> Captured:
        with capture() as captured:
            loop = asyncio.get_running_loop()
            await asyncio.gather(*(loop.run_in_executor(pool, look, case) for _ in range(10)))
        return captured

    async def run_all(pool: ThreadPoolExecutor) -> list[Captured]:
        return await asyncio.gather(*(run(case, pool) for case in range(20)))

    with ThreadPoolExecutor(4) as pool:
        captures = asyncio.run(run_all(pool))

    assert [cases_in(captured) for captured in captures] == [[case] * 10 for case in range(20)]


def test_a_thread_of_an_executor_takes_nothing_from_the_capture_that_started_it() -> None:
    with ThreadPoolExecutor(1) as pool, capture() as captured:
        pool.submit(look, "inside").result(30)

        contextvars.Context().run(pool.submit, look, "outside").result(30)

    assert cases_in(captured) == ["inside"]


def test_who_stands_in_and_who_observes_follow_into_threads() -> None:
    seen: list[Any] = []
    answers = {"a": ToolAnswer("mocked")}
    with thread_patches:
        tokens = (
            tool_stub.set(lambda _, args: answers.get(args["case"])),
            tool_observer.set(lambda *told: seen.append(told)),
        )
        with ThreadPoolExecutor(1) as pool:
            outputs = [pool.submit(look, case).result(30) for case in ("a", "b")]
        tool_stub.reset(tokens[0])
        tool_observer.reset(tokens[1])

    assert outputs == ["mocked", "b"]
    assert seen == [("look", {"case": "b"}, ToolAnswer("b"))]


def test_variables_of_an_agent_do_not_follow_where_python_does_not_take_them() -> None:
    mine: contextvars.ContextVar[str] = contextvars.ContextVar("mine", default="nothing")

    with capture(), ThreadPoolExecutor(1) as pool:
        mine.set("something")
        found = pool.submit(mine.get).result(30)

    assert found == "nothing"


def test_an_exception_in_an_executor_is_the_one_that_was_raised() -> None:
    problem = ValueError("no")

    def fail() -> None:
        raise problem

    with capture(), ThreadPoolExecutor(1) as pool:
        future = pool.submit(fail)

        assert future.exception(30) is problem


def test_a_method_that_a_thread_was_given_stays_its_own() -> None:
    thread = threading.Thread()
    own = vars(thread)["run"] = lambda: look("own")

    with capture() as captured:
        thread.start()
        thread.join(30)

    assert cases_in(captured) == ["own"]
    assert vars(thread)["run"] is own


def test_a_thread_that_was_started_already_says_so() -> None:
    with capture():
        thread = threading.Thread(target=look, args=(1,))
        thread.start()
        thread.join(30)

        with pytest.raises(RuntimeError, match="threads can only be started once"):
            thread.start()

    assert "run" not in vars(thread)
