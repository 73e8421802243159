"""The weather agent of the examples does what its evaluations expect."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from rightcall import Case, Trajectory, judge, load_eval_set
from rightcall.running.agents import AgentRequest, load_agent
from rightcall.running.mocking import Mocks, use_mocks
from rightcall.running.tracing import capture

EXAMPLE = Path(__file__).parents[2] / "examples" / "weather_tools"
CASES = load_eval_set(EXAMPLE / "evaluations" / "eval-sets" / "default.json").cases


def path_of(case: Case, *, mocked: bool = True) -> Trajectory:
    """The calls of a case, with its mocks or without."""
    agent = load_agent("main.py", EXAMPLE)

    async def run() -> Trajectory:
        with use_mocks(Mocks.of(case.mocks if mocked else {})), capture() as captured:
            await agent.answer(AgentRequest(input=case.input, case_id=case.id))  # type: ignore[misc]
        return captured.trajectory()

    made = asyncio.run(run())
    agent.close()
    return made


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_every_case_passes_every_evaluator(case: Case) -> None:
    result = judge(case, path_of(case))

    assert {one.evaluator: one.verdict for one in result.results} == dict.fromkeys(
        ("ToolCallCountEvaluator", "ToolCallOrderEvaluator", "ToolCallArgsEvaluator", "ToolCallOutputEvaluator"),
        "passed",
    )


def test_cases_with_mocks_need_them() -> None:
    failed = [case.id for case in CASES if not judge(case, path_of(case, mocked=False)).passed]

    assert failed == ["weather_with_forecast", "weather_with_alerts", "sunny_weather"]


def test_the_five_cases_are_there() -> None:
    assert [case.id for case in CASES] == [
        "basic_weather",
        "weather_with_forecast",
        "weather_with_alerts",
        "sunny_weather",
        "tokyo_forecast",
    ]
