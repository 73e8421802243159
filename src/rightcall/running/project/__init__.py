"""A user's project: its configuration, its eval sets, and which agents belong to it."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
