"""The weather agent of the examples does what its evaluations expect."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from rightcall import EVALUATORS, Trajectory
from rightcall.agents import Request, load_agent
from rightcall.tracing import Answer, capture, stand_in

EXAMPLE = Path(__file__).parents[2] / "examples" / "weather_tools"
EVALUATIONS = json.loads((EXAMPLE / "evaluations/eval-sets/default.json").read_text())["evaluations"]


def path_of(case: dict[str, Any]) -> Trajectory:
    """The calls of a case, with its mocks."""
    behaviors = case.get("mockingStrategy", {"behaviors": []})["behaviors"]
    answers = {one["function"]: one["then"][0]["value"] for one in behaviors}
    agent = load_agent("main.py", EXAMPLE)

    async def run() -> Trajectory:
        stand_in.set(lambda name, args: Answer(value=answers[name]) if name in answers else None)
        with capture() as captured:
            await agent.answer(Request(input=case["inputs"], case_id=case["id"]))  # type: ignore[misc]
        return captured.trajectory()

    made = asyncio.run(run())
    agent.close()
    return made


@pytest.mark.parametrize("case", EVALUATIONS, ids=lambda case: case["id"])
def test_every_case_passes_every_evaluator(case: dict[str, Any]) -> None:
    files = [json.loads(file.read_text()) for file in (EXAMPLE / "evaluations" / "evaluators").glob("*.json")]
    path = path_of(case)

    results = {}
    for written in files:
        config = {key: value for key, value in written["evaluatorConfig"].items() if key != "name"}
        evaluator = EVALUATORS[written["evaluatorTypeId"].removeprefix("uipath-")](config=config)
        results[written["id"]] = evaluator.evaluate(path, case["evaluationCriterias"][written["id"]])

    assert {name: result.verdict for name, result in results.items()} == dict.fromkeys(
        ("ToolCallCountEvaluator", "ToolCallOrderEvaluator", "ToolCallArgsEvaluator", "ToolCallOutputEvaluator"),
        "passed",
    )


def test_the_five_cases_are_there() -> None:
    assert [case["id"] for case in EVALUATIONS] == [
        "basic_weather",
        "weather_with_forecast",
        "weather_with_alerts",
        "sunny_weather",
        "tokyo_forecast",
    ]
