"""Tool calls from OpenTelemetry SDK spans."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rightcall.decoding import decode_text
from rightcall.errors import InputError
from rightcall.trajectory import ToolCall, Trajectory, in_order


def read_spans(spans: Iterable[Any]) -> Trajectory:
    """The trajectory in the spans of one run. See semantic."""
    warnings: list[str] = []
    calls = [_call(span, warnings) for span in spans if _is_tool(span)]
    order = in_order(calls)
    return Trajectory(calls=tuple([calls[i] for i in order]), warnings=tuple(warnings))


def _is_tool(span: Any) -> bool:
    attributes = span.attributes or {}
    return "tool.name" in attributes and not attributes.get("tool.synthesized")


def _call(span: Any, warnings: list[str]) -> ToolCall:
    attributes: Mapping[str, Any] = span.attributes
    fields: dict[str, Any] = {}
    if "input.value" in attributes:
        try:
            args = decode_text(attributes["input.value"])
            if isinstance(args, dict):
                fields["args"] = args
        except InputError:
            warnings.append("unparsable args")
    if "output.value" in attributes:
        output = attributes["output.value"]
        try:
            value = decode_text(output)
            if isinstance(value, dict | list):
                output = value
        except InputError:
            pass
        if isinstance(output, dict) and "content" in output:
            output = output["content"]
        fields["output"] = output
    return ToolCall(attributes["tool.name"], **fields, start_ns=span.start_time, end_ns=span.end_time, source="span")
