"""Trajectories and results as text, for people and for programs. Every format reads the same data."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
