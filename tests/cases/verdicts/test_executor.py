"""Cases with async evaluators, judged many at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError
from typing import Any

import pytest
from tests.builders import calls

from rightcall import EvaluationResult, ToolCall, Trajectory
from rightcall.cases.evalsets import Case, Check
from rightcall.cases.verdicts import JudgingExecutor, judge
from rightcall.judging import EVALUATORS, AsyncConfig, AsyncEvaluator, Criteria, Execution
from rightcall.values.results import Source

Deed = Callable[[Execution], Coroutine[Any, Any, Any]]
HERE = Source("shop.yaml", 1, 1)
MADE = calls("search", "book")


class Patient(AsyncEvaluator[AsyncConfig, Criteria]):
    """Does a deed, and gives what that gives as the score."""

    type_id = "patient"

    def __init__(self, deed: Deed, id: str = "patient", **config: Any) -> None:
        super().__init__(id, config)
        self._deed = deed

    async def assess(self, execution: Execution, criteria: Criteria) -> EvaluationResult:
        given = await self._deed(execution)
        return self.scored(execution, given) if isinstance(given, float) else given


def check(evaluator: Any, criteria: Any = None) -> Check:
    return Check(evaluator.id, evaluator, evaluator.criteria({} if criteria is None else criteria), lambda path: HERE)


def plain(*names: str) -> Check:
    return check(EVALUATORS["tool-call-order"]("order"), {"tool_calls_order": list(names)})


def case(*checks: Check, case_id: str = "a", **known: Any) -> Case:
    return Case(id=case_id, source=HERE, checks=checks, **known)


async def one(execution: Execution) -> float:
    return 1.0


async def soon(execution: Execution) -> float:
    await asyncio.sleep(0.05)
    return 1.0


async def never(execution: Execution) -> float:
    await asyncio.sleep(3600)
    return 1.0


async def fail(execution: Execution) -> float:
    raise ValueError("no such model")


async def leave(execution: Execution) -> float:
    raise SystemExit(3)


async def ignore_being_cancelled(execution: Execution) -> float:
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            if execution.metadata.get("over"):
                raise


def test_a_case_of_plain_evaluators_is_judged_at_once_and_starts_no_thread() -> None:
    before = set(threading.enumerate())

    with JudgingExecutor() as judging:
        future = judging.submit(case(plain("search", "book")), MADE)
        started = set(threading.enumerate()) - before

    assert future.done()
    assert future.result().passed
    assert not started


def test_evaluators_that_wait_and_plain_ones_give_one_result_in_the_order_of_the_checks() -> None:
    result = judge(case(check(Patient(soon)), plain("search", "book"), check(Patient(one, "other"))), MADE)

    assert [(one.evaluator, one.verdict, one.score) for one in result.results] == [
        ("patient", "passed", 1.0),
        ("order", "passed", 1.0),
        ("other", "passed", 1.0),
    ]
    assert result.passed


def test_many_are_waited_for_at_once_but_no_more_than_allowed() -> None:
    at_once, most, all_there = 0, 0, asyncio.Event()

    async def count(execution: Execution) -> float:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        if at_once == 5:
            all_there.set()
        await asyncio.wait_for(all_there.wait(), 60)
        await asyncio.sleep(0.01)  # so that a sixth would be seen
        at_once -= 1
        return 1.0

    with JudgingExecutor(concurrency=5) as judging:
        futures = [judging.submit(case(check(Patient(count))), MADE) for _ in range(40)]
        results = [future.result(120) for future in futures]

    assert all(result.passed for result in results)
    assert most == 5


@pytest.mark.parametrize(
    ("deed", "reason"),
    [
        pytest.param(fail, "RC402 ValueError while judging: no such model", id="raises"),
        pytest.param(leave, "RC402 SystemExit while judging: 3", id="exits"),
        pytest.param(never, "RC404 'patient' did not answer within 0.05 s", id="hangs"),
        pytest.param(
            ignore_being_cancelled, "RC404 'patient' did not answer within 0.05 s", id="hangs and cannot be cancelled"
        ),
    ],
)
def test_one_that_breaks_is_an_error_and_what_the_others_say_stands(deed: Deed, reason: str) -> None:
    broken, other = check(Patient(deed, timeout=0.05)), check(Patient(one, "other"))
    result = judge(case(plain("book", "search"), broken, other), MADE)

    assert result.verdict == "failed"
    assert judge(case(plain("search", "book"), broken, other), MADE).verdict == "error"
    assert result.score is None
    assert [(each.verdict, each.score) for each in result.results] == [("failed", 0.5), ("error", None), ("passed", 1)]
    assert result.results[1].error == reason
    assert [each.expectation for each in result.findings] == ["order", "patient"]


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(float("nan"), id="NaN"),
        pytest.param(float("inf"), id="infinite"),
        pytest.param(1.5, id="above 1"),
        pytest.param(-0.1, id="below 0"),
        pytest.param(None, id="nothing"),
        pytest.param("good", id="a word"),
    ],
)
def test_what_is_no_score_never_becomes_one(given: Any) -> None:
    async def give(execution: Execution) -> Any:
        return given

    result = Patient(give).evaluate(MADE, {})

    assert result.verdict == "error"
    assert result.score is None
    assert result.error is not None
    assert result.error.startswith("RC402")


def test_one_that_blocks_the_event_loop_costs_its_own_result_only() -> None:
    released = threading.Event()

    async def block(execution: Execution) -> float:
        released.wait(60)
        return 1.0

    with JudgingExecutor() as judging:
        bad = judging.submit(case(check(Patient(block, timeout=0.1))), MADE)
        good = [judging.submit(case(check(Patient(soon, timeout=60))), MADE) for _ in range(5)]

        assert bad.result(60).results[0].error == (
            "RC404 'patient' did not answer within 0.1 s: it does not let others go on"
        )
        assert all(future.result(60).passed for future in good)
    released.set()


def test_closing_gives_up_what_is_open() -> None:
    with JudgingExecutor() as judging:
        future = judging.submit(case(plain("search"), check(Patient(never))), MADE)

    with pytest.raises(CancelledError):
        future.result(1)


def test_an_evaluator_is_told_the_input_the_expected_behaviour_and_the_metadata_of_the_case() -> None:
    received: list[Execution] = []

    async def listen(execution: Execution) -> float:
        received.append(execution)
        return 1.0

    checks = (check(Patient(listen)),)
    given: dict[str, Any] = {"expected_behavior": "Book it", "metadata": {"level": 2}}
    trajectory = Trajectory.of(["search"], input="recorded", output="done")
    judge(case(*checks, input="asked", **given), trajectory)
    judge(case(*checks, turns=("one", "two")), trajectory)
    judge(case(*checks), trajectory)

    assert [each.input for each in received] == ["asked", ["one", "two"], "recorded"]
    assert (received[0].case_id, received[0].expected_behavior, received[0].metadata) == ("a", "Book it", {"level": 2})
    assert (received[0].output, [call.name for call in received[0].calls]) == ("done", ["search"])


def test_criteria_choose_the_calls_that_an_evaluator_sees() -> None:
    async def only_book(execution: Execution) -> float:
        return float([call.name for call in execution.calls] == ["book"])

    assert Patient(only_book).evaluate(MADE, {"ignore_tools": ["search"]}).score == 1.0


def test_a_trace_without_tool_data_is_not_measured_and_nobody_is_asked() -> None:
    result = Patient(fail).evaluate(Trajectory(calls_recorded=False), {})

    assert result.verdict == "not_measured"
    assert [finding.code for finding in result.findings] == ["RC301"]


def test_evaluators_that_wait_can_be_asked_where_an_event_loop_is_running() -> None:
    async def ask() -> EvaluationResult:
        return Patient(soon).evaluate(MADE, {})

    assert asyncio.run(ask()).passed


@pytest.mark.parametrize(("parallel", "unordered"), [("in_order", ()), ("recorded", ((0, 2),))])
def test_an_async_evaluator_sees_which_calls_have_no_order(parallel: str, unordered: Any) -> None:
    seen: list[Execution] = []

    async def look(execution: Execution) -> float:
        seen.append(execution)
        return 1.0

    asked = Trajectory(calls=(ToolCall("search", group="g"), ToolCall("book", group="g"), ToolCall("pay")))

    judge(case(check(Patient(look), {"parallel": parallel})), asked)

    assert [execution.trajectory.unordered for execution in seen] == [unordered]
