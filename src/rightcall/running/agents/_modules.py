"""Import an agent's module from a file, a package or a name, and cut tracebacks to the agent's own lines."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from rightcall.errors import AgentError, MissingExtraError

_OURS = str(Path(__file__).parents[2])


class SearchPath:
    """Folders that are first on `sys.path` while an agent lives, as the folder of a script is."""

    def __init__(self) -> None:
        self._added: list[str] = []

    def add(self, *folders: Path) -> None:
        """Put folders first, in this order, even if they are on the path already."""
        for text in map(str, reversed(folders)):
            if text not in self._added:
                sys.path.insert(0, text)
                self._added.append(text)
        importlib.invalidate_caches()

    def restore(self) -> None:
        """Remove what was added."""
        for text in self._added:
            if text in sys.path:
                sys.path.remove(text)
        self._added.clear()


def import_file(file: Path, search: SearchPath, what: str = "the agent") -> ModuleType:
    """Import a file as a module, once.

    Its name is the file's, so that the agent's other modules get this very module when they import it, and
    `__name__` is never `__main__`. A file in a package (a folder with `__init__.py`) is imported as part of it, so
    relative imports work. If another module has the name, the file gets a unique one.

    Raises:
        AgentError: importing it fails; the message has the line, `traceback` has the rest.
        MissingExtraError: it needs google-adk, which is not installed.
    """
    package_root, dotted = _place(file)
    search.add(file.parent, *([package_root] if package_root != file.parent else []))
    taken = sys.modules.get(dotted)
    if taken is not None and _is_from(taken, file):
        return taken
    if "." in dotted:
        return _guarded(lambda: importlib.import_module(dotted), file, what)
    name = dotted if taken is None and dotted not in sys.stdlib_module_names else f"{dotted}_{abs(hash(file)):x}"
    return _guarded(lambda: _executed(name, file), file, what)


def import_name(name: str, project: Path, search: SearchPath) -> ModuleType:
    """Import the module with this name, looked for in the project first.

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
    return _guarded(lambda: importlib.import_module(name), Path(found.origin or name))


def _guarded(load: Callable[[], ModuleType], file: Path, what: str = "the agent") -> ModuleType:
    """Call `load`, and turn what it raises into an error that the user understands.

    Raises:
        AgentError: it raised an exception, or `SystemExit`.
        MissingExtraError: it needs google-adk, which is not installed.
    """
    try:
        return load()
    except (Exception, SystemExit) as problem:  # noqa: BLE001 - importing runs the agent's code, which may raise anything
        missing = (getattr(problem, "name", None) or "") if isinstance(problem, ImportError) else ""
        if missing == "google" or missing.startswith("google.adk"):
            raise MissingExtraError(f"{file} needs Google's ADK; to run it: pip install google-adk") from None
        where = _location_of(problem, file)
        reason = f"it calls sys.exit({problem.code!r})" if isinstance(problem, SystemExit) else _one_line(problem)
        raise AgentError(f"{where}: {what} cannot be imported: {reason}", traceback_of(problem)) from None


def _one_line(problem: BaseException) -> str:
    text = " ".join(str(problem.msg if isinstance(problem, SyntaxError) else problem).split())
    return f"{type(problem).__name__}: {text}" if text else type(problem).__name__


def _place(file: Path) -> tuple[Path, str]:
    """Return the folder to import a file from, and its dotted name there, with its packages."""
    names = [] if file.name == "__init__.py" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file() and "." not in folder.name and folder.name:
        names.append(folder.name)
        folder = folder.parent
    return folder, ".".join(reversed(names))


def _is_from(module: ModuleType, file: Path) -> bool:
    origin = getattr(module, "__file__", None)
    return origin is not None and Path(origin).resolve() == file


class _FreshLoader(SourceFileLoader):
    """Compiles a file whenever it is imported.

    Python considers a `.pyc` file current if the source has the same size and the same modification time in seconds
    (PEP 552): an agent that is changed and run again within a second would be judged by its old code.
    """

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


def _executed(name: str, file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file, loader=_FreshLoader(name, str(file)))
    if spec is None or spec.loader is None:
        raise AgentError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:  # the next import must not find half a module
        del sys.modules[name]
        raise
    return module


def traceback_of(problem: BaseException) -> str:
    """Return the traceback of an exception as text, without the frames of Rightcall and of Python's import system.

    Frames of `asyncio` at the beginning are left out as well. If that leaves none, all are kept, unless the exception
    itself says where it is (a syntax error). Causes and contexts are treated in the same way.
    """
    shown = traceback.TracebackException.from_exception(problem, limit=-200)
    _cut(shown, set())
    return "".join(shown.format())


def _location_of(problem: BaseException, file: Path) -> str:
    """Return where an exception comes from: the innermost file and line below the folder of a file, else the file.

    A syntax error comes from its own line, not from where the file with it was imported.
    """
    places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(problem.__traceback__)]
    if isinstance(problem, SyntaxError) and problem.filename:
        places.append((problem.filename, problem.lineno))
    below = [f"{name}:{line}" for name, line in places if Path(name).is_relative_to(file.parent)]
    return below[-1] if below else str(file)


def _cut(shown: traceback.TracebackException, seen: set[int]) -> None:
    if id(shown) in seen:
        return
    seen.add(id(shown))
    kept = [frame for frame in shown.stack if not _is_internal(frame.filename)]
    while kept and _is_of_asyncio(kept[0].filename):
        del kept[0]
    if kept or getattr(shown, "lineno", None) is not None:
        shown.stack = traceback.StackSummary.from_list(kept)
    for other in (shown.__cause__, shown.__context__, *_members(shown)):
        if other is not None:
            _cut(other, seen)


def _members(shown: traceback.TracebackException) -> list[traceback.TracebackException]:
    return list(getattr(shown, "exceptions", None) or ())


def _is_internal(filename: str) -> bool:
    return filename.startswith((_OURS, "<frozen importlib")) or filename == importlib.__file__


def _is_of_asyncio(filename: str) -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and filename.startswith(str(Path(asyncio.__file__ or "").parent))
