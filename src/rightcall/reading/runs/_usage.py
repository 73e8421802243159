"""The duration of a run, and the tokens of its models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rightcall.reading.conventions import CallShape, Role
from rightcall.values.trajectory import ToolCall, Usage

from ._input_output import KEYS
from ._span_tree import ReadSpan
from ._tokens import tokens_of

_MCP = "mcp"


def usage_of(spans: Sequence[ReadSpan], roles: Mapping[int, Role]) -> Usage | None:
    """Return the usage of a run; None if its spans do not record any."""
    given, made = tokens_of(spans, roles)
    usage = Usage(duration_ns=_extent(spans), input_tokens=given, output_tokens=made)
    return None if usage == Usage() else usage


def usage_beside(
    spans: Sequence[ReadSpan], roles: Mapping[int, Role], calls: Sequence[ToolCall], extent: int
) -> Usage | None:
    """Return the usage of a run whose spans other than calls are these, and whose calls are leaves.

    `extent` is the time from the first start to the last end, with that of spans that have nothing to do with agents.
    """
    given, made = tokens_of(spans, roles)
    known = [span for span in spans if span.kind or not KEYS.isdisjoint(span.attributes.keys())]
    if known and len(known) < len(spans):
        times = [(span.start_ns, span.end_ns) for span in known] + [(call.start_ns, call.end_ns) for call in calls]
        extent = max([end or 0 for _, end in times]) - min([start or 0 for start, _ in times])
    usage = Usage(duration_ns=extent if extent >= 0 else None, input_tokens=given, output_tokens=made)
    return None if usage == Usage() else usage


def _extent(spans: Sequence[ReadSpan]) -> int | None:
    """Return the time from the first start to the last end; None if a span has no times, or they go backwards.

    Tool calls alone do not show how long their agent took, nor do the MCP servers that answer them. Servers and queues
    around the agent take longer than it does, so they count only if no span of an agent, a model or a call is there.
    """
    if all([span.kind.__class__ is CallShape for span in spans]):
        return None
    known = [span for span in spans if span.kind or not KEYS.isdisjoint(span.attributes.keys())]
    calls = [span.kind for span in known if isinstance(span.kind, CallShape)]
    if calls and len(calls) == len(known) and all([kind.convention.name == _MCP for kind in calls]):
        return None
    spans = known if len(calls) < len(known) else spans
    starts = [span.start_ns for span in spans if span.start_ns is not None]
    ends = [span.end_ns for span in spans if span.end_ns is not None]
    if len(starts) < len(spans) or len(ends) < len(spans):
        return None
    extent = max(ends) - min(starts)
    return extent if extent >= 0 else None
