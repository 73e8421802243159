"""Tools of agent frameworks: found in the agent, and answered by mocks or observed where the framework calls them."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
