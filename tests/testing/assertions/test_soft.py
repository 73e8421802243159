"""`soft`: assertions raised together."""

import asyncio

import pytest

from rightcall import CheckFailedError, NotMeasuredError, calls, check, soft
from rightcall.testing.assertions import listen_to_results

MADE = ["search", "book"]


def test_all_problems_are_raised_at_the_end_of_the_block() -> None:
    def block() -> None:
        with soft():
            calls(MADE).never("book").times(1, "search").in_order("book", "search")
            check(MADE, ["search", "pay"])

    with pytest.raises(CheckFailedError) as raised:
        block()

    text = str(raised.value)
    assert text.splitlines()[0] == "`book` was called, and must never be (never), and 2 more assertions failed"
    assert [line[:2] for line in text.splitlines() if line[:1].isdigit()] == ["1.", "2.", "3."]
    assert len(raised.value.results) == 3


def test_one_problem_is_raised_as_it_is() -> None:
    with pytest.raises(CheckFailedError, match=r"^`pay` was never called \(in_order 0/1\)"), soft():
        calls(MADE).in_order("pay").never("delete")


def test_nothing_is_raised_where_everything_holds() -> None:
    with soft() as block:
        calls(MADE).in_order("search")

    assert block.problems == []


def test_what_was_not_measured_is_a_failure_only_beside_one() -> None:
    with pytest.raises(NotMeasuredError), soft():
        calls(MADE).called("search", query=1).called("book", id=1)
    with pytest.raises(CheckFailedError, match=r"^`search` was called, and must never be"), soft():
        calls(MADE).called("book", id=1).never("search")


def test_the_outermost_block_raises() -> None:
    def blocks() -> None:
        with soft():
            with soft():
                calls(MADE).never("search")
            calls(MADE).never("book")

    with pytest.raises(CheckFailedError, match="1 more assertion failed"):
        blocks()


def test_another_exception_goes_on_with_a_note_of_what_was_found() -> None:
    def block() -> None:
        with soft():
            calls(MADE).never("book")
            raise KeyError("other")

    with pytest.raises(KeyError) as raised:
        block()

    assert "`book` was called, and must never be" in raised.value.__notes__[0]


def test_a_block_is_about_its_own_task() -> None:
    async def strict() -> None:
        await asyncio.sleep(0)
        calls(MADE).never("book")

    async def lenient() -> str:
        with soft() as block:
            calls(MADE).never("book")
            await asyncio.sleep(0.01)
            block.problems.clear()
        return "went on"

    async def both() -> list[object]:
        return [*await asyncio.gather(strict(), lenient(), return_exceptions=True)]

    failed, done = asyncio.run(both())

    assert isinstance(failed, CheckFailedError)
    assert done == "went on"


def test_listeners_hear_of_every_result() -> None:
    heard = []
    with listen_to_results(lambda case, result: heard.append(result.verdict)), soft() as block:
        calls(MADE).in_order("search").never("book")
        block.problems.clear()

    calls(MADE).in_order("search")

    assert heard == ["passed", "failed"]
