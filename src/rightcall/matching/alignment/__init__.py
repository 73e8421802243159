"""Which actual call pairs with which expected one? Pure sequence code: it knows positions, not calls."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
