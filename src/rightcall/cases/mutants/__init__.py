"""Faults put into trajectories that pass, to find out whether an eval set would notice them."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
