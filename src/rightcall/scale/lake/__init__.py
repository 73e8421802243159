"""Scores tables and files of trajectories, however many: part by part, each into a file of its own."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
