"""Stand-ins for tools while an agent runs: mocks as eval sets have them, and recordings that are replayed."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
