"""Find the custom evaluators that eval sets name, in files and in installed packages."""

from __future__ import annotations

import contextlib
import sys
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall.errors import AgentError, ConfigurationError, RightcallError, UnknownNameError, nearest
from rightcall.judging import CODE_OF_YOURS, Evaluator, UnavailableEvaluator, installed_evaluators, split_code
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.running.project import TrustedProject, project_of, trusted_project

from ._cases import EvalSet
from ._loader import load_eval_set

if TYPE_CHECKING:
    from rightcall.running.agents import SearchPath


# What imports custom code is imported where it is used: most eval sets name none.

_FORMS = "a custom evaluator is named as file.py:Name, or by the name that an installed package gives it"


class CodeFinder(msgspec.Struct, eq=False, dict=True):
    """Finds the custom evaluators that one eval set names: inside `home`, or anywhere if trusted."""

    evalset: Path
    trust: bool = False
    remedy: str = "give --trust"
    """What to do about code that is not trusted, for the message."""
    home: TrustedProject | None = None
    """Where code may be imported from without trust; the project of the eval set by default."""
    found: dict[str, None] = {}
    """The types that were asked for: code that the eval set names, and that runs here."""

    @cached_property
    def _folder(self) -> Path:
        return self.evalset.resolve().parent

    @cached_property
    def _search(self) -> SearchPath:
        from rightcall.running.agents import SearchPath

        return SearchPath()

    def find(self, type_id: str) -> type[Evaluator[Any, Any, Any]]:
        """Return the evaluator of a type: `file.py:Name`, or the name of an entry point.

        Raises:
            ConfigurationError: it is not trusted, cannot be imported, or is not an evaluator.
            UnknownNameError: there is no such file, or no such name in it.
        """
        from rightcall.judging import custom_type

        target = self.target(type_id)
        split = split_code(type_id)
        if split is None:
            return custom_type(target, type_id, _version(type_id))
        return custom_type(target, ":".join(split), _fingerprint(self._file(type_id, split[0])))

    def target(self, type_id: str) -> Any:
        """Return the function or class that a type names. Raises as `find` does."""
        self.found[type_id] = None
        if (split := split_code(type_id)) is not None:
            return self._in_file(type_id, *split)
        if type_id in installed_evaluators():
            return _installed(type_id)
        raise ConfigurationError(f"{type_id!r:.200} is not an evaluator; {_FORMS}")

    def _in_file(self, type_id: str, place: str, name: str) -> Any:
        from rightcall.running.agents import import_file

        file = self._file(type_id, place)
        _forget_if_changed(file)
        try:
            with contextlib.redirect_stdout(sys.stderr):  # stdout is for the report
                module = import_file(file, self._search, "the evaluator")
        except AgentError as problem:
            hint = "; import these names from rightcall instead" if "No module named 'uipath" in str(problem) else ""
            raise ConfigurationError(f"{problem}{hint}") from None
        return _named(module, name, place)

    def files_found(self) -> list[Path]:
        """Return the files of all evaluators that were asked for, and those beside them, which they may import."""
        return sorted({file for type_id in self.found for file in self.files(type_id)})

    def files(self, type_id: str) -> list[Path]:
        """Return the files of an evaluator, as far as they are known."""
        split = split_code(type_id)
        try:
            return _beside(self._file(type_id, split[0])) if split is not None else []
        except (ConfigurationError, UnknownNameError):
            return []

    def _file(self, type_id: str, place: str) -> Path:
        """Return the file, if it exists and may be imported."""
        is_uipath = type_id.startswith("file://")
        project = None if is_uipath else project_of(self.evalset)
        homes = [self._folder] if project is None else [project, self._folder]
        files = [(home / place).resolve() for home in homes]
        file = next((one for one in files if one.is_file()), None)
        if file is None:
            beside = sorted([one.name for one in files[0].parent.glob("*.py")])
            raise UnknownNameError(f"no file {place} in {homes[0]}; {nearest(files[0].name, beside)}")
        trusted = self.home or trusted_project(self.evalset)
        if not self.trust and not trusted.holds(file):
            raise ConfigurationError(f"the evaluator {type_id!r:.200} {trusted.refusal(file)}; {self.remedy}")
        return file


def _installed(name: str) -> Any:
    found = installed_evaluators()[name]
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return found.load()
    except Exception as problem:  # noqa: BLE001 - reported with its type and message
        reason = f"{type(problem).__name__}: {problem}"
        raise ConfigurationError(f"the evaluator {name!r} ({found.value}) cannot be imported: {reason}") from None


def _version(name: str) -> str:
    """Return a string that changes when another version of the package is installed."""
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
"""The fingerprints of files when they were imported."""


def _forget_if_changed(file: Path) -> None:
    """Unload the modules of a folder if one of its files has changed, so that they are imported again."""
    # `rightcall run --watch` and notebooks live longer than one version of an evaluator.
    now = _fingerprint(file)
    if _imported.setdefault(file, now) == now:
        return
    _imported[file] = now
    for name, module in list(sys.modules.items()):
        origin = getattr(module, "__file__", None)
        if origin is not None and Path(origin).resolve().parent == file.parent:
            del sys.modules[name]


def _fingerprint(file: Path) -> str:
    """Return a digest of the file and of the files beside it, which it may import."""
    from hashlib import sha256

    content = sha256()
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
    """Load an eval set and import the custom evaluators that it names. Importing a module runs its code.

    Args:
        path: The file.
        trust: Whether code may be imported from anywhere.
        limits: The limits for reading.
        remedy: What to do about code that is not trusted, for the message.
        home: Where code may be imported from without trust; the project of the eval set by default.

    Raises:
        DocumentError: the file has a mistake, or names code that is missing, not trusted or cannot be imported.
        InputError: the file cannot be read.
    """
    return load_eval_set(path, limits, CodeFinder(Path(path), trust, remedy, home))


def code_files(path: str | Path) -> list[Path]:
    """Return the files of custom code that an eval set names, and those beside them. Nothing is imported.

    The list is empty if the eval set cannot be loaded.
    """
    from rightcall.judging import JudgeEvaluator, UnimportedOverall

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
