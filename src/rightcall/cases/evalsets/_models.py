"""Pydantic models of the keys that people write in an eval set."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
    model_validator,
)

from rightcall.errors import pattern_problem, shown
from rightcall.judging import UserModel, mistakes
from rightcall.values.decoding import Path

from ._source import EvalSetDocument


def _case_id(value: str) -> str:
    if not 0 < len(value) <= 300:
        raise ValueError(f"an id has 1 to 300 characters, this one {len(value):,}")
    return value


# Strict, because pydantic would otherwise read the text `"2"`, and `true`, as numbers.
Number = Annotated[StrictFloat | StrictInt, Field(ge=0, allow_inf_nan=False)]
CaseId = Annotated[StrictStr, AfterValidator(_case_id)]


class WrittenDefaults(UserModel):
    """Defaults for expectations that do not say otherwise."""

    # `Any`, because `check_defaults` has an evaluator validate these: it knows all spellings, and the right message.
    match: Any = "EXACT"
    args: Any = "subset"
    threshold: Any = 1.0
    timeout: Number | None = None


class WrittenEvaluator(UserModel):
    """A custom evaluator: a type id, its configuration and its weight."""

    type: StrictStr
    config: dict[StrictStr, Any] = {}
    weight: Number = 1.0


class WrittenTurn(UserModel):
    """One turn of a conversation."""

    input: Any = None
    expect: dict[StrictStr, Any] = {}


class WrittenCase(UserModel):
    """One case."""

    id: CaseId
    name: StrictStr = ""
    description: StrictStr = ""
    input: Any = None
    turns: tuple[WrittenTurn, ...] | None = None
    expected_behavior: StrictStr = ""
    session: Any = None
    tags: tuple[StrictStr, ...] = ()
    metadata: dict[StrictStr, Any] = {}
    mocks: dict[StrictStr, Any] = {}
    expect: dict[StrictStr, Any] = {}

    @model_validator(mode="after")
    def _has_input_or_turns(self) -> WrittenCase:
        if self.turns is not None and self.input is not None:
            raise ValueError("a case has 'input' or 'turns', not both")
        if self.turns == ():
            raise ValueError("'turns' is empty; a conversation has at least one turn")
        return self


class WrittenOverall(UserModel):
    """An evaluator of all cases together: `classification` or code, and its configuration."""

    type: StrictStr
    config: dict[StrictStr, Any] = {}


class WrittenEvalSet(UserModel):
    """An eval set."""

    json_schema: Any = Field(default=None, alias="$schema")
    name: StrictStr = ""
    description: StrictStr = ""
    agent: StrictStr | None = None
    defaults: WrittenDefaults = WrittenDefaults()
    evaluators: dict[StrictStr, WrittenEvaluator] = {}
    overall: dict[StrictStr, WrittenOverall] = {}
    metadata: dict[StrictStr, Any] = {}
    cases: tuple[WrittenCase, ...]


ANSWERS = ("returns", "sequence", "raises", "then")
"""The keys for the answer of a mocked call. A rule has exactly one of them."""


class WrittenError(UserModel):
    """An exception that a mocked tool raises: the name of its type, and its message."""

    type: StrictStr = Field(min_length=1)
    message: StrictStr = ""


def _named(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


Raised = Annotated[WrittenError | None, BeforeValidator(_named)]


class WrittenAnswer(UserModel):
    """One of the answers under `then`: a value or an exception."""

    returns: Any = None
    raises: Raised = None

    @model_validator(mode="after")
    def _has_one_answer(self) -> WrittenAnswer:
        if len(self.model_fields_set) != 1:
            raise ValueError("an answer has one of 'returns' and 'raises'")
        return self


class WrittenMock(UserModel):
    """One rule: which calls it applies to, and their answer. The first rule that matches a call answers it.

    `when` has arguments by name, `positional` the first ones in order; without either, the rule applies to all calls.
    `sequence`, or `returns` with `each`, has one value per call; `then` has answers, of which the last is repeated.
    """

    when: dict[StrictStr, Any] | None = None
    positional: tuple[Any, ...] | None = None
    returns: Any = None
    each: StrictBool = False
    sequence: Annotated[tuple[Any, ...], Field(min_length=1)] | None = None
    raises: Raised = None
    then: Annotated[tuple[WrittenAnswer, ...], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _has_one_answer(self) -> WrittenMock:
        given = [key for key in ANSWERS if key in self.model_fields_set]
        if len(given) != 1:
            found = " and ".join(given) if given else "none of them"
            raise ValueError(f"a mock has one of {', '.join(ANSWERS)}; this one has {found}")
        if self.each and not isinstance(self.returns, list):
            raise ValueError("'each' needs a list under 'returns'")
        return self


def check_mocks(mocks: dict[str, Any], place: Path, document: EvalSetDocument) -> None:
    """Check that mocks are rules or lists of rules. `rightcall.running.mocking` gives them their meaning.

    Raises:
        DocumentError: the first mistake, with its position and what would be right.
    """
    for tool, written in mocks.items():
        at: Path = (*place, tool)
        if problem := pattern_problem(tool):
            raise document.problem(f"mocks: {problem}", at)
        if written == []:
            raise document.problem(f"the mock of {tool!r} has no rules", at)
        if not isinstance(written, list):
            _check_rule(written, tool, at, document)
            continue
        for number, rule in enumerate(written):
            _check_rule(rule, tool, (*at, number), document)


def _check_rule(written: Any, tool: str, place: Path, document: EvalSetDocument) -> None:
    if not isinstance(written, dict):
        raise document.problem(f"the mock of {tool!r} is an object such as {{returns: 1}}, not {shown(written)}", place)
    try:
        WrittenMock.model_validate(written)
    except ValidationError as problem:
        location, reason = first_mistake(WrittenMock, problem)
        raise document.problem(f"mock of {tool!r}: {reason}", (*place, *location)) from None


def first_mistake(model: type[BaseModel], problem: ValidationError) -> tuple[Path, str]:
    """Return the position of the validation error to report, and what would be right.

    An unknown key comes before a missing one: it may be the missing one, misspelt.
    """
    return min(mistakes(model, problem), key=lambda mistake: "unknown key" not in mistake[1])
