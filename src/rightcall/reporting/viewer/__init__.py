"""The local web pages over run folders: it reads them, answers a browser on this machine, and writes nothing."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
