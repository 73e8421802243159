"""Whatever an agent does with tasks, threads and executors, each run has exactly its calls, nested as they were."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from hypothesis import given, strategies as st
from tests.sampling import examples

from rightcall import capture, tool
from rightcall.running.tracing import Captured

Program = list[tuple[str, Any]]
"""The calls that a call makes, one after the other: the way each is made, and what it does itself."""

WAYS = st.sampled_from(["await", "task", "gather", "to_thread", "executor", "thread", "generator"])
PROGRAMS: st.SearchStrategy[Program] = st.recursive(
    st.just([]), lambda inner: st.lists(st.tuples(WAYS, inner), min_size=1, max_size=3), max_leaves=10
)


@tool
async def visit(case: int, path: list[int], program: Program, pool: ThreadPoolExecutor) -> None:
    for number, (way, below) in enumerate(program):
        await make_call(way, (case, [*path, number], below, pool))


@tool("visit")
async def visit_slowly(case: int, path: list[int], program: Program, pool: ThreadPoolExecutor) -> Any:
    """The same call as a generator."""
    for number, (way, below) in enumerate(program):
        await make_call(way, (case, [*path, number], below, pool))
        yield number


async def make_call(way: str, given: Any) -> None:
    if way == "await":
        await visit(*given)
    elif way == "task":
        await asyncio.create_task(visit(*given))
    elif way == "gather":
        await asyncio.gather(visit(*given), asyncio.sleep(0))
    elif way == "to_thread":
        await asyncio.to_thread(lambda: asyncio.run(visit(*given)))
    elif way == "executor":
        await asyncio.get_running_loop().run_in_executor(given[-1], lambda: asyncio.run(visit(*given)))
    elif way == "thread":
        thread = threading.Thread(target=lambda: asyncio.run(visit(*given)))
        thread.start()
        await asyncio.to_thread(thread.join, 30)
    else:
        async for _ in visit_slowly(*given):
            await asyncio.sleep(0)


def calls_of(program: Program, path: tuple[int, ...] = ()) -> list[tuple[int, ...]]:
    """The calls of a program, in the order they begin."""
    return [path, *(call for number, (_, below) in enumerate(program) for call in calls_of(below, (*path, number)))]


async def run(case: int, program: Program, pool: ThreadPoolExecutor) -> Captured:
    with capture() as captured:
        await visit(case, [], program, pool)
    return captured


@examples(40)
@given(st.lists(PROGRAMS, min_size=2, max_size=4))
def test_every_run_has_exactly_its_calls_in_order_and_nested_as_they_were(programs: list[Program]) -> None:
    async def run_all() -> list[Captured]:
        # A call waits for those below it, so there must be a thread for each of them.
        with ThreadPoolExecutor(64) as pool:
            return await asyncio.gather(*(run(case, program, pool) for case, program in enumerate(programs)))

    for case, captured in enumerate(asyncio.run(run_all())):
        calls = captured.trajectory().calls
        paths = [tuple(call.args["path"]) for call in calls if call.args]
        by_id = {call.span_id: path for call, path in zip(calls, paths, strict=True)}
        above = [by_id.get(call.parent_id) for call in calls]

        assert {call.args["case"] for call in calls if call.args} == {case}
        assert paths == calls_of(programs[case])
        assert above == [path[:-1] if path else None for path in paths]
