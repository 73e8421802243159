"""Load eval sets from files, texts and Python values, with the custom evaluators they name; find all their mistakes."""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path, Path as FilePath
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from rightcall._lazy import lazy_pattern
from rightcall.errors import (
    AgentError,
    ConfigurationError,
    CriteriaError,
    DocumentError,
    ExpectationError,
    InputError,
    RightcallError,
    UnknownNameError,
    nearest,
    shown,
)
from rightcall.judging import (
    CODE_OF_YOURS,
    EVALUATORS,
    Evaluator,
    ModelError,
    UnavailableEvaluator,
    UserModel,
    independent,
    installed_evaluators,
    split_code,
    unavailable,
)
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.running.project import TrustedProject, project_of, project_of_eval_set
from rightcall.values import decoding
from rightcall.values.decoding import decode_document, dump_json
from rightcall.values.results import Source

from ._cases import EVERY_KEY, POLICY_KEY, Case, Check, EvalSet, Format
from ._compiler import Compiler, FindCode
from ._models import EvalSetDocument, SourceFile, WrittenCase, WrittenDefaults, WrittenEvalSet, check_mocks, path_of
from ._shorthands import check_defaults, resolve_expectation

if TYPE_CHECKING:
    from rightcall.running.agents import SearchPath


_MANY_OBJECTS = 30_000
"""The number of new objects, of about 1,000 cases, above which it matters that no collection visits them."""
# What imports custom code is imported where it is used: most eval sets name none.

_FORMS = "a custom evaluator is named as file.py:Name, or by the name that an installed package gives it"
MOST_MISTAKES = 100
"""The most mistakes of one file to look for: with more, something is wrong with the file as a whole."""
_BINDING = lazy_pattern(r"\$(?:bind|ref) '")
_FIRST = lazy_pattern(r"^((?:criteria of '[^']*': )?(?:unknown key ')?[\w-]+)\[0\]")
"""The path that a message about the first item of a list begins with."""
_ModelT = TypeVar("_ModelT", bound=UserModel)


def load_eval_set(path: str | FilePath, limits: Limits = DEFAULT_LIMITS, find_code: FindCode | None = None) -> EvalSet:
    """Load the eval set in a file, and check every key, expectation and id in it.

    The file may be in the native format, in UiPath's or in ADK's; its content decides. Only `find_code` imports custom
    evaluators. Without it, they are not checked, and their result is `error`.

    Raises:
        DocumentError: the first mistake, with file, line and column, and what would be right.
        InputError: the file cannot be read.
    """
    with _collector_off():
        format_name, document = read_document(path, limits)
        return Compiler(document, limits, find_code).eval_set(format_name)


def parse_eval_set(
    text: str | bytes, name: str, limits: Limits = DEFAULT_LIMITS, find_code: FindCode | None = None
) -> EvalSet:
    """Load an eval set from a text in the native format. `name` is the name of its file; see `load_eval_set`.

    Raises:
        DocumentError: the first mistake, with line and column.
    """
    with _collector_off():
        file = SourceFile(name, text, limits)
        return Compiler(EvalSetDocument(file, file.value), limits, find_code).eval_set("native")


def load_expectation(
    text: str | bytes, name: str, limits: Limits = DEFAULT_LIMITS, find_code: FindCode | None = None
) -> Callable[[str], Case]:
    """Load an expectation from YAML or JSON, as under `expect`. Return a function that makes a case of it, given an id.

    Raises:
        DocumentError: the expectation is wrong.
    """
    file = SourceFile(name, text, limits)
    return Compiler(EvalSetDocument(file, file.value), limits, find_code).expectation()


@contextmanager
def _collector_off() -> Iterator[None]:
    """Turn the garbage collector off while an eval set is made.

    Everything that is made is kept, so there is no garbage to find, but each collection visits all objects made so far:
    it took 40 % of the time to load 10,000 cases.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            # Counting frozen objects visits them, which takes 18 ms for the half million objects of a large session of
            # pytest. The first generation counts the new objects.
            if gc.get_count()[0] > _MANY_OBJECTS and not gc.get_freeze_count():
                # Together, these two move the new objects to the oldest generation without a visit, which would take a
                # tenth of the time again (https://docs.python.org/3/library/gc.html#gc.freeze).
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def read_document(path: str | FilePath, limits: Limits) -> tuple[Format, EvalSetDocument]:
    """Read a file in any format. Return the format, and the eval set translated to the native one.

    Raises:
        DocumentError: it has a mistake by the rules of the other tool.
        InputError: the file, or one that belongs to it, cannot be read.
    """
    file = SourceFile.read(path, limits)
    format_name = format_of(file.value)
    # Imported late: most eval sets are native, and each translator costs an import.
    if format_name == "uipath":
        from ._uipath_sets import translate_uipath

        return format_name, translate_uipath(file, limits)
    if format_name == "adk":
        from ._adk_sets import translate_adk

        return format_name, translate_adk(file, limits)
    return format_name, EvalSetDocument(file, file.value)


def format_of(value: Any) -> Format:
    """Return the format of a document, recognized by its keys."""
    # By content, because files of all three tools end in `.json`.
    if isinstance(value, dict) and "cases" not in value:
        if value.keys() & {"evaluations", "evaluatorRefs", "evaluatorConfigs", "evaluator_refs", "evaluator_configs"}:
            return "uipath"
        if value.keys() & {"eval_cases", "evalCases", "eval_set_id", "evalSetId"}:
            return "adk"
    # Older test files of ADK are a bare list of queries.
    if isinstance(value, list) and any(isinstance(item, dict) and item.keys() & {"query", "data"} for item in value):
        return "adk"
    return "native"


def compile_expectation(expect: Mapping[str, Any], source: Source, **settings: Any) -> tuple[Check, ...]:
    """Compile an `expect` given as Python values into checks. `source` is the position of all of them.

    `settings` are what a file has under `defaults`; one that is `None` is not given.

    Raises:
        CriteriaError: the expectation is empty or wrong, or names an evaluator that is not available; or a setting for
            which calls are selected is wrong.
        ConfigurationError: another setting is wrong.
    """
    if not expect:
        raise CriteriaError(f"an expectation is an object such as {{'calls': ['search']}}, not {shown(expect)}")
    given: dict[str, Any] = {key: list(value) if isinstance(value, tuple) else value for key, value in settings.items()}
    defaults = WrittenDefaults(**{key: value for key, value in given.items() if value is not None})
    check_defaults(defaults, DEFAULT_LIMITS)
    return tuple([_check(key, value, defaults, source) for key, value in expect.items()])


def _check(key: Any, value: Any, defaults: WrittenDefaults, source: Source) -> Check:
    if not isinstance(key, str):
        raise CriteriaError(f"the keys of an expectation are names of evaluators, not {shown(key)}")
    expected = resolve_expectation(key, list(value) if isinstance(value, tuple) else value, defaults, {})
    if reason := unavailable(expected.type_id):
        raise CriteriaError(f"the evaluator {shown(key)} is not yet available: {reason}")
    evaluator = EVALUATORS[expected.type_id](key, expected.config)
    return Check(key, evaluator, evaluator.criteria(expected.criteria), lambda _: source, expected.weight)


_OF_SET = (
    "$schema",
    "name",
    "description",
    "agent",
    "defaults",
    "evaluators",
    "rules",
    "expect",
    "overall",
    "cases",
    "metadata",
)
_OF_CASE = (
    "id",
    "name",
    "description",
    "tags",
    "input",
    "turns",
    "when",
    "expected_behavior",
    "session",
    "mocks",
    "expect",
    "metadata",
)


def convert_eval_set(path: str | FilePath, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return the eval set in a file as text in the native format. Its verdicts are those of the file.

    Keys that the native format does not have are kept under `metadata`.

    Raises:
        DocumentError: the file is wrong.
        InputError: the file cannot be read.
    """
    from ._editor import dump_yaml

    format_name, document = read_document(path, limits)
    Compiler(document, limits).eval_set(format_name)  # raises if the file has a mistake
    written = _ordered(document.value, _OF_SET)
    written["cases"] = [_ordered(case, _OF_CASE) for case in written["cases"]]
    # YAML cannot express everything that JSON can, such as half of a surrogate pair.
    text = dump_yaml(written)
    return text if _says(text, written, limits) else dump_json(written, indent=2) + "\n"


def _ordered(value: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    known = {key: value[key] for key in keys if key in value}
    return known | value


def _says(text: str, value: Any, limits: Limits) -> bool:
    from rightcall.matching.matchers import equal

    try:
        return equal(decode_document(text.encode(), limits).value, value)
    except (InputError, UnicodeError):
        return False


class CodeFinder:
    """Finds the custom evaluators that one eval set names: inside `home`, or anywhere if trusted."""

    def __init__(
        self, evalset: Path, trust: bool = False, remedy: str = "give --trust", home: TrustedProject | None = None
    ) -> None:
        self._folder = evalset.resolve().parent
        self._project = project_of(evalset)
        self._home = home or project_of_eval_set(evalset)
        self._trust, self._remedy = trust, remedy
        self._search: SearchPath | None = None
        self._found: dict[str, None] = {}

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
        self._found[type_id] = None
        if (split := split_code(type_id)) is not None:
            return self._in_file(type_id, *split)
        if type_id in installed_evaluators():
            return _installed(type_id)
        raise ConfigurationError(f"{type_id!r:.200} is not an evaluator; {_FORMS}")

    def _in_file(self, type_id: str, place: str, name: str) -> Any:
        from rightcall.running.agents import SearchPath, import_file

        if self._search is None:
            self._search = SearchPath()
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
        return sorted({file for type_id in self._found for file in self.files(type_id)})

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
        homes = [self._folder] if is_uipath or self._project is None else [self._project, self._folder]
        files = [(home / place).resolve() for home in homes]
        file = next((one for one in files if one.is_file()), None)
        if file is None:
            beside = sorted([one.name for one in files[0].parent.glob("*.py")])
            raise UnknownNameError(f"no file {place} in {homes[0]}; {nearest(files[0].name, beside)}")
        if not self._trust and not self._home.holds(file):
            refusal = self._home.refusal(file)
            raise ConfigurationError(f"the evaluator {type_id!r:.200} {refusal}; {self._remedy}")
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
    """Return a text that changes when another version of the package is installed."""
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


def eval_set_mistakes(path: str | Path, limits: Limits = DEFAULT_LIMITS) -> list[DocumentError]:
    """Return all mistakes of the eval set in a file, in the order of its lines; at most `MOST_MISTAKES`.

    A file that cannot be decoded, or is wrong by the rules of another tool, has one: the rest is unknown.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        _, document = read_document(path, limits)
    except DocumentError as problem:
        return [problem]
    found = _MistakeFinder(document, limits).find()
    if not found:
        try:
            load_eval_set(path, limits)
        except DocumentError as problem:  # one that only the eval set as a whole has
            found = [problem]
    unique = {str(problem): problem for problem in found}
    return sorted(unique.values(), key=lambda each: (each.line, each.column))[:MOST_MISTAKES]


class _MistakeFinder(Compiler):
    """Compiles what can be compiled, part by part, and keeps the mistake of each part that cannot."""

    def find(self) -> list[DocumentError]:
        """Return the mistakes that were found."""
        self._found: list[DocumentError] = []
        value = self._document.value
        if not isinstance(value, dict):
            self._try(self._written)
            return self._found
        cases = value.get("cases")
        head = value if not isinstance(cases, list) or not cases else {**value, "cases": [_STAND_IN]}
        written = self._valid(WrittenEvalSet, head, ())
        if written is not None:
            self._try_settings(written)
        for number, case in enumerate(cases if isinstance(cases, list) else ()):
            if len(self._found) >= MOST_MISTAKES:
                break
            self._try_case(case, number)
        self._try_ids(cases if isinstance(cases, list) else [])
        return self._found

    def _try_settings(self, written: WrittenEvalSet) -> None:
        def set_defaults() -> None:
            with self._document.locating_errors(("defaults",), lambda steps: steps):
                check_defaults(written.defaults, self._limits)
            self._defaults = written.defaults

        def add_evaluators() -> None:
            self._added = self._added_evaluators(written)

        self._try(set_defaults)
        self._try(add_evaluators)
        if written.rules is not None:
            self._try_expectation(POLICY_KEY, written.rules, (POLICY_KEY,))
        for key, item in written.expect.items():
            self._try_expectation(key, item, (EVERY_KEY, key))
        for name, each in written.overall.items():
            self._try(partial(self._overall, name, each))

    def _try_case(self, value: Any, number: int) -> None:
        place: decoding.Path = ("cases", number)
        written = self._valid(WrittenCase, value, place)
        expect = value.get("expect") if isinstance(value, dict) else None
        for key, item in expect.items() if isinstance(expect, dict) else ():
            self._try_expectation(key, item, (*place, "expect", key))
        if written is None:
            return
        wildcards = bool(self._defaults.wildcards)
        if written.mocks:
            mocks = written.mocks
            self._try(partial(check_mocks, mocks, (*place, "mocks"), self._document, wildcards=wildcards))
        if written.turns:
            self._try(partial(self._case, written.model_copy(update={"expect": {}, "mocks": None}), number))
        else:
            if written.when is not None:
                self._try(partial(self._when, written.when, place))
            self._try(partial(self._repeats, written, place))

    def _try_expectation(self, key: str, value: Any, place: decoding.Path) -> None:
        """Compile an expectation. Of a list with a mistake, each item is compiled alone: several may have one."""
        before = len(self._found)
        self._try(partial(self._compile, key, value, place))
        if len(self._found) == before or not isinstance(value, list) or len(value) < 2:
            return
        whole, document = self._found[before:], self._document
        del self._found[before:]
        for number, item in enumerate(value):
            self._document = _OneItem(document, len(place), number)
            self._try(partial(self._compile, key, [item], place))
        self._document = document
        # What one item binds, another one uses: alone, neither is valid.
        self._found[before:] = [each for each in self._found[before:] if not _BINDING.search(str(each))]
        if len(self._found) == before:  # the items are right, and something about them together is not
            self._found += whole

    def _try_ids(self, cases: list[Any]) -> None:
        lines: dict[str, int] = {}
        for number, case in enumerate(cases):
            name = case.get("id") if isinstance(case, dict) else None
            if not isinstance(name, str):
                continue
            if name in lines:
                self._found.append(self._used_twice(name, lines[name], number))
            lines.setdefault(name, self._document.source(("cases", number, "id")).line)

    def _valid(self, model: type[_ModelT], value: Any, place: decoding.Path) -> _ModelT | None:
        """Return the model of the valid keys of an object; `None` if there are too few."""
        mistakes: list[tuple[decoding.Path, str]] = []
        chain: Any = None
        for step in place:
            chain = (chain, step)
        made: _ModelT = model.check_value(value, chain, mistakes)
        if not mistakes:
            return made
        self._found += [self._problem(reason, path) for path, reason in independent(mistakes)]
        wrong = {path[len(place)] for path, _ in mistakes if len(path) > len(place)}
        if not isinstance(value, dict):
            return None
        try:
            return model.model_validate({key: item for key, item in value.items() if key not in wrong})
        except ModelError:
            return None

    def _try(self, step: Callable[[], Any]) -> None:
        try:
            step()
        except DocumentError as problem:
            self._found += problem.each

    def _criteria(self, evaluator: Evaluator[Any, Any, Any], value: Any, is_plain: bool) -> Any:
        """Return the criteria. Expected values with a mistake are left out one after the other, to find the next."""
        found: dict[decoding.Path, str] = {}
        made: Any = None
        while value is not None and len(found) < MOST_MISTAKES:
            try:
                made = super()._criteria(evaluator, value, is_plain)
                break
            except ExpectationError as problem:
                steps = path_of(problem)
                if found and (steps in found or _BINDING.search(str(problem))):  # it follows from what was left out
                    break
                found[steps], value = str(problem), _without(value, steps)
            except CriteriaError:
                if not found:
                    raise
                break
        if found:
            steps, message = next(iter(found.items()))
            raise CriteriaError(message, steps, list(found.items()))
        return made


def _without(value: Any, steps: decoding.Path) -> Any:
    """Return a copy of an object or a list without the entry at a path; `None` if an object has no such entry."""
    if not steps or not isinstance(value, (dict, list)):
        return None
    step: Any = steps[0]
    if isinstance(value, dict) and step == "args" and len(value) == 1:
        step = step if step in value else next(iter(value))  # {search: {query: a}} has the arguments of `search`
    try:
        inner = value[step]
    except (KeyError, IndexError, TypeError):
        return None
    if len(steps) == 1:
        return {key: item for key, item in value.items() if key != step} if isinstance(value, dict) else None
    changed = _without(inner, steps[1:])
    if changed is None:
        return None
    return {**value, step: changed} if isinstance(value, dict) else [*value[:step], changed, *value[step + 1 :]]


_STAND_IN = {"id": "case", "expect": {"calls": []}}
"""A valid case in place of all cases, which are checked one by one."""


class _OneItem(EvalSetDocument):
    """A document in which one item of a list is compiled alone; its mistakes get the position of the item."""

    def __init__(self, whole: EvalSetDocument, depth: int, number: int) -> None:
        super().__init__(whole.file, whole.value)
        self._whole, self._depth, self._number = whole, depth, number

    def problem(self, message: str, path: decoding.Path) -> DocumentError:
        """Return the exception for a mistake in the item."""
        message = _FIRST.sub(rf"\g<1>[{self._number}]", message, count=1)
        if len(path) > self._depth and path[self._depth] == 0:
            path = (*path[: self._depth], self._number, *path[self._depth + 1 :])
        return self._whole.problem(message, path)
