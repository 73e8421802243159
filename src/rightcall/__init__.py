"""Rightcall judges AI agents by the tools they call.

What most users need can be imported from here, everything else from its package, such as `rightcall.judging`. Names are
imported on first use, so that `import rightcall` itself imports no third-party module.
"""

from typing import Any as _Any

from ._lazy import lazy_exports as _lazy_exports
from ._moved import keep_old_places as _keep_old_places, moved_name as _moved_name

_exported, __dir__, __all__ = _lazy_exports(__name__)

_keep_old_places()


def __getattr__(name: str) -> _Any:
    return _exported(name) if name in __all__ else _moved_name(name)
