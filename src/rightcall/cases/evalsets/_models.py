"""Models of the keys that people write in an eval set."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from rightcall.errors import pattern_problem, shown
from rightcall.judging import After, Before, Bounds, Key, Length, ModelError, UserModel
from rightcall.values.decoding import Path

from ._source import EvalSetDocument


def _case_id(value: str) -> str:
    if not 0 < len(value) <= 300:
        raise ValueError(f"an id has 1 to 300 characters, this one {len(value):,}")
    return value


Number = Annotated[int | float, Bounds(least=0, finite=True)]
Repeats = Annotated[int, Bounds(least=1, most=10_000)]
CaseId = Annotated[str, After(_case_id)]


class WrittenDefaults(UserModel):
    """Defaults for expectations that do not say otherwise."""

    # `Any`, because `check_defaults` has an evaluator validate these: it knows all spellings, and the right message.
    match: Any = "EXACT"
    args: Any = "subset"
    threshold: Any = 1.0
    partial_credit: Any = None
    extra: Any = None
    parallel: Any = "recorded"
    failed: Any = None
    ignore_tools: Any = None
    agent: Any = None
    top_level: Any = None
    wildcards: Any = True
    weight: Number = 1.0
    timeout: Number | None = None
    repeat: Repeats | None = None
    min_repeat_pass: Repeats | None = None


SETTINGS = ("extra", "parallel", "failed", "ignore_tools", "agent", "top_level", "wildcards", "partial_credit")
"""The defaults that are keys of criteria or of configuration, in evaluators that have them."""


AS_RECORDED = {"parallel": "in_order"}
"""The defaults of eval sets of other tools, which compare calls in the order in which they were recorded."""


class WrittenEvaluator(UserModel):
    """A custom evaluator: a type id, its configuration and its weight."""

    type: str
    config: dict[str, Any] = {}
    weight: Number = 1.0


class WrittenTurn(UserModel):
    """One turn of a conversation."""

    input: Any = None
    expect: dict[str, Any] = {}


def _day(value: str) -> str:
    from datetime import date  # few eval sets have a quarantine

    try:
        return date.fromisoformat(value).isoformat()
    except ValueError:
        raise ValueError(f"a day is written as 2026-12-31, not {shown(value)}") from None


def _reason(value: str) -> str:
    if not value.strip():
        raise ValueError("a quarantine has a reason, in words")
    return value


class WrittenQuarantine(UserModel):
    """Why a case runs and counts in nothing, and the last day of that."""

    reason: Annotated[str, After(_reason)]
    until: Annotated[str, After(_day)] | None = None


class WrittenWhen(UserModel):
    """What a case applies to, in place of an input: every trajectory that fits is a trial of it."""

    input: Any = None
    output: Any = None
    metadata: dict[str, Any] = {}
    agent: Any = None
    calls: Any = None
    tags: Any = None
    unrecorded: Literal["not_measured", "leave_out"] = "not_measured"

    def check(self) -> None:
        if not self.model_fields_set - {"unrecorded"}:
            raise ValueError("'when' is empty; give at least one of input, output, metadata, agent, calls, tags")


class WrittenCase(UserModel):
    """One case."""

    id: CaseId
    name: str = ""
    description: str = ""
    input: Any = None
    turns: tuple[WrittenTurn, ...] | None = None
    when: WrittenWhen | None = None
    expected_behavior: str = ""
    session: Any = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    mocks: dict[str, Any] = {}
    repeat: Repeats | None = None
    min_repeat_pass: Repeats | None = None
    quarantine: WrittenQuarantine | None = None
    expect: dict[str, Any] = {}

    def check(self) -> None:
        if self.turns is not None and self.input is not None:
            raise ValueError("a case has 'input' or 'turns', not both")
        if self.turns == ():
            raise ValueError("'turns' is empty; a conversation has at least one turn")
        if self.when is not None:
            given = [key for key in _OF_AGENTS if key in self.model_fields_set]
            if given:
                raise ValueError(f"a case has 'when' or {given[0]!r}, not both: 'when' is about traces, {_NOT_RUN}")


_OF_AGENTS = ("input", "turns", "session", "mocks", "repeat")
"""Keys of cases that an agent is run for."""
_NOT_RUN = "and no agent is run for it"


class WrittenOverall(UserModel):
    """An evaluator of all cases together: `classification` or code, and its configuration."""

    type: str
    config: dict[str, Any] = {}


class WrittenEvalSet(UserModel):
    """An eval set."""

    json_schema: Annotated[Any, Key("$schema")] = None
    name: str = ""
    description: str = ""
    agent: str | None = None
    defaults: WrittenDefaults = WrittenDefaults()
    evaluators: dict[str, WrittenEvaluator] = {}
    rules: Any = None
    """Rules for every case, as a case writes them under `expect`."""
    expect: dict[str, Any] = {}
    """What is expected of every trajectory, also of one that belongs to no case."""
    overall: dict[str, WrittenOverall] = {}
    metadata: dict[str, Any] = {}
    cases: tuple[WrittenCase, ...]


ANSWERS = ("returns", "sequence", "raises", "then")
"""The keys for the answer of a mocked call. A rule has exactly one of them."""


class WrittenError(UserModel):
    """An exception that a mocked tool raises: the name of its type, and its message."""

    type: Annotated[str, Length(1)]
    message: str = ""


def _named(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


Raised = Annotated[WrittenError | None, Before(_named)]


class WrittenAnswer(UserModel):
    """One of the answers under `then`: a value or an exception."""

    returns: Any = None
    raises: Raised = None

    def check(self) -> None:
        if len(self.model_fields_set) != 1:
            raise ValueError("an answer needs either 'returns' or 'raises'")


class WrittenMock(UserModel):
    """One rule: which calls it applies to, and their answer. The first rule that matches a call answers it.

    `when` has arguments by name, `positional` the first ones in order; without either, the rule applies to all calls.
    `sequence`, or `returns` with `each`, has one value per call; `then` has answers, of which the last is repeated.
    """

    when: dict[str, Any] | None = None
    positional: tuple[Any, ...] | None = None
    returns: Any = None
    each: bool = False
    sequence: Annotated[tuple[Any, ...], Length(1)] | None = None
    raises: Raised = None
    then: Annotated[tuple[WrittenAnswer, ...], Length(1)] | None = None

    def check(self) -> None:
        given = [key for key in ANSWERS if key in self.model_fields_set]
        if len(given) != 1:
            found = " and ".join(given) if given else "none of them"
            raise ValueError(f"a mock has one of {', '.join(ANSWERS)}; this one has {found}")
        if self.each and not isinstance(self.returns, list):
            raise ValueError("'each' needs a list under 'returns'")


def check_mocks(mocks: dict[str, Any], place: Path, document: EvalSetDocument, *, wildcards: bool = True) -> None:
    """Check that mocks are rules or lists of rules. `rightcall.running.mocking` gives them their meaning.

    With `wildcards`, `*` in the name of a tool stands for any characters.

    Raises:
        DocumentError: the first mistake, with its position and what would be right.
    """
    for tool, written in mocks.items():
        at: Path = (*place, tool)
        if not wildcards and (problem := pattern_problem(tool)):
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
    except ModelError as problem:
        location, reason = problem.first
        raise document.problem(f"mock of {tool!r}: {reason}", (*place, *location)) from None
