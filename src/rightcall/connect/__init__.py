"""Trace servers: traces pulled from them by an address, and verdicts pushed to them."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
