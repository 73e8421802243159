"""Spans in the exports of platforms: Langfuse, LangSmith, and a table of platforms with spans in their own columns.

The table has Braintrust, Datadog, Application Insights and Opik. If a platform has kinds of its own, a span gets the
attributes that LangSmith's exporter would write, so that calls and messages are read by one convention.

In Langfuse, an observation made from OpenTelemetry has the attributes of its span in `metadata.attributes`, without
those that the input and output were taken from. So the span is put together again, and read by the convention that
wrote it. If no convention matches, Langfuse's own is used, with `type`, `input` and `output`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from rightcall.errors import InputError
from rightcall.reading.conventions import convention_by_attributes
from rightcall.reading.spans import UNREADABLE, Event, Span, nanoseconds, object_in, outcome, restored, span_id
from rightcall.values.decoding import decode_json

_SECOND = 10**9
_MILLISECOND = 10**6
_MODELS = frozenset({"llm"})
_NO_PARENT = frozenset({"undefined", "0", ""})  # Datadog writes `undefined`
_OBSERVATION_TYPES = frozenset(
    {"span", "generation", "event", "agent", "tool", "chain", "retriever", "evaluator", "embedding", "guardrail"}
)
"""Types of observations (API reference, `ObservationType`)."""
_OF_OTHERS = frozenset({"parent_span_id", "error_info", "last_updated_at"})
"""Keys of Opik's spans, which have some of the same types and must not pass for observations."""
_OTEL = frozenset({"attributes", "resourceAttributes", "scope"})
"""Keys of `metadata` with data from OpenTelemetry."""
_OWN = "langfuse.observation."
_TOKENS = {
    "gen_ai.usage.input_tokens": ("input", "promptTokens", "prompt_tokens"),
    "gen_ai.usage.output_tokens": ("output", "completionTokens", "completion_tokens"),
}
_RUN_TYPES = frozenset({"chain", "embedding", "llm", "parser", "prompt", "retriever", "tool"})
"""Types of runs (reference, "Run (span) data format")."""
_NAMES = frozenset({"inputs", "outputs", "child_runs"})
_SENT = frozenset({"run_type", "dotted_order", "trace_id"})
_THREADS = ("session_id", "thread_id", "conversation_id")
"""Keys of `extra.metadata` that name the thread of a run (guide, "Threads")."""
# A dotted order has the start time and the id of each run, from the root down: 20230914T223155647Z1b64098b-….
_PLACE = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d+)Z(.+)\Z", re.S)
_MOST_RUNS = 1_000_000
_MOST_PLACES = 10_000


class Platform(msgspec.Struct, frozen=True):
    """The keys of one platform. Dots lead into inner objects; bars separate alternatives."""

    name: str
    marks: tuple[str, ...]
    """Keys that every span has."""
    trace: str
    id: str
    parent: str
    title: str
    start: str
    kind: str = ""
    """Where the kind is, such as `tool` or `llm`; empty if the attributes have it."""
    unit: int = 1
    """The unit of times that are numbers, in nanoseconds."""
    end: str = ""
    length: str = ""
    input: str = ""
    output: str = ""
    error: str = ""
    status: str = ""
    """Where the status is, which is `error` if the span failed."""
    attributes: str = ""
    """Where attributes of OpenTelemetry are."""


PLATFORMS = (
    # Braintrust, "Fetch project logs": one event a span, parents as a list.
    Platform(
        "Braintrust",
        ("span_id", "root_span_id", "span_attributes"),
        "root_span_id",
        "span_id",
        "span_parents",
        "span_attributes.name",
        "metrics.start|created",
        "span_attributes.type",
        _SECOND,
        end="metrics.end",
        input="input",
        output="output",
        error="error",
    ),
    # Datadog, "Export API": spans in `data[].attributes`; its SDK sends the same with `meta`.
    Platform(
        "Datadog",
        ("attributes.span_id", "attributes.trace_id", "attributes.span_kind"),
        "attributes.trace_id",
        "attributes.span_id",
        "attributes.parent_id",
        "attributes.name",
        "attributes.start_ns",
        "attributes.span_kind",
        length="attributes.duration",
        input="attributes.input.messages|attributes.input.value",
        output="attributes.output.messages|attributes.output.value",
        error="attributes.error.message|attributes.error.type",
        status="attributes.status",
    ),
    Platform(
        "Datadog",
        ("span_id", "trace_id", "start_ns", "meta"),
        "trace_id",
        "span_id",
        "parent_id",
        "name",
        "start_ns",
        "meta.span.kind|meta.kind",
        length="duration",
        input="meta.input.messages|meta.input.value",
        output="meta.output.messages|meta.output.value",
        error="meta.error.message|meta.error.type",
        status="status",
    ),
    # Azure Monitor, tables `dependencies` and `AppDependencies`: one column has all attributes.
    Platform(
        "Application Insights",
        ("operation_Id", "customDimensions"),
        "operation_Id",
        "id",
        "operation_ParentId",
        "name",
        "timestamp|timestamp [UTC]",
        unit=_MILLISECOND,
        length="duration",
        attributes="customDimensions",
    ),
    Platform(
        "Application Insights",
        ("OperationId", "Properties", "ParentId"),
        "OperationId",
        "Id",
        "ParentId",
        "Name",
        "TimeGenerated|TimeGenerated [UTC]",
        unit=_MILLISECOND,
        length="DurationMs",
        attributes="Properties",
    ),
    # Opik, "Get spans by project": what is null is left out.
    Platform(
        "Opik",
        ("id", "trace_id", "type", "start_time", "parent_span_id|error_info|last_updated_at|project_name"),
        "trace_id",
        "id",
        "parent_span_id",
        "name",
        "start_time",
        "type",
        end="end_time",
        input="input",
        output="output",
        error="error_info.message|error_info.exception_type|error_info",
    ),
)


def is_platform_span(document: Any) -> bool:
    """Whether a document is a span of one of these platforms."""
    return isinstance(document, Mapping) and _platform(document) is not None


def platform_span(document: Mapping[str, Any]) -> Span:
    """Return the span in a document of one of these platforms."""
    platform = _platform(document) or PLATFORMS[0]
    name, start = _first(document, platform.title), _first(document, platform.start)
    began = nanoseconds(start, platform.unit)
    length = nanoseconds(_first(document, platform.length), platform.unit)
    error = _first(document, platform.error)
    return Span(
        name=name if isinstance(name, str) else "",
        trace_id=span_id(_first(document, platform.trace)) or "",
        span_id=span_id(_first(document, platform.id)),
        parent_id=_parent(_first(document, platform.parent)),
        start_ns=began,
        end_ns=nanoseconds(_first(document, platform.end), platform.unit)
        if platform.end
        else None
        if began is None or length is None
        else began + length,
        attributes=_attributes(document, platform, name),
        failed=bool(error)
        or _first(document, platform.status) == "error"
        or document.get("success") in (False, "False", "false"),
        description=error if isinstance(error, str) else "",
    )


def _platform(document: Mapping[str, Any]) -> Platform | None:
    for platform in PLATFORMS:
        if all(_first(document, mark) is not None for mark in platform.marks):  # nearly always, the first one decides
            return platform
    return None


def _attributes(document: Mapping[str, Any], platform: Platform, name: Any) -> dict[str, Any]:
    if platform.attributes:
        return restored(dict(object_in(_first(document, platform.attributes))))
    kind = str(_first(document, platform.kind) or "").lower()
    found: dict[str, Any] = {"langsmith.span.kind": kind if kind in ("tool", "llm", "retriever") else "chain"}
    if kind == "tool" and isinstance(name, str):
        found["gen_ai.tool.name"] = name
    for where, attribute in ((platform.input, "gen_ai.prompt"), (platform.output, "gen_ai.completion")):
        held = _first(document, where)
        if held is not None:
            found[attribute] = {"messages": held} if kind in _MODELS and isinstance(held, list) else held
    metadata = object_in(_first(document, "metadata|attributes.metadata|meta.metadata"))
    return found | {f"metadata.{key}": held for key, held in metadata.items() if isinstance(held, (str, int, float))}


def _parent(value: Any) -> str | None:
    if isinstance(value, list):
        value = value[0] if value else None
    return None if isinstance(value, str) and value in _NO_PARENT else span_id(value)


def _first(document: Mapping[str, Any], paths: str) -> Any:
    for path in paths.split("|") if paths else ():
        held = _inside(document, path)
        if held is not None:
            return held
    return None


def _inside(document: Any, path: str) -> Any:
    """Return the value at a path; a key may itself have dots (`span.kind`). None if there is none."""
    while isinstance(document, Mapping):
        if path in document:
            return document[path]
        key, _, path = path.partition(".")
        document = document.get(key) if path else None
    return None


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
        yield _observation_span(document, {})
        return
    trace = _trace_of(document)
    observations = [each if isinstance(each, Mapping) else {} for each in document["observations"]]
    if not observations:
        yield _observation_span(
            {**trace, "type": "SPAN", "traceId": trace.get("id"), "startTime": trace.get("timestamp")}, trace
        )
    roots = [each for each in observations if _observation_parent(each) is None]
    for observation in observations:
        if len(roots) == 1 and observation is roots[0]:
            # The question and the answer of a run may be recorded only in the trace.
            given = {key: _told(trace, key) for key in ("input", "output") if observation.get(key) is None}
            observation = {**observation, **given}
        yield _observation_span(observation, trace)


def _told(trace: Mapping[str, Any], key: str) -> Any:
    """Return the input or output of a trace. Langfuse's pages have these and the metadata as JSON in text."""
    value = trace.get(key)
    if not isinstance(value, str) or value[:1] != '"' or not isinstance(trace.get("metadata"), str):
        return value
    try:
        return decode_json(value)
    except InputError:
        return value


def _is_observation(document: Any) -> bool:
    if not isinstance(document, Mapping):
        return False
    if "parentObservationId" in document or "parent_observation_id" in document:
        return True
    return (
        _observation_kind(document) in _OBSERVATION_TYPES
        and _OF_OTHERS.isdisjoint(document)
        and "id" in document
        and _either(document, "traceId", "trace_id") is not None
        and _either(document, "startTime", "start_time") is not None
    )


def _observation_kind(observation: Mapping[str, Any]) -> str:
    kind = observation.get("type")
    return kind.lower() if isinstance(kind, str) else ""


def _is_trace(trace: Mapping[str, Any]) -> bool:
    return {"id", "timestamp"} <= trace.keys() and ("projectId" in trace or "sessionId" in trace)


def _trace_of(document: Mapping[str, Any]) -> Mapping[str, Any]:
    value = document.get("trace")
    return value if isinstance(value, Mapping) else document


def _observation_span(observation: Mapping[str, Any], trace: Mapping[str, Any]) -> Span:
    metadata = object_in(observation.get("metadata"))
    scope = object_in(metadata.get("scope")).get("name")
    level, said = observation.get("level"), _either(observation, "statusMessage", "status_message")
    name = observation.get("name")
    attributes = _observation_attributes(observation, metadata, trace)
    return Span(
        name=name if isinstance(name, str) else "",
        trace_id=span_id(_either(observation, "traceId", "trace_id") or trace.get("id")) or "",
        span_id=span_id(observation.get("id")),
        parent_id=_observation_parent(observation),
        start_ns=nanoseconds(_either(observation, "startTime", "start_time")),
        end_ns=nanoseconds(_either(observation, "endTime", "end_time")),
        attributes=attributes,
        failed=level == "ERROR",
        description=said if isinstance(said, str) else "",
        scope=scope if isinstance(scope, str) and scope != "langfuse-sdk" else "",
        events=_events(observation, attributes),
    )


def _observation_attributes(
    observation: Mapping[str, Any], metadata: Mapping[str, Any], trace: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the attributes of an observation, as the convention of its span has them, or else as Langfuse's."""
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
        kind = _observation_kind(observation)
        tool = _tool_of(metadata) if kind == "span" else None
        found[f"{_OWN}type"] = "tool" if kind == "span" and _is_tool_message(returned) else kind
        prefixes = ("input.value", "output.value") if tool else (f"{_OWN}input", f"{_OWN}output")
        found |= {key: held for key, held in zip(prefixes, (given, returned), strict=True) if held is not None}
        found |= {"tool.name": tool} if tool else _counted(observation)
        if kind not in _OBSERVATION_TYPES:
            found[UNREADABLE] = f"an observation of the type {observation.get('type')!r:.40}"
    for key, value in metadata.items():
        if key not in _OTEL and isinstance(value, (str, int, float)):
            found.setdefault(f"{_OWN}metadata.{key}", value)
    said = _either(observation, "statusMessage", "status_message")
    found |= {f"{_OWN}level": observation.get("level"), f"{_OWN}status_message": said}
    session = _either(observation, "sessionId", "session_id") or trace.get("sessionId")
    if session:
        found["langfuse.session.id"] = session
    return {**_about(trace), **found} if _observation_parent(observation) is None else found


def _about(trace: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata and the scores of a trace, as attributes."""
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
    """Return the name of the tool in the metadata of a span; None if there is none."""
    held = _either(metadata, "tool_name", "toolName", "tool.name")
    return held if isinstance(held, str) else None


def _is_tool_message(held: Any) -> bool:
    """Whether an output is a ToolMessage of LangChain, whose callback handler recorded tools as spans until 2025."""
    value = outcome(held)
    return isinstance(value, Mapping) and value.get("type") == "tool" and "tool_call_id" in value


def _counted(observation: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tokens and the requested calls that Langfuse extracted from a generation, as attributes."""
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


def _observation_parent(observation: Mapping[str, Any]) -> str | None:
    return span_id(_either(observation, "parentObservationId", "parent_observation_id"))


def _either(document: Mapping[str, Any], *names: str) -> Any:
    return next((document[name] for name in names if document.get(name) not in (None, "")), None)


def is_langsmith_run(document: Any) -> bool:
    """Whether a document is a run of LangSmith, or a batch that its SDKs send: new runs, and updates of runs."""
    if not isinstance(document, Mapping):
        return False
    if any(True for _ in _sent(document)):
        return True
    if _NAMES.isdisjoint(document):
        return False
    return "run_type" in document or ("dotted_order" in document and "id" in document)


def langsmith_spans(document: Mapping[str, Any]) -> Iterator[Span]:
    """Yield the span of a run, and those of the runs inside it."""
    sent = _merged(document)
    waiting: list[tuple[Mapping[str, Any], str | None, str]] = [(run, None, "") for run in sent or [document]]
    count = 0
    while waiting and count < _MOST_RUNS:
        run, parent, trace = waiting.pop()
        count += 1
        span = _run_span(run, parent, trace)
        yield span
        inner = run.get("child_runs")
        children = [child for child in inner if isinstance(child, Mapping)] if isinstance(inner, list) else []
        waiting += [(child, span.span_id, span.trace_id) for child in reversed(children)]


def _sent(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the runs in the body of `runs/batch`: new ones (`post`) first, then updates (`patch`)."""
    for key in ("post", "patch"):
        value = document.get(key)
        for run in value if isinstance(value, list) else ():
            if isinstance(run, Mapping) and isinstance(run.get("id"), str) and not _SENT.isdisjoint(run):
                yield run


def _merged(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the runs in the body of `runs/batch`, each once, with its updates merged in."""
    found: dict[str, dict[str, Any]] = {}
    for run in _sent(document):
        known = found.setdefault(run["id"], {})
        known |= {key: value for key, value in run.items() if value is not None or key not in known}
    return list(found.values())


def _run_span(run: Mapping[str, Any], parent: str | None, trace: str) -> Span:
    places = _places(run.get("dotted_order"))
    error, name, kind = run.get("error"), run.get("name"), _run_kind(run)
    start = nanoseconds(run.get("start_time"), _MILLISECOND)
    return Span(
        name=name if isinstance(name, str) else "",
        trace_id=span_id(run.get("trace_id")) or (places[0][1] if places else trace) or span_id(run.get("id")) or "",
        span_id=span_id(run.get("id")),
        parent_id=_run_parent(run) or (places[-2][1] if len(places) > 1 else parent),
        start_ns=places[-1][0] if start is None and places else start,
        end_ns=nanoseconds(run.get("end_time"), _MILLISECOND),
        attributes=_run_attributes(run, kind),
        failed=bool(error) or run.get("status") == "error",
        description=error if isinstance(error, str) else "",
    )


def _run_kind(run: Mapping[str, Any]) -> str:
    kind = run.get("run_type")
    return kind.lower() if isinstance(kind, str) else ""


def _run_attributes(run: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return a run as the attributes that LangSmith's exporter for OpenTelemetry gives its span."""
    found: dict[str, Any] = {"langsmith.span.kind": kind}
    if kind == "tool" and isinstance(run.get("name"), str):
        found["gen_ai.tool.name"] = run["name"]
    for key, attribute in (("inputs", "gen_ai.prompt"), ("outputs", "gen_ai.completion")):
        # A tool may have empty arguments; for a model, empty inputs mean that they were not recorded.
        if run.get(key) or (kind == "tool" and run.get(key) is not None):
            found[attribute] = run[key]
    outputs = object_in(run.get("outputs"))
    if kind == "chain" and outputs.keys() == {"output"} and outputs["output"] is not None:
        # The SDKs wrap the return value of a traced function like this, unless it is an object.
        found["gen_ai.completion"] = outputs["output"]
    for key, attribute in (("prompt_tokens", "input"), ("completion_tokens", "output")):
        if isinstance(run.get(key), int):
            found[f"gen_ai.usage.{attribute}_tokens"] = run[key]
    metadata = object_in(object_in(run.get("extra")).get("metadata"))
    found |= {f"langsmith.metadata.{key}": value for key, value in metadata.items() if isinstance(value, (str, int))}
    thread = next((metadata[key] for key in _THREADS if isinstance(metadata.get(key), str)), None)
    if isinstance(run.get("reference_example_id"), str):
        found["case_id"] = run["reference_example_id"]  # the example of a dataset that an experiment ran
    if kind not in _RUN_TYPES:
        found[UNREADABLE] = f"a run of the type {run.get('run_type')!r:.40}"
    if thread:
        found["langsmith.trace.session_id"] = thread
    return found


def _run_parent(run: Mapping[str, Any]) -> str | None:
    above = run.get("parent_run_ids")
    return span_id(run.get("parent_run_id")) or (span_id(above[-1]) if isinstance(above, list) and above else None)


def _places(order: Any) -> list[tuple[int | None, str]]:
    """Return the start and the id of each run in a dotted order, from the root down; empty if it is not one."""
    found = []
    for place in order.split(".", _MOST_PLACES) if isinstance(order, str) and order else ():
        part = _PLACE.match(place)
        run = span_id(part[8]) if part else None
        if part is None or run is None:
            return []
        year, month, day, hour, minute, second, fraction = part.groups()[:7]
        found.append((nanoseconds(f"{year}-{month}-{day}T{hour}:{minute}:{second}.{fraction[:9]}Z"), run))
    return found
