"""Messages in events of spans, whose attributes are flat."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading.traces import call, request, span, value

from rightcall import Trajectory, read

ASKED = {"tool_calls": [{"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]}


def event(name: str, **attributes: Any) -> dict[str, Any]:
    held = [{"key": key.replace("__", "."), "value": value(each)} for key, each in attributes.items()]
    return {"name": name, "timeUnixNano": "1500", "attributes": held}


def model(*events: dict[str, Any]) -> Trajectory:
    [found] = read(request(span(1, {"gen_ai.operation.name": "chat"}, events=list(events))), grouping="file")
    return found


@pytest.mark.parametrize("is_azure", [True, False], ids=["the whole body as text", "the message as text"])
def test_a_message_in_one_attribute_is_read(is_azure: bool) -> None:
    def choice(message: dict[str, Any]) -> dict[str, Any]:
        if is_azure:
            return event("gen_ai.choice", gen_ai__event__content=json.dumps({"index": 0, "message": message}))
        return event("gen_ai.choice", message=json.dumps(message))

    asking, answering = model(choice(ASKED)), model(choice({"content": "done"}))

    assert [made.name for made in asking.calls] == ["look"]
    assert (answering.calls, answering.output) == ((), "done")


def test_text_that_only_looks_like_a_message_stays_text() -> None:
    assert model(event("gen_ai.choice", message='{"city": "Rome"}', role="assistant")).calls == ()
    assert model(event("gen_ai.choice", message='{"role": broken')).calls == ()


def test_a_function_marked_as_a_workflow_is_no_agent() -> None:
    marked = {"traceloop.span.kind": "workflow", "traceloop.entity.name": "shop"}
    around = span(1, marked, name="shop.workflow")

    names = [
        next(iter(read(request(around, call(2, parent=1), scope=scope), grouping="file"))).calls[0].agent
        for scope in ("traceloop.tracer", "opentelemetry.instrumentation.langchain")
    ]

    assert names == [None, "shop"]
