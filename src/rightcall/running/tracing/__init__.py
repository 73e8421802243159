"""Decorators that mark functions as tools, and the capture of spans."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
