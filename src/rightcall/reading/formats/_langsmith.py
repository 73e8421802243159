"""LangSmith: runs as its API, its exports and its tracer write them, flat or with their `child_runs`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rightcall.reading.spans import UNREADABLE, Span, nanoseconds, object_in, span_id

_TYPES = frozenset({"chain", "embedding", "llm", "parser", "prompt", "retriever", "tool"})
"""Types of runs (reference, "Run (span) data format")."""
_NAMES = frozenset({"inputs", "outputs", "child_runs"})
_SENT = frozenset({"run_type", "dotted_order", "trace_id"})
_THREADS = ("session_id", "thread_id", "conversation_id")
"""Keys of `extra.metadata` that name the thread of a run (guide, "Threads")."""
# A dotted order has for each run, from the root down, when it started and its id: 20230914T223155647Z1b64098b-….
_PLACE = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d+)Z(.+)\Z", re.S)
_MOST_RUNS = 1_000_000
_MOST_PLACES = 10_000


def is_langsmith_run(document: Any) -> bool:
    """Whether a document is a run of LangSmith, or what its SDKs send: runs that began, and how they went on."""
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
        span = _span(run, parent, trace)
        yield span
        inner = run.get("child_runs")
        children = [child for child in inner if isinstance(child, Mapping)] if isinstance(inner, list) else []
        waiting += [(child, span.span_id, span.trace_id) for child in reversed(children)]


def _sent(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the runs in the body of `runs/batch`, those that began first."""
    for key in ("post", "patch"):
        held = document.get(key)
        for run in held if isinstance(held, list) else ():
            if isinstance(run, Mapping) and isinstance(run.get("id"), str) and not _SENT.isdisjoint(run):
                yield run


def _merged(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the runs in such a body, each once: what was said of it later fills in what was not known."""
    found: dict[str, dict[str, Any]] = {}
    for run in _sent(document):
        known = found.setdefault(run["id"], {})
        known |= {key: value for key, value in run.items() if value is not None or key not in known}
    return list(found.values())


def _span(run: Mapping[str, Any], parent: str | None, trace: str) -> Span:
    places = _places(run.get("dotted_order"))
    error, name, kind = run.get("error"), run.get("name"), _kind(run)
    start = nanoseconds(run.get("start_time"), _MILLISECOND)
    return Span(
        name=name if isinstance(name, str) else "",
        trace_id=span_id(run.get("trace_id")) or (places[0][1] if places else trace) or span_id(run.get("id")) or "",
        span_id=span_id(run.get("id")),
        parent_id=_parent(run) or (places[-2][1] if len(places) > 1 else parent),
        start_ns=places[-1][0] if start is None and places else start,
        end_ns=nanoseconds(run.get("end_time"), _MILLISECOND),
        attributes=_attributes(run, kind),
        failed=bool(error) or run.get("status") == "error",
        description=error if isinstance(error, str) else "",
    )


def _kind(run: Mapping[str, Any]) -> str:
    kind = run.get("run_type")
    return kind.lower() if isinstance(kind, str) else ""


_MILLISECOND = 10**6  # the JavaScript SDK counts milliseconds since 1970; others write ISO 8601


def _attributes(run: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return a run as the attributes that LangSmith's exporter for OpenTelemetry gives its span."""
    found: dict[str, Any] = {"langsmith.span.kind": kind}
    if kind == "tool" and isinstance(run.get("name"), str):
        found["gen_ai.tool.name"] = run["name"]
    for key, attribute in (("inputs", "gen_ai.prompt"), ("outputs", "gen_ai.completion")):
        # A tool may have no arguments; a model that was given nothing was not recorded.
        if run.get(key) or (kind == "tool" and run.get(key) is not None):
            found[attribute] = run[key]
    outputs = object_in(run.get("outputs"))
    if kind == "chain" and outputs.keys() == {"output"} and outputs["output"] is not None:
        # The SDKs write what a traced function returns so, unless it is an object.
        found["gen_ai.completion"] = outputs["output"]
    for key, attribute in (("prompt_tokens", "input"), ("completion_tokens", "output")):
        if isinstance(run.get(key), int):
            found[f"gen_ai.usage.{attribute}_tokens"] = run[key]
    metadata = object_in(object_in(run.get("extra")).get("metadata"))
    found |= {f"langsmith.metadata.{key}": value for key, value in metadata.items() if isinstance(value, (str, int))}
    thread = next((metadata[key] for key in _THREADS if isinstance(metadata.get(key), str)), None)
    if isinstance(run.get("reference_example_id"), str):
        found["case_id"] = run["reference_example_id"]  # the example of a dataset that an experiment ran
    if kind not in _TYPES:
        found[UNREADABLE] = f"a run of the type {run.get('run_type')!r:.40}"
    if thread:
        found["langsmith.trace.session_id"] = thread
    return found


def _parent(run: Mapping[str, Any]) -> str | None:
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
