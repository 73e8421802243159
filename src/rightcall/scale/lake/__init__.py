"""Scores tables and files of any size: fragment by fragment, each into its own file of scores."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
