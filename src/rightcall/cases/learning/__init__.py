"""One expectation for many good runs: their structure found, their values generalised, each level measured."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
