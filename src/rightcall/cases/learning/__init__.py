"""Learn one expectation from many good runs: find their structure, generalise values, and test each level."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
