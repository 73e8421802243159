"""Rates, intervals and exact tests for counts of passes and failures. Plain numbers in and out."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
