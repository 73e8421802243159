"""Eval sets in the native format: YAML or JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any

from pydantic import ValidationError

from rightcall.decoding import Document, Path, decode_document
from rightcall.errors import DocumentError, InputError, RightcallError, shown
from rightcall.evaluators import EVALUATORS, evaluator_type, mistakes
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.results import Source

from ._cases import Case, Check, EvalSet
from ._expecting import Expected, check_defaults, read_calls, spell_out
from ._written import WrittenCase, WrittenDefaults, WrittenEvalSet

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]")

Own = dict[str, tuple[str, dict[str, Any]]]


def load_eval_set(path: str | FilePath, limits: Limits = DEFAULT_LIMITS) -> EvalSet:
    """The eval set in a file, checked whole: every key, every expectation, every id.

    Raises:
        DocumentError: naming file, line and column of the first mistake, and what would be right.
        InputError: the file cannot be read.
    """
    return _Loading(str(path), _content(path), limits).eval_set()


def load_expectation(text: str | bytes, name: str, limits: Limits = DEFAULT_LIMITS) -> Callable[[str], Case]:
    """What makes a case of an expectation alone, given as the YAML or JSON of an `expect`.

    Raises:
        DocumentError: the expectation is wrong.
    """
    return _Loading(name, text, limits).expectation()


def _content(path: str | FilePath) -> bytes:
    try:
        return FilePath(path).read_bytes()
    except OSError as problem:
        raise InputError(f"{path}: {problem.strerror or problem}") from None


class _Loading:
    """One file while it is read."""

    def __init__(self, name: str, content: str | bytes, limits: Limits) -> None:
        self._name = name
        self._limits = limits
        try:
            self._document: Document = decode_document(content, limits)
        except DocumentError as problem:
            raise self._placed(str(problem), problem.line, problem.column) from None
        text = content if isinstance(content, str) else content.decode("utf-8", "replace")
        self._lines = re.split(r"\r\n|\r|\n", text)

    def eval_set(self) -> EvalSet:
        written = self._written()
        with self._placing(("defaults",)):
            check_defaults(written.defaults, self._limits)
        own = self._own_evaluators(written)
        cases = [self._case(case, number, written.defaults, own) for number, case in enumerate(written.cases)]
        self._check_ids(cases)
        return EvalSet(
            path=self._name,
            name=written.name or FilePath(self._name).stem,
            cases=tuple(cases),
            agent=written.agent,
            timeout=written.defaults.timeout,
        )

    def expectation(self) -> Callable[[str], Case]:
        expect = self._document.value
        if not isinstance(expect, dict) or not expect:
            raise self._problem(f"an expectation is an object such as {{calls: [search]}}, not {shown(expect)}", ())
        checks = tuple([self._check(key, item, (key,), WrittenDefaults(), {}) for key, item in expect.items()])
        return lambda case_id: Case(id=case_id, source=self._source(()), checks=checks)

    def _written(self) -> WrittenEvalSet:
        if not isinstance(self._document.value, dict):
            raise self._problem(f"an eval set is an object with the key 'cases', not {shown(self._document.value)}", ())
        try:
            written = WrittenEvalSet.model_validate(self._document.value)
        except ValidationError as problem:
            # A key that is not known is told before one that is missing: it may be that one, misspelt.
            found = sorted(mistakes(WrittenEvalSet, problem), key=lambda mistake: "unknown key" not in mistake[1])
            raise self._problem(found[0][1], found[0][0]) from None
        if not written.cases:
            raise self._problem("'cases' is empty; an eval set has at least one case", ("cases",))
        return written

    def _own_evaluators(self, written: WrittenEvalSet) -> Own:
        own: Own = {}
        for name, evaluator in written.evaluators.items():
            place = ("evaluators", name, "type")
            with self._placing(place):
                type_id = evaluator_type(evaluator.type).type_id
                EVALUATORS[type_id](name, evaluator.config, limits=self._limits)
            own[name] = (type_id, evaluator.config)
        return own

    def _case(self, written: WrittenCase, number: int, defaults: WrittenDefaults, own: Own) -> Case:
        place: Path = ("cases", number)
        checks = [
            self._check(key, item, (*place, "expect", key), defaults, own) for key, item in written.expect.items()
        ]
        if written.turns is not None and any(turn.expect for turn in written.turns):
            checks.append(self._turns_check(written, place, defaults))
        return Case(
            id=written.id,
            source=self._source((*place, "id")),
            checks=tuple(checks),
            input=written.input,
            turns=tuple(turn.input for turn in written.turns or ()),
            session=written.session,
            tags=written.tags,
            metadata=written.metadata,
            mocks=written.mocks,
        )

    def _check(self, key: str, value: Any, place: Path, defaults: WrittenDefaults, own: Own) -> Check:
        with self._placing(place):
            expected = spell_out(key, value, defaults, own)
            evaluator = EVALUATORS[expected.type_id](key, expected.config, limits=self._limits)
            criteria = evaluator.criteria(expected.criteria)
        return Check(key, evaluator, criteria, self._sources(place, expected), expected.weight)

    def _turns_check(self, written: WrittenCase, place: Path, defaults: WrittenDefaults) -> Check:
        """The calls that the turns of a conversation expect, as one check."""
        turns = []
        for number, turn in enumerate(written.turns or ()):
            at: Path = (*place, "turns", number, "expect")
            for key in turn.expect:
                if key != "calls":
                    raise self._problem(f"a turn expects 'calls'; {shown(key)} belongs to the case", (*at, key))
            with self._placing((*at, "calls")):
                turns.append(read_calls(turn.expect.get("calls", [])))
        config = {"match_type": defaults.match, "args_match": defaults.args, "threshold": defaults.threshold}
        with self._placing((*place, "turns")):
            evaluator = EVALUATORS["tool-trajectory"]("calls", config, limits=self._limits)
            criteria = evaluator.criteria({"expected_turns": turns})
        return Check("calls", evaluator, criteria, self._turn_sources((*place, "turns")))

    def _sources(self, place: Path, expected: Expected) -> Callable[[str | None], Source]:
        def source(path: str | None) -> Source:
            steps = _steps(path)
            if expected.criteria_key is not None and steps[:1] == (expected.criteria_key,):
                steps = steps[1:]
            return self._source((*place, *expected.inside, *steps))

        return source

    def _turn_sources(self, place: Path) -> Callable[[str | None], Source]:
        def source(path: str | None) -> Source:
            steps = _steps(path)
            return self._source((*place, steps[1], "expect", "calls", *steps[2:]) if len(steps) > 1 else place)

        return source

    def _check_ids(self, cases: list[Case]) -> None:
        seen: dict[str, Case] = {}
        for number, case in enumerate(cases):
            if case.id in seen:
                first = seen[case.id].source.line
                raise self._problem(
                    f"the id {shown(case.id)} is that of the case in line {first}", ("cases", number, "id")
                )
            seen[case.id] = case

    def _source(self, path: Path) -> Source:
        position = self._document.position(path)
        line = self._lines[position.line - 1] if position.line <= len(self._lines) else ""
        return Source(self._name, position.line, position.column, line[:500])

    def _placing(self, place: Path) -> _Placing:
        return _Placing(self, place)

    def _problem(self, message: str, path: Path) -> DocumentError:
        position = self._document.position(path)
        return self._placed(message, position.line, position.column)

    def _placed(self, message: str, line: int, column: int) -> DocumentError:
        return DocumentError(f"{self._name}:{line}:{column}: {message}", line, column)


class _Placing:
    """Gives mistakes that are found while it is open the place they stand at."""

    def __init__(self, loading: _Loading, place: Path) -> None:
        self._loading = loading
        self._place = place

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        if isinstance(problem, RightcallError) and not isinstance(problem, DocumentError):
            raise self._loading._problem(str(problem), self._place) from None


def _steps(path: str | None) -> Path:
    """The steps of a finding's path, such as `expected[2]` or `tool_calls_count.search`."""
    head, dot, rest = (path or "").partition(".")
    if dot and "[" not in head:
        return (head, rest)
    return tuple(int(index) if index else name for name, index in _STEP.findall(path or ""))
