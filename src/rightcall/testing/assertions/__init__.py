"""Assertions for tests: check the calls of an agent against expectations, and raise if they differ."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
