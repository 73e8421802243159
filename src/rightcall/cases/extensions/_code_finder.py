"""Find, trust and import the custom evaluators that an eval set names."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from rightcall.cases.evalsets import EvalSet, load_eval_set
from rightcall.errors import AgentError, ConfigurationError, RightcallError, UnknownNameError, nearest
from rightcall.judging import (
    CODE_OF_YOURS,
    Evaluator,
    JudgeEvaluator,
    UnavailableEvaluator,
    UnimportedOverall,
    custom_type,
    installed_evaluators,
    split_code,
)
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.running.agents import SearchPath, import_file
from rightcall.running.project import TrustedProject, project_of, project_of_eval_set

_FORMS = "a custom evaluator is named as file.py:Name, or by the name that an installed package gives it"


class CodeFinder:
    """Finds evaluators of the user's own that one eval set names: at `home` and, without trust, nowhere else."""

    def __init__(
        self, evalset: Path, trust: bool = False, remedy: str = "give --trust", home: TrustedProject | None = None
    ) -> None:
        self._folder = evalset.resolve().parent
        self._project = project_of(evalset)
        self._home = home or project_of_eval_set(evalset)
        self._trust, self._remedy = trust, remedy
        self._search = SearchPath()
        self._found: dict[str, None] = {}

    def find(self, type_id: str) -> type[Evaluator[Any, Any, Any]]:
        """The evaluator of a type, `file.py:Name` or the name of an entry point.

        Raises:
            ConfigurationError: it is not to be trusted, cannot be imported, or is no evaluator.
            UnknownNameError: there is no such file, or nothing of that name in it.
        """
        target = self.target(type_id)
        split = split_code(type_id)
        if split is None:
            return custom_type(target, type_id, _version(type_id))
        return custom_type(target, ":".join(split), _fingerprint(self._file(type_id, split[0])))

    def target(self, type_id: str) -> Any:
        """The function or class that a type names. Raises as `find` does."""
        self._found[type_id] = None
        if (split := split_code(type_id)) is not None:
            return self._in_file(type_id, *split)
        if type_id in installed_evaluators():
            return _installed(type_id)
        raise ConfigurationError(f"{type_id!r:.200} is no evaluator; {_FORMS}")

    def _in_file(self, type_id: str, place: str, name: str) -> Any:
        file = self._file(type_id, place)
        _forget_if_changed(file)
        try:
            with contextlib.redirect_stdout(sys.stderr):  # what is printed there belongs to nobody's report
                module = import_file(file, self._search, "the evaluator")
        except AgentError as problem:
            hint = "; the names it needs are in rightcall as well" if "No module named 'uipath" in str(problem) else ""
            raise ConfigurationError(f"{problem}{hint}") from None
        return _named(module, name, place)

    def files_found(self) -> list[Path]:
        """The files of all evaluators that were asked for, and those beside them, which they may import."""
        return sorted({file for type_id in self._found for file in self.files(type_id)})

    def files(self, type_id: str) -> list[Path]:
        """The files that an evaluator is made of, as far as they are known."""
        split = split_code(type_id)
        try:
            return _beside(self._file(type_id, split[0])) if split is not None else []
        except (ConfigurationError, UnknownNameError):
            return []

    def _file(self, type_id: str, place: str) -> Path:
        """The file, if it is there and may be imported."""
        is_uipath = type_id.startswith("file://")
        homes = [self._folder] if is_uipath or self._project is None else [self._project, self._folder]
        files = [(home / place).resolve() for home in homes]
        file = next((one for one in files if one.is_file()), None)
        if file is None:
            beside = sorted([one.name for one in files[0].parent.glob("*.py")])
            raise UnknownNameError(f"no file {place} in {homes[0]}; {nearest(files[0].name, beside)}")
        if not self._trust and not self._home.holds(file):
            raise ConfigurationError(f"the evaluator {type_id!r:.200} is not inside {self._home}; {self._remedy}")
        return file


def _installed(name: str) -> Any:
    found = installed_evaluators()[name]
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return found.load()
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is told
        reason = f"{type(problem).__name__}: {problem}"
        raise ConfigurationError(f"the evaluator {name!r} ({found.value}) cannot be imported: {reason}") from None


def _version(name: str) -> str:
    """Changes when another version of a package is installed."""
    found = installed_evaluators()[name]
    return f"{found.value} {found.dist.version if found.dist is not None else ''}"


def _named(module: ModuleType, dotted: str, place: str) -> Any:
    value: Any = module
    for name in dotted.split("."):
        if not hasattr(value, name):
            known = [one for one in dir(value) if not one.startswith("_")]
            raise UnknownNameError(f"{place} has no {name!r}; {nearest(name, known)}")
        value = getattr(value, name)
    return value


_imported: dict[Path, str] = {}
"""The fingerprint that files had when they were imported."""


def _forget_if_changed(file: Path) -> None:
    """Have a file imported anew, and those beside it, if one of them has changed: some programs live long."""
    now = _fingerprint(file)
    if _imported.setdefault(file, now) == now:
        return
    _imported[file] = now
    for name, module in list(sys.modules.items()):
        origin = getattr(module, "__file__", None)
        if origin is not None and Path(origin).resolve().parent == file.parent:
            del sys.modules[name]


def _fingerprint(file: Path) -> str:
    """Changes when the file does, or one beside it, which it may import."""
    content = hashlib.sha256()
    for one in _beside(file):
        content.update(one.read_bytes())
    return content.hexdigest()[:32]


def _beside(file: Path) -> list[Path]:
    return sorted([one for one in file.parent.glob("*.py") if one.name[0] != "." and one.is_file()])


def load_eval_set_with_code(
    path: str | Path,
    *,
    trust: bool = False,
    limits: Limits = DEFAULT_LIMITS,
    remedy: str = "give --trust",
    home: TrustedProject | None = None,
) -> EvalSet:
    """The eval set in a file, and the evaluators of the user's own that it names. Importing a module runs it.

    Args:
        path: The file.
        trust: Whether code may be imported wherever it lies.
        limits: The budgets.
        remedy: What the message says where code is not to be trusted.
        home: Where code may be imported from without trust; the project of the eval set by default.

    Raises:
        DocumentError: the file is wrong, or names code that is not there, cannot be imported or is not to be trusted.
        InputError: the file cannot be read.
    """
    return load_eval_set(path, limits, CodeFinder(Path(path), trust, remedy, home))


def code_files(path: str | Path) -> list[Path]:
    """The files of code that an eval set names, and those beside them, which they may import. Nothing is imported.

    There are none where the eval set cannot be loaded.
    """
    try:
        eval_set = load_eval_set(path)
    except RightcallError:
        return []
    evaluators = [check.evaluator for case in eval_set.cases for check in case.checks]
    checks = [each.type_id for each in evaluators if _is_code(each)]
    checks += [each.config.judge for each in evaluators if isinstance(each, JudgeEvaluator) and each.config.judge]
    overall = [each.evaluator.type_id for each in eval_set.overall if isinstance(each.evaluator, UnimportedOverall)]
    finder = CodeFinder(Path(path))
    found = {beside for type_id in dict.fromkeys([*checks, *overall]) for beside in finder.files(type_id)}
    return sorted(found)


def _is_code(evaluator: object) -> bool:
    return isinstance(evaluator, UnavailableEvaluator) and evaluator.reason == CODE_OF_YOURS
