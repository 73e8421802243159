"""Langfuse: a trace with its observations as its pages and API give them, observations alone, and its exports.

An observation of OpenTelemetry keeps the attributes of its span in `metadata.attributes`, without those that Langfuse
took the input and output from. So a span is put together again, and read by the convention that wrote it; what no
convention knows is read by Langfuse's own, from `type`, `input` and `output`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rightcall.reading.conventions import convention_by_attributes
from rightcall.reading.spans import UNREADABLE, Event, Span, nanoseconds, object_in, outcome, span_id

_TYPES = frozenset(
    {"span", "generation", "event", "agent", "tool", "chain", "retriever", "evaluator", "embedding", "guardrail"}
)
"""Types of observations (API reference, `ObservationType`)."""
_OF_OTHERS = frozenset({"parent_span_id", "error_info", "last_updated_at"})
"""Keys of spans of Opik, which has some of these types."""
_OTEL = frozenset({"attributes", "resourceAttributes", "scope"})
"""Keys of `metadata` with what OpenTelemetry recorded."""
_OWN = "langfuse.observation."
_TOKENS = {
    "gen_ai.usage.input_tokens": ("input", "promptTokens", "prompt_tokens"),
    "gen_ai.usage.output_tokens": ("output", "completionTokens", "completion_tokens"),
}


def is_langfuse(document: Any) -> bool:
    """Whether a document is an observation of Langfuse, or a trace with observations."""
    if not isinstance(document, Mapping):
        return False
    if _is_observation(document):
        return True
    observations = document.get("observations")
    if not isinstance(observations, list):
        return False
    return any(map(_is_observation, observations)) or (not observations and _is_trace(_trace_of(document)))


def langfuse_spans(document: Mapping[str, Any]) -> Iterator[Span]:
    """Yield the spans of a trace or of an observation. A trace without observations is a span by itself."""
    if _is_observation(document):
        yield _span(document, {})
        return
    trace = _trace_of(document)
    observations = [each if isinstance(each, Mapping) else {} for each in document["observations"]]
    if not observations:
        yield _span({**trace, "type": "SPAN", "traceId": trace.get("id"), "startTime": trace.get("timestamp")}, trace)
    roots = [each for each in observations if _parent(each) is None]
    for observation in observations:
        if len(roots) == 1 and observation is roots[0]:
            # The question and the answer of a run may be known to the trace alone.
            given = {key: trace.get(key) for key in ("input", "output") if observation.get(key) is None}
            observation = {**observation, **given}
        yield _span(observation, trace)


def _is_observation(document: Any) -> bool:
    if not isinstance(document, Mapping):
        return False
    if "parentObservationId" in document or "parent_observation_id" in document:
        return True
    return (
        _kind(document) in _TYPES
        and _OF_OTHERS.isdisjoint(document)
        and "id" in document
        and _either(document, "traceId", "trace_id") is not None
        and _either(document, "startTime", "start_time") is not None
    )


def _kind(observation: Mapping[str, Any]) -> str:
    kind = observation.get("type")
    return kind.lower() if isinstance(kind, str) else ""


def _is_trace(trace: Mapping[str, Any]) -> bool:
    return {"id", "timestamp"} <= trace.keys() and ("projectId" in trace or "sessionId" in trace)


def _trace_of(document: Mapping[str, Any]) -> Mapping[str, Any]:
    held = document.get("trace")
    return held if isinstance(held, Mapping) else document


def _span(observation: Mapping[str, Any], trace: Mapping[str, Any]) -> Span:
    metadata = object_in(observation.get("metadata"))
    scope = object_in(metadata.get("scope")).get("name")
    level, said = observation.get("level"), _either(observation, "statusMessage", "status_message")
    name = observation.get("name")
    attributes = _attributes(observation, metadata, trace)
    return Span(
        name=name if isinstance(name, str) else "",
        trace_id=span_id(_either(observation, "traceId", "trace_id") or trace.get("id")) or "",
        span_id=span_id(observation.get("id")),
        parent_id=_parent(observation),
        start_ns=nanoseconds(_either(observation, "startTime", "start_time")),
        end_ns=nanoseconds(_either(observation, "endTime", "end_time")),
        attributes=attributes,
        failed=level == "ERROR",
        description=said if isinstance(said, str) else "",
        scope=scope if isinstance(scope, str) and scope != "langfuse-sdk" else "",
        events=_events(observation, attributes),
    )


def _attributes(
    observation: Mapping[str, Any], metadata: Mapping[str, Any], trace: Mapping[str, Any]
) -> dict[str, Any]:
    found = {key: value for key, value in object_in(metadata.get("attributes")).items() if value is not None}
    given, returned = observation.get("input"), observation.get("output")
    convention = convention_by_attributes(found)
    if convention is not None and convention.call:
        for keys, value, event in (
            (convention.args, given, convention.args_event),
            (convention.output, returned, convention.output_event),
        ):
            if keys and value is not None and not (event and _in_event(value, event[1])):
                found.setdefault(keys[0], value)
    else:
        kind = _kind(observation)
        tool = _tool_of(metadata) if kind == "span" else None
        found[f"{_OWN}type"] = "tool" if kind == "span" and _is_tool_message(returned) else kind
        prefixes = ("input.value", "output.value") if tool else (f"{_OWN}input", f"{_OWN}output")
        found |= {key: held for key, held in zip(prefixes, (given, returned), strict=True) if held is not None}
        found |= {"tool.name": tool} if tool else _counted(observation)
        if kind not in _TYPES:
            found[UNREADABLE] = f"an observation of the type {observation.get('type')!r:.40}"
    for key, value in metadata.items():
        if key not in _OTEL and isinstance(value, (str, int, float)):
            found.setdefault(f"{_OWN}metadata.{key}", value)
    said = _either(observation, "statusMessage", "status_message")
    found |= {f"{_OWN}level": observation.get("level"), f"{_OWN}status_message": said}
    session = _either(observation, "sessionId", "session_id") or trace.get("sessionId")
    if session:
        found["langfuse.session.id"] = session
    return {**_about(trace), **found} if _parent(observation) is None else found


def _about(trace: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a trace says about its run: its metadata, and how it was scored."""
    found: dict[str, Any] = {}
    for key, value in object_in(trace.get("metadata")).items():
        if key not in _OTEL and isinstance(value, (str, int, float)):
            found[f"langfuse.trace.metadata.{key}"] = value
    scores = trace.get("scores")
    named = [score for score in scores if isinstance(score, Mapping)] if isinstance(scores, list) else []
    scored = {str(score.get("name")): _either(score, "value", "stringValue") for score in named}
    return {**found, "scores": scored} if scored else found


def _events(observation: Mapping[str, Any], attributes: Mapping[str, Any]) -> list[Event]:
    """Return the events of a call that Langfuse took the input and output from (Strands)."""
    convention = convention_by_attributes(attributes)
    found = []
    for side, event in (
        (observation.get("input"), convention.args_event if convention else None),
        (observation.get("output"), convention.output_event if convention else None),
    ):
        held = _in_event(side, event[1]) if event else None
        if event and held:
            found.append(Event(event[0], held))
    return found


def _in_event(held: Any, key: str) -> Mapping[str, Any] | None:
    """Return the attributes of an event with this key, alone or as the only item of a list."""
    value = outcome(held)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, Mapping) and key in value and {"id", "role"} & value.keys() else None


def _tool_of(metadata: Mapping[str, Any]) -> str | None:
    """Return the tool that the metadata of a span name."""
    held = _either(metadata, "tool_name", "toolName", "tool.name")
    return held if isinstance(held, str) else None


def _is_tool_message(held: Any) -> bool:
    """Whether an output is a ToolMessage of LangChain: its callback handler marked tools as spans until 2025."""
    value = outcome(held)
    return isinstance(value, Mapping) and value.get("type") == "tool" and "tool_call_id" in value


def _counted(observation: Mapping[str, Any]) -> dict[str, Any]:
    """Return what Langfuse counted in a generation: tokens, and the calls that the model asked for."""
    found: dict[str, Any] = {}
    usage = object_in(_either(observation, "usageDetails", "usage_details") or observation.get("usage"))
    for key, names in _TOKENS.items():
        tokens = _either(usage, *names)
        if isinstance(tokens, int):
            found[key] = tokens
    calls = _either(observation, "toolCalls", "tool_calls")
    if isinstance(calls, list) and calls:
        found[f"{_OWN}tool_calls"] = [{"role": "assistant", "tool_calls": [object_in(call) or call for call in calls]}]
    return found


def _parent(observation: Mapping[str, Any]) -> str | None:
    return span_id(_either(observation, "parentObservationId", "parent_observation_id"))


def _either(document: Mapping[str, Any], *names: str) -> Any:
    return next((document[name] for name in names if document.get(name) not in (None, "")), None)
