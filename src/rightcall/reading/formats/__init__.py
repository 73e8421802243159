"""Containers of spans: OTLP, exports of servers and platforms, rows of tables, objects of the OpenTelemetry SDK."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
