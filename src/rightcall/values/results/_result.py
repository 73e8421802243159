"""The result of judging one trajectory by one evaluator, and the findings: what went wrong."""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

import msgspec
from msgspec import UNSET, UnsetType

from rightcall._lazy import lazy_pattern
from rightcall.errors import InputError, LimitError, shown
from rightcall.limits import Budget
from rightcall.values.decoding import dump_json, load_json
from rightcall.values.trajectory import Trajectory

from ._justifications import KNOWN_JUSTIFICATIONS, Justification, NamedCall

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
    """The reason for what is expected, where the expectation gives one."""
    ended: str | None = None
    """How the tool's call ended, where that is what is wrong: `raised KeyError`, `failed` or `succeeded`."""

    @property
    def tool(self) -> str:
        """The tool that it is about: of the call it names, or the first word in it that is quoted; else empty."""
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
        return Finding("RC304", f"calls may be missing that were not understood: {trajectory.not_understood}")
    if trajectory.calls:
        return Finding("RC301", "the trace may lack calls, so what was called is not all known")
    return Finding("RC301", "the trace has no tool data, so it is not known which calls were made")


def tool_in(text: str) -> str:
    """Return the name of the tool in the text of a call, cut if it is very long."""
    return text.partition("(")[0][:_LONGEST_NAME]


class Explainer(Protocol):
    """An explanation of a result, computed when it is read."""

    def justify(self) -> Justification | None:
        """Return the details: what the evaluator saw and how it computed its score."""

    def find(self) -> tuple[Finding, ...]:
        """Return what went wrong."""


class Explained(msgspec.Struct, frozen=True):
    """An account whose answers are there already."""

    justification: Justification | None = None
    findings: tuple[Finding, ...] = ()

    def justify(self) -> Justification | None:
        """Return the details."""
        return self.justification

    def find(self) -> tuple[Finding, ...]:
        """Return what went wrong."""
        return self.findings


class Explanation(msgspec.Struct, eq=False):
    """Details and findings, each made when it is first read: results are many, readers few."""

    account: Explainer
    made_details: Justification | UnsetType | None = UNSET
    made_findings: tuple[Finding, ...] | UnsetType = UNSET

    @property
    def details(self) -> Justification | None:
        """The details, made now or before."""
        if self.made_details is UNSET:
            try:
                with Budget():
                    self.made_details = self.account.justify()
            except Exception:  # noqa: BLE001 - a score is valid even if its explanation fails; `findings` say why
                self.made_details = None
        return self.made_details

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, made now or before."""
        if self.made_findings is UNSET:
            try:
                with Budget():
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


class EvaluationResult(msgspec.Struct, frozen=True, kw_only=True):
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
    def passed(self) -> bool:
        """Whether the verdict is `passed`, and nothing else."""
        return self.verdict == "passed"

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
