"""Runs an agent over cases, in processes of its own, and tells what happens."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
