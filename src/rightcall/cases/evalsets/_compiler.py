"""Compile an eval set in the native format into cases, and check every key, expectation and id."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import CriteriaError, DocumentError, UnknownNameError, nearest, shown
from rightcall.judging import (
    EVALUATORS,
    Evaluator,
    ModelError,
    UnavailableEvaluator,
    evaluator_type,
    is_code,
    names_file,
    unavailable,
)
from rightcall.limits import Limits
from rightcall.values.decoding import Path
from rightcall.values.results import Quarantine, Source
from rightcall.values.trajectory import Trajectory

from ._cases import EVERY_KEY, POLICY_KEY, Case, Check, EvalSet, Format, OverallCheck, with_every, with_policy
from ._models import (
    EvalSetDocument,
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
    check_defaults,
    default_criteria,
    default_settings,
    evaluator_of,
    resolve_expectation,
)

if TYPE_CHECKING:
    from rightcall.judging import OverallEvaluator

    from ._when import When


_STEP = lazy_pattern(r"\.?([^.\[\]]+)|\[(\d+)\]")
_CLASSIFICATION = "classification"
_DEFAULT = ("config", "default_evaluation_criteria")
_DEFAULTS = {"default_evaluation_criteria", "defaultEvaluationCriteria"}


_NO_DEFAULTS = WrittenDefaults()
_LONGEST_SHARED = 1_000
"""The most characters of an expectation that cases share. A longer one hardly repeats, and would be kept twice."""


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


class Compiler:
    """Compiles one document."""

    def __init__(self, document: EvalSetDocument, limits: Limits, find_code: FindCode | None = None) -> None:
        self._document = document
        self._limits = limits
        self._find_code = find_code
        self._shared: dict[tuple[type[Evaluator[Any, Any, Any]], str, str], Evaluator[Any, Any, Any]] = {}
        self._checks_made: dict[tuple[str, str], _Compiled] = {}
        self._code: dict[str, type[Evaluator[Any, Any, Any]]] = {}
        self._defaults = _NO_DEFAULTS
        self._added: dict[str, AddedEvaluator] = {}
        self._policy: Check | None = None
        self._for_every: list[Check] = []

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
        try:
            written = WrittenEvalSet.model_validate(value)
        except ModelError as problem:
            place, reason = problem.first
            raise self._problem(reason, place) from None
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
        repeat, needed = self._repeats(written, place)
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
        """Compile one expectation. Many cases expect the same, such as `never: [delete_user]`: they share it."""
        written = (key, repr(value))  # of JSON values, `repr` tells 1 from 1.0 and from true
        made = self._checks_made.get(written)
        if made is None:
            made = self._compile(key, value, place, has_matchers="$" in written[1])
            if made.evaluator.type_id in EVALUATORS and len(written[1]) <= _LONGEST_SHARED:
                self._checks_made[written] = made
        if made.expected.criteria is None and key in self._added and _DEFAULTS & self._added[key].config.keys():
            place = ("evaluators", key, *_DEFAULT)

        # The position is not shared: each case points at its own line. It is a function, because positions are needed
        # for findings only, and most checks pass.
        def source(path: str | None) -> Source:
            return self._document.source((*place, *made.expected.place(_steps(path))))

        return Check(key, made.evaluator, made.criteria, source, made.expected.weight)

    def _compile(self, key: str, value: Any, place: Path, *, has_matchers: bool = True) -> _Compiled:
        with self._document.locating_errors(place, _as_written):
            expected = resolve_expectation(key, value, self._defaults, self._added)
        with self._document.locating_errors(place, expected.place):
            evaluator = self._evaluator(expected.type_id, key, expected.config)
            if isinstance(evaluator, UnavailableEvaluator):
                return _Compiled(evaluator, evaluator.criteria(None), expected)
            is_plain = not has_matchers and evaluator.type_id in EVALUATORS
            return _Compiled(evaluator, self._criteria(evaluator, expected.criteria, is_plain), expected)

    def _criteria(self, evaluator: Evaluator[Any, Any, Any], value: Any, is_plain: bool) -> Any:
        """Return the criteria of an evaluator; those of built-in ones are read faster if they have no matchers."""
        return evaluator.criteria(value, has_matchers=False) if is_plain else evaluator.criteria(value)

    def _evaluator(self, type_id: str, name: str, config: dict[str, Any]) -> Evaluator[Any, Any, Any]:
        """Create an evaluator. Settings that name custom code are looked up, if `find_code` may import it.

        Cases of an eval set mostly have the same few evaluators. Ours keep no state between calls, so cases share them.
        """
        kind = EVALUATORS[type_id] if type_id in EVALUATORS else self._code_type(type_id)
        if kind is None:
            return UnavailableEvaluator(type_id, name, limits=self._limits)
        named = {key: config.get(key) for key in kind.code_settings}
        code = {key: value for key, value in named.items() if isinstance(value, str) and is_code(value)}
        if code and self._find_code is not None:
            config = config | {key: self._find_code.target(value) for key, value in code.items()}
        if code or kind.type_id not in EVALUATORS:
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
        message = f"the id {shown(case_id)} is already used by the case in line {line}"
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


class TurnsExpected(msgspec.Struct, frozen=True):
    """What the turns of a case expect under one key."""

    key: str
    type_id: str
    turns: Mapping[int, Expected]
    """What each turn that has the key expects; without nulls if the evaluator judges all turns at once."""
    count: int
    """How many turns the case has."""

    @property
    def is_joint(self) -> bool:
        """Whether one check judges all turns: the evaluator can, and all turns have the same settings."""
        beside = [(each.config, each.weight, _beside(each)) for each in self.turns.values()]
        return judges_turns(self.type_id) and all([each == beside[0] for each in beside])

    def together(self) -> Expected:
        """Return the expectation of all turns, in a list with an item for each."""
        first = next(iter(self.turns.values()), Expected(self.type_id, {}, None))
        empty = EVALUATORS[self.type_id].empty_turn if self.type_id in EVALUATORS else None
        values = [_value(self.turns[number]) if number in self.turns else empty for number in range(self.count)]
        return Expected(self.type_id, first.config, {**_beside(first), "expected_turns": values}, weight=first.weight)

    def apart(self, defaults: WrittenDefaults) -> Mapping[int, Expected]:
        """Return the expectation of each turn; if the evaluator judges turns, also of turns without the key."""
        kind = EVALUATORS[self.type_id]
        found = {number: self._narrowed(number, each) for number, each in self.turns.items()}
        if kind.empty_turn is None or kind.shorthand is None or not judges_turns(self.type_id):
            return found
        first = next(iter(self.turns.values()))
        nothing = {kind.shorthand.criteria_key: kind.empty_turn, **default_settings(defaults, kind)}
        silent = msgspec.structs.replace(first, criteria=nothing, inside=(), places={})
        missing = {number: self._narrowed(number, silent) for number in range(self.count) if number not in self.turns}
        return dict(sorted({**found, **missing}.items()))

    def _narrowed(self, number: int, expected: Expected) -> Expected:
        """Return an expectation of one turn; if the conversation has only one turn, of the whole."""
        if self.count == 1:
            return expected
        is_answer = not EVALUATORS[self.type_id].reads_calls
        turn: int | str = "last" if is_answer and number == self.count - 1 else number
        criteria = default_criteria(expected.config) if expected.criteria is None else expected.criteria
        # A value that is not an object is a mistake, which the evaluator reports.
        narrowed = {**criteria, "turn": turn} if isinstance(criteria, dict) else criteria
        return msgspec.structs.replace(expected, criteria=narrowed)

    def place(self, place: Path, steps: Path) -> Path:
        """Return where a part of `expected_turns` is written: under `expect` of a turn."""
        if steps[:1] == ("expected_turns",) and len(steps) > 1 and isinstance(steps[1], int):
            return self.turn_place(place, steps[1], (_key(self.type_id), *steps[2:]))
        # A setting is the same in all turns.
        first = next((number for number, each in self.turns.items() if steps and steps[0] in each.places), None)
        return (*place, "turns") if first is None else self.turn_place(place, first, steps)

    def turn_place(self, place: Path, number: int, steps: Path) -> Path:
        """Return where a part of what a turn expects is written."""
        inside = self.turns[number].place(steps) if number in self.turns else ()
        return (*place, "turns", number, "expect", self.key, *inside)


def turn_expectations(
    written: WrittenCase,
    place: Path,
    document: EvalSetDocument,
    defaults: WrittenDefaults,
    added: Mapping[str, AddedEvaluator],
) -> list[TurnsExpected]:
    """Return what the turns of a case expect, by key.

    A turn without calls, while others have some, expects no calls. A turn without an answer expects any answer.

    Raises:
        DocumentError: a key names no evaluator or one that does not judge turns, a value is wrong, or the case has the
            key as well.
    """
    turns = written.turns or ()
    keys = dict.fromkeys([key for turn in turns for key in turn.expect])
    found = []
    for key in keys:
        numbers = [number for number, turn in enumerate(turns) if key in turn.expect]
        type_id = _type_id(key, written, numbers[0], place, document, defaults, added)
        expected = {}
        for number in numbers:
            value, at = turns[number].expect[key], (*place, "turns", number, "expect", key)
            if value is not None or not judges_turns(type_id):
                with document.locating_errors(at, lambda steps: steps):
                    expected[number] = resolve_expectation(key, value, defaults, added, of_turn=True)
                    _check_turn(expected[number])
        found.append(TurnsExpected(key, type_id, expected, len(turns)))
    return found


def _type_id(
    key: str,
    written: WrittenCase,
    first: int,
    place: Path,
    document: EvalSetDocument,
    defaults: WrittenDefaults,
    added: Mapping[str, AddedEvaluator],
) -> str:
    at: Path = (*place, "turns", first, "expect", key)
    with document.locating_errors(at):
        _, type_id, _ = evaluator_of(key, defaults, added)
    if judges_turns(type_id):
        if key in written.expect:
            raise document.problem(f"{shown(key)} is expected of the case, too; say it in one place", at)
    elif type_id not in EVALUATORS or not EVALUATORS[type_id].reads_calls or EVALUATORS[type_id].waits:
        raise document.problem(f"{shown(key)} belongs to the case: it is about a whole run", at)
    return type_id


def _check_turn(expected: Expected) -> None:
    if isinstance(expected.criteria, dict) and "turn" in expected.criteria:
        message = "'turn' is for expectations of a case; a turn expects something of itself"
        raise CriteriaError(message, expected.place(("turn",)))


def judges_turns(type_id: str) -> bool:
    """Return whether an evaluator judges all turns at once. One that is not available is assumed to."""
    if type_id in EVALUATORS:
        return "expected_turns" in EVALUATORS[type_id].criteria_type.model_fields
    return bool(unavailable(type_id)) and not names_file(type_id)


def _key(type_id: str) -> str:
    shorthand = EVALUATORS[type_id].shorthand if type_id in EVALUATORS else None
    return "" if shorthand is None else shorthand.criteria_key


def _beside(expected: Expected) -> dict[str, Any]:
    """Return the criteria without what is expected: the settings."""
    if not isinstance(expected.criteria, dict):
        return {}
    return {name: value for name, value in expected.criteria.items() if name != _key(expected.type_id)}


def _value(expected: Expected) -> Any:
    key = _key(expected.type_id)
    is_held = isinstance(expected.criteria, dict) and key in expected.criteria
    return expected.criteria[key] if is_held else expected.criteria


def turn_label(key: str, number: int) -> str:
    """Return the name of a check of one turn."""
    return f"{key} (turn {number + 1})"
