"""Run folders: the header of a run, the journal of its results, its spans, and how to find and resume it."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
