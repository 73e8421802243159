"""Try an eval set on faults, find the lines that would notice those it let pass, and write them into its text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from rightcall.cases.evalsets import Case, DocumentEditor, EvalSet, criteria_path, flow_text, parse_eval_set
from rightcall.errors import DocumentError, RightcallError
from rightcall.judging import STEP_WORDS
from rightcall.values.decoding import Edit, apply_edits
from rightcall.values.results import WORLD_OPERATORS, MutationReport
from rightcall.values.trajectory import Trajectory

from ._changes import leaves, replaced, value_at
from ._mutation import Golden, Tried, answer_of, golden_of, mutated_case, pool_of, try_case
from ._operators import OPERATORS, Mutant, Operator

_MOST_PROPOSED = 30
"""Cases that lines are looked for in, unless they are to be written: each line is loaded and judged before."""
_WORD = re.compile(r"\w[\w'-]{2,}")
_LONGEST_PHRASE = 60


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
    counted = [mutated_case(each, lines.get(each.golden.case.id)) for each in tried]
    report = MutationReport(evalset=eval_set.path, operators=tuple(operators), cases=tuple(counted), not_tried=others)
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
                raise RightcallError(f"{self._path}: not edited, because {case_id} would not be judged as intended")


def _is_better(case: Case, golden: Golden, tried: Tried, remedy: Remedied) -> bool:
    """Whether what passed still passes, and each fault that has a line is noticed."""
    # An expectation that needs code of the user is not imported here: it says neither yes nor no, and is as it was.
    passes = all([answer_of(case, trajectory) != "noticed" for trajectory in golden.trajectories])
    return passes and all([answer_of(case, tried.survived[number].trajectory) == "noticed" for number in remedy.lines])


class Remedy(msgspec.Struct, frozen=True):
    """A change of one key of `expect`, and how it is shown."""

    key: str
    value: Any
    line: str


class Remedied(msgspec.Struct, frozen=True):
    """A case with the lines that notice its survivors: the new `expect`, and the line of each survivor."""

    expect: dict[str, Any]
    lines: dict[int, str]
    """By the number of the survivor. Those that no line notices are missing."""


def remedied(tried: Tried, document: Mapping[str, Any], written: Mapping[str, Any]) -> Remedied:
    """Return lines for the survivors of a case. Each was tried: what passed still passes, and the fault does not.

    Args:
        tried: The case, and the faults that it let pass.
        document: The decoded eval set, whose defaults count.
        written: The case in it.
    """
    trial = _Trial(document, tried.golden)
    expect = dict(written.get("expect") or {})
    lines: dict[int, str] = {}
    open_survivors = {
        number: mutant for number, mutant in enumerate(tried.survived) if mutant.operator not in WORLD_OPERATORS
    }
    for number in sorted(open_survivors):
        mutant = open_survivors.get(number)
        if mutant is None:  # a line for another fault notices it, too
            continue
        for remedy in _remedies(mutant, tried.golden.original, expect):
            case = trial.accepted(remedy, mutant)
            if case is None:
                continue
            expect = {**expect, remedy.key: remedy.value}
            caught = [each for each, other in open_survivors.items() if answer_of(case, other.trajectory) == "noticed"]
            lines |= dict.fromkeys(caught, remedy.line)
            open_survivors = {each: other for each, other in open_survivors.items() if each not in caught}
            break
    return Remedied(expect, lines)


class _Trial:
    """Tries changed keys of a case on its trajectories."""

    def __init__(self, document: Mapping[str, Any], golden: Golden) -> None:
        self._around = {key: value for key, value in document.items() if key != "cases"}
        self._golden = golden

    def accepted(self, remedy: Remedy, mutant: Mutant) -> Case | None:
        """Return a case with nothing but the changed key, if what passed passes it and the fault does not."""
        # The other keys are as they were, and pass: only the changed one has to be judged again.
        trial = {**self._around, "cases": [{"id": "trial", "expect": {remedy.key: remedy.value}}]}
        try:
            [case] = parse_eval_set(json.dumps(trial), "trial").cases
        except DocumentError:
            return None
        if any([answer_of(case, golden) != "let pass" for golden in self._golden.trajectories]):
            return None
        return case if answer_of(case, mutant.trajectory) == "noticed" else None


def _remedies(mutant: Mutant, original: Trajectory, expect: Mapping[str, Any]) -> Iterator[Remedy]:
    if mutant.operator.startswith("argument"):
        yield from _of_argument(mutant, original, expect)
    elif mutant.operator == "swap":
        yield from _of_order(mutant, original, expect)
    elif mutant.operator == "extra":
        yield from _appended(expect, "never", "forbidden-tools", mutant.tool)
    elif mutant.operator == "answer":
        yield from _of_answer(original, expect)
    else:
        yield from _of_counts(mutant, original, expect)
        yield from _of_order(mutant, original, expect)


def _of_argument(mutant: Mutant, original: Trajectory, expect: Mapping[str, Any]) -> Iterator[Remedy]:
    if mutant.position is None:
        return
    call, key = original.calls[mutant.position], str(mutant.path[0])
    if key not in (call.args or {}):
        return
    from rightcall.cases.accepting import literal

    value = literal((call.args or {})[key])
    earlier = [each for each in original.calls[: mutant.position] if each.name == call.name]
    named = {call.name: {key: value}}
    for where, type_id in (("calls", "tool-trajectory"), ("args", "tool-call-args")):
        inside = _inside(expect, where, type_id)
        if inside is not None and isinstance(inside[1], list):
            changed = _with_argument(inside[1], call.name, len(earlier), key, value)
            if changed is not None:
                yield Remedy(where, inside[0](changed), f"{where}: [… {flow_text(named)}]")
    yield from _appended(expect, "args", "tool-call-args", named)
    same = [each for each in original.calls if each.name == call.name]
    if all([(each.args or {}).get(key) == (call.args or {})[key] for each in same]):
        yield from _appended(expect, "rules", "call-rules", {"call": call.name, "always": {key: value}})


def _with_argument(steps: list[Any], tool: str, nth: int, key: str, value: Any) -> list[Any] | None:
    """Return steps in which the nth call of a tool has one argument more; `None` if there is no such call."""
    places = list(_calls_of(steps, tool, ()))
    if len(places) <= nth:
        return None
    place = places[nth]
    item = value_at(steps, place)
    if isinstance(item, str):
        changed: Any = {item: {key: value}}
    elif isinstance(item.get("name"), str):
        if key in (item.get("args") or {}):
            return None  # what the user wrote about it is not made stricter
        changed = {**item, "args": {**(item.get("args") or {}), key: value}}
    elif not isinstance(item[tool] or {}, dict) or key in (item[tool] or {}):
        return None
    else:
        changed = {tool: {**(item[tool] or {}), key: value}}
    made: list[Any] = replaced(steps, place, changed)
    return made


def _calls_of(value: Any, tool: str, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """Yield where the calls of a tool are in written steps, groups included."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _calls_of(item, tool, (*path, index))
    elif value == tool or (isinstance(value, dict) and (value.get("name") == tool or list(value) == [tool])):
        yield path
    elif isinstance(value, dict):
        for word in STEP_WORDS:
            if word in value and "name" not in value:
                yield from _calls_of(value[word], tool, (*path, word))


def _of_counts(mutant: Mutant, original: Trajectory, expect: Mapping[str, Any]) -> Iterator[Remedy]:
    inside = _inside(expect, "counts", "tool-call-count")
    written = inside[1] if inside is not None and isinstance(inside[1], dict) else {}
    if "counts" in expect and not isinstance(written, dict):
        return
    changed = [mutant.tool, *[name for name in dict.fromkeys(original.names) if name != mutant.tool]]
    for name in changed:
        count = original.names.count(name)
        if name in written or count == mutant.trajectory.names.count(name):
            continue
        value = {**written, name: count}
        yield Remedy("counts", inside[0](value) if inside is not None else value, f"counts: {flow_text({name: count})}")


def _of_order(mutant: Mutant, original: Trajectory, expect: Mapping[str, Any]) -> Iterator[Remedy]:
    if "order" not in expect and "calls" not in expect:
        names = [call.name for call in original.calls if not call.internal]
        yield Remedy("order", names, f"order: {flow_text(names)}")
    if mutant.after and mutant.after != mutant.tool:
        yield from _appended(expect, "rules", "call-rules", {"call": mutant.after, "only_after": mutant.tool})


def _of_answer(original: Trajectory, expect: Mapping[str, Any]) -> Iterator[Remedy]:
    if "output" in expect:
        return
    phrases = _phrases(original) if isinstance(original.output, str) else []
    for phrase in phrases:
        value = {"$contains": phrase}
        yield Remedy("output", value, f"output: {flow_text(value)}")
    if not isinstance(original.output, str):
        yield Remedy("output", original.output, f"output: {flow_text(original.output)}"[:100])


def _phrases(original: Trajectory) -> list[str]:
    """Return parts of an answer that it should hardly go without: what tools returned first, then long words."""
    answer = original.output
    quoted = {
        leaf
        for call in original.calls
        for held in (call.output, call.args)
        for path in leaves(held)
        if isinstance(leaf := value_at(held, path), str) and 3 <= len(leaf) <= _LONGEST_PHRASE and leaf in answer
    }
    words = sorted(set(_WORD.findall(answer)), key=lambda word: (-len(word), word))
    return [*sorted(quoted, key=lambda leaf: (-len(leaf), leaf)), *words][:3]


def _appended(expect: Mapping[str, Any], key: str, type_id: str, item: Any) -> Iterator[Remedy]:
    """Yield a key of `expect` with one item more in its list."""
    line = f"{key}: {flow_text([item])}"
    if key not in expect:
        yield Remedy(key, [item], line)
        return
    inside = _inside(expect, key, type_id)
    if inside is not None and isinstance(inside[1], list) and item not in inside[1]:
        yield Remedy(key, inside[0]([*inside[1], item]), line)


def _inside(expect: Mapping[str, Any], key: str, type_id: str) -> tuple[Callable[[Any], Any], Any] | None:
    """Return what is expected under a key, without the settings beside it, and a function that puts it back."""
    if key not in expect:
        return None
    path: Sequence[str | int] | None = criteria_path(expect[key], type_id)
    if path is None:
        return None
    return (lambda new: replaced(expect[key], path, new)), value_at(expect[key], path)
