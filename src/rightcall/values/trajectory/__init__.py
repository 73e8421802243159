"""The path of an agent: its tool calls, in order; and spans as they were recorded."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
