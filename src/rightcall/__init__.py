"""Rightcall judges AI agents by the tools they call.

Everything a user needs can be imported from here. Names are resolved when they are first used, so that
`import rightcall` itself loads no third-party module.
"""

from ._lazy import lazy_exports as _lazy_exports
from ._moved import keep_old_places as _keep_old_places

__getattr__, __dir__, __all__ = _lazy_exports(__name__)

_keep_old_places()
