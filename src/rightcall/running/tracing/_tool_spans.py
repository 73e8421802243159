"""The spans of our decorators. Imported with the first span; needs only OpenTelemetry's API."""

from __future__ import annotations

import traceback
from typing import Any, Literal

from opentelemetry import context, trace
from opentelemetry.trace import Status, StatusCode

from rightcall.errors import type_name
from rightcall.version import SCOPE

from ._capture import current

_LONGEST_TEXT = 10_000
_FRAMES = 20
_Kind = Literal["configured", "captured", "own"]
"""Tracers of the configured provider outside and inside of a capture, and the one of our own provider."""
_tracers: dict[_Kind, tuple[Any, Any]] = {}


def open_span(name: str, attributes: dict[str, Any]) -> Any:
    """Start a span of the configured tracer provider, else of our own; None if nothing would record it."""
    capture = current.get()
    capture = capture.open_one() if capture is not None else None
    provider = trace._TRACER_PROVIDER
    if provider is not None:
        kind: _Kind = "configured" if capture is None else "captured"
        span = _tracer(kind, provider).start_span(name, attributes=attributes)
        # Captures do not see spans of a provider that does not use the SDK, such as ddtrace's.
        if capture is None or capture.holds(span):
            return span
    if capture is None:
        return None
    from ._telemetry import own_provider

    return _tracer("own", own_provider).start_span(name, attributes=attributes)


def enter(span: Any) -> tuple[Any, Any]:
    """Make a span the current one, so that new spans are its children; return what `leave` needs to undo it."""
    made = trace.set_span_in_context(span)
    return made, context.attach(made)


def leave(entered: tuple[Any, Any]) -> None:
    """Undo `enter`."""
    made, token = entered
    # A discarded coroutine may be closed in another context, where there is nothing to undo.
    if context.get_current() is made:
        context.detach(token)


def record_error(span: Any, error: BaseException) -> None:
    """Record an exception in a span, even if its `__str__` fails."""
    name = type_name(error)
    try:
        message = str(error)[:_LONGEST_TEXT]
    except Exception:  # noqa: BLE001 - the exception being recorded must not be replaced by another
        message = ""
    attributes = {
        "exception.type": name,
        "exception.message": message or name,
        "exception.stacktrace": "".join(traceback.format_exception(error, limit=-_FRAMES))[-_LONGEST_TEXT:],
    }
    span.add_event("exception", attributes)
    span.set_status(Status(StatusCode.ERROR, f"{name}: {message}" if message else name))


def _tracer(kind: _Kind, provider: Any) -> Any:
    """Return our tracer of a provider, cached: `get_tracer` costs as much as a span."""
    known = _tracers.get(kind)
    if known is None or known[0] is not provider:
        tracer = provider.get_tracer(SCOPE)
        if kind == "captured":
            from ._telemetry import without_limits

            tracer = without_limits(tracer)
        known = _tracers[kind] = (provider, tracer)
    return known[1]
