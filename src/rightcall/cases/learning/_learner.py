"""Learn an expectation from good runs, at the strictest level that other good runs would meet, and write it down.

The levels, strictest first: the whole path, what the runs have in common, and what they change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from rightcall.cases.accepting import Observed
from rightcall.cases.evalsets import Case, DocumentEditor, EvalSet, line_end, parse_eval_set
from rightcall.cases.verdicts import judge
from rightcall.errors import DocumentError, RightcallError
from rightcall.judging import is_word
from rightcall.values.decoding import Edit, Node, apply_edits, decode_document, find_spans, is_json
from rightcall.values.results import missing_calls
from rightcall.values.trajectory import Trajectory

from ._slots import Positions, Slot, Tree, calls_of, common_args, is_failed, line_up, structure, unordered

ENOUGH = 0.9
"""The share of left-out runs that a level has to accept. Below it, the next weaker level is tried."""
FEW = 5
"""With fewer runs the whole path is not expected: what was true of N runs fails in the next with a probability of up
to 1/(N + 1), bounds on a count with up to 2/(N + 1), and a whole path consists of many of both."""
_MOST_LEFT_OUT = 20
Level: TypeAlias = Literal[0, 1, 2]
READING = frozenset(
    {
        *("get", "list", "search", "find", "read", "look", "lookup", "fetch", "query", "retrieve", "browse"),
        *("check", "show", "view", "describe", "inspect", "count", "calculate", "think"),
    }
)
"""First words in the names of tools that look something up and change nothing.

Traces do not say what a tool changes, so its name has to. In the good runs of tau-bench's airline cases these are the
calls that vary; the others are the bookings, changes and cancellations that make a run right or wrong.
"""
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
Path: TypeAlias = tuple[str | int, ...]
_LEAST = 0.5
"""The share of left-out runs that the weakest level has to accept. Below it, the case is not changed."""
_SUPPORT = re.compile(r"  # (?:\d+ (?:to \d+ )?of \d+ runs|learned from .*)$")

Golden = Literal["passed", "all"]


class Lesson(msgspec.Struct, frozen=True):
    """A learned expectation, and how well it held for runs that were left out."""

    learned: Learned
    accepted: int
    """How many left-out runs meet the expectation learned from the others."""
    left_out: int
    """How many runs were left out, one at a time; 0 if there was only one run."""
    weaker_than: tuple[tuple[Level, int, int], ...] = ()
    """The stricter levels that were tried, and how many left-out runs each accepted, of how many."""


def learn(
    runs: Sequence[Trajectory],
    *,
    around: Mapping[str, Any] | None = None,
    strict: Level | None = None,
    tools: Sequence[str] = (),
) -> Lesson | None:
    """Return one expectation that all runs meet; `None` if they have nothing in common that can be judged.

    Args:
        runs: The good runs, at least one.
        around: The decoded eval set that the expectation is for; its defaults apply.
        strict: The level; by default the strictest that accepts 90 % of runs that are left out.
        tools: Tools that the agent is known to have, beside those of these runs.
    """
    trial = DraftJudge(around or {})
    defaults = (around or {}).get("defaults") or {}
    tried: list[tuple[Level, int, int]] = []
    best: Lesson | None = None
    # Runs without a call have one path, however few they are: to allow lookups would loosen `calls: []`.
    is_whole = len(runs) >= FEW or not any([calls_of(run) for run in runs])
    levels: tuple[Level, ...] = (strict,) if strict is not None else (2, 1, 0) if is_whole else (1, 0)
    for level in levels:
        learned = _explicit(learn_at(level, runs, tools), defaults)
        if not trial.accepts(learned, runs):
            continue
        accepted, left_out = leave_one_out(level, runs, tools, trial)
        # A weaker level that accepts no more would give something away for nothing; of a few runs that is not known.
        if best is None or accepted > best.accepted or len(runs) < FEW:
            best = Lesson(learned, accepted, left_out, tuple(tried))
        if strict is not None or not left_out or accepted >= ENOUGH * left_out:
            return best
        tried.append((level, accepted, left_out))
    return best


def _explicit(learned: Learned, defaults: Mapping[str, Any]) -> Learned:
    """Write out the settings that the eval set's own defaults would otherwise change."""
    settings = {"match": "exact", "args": "subset", "extra": "forbid", "failed": "count"}
    needed = {key: value for key, value in settings.items() if key in defaults}
    if not needed:
        return learned
    calls = learned.expect["calls"]
    if isinstance(calls, dict):
        return msgspec.structs.replace(learned, expect={**learned.expect, "calls": {**needed, **calls}})
    moved = {(*path[:1], "expected", *path[1:]): count for path, count in learned.support.items() if path[0] == "calls"}
    others = {path: count for path, count in learned.support.items() if path[0] != "calls"}
    expect = {**learned.expect, "calls": {"expected": calls, **needed}}
    return msgspec.structs.replace(learned, expect=expect, support=moved | others)


def leave_one_out(level: Level, runs: Sequence[Trajectory], tools: Sequence[str], trial: DraftJudge) -> tuple[int, int]:
    """Return how many left-out runs meet the expectation learned from the others, and how many were left out."""
    if len(runs) < 2:
        return 0, 0
    step = max(1, len(runs) // _MOST_LEFT_OUT)
    chosen = range(0, len(runs), step)
    accepted = 0
    for number in chosen:
        others = [run for place, run in enumerate(runs) if place != number]
        accepted += trial.accepts(learn_at(level, others, tools), [runs[number]])
    return accepted, len(chosen)


class DraftJudge:
    """Judge runs by a learned expectation, as a case of the eval set would."""

    def __init__(self, around: Mapping[str, Any]) -> None:
        self._around = {key: value for key, value in around.items() if key != "cases"}

    def accepts(self, learned: Learned, runs: Sequence[Trajectory]) -> bool:
        """Return whether all runs meet the learned expectation."""
        case = self.case(learned.expect)
        return case is not None and all([judge(case, run).passed for run in runs])

    def case(self, expect: Mapping[str, Any]) -> Case | None:
        """Return a case with this expectation; `None` if it cannot be loaded."""
        document = {**self._around, "cases": [{"id": "trial", "expect": expect}]}
        try:
            [case] = parse_eval_set(json.dumps(document), "trial").cases
        except DocumentError:
            return None
        return case


class Learned(msgspec.Struct, frozen=True):
    """Keys of `expect`, and the number of runs that support each part of them."""

    expect: dict[str, Any]
    support: dict[Path, int]
    level: Level
    runs: int


def is_reading(tool: str) -> bool:
    """Return whether the name of a tool is that of a lookup: `get_user`, `mcp__github__list_issues`."""
    words = _WORDS.findall(tool.rsplit("__", 1)[-1].rsplit(".", 1)[-1])
    return bool(words) and words[0].lower() in READING


def learn_at(level: Level, runs: Sequence[Trajectory], tools: Sequence[str] = ()) -> Learned:
    """Return what good runs have in common, at one level.

    Level 2 is the whole path: nothing else may be called. Level 1 has all calls that change something; lookups that
    every run makes are required, and more of them are allowed. Level 0 has the calls that change something, in any
    order, and nothing else.

    Args:
        level: The level.
        runs: The good runs. Their order does not matter.
        tools: Tools that the agent is known to have, beside those of these runs.
    """
    # Slots depend on the order of runs, so sort them: the same runs then give the same slots.
    ordered = sorted(runs, key=lambda run: repr([(call.name, call.args) for call in run.calls]))
    made = _whole(ordered) if level == 2 else _effects(ordered, tools, level)
    answer = _answer(ordered)
    expect = {**made.expect, **answer} if level else made.expect
    support = made.support | {(key,): len(runs) for key in answer if level}
    return msgspec.structs.replace(made, expect=expect, support=support)


def _answer(runs: Sequence[Trajectory]) -> dict[str, Any]:
    answers = [run.output for run in runs]
    if (
        len(runs) < 2
        or not isinstance(answers[0], str)
        or not answers[0]
        or any([each != answers[0] for each in answers])
    ):
        return {}
    return {"output": answers[0]}


def _whole(runs: Sequence[Trajectory]) -> Learned:
    looked_at = [(run, calls_of(run)) for run in runs]
    lined = line_up(looked_at)
    writer = _Writer(lined.slots, len(runs), bounded=True)
    steps = writer.steps(structure(lined.runs), ("calls",))
    return Learned({"calls": steps}, writer.support, 2, len(runs))


def _effects(runs: Sequence[Trajectory], tools: Sequence[str], level: Level) -> Learned:
    has_failed = any([is_failed(call) for run in runs for call in run.calls])
    changing = [(run, [each for each in calls_of(run) if not _is_left_out(run, each)]) for run in runs]
    inside: Path = ("calls", "expected")
    repeated = _repeated(changing)
    singles = [(run, [each for each in row if run.calls[each].name not in repeated]) for run, row in changing]
    lined = line_up(singles, folds=False)
    writer = _Writer(lined.slots, len(runs), bounded=False)
    tree = unordered(lined.runs) if level == 0 or repeated else structure(lined.runs)
    steps = writer.steps(tree, inside) if not repeated else writer.any_order(tree, repeated, changing, inside)
    calls: dict[str, Any] = {"expected": steps}
    seen = {call.name for run in runs for call in run.calls if not call.internal} | {*tools}
    if ignored := sorted({_pattern(tool) for tool in seen if is_reading(tool)}):
        calls["ignore_tools"] = ignored
    if has_failed:
        calls["failed"] = "ignore_suspected"
    support = writer.support
    expect: dict[str, Any] = {"calls": calls}
    if level == 1 or not any([row for _, row in changing]):
        more, lines = _lookups(runs, with_args=level == 1)
        expect, support = expect | more, support | lines
    return Learned(expect, support, level, len(runs))


def _is_left_out(run: Trajectory, position: int) -> bool:
    """Return whether a call changes nothing, because it is a lookup or failed."""
    call = run.calls[position]
    return is_reading(call.name) or is_failed(call)


def _repeated(runs: Positions) -> dict[str, tuple[int, int]]:
    """Return tools whose number of calls varies and exceeds one in some run, with the least and the most calls."""
    names = [[run.calls[each].name for each in row] for run, row in runs]
    counts = {tool: [each.count(tool) for each in names] for tool in sorted({name for each in names for name in each})}
    return {tool: (min(each), max(each)) for tool, each in counts.items() if max(each) > 1 and min(each) != max(each)}


def _pattern(tool: str) -> str:
    """Return a pattern for all tools with the same first word, `get_*` for `get_user`; else the name itself."""
    found = re.match(r"[A-Za-z]+_(?!_)", tool)
    return f"{found[0]}*" if found and found[0][:-1].lower() in READING else tool


def _lookups(runs: Sequence[Trajectory], *, with_args: bool) -> tuple[dict[str, Any], dict[Path, int]]:
    """Return `args` and `counts` for the lookups that all runs made."""
    reading = [(run, [each for each in calls_of(run) if is_reading(run.calls[each].name)]) for run in runs]
    lined = line_up(reading, folds=False)
    needed = [
        slot
        for label, slot in enumerate(lined.slots)
        if all([label in run for run in lined.runs])
    ]  # fmt: skip
    args = [(slot.tool, common_args(slot.sightings, len(runs))) for slot in needed if with_args]
    items = [_call(tool, common) for tool, common in args if common]
    counts = {}
    for tool in sorted({slot.tool for slot in needed}):
        least = sum([slot.tool == tool for slot in needed])
        if least > sum([name == tool for name, common in args if common]):
            counts[tool] = f">= {least}"
    expect: dict[str, Any] = ({"args": items} if items else {}) | ({"counts": counts} if counts else {})
    support: dict[Path, int] = {("args", place): len(runs) for place in range(len(items))}
    return expect, support | {("counts", tool): len(runs) for tool in counts}


class _Writer:
    """Write a structure as steps, and record how many runs support each."""

    def __init__(self, slots: Sequence[Slot], runs: int, *, bounded: bool) -> None:
        self._slots = slots
        self._runs = runs
        self._bounded = bounded
        self.support: dict[Path, int] = {}

    def steps(self, tree: Tree | None, path: Path) -> list[Any]:
        """Return a list of steps."""
        if tree is None:
            return []
        if tree.kind == "sequence" and not tree.is_optional:
            return [self._step(item, (*path, place)) for place, item in enumerate(tree.items)]
        return [self._step(tree, (*path, 0))]

    def any_order(
        self, tree: Tree | None, repeated: dict[str, tuple[int, int]], runs: Positions, path: Path
    ) -> list[Any]:
        """Return one group of the single steps and a `repeat` for each tool whose number of calls varies."""
        is_group = tree is not None and tree.kind == "any_order"
        items = [] if tree is None else [*tree.items] if is_group else [tree]
        inner: Path = (*path, 0, "any_order") if len(items) + len(repeated) > 1 else path
        steps = [self._step(item, (*inner, place)) for place, item in enumerate(items)]
        for tool, (least, _) in repeated.items():
            self.support[(*inner, len(steps))] = sum(
                [any([run.calls[p].name == tool for p in row]) for run, row in runs]
            )
            steps.append({"repeat": _call(tool, {}), "at_least": least})
        return [{"any_order": steps}] if len(steps) > 1 else steps

    def _step(self, tree: Tree, path: Path) -> Any:
        if tree.is_optional:
            inner = self._group(tree, (*path, "optional"))
            self.support[path] = tree.support
            return {"optional": inner}
        return self._group(tree, path)

    def _group(self, tree: Tree, path: Path) -> Any:
        if tree.kind == "call":
            self.support[path] = tree.support
            return self._slot(self._slots[tree.label])
        if tree.kind == "sequence":
            return [self._step(item, (*path, place)) for place, item in enumerate(tree.items)]
        return {tree.kind: [self._step(item, (*path, tree.kind, place)) for place, item in enumerate(tree.items)]}

    def _slot(self, slot: Slot) -> Any:
        if not slot.block:
            return _call(slot.tool, common_args(slot.sightings, self._runs))
        inside = [_call(each.tool, common_args(each.sightings, 1)) for each in slot.block]
        least, most = slot.rounds
        loop: dict[str, Any] = {"repeat": inside if len(inside) > 1 else inside[0], "at_least": least}
        return {**loop, "at_most": most} if self._bounded else loop


def _call(tool: str, args: dict[str, Any]) -> Any:
    if not args:
        return {"name": tool} if is_word(tool) else tool
    return {"name": tool, "args": args} if is_word(tool) else {tool: args}


class LearnedCase(msgspec.Struct, frozen=True, kw_only=True):
    """What was learned about one case, or why it was not changed."""

    case_id: str
    kind: Literal["learned", "unchanged", "left"]
    lesson: Lesson | None = None
    runs: tuple[Trajectory, ...] = ()
    """The good runs."""
    code: str = ""
    reason: str = ""
    is_failed: bool = False
    """Whether a case with kind `left` has runs, but none pass or no expectation can be written for them."""


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
        eval_set: The parsed eval set.
        observed: The runs of each case.
        golden: Which runs are good: those that pass now, or all. For a case that expects nothing, all are good.
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
            f"teach; `rightcall stats --case {case.id}` says where they diverge"
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
    """Return the outcome as `unchanged` if the case expects the same already."""
    if found.kind != "learned" or found.lesson is None:
        return found
    number = [case.id for case in eval_set.cases].index(found.case_id)
    before = document["cases"][number].get("expect") or {}
    same = all([before.get(key) == value for key, value in found.lesson.learned.expect.items()])
    return msgspec.structs.replace(found, kind="unchanged") if same else found


def _annotated(text: str, eval_set: EvalSet, made: Sequence[LearnedCase]) -> str:
    """Append a comment to each learned line that says how many runs support it."""
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
    # Inside a multi-line string, the comment would become part of the value.
    return annotated if decode_document(annotated).value == value else text


def _begin(root: Node, value: Any, path: Path) -> int:
    """Return the offset at which the key or item at a path begins."""
    node, begin = root, root.start
    for step in path:
        place = list(value).index(step) if isinstance(value, dict) else int(step)
        entry = node.entries[place]
        node, begin, value = entry.value, entry.begin, value[step]
    return begin


def _support(counts: Sequence[tuple[int, int]]) -> str:
    """Return the comment for everything on one line."""
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
    """Return the edits from one string to another, by whole lines."""
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
