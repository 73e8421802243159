"""Patches of OpenTelemetry's SDK during captures, and the tracer provider to use if the program has none.

Every span of the SDK begins with `Span.start` and ends with `Span.end`, whichever provider created its tracer, and
whether that was before the capture or later. So spans are observed there, and no provider has to be replaced.
"""

from __future__ import annotations

# Order matters: after a fork, hooks run in the order in which modules were loaded (`os.register_at_fork`). A tracer
# provider's hook uses an executor, whose own hook has to come first. Otherwise the child process hangs.
import concurrent.futures.thread  # noqa: F401
import logging
import os
import random
from collections.abc import Callable
from copy import copy
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk import trace as sdk
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Decision, Sampler, SamplingResult

from ._capture import Change, Patch, SharedPatches, bound, current, note_end, note_span


class _Ids(IdGenerator):  # type: ignore[misc]
    """Generates ids without `random`'s shared state: an agent that seeds it must get the same numbers as without us."""

    def __init__(self) -> None:
        self._random = random.Random()  # noqa: S311 - ids are not secret
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._random.seed)

    def generate_span_id(self) -> int:
        return self._random.getrandbits(64) or 1

    def generate_trace_id(self) -> int:
        return self._random.getrandbits(128) or 1


_LIMITS = (
    *("max_attributes", "max_span_attributes", "max_attribute_length", "max_span_attribute_length"),
    *("max_events", "max_event_attributes", "max_links", "max_link_attributes"),
)
"""Limits that the environment may set for what a program exports. They would cut off what a case is judged by."""
_NO_LIMITS = sdk.SpanLimits(**dict.fromkeys(_LIMITS, sdk.SpanLimits.UNSET))


def _own_provider() -> Any:
    provider = sdk.TracerProvider(
        sampler=ALWAYS_ON,
        resource=Resource.get_empty(),
        shutdown_on_exit=False,
        id_generator=_Ids(),
        span_limits=_NO_LIMITS,
    )
    # OTEL_SDK_DISABLED is meant for what a program exports, and this provider exports nothing.
    provider._disabled = False
    return provider


own_provider = _own_provider()
"""Creates spans that only captures see, if the program has configured no provider."""


def without_limits(tracer: Any) -> Any:
    """Return a tracer of the same provider that records values whole, if the provider is the SDK's.

    The program's limits are meant for what it exports, and what they cut off could not be judged.
    """
    if not isinstance(tracer, sdk.Tracer):
        return tracer
    found = copy(tracer)  # the provider hands out the original again
    found._span_limits = _NO_LIMITS
    return found


def copy_of(span: Any) -> Any:
    """Return a copy of an unfinished span that no longer changes."""
    return sdk.ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes=span.attributes.copy() if span.attributes else None,
        events=tuple(span.events),
        links=tuple(span.links),
        kind=span.kind,
        instrumentation_scope=span.instrumentation_scope,
        status=span.status,
        start_time=span.start_time,
    )


def other_ids(context: Any) -> Any:
    """Return the same context with a new span id."""
    return trace.SpanContext(context.trace_id, own_provider.id_generator.generate_span_id(), is_remote=False)


def _noting_start(original: Callable[..., None]) -> Callable[..., None]:
    def start(self: Any, *args: Any, **kwargs: Any) -> None:
        bound(original, self)(*args, **kwargs)
        # Not by `__dict__`: reading it creates the dictionary (until then CPython keeps attributes inline), which
        # makes every later access to the span's attributes slower.
        if not getattr(self, "_rightcall_noted", False):
            self._rightcall_noted = True
            note_span(self)

    return start


def _noting_end(original: Callable[..., None]) -> Callable[..., None]:
    def end(self: Any, *args: Any, **kwargs: Any) -> None:
        is_first = self.end_time is None
        bound(original, self)(*args, **kwargs)
        if is_first:
            note_end(self)

    return end


class _RecordingSampler(Sampler):  # type: ignore[misc]
    """A sampler that drops nothing: spans that the given sampler would drop are recorded, but not exported."""

    def __init__(self, sampler: Any) -> None:
        self._sampler = sampler

    def should_sample(
        self,
        parent_context: Any,
        trace_id: int,
        name: str,
        kind: Any = None,
        attributes: Any = None,
        links: Any = None,
        *others: Any,
        **more: Any,
    ) -> Any:
        result = self._sampler.should_sample(parent_context, trace_id, name, kind, attributes, links, *others, **more)
        if result.decision is not Decision.DROP:
            return result
        return SamplingResult(Decision.RECORD_ONLY, attributes, trace_state=result.trace_state)

    def get_description(self) -> str:
        return str(self._sampler.get_description())


def _recording_sampler(_: Any) -> property:
    def read(self: Any) -> Any:
        sampler = self.__dict__["sampler"]
        return sampler if sampler is ALWAYS_ON or current.get() is None else _RecordingSampler(sampler)

    def write(self: Any, sampler: Any) -> None:
        self.__dict__["sampler"] = sampler

    return property(read, write)


def _answering_proxy(original: property) -> property:
    """Let proxy tracers, which do nothing until a provider is set, use our provider during a capture."""

    def read(self: Any) -> Any:
        tracer = original.__get__(self)
        return tracer if current.get() is None or not isinstance(tracer, trace.NoOpTracer) else _own_tracer_for(self)

    return property(read)


def _own_tracer_for(proxy: Any) -> Any:
    fields = proxy.__dict__
    if "_rightcall_tracer" not in fields:
        fields["_rightcall_tracer"] = own_provider.get_tracer(
            fields.get("_instrumenting_module_name") or "unknown",
            fields.get("_instrumenting_library_version"),
            fields.get("_schema_url"),
            fields.get("_attributes"),
        )
    return fields["_rightcall_tracer"]


class _Quiet(logging.Filter):
    """Drops one warning, which an agent that sets its provider in every run causes because we run it repeatedly."""

    def filter(self, record: logging.LogRecord) -> bool:
        return current.get() is None or not str(record.msg).startswith("Overriding of current TracerProvider")

    def put(self) -> None:
        """Start to drop the warning."""
        logging.getLogger("opentelemetry.trace").addFilter(self)

    def remove(self) -> None:
        """Stop dropping the warning."""
        logging.getLogger("opentelemetry.trace").removeFilter(self)


def _changes() -> list[Change]:
    return [
        Patch(sdk.Span, "start", _noting_start),
        Patch(sdk.Span, "end", _noting_end),
        Patch(sdk.Tracer, "sampler", _recording_sampler),
        Patch(trace.ProxyTracer, "_tracer", _answering_proxy),
        _Quiet(),
    ]


sdk_patches = SharedPatches(_changes)
"""Passes spans to captures while it is entered."""
