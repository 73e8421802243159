"""Parameters that a framework fills in are no arguments."""

from __future__ import annotations

from types import ModuleType
from typing import Annotated, Any

import pytest

from rightcall import capture, tool
from rightcall.running.tracing import declared_parameters


def of_framework(name: str, module: str) -> type:
    return type(name, (), {"__module__": module, "__dataclass_fields__": {}})


RunContext = of_framework("RunContext", "pydantic_ai._run_context")
ToolContext = of_framework("ToolContext", "google.adk.tools.tool_context")
InjectedState = of_framework("InjectedState", "langgraph.prebuilt.tool_node")
CancellationToken = of_framework("CancellationToken", "autogen_core._cancellation_token")


def by_annotation(ctx: RunContext, order: int) -> str:  # type: ignore[valid-type]
    return "refunded"


def by_optional_annotation(order: int, ctx: RunContext | None = None) -> str:  # type: ignore[valid-type]
    return "refunded"


def by_mark(order: int, state: Annotated[dict[str, Any], InjectedState]) -> str:
    return "refunded"


def by_name(order: int, tool_context=None) -> str:  # type: ignore[no-untyped-def]
    return "refunded"


def by_value(order: int, token: Any = None) -> str:
    return "refunded"


def by_unresolved_annotation(ctx: NotImported.RunContext[Any], order: int) -> str:  # type: ignore[name-defined]  # noqa: F821
    return "refunded"


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (by_annotation, {"ctx": RunContext()}),
        (by_optional_annotation, {"ctx": RunContext()}),
        (by_optional_annotation, {}),
        (by_mark, {"state": {"messages": ["all of them"]}}),
        (by_name, {"tool_context": {"state": 1}}),
        (by_value, {"token": CancellationToken()}),
        (by_value, {"token": ModuleType("a client")}),
        (by_unresolved_annotation, {"ctx": object()}),
    ],
    ids=["annotation", "optional", "default", "mark", "name", "class of the value", "not data", "unresolved"],
)
def test_what_is_injected_is_not_an_argument(function: Any, given: dict[str, Any]) -> None:
    with capture() as captured:
        tool(function)(order=7, **given)

    [call] = captured.trajectory().calls
    assert call.args["order"] == 7  # type: ignore[index]
    assert set(call.args or ()) <= {"order", "token"} - set(given)


def test_the_parameters_of_a_tool_are_those_that_a_model_gives() -> None:
    assert declared_parameters(by_annotation) == ("order: int",)
