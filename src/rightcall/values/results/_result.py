"""The result of judging one trajectory by one evaluator: findings, and the details of how it got to its score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, Union

import msgspec
from msgspec import UNSET, UnsetType

from rightcall._lazy import lazy_pattern
from rightcall.errors import InputError, LimitError, shown
from rightcall.limits import Budget
from rightcall.values.decoding import dump_json, load_json
from rightcall.values.trajectory import Trajectory

from ._text import Difference

Verdict: TypeAlias = Literal["passed", "failed", "not_measured", "error"]
_QUOTED = lazy_pattern(r"`([^`(]{1,200})")
_LONGEST_NAME = 200


class Finding(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One thing that went wrong: a stable code, one sentence, and the calls it is about."""

    code: str
    """Such as `RC101`; `rightcall explain RC101` says more."""
    message: str
    expected: NamedCall | None = None
    actual: NamedCall | None = None
    path: str | None = None
    """Which part of the criteria it is about, such as `tool_calls[2]`."""
    help: str | None = None
    """A specific remedy, if there is one."""
    why: str | None = None
    """The reason for what is expected, if the expectation gives one."""
    ended: str | None = None
    """How the tool's call ended, if that is what is wrong: `raised KeyError`, `failed` or `succeeded`."""

    @property
    def tool(self) -> str:
        """The tool that it is about: that of the call, or the first quoted word in the message; else empty."""
        call = self.expected or self.actual
        if call is not None:
            return tool_in(call.text)
        if self.path is not None and self.path.startswith("tool_calls_count."):
            return self.path.partition(".")[2][:_LONGEST_NAME]
        quoted = _QUOTED.search(self.message) if self.code in ("RC301", "RC506") else None
        return quoted[1] if quoted else ""


def missing_calls(trajectory: Trajectory) -> Finding:
    """Return a finding that says why it is not known which calls were made."""
    if trajectory.not_understood:
        return Finding("RC304", f"the trace may have calls that were not understood: {trajectory.not_understood}")
    if trajectory.calls:
        return Finding("RC301", "the trace may lack calls, so it is not known what else was called")
    return Finding("RC301", "the trace has no tool data, so it is not known which calls were made")


def tool_in(text: str) -> str:
    """Return the name of the tool in the text of a call, cut if it is very long."""
    return text.partition("(")[0][:_LONGEST_NAME]


class Explainer(Protocol):
    """An explanation of a result, computed when it is read.

    One that surely compares no values has `spends`, which is false: no budget is made for it.
    """

    def justify(self) -> Justification | None:
        """Return the details: what the evaluator saw and how it computed its score."""

    def find(self) -> tuple[Finding, ...]:
        """Return what went wrong."""


class Explained(msgspec.Struct, frozen=True):
    """An explanation that is already computed."""

    justification: Justification | None = None
    findings: tuple[Finding, ...] = ()

    def justify(self) -> Justification | None:
        """Return the details."""
        return self.justification

    def find(self) -> tuple[Finding, ...]:
        """Return what went wrong."""
        return self.findings


class Explanation(msgspec.Struct, eq=False):
    """Details and findings, each computed when it is first read: there are many results, and few are read."""

    account: Explainer
    made_details: Justification | UnsetType | None = UNSET
    made_findings: tuple[Finding, ...] | UnsetType = UNSET

    @property
    def details(self) -> Justification | None:
        """The details, computed on first use."""
        if self.made_details is UNSET:
            try:
                # Entering a budget takes a twelfth of the time of counting five tools, which needs none.
                account = self.account
                if getattr(account, "spends", True):
                    with Budget():
                        self.made_details = account.justify()
                else:
                    self.made_details = account.justify()
            except Exception:  # noqa: BLE001 - a score is valid even if its explanation fails; `findings` say why
                self.made_details = None
        return self.made_details

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, computed on first use."""
        if self.made_findings is UNSET:
            try:
                if getattr(self.account, "spends", True):
                    with Budget():
                        self.made_findings = self.account.find()
                else:
                    self.made_findings = self.account.find()
            except LimitError as problem:
                self.made_findings = (Finding("RC401", f"not explained: limit exceeded: {problem}"),)
            except Exception as problem:  # noqa: BLE001 - as above
                self.made_findings = (Finding("RC402", f"not explained: {type(problem).__name__}: {problem}"),)
        return self.made_findings

    def explained(self) -> Explained:
        """Return details and findings as plain data."""
        return Explained(self.details, self.findings)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Explanation) and self.explained() == other.explained()

    def __hash__(self) -> int:
        # Equal explanations must hash alike, and hashing their content would compute it.
        return hash(Explanation)

    def __repr__(self) -> str:
        return "Explanation(…)"  # made when it is read, and printing a result is not reading its details

    def __reduce__(self) -> tuple[Any, ...]:
        return (Explanation, (self.explained(),))


class Judged:
    """Something with a verdict: one result, or those of a case."""

    __slots__ = ()
    verdict: Verdict

    @property
    def passed(self) -> bool:
        """Whether the verdict is `passed`, and nothing else."""
        return self.verdict == "passed"


class EvaluationResult(Judged, msgspec.Struct, frozen=True, kw_only=True):
    """The result of one evaluator for one trajectory.

    `verdict` is `passed` or `failed` where there is a score; `not_measured` where the trace did not record what the
    verdict depends on; `error` where judging failed. The last two have no score: an error is never a 0.0.
    """

    evaluator: str
    verdict: Verdict
    score: float | None = None
    threshold: float = 1.0
    error: str | None = None
    traceback: str | None = None
    warnings: tuple[str, ...] = ()
    evaluation_time: float = 0.0
    """Seconds spent on the score; details are made when read and are not counted."""
    explanation: Explanation = msgspec.field(default_factory=lambda: Explanation(Explained()))

    @property
    def details(self) -> Any:
        """The justification: what the evaluator saw and how it computed its score; `None` if there is none."""
        return self.explanation.details

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, in the order of the expectations."""
        return self.explanation.findings

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the result as JSON text, with details and findings; `from_json` reads it."""
        return dump_json(plain_result(self), indent=indent)

    @classmethod
    def from_json(cls, text: str | bytes) -> EvaluationResult:
        """Read the result that `to_json` wrote.

        Raises:
            InputError: the text is not such a result.
        """
        if not isinstance(text, (str, bytes)):
            raise InputError(f"a saved result is text, not {shown(text)}")
        try:
            return restored_result(msgspec.convert(load_json(text), SavedResult, strict=True))
        except msgspec.ValidationError as problem:
            raise InputError(f"not a saved result: {problem}") from None


def plain_result(result: EvaluationResult) -> Any:
    """Return a result as plain data, details and findings included."""
    fields = msgspec.structs.asdict(result)
    del fields["explanation"]
    fields |= {"passed": result.passed, "details": result.details, "findings": result.findings}
    return msgspec.to_builtins(fields)


def without_details(result: EvaluationResult) -> EvaluationResult:
    """Return a result with its findings, but without details."""
    return msgspec.structs.replace(result, explanation=Explanation(Explained(None, result.findings)))


def restored_result(saved: SavedResult) -> EvaluationResult:
    """Return the result that was saved."""
    values = {name: getattr(saved, name) for name in EvaluationResult.__struct_fields__ if name != "explanation"}
    return EvaluationResult(**values, explanation=Explanation(Explained(saved.details, saved.findings)))


class SavedResult(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The JSON form of a result."""

    evaluator: str
    verdict: Verdict
    passed: bool
    score: float | None
    threshold: float
    error: str | None
    traceback: str | None
    warnings: tuple[str, ...]
    evaluation_time: float
    details: KNOWN_JUSTIFICATIONS | None
    findings: tuple[Finding, ...]


class NamedCall(msgspec.Struct, frozen=True, gc=False):
    """A call that a finding is about: its position in its own list, from 0, and its text."""

    position: int
    text: str


class Step(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One line of an alignment.

    `match`: as expected. `mismatch`: the same tool, but not as expected (`differences` says where). `moved`: as
    expected, but at another place in the order. `missing`: expected, not called. `extra`: called, not expected.
    `skipped`: a part that may be left out and was, or an alternative that was not taken. A mismatch can be
    `out_of_place` as well; a moved step always is.
    """

    kind: Literal["match", "mismatch", "moved", "missing", "extra", "skipped"]
    name: str
    expected: int | None = None
    """Position among the expected calls, from 0; with groups, among the calls of all groups as they are written."""
    actual: int | None = None
    """Position in the trajectory, from 0."""
    differences: tuple[Difference, ...] = ()
    out_of_place: bool = False
    path: str = ""
    """Where the expected call is written, such as `expected[1].any_order[0]`; only if calls are in groups."""
    rounds: tuple[int, ...] = ()
    """The rounds, from 0, of the repeats around it, the outermost first."""


class AlignedGroup(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A group of expected calls: its word, where it is written, and how it was read.

    Its calls are those whose position is at least `first` and below `end`.
    """

    word: str
    path: str
    first: int
    end: int
    depth: int = 0
    """How many groups are around it."""
    at_least: int | None = None
    at_most: int | None = None
    rounds: int | None = None
    """How many rounds of a repeat were made."""
    taken: int | None = None
    """Which alternative of a choice was taken, from 0."""


class Alignment(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The alignment of actual and expected calls, step by step.

    `left_out` is the number of steps that are not listed because there are too many. `groups` are those that the
    expected calls are in, an outer one before those inside of it.
    """

    steps: tuple[Step, ...] = ()
    left_out: int = 0
    groups: tuple[AlignedGroup, ...] = ()


class CountCheck(msgspec.Struct, frozen=True, gc=False):
    """Whether one tool was called as often as it should be."""

    tool: str
    operator: str
    expected: int
    actual: int
    holds: bool


class ComparedAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The expected and the actual answer of the run, or of one turn, as JSON text, shortened; and how they compare.

    `score` is missing where the answer was not recorded. `turn` counts from 0, and is missing for the whole run.
    """

    expected: str
    actual: str
    score: float | None = None
    turn: int | None = None
    differences: tuple[Difference, ...] = ()


class BudgetCheck(msgspec.Struct, frozen=True):
    """Whether one figure of a run is within its limit. `actual` and `holds` are null where that is not known."""

    what: str
    at_most: float
    actual: float | None
    holds: bool | None


class Justification(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """The details of a result. Every evaluator has its own kind, or shares one; all values are plain data.

    Pages show the properties below of every kind; those that a kind does not have are empty.
    """

    @property
    def rule(self) -> str:
        """The way calls were compared, such as `IN_ORDER, arguments subset`."""
        return ""

    @property
    def checks(self) -> Sequence[CountCheck]:
        """The tools whose calls were counted."""
        return ()

    @property
    def budgets(self) -> Sequence[BudgetCheck]:
        """The figures that have a limit."""
        return ()

    @property
    def answers(self) -> Sequence[ComparedAnswer]:
        """The answers that something was expected of."""
        return ()

    @property
    def forbidden(self) -> Sequence[str]:
        """The tools that must not be called."""
        return ()

    @property
    def made(self) -> Sequence[str]:
        """The calls of forbidden tools that were made."""
        return ()


class ToolCallOrderEvaluatorJustification(Justification, frozen=True, tag="tool-call-order"):
    """The two sequences of names, one longest common subsequence, and how they line up."""

    actual_tool_calls_order: list[str]
    expected_tool_calls_order: list[str]
    lcs: list[str]
    alignment: Alignment


class ToolCallCountEvaluatorJustification(Justification, frozen=True, tag="tool-call-count"):
    """Each tool's count, as text and as a checkable twin."""

    explained_tool_calls_count: dict[str, str]
    checks: list[CountCheck]


class ExplainedCall(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The outcome of one expected call.

    `matched`: paired with the call at `actual`. Otherwise `actual` is the nearest call of the same name and
    `differences` says where it differs; without one, the tool was never called.
    """

    name: str
    matched: bool
    text: str
    """In words: `paired with call 2`, `nearest is call 3: $.city: "NYC" ≠ "New York"`, `never called`."""
    actual: int | None = None
    differences: tuple[Difference, ...] = ()


class ToolCallArgsEvaluatorJustification(Justification, frozen=True, tag="tool-call-args"):
    """The outcome of each expected call. `left_out` is the number of calls that are not listed."""

    explained_tool_calls_args: list[ExplainedCall]
    alignment: Alignment
    left_out: int = 0


class ToolCallOutputEvaluatorJustification(Justification, frozen=True, tag="tool-call-output"):
    """The outcome of each expected output. `left_out` is the number of outputs that are not listed."""

    explained_tool_calls_outputs: list[ExplainedCall]
    alignment: Alignment
    left_out: int = 0


class TurnScore(msgspec.Struct, frozen=True):
    """The score of one turn of the conversation."""

    turn: int
    score: float
    alignment: Alignment


class ToolTrajectoryEvaluatorJustification(Justification, frozen=True, tag="tool-trajectory"):
    """The rule that was applied, and the score of each turn."""

    match_type: str
    args_match: str
    turns: list[TurnScore]

    @property
    def rule(self) -> str:
        """The two settings, in words."""
        return f"{self.match_type}, arguments {self.args_match}"

    @property
    def alignment(self) -> Alignment:
        """The alignment of the only turn, or of all turns one after the other."""
        if len(self.turns) == 1:
            return self.turns[0].alignment
        steps = tuple(step for turn in self.turns for step in turn.alignment.steps)
        return Alignment(steps, sum(turn.alignment.left_out for turn in self.turns))


class PairingJustification(Justification, frozen=True, tag="pairing"):
    """The number of calls expected, made and paired, and how they line up."""

    expected: int
    actual: int
    paired: int
    alignment: Alignment


class ForbiddenToolsJustification(Justification, frozen=True, tag="forbidden-tools"):
    """The forbidden calls, and the text of the first ones that were made."""

    forbidden: list[str]
    made: list[str]


class RuleCheck(msgspec.Struct, frozen=True, omit_defaults=True):
    """Whether one rule holds.

    `broken`: by `calls`, each with the call it breaks the rule with, where there is one. `never_applied`: it holds, and
    no call was about it. `open`: whether it holds depends on what the trace did not record; `calls` may break it.
    """

    rule: str
    """In words: `book_flight only after confirm`."""
    status: Literal["holds", "broken", "never_applied", "open"]
    calls: tuple[NamedCall, ...] = ()
    why: str = ""
    """The reason for the rule, if it gives one."""
    note: str = ""
    """Why it never applied, in words: `no cancel was called`."""


class RulesJustification(Justification, frozen=True, tag="call-rules"):
    """Each rule, and how many of them hold only because they never applied."""

    rules: list[RuleCheck]
    vacuous: int = 0


class FinalOutputJustification(Justification, frozen=True, tag="final-output"):
    """The expected and the actual answer as JSON text, shortened, and where they differ."""

    expected: str
    actual: str
    differences: tuple[Difference, ...] = ()

    @property
    def answers(self) -> Sequence[ComparedAnswer]:
        """The two answers as one comparison."""
        return (ComparedAnswer(self.expected, self.actual, differences=self.differences),)


class AnswersJustification(Justification, frozen=True, tag="answers"):
    """Each answer that something was expected of."""

    answers: list[ComparedAnswer]


class BudgetsJustification(Justification, frozen=True, tag="budgets"):
    """Each figure of the run that has a limit."""

    budgets: list[BudgetCheck]


class ExecutionOrderJustification(Justification, frozen=True, tag="execution-order"):
    """The two sequences of actions and what they have in common, in the mode that was asked for."""

    mode: str
    actual_output: list[str]
    expected_output: list[str]
    in_common: list[str]
    alignment: Alignment


class CustomJustification(Justification, frozen=True, tag="custom"):
    """The reason and details of a custom evaluator, as plain data."""

    reason: str = ""
    details: Any = None


class JudgedRubric(msgspec.Struct, frozen=True):
    """One rubric: whether the majority of answers holds it to be met, the share that does, and a reason."""

    id: str
    text: str
    met: bool
    agreement: float
    reason: str


class JudgedSample(msgspec.Struct, frozen=True):
    """One answer of a judge; `call` is the position of the call that decided the matter, from 0."""

    score: float
    reason: str
    call: int | None = None


class JudgeJustification(Justification, frozen=True, tag="judge"):
    """The answers of a judge, how far they agree, and what they cost.

    `agreement` is the share of answers with the verdict of all together. `cost` is in the currency of the prices, and
    missing without prices; `cached` counts answers from the cache, which cost nothing.
    """

    model: str
    reason: str
    samples: list[JudgedSample]
    agreement: float
    rubrics: list[JudgedRubric] = []
    call: NamedCall | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    cached: int = 0


if TYPE_CHECKING:
    KNOWN_JUSTIFICATIONS: TypeAlias = Justification
else:
    # The kinds above: msgspec distinguishes them by their tags when a saved result is read.
    KNOWN_JUSTIFICATIONS = Union[tuple(Justification.__subclasses__())]  # noqa: UP007
