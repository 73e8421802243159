"""Scores by Spark: of DataFrames in a notebook or a job, and of tables from the command line."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
