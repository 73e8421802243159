"""Cases on disk: load, validate, name the evaluators, and know where each key stands."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
