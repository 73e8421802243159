"""Answers in place of tools and models while an agent runs: mocks of an eval set, and recordings to replay."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
