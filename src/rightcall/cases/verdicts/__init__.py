"""Judge one case (a case and a trajectory in, a result out) and all cases together."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
