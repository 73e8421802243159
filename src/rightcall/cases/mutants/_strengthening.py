"""Try an eval set on faults, and edit its text so that it notices those that it let pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from rightcall.cases.evalsets import Case, DocumentEditor, EvalSet, parse_eval_set
from rightcall.errors import DocumentError, RightcallError
from rightcall.values.decoding import Edit, apply_edits
from rightcall.values.results import MutationReport
from rightcall.values.trajectory import Trajectory

from ._mutation import Golden, Tried, answer_of, golden_of, pool_of, told_case, try_case
from ._operators import OPERATORS, Operator
from ._remedies import Remedied, remedied

_MOST_PROPOSED = 30
"""Cases that lines are looked for in, unless they are to be written: each line is loaded and judged before."""


class Strengthened(msgspec.Struct, frozen=True):
    """What an eval set noticed, and its text with the lines that notice more."""

    report: MutationReport
    after: str
    edits: Sequence[Edit] = ()
    refused: Mapping[str, str] = {}
    """Cases whose lines cannot be written into the text, with the reason."""


def mutate(
    eval_set: EvalSet,
    observed: Mapping[str, Sequence[Trajectory]],
    *,
    cases: Sequence[Case] | None = None,
    text: str | None = None,
    operators: Sequence[Operator] = OPERATORS,
    count_all: bool = False,
    judges: bool = False,
    edits: bool = False,
) -> Strengthened:
    """Put faults into trajectories that pass, and judge each.

    Args:
        eval_set: The eval set.
        observed: The trajectories of each case; those that pass are used.
        cases: The cases to try; all by default.
        text: The text of the eval set, in the native format; lines are proposed for it.
        operators: The faults.
        count_all: Whether faults count that are none, such as calls in another order where the order is free.
        judges: Whether cases are tried that a model judges.
        edits: Whether the lines are put into the text.

    Raises:
        RightcallError: the edited text would be wrong. It must not be written.
    """
    golden, others = golden_of(eval_set.cases if cases is None else cases, observed, judges=judges)
    pool = pool_of(golden)
    tried = [try_case(each, pool, operators, count_all=count_all) for each in golden]
    editing = _Editing(text, eval_set) if text is not None else None
    remedies = editing.remedies(tried, None if edits else _MOST_PROPOSED) if editing is not None else {}
    lines = {case_id: found.lines for case_id, found in remedies.items()}
    told = [told_case(each, lines.get(each.golden.case.id)) for each in tried]
    report = MutationReport(evalset=eval_set.path, operators=tuple(operators), cases=tuple(told), not_tried=others)
    if editing is None or not edits:
        return Strengthened(report, text or "")
    return editing.written(report, {each.golden.case.id: each for each in tried}, remedies)


class _Editing:
    """The text of an eval set, while lines are found for it."""

    def __init__(self, text: str, eval_set: EvalSet) -> None:
        self._text = text
        self._path = eval_set.path
        self._editor = DocumentEditor(text)
        self._numbers = {case.id: number for number, case in enumerate(eval_set.cases)}

    def remedies(self, tried: Sequence[Tried], most: int | None) -> dict[str, Remedied]:
        """Return the lines of each case, those with most survivors first."""
        document = self._editor.value
        found: dict[str, Remedied] = {}
        for each in sorted(tried, key=lambda one: -len(one.survived))[:most]:
            if each.survived:
                case_id = each.golden.case.id
                found[case_id] = remedied(each, document, document["cases"][self._numbers[case_id]])
        return found

    def written(
        self, report: MutationReport, tried: Mapping[str, Tried], remedies: Mapping[str, Remedied]
    ) -> Strengthened:
        """Put the lines into the text. Raises `RightcallError`."""
        refused: dict[str, str] = {}
        for case_id, number in self._numbers.items():
            if case_id not in remedies or not remedies[case_id].lines:
                continue
            before = self._editor.value["cases"][number]
            try:
                self._editor.change(("cases", number), {**before, "expect": remedies[case_id].expect})
            except DocumentError as problem:
                refused[case_id] = str(problem)
        edits = self._editor.edits()
        after = apply_edits(self._text, edits)
        if edits:
            self._verify(after, {key: tried[key] for key in remedies if key not in refused}, remedies)
        return Strengthened(report, after, edits, refused)

    def _verify(self, after: str, tried: Mapping[str, Tried], remedies: Mapping[str, Remedied]) -> None:
        # The file is the user's work: check the text itself, not the values that it was made from.
        try:
            cases = {case.id: case for case in parse_eval_set(after, self._path).cases}
        except DocumentError as problem:
            raise RightcallError(f"{self._path}: not edited, because it would be wrong: {problem}") from None
        for case_id, each in tried.items():
            if not _is_better(cases[case_id], each.golden, each, remedies[case_id]):
                raise RightcallError(f"{self._path}: not edited, because {case_id} would not be judged as it should")


def _is_better(case: Case, golden: Golden, tried: Tried, remedy: Remedied) -> bool:
    """Whether what passed still passes, and each fault that has a line is noticed."""
    # An expectation that needs code of the user is not imported here: it says neither yes nor no, and is as it was.
    passes = all([answer_of(case, trajectory) != "noticed" for trajectory in golden.trajectories])
    return passes and all([answer_of(case, tried.survived[number].trajectory) == "noticed" for number in remedy.lines])
