"""The local web viewer of run folders. It writes nothing but edits that a user has confirmed."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
