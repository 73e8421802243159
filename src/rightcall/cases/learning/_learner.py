"""Learn an expectation from good runs, at the strictest level that other good runs would meet.

The levels: their whole path, what they have in common, what they bring about.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import msgspec

from rightcall.cases.evalsets import Case, parse_eval_set
from rightcall.cases.verdicts import judge
from rightcall.errors import DocumentError
from rightcall.judging import is_word
from rightcall.values.trajectory import Trajectory

from ._slots import Positions, Slot, Tree, calls_of, common_args, is_failed, line_up, structure, unordered

ENOUGH = 0.9
"""The share of left-out runs that a level has to accept, or the next weaker one is taken."""
FEW = 5
"""Below as many runs the whole path is not expected: what held in N runs fails in the next with a chance of up to
1/(N + 1), a bound on a count with 2/(N + 1), and a whole path is made of many of both."""
_MOST_LEFT_OUT = 20
Level: TypeAlias = Literal[0, 1, 2]
READING = frozenset(
    {
        *("get", "list", "search", "find", "read", "look", "lookup", "fetch", "query", "retrieve", "browse"),
        *("check", "show", "view", "describe", "inspect", "count", "calculate", "think"),
    }
)
"""The first words of tools that look something up and change nothing.

Traces do not say what a tool changes, so its name has to. In the good runs of tau-bench's airline cases these are the
calls that come and go; what is left are the bookings, changes and cancellations that make a run right or wrong.
"""
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
Path: TypeAlias = tuple[str | int, ...]


class Lesson(msgspec.Struct, frozen=True):
    """What was learned, and how sure it is."""

    learned: Learned
    accepted: int
    """How many left-out runs were accepted by what the others teach."""
    left_out: int
    """How many were left out, one after the other; 0 if there was one run only."""
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
        around: The eval set that it is for, whose defaults count.
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
    """Return what was learned with its settings written out where the eval set has defaults of its own."""
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
    """Return how many runs are accepted by what the others teach, of how many that were left out in turn."""
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
    """Judges runs by what was learned, as the eval set would."""

    def __init__(self, around: Mapping[str, Any]) -> None:
        self._around = {key: value for key, value in around.items() if key != "cases"}

    def accepts(self, learned: Learned, runs: Sequence[Trajectory]) -> bool:
        """Whether all runs meet what was learned."""
        case = self.case(learned.expect)
        return case is not None and all([judge(case, run).passed for run in runs])

    def case(self, expect: Mapping[str, Any]) -> Case | None:
        """Return a case that expects this; `None` if it cannot be loaded."""
        document = {**self._around, "cases": [{"id": "trial", "expect": expect}]}
        try:
            [case] = parse_eval_set(json.dumps(document), "trial").cases
        except DocumentError:
            return None
        return case


class Learned(msgspec.Struct, frozen=True):
    """Keys of `expect`, and in how many runs each part of them was seen."""

    expect: dict[str, Any]
    support: dict[Path, int]
    level: Level
    runs: int


def is_reading(tool: str) -> bool:
    """Whether a tool looks something up, by its name: `get_user`, `searchFlights`, `mcp__github__list_issues`."""
    words = _WORDS.findall(tool.rsplit("__", 1)[-1].rsplit(".", 1)[-1])
    return bool(words) and words[0].lower() in READING


def learn_at(level: Level, runs: Sequence[Trajectory], tools: Sequence[str] = ()) -> Learned:
    """Return what good runs have in common.

    Level 2 is the whole path: nothing else may be called. Level 1 has what changes something in full; what only looks
    something up has to be done where all runs do it, and may be done more. Level 0 has what changes something, in any
    order, and nothing else.

    Args:
        level: The level.
        runs: The good runs. Their order does not matter.
        tools: Tools that the agent is known to have, beside those of these runs.
    """
    # Slots are found run by run, so that the same runs in another order have to begin with the same one.
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
    """Whether a call changes nothing: it looks something up, or it failed."""
    call = run.calls[position]
    return is_reading(call.name) or is_failed(call)


def _repeated(runs: Positions) -> dict[str, tuple[int, int]]:
    """Return the tools that are called now more, now less often, and more than once, with the least and the most."""
    names = [[run.calls[each].name for each in row] for run, row in runs]
    counts = {tool: [each.count(tool) for each in names] for tool in sorted({name for each in names for name in each})}
    return {tool: (min(each), max(each)) for tool, each in counts.items() if max(each) > 1 and min(each) != max(each)}


def _pattern(tool: str) -> str:
    """Return the pattern of tools that begin as a tool does: `get_*` of `get_user`."""
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
    items = [_call(tool, held) for tool, held in args if held]
    counts = {}
    for tool in sorted({slot.tool for slot in needed}):
        least = sum([slot.tool == tool for slot in needed])
        if least > sum([name == tool for name, held in args if held]):
            counts[tool] = f">= {least}"
    expect: dict[str, Any] = ({"args": items} if items else {}) | ({"counts": counts} if counts else {})
    support: dict[Path, int] = {("args", place): len(runs) for place in range(len(items))}
    return expect, support | {("counts", tool): len(runs) for tool in counts}


class _Writer:
    """Writes a structure as steps, and notes the support of each."""

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
        """Return one group of single steps and of tools that are called any number of times."""
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
