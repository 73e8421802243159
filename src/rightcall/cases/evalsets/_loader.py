"""Load eval sets: read a file in any format, compile its expectations, and check every key, expectation and id."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import CriteriaError, DocumentError, InputError, UnknownNameError, nearest, shown
from rightcall.judging import (
    EVALUATORS,
    Evaluator,
    ModelError,
    UnavailableEvaluator,
    evaluator_type,
    is_code,
    unavailable,
)
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.values.decoding import Path, decode_document, dump_json
from rightcall.values.results import Quarantine, Source
from rightcall.values.trajectory import Trajectory

from ._cases import EVERY_KEY, POLICY_KEY, Case, Check, EvalSet, Format, OverallCheck, with_every, with_policy
from ._eval_set_file import (
    EvalSetDocument,
    SourceFile,
    WrittenCase,
    WrittenDefaults,
    WrittenEvalSet,
    WrittenOverall,
    WrittenWhen,
    check_mocks,
)
from ._shorthands import (
    AddedEvaluator,
    Expected,
    TurnsExpected,
    check_defaults,
    resolve_expectation,
    turn_expectations,
    turn_label,
)

if TYPE_CHECKING:
    from rightcall.judging import OverallEvaluator

    from ._when import When


_STEP = lazy_pattern(r"\.?([^.\[\]]+)|\[(\d+)\]")
_CLASSIFICATION = "classification"
_DEFAULT = ("config", "default_evaluation_criteria")
_DEFAULTS = {"default_evaluation_criteria", "defaultEvaluationCriteria"}
_MANY_OBJECTS = 30_000
"""The number of new objects, of about 1,000 cases, above which it matters that no collection visits them."""
_NO_DEFAULTS = WrittenDefaults()
_LONGEST_SHARED = 1_000
"""The most characters of an expectation that cases share. A longer one hardly repeats, and would be kept twice."""


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
    """Load an eval set from a string in the native format. `name` is the name of its file; see `load_eval_set`.

    Raises:
        DocumentError: the first mistake, with line and column.
    """
    with _collector_off():
        file = SourceFile(name, limits, text)
        return Compiler(EvalSetDocument(file, file.value), limits, find_code).eval_set("native")


def load_expectation(
    text: str | bytes, name: str, limits: Limits = DEFAULT_LIMITS, find_code: FindCode | None = None
) -> Callable[[str], Case]:
    """Load an expectation from YAML or JSON, as under `expect`. Return a function that makes a case of it, given an id.

    Raises:
        DocumentError: the expectation is wrong.
    """
    file = SourceFile(name, limits, text)
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
    file = SourceFile(path, limits)
    value = file.value
    # By content, because files of all three tools end in `.json`. A translator is imported late: most files are native.
    keys = value.keys() if isinstance(value, dict) and "cases" not in value else set()
    if keys & {"evaluations", "evaluatorRefs", "evaluatorConfigs", "evaluator_refs", "evaluator_configs"}:
        from ._uipath_sets import translate_uipath

        return "uipath", translate_uipath(file, limits)
    # Older test files of ADK are a bare list of queries.
    queries = value if isinstance(value, list) else ()
    is_queries = any([isinstance(item, dict) and bool(item.keys() & {"query", "data"}) for item in queries])
    if is_queries or keys & {"eval_cases", "evalCases", "eval_set_id", "evalSetId"}:
        from ._adk_sets import translate_adk

        return "adk", translate_adk(file, limits)
    return "native", EvalSetDocument(file, value)


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
    try:
        criteria = evaluator.criteria(expected.criteria)
    except CriteriaError as problem:
        raise problem.__class__(expected.reworded(key, str(problem)), problem.path, problem.mistakes) from None
    return Check(key, evaluator, criteria, lambda _: source, expected.weight)


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


class FindCode(Protocol):
    """Finds custom code by the name that a file has for it. Both methods raise `RightcallError`."""

    def find(self, type_id: str) -> type[Evaluator[Any, Any, Any]]:
        """Return the evaluator of a type."""

    def target(self, type_id: str) -> Any:
        """Return the function or class itself."""


class _Compiled(NamedTuple):
    """An expectation, resolved and compiled."""

    evaluator: Evaluator[Any, Any, Any]
    criteria: Any
    expected: Expected


class Compiler(msgspec.Struct, eq=False):
    """Compiles one document."""

    _document: EvalSetDocument
    _limits: Limits
    _find_code: FindCode | None = None
    _shared: dict[tuple[type[Evaluator[Any, Any, Any]], str, str], Evaluator[Any, Any, Any]] = {}
    _checks_made: dict[tuple[str, str], _Compiled] = {}
    _code: dict[str, type[Evaluator[Any, Any, Any]]] = {}
    _defaults: WrittenDefaults = _NO_DEFAULTS
    _added: dict[str, AddedEvaluator] = {}
    _policy: Check | None = None
    _for_every: list[Check] = []

    def eval_set(self, format: Format) -> EvalSet:
        """Return the eval set. Raises `DocumentError`."""
        written = self._written()
        if "defaults" in self._document.value:
            with self._document.locating_errors(("defaults",), _as_written):
                check_defaults(written.defaults, self._limits)
        self._defaults = written.defaults
        if format != "native":
            # In the file of another tool, a `*` in a name is a plain character, and no tool has one in its name.
            self._defaults = written.defaults.model_copy(update={"wildcards": False})
        if written.rules is not None:
            self._policy = self._check(POLICY_KEY, written.rules, (POLICY_KEY,))
        if written.evaluators:
            self._added = self._added_evaluators(written)
        self._for_every = [self._check(key, item, (EVERY_KEY, key)) for key, item in written.expect.items()]
        cases = [self._case(case, number) for number, case in enumerate(written.cases)]
        if len({case.id for case in cases}) < len(cases):
            self._check_ids(cases)
        return EvalSet(
            path=self._document.file.name,
            name=written.name or FilePath(self._document.file.name).stem,
            description=written.description,
            format=format,
            cases=tuple(cases),
            overall=tuple([self._overall(name, each) for name, each in written.overall.items()]),
            every=self._every() if self._for_every else None,
            agent=written.agent,
            timeout=written.defaults.timeout,
            metadata=written.metadata,
        )

    def expectation(self) -> Callable[[str], Case]:
        """Return a function that makes a case of the document, which is an `expect` alone. Raises `DocumentError`."""
        expect = self._document.value
        if not isinstance(expect, dict) or not expect:
            raise self._problem(f"an expectation is an object such as {{calls: [search]}}, not {shown(expect)}", ())
        checks = tuple([self._check(key, item, (key,)) for key, item in expect.items()])
        return lambda case_id: Case(id=case_id, source=self._document.source(()), checks=checks)

    def _written(self) -> WrittenEvalSet:
        value = self._document.value
        if not isinstance(value, dict):
            raise self._problem(f"an eval set is an object with the key 'cases', not {shown(value)}", ())
        if value.get(EVERY_KEY) and "cases" not in value:
            value = {**value, "cases": []}
        mistakes: list[tuple[Path, str]] = []
        written: WrittenEvalSet = WrittenEvalSet.check_value(value, None, mistakes)
        if mistakes:
            place, reason = ModelError(mistakes).first
            raise self._problem(reason, place)
        if not written.cases and not written.expect:
            raise self._problem("'cases' is empty; an eval set has at least one case", ("cases",))
        return written

    def _added_evaluators(self, written: WrittenEvalSet) -> dict[str, AddedEvaluator]:
        added: dict[str, AddedEvaluator] = {}
        for name, evaluator in written.evaluators.items():
            type_id = evaluator.type
            with self._document.locating_errors(("evaluators", name, "type")):
                type_id = _resolved(type_id)
                if type_id not in EVALUATORS:
                    self._code_type(type_id)  # custom code is imported, or it is a mistake in the type
            with self._document.locating_errors(("evaluators", name, "config")):
                self._evaluator(type_id, name, evaluator.config)
            added[name] = AddedEvaluator(type_id, evaluator.config, float(evaluator.weight))
        return added

    def _overall(self, name: str, written: WrittenOverall) -> OverallCheck:
        # Imported late: few eval sets judge all cases together.
        from rightcall.judging import ClassificationEvaluator, CustomOverall, UnimportedOverall

        place: Path = ("overall", name)
        with self._document.locating_errors((*place, "type")):
            target = self._overall_target(written.type)
        with self._document.locating_errors((*place, "config")):
            evaluator: OverallEvaluator
            if written.type == _CLASSIFICATION:
                evaluator = ClassificationEvaluator(name, written.config)
            elif target is None:
                evaluator = UnimportedOverall(written.type, name)
            else:
                evaluator = CustomOverall(target, name, written.config)
        return OverallCheck(evaluator, self._document.source(place))

    def _overall_target(self, type_id: str) -> Any:
        """Return the custom function that a type names, if it is one and may be imported."""
        if type_id == _CLASSIFICATION:
            return None
        if not is_code(type_id):
            hint = f"{nearest(type_id, (_CLASSIFICATION,))}; a custom one is named as file.py:name"
            raise UnknownNameError(f"no evaluator of all cases has the type {shown(type_id)}; {hint}")
        if self._find_code is None:
            return None
        from rightcall.judging import function_of_rows

        return function_of_rows(self._find_code.target(type_id), type_id)

    def _case(self, written: WrittenCase, number: int) -> Case:
        place: Path = ("cases", number)
        if written.mocks:
            check_mocks(written.mocks, (*place, "mocks"), self._document, wildcards=bool(self._defaults.wildcards))
        checks = [self._check(key, item, (*place, "expect", key)) for key, item in written.expect.items()]
        if written.turns:
            for turns in turn_expectations(written, place, self._document, self._defaults, self._added):
                checks += self._turn_checks(turns, place)
        if self._for_every or self._policy is not None:
            checks = self._with_shared(checks)
        repeat = written.repeat or self._defaults.repeat
        needed = written.min_repeat_pass or self._defaults.min_repeat_pass
        if repeat is not None and needed is not None and needed > repeat:
            raise self._too_few_repeats(written, place, f"min_repeat_pass {needed} is more than repeat {repeat}")
        apart = written.quarantine
        return Case(
            id=written.id,
            source=self._document.source((*place, "id")),
            name=written.name,
            description=written.description,
            checks=tuple(checks),
            input=written.input,
            turns=tuple(turn.input for turn in written.turns or ()),
            when=None if written.when is None else self._when(written.when, place),
            expected_behavior=written.expected_behavior,
            session=written.session,
            tags=written.tags,
            metadata=written.metadata,
            mocks=written.mocks,
            repeat=repeat,
            is_repeat_own=written.repeat is not None,
            min_repeat_pass=needed,
            quarantine=None if apart is None else Quarantine(apart.reason, apart.until or ""),
        )

    def _with_shared(self, checks: list[Check]) -> list[Check]:
        """Return the checks of a case with those that every case has."""
        checks = with_every(self._for_every, checks) if self._for_every else checks
        return checks if self._policy is None else with_policy(self._policy, checks)

    def _every(self) -> Case:
        """Return the case of trajectories that belong to no other."""
        source = self._document.source((EVERY_KEY,))
        return Case(id=EVERY_KEY, source=source, checks=tuple(self._with_shared([])))

    def _when(self, written: WrittenWhen, place: Path) -> When:
        from ._when import compile_when  # most eval sets name the trace of each case

        at: Path = (*place, "when")

        def has_calls(value: Any) -> Callable[[Trajectory], bool | str]:
            wanted = {"criteria": value, "match": "ANY_ORDER"} if isinstance(value, list) and value else value
            check = self._check("calls", wanted, (*at, "calls"))
            return partial(_has_calls, check)

        with self._document.locating_errors(at, _as_written):
            return compile_when(written, self._limits, has_calls)

    def _too_few_repeats(self, written: WrittenCase, place: Path, message: str) -> DocumentError:
        key = "repeat" if written.min_repeat_pass is None and written.repeat is not None else "min_repeat_pass"
        return self._problem(message, (*place, key) if getattr(written, key) is not None else ("defaults", key))

    def _check(self, key: str, value: Any, place: Path) -> Check:
        """Compile one expectation. Many cases expect the same, such as `never: [delete_user]`: they share it."""
        written = (key, repr(value))  # of JSON values, `repr` tells 1 from 1.0 and from true
        made = self._checks_made.get(written)
        if made is None:
            with self._document.locating_errors(place, _as_written):
                expected = resolve_expectation(key, value, self._defaults, self._added)
            reword = partial(expected.reworded, key)
            with self._document.locating_errors(place, expected.place, reword):
                evaluator = self._evaluator(expected.type_id, key, expected.config)
                ours = EVALUATORS.get(evaluator.type_id)
                given = None if isinstance(evaluator, UnavailableEvaluator) else expected.criteria
                criteria = self._criteria(evaluator, given, is_plain=ours is not None and "$" not in written[1])
            made = _Compiled(evaluator, criteria, expected)
            if ours is not None and len(written[1]) <= _LONGEST_SHARED:
                self._checks_made[written] = made
        if made.expected.criteria is None and key in self._added and _DEFAULTS & self._added[key].config.keys():
            place = ("evaluators", key, *_DEFAULT)

        # The position is not shared: each case points at its own line. It is a function, because positions are needed
        # for findings only, and most checks pass.
        def source(path: str | None) -> Source:
            return self._document.source((*place, *made.expected.place(_steps(path))))

        return Check(key, made.evaluator, made.criteria, source, made.expected.weight)

    def _criteria(self, evaluator: Evaluator[Any, Any, Any], value: Any, is_plain: bool) -> Any:
        """Return the criteria of an evaluator; those of built-in ones are read faster if they have no matchers."""
        return evaluator.criteria(value, has_matchers=False) if is_plain else evaluator.criteria(value)

    def _evaluator(self, type_id: str, name: str, config: dict[str, Any]) -> Evaluator[Any, Any, Any]:
        """Create an evaluator. Settings that name custom code are looked up, if `find_code` may import it.

        Cases of an eval set mostly have the same few evaluators. Ours keep no state between calls, so cases share them.
        """
        ours = EVALUATORS.get(type_id)
        kind = ours or self._code_type(type_id)
        if kind is None:
            return UnavailableEvaluator(type_id, name, limits=self._limits)
        named = {key: config.get(key) for key in kind.code_settings}
        code = {key: value for key, value in named.items() if isinstance(value, str) and is_code(value)}
        if code and self._find_code is not None:
            config = config | {key: self._find_code.target(value) for key, value in code.items()}
        if code or ours is None:
            return kind(name, config, limits=self._limits)
        key = (kind, name, repr(config))
        if key not in self._shared:
            self._shared[key] = kind(name, config, limits=self._limits)
        return self._shared[key]

    def _code_type(self, type_id: str) -> type[Evaluator[Any, Any, Any]] | None:
        """Return the custom evaluator of a type. None if it is not available, or code that is not imported."""
        if self._find_code is None or not is_code(type_id):
            return None
        if type_id not in self._code:  # a class per type and eval set, so that cases share it
            self._code[type_id] = self._find_code.find(type_id)
        return self._code[type_id]

    def _turn_checks(self, turns: TurnsExpected, place: Path) -> list[Check]:
        """Compile what the turns of a conversation expect under one key: into one check, or one for each of them."""
        if turns.is_joint:
            return [self._compiled(turns.key, turns.together(), partial(turns.place, place))]

        apart = turns.apart(self._defaults)
        return [
            self._compiled(turn_label(turns.key, number), each, partial(turns.turn_place, place, number))
            for number, each in apart.items()
        ]

    def _compiled(self, key: str, expected: Expected, place_of: Callable[[Path], Path]) -> Check:
        """Compile an expectation; `place_of` says where its parts are written."""

        def source(path: str | None) -> Source:
            return self._document.source(place_of(_steps(path)))

        with self._document.locating_errors((), place_of):
            evaluator = self._evaluator(expected.type_id, key, expected.config)
            if isinstance(evaluator, UnavailableEvaluator):
                return Check(key, evaluator, evaluator.criteria(None), source, expected.weight)
            return Check(key, evaluator, evaluator.criteria(expected.criteria), source, expected.weight)

    def _check_ids(self, cases: list[Case]) -> None:
        seen: dict[str, Case] = {}
        for number, case in enumerate(cases):
            if case.id in seen:
                raise self._used_twice(case.id, seen[case.id].source.line, number)
            seen[case.id] = case

    def _used_twice(self, case_id: str, line: int, number: int) -> DocumentError:
        message = f"the id {shown(case_id)} is already used by the case on line {line}"
        return self._problem(message, ("cases", number, "id"))

    def _problem(self, message: str, path: Path) -> DocumentError:
        return self._document.problem(message, path)


def _has_calls(check: Check, trajectory: Trajectory) -> bool | str:
    result = check.evaluator.evaluate(trajectory, check.criteria)
    if result.verdict in ("passed", "failed"):
        return result.passed
    return f"the calls: {result.findings[0].message}" if result.findings else "the calls were not recorded"


def _resolved(type_id: str) -> str:
    """Return the type id that Rightcall uses, if there is one. Raises `UnknownNameError`."""
    if unavailable(type_id):
        return type_id
    try:
        return evaluator_type(type_id).type_id
    except UnknownNameError:
        if is_code(type_id):
            return type_id
        raise


def _as_written(steps: Path) -> Path:
    """Return a path as it is: the file is written like the criteria."""
    return steps


def _steps(path: str | None) -> Path:
    """Split the path of a finding, such as `expected[2]` or `tool_calls_count.search`, into steps."""
    # In `tool_calls_count.shop.search` the name of the tool has a dot; in `expected[2].args` the dot separates.
    head, dot, rest = (path or "").partition(".")
    if dot and "[" not in head:
        return (head, rest)
    return tuple(int(index) if index else name for name, index in _STEP.findall(path or ""))
