"""Eval sets on disk: load, validate, convert and edit them, with the position of every key."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
