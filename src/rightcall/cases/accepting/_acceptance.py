"""Update the expectations of an eval set from what was observed, by editing its text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from rightcall.cases.evalsets import Case, DocumentEditor, EvalSet, parse_eval_set
from rightcall.cases.verdicts import judge
from rightcall.errors import DocumentError, RightcallError
from rightcall.values.decoding import Edit, apply_edits
from rightcall.values.results import CaseResult, missing_calls
from rightcall.values.trajectory import Trajectory

from ._expected_calls import new_call
from ._rewrite import Refused, rewrite, rewrite_turns


class Observed(msgspec.Struct):
    """The trajectories that were observed for one case."""

    trajectories: list[Trajectory] = msgspec.field(default_factory=list)
    trouble: tuple[str, str] | None = None
    """A code and a reason, if the case could not be observed."""


class CaseOutcome(msgspec.Struct, frozen=True):
    """What happened to one case."""

    case_id: str
    kind: Literal["updated", "passes", "left"]
    code: str = ""
    """For a case that is left unchanged, the code of the reason."""
    reason: str = ""
    is_failed: bool = False
    """Whether a case that is left unchanged was measured and failed."""
    unrecorded: int = 0
    """For a case that is updated, how many calls are expected by name only, because the trace has no arguments."""


class Acceptance(msgspec.Struct, frozen=True):
    """The text of an eval set before and after, the edits, and the outcome of each case."""

    before: str
    after: str
    edits: Sequence[Edit]
    outcomes: Sequence[CaseOutcome]


def accept(text: str, eval_set: EvalSet, observed: Mapping[str, Observed]) -> Acceptance:
    """Change the expectations in the text of an eval set that the observed trajectories do not satisfy.

    Cases that `observed` does not name are not changed. Every case that is updated passes afterwards. A case that
    cannot be made to pass is left unchanged.

    Raises:
        RightcallError: the edited text would not load, or its cases would not pass. It must not be written.
    """
    return _EvalSetUpdate(text, eval_set, observed).acceptance()


class _Proposal(msgspec.Struct, frozen=True):
    """A case as it would be written."""

    number: int
    case: Case
    written: Any
    unrecorded: int = 0


class _EvalSetUpdate:
    """Updates one eval set."""

    def __init__(self, text: str, eval_set: EvalSet, observed: Mapping[str, Observed]) -> None:
        self._text = text
        self._eval_set = eval_set
        self._observed = observed
        self._editor = DocumentEditor(text)
        self._left: dict[str, CaseOutcome] = {}
        self._proposals: dict[str, _Proposal] = {}

    def acceptance(self) -> Acceptance:
        for number, case in enumerate(self._eval_set.cases):
            if case.id in self._observed:
                self._propose(number, case)
        self._keep(self._passing(list(self._proposals.values())))
        for proposal in list(self._proposals.values()):
            self._edit(proposal)
        edits = self._editor.edits()
        after = apply_edits(self._text, edits)
        # The file is the user's work: check the text itself, not the values it was made from.
        self._verify(after)
        return Acceptance(self._text, after, edits, list(self._outcomes()))

    def _outcomes(self) -> Iterator[CaseOutcome]:
        for case in self._eval_set.cases:
            if case.id in self._proposals:
                yield CaseOutcome(case.id, "updated", unrecorded=self._proposals[case.id].unrecorded)
            elif case.id in self._left:
                yield self._left[case.id]
            elif case.id in self._observed:
                yield CaseOutcome(case.id, "passes")

    def _leave(self, case: Case, code: str, reason: str, *, is_failed: bool = False) -> None:
        self._proposals.pop(case.id, None)
        self._left[case.id] = CaseOutcome(case.id, "left", code, reason, is_failed)

    def _propose(self, number: int, case: Case) -> None:
        observed = self._observed[case.id]
        if observed.trouble is not None or not observed.trajectories:
            self._leave(case, *(observed.trouble or ("RC303", "no trace belongs to this case")))
            return
        if not case.checks:
            self._propose_calls(number, case, observed.trajectories[0])
            return
        results = [judge(case, trajectory) for trajectory in observed.trajectories]
        unmeasured = next((result for result in results if result.verdict in ("error", "not_measured")), None)
        if unmeasured is not None:
            self._leave(case, *_reason(unmeasured))
            return
        # A trace with parts that were not understood may have more calls; an expectation must not be made of it.
        incomplete = next((each for each in observed.trajectories if each.not_understood), None)
        if incomplete is not None and not all([result.passed for result in results]):
            why = missing_calls(incomplete)
            self._leave(case, why.code, why.message)
            return
        failed = next((result for result in results if not result.passed), None)
        if failed is not None:
            self._propose_change(number, case, failed)

    def _propose_calls(self, number: int, case: Case, trajectory: Trajectory) -> None:
        """Propose the calls that were made, for a case without expectations."""
        if not trajectory.calls_recorded:
            why = missing_calls(trajectory)
            self._leave(case, why.code, why.message)
            return
        made = [call for call in trajectory.calls if not call.internal]
        calls = [new_call(call, "subset", spelt_out=False) for call in made]
        written = {**self._editor.value["cases"][number], "expect": {"calls": calls}}
        unrecorded = sum("args" in call.unrecorded for call in made)
        self._proposals[case.id] = _Proposal(number, case, written, unrecorded)

    def _propose_change(self, number: int, case: Case, failed: CaseResult) -> None:
        assert failed.trajectory is not None, "a case that failed was judged by a trajectory"  # noqa: S101
        written = self._editor.value["cases"][number]
        for check, result in zip(case.checks, failed.results, strict=True):
            if result.passed:
                continue
            of_turns = check.key not in written.get("expect", {})
            if of_turns:
                made = rewrite_turns(check, written["turns"], failed.trajectory)
            else:
                made = rewrite(check, written["expect"][check.key], failed.trajectory)
            if isinstance(made, Refused):
                code = result.findings[0].code if result.findings else ""
                self._leave(case, code, made.reason, is_failed=True)
                return
            changed = {"turns": made} if of_turns else {"expect": {**written["expect"], check.key: made}}
            written = {**written, **changed}
        types = {
            check.evaluator.type_id
            for check, result in zip(case.checks, failed.results, strict=True)
            if not result.passed
        }
        unrecorded = sum("args" in call.unrecorded for call in failed.trajectory.calls)
        self._proposals[case.id] = _Proposal(number, case, written, unrecorded if "tool-trajectory" in types else 0)

    def _passing(self, proposals: Sequence[_Proposal]) -> set[str]:
        """Return the ids of the cases that would pass with all of their trajectories."""
        if not proposals:
            return set()
        # Try the values as they will be written, through the loader: JSON can express all that the file can.
        trial = {**self._editor.value, "cases": [proposal.written for proposal in proposals]}
        try:
            cases = parse_eval_set(json.dumps(trial), self._eval_set.path).cases
        except DocumentError:
            # One proposal that does not load must not stop the others, so try each of them alone.
            if len(proposals) == 1:
                return set()
            return set().union(*[self._passing([proposal]) for proposal in proposals])
        return {case.id for case in cases if self._passes(case)}

    def _passes(self, case: Case) -> bool:
        return all(judge(case, trajectory).passed for trajectory in self._observed[case.id].trajectories)

    def _keep(self, passing: set[str]) -> None:
        for proposal in list(self._proposals.values()):
            case = proposal.case
            if case.id not in passing:
                several = len(self._observed[case.id].trajectories)
                reason = f"its {several} traces disagree" if several > 1 else "no such expectation can be written"
                self._leave(case, _code(case, self._observed[case.id].trajectories), reason, is_failed=True)

    def _edit(self, proposal: _Proposal) -> None:
        try:
            self._editor.change(("cases", proposal.number), proposal.written)
        except DocumentError as problem:
            code = _code(proposal.case, self._observed[proposal.case.id].trajectories)
            self._leave(proposal.case, code, str(problem), is_failed=True)

    def _verify(self, after: str) -> None:
        if not self._proposals:
            return
        try:
            cases = {case.id: case for case in parse_eval_set(after, self._eval_set.path).cases}
            wrong = [case_id for case_id in self._proposals if case_id not in cases or not self._passes(cases[case_id])]
        except DocumentError as problem:
            raise RightcallError(f"{self._eval_set.path}: not edited, because it would be wrong: {problem}") from None
        if wrong or len(cases) != len(self._eval_set.cases):
            named = ", ".join(wrong[:5])
            raise RightcallError(f"{self._eval_set.path}: not edited, because these cases would not pass: {named}")


def _reason(result: CaseResult) -> tuple[str, str]:
    """Return the code and the message of the first finding."""
    finding = result.findings[0].finding if result.findings else None
    return (finding.code, finding.message) if finding is not None else ("", result.verdict)


def _code(case: Case, trajectories: Sequence[Trajectory]) -> str:
    results = [judge(case, trajectory) for trajectory in trajectories]
    return next((_reason(result)[0] for result in results if not result.passed), "")
