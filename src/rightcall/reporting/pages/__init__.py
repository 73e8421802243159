"""Web pages from plain data: results and headers in, HTML text out; they know no server and no store."""

from rightcall._lazy import lazy_exports as _lazy_exports

__getattr__, __dir__, __all__ = _lazy_exports(__name__)
