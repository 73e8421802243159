"""The paths that runs take: how often each, where runs diverge, and what changed between two sets of runs."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
