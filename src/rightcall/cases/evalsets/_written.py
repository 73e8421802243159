"""What people write in an eval set, as pydantic models."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Field, StrictFloat, StrictInt, StrictStr, model_validator

from rightcall.judging import UserModel


def _case_id(value: str) -> str:
    if not 0 < len(value) <= 300:
        raise ValueError(f"an id has 1 to 300 characters, this one {len(value):,}")
    return value


Number = Annotated[StrictFloat | StrictInt, Field(ge=0, allow_inf_nan=False)]
CaseId = Annotated[StrictStr, AfterValidator(_case_id)]


class WrittenDefaults(UserModel):
    """How expectations are judged where they do not say otherwise."""

    match: Any = "EXACT"
    args: Any = "subset"
    threshold: Any = 1.0
    timeout: Number | None = None


class WrittenEvaluator(UserModel):
    """An evaluator of the user's own: a type id, its configuration, and how much it counts."""

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
    """An evaluator of all cases together: `classification`, or code, and its configuration."""

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
