"""What people write under `mocks`: rules that say what a tool answers instead of being run."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictBool, StrictStr, ValidationError, model_validator

from rightcall.errors import pattern_problem, shown
from rightcall.judging import UserModel
from rightcall.values.decoding import Path

from ._mistakes import first_mistake
from ._pages import Draft

ANSWERS = ("returns", "sequence", "raises", "then")
"""The keys of a rule that say what a call is answered; it has one of them."""


class WrittenError(UserModel):
    """An exception that a mocked tool raises: its type, by name, and its message."""

    type: StrictStr = Field(min_length=1)
    message: StrictStr = ""


def _named(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


Raised = Annotated[WrittenError | None, BeforeValidator(_named)]


class WrittenAnswer(UserModel):
    """One of the answers under `then`: a value, or an exception."""

    returns: Any = None
    raises: Raised = None

    @model_validator(mode="after")
    def _has_one_answer(self) -> WrittenAnswer:
        if len(self.model_fields_set) != 1:
            raise ValueError("an answer has one of 'returns' and 'raises'")
        return self


class WrittenMock(UserModel):
    """One rule: which calls it is about, and what they are answered. The first rule that matches a call answers it.

    `when` has arguments by name, `positional` the first ones in order; without either, the rule is about all calls.
    `sequence`, or `returns` with `each`, are values for one call each; `then` are answers, the last of them repeated.
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
            raise ValueError("'each' stands beside a list under 'returns'")
        return self


def check_mocks(mocks: dict[str, Any], place: Path, draft: Draft) -> None:
    """Refuse mocks that are not rules, or lists of them. What rules mean is up to whoever applies them.

    Raises:
        DocumentError: naming the place of the first mistake, and what would be right.
    """
    for tool, written in mocks.items():
        at: Path = (*place, tool)
        if problem := pattern_problem(tool):
            raise draft.problem(f"mocks: {problem}", at)
        if written == []:
            raise draft.problem(f"the mock of {tool!r} has no rules", at)
        if not isinstance(written, list):
            _check_rule(written, tool, at, draft)
            continue
        for number, rule in enumerate(written):
            _check_rule(rule, tool, (*at, number), draft)


def _check_rule(written: Any, tool: str, place: Path, draft: Draft) -> None:
    if not isinstance(written, dict):
        raise draft.problem(f"the mock of {tool!r} is an object such as {{returns: 1}}, not {shown(written)}", place)
    try:
        WrittenMock.model_validate(written)
    except ValidationError as problem:
        location, reason = first_mistake(WrittenMock, problem)
        raise draft.problem(f"mock of {tool!r}: {reason}", (*place, *location)) from None
