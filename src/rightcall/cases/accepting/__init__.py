"""Expectations made from what was observed: an eval set and trajectories in, an edit of the eval set out."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
