"""Trajectories in columns of Arrow: what they look like there, how they come from tables of spans, and their scores."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
