"""Write what was learned into the text of an eval set, each line with its support as a comment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from rightcall.cases.accepting import Observed
from rightcall.cases.evalsets import Case, DocumentEditor, EvalSet, line_end, parse_eval_set
from rightcall.cases.verdicts import judge
from rightcall.errors import DocumentError, RightcallError
from rightcall.values.decoding import Edit, Node, apply_edits, decode_document, find_spans, is_json
from rightcall.values.results import missing_calls
from rightcall.values.trajectory import Trajectory

from ._learner import FEW, Lesson, Level, Path, learn

_LEAST = 0.5
"""Below this share the weakest level says nothing about the next run, and the case is left alone."""
_SUPPORT = re.compile(r"  # (?:\d+ (?:to \d+ )?of \d+ runs|learned from .*)$")

Golden = Literal["passed", "all"]


class LearnedCase(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of one case."""

    case_id: str
    kind: Literal["learned", "unchanged", "left"]
    lesson: Lesson | None = None
    runs: tuple[Trajectory, ...] = ()
    """The good runs."""
    code: str = ""
    reason: str = ""
    is_failed: bool = False
    """Whether a case that is left alone was measured, and no one expectation suits its runs."""


class Lessons(msgspec.Struct, frozen=True):
    """The text of an eval set before and after, and the outcome of each case."""

    before: str
    after: str
    edits: Sequence[Edit]
    cases: Sequence[LearnedCase]


def learn_eval_set(
    text: str,
    eval_set: EvalSet,
    observed: Mapping[str, Observed],
    *,
    golden: Golden = "passed",
    strict: Level | None = None,
) -> Lessons:
    """Replace the expected calls in the text of an eval set by what the good runs of each case have in common.

    Cases that `observed` does not name are not changed. Every good run meets what is written.

    Args:
        text: The text, in the native format.
        eval_set: What it says.
        observed: The runs of each case.
        golden: Which are good: those that pass now, or all. Of a case that expects nothing all are.
        strict: The level; by default the strictest that accepts 90 % of runs that are left out.

    Raises:
        RightcallError: the edited text would not load, or a good run would not pass it. It must not be written.
    """
    editor = DocumentEditor(text)
    tools = sorted({name for each in observed.values() for run in each.trajectories for name in run.names})
    made: list[LearnedCase] = []
    for number, case in enumerate(eval_set.cases):
        if case.id not in observed:
            continue
        written = editor.value["cases"][number]
        found = _learned(case, written, observed[case.id], editor.value, golden, strict, tools)
        if found.kind == "learned" and found.lesson is not None:
            expect = {**(written.get("expect") or {}), **found.lesson.learned.expect}
            try:
                if written.get("expect"):
                    editor.rewrite(("cases", number, "expect"), expect)
                else:
                    editor.change(("cases", number), {**written, "expect": expect})
            except DocumentError as problem:
                found = LearnedCase(case_id=case.id, kind="left", reason=str(problem), is_failed=True)
        made.append(found)
    after = apply_edits(text, editor.edits())
    made = [_unchanged(each, eval_set, editor.value) for each in made]
    after = _annotated(after, eval_set, made) if not is_json(text) else after
    _verify(after, eval_set, made)
    return Lessons(text, after, _edits(text, after), made)


def _learned(
    case: Case,
    written: Mapping[str, Any],
    observed: Observed,
    document: Mapping[str, Any],
    golden: Golden,
    strict: Level | None,
    tools: Sequence[str],
) -> LearnedCase:
    whole = [run for run in observed.trajectories if run.calls_recorded and not run.not_understood]
    if not whole:
        return _unobserved(case, observed)
    runs = whole
    if case.checks and golden == "passed":
        runs = [run for run in whole if judge(case, run).passed]
        if not runs:
            of_all = "its only run does not pass" if len(whole) == 1 else f"none of its {len(whole)} runs passes"
            reason = f"{of_all}; --golden all takes every run as good"
            return LearnedCase(case_id=case.id, kind="left", reason=reason, is_failed=True)
    if any([isinstance(turn, dict) and turn.get("expect") for turn in written.get("turns") or ()]):
        return LearnedCase(case_id=case.id, kind="left", reason="it expects calls in its turns", is_failed=True)
    lesson = learn(runs, around=document, strict=strict, tools=tools)
    if lesson is None:
        reason = f"its {len(runs)} runs have nothing in common that can be expected"
        return LearnedCase(case_id=case.id, kind="left", reason=reason, is_failed=True)
    if strict is None and lesson.left_out >= FEW and lesson.accepted < _LEAST * lesson.left_out:
        reason = (
            f"its paths differ too much: {lesson.accepted} of {lesson.left_out} runs are accepted by what the others "
            f"teach; `rightcall stats --case {case.id}` says where they part"
        )
        return LearnedCase(case_id=case.id, kind="left", reason=reason, is_failed=True)
    return LearnedCase(case_id=case.id, kind="learned", lesson=lesson, runs=tuple(runs))


def _unobserved(case: Case, observed: Observed) -> LearnedCase:
    if observed.trouble is not None:
        code, reason = observed.trouble
    elif observed.trajectories:
        why = missing_calls(observed.trajectories[0])
        code, reason = why.code, why.message
    else:
        code, reason = "RC303", "no trace belongs to this case"
    return LearnedCase(case_id=case.id, kind="left", code=code, reason=reason)


def _unchanged(found: LearnedCase, eval_set: EvalSet, document: Any) -> LearnedCase:
    """Return a case that was learned as unchanged, if it says the same already."""
    if found.kind != "learned" or found.lesson is None:
        return found
    number = [case.id for case in eval_set.cases].index(found.case_id)
    before = document["cases"][number].get("expect") or {}
    same = all([before.get(key) == value for key, value in found.lesson.learned.expect.items()])
    return msgspec.structs.replace(found, kind="unchanged") if same else found


def _annotated(text: str, eval_set: EvalSet, made: Sequence[LearnedCase]) -> str:
    """Return a text with the support of each line that was learned behind it."""
    comments: dict[int, list[tuple[int, int]]] = {}
    heads: dict[int, str] = {}
    root, value = find_spans(text, is_json=False), decode_document(text).value
    numbers = {case.id: number for number, case in enumerate(eval_set.cases)}
    for found in made:
        if found.kind != "learned" or found.lesson is None:
            continue
        inside: Path = ("cases", numbers[found.case_id], "expect")
        heads[line_end(text, _begin(root, value, inside))] = _head(found.lesson)
        for path, count in found.lesson.learned.support.items():
            place = line_end(text, _begin(root, value, (*inside, *path)))
            comments.setdefault(place, []).append((count, found.lesson.learned.runs))
    written = {place: _support(counts) for place, counts in comments.items()} | heads
    annotated = _with_comments(text, written)
    # A comment in the middle of a text of several lines would be part of it.
    return annotated if decode_document(annotated).value == value else text


def _begin(root: Node, value: Any, path: Path) -> int:
    """Return where the key or the item at a path begins."""
    node, begin = root, root.start
    for step in path:
        place = list(value).index(step) if isinstance(value, dict) else int(step)
        entry = node.entries[place]
        node, begin, value = entry.value, entry.begin, value[step]
    return begin


def _support(counts: Sequence[tuple[int, int]]) -> str:
    """Return the support of all that is on one line."""
    seen = sorted([count for count, _ in counts])
    least = f"{seen[0]}" if seen[0] == seen[-1] else f"{seen[0]} to {seen[-1]}"
    return f"{least} of {counts[0][1]} runs"


def _head(lesson: Lesson) -> str:
    runs = lesson.learned.runs
    if not lesson.left_out:
        return "learned from 1 run"
    return f"learned from {runs} runs; left out, {lesson.accepted} of {lesson.left_out} are accepted"


def _with_comments(text: str, written: Mapping[int, str]) -> str:
    parts, end = [], len(text)
    for place in sorted(written, reverse=True):
        begin = text.rfind("\n", 0, place) + 1
        line = _SUPPORT.sub("", text[begin:place]) + f"  # {written[place]}"
        parts += [text[place:end], line]
        end = begin
    return "".join([text[:end], *reversed(parts)])


def _edits(before: str, after: str) -> list[Edit]:
    """Return the changes from one text to another, line by line."""
    if before == after:
        return []
    import difflib

    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    changes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [
        Edit(starts[first], starts[last], "".join(new[begin:end]))
        for kind, first, last, begin, end in changes
        if kind != "equal"
    ]


def _verify(after: str, eval_set: EvalSet, made: Sequence[LearnedCase]) -> None:
    learned = [found for found in made if found.kind == "learned"]
    if not learned:
        return
    # The file is the user's work: check the text itself, not the values that it was made from.
    try:
        cases = {case.id: case for case in parse_eval_set(after, eval_set.path).cases}
    except DocumentError as problem:
        raise RightcallError(f"{eval_set.path}: not edited, because it would be wrong: {problem}") from None
    for found in learned:
        wrong = sum([not judge(cases[found.case_id], run).passed for run in found.runs])
        if wrong:
            raise RightcallError(
                f"{eval_set.path}: not edited: {wrong} of the {len(found.runs)} runs of {found.case_id} would not pass "
                "because of what else the case expects; remove that, or leave out --golden all"
            )
