"""Secrets taken out of texts, values and results before anybody else sees them."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
