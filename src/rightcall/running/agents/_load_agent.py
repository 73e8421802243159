"""Find an agent by its name, import its module, and cut tracebacks to its own lines."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from rightcall.errors import AgentError, MissingExtraError, RightcallError, kind_of, missing_package, nearest
from rightcall.running.tracing import marks_of

from ._agent import Agent, AgentOptions
from ._python_agents import AdkAgent, function_agent, is_openai_agent, method_of, object_agent

_FORMS = "file.py:function, module:function, file.py, a folder, cmd:program, or http://…"
_COMMAND = "cmd:"
_ENDPOINTS = ("http://", "https://")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_ATTRIBUTE = re.compile(r"(?P<place>.+):(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)")
_FOLDER_FILES = ("__init__.py", "agent.py", "main.py")
_ADK = ("google.adk.agents.", "google.adk.apps.")
OBVIOUS = ("main", "root_agent", "agent", "graph", "run", "answer")
"""Common names of agents; the first one that can be run is taken."""
_OURS = str(Path(__file__).parents[2])


def load_agent(named: str, project: Path, options: AgentOptions = AgentOptions()) -> Agent:  # noqa: B008 - frozen
    """Load the agent with this name.

    - `file.py:function`, `file.py:object.method`, `module:function`: that function or object.
    - `file.py` or `module`: its one obvious entry (`main`, `root_agent`, `agent`, `graph`, `run`, `answer`, or the only
      public function that is not a tool).
    - a folder: the `root_agent` of its `__init__.py`, `agent.py` or `main.py`, else the one obvious entry of the last
      of these files that exists.
    - `cmd:program argument…`: a command that reads a request as JSON and writes its answer.
    - `http://…` or `https://…`: an endpoint that is sent the request as JSON.

    Relative paths and modules are looked up in `project`. Importing a module runs it.

    Raises:
        AgentError: nothing has this name, it cannot be imported, or it cannot be run.
        MissingExtraError: it needs a package that is not installed.
    """
    named, project, search = named.strip(), project.resolve(), SearchPath()
    if named.startswith((_COMMAND, *_ENDPOINTS)):
        return _external_agent(named, project, options)
    try:
        name, found = _found(named, project, search)
        return _python_agent(found, name, search)
    except RightcallError:
        search.restore()
        raise


def _external_agent(named: str, project: Path, options: AgentOptions) -> Agent:
    try:  # here, because Python agents need neither asyncio nor h11
        from ._commands import CommandAgent
        from ._http import EndpointAgent
    except ImportError:
        raise missing_package("commands and endpoints as agents need h11") from None
    if named.startswith(_COMMAND):
        return CommandAgent(named.removeprefix(_COMMAND), project, options)
    return EndpointAgent(named, options)


def _found(named: str, project: Path, search: SearchPath) -> tuple[str, Any]:
    """Return the object with this name, and its name for messages."""
    place, wanted = named, None
    if (split := _ATTRIBUTE.fullmatch(named)) and not (project / named).exists():
        place, wanted = split["place"], split["name"]
    path = (project / place).resolve()
    if path.is_dir():
        return _in_folder(path, place, wanted, search)
    if place.endswith(".py"):
        module = import_file(_existing(path, place), search)
    elif _MODULE.fullmatch(place):
        module = import_name(place, project, search)
    else:
        raise AgentError(f"no agent {named!r:.200}: there is no such file below {project}; an agent is {_FORMS}")
    return _in_module(module, place, wanted)


def _in_module(module: ModuleType, place: str, wanted: str | None) -> tuple[str, Any]:
    if wanted is not None:
        return f"{place}:{wanted}", named_entry(module, wanted, place)
    name, value = entry_of(module, place)
    return f"{place}:{name}", value


def _in_folder(folder: Path, place: str, wanted: str | None, search: SearchPath) -> tuple[str, Any]:
    files = [folder / name for name in _FOLDER_FILES if (folder / name).is_file()]
    if not files:
        raise AgentError(f"the folder {place} has none of {', '.join(_FOLDER_FILES)}; an agent is {_FORMS}")
    name, known = wanted or "root_agent", []
    for file in files:
        module = import_file(file, search)
        if hasattr(module, name.partition(".")[0]):
            return f"{place}:{name}", named_entry(module, name, place)
        known += [one for one in vars(module) if not one.startswith("_")]
    if wanted is not None:
        raise AgentError(f"{place} has no {wanted!r}; {nearest(wanted, known)}")
    return _in_module(module, f"{place}/{files[-1].name}", None)


def _existing(path: Path, place: str) -> Path:
    if path.is_file():
        return path
    beside = [one.name for one in path.parent.glob("*.py")] if path.parent.is_dir() else []
    if not path.parent.is_dir():
        raise AgentError(f"no file {place}: there is no folder {path.parent}")
    hint = nearest(path.name, sorted(beside)) if beside else "it has no Python files"
    raise AgentError(f"no file {place} in {path.parent}; {hint}")


def _python_agent(found: Any, name: str, search: SearchPath) -> Agent:
    if is_adk(found):
        return AdkAgent(found, name, search.restore)
    agent = None if inspect.isroutine(found) else object_agent(found, search.restore)
    return agent or function_agent(found, name, search.restore)


def entry_of(module: ModuleType, where: str) -> tuple[str, Any]:
    """Return the name and the object of the agent in a module.

    That is the first of `main`, `root_agent`, `agent`, `graph`, `run` and `answer` that can be run, else the only
    public function that the module itself defines, apart from tools.

    Raises:
        AgentError: there is none, or there are several functions without such a name.
    """
    for name in OBVIOUS:
        if is_runnable(getattr(module, name, None)):
            return name, getattr(module, name)
    functions = [name for name, value in vars(module).items() if _is_own_function(name, value, module)]
    if len(functions) == 1:
        return functions[0], getattr(module, functions[0])
    if functions:
        listed = ", ".join(f"{where}:{name}" for name in functions[:10])
        raise AgentError(f"{where} has several functions; say which is the agent: {listed}")
    raise AgentError(f"{where} has nothing that can be run; an agent is a function such as main, agent, run or answer")


def named_entry(module: ModuleType, dotted: str, where: str) -> Any:
    """Return the object with a dotted name in a module. Classes in the path are instantiated without arguments.

    Raises:
        AgentError: there is no such name, it cannot be run, or it is a class that needs arguments.
    """
    value: Any = module
    for name in dotted.split("."):
        value = _instance(value, where) if isinstance(value, type) and _needs_self(value, name) else value
        if not hasattr(value, name):
            known = [one for one in dir(value) if not one.startswith("_")]
            raise AgentError(f"{where} has no {name!r}; {nearest(name, known)}")
        value = getattr(value, name)
    value = _instance(value, where) if isinstance(value, type) else value
    if not is_runnable(value) or inspect.ismodule(value):
        raise AgentError(f"{where}:{dotted} is {kind_of(value)}, which cannot be run")
    return value


def is_runnable(value: Any) -> bool:
    """Whether a value can be run: a function, an object with a method to call, or an agent of a known framework."""
    if value is None or isinstance(value, type) or inspect.ismodule(value):
        return False
    return callable(value) or is_adk(value) or is_openai_agent(value) or method_of(value) is not None


def is_adk(value: Any) -> bool:
    """Whether a value is an agent of Google's ADK, by the module of its class. ADK is not imported."""
    return any([kind.__module__.startswith(_ADK) for kind in type(value).__mro__])


def _is_own_function(name: str, value: Any, module: ModuleType) -> bool:
    if not inspect.isfunction(value) or name.startswith("_") or value.__module__ != module.__name__:
        return False
    marks = marks_of(value)
    return marks is None or not marks.may_be_mocked


def _needs_self(kind: type, name: str) -> bool:
    found = inspect.getattr_static(kind, name, None)
    return found is not None and not isinstance(found, (staticmethod, classmethod)) and callable(found)


def _instance(kind: type, where: str) -> Any:
    try:
        needed = [one.name for one in inspect.signature(kind).parameters.values() if _is_needed(one)]
    except (TypeError, ValueError):
        needed = ["its arguments"]
    if needed:
        name = f"{where}:{kind.__name__}"
        raise AgentError(
            f"{name} is a class that needs {', '.join(needed)}; make an instance in the file and name that"
        )
    return kind()


def _is_needed(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind not in (
        parameter.VAR_POSITIONAL,
        parameter.VAR_KEYWORD,
    )


class SearchPath:
    """Folders that are first on `sys.path` as long as an agent is used, as the folder of a script is."""

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

    The module has the name of the file, so that other modules of the agent get the same module when they import it, and
    `__name__` is never `__main__`. A file in a package (a folder with `__init__.py`) is imported as part of it, so that
    relative imports work. If another module has the name, the module gets a unique one.

    Raises:
        AgentError: importing it fails; the message has the line, and `traceback` the traceback.
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
    """Import the module with this name, from the project if it is there.

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
    """Return the file and line of the innermost frame in the folder of a file; without one, the file.

    For a syntax error, the line of the error, not of the import.
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
