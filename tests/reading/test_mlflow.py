"""Traces of MLflow, wherever they lie: answers of its server, stored files, rows of a search."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.reading import corpus

from rightcall.reading import read
from rightcall.values.trajectory import ToolCall

TRACE: dict[str, Any] = json.loads(corpus.inputs("_containers/mlflow-langgraph-trip")["mlflow_trace.json"])


def calls(document: Any) -> list[ToolCall]:
    return [call for made in read(json.dumps(document).encode()) for call in made.calls]


FORMS: dict[str, Callable[[], Any]] = {
    "in an answer": lambda: {"trace": TRACE},
    "several in an answer": lambda: {"traces": [TRACE], "next_page_token": ""},
    "stored file": lambda: {"spans": TRACE["data"]["spans"], "request": "…", "response": "…"},
    "row of a search, as text": lambda: [{"trace_id": "tr-1", "trace": json.dumps(TRACE), "state": "OK"}],
    "row of a search, spans": lambda: [{"request_id": "tr-1", "spans": TRACE["data"]["spans"], "request": "…"}],
    "lines": lambda: [TRACE],
}


def _early(number: int, context: Any, **attributes: Any) -> dict[str, Any]:
    """A span of MLflow 2."""
    held = {key.replace("_", ".", 1): json.dumps(value) for key, value in attributes.items()}
    return {"name": f"span {number}", "context": context, "start_time": number, "end_time": 9, "attributes": held}


@pytest.mark.parametrize("context", [{"trace_id": "0x1", "span_id": "0x2"}, {}, None, "lost", 7])
def test_a_call_of_an_early_version_is_read_though_its_ids_are_lost(context: Any) -> None:
    agent = _early(1, {"trace_id": "0x1", "span_id": "0x1"}, mlflow_spanType="AGENT")
    tool = _early(2, context, mlflow_spanType="TOOL", mlflow_spanInputs={"q": "tv"}, mlflow_spanOutputs="3")

    [call] = calls({"info": {}, "data": {"spans": [agent, tool]}})

    assert (call.name, call.args, call.output) == ("span 2", {"q": "tv"}, "3")


def test_attributes_of_an_early_version_that_are_no_text_are_what_was_recorded() -> None:
    tool = _early(2, {"trace_id": "0x1", "span_id": "0x2"}, mlflow_spanType="TOOL", mlflow_spanOutputs="3")
    tool["attributes"]["mlflow.spanInputs"] = {"q": "tv"}

    [call] = calls({"info": {}, "data": {"spans": [tool]}})

    assert (call.args, call.output) == ({"q": "tv"}, "3")


@pytest.mark.parametrize("form", FORMS)
def test_a_trace_is_the_same_in(form: str) -> None:
    assert len(calls(TRACE)) == 6
    assert calls(FORMS[form]()) == calls(TRACE)
