"""Short ways to make what tests need."""

from __future__ import annotations

from typing import Any

from rightcall import EvaluationResult, ToolCall, Trajectory
from rightcall.judging import EVALUATORS


def call(name: str, /, **args: Any) -> ToolCall:
    """A recorded call with these arguments."""
    return ToolCall(name, args, None)


def expected(name: str, /, **args: Any) -> dict[str, Any]:
    """An expected call with these arguments."""
    return {"name": name, "args": args}


def calls(*made: ToolCall | str) -> Trajectory:
    """A trajectory of these calls; a name alone was recorded without arguments."""
    return Trajectory.of(made)


def judge(type_id: str, made: Any, criteria: dict[str, Any], **config: Any) -> EvaluationResult:
    """The result of an evaluator, by its type id."""
    return EVALUATORS[type_id](config=config).evaluate(made, criteria)


class Span:
    """What Rightcall reads of an OpenTelemetry span, without the SDK."""

    def __init__(self, name: str, start: int | None, end: int | None, **attributes: Any) -> None:
        self.name = name
        self.start_time = start
        self.end_time = end
        self.attributes = {key.replace("__", "."): value for key, value in attributes.items()}
        self.context = None
        self.parent = None
        self.status = None
        self.events = ()
