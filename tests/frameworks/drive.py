"""Leads an agent through the conversation, in the environment of its framework, and writes down what it recorded.

    python drive.py FOLDER_OF_THE_AGENT plain|turns|whole FOLDER QUESTION…

`plain` writes what the framework itself gives back after each turn. `turns` writes the spans with a trace for each
turn, and beside them what was given back while they were recorded. `whole` writes the spans of one trace with all turns
in it. This file imports nothing of Rightcall.
"""

import asyncio
import base64
import importlib
import json
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

_IDS = ("traceId", "spanId", "parentSpanId")


def main(agent: str, form: str, target: str, *questions: str) -> None:
    """Lead the agent, and write the files."""
    exporter = _recorded() if form != "plain" else None
    sys.path.insert(0, agent)
    chat = importlib.import_module("agent").Chat()
    turns = asyncio.run(_converse(chat, questions, exporter, is_whole=form == "whole"))
    found = {form: turns} if exporter is None else {form: _otlp(exporter)}
    if form == "turns":
        found["instrumented"] = turns
    for name, value in found.items():
        (Path(target) / f"{name}.json").write_text(json.dumps(value), encoding="utf-8")


async def _converse(chat: Any, questions: Sequence[str], exporter: Any, *, is_whole: bool) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = []
    seen: set[str] = set()
    with _request() if is_whole else nullcontext():
        for question in questions:
            output = await chat.ask(question)
            traces = _traces(exporter) - seen
            seen |= traces
            turn = {"input": question, "output": output, "messages": await chat.log(), "traces": sorted(traces)}
            turns.append(turn)
    return turns


def _traces(exporter: Any) -> set[str]:
    """The traces that have ended spans."""
    spans = exporter.get_finished_spans() if exporter is not None else ()
    return {f"{span.context.trace_id:032x}" for span in spans}


def _request() -> Any:
    # What a web framework puts around a conversation over one connection.
    from opentelemetry import trace

    return trace.get_tracer("service").start_as_current_span("WEBSOCKET /chat", kind=trace.SpanKind.SERVER)


def _recorded() -> Any:
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


def _otlp(exporter: Any) -> Any:
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    document = MessageToDict(encode_spans(exporter.get_finished_spans()), use_integers_for_enums=True)
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                span.update({key: base64.b64decode(span[key]).hex() for key in _IDS if key in span})
    return document


if __name__ == "__main__":
    main(*sys.argv[1:])
