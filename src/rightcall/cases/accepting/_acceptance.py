"""Write expectations from observed runs, into the text of an eval set or as a new eval set."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any, Literal

import msgspec

from rightcall.cases.evalsets import Case, DocumentEditor, EvalSet, criteria_path, dump_yaml, flow_text, parse_eval_set
from rightcall.cases.verdicts import judge
from rightcall.errors import DocumentError, InputError, RightcallError
from rightcall.values.decoding import Edit, Path, apply_edits
from rightcall.values.results import (
    CaseResult,
    EvaluationResult,
    Finding,
    Step,
    ToolTrajectoryEvaluatorJustification,
    missing_calls,
)
from rightcall.values.trajectory import Trajectory

from ._rewrite import Refused, new_call, rewrite, rewrite_turns

_TYPES = ("tool-trajectory", "tool-call-args")
_ANY = {"$any": True}
_STEPS = re.compile(r"\[(\d{1,6})\]|\.?([^.\[\]]+)")
_LONGEST = 60
_NOT_IN_SLUGS = re.compile(r"[^a-z0-9]+")


class Observed(msgspec.Struct):
    """The trajectories observed for one case."""

    trajectories: list[Trajectory] = msgspec.field(default_factory=list)
    trouble: tuple[str, str] | None = None
    """A code and a reason, if the case could not be observed."""


class CaseOutcome(msgspec.Struct, frozen=True):
    """What was done with one case."""

    case_id: str
    kind: Literal["updated", "passes", "left"]
    code: str = ""
    """For an unchanged case, the code of the reason."""
    reason: str = ""
    is_failed: bool = False
    """Whether an unchanged case was measured and failed."""
    unrecorded: int = 0
    """For an updated case, how many calls are expected by name only because the trace has no arguments."""


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
    """A changed case that is not yet written."""

    number: int
    case: Case
    written: Any
    unrecorded: int = 0


class _EvalSetUpdate:
    """Collects what changes in the cases of one eval set, and makes one edit of its text."""

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
        # A case with one of these does not pass whatever becomes of the others.
        unmeasured = [each for result in results for each in result.results if each.score is None]
        if unmeasured:
            self._leave(case, *_reason(unmeasured[0].verdict, unmeasured[0].findings))
            return
        # A trace with parts that were not understood may have more calls, so it must not become an expectation.
        incomplete = next((each for each in observed.trajectories if each.not_understood), None)
        if incomplete is not None and not all([result.passed for result in results]):
            why = missing_calls(incomplete)
            self._leave(case, why.code, why.message)
            return
        failed = next((result for result in results if not result.passed), None)
        if failed is not None:
            self._propose_change(number, case, failed)

    def _propose_calls(self, number: int, case: Case, trajectory: Trajectory) -> None:
        """Propose the observed calls, for a case without expectations."""
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
        """Return the ids of the proposed cases that pass with all of their trajectories."""
        if not proposals:
            return set()
        # Load the values as they will be written. JSON can express everything that the file can.
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


def _reason(verdict: str, findings: Sequence[Finding]) -> tuple[str, str]:
    """Return the code and the message of the first finding; the verdict if there is none."""
    return (findings[0].code, findings[0].message) if findings else ("", verdict)


def _code(case: Case, trajectories: Sequence[Trajectory]) -> str:
    results = [judge(case, trajectory) for trajectory in trajectories]
    return next((placed.finding.code for result in results if not result.passed for placed in result.findings[:1]), "")


class IgnoredArgument(msgspec.Struct, frozen=True):
    """An argument of an expected call that is no longer to be compared."""

    case_id: str
    expectation: str
    """The key of the expectation, such as `calls`."""
    position: int
    """The index of the call that was made with another value."""
    argument: str
    """The argument, or a part of it: `amount`, `items[0].id`."""


def ignore(text: str, eval_set: EvalSet, ignored: IgnoredArgument, trajectory: Trajectory) -> Acceptance:
    """Change the text of an eval set so that one argument of one expected call is no longer compared.

    The argument is removed if arguments that are not named are allowed; otherwise it becomes `$any`.

    Raises:
        RightcallError: there is no such argument in a list of expected calls, or it cannot be changed by itself.
    """
    number, case = _case(eval_set, ignored.case_id)
    turn, step = _compared(case, ignored, trajectory)
    for is_removed in (True, False):
        editor = DocumentEditor(text)
        written = _at(editor.value, ("cases", number))
        path = _written_path(written, turn, step, ignored)
        holder = _at(written, path[:-1])
        changed = {key: value for key, value in holder.items() if key != path[-1]} if is_removed else None
        editor.change(("cases", number, *path[:-1]), changed if changed is not None else {**holder, path[-1]: _ANY})
        after = apply_edits(text, editor.edits())
        try:
            edited = _case(parse_eval_set(after, eval_set.path), ignored.case_id)[1]
        except DocumentError as problem:
            raise RightcallError(f"{eval_set.path}: not edited, because it would be wrong: {problem}") from None
        result = judge(edited, trajectory)
        if not _differs(result, ignored):
            kind, reason = ("passes", "") if result.passed else ("left", "it still does not pass")
            outcome = CaseOutcome(case.id, "updated" if kind == "passes" else "left", "", reason, not result.passed)
            return Acceptance(text, after, editor.edits(), [outcome])
    raise RightcallError(f"{ignored.argument}: cannot be ignored by itself; change the expectation by hand")


def _case(eval_set: EvalSet, case_id: str) -> tuple[int, Case]:
    found = next(((number, case) for number, case in enumerate(eval_set.cases) if case.id == case_id), None)
    if found is None:
        raise RightcallError(f"{eval_set.path}: has no case {case_id!r:.80} any more")
    return found


def _compared(case: Case, ignored: IgnoredArgument, trajectory: Trajectory) -> tuple[int, Step]:
    """Return the turn and the step in which the call was compared with an expected call."""
    steps = _steps(judge(case, trajectory), ignored)
    found = next((each for each in steps if each[1].expected is not None), None)
    if found is None:
        raise RightcallError(f"{case.id}: no expected call of `{ignored.expectation}` has this difference any more")
    return found


def _differs(result: CaseResult, ignored: IgnoredArgument) -> bool:
    paths = [difference.path for _, step in _steps(result, ignored) for difference in step.differences]
    return any([_keys(path)[: len(_keys(ignored.argument))] == _keys(ignored.argument) for path in paths])


def _steps(result: CaseResult, ignored: IgnoredArgument) -> list[tuple[int, Step]]:
    """Return the steps in which the expectation was compared with the call, each with its turn."""
    named = [one for one in result.results if one.evaluator == ignored.expectation]
    steps = [each for one in named for each in _all_steps(one)]
    return [(turn, step) for turn, step in steps if step.actual == ignored.position]


def _all_steps(result: EvaluationResult) -> list[tuple[int, Step]]:
    if isinstance(result.details, ToolTrajectoryEvaluatorJustification):
        return [(turn.turn, step) for turn in result.details.turns for step in turn.alignment.steps]
    alignment = getattr(result.details, "alignment", None)
    return [(0, step) for step in alignment.steps] if alignment is not None else []


def _written_path(written: Any, turn: int, step: Step, ignored: IgnoredArgument) -> Path:
    """Return the path from a written case to the argument of the call that a step compares."""
    of_turn: Path = ("turns", turn, "expect", ignored.expectation)
    outer: Path = of_turn if _at(written, of_turn) is not None else ("expect", ignored.expectation)
    expectation = _at(written, outer)
    found = [criteria_path(expectation, type_id) for type_id in _TYPES] if expectation is not None else []
    inside = next((path for path in found if path is not None), None)
    # A step has a path only if calls are in groups. Otherwise the index of the expected call is its place in the list.
    place = _keys(step.path) if step.path else ("expected", step.expected or 0)
    place = place[2:] if place[0] == "expected_turns" else place[1:]
    call = _at(written, (*outer, *inside, *place)) if inside is not None else None
    if inside is None or not isinstance(call, dict):
        raise RightcallError(f"{ignored.argument}: is not written in a plain list of calls; change it by hand")
    holder = "args" if isinstance(call.get("name"), str) and "args" in call else next(iter(call), "")
    path: Path = (*outer, *inside, *place, holder, *_keys(ignored.argument))
    value: Any = _at(written, path[:-1])
    if not isinstance(value, dict) or path[-1] not in value:
        raise RightcallError(f"{ignored.argument}: is not written there by itself; change it by hand")
    return path


def _keys(argument: str) -> Path:
    """Split a path such as `items[0].id` into its keys."""
    found = _STEPS.findall(argument.removeprefix("$").removeprefix("."))
    return tuple([int(number) if number else name for number, name in found])


def _at(value: Any, path: Path) -> Any:
    for step in path:
        is_there = (isinstance(value, dict) and step in value) or (
            isinstance(value, list) and isinstance(step, int) and step < len(value)
        )
        if not is_there:
            return None
        value = value[step]
    return value


class NewEvalSet(msgspec.Struct, frozen=True):
    """The text of a new eval set, and the outcome of each case."""

    text: str
    outcomes: Sequence[CaseOutcome]


def new_eval_set(
    trajectories: Sequence[Trajectory], path: str, attribute: str, globs: Sequence[str] = ()
) -> NewEvalSet:
    """Write an eval set whose cases expect the calls of trajectories: JSON if the path ends in `.json`, else YAML.

    The id of a case is the attribute, else the trace id, else a slug of the input. Trajectories with the same attribute
    are one case, provided that their calls are the same.

    Raises:
        InputError: no trajectory has calls to expect.
        RightcallError: the trajectories would not pass the eval set.
    """
    groups = _grouped(trajectories, attribute, globs)
    cases, outcomes = [], []
    for case_id, group in groups.items():
        outcome = _outcome(case_id, group)
        outcomes.append(outcome)
        if outcome.kind == "updated":
            cases.append(_written(case_id, group[0]))
    if not cases:
        raise InputError("no trace has calls to make a case from")
    text = _text({"cases": cases}, path)
    for case in parse_eval_set(text, path).cases:
        if not all(judge(case, trajectory).passed for trajectory in groups[case.id]):
            raise RightcallError(f"{path}: not written, because this case would not pass: {case.id}")
    return NewEvalSet(text, outcomes)


def cases_to_fill(
    trajectories: Sequence[Trajectory],
    path: str,
    attribute: str,
    globs: Sequence[str] = (),
    *,
    fits_by_input: bool = False,
) -> tuple[str, dict[str, list[Trajectory]]]:
    """Return the text of an eval set whose cases expect nothing yet, and the trajectories of each case.

    Trajectories with the same attribute are one case; those without it are grouped by input. With `fits_by_input`, the
    input of a case without the attribute is written as `when`, by which its traces are found again.

    Raises:
        InputError: there is no trajectory.
    """
    groups = _grouped(trajectories, attribute, globs, by_input=True)
    if not groups:
        raise InputError("there are no traces to make a case from")
    is_known = [bool(group[0].metadata.get(attribute)) or not fits_by_input for group in groups.values()]
    inputs = [_input(group[0]) for group in groups.values()]
    asked = [each if known or not each else {"when": each} for each, known in zip(inputs, is_known, strict=True)]
    cases = [{"id": case_id, **each} for case_id, each in zip(groups, asked, strict=True)]
    # One key per line, so that keys added to a case get lines of their own.
    lines = [[f"{key}: {flow_text(value)}" for key, value in case.items()] for case in cases]
    text = "\n".join(["cases:", *["  - " + "\n    ".join(each) for each in lines]]) + "\n"
    return text if not path.endswith(".json") and _is_eval_set(text, path) else _text({"cases": cases}, path), groups


def _grouped(
    trajectories: Sequence[Trajectory], attribute: str, globs: Sequence[str], *, by_input: bool = False
) -> dict[str, list[Trajectory]]:
    groups: dict[str, list[Trajectory]] = {}
    seen: Counter[str] = Counter()
    for number, trajectory in enumerate(trajectories):
        named = trajectory.metadata.get(attribute)
        if not named and by_input:
            named = _slug(trajectory.input)
        case_id = str(named)[:300] if named else trajectory.trace_id or _slug(trajectory.input) or f"case-{number + 1}"
        if not named:
            seen[case_id] += 1
            case_id += f"-{seen[case_id]}" if seen[case_id] > 1 else ""
        if not globs or any(fnmatchcase(case_id, glob) for glob in globs):
            groups.setdefault(case_id, []).append(trajectory)
    return groups


def _slug(given: Any) -> str:
    text = given if isinstance(given, str) else "" if given is None else json.dumps(given)
    return _NOT_IN_SLUGS.sub("-", text.lower())[:_LONGEST].strip("-")


def _outcome(case_id: str, group: Sequence[Trajectory]) -> CaseOutcome:
    incomplete = next((trajectory for trajectory in group if not trajectory.calls_recorded), None)
    if incomplete is not None:
        why = missing_calls(incomplete)
        return CaseOutcome(case_id, "left", why.code, why.message)
    if any(_calls(trajectory) != _calls(group[0]) for trajectory in group):
        return CaseOutcome(case_id, "left", "RC102", f"its {len(group)} traces disagree", is_failed=True)
    unrecorded = sum("args" in call.unrecorded for call in group[0].calls)
    return CaseOutcome(case_id, "updated", unrecorded=unrecorded)


def _calls(trajectory: Trajectory) -> list[Any]:
    return [new_call(call, "subset", spelt_out=False) for call in trajectory.calls if not call.internal]


def _written(case_id: str, trajectory: Trajectory) -> dict[str, Any]:
    return {"id": case_id, **_input(trajectory), "expect": {"calls": _calls(trajectory)}}


def _input(trajectory: Trajectory) -> dict[str, Any]:
    return {} if trajectory.input is None else {"input": trajectory.input}


def _text(value: Any, path: str) -> str:
    text = dump_yaml(value)
    if path.endswith(".json") or not _is_eval_set(text, path):
        return json.dumps(value, indent=2) + "\n"
    return text


def _is_eval_set(text: str, path: str) -> bool:
    """Return whether the text loads. YAML cannot express half of a surrogate pair, which JSON can."""
    try:
        parse_eval_set(text, path)
    except (InputError, UnicodeError):
        return False
    return True
