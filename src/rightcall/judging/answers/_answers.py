"""The agent's answer, of the run or of its turns: selecting a part of it, and comparing it with the expected one."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Set
from fractions import Fraction
from itertools import zip_longest
from typing import Annotated, Any, ClassVar, Protocol, TypeAlias, TypeVar

import msgspec

from rightcall.errors import CriteriaError, InputError, shown
from rightcall.judging.core import After, Config, Criteria, Evaluator, Length, Measurement, Selection, Shorthand
from rightcall.limits import Limits
from rightcall.matching.matchers import Expectation, compile_value, is_literal, meant_matcher, value_differences
from rightcall.values.decoding import decode_text
from rightcall.values.results import (
    AnswersJustification,
    ComparedAnswer,
    Difference,
    FinalOutputJustification,
    Finding,
    Justification,
    value_text,
)

_MOST_FINDINGS = 40
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_INDEX = re.compile("0|[1-9][0-9]*")
_BAD_ESCAPE = re.compile("~(?![01])")
_WHOLE = "*"

Target: TypeAlias = str | tuple[str, ...]


def _turn(value: Any) -> Any:
    is_number = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if value is not None and value not in ("any", "last") and not is_number:
        raise ValueError(f"a turn is 'any', 'last' or a number from 0, not {shown(value)}")
    return value


class AnswerCriteria(Criteria):
    """The expected answer of the run or, in `expected_turns`, of each turn; null for a turn without one."""

    expectation_key: ClassVar[str]
    """The key of the criteria with the expected answer of the run."""
    expected_turns: tuple[Any, ...] | None = None
    turn: Annotated[Any, After(_turn)] = None
    """The turn whose answer is judged: a number from 0, `last` or `any`. The default is the answer of the run."""

    def check(self) -> None:
        if (self.expectation_key in self.model_fields_set) == (self.expected_turns is not None):
            raise ValueError(
                f"give either {self.expectation_key!r} for the answer of the run or 'expected_turns' for its turns"
            )
        if self.expected_turns is not None and all(each is None for each in self.expected_turns):
            raise ValueError("expected_turns expects nothing of any turn")
        if self.expected_turns is not None and self.turn is not None:
            raise ValueError(
                "'turn' chooses the answer of one turn, and 'expected_turns' is about all of them; give one"
            )


class ExpectedAnswer(Protocol):
    """One compiled expected answer. Its methods never raise for a JSON value."""

    @property
    def expected(self) -> Any:
        """The expectation, as it was written."""

    def score(self, actual: Any) -> float:
        """Return how good an answer is, from 0.0 to 1.0."""

    def differences(self, actual: Any) -> tuple[Difference, ...]:
        """Return where an answer differs, if that can be expressed by paths."""

    def reasons(self, actual: Any) -> list[str]:
        """Return why an answer does not have the full score, as ends of a sentence that begins 'the final output'."""


class Expected(msgspec.Struct, frozen=True):
    """An expected answer with its turn and its path in the criteria."""

    answer: ExpectedAnswer
    path: str
    turn: int | None = None
    last: bool = True
    """Whether it is about the last turn, whose answer is the answer of the run."""
    anywhere: bool = False
    """Whether the answer of any turn may match."""

    def actual(self, selection: Selection) -> Any:
        """Return the actual answer; `None` if it was not recorded."""
        if self.turn is None or not selection.turn_outputs:
            run = selection.trajectory
            is_earlier = self.turn is not None and run is not None and run.has_turns_after(self.turn)
            return selection.output if self.last and not is_earlier else None
        return selection.turn_outputs[self.turn] if self.turn < len(selection.turn_outputs) else None


class AnswerPlan(msgspec.Struct, frozen=True):
    """The expected answers, compiled."""

    answers: tuple[Expected, ...]
    names: Set[str] = frozenset()
    size: int = 1
    spends: bool = False


ConfigT = TypeVar("ConfigT", bound=Config)
CriteriaT = TypeVar("CriteriaT", bound=AnswerCriteria)


class AnswerEvaluator(Evaluator[ConfigT, CriteriaT, AnswerPlan]):
    """Judge the answer of a run or, by the mean of their scores, of each turn that has an expected one.

    An answer that was not recorded, or is null, is not measured: nothing recorded is not a wrong answer.
    """

    reads_calls = False
    justification_type = AnswersJustification

    @abstractmethod
    def expect(self, value: Any, where: str) -> ExpectedAnswer:
        """Compile one expected answer. Raises `CriteriaError`."""

    def compile(self, criteria: CriteriaT) -> AnswerPlan:
        turns = criteria.expected_turns
        if turns is None:
            key, turn = criteria.expectation_key, criteria.turn
            number = turn if isinstance(turn, int) else None
            answer = self.expect(getattr(criteria, key), key)
            return _plan([Expected(answer, key, number, last=number is None, anywhere=turn == "any")])
        expected = [(turn, f"expected_turns[{turn}]", value) for turn, value in enumerate(turns) if value is not None]
        last = len(turns) - 1
        return _plan([Expected(self.expect(value, path), path, turn, turn == last) for turn, path, value in expected])

    def measure(self, selection: Selection, plan: AnswerPlan) -> Measurement:
        threshold = self.config.threshold
        scored = [
            _best(each, selection, threshold) if each.anywhere else _scored(each, selection) for each in plan.answers
        ]
        account = AnswersAccount(scored, self.config.threshold)
        low = _mean([0.0 if each.score is None else each.score for each in scored])
        high = _mean([1.0 if each.score is None else each.score for each in scored])
        return Measurement(low, high, account)


def _plan(answers: list[Expected]) -> AnswerPlan:
    return AnswerPlan(tuple(answers), spends=not all([is_literal(each.answer.expected) for each in answers]))


class Scored(msgspec.Struct, frozen=True):
    """An expected answer, the actual one, and the score; `None` if there is none."""

    expected: Expected
    actual: Any
    score: float | None
    turns: int = 0
    """The number of turns that were tried, if the answer of any turn may match."""

    @property
    def differences(self) -> tuple[Difference, ...]:
        """Where the answer differs."""
        return () if self.score is None else self.expected.answer.differences(self.actual)

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong with the answer."""
        path, turn = self.expected.path, self.expected.turn
        subject = "the final output" if turn is None else f"turn {turn + 1}: the output"
        if self.score is None:
            unknown = f"{subject} was" if not self.expected.anywhere else "the outputs of some turns were"
            yield Finding("RC301", f"{unknown} not recorded", path=path)
            return
        if self.expected.anywhere and self.turns > 1:
            subject = f"the outputs of {self.turns} turns are not as expected; {subject}"
        takes_matchers = isinstance(self.expected.answer, ExpectedValue)
        advice = meant_matcher(self.differences) if takes_matchers else None
        for reason in self.expected.answer.reasons(self.actual)[:3]:
            yield Finding("RC108", f"{subject} {reason}", path=path, help=advice)


class AnswersAccount(msgspec.Struct, frozen=True):
    """The expected and the actual answers."""

    scored: list[Scored]
    threshold: float

    def justify(self) -> Justification:
        """Return the answers, shortened, with their scores and differences."""
        return AnswersJustification(
            answers=[
                ComparedAnswer(
                    value_text(each.expected.answer.expected),
                    value_text(each.actual),
                    each.score,
                    each.expected.turn,
                    each.differences,
                )
                for each in self.scored[:_MOST_FINDINGS]
            ]
        )

    def find(self) -> tuple[Finding, ...]:
        """Return what is wrong with each answer that does not reach the threshold, or was not recorded."""
        low = [each for each in self.scored if each.score is None or each.score < self.threshold]
        return tuple([finding for each in low for finding in each.findings()][:_MOST_FINDINGS])


def _scored(expected: Expected, selection: Selection) -> Scored:
    actual = expected.actual(selection)
    return Scored(expected, actual, None if actual is None else expected.answer.score(actual))


def _best(expected: Expected, selection: Selection, threshold: float) -> Scored:
    """Return the turn's answer with the highest score. If it is too low and others are unknown, so is the score."""
    outputs = selection.turn_outputs or (selection.output,)
    tried = [_scored(msgspec.structs.replace(expected, turn=turn), selection) for turn in range(len(outputs))]
    tried = tried if selection.turn_outputs else [_scored(expected, selection)]
    known = [each for each in tried if each.score is not None]
    best = max(known, key=lambda each: each.score or 0.0, default=tried[-1])
    run = selection.trajectory
    has_others = not selection.turn_outputs and run is not None and run.has_turns_after(0)
    is_open = len(known) < len(tried) or has_others
    score = None if is_open and (best.score is None or best.score < threshold) else best.score
    return msgspec.structs.replace(best, score=score, turns=len(tried))


def _mean(scores: list[float]) -> float:
    return scores[0] if len(scores) == 1 else float(sum(map(Fraction, scores)) / len(scores))


def _leads_somewhere(value: Target) -> Target:
    for key in (value,) if isinstance(value, str) else value:
        if key != _WHOLE and not _steps(key):
            raise ValueError(
                f"{shown(key)} is not a key; write '*' for the whole answer, a path such as a.b[0], "
                "or a JSON Pointer such as /a/b/0"
            )
    return value


class PartConfig(Config):
    """Which part of an answer is judged, and whether line by line.

    `target_output_key`: `*` for the whole answer, `a.b[0]` or the JSON Pointer `/a/b/0` for a part of it, a list of
    keys for an object of several parts.

    `line_by_line_evaluator`: whether to judge each line, and use the mean of the scores.
    """

    target_output_key: Annotated[Target, After(_leads_somewhere)] = _WHOLE
    line_by_line_evaluator: bool = False
    line_delimiter: Annotated[str, Length(1)] = "\n"


def part_of(value: Any, target: Target, limits: Limits) -> Any:
    """Return the part of an actual or expected answer that a target names. A string is parsed as JSON for that.

    Raises:
        InputError: there is no such part.
    """
    if target == _WHOLE:
        return value
    value = readable(value, limits)
    if isinstance(target, str):
        return _at(value, target)
    return {key: _at(value, key) for key in target}


def expected_part(value: Any, target: Target, where: str, limits: Limits) -> Any:
    """Return the part of an expected answer that a target names. Raises `CriteriaError`."""
    try:
        return part_of(value, target, limits)
    except InputError as problem:
        raise CriteriaError(f"{where}: {problem}") from None


def pointer_of(target: str) -> str:
    """Return a target as a JSON Pointer, which is empty for the whole answer."""
    if target == _WHOLE or target.startswith("/"):
        return target.removeprefix(_WHOLE)
    steps = [index if key is None else key for key, index in _steps(target)]
    return "".join([f"/{step.replace('~', '~0').replace('/', '~1')}" for step in steps])


def holding(target: str, value: Any) -> Any:
    """Return an answer that has only one value, at the target."""
    for key, index in reversed(_steps(target) if target != _WHOLE else []):
        value = {key: value} if key is not None else [*[None] * int(index[:4]), value]
    return value


def readable(value: Any, limits: Limits) -> Any:
    """Parse a string as JSON, if it is JSON; return other values as they are."""
    if not isinstance(value, str):
        return value
    try:
        return decode_text(value, limits)
    except InputError:
        return value


def plain_text(value: Any) -> str:
    """Return the text of a value, for comparing it with text.

    As in UiPath, a string is itself; other values are formatted by Python, with all numbers as floats: 8 is `8.0`, and
    an object `{'result': 8.0}`.
    """
    return value if isinstance(value, str) else str(_as_floats(value))


def lines_of(value: Any, delimiter: str) -> list[str]:
    """Return the lines of a value's text that are not blank."""
    return [line for line in plain_text(value).split(delimiter) if line.strip()]


def paired_lines(expected: list[str], actual: list[str]) -> list[tuple[str, str]]:
    """Pair lines by position. Missing lines of the shorter text are empty."""
    return list(zip_longest(expected, actual, fillvalue=""))


def _at(value: Any, target: str) -> Any:
    for key, index in _steps(target):
        if key is not None and isinstance(value, dict) and key in value:
            value = value[key]
        elif index and isinstance(value, list) and int(index[:9]) < len(value):
            value = value[int(index[:9])]
        else:
            raise InputError(f"no {target!r} in {shown(value)}")
    return value


def _steps(target: str) -> list[tuple[str | None, str]]:
    """Split a path or JSON Pointer (RFC 6901) into steps, each a key, an index, or either; empty if it is invalid."""
    if not target.startswith("/"):
        return [(key or None, index) for key, index in _STEP.findall(target)]
    if _BAD_ESCAPE.search(target):
        return []
    tokens = [token.replace("~1", "/").replace("~0", "~") for token in target[1:].split("/")]
    return [(token, token if _INDEX.fullmatch(token) else "") for token in tokens]


def _as_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_floats(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return value
    return value


class FinalOutputCriteria(AnswerCriteria):
    """The expected answer, with any matchers in it."""

    expectation_key: ClassVar[str] = "output"
    output: Any = None


class FinalOutputConfig(Config):
    """How the final answer is judged."""

    name: str = "FinalOutput"


class FinalOutput(AnswerEvaluator[FinalOutputConfig, FinalOutputCriteria]):
    """Whether the agent's final answer is the expected one: 1.0 if it is, else 0.0; of several turns, the mean.

    Answers are compared as JSON values, with any matchers in the expected one. A trace that recorded no answer, or
    null, is not measured: nothing recorded is not a wrong answer.
    """

    type_id = "final-output"
    shorthand = Shorthand("output", "output")
    justification_type = FinalOutputJustification | AnswersJustification
    config_type = FinalOutputConfig
    criteria_type = FinalOutputCriteria

    def expect(self, value: Any, where: str) -> ExpectedValue:
        return ExpectedValue(value, compile_value(value, self.limits, where=where))

    def measure(self, selection: Selection, plan: AnswerPlan) -> Measurement:
        measured = super().measure(selection, plan)
        account = measured.account
        if plan.answers[0].turn is not None or plan.answers[0].anywhere or not isinstance(account, AnswersAccount):
            return measured
        return msgspec.structs.replace(measured, account=FinalOutputAccount(account.scored, account.threshold))


class ExpectedValue(msgspec.Struct, frozen=True):
    """A value that an answer should equal or match."""

    expected: Any
    expectation: Expectation

    def score(self, actual: Any) -> float:
        """Return 1.0 or 0.0."""
        return float(self.expectation.matches(actual))

    def differences(self, actual: Any) -> tuple[Difference, ...]:
        """Return where the answer differs."""
        return value_differences(self.expected, actual)

    def reasons(self, actual: Any) -> list[str]:
        """Return a clause for each difference."""
        return [each.clause("has", "has no", "is") for each in self.differences(actual)]


class FinalOutputAccount(AnswersAccount, frozen=True):
    """The expected and the actual answer of a run."""

    def justify(self) -> Justification:
        """Return the two answers, shortened, and where they differ."""
        [answer] = self.scored
        return FinalOutputJustification(
            expected=value_text(answer.expected.answer.expected),
            actual=value_text(answer.actual),
            differences=answer.differences,
        )
