"""Importing an agent's module: from a file, a package or a name."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from rightcall.errors import AgentError, MissingExtraError

from ._tracebacks import place_of, traceback_of


class SearchPath:
    """Folders put first on `sys.path` while an agent lives, as Python does for the folder of a script."""

    def __init__(self) -> None:
        self._added: list[str] = []

    def add(self, *folders: Path) -> None:
        """Put folders first, in this order, wherever else on the path they may be."""
        for text in map(str, reversed(folders)):
            if text not in self._added:
                sys.path.insert(0, text)
                self._added.append(text)
        importlib.invalidate_caches()

    def restore(self) -> None:
        """Take away what was added."""
        for text in self._added:
            if text in sys.path:
                sys.path.remove(text)
        self._added.clear()


def import_file(file: Path, search: SearchPath, what: str = "the agent") -> ModuleType:
    """The module of a file, imported once.

    Its name is the file's, so that the agent's other modules get this very module when they import it, and
    `__name__` is never `__main__`. A file in a package (a folder with `__init__.py`) is imported as part of it, so
    relative imports work. If the name is taken by another module, the file gets a name of its own.

    Raises:
        AgentError: importing it fails; the message has the line, `traceback` the rest.
        MissingExtraError: it needs google-adk, which is not installed.
    """
    package_root, dotted = _place(file)
    search.add(file.parent, *([package_root] if package_root != file.parent else []))
    taken = sys.modules.get(dotted)
    if taken is not None and _is_from(taken, file):
        return taken
    if "." in dotted:
        return importing(lambda: importlib.import_module(dotted), file, what)
    name = dotted if taken is None and dotted not in sys.stdlib_module_names else f"{dotted}_{abs(hash(file)):x}"
    return importing(lambda: _executed(name, file), file, what)


def import_name(name: str, project: Path, search: SearchPath) -> ModuleType:
    """The module of this name, looked for in the project first.

    Raises:
        AgentError: there is no such module, or importing it fails.
        MissingExtraError: it needs google-adk, which is not installed.
    """
    search.add(project)
    try:
        found = importlib.util.find_spec(name.partition(".")[0])
    except (ImportError, ValueError):
        found = None
    if found is None:
        raise AgentError(
            f"no module {name!r}: there is none in {project}, and none is installed; a file is named file.py:function"
        )
    return importing(lambda: importlib.import_module(name), Path(found.origin or name))


def importing(load: Callable[[], ModuleType], file: Path, what: str = "the agent") -> ModuleType:
    """What `load` imports.

    Raises:
        AgentError: it raised something, `SystemExit` among it.
        MissingExtraError: it needs google-adk, which is not installed.
    """
    try:
        return load()
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - whatever it is, it is told
        missing = (getattr(problem, "name", None) or "") if isinstance(problem, ImportError) else ""
        if missing == "google" or missing.startswith("google.adk"):
            raise MissingExtraError(f"{file} needs Google's ADK; to run it: pip install google-adk") from None
        where = place_of(problem, file)
        told = f"it calls sys.exit({problem.code!r})" if isinstance(problem, SystemExit) else _told(problem)
        raise AgentError(f"{where}: {what} cannot be imported: {told}", traceback_of(problem)) from None


def _told(problem: BaseException) -> str:
    text = " ".join(str(problem.msg if isinstance(problem, SyntaxError) else problem).split())
    return f"{type(problem).__name__}: {text}" if text else type(problem).__name__


def _place(file: Path) -> tuple[Path, str]:
    """The folder to import a file from, and its name from there: with its packages, if it is in any."""
    names = [] if file.name == "__init__.py" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file() and "." not in folder.name and folder.name:
        names.append(folder.name)
        folder = folder.parent
    return folder, ".".join(reversed(names))


def _is_from(module: ModuleType, file: Path) -> bool:
    origin = getattr(module, "__file__", None)
    return origin is not None and Path(origin).resolve() == file


class _Anew(SourceFileLoader):
    """Compiles a file whenever it is imported.

    Python takes what it compiled before for current if the file has the same size and the same second: an agent that
    is changed and run again within one would be judged by what it was.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


def _executed(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file, loader=_Anew(name, str(file)))
    if spec is None or spec.loader is None:
        raise AgentError(f"{file} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:  # half a module must not be taken for one by whoever imports it next
        del sys.modules[name]
        raise
    return module
