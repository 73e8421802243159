"""Compile an eval set in the native format into cases, and check every key, expectation and id."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any, Protocol

from rightcall.errors import CriteriaError, DocumentError, UnknownNameError, nearest, shown
from rightcall.judging import (
    EVALUATORS,
    Evaluator,
    ModelError,
    OverallEvaluator,
    UnavailableEvaluator,
    evaluator_type,
    is_code,
    unavailable,
)
from rightcall.limits import Limits
from rightcall.values.decoding import Path, dump_json
from rightcall.values.results import Source

from ._cases import Case, Check, EvalSet, Format, OverallCheck
from ._models import WrittenCase, WrittenDefaults, WrittenEvalSet, WrittenOverall, check_mocks
from ._shorthands import (
    AddedEvaluator,
    Expected,
    check_defaults,
    resolve_expectation,
    turn_keys,
    turn_place,
    turn_values,
)
from ._source import EvalSetDocument

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")
_CLASSIFICATION = "classification"
_DEFAULT = ("config", "default_evaluation_criteria")
_DEFAULTS = {"default_evaluation_criteria", "defaultEvaluationCriteria"}


class FindCode(Protocol):
    """Finds custom code by the name that a file has for it. Both methods raise `RightcallError`."""

    def find(self, type_id: str) -> type[Evaluator[Any, Any, Any]]:
        """Return the evaluator of a type."""

    def target(self, type_id: str) -> Any:
        """Return the function or class itself."""


class Compiler:
    """Compiles one document."""

    def __init__(self, document: EvalSetDocument, limits: Limits, find_code: FindCode | None = None) -> None:
        self._document = document
        self._limits = limits
        self._find_code = find_code
        self._shared: dict[tuple[type[Evaluator[Any, Any, Any]], str, str], Evaluator[Any, Any, Any]] = {}
        self._code: dict[str, type[Evaluator[Any, Any, Any]]] = {}
        self._defaults = WrittenDefaults()
        self._added: dict[str, AddedEvaluator] = {}

    def eval_set(self, format: Format) -> EvalSet:
        """Return the eval set. Raises `DocumentError`."""
        written = self._written()
        with self._document.locating_errors(("defaults",)):
            check_defaults(written.defaults, self._limits)
        self._defaults = written.defaults
        self._added = self._added_evaluators(written)
        cases = [self._case(case, number) for number, case in enumerate(written.cases)]
        self._check_ids(cases)
        return EvalSet(
            path=self._document.file.name,
            name=written.name or FilePath(self._document.file.name).stem,
            description=written.description,
            format=format,
            cases=tuple(cases),
            overall=tuple([self._overall(name, each) for name, each in written.overall.items()]),
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
        try:
            written = WrittenEvalSet.model_validate(value)
        except ModelError as problem:
            place, reason = problem.first
            raise self._problem(reason, place) from None
        if not written.cases:
            raise self._problem("'cases' is empty; an eval set has at least one case", ("cases",))
        return written

    def _added_evaluators(self, written: WrittenEvalSet) -> dict[str, AddedEvaluator]:
        added: dict[str, AddedEvaluator] = {}
        for name, evaluator in written.evaluators.items():
            type_id = evaluator.type
            with self._document.locating_errors(("evaluators", name, "type")):
                type_id = _resolved(type_id)
                kind = self._kind(type_id)
            with self._document.locating_errors(("evaluators", name, "config")):
                if kind is not None:
                    self._create(kind, name, evaluator.config)
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
        check_mocks(written.mocks, (*place, "mocks"), self._document)
        checks = [self._check(key, item, (*place, "expect", key)) for key, item in written.expect.items()]
        checks += [self._turns_check(key, written, place) for key in turn_keys(written, place, self._document)]
        repeat, needed = self._repeats(written, place)
        return Case(
            id=written.id,
            source=self._document.source((*place, "id")),
            name=written.name,
            description=written.description,
            checks=tuple(checks),
            input=written.input,
            turns=tuple(turn.input for turn in written.turns or ()),
            expected_behavior=written.expected_behavior,
            session=written.session,
            tags=written.tags,
            metadata=written.metadata,
            mocks=written.mocks,
            repeat=repeat,
            min_repeat_pass=needed,
        )

    def _repeats(self, written: WrittenCase, place: Path) -> tuple[int | None, int | None]:
        """Return how often a case is run, and how often it has to pass. Raises `DocumentError`."""
        defaults = self._defaults
        repeat = written.repeat if written.repeat is not None else defaults.repeat
        needed = written.min_repeat_pass if written.min_repeat_pass is not None else defaults.min_repeat_pass
        if repeat is not None and needed is not None and needed > repeat:
            key = "repeat" if written.min_repeat_pass is None and written.repeat is not None else "min_repeat_pass"
            where = (*place, key) if getattr(written, key) is not None else ("defaults", key)
            raise self._problem(f"min_repeat_pass {needed} is more than repeat {repeat}", where)
        return repeat, needed

    def _check(self, key: str, value: Any, place: Path) -> Check:
        with self._document.locating_errors(place):
            expected = resolve_expectation(key, value, self._defaults, self._added)
            evaluator = self._evaluator(key, expected)
        source = self._sources(key, place, expected)
        if isinstance(evaluator, UnavailableEvaluator):
            return Check(key, evaluator, evaluator.criteria(None), source, expected.weight)
        try:
            criteria = evaluator.criteria(expected.criteria)
        except CriteriaError as problem:
            where = (*place, *expected.inside, *_inside(problem.path, expected))
            raise self._problem(str(problem), where) from None
        return Check(key, evaluator, criteria, source, expected.weight)

    def _evaluator(self, key: str, expected: Expected) -> Evaluator[Any, Any, Any]:
        kind = self._kind(expected.type_id)
        if kind is None:
            return UnavailableEvaluator(expected.type_id, key, limits=self._limits)
        return self._create(kind, key, expected.config)

    def _create(
        self, kind: type[Evaluator[Any, Any, Any]], name: str, config: dict[str, Any]
    ) -> Evaluator[Any, Any, Any]:
        """Create an evaluator. Settings that name custom code are looked up, if `find_code` may import it.

        Cases of an eval set mostly have the same few evaluators. Ours keep no state between calls, so cases share them.
        """
        named = {key: config.get(key) for key in kind.code_settings}
        code = {key: value for key, value in named.items() if isinstance(value, str) and is_code(value)}
        if code and self._find_code is not None:
            config = config | {key: self._find_code.target(value) for key, value in code.items()}
        if code or kind.type_id not in EVALUATORS:
            return kind(name, config, limits=self._limits)
        key = (kind, name, dump_json(config) if config else "")
        if key not in self._shared:
            self._shared[key] = kind(name, config, limits=self._limits)
        return self._shared[key]

    def _kind(self, type_id: str) -> type[Evaluator[Any, Any, Any]] | None:
        """Return the evaluator of a type. None if it is not available, or code that is not imported."""
        if type_id in EVALUATORS:
            return EVALUATORS[type_id]
        if self._find_code is None or not is_code(type_id):
            return None
        if type_id not in self._code:  # a class per type and eval set, so that cases share it
            self._code[type_id] = self._find_code.find(type_id)
        return self._code[type_id]

    def _turns_check(self, key: str, written: WrittenCase, place: Path) -> Check:
        """Compile what all turns of a conversation expect under one key into one check."""
        type_id, config, values = turn_values(key, written, place, self._document, self._defaults, self._added)
        weight = self._added[key].weight if key in self._added else 1.0
        with self._document.locating_errors((*place, "turns")):
            evaluator = self._evaluator(key, Expected(type_id, config, None))
        if isinstance(evaluator, UnavailableEvaluator):
            criteria = evaluator.criteria(None)
        else:
            criteria = self._turn_criteria(evaluator, values, key, place)
        return Check(key, evaluator, criteria, self._turn_sources(key, place), weight)

    def _turn_criteria(self, evaluator: Evaluator[Any, Any, Any], values: list[Any], key: str, place: Path) -> Any:
        try:
            return evaluator.criteria({"expected_turns": values})
        except CriteriaError as problem:
            raise self._problem(str(problem), turn_place(place, key, problem.path)) from None

    def _sources(self, key: str, place: Path, expected: Expected) -> Callable[[str | None], Source]:
        if expected.criteria is None and key in self._added and _DEFAULTS & self._added[key].config.keys():
            place = ("evaluators", key, *_DEFAULT)

        # A function, because positions are needed for findings only, and most checks pass.
        def source(path: str | None) -> Source:
            return self._document.source((*place, *expected.inside, *_inside(_steps(path), expected)))

        return source

    def _turn_sources(self, key: str, place: Path) -> Callable[[str | None], Source]:
        return lambda path: self._document.source(turn_place(place, key, _steps(path)))

    def _check_ids(self, cases: list[Case]) -> None:
        seen: dict[str, Case] = {}
        for number, case in enumerate(cases):
            if case.id in seen:
                first = seen[case.id].source.line
                raise self._problem(
                    f"the id {shown(case.id)} is already used by the case in line {first}", ("cases", number, "id")
                )
            seen[case.id] = case

    def _problem(self, message: str, path: Path) -> DocumentError:
        return self._document.problem(message, path)


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


def _inside(steps: Path, expected: Expected) -> Path:
    """Return steps into criteria as steps into the file, where a shorthand leaves out the first."""
    return steps[1:] if expected.criteria_key is not None and steps[:1] == (expected.criteria_key,) else steps


def _steps(path: str | None) -> Path:
    """Split the path of a finding, such as `expected[2]` or `tool_calls_count.search`, into steps."""
    # In `tool_calls_count.shop.search` the name of the tool has a dot; in `expected[2].args` the dot separates.
    head, dot, rest = (path or "").partition(".")
    if dot and "[" not in head:
        return (head, rest)
    return tuple(int(index) if index else name for name, index in _STEP.findall(path or ""))
