"""Containers of spans: OTLP, Jaeger, Zipkin, MLflow, and objects of the OpenTelemetry SDK."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
