"""Import paths of packages that moved: `import rightcall.matchers` still finds `rightcall.matching.matchers`."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

_NEW_PLACES = {
    "accepting": "cases.accepting",
    "agents": "running.agents",
    "alignment": "matching.alignment",
    "assertions": "testing.assertions",
    "batch": "scale.local",
    "batch.lake": "scale.lake",
    "batch.ray": "scale.ray",
    "batch.spark": "scale.spark",
    "changes": "reporting.changes",
    "columns": "scale.columns",
    "decoding": "values.decoding",
    "evalsets": "cases.evalsets",
    "evaluators": "judging",
    "extensions": "cases.extensions",
    "judges": "judging.models",
    "matchers": "matching.matchers",
    "mocking": "running.mocking",
    "pages": "reporting.pages",
    "projects": "running.project",
    "pytest_plugin": "testing.pytest_plugin",
    "readers": "reading",
    "redaction": "values.redaction",
    "reports": "reporting.reports",
    "results": "values.results",
    "runner": "running.runner",
    "store": "reporting.store",
    "tracing": "running.tracing",
    "trajectory": "values.trajectory",
    "verdicts": "cases.verdicts",
    "viewer": "reporting.viewer",
}
_PREFIX = "rightcall."


# Neither class is derived from those of `importlib.abc`, which a finder need not be
# (https://docs.python.org/3/reference/import.html#finders-and-loaders): importing that module costs every command
# `tempfile`, `shutil` and `zipfile`, a sixth of its imports.
class _Finder:
    """Finds a package by its old name. It comes last on `sys.meta_path`, so it is only asked for what is not there."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        new = _NEW_PLACES.get(fullname.removeprefix(_PREFIX)) if fullname.startswith(_PREFIX) else None
        return None if new is None else ModuleSpec(fullname, _Alias(_PREFIX + new))  # type: ignore[arg-type]


class _Alias:
    """Makes the old name another name of the same module, so that its classes stay the same classes."""

    def __init__(self, new: str) -> None:
        self._new = new

    def create_module(self, spec: ModuleSpec) -> None:
        """Have the module created as any other."""

    def exec_module(self, module: ModuleType) -> None:
        warnings.warn(f"{module.__name__} is now {self._new}", DeprecationWarning, stacklevel=2)
        sys.modules[module.__name__] = import_module(self._new)


def keep_old_places() -> None:
    """Let the old names be imported, from now on."""
    sys.meta_path.append(_Finder())
