"""What people write under `mocks`: rules that say what a tool answers instead of being run."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StrictStr, ValidationError, model_validator

from rightcall.decoding import Path
from rightcall.errors import shown
from rightcall.evaluators import UserModel

from ._mistakes import first_mistake
from ._pages import Draft

_ANSWERS = ("returns", "sequence", "raises")


class WrittenError(UserModel):
    """An exception that a mocked tool raises: its type, by name, and its message."""

    type: StrictStr = Field(min_length=1)
    message: StrictStr = ""


def _named(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


class WrittenMock(UserModel):
    """One rule: which calls it is about, and what they are answered. The first rule that matches a call answers it."""

    when: dict[StrictStr, Any] | None = None
    returns: Any = None
    sequence: Annotated[tuple[Any, ...], Field(min_length=1)] | None = None
    raises: Annotated[WrittenError | None, BeforeValidator(_named)] = None

    @model_validator(mode="after")
    def _has_one_answer(self) -> WrittenMock:
        given = [key for key in _ANSWERS if key in self.model_fields_set]
        if len(given) != 1:
            found = " and ".join(given) if given else "none of them"
            raise ValueError(f"a mock has one of 'returns', 'sequence' and 'raises', this one {found}")
        return self


def check_mocks(mocks: dict[str, Any], place: Path, draft: Draft) -> None:
    """Refuse mocks that are not rules, or lists of them. What rules mean is up to whoever applies them.

    Raises:
        DocumentError: naming the place of the first mistake, and what would be right.
    """
    for tool, written in mocks.items():
        at: Path = (*place, tool)
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
