"""Rules about calls: which may come after which, how often, and what each of them must be like."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
