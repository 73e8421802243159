"""ADK: `AgentEvaluator` over an agent that makes the calls of a path, whatever it is asked."""

import asyncio
import contextlib
import io
import sys
import types
from collections.abc import AsyncIterator
from typing import Any

from google.adk.agents import BaseAgent
from google.adk.evaluation.agent_evaluator import (
    AgentEvaluator,
)
from google.adk.evaluation.eval_case import (
    EvalCase,
    IntermediateData,
    Invocation,
)
from google.adk.evaluation.eval_config import (
    EvalConfig,
)
from google.adk.evaluation.eval_set import (
    EvalSet,
)
from google.adk.events import Event
from google.genai.types import Content, FunctionCall, FunctionResponse, Part

from benchmarks.comparison.inputs import Input
from benchmarks.comparison.tellers.telling import tell

_MODULE = "travel_agent"


class Scripted(BaseAgent):  # type: ignore[misc]
    """Makes the calls it was given, and then says that it is done."""

    made: list[Any]

    async def _run_async_impl(self, context: Any) -> AsyncIterator[Any]:
        for call in self.made:
            asked = FunctionCall(name=call["name"], args=call["args"])
            yield self._said(context, Part(function_call=asked))
            yield self._said(
                context, Part(function_response=FunctionResponse(name=call["name"], response={"ok": True}))
            )
        yield self._said(context, Part(text="done"))

    def _said(self, context: Any, part: Any) -> Any:
        content = Content(role="model", parts=[part])
        return Event(author=self.name, invocation_id=context.invocation_id, content=content)


def _fail(given: Input) -> None:
    module = types.ModuleType(_MODULE)
    module.agent = types.SimpleNamespace(root_agent=Scripted(name="agent", made=list(given.actual)))  # type: ignore[attr-defined]
    sys.modules[_MODULE] = module
    cases = EvalSet(
        eval_set_id="travel", eval_cases=[EvalCase(eval_id="case", conversation=[_expected(given.expected)])]
    )
    config = EvalConfig(criteria={"tool_trajectory_avg_score": 1.0})
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            asyncio.run(AgentEvaluator.evaluate_eval_set(_MODULE, cases, eval_config=config, num_runs=1))
    finally:
        # One table for each metric. Those that decide nothing are counted, and one of them has the time it took.
        decides, *others = printed.getvalue().strip().split("\n\n\n")
        print(f"{decides.strip()}\n\n[{len(others)} more tables with the same calls, of metrics that decide nothing]\n")


def _expected(calls: Any) -> Any:
    uses = [FunctionCall(name=call["name"], args=call["args"]) for call in calls]
    return Invocation(
        user_content=Content(role="user", parts=[Part(text="a question")]),
        final_response=Content(role="model", parts=[Part(text="done")]),
        intermediate_data=IntermediateData(tool_uses=uses),
    )


if __name__ == "__main__":
    tell(_fail)
