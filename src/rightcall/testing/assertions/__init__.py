"""Assertions for tests: what an agent called, held against what was expected, raising where it differs."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
