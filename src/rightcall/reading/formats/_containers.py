"""The table of containers: how each is recognised, and how its spans are read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec

from rightcall.reading.spans import Item, OtherDocument

from ._exports import (
    agents_spans,
    dataframe_span,
    is_agents_span,
    is_dataframe_row,
    is_jaeger,
    is_live_span,
    is_mlflow_trace,
    is_sdk_span,
    is_zipkin_span,
    jaeger_spans,
    live_span,
    mlflow_spans,
    sdk_span,
    zipkin_span,
)
from ._otlp import is_otlp, otlp_items

MESSAGES = "messages"
"""The name of the one format that is not a container of spans: a log of messages."""


class Container(msgspec.Struct, frozen=True):
    """One way to write spans as JSON documents."""

    name: str
    recognises: Callable[[Any], bool]
    items: Callable[[Any], Iterable[Item]]


def _alone(make: Callable[[Any], Item]) -> Callable[[Any], Iterable[Item]]:
    return lambda document: (make(document),)


# Tried from the top. MLflow comes first because its traces hold spans of OTLP and of the SDK.
CONTAINERS = (
    Container("mlflow", is_mlflow_trace, mlflow_spans),
    Container("jaeger", is_jaeger, jaeger_spans),
    Container("otlp", is_otlp, otlp_items),
    Container("sdk", is_sdk_span, _alone(sdk_span)),
    Container("zipkin", is_zipkin_span, _alone(zipkin_span)),
    Container("openai-agents", is_agents_span, agents_spans),
    Container("dataframe", is_dataframe_row, _alone(dataframe_span)),
)
"""Phoenix's REST spans are read as `sdk`, its OTLP and Tempo's as `otlp`."""

INPUT_FORMATS = (*(container.name for container in CONTAINERS), MESSAGES)
"""Names for `input_format`."""


def items_of(document: Any, input_format: str | None = None) -> Iterator[Item]:
    """Yield the spans and log records of a decoded document, and anything else as an `OtherDocument`."""
    if isinstance(document, list):
        if not any([_container(item, input_format) or is_live_span(item) for item in document]):
            yield OtherDocument(document)
            return
        for item in document:
            yield from items_of(item, input_format)
        return
    container = _container(document, input_format)
    if container:
        yield from container.items(document)
    elif is_live_span(document):
        yield live_span(document)
    else:
        yield from _wrapped(document, input_format)


def _container(document: Any, input_format: str | None) -> Container | None:
    if input_format == MESSAGES:
        return None
    for container in CONTAINERS:
        if input_format in (None, container.name) and container.recognises(document):
            return container
    return None


def _wrapped(document: Any, input_format: str | None) -> Iterator[Item]:
    # Servers wrap lists of spans in an object: {"data": […], "next_cursor": …}, {"spans": […]}.
    for key in ("data", "spans") if isinstance(document, dict) and input_format != MESSAGES else ():
        held = document.get(key)
        if isinstance(held, list) and any(_container(item, input_format) for item in held):
            yield from items_of(held, input_format)
            return
    yield OtherDocument(document)
