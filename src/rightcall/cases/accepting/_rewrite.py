"""Rewrite one expectation so that a trajectory satisfies it."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from rightcall.cases.evalsets import Check, criteria_path
from rightcall.judging import Selection, is_word, select
from rightcall.limits import Budget
from rightcall.matching.alignment import Row, maximum_pairing, related_subsequence
from rightcall.matching.matchers import (
    ArgsPolicy,
    ExpectedCalls,
    call_pattern,
    relate,
    tool_names,
)
from rightcall.values.decoding import Path
from rightcall.values.trajectory import ToolCall, Trajectory, has_failed


class Refused(msgspec.Struct, frozen=True):
    """Why an expectation is not rewritten."""

    reason: str


class Task(msgspec.Struct, frozen=True):
    """An expectation that failed, and the calls that were observed."""

    check: Check
    selection: Selection
    plan: Any
    """The criteria, compiled by the evaluator."""
    spelt_out: bool
    """Whether calls are written as objects with `name` and `args`, because the criteria are written with their keys."""

    @classmethod
    def of(cls, check: Check, trajectory: Trajectory, *, spelt_out: bool = False) -> Task:
        """Return the task for an expectation and the trajectory that should satisfy it."""
        plan = check.evaluator.plan(check.criteria)
        return cls(check, select(trajectory, check.criteria, plan.names), plan, spelt_out)


def rewrite(check: Check, written: Any, trajectory: Trajectory) -> Any | Refused:
    """Return the value of a key of `expect`, changed only as far as needed for a trajectory to satisfy it."""
    rule = _RULES.get(check.evaluator.type_id)
    path = criteria_path(written, check.evaluator.type_id)
    if rule is None or path is None:
        return Refused(f"{check.key!r} cannot be updated from a trace")
    inside = written
    for step in path:
        inside = inside[step]
    task = Task.of(check, trajectory, spelt_out=bool(path) and path[-1] != "criteria")
    made = rule(inside, task)
    return made if isinstance(made, Refused) else _replaced(written, path, made)


def rewrite_turns(check: Check, written: Sequence[Any], trajectory: Trajectory) -> list[Any] | Refused:
    """Return the turns of a case, with their expected calls changed only as far as needed."""
    if check.evaluator.type_id != "tool-trajectory" or not check.evaluator.plan(check.criteria).by_turn:
        return Refused(f"{check.key!r} of a turn cannot be updated from a trace")
    task = Task.of(check, trajectory)
    if task.plan.reads is not None:
        return Refused(_GROUPED)
    places: dict[int, list[int]] = {number: [] for number in range(len(written))}
    for index, call in enumerate(task.selection.calls):
        places.setdefault(call.turn or 0, []).append(index)
    if len(places) > len(written) and task.plan.match_type not in _EXTRAS_ALLOWED:
        return Refused(f"calls were made in turn {max(places) + 1}, and the case has {len(written)}")
    return [_rewritten_turn(turn, places[number], number, task) for number, turn in enumerate(written)]


def _rewritten_turn(turn: Any, indices: Sequence[int], number: int, task: Task) -> Any:
    key, expect = task.check.key, turn.get("expect", {})
    written = expect.get(key) or []
    path = criteria_path(written, task.check.evaluator.type_id) or ()
    inside: Any = written
    for step in path:
        inside = inside[step]
    calls = _rewritten_calls(inside or [], task, task.plan.turns[number], task.selection.only(indices))
    return {**turn, "expect": {**expect, key: _replaced(written, path, calls)}} if calls or key in expect else turn


def _replaced(value: Any, path: Path, made: Any) -> Any:
    return made if not path else {**value, path[0]: _replaced(value[path[0]], path[1:], made)}


_GROUPED = (
    "calls with groups, `*`, other parts than arguments, `extra` or `partial_credit: f1` are not updated from a trace: "
    "change the steps yourself"
)


def _calls(written: list[Any], task: Task) -> Any | Refused:
    if task.plan.reads is not None:
        return Refused(_GROUPED)
    return _rewritten_calls(written, task, task.plan.turns[0], task.selection)


def _rewritten_calls(written: Sequence[Any], task: Task, expected: ExpectedCalls, selection: Selection) -> list[Any]:
    match_type, policy = task.plan.match_type, task.plan.args_match
    ordered = match_type in ("EXACT", "IN_ORDER")
    rows = relate(expected, selection.calls, task.check.evaluator.limits, selection.moment).sure
    partners = find_partners(rows, expected.names, selection.names, ordered=ordered)
    if not ordered:
        return list(_in_any_order(written, task, selection, partners))
    everything = range(len(selection.calls))
    wanted = everything if match_type == "EXACT" else wanted_in_order(partners, len(expected), len(selection.calls))
    numbers = partners.expected_by_actual()
    return [_call(written, numbers.get(position), position, selection, partners, policy, task) for position in wanted]


def _in_any_order(written: Sequence[Any], task: Task, selection: Selection, partners: Partners) -> Iterator[Any]:
    match_type, policy, paired = task.plan.match_type, task.plan.args_match, partners.paired
    for number, item in enumerate(written):
        if number in paired:
            yield _call(written, number, paired[number], selection, partners, policy, task)
        elif match_type == "SUBSET":
            yield item
    if match_type != "ANY_ORDER" or len(paired) < len(written):
        used = set(paired.values())
        for position, call in enumerate(selection.calls):
            if position not in used:
                yield new_call(call, policy, spelt_out=task.spelt_out)


def _call(
    written: Sequence[Any],
    number: int | None,
    position: int,
    selection: Selection,
    partners: Partners,
    policy: ArgsPolicy,
    task: Task,
) -> Any:
    call = selection.calls[position]
    if number is None:
        return new_call(call, policy, spelt_out=task.spelt_out)
    if number in partners.satisfying:
        return written[number]
    return adapted_call(written[number], call, policy, spelt_out=task.spelt_out)


def _order(written: list[str], task: Task) -> Any | Refused:
    names = task.selection.names
    if not names:
        return Refused("no calls were made, and an order needs one")
    if task.check.evaluator.config.strict:
        return list(names)
    patterns = [tool_names([name]) for name in written]
    rows = [[position for position, name in enumerate(names) if name in pattern] for pattern in patterns]
    partners = find_partners(rows, written, names, ordered=True)
    kept = {position: written[number] for number, position in partners.satisfying.items()}
    wanted = wanted_in_order(partners, len(written), len(names))
    return [kept.get(position, names[position]) for position in wanted] or list(names)


def _counts(written: dict[str, Any], task: Task) -> Any | Refused:
    counts = Counter(task.selection.names)
    bounds = Counter([name for name, *_ in task.plan.bounds])
    made = dict(written)
    for name, symbol, holds, number in task.plan.bounds:
        tools = tool_names([name])
        count = sum([times for tool, times in counts.items() if tool in tools])
        if not holds(count, number):
            made[name] = _count(written[name], symbol, count) if bounds[name] == 1 else count
    return made


def _count(written: Any, symbol: str, count: int) -> Any:
    """Return a count as it was written: `<=` and `>=` are kept."""
    if symbol not in ("<=", ">="):
        return count
    return [symbol, count] if isinstance(written, list) else f"{symbol} {count}"


def _args(written: list[Any], task: Task) -> Any | Refused:
    policy: ArgsPolicy = "subset" if task.check.evaluator.config.subset else "exact"
    partners, paired = _pairs(task)
    made = [
        _call(written, number, paired[number], task.selection, partners, policy, task)
        for number in range(len(written))
        if number in paired
    ]
    return made or Refused("none of the tools was called")


def _outputs(written: Any, task: Task) -> Any | Refused:
    partners, paired = _pairs(task)
    unknown = [task.selection.calls[position] for position in partners.of_same_tool.values()]
    for call in unknown:
        if call.output is None and (call.error is not None or "output" in call.unrecorded):
            return Refused(f"`{call.name:.80}` {'raised' if call.error is not None else 'has no recorded output'}")
    outputs = {
        number: literal(task.selection.calls[position].output) for number, position in partners.of_same_tool.items()
    }
    if isinstance(written, dict):
        made: Any = {
            name: outputs.get(number, item) for number, (name, item) in enumerate(written.items()) if number in paired
        }
    else:
        made = [_output(item, number, outputs) for number, item in enumerate(written) if number in paired]
    return made or Refused("none of the tools was called")


def _output(item: dict[str, Any], number: int, outputs: dict[int, Any]) -> Any:
    if number not in outputs:
        return item
    if "output" in item and isinstance(item.get("name"), str):
        return {**item, "output": outputs[number]}
    return dict.fromkeys(item, outputs[number])


def _pairs(task: Task) -> tuple[Partners, dict[int, int]]:
    expected: ExpectedCalls = task.plan.expected
    rows = relate(expected, task.selection.calls, task.check.evaluator.limits, task.selection.moment).sure
    names = task.selection.names
    meant: dict[int, Sequence[int]] = {
        number: (each,) if each >= 0 else () for number, each in expected.numbered(names).items()
    }
    for number, pattern in expected.starred.items():
        named = [position for position, name in enumerate(names) if pattern.takes(name)]
        meant.setdefault(number, named)
    partners = find_partners(rows, expected.names, names, ordered=False, meant=meant)
    return partners, partners.paired


def _final_output(written: Any, task: Task) -> Any | Refused:
    made = literal(task.selection.output)
    # An answer with a key such as `criteria` or `agent` would be read as an expectation with settings.
    is_mistakable = not task.spelt_out and criteria_path(made, task.check.evaluator.type_id) != ()
    return {"$literal": task.selection.output} if is_mistakable else made


_EXTRAS_ALLOWED = ("IN_ORDER", "ANY_ORDER")

_RULES: dict[str, Callable[[Any, Task], Any | Refused]] = {
    "tool-trajectory": _calls,
    "tool-call-order": _order,
    "tool-call-count": _counts,
    "tool-call-args": _args,
    "tool-call-output": _outputs,
    "final-output": _final_output,
}
"""How each kind of expectation is rewritten, by type id."""


def literal(value: Any) -> Any:
    """Return an expectation of exactly this value. Objects with keys like matchers are wrapped in `$literal`."""
    if isinstance(value, Mapping):
        if any(key.startswith("$") for key in value):
            return {"$literal": value}
        return {key: literal(item) for key, item in value.items()}
    return [literal(item) for item in value] if isinstance(value, (list, tuple)) else value


def new_call(call: ToolCall, policy: ArgsPolicy, *, spelt_out: bool) -> Any:
    """Return an expected call for an observed call: its name, and its arguments if they were recorded and matter."""
    if not call.args or policy == "ignore":
        return call.name
    if spelt_out or is_word(call.name):
        return {"name": call.name, "args": literal(call.args)}
    return {call.name: literal(call.args)}


def adapted_call(written: Any, call: ToolCall, policy: ArgsPolicy, *, spelt_out: bool) -> Any:
    """Return a written call with new values for the arguments that the observed call does not satisfy."""
    if isinstance(written, str) or "args" in call.unrecorded:
        return new_call(call, policy, spelt_out=spelt_out) if "args" not in call.unrecorded else written
    if isinstance(written.get("name"), str):
        satisfied = call_pattern(written["name"], written.get("args"), policy).accepts(call)
        args = {} if satisfied else {"args": adapted_args(written.get("args"), call.args or {}, policy)}
        return {**written, **args, **_adapted_parts(written, call)}
    [(name, args)] = written.items()
    adapted = adapted_args(args, call.args or {}, policy)
    # Below a keyword such as `name`, arguments would be read as the keyword's value, not as arguments of a tool.
    return {"name": name, "args": adapted} if is_word(name) else {name: adapted}


def _adapted_parts(written: Mapping[str, Any], call: ToolCall) -> dict[str, Any]:
    """Return the parts beside the arguments that differ, as the trace has them."""
    status = {True: "error", False: "ok"}.get(has_failed(call))  # type: ignore[arg-type]
    found = {"output": literal(call.output), "status": status, "agent": call.agent, "turn": call.turn}
    parts = {part: value for part, value in found.items() if part in written and part not in call.unrecorded}
    return {
        part: value
        for part, value in parts.items()
        if call_pattern(call.name, **{part: written[part]}).accepts(call) is False
    }


def adapted_args(expected: Any, actual: Mapping[str, Any], policy: ArgsPolicy) -> Any:
    """Return expected arguments that the actual ones satisfy, keeping written values that still match."""
    if not isinstance(expected, dict) or any(key.startswith("$") for key in expected):
        return literal(actual)
    with Budget():  # patterns of the user run on values of a trace
        kept = {
            key: value if key not in actual or _accepts(key, value, {key: actual[key]}) else literal(actual[key])
            for key, value in expected.items()
            if key in actual or policy == "superset" or _accepts(key, value, {})
        }
    # `subset` names only what matters. An empty one would accept any arguments, so then all are named.
    if policy == "subset" and kept:
        return kept
    others = {key: value for key, value in actual.items() if key not in kept}
    if any(key.startswith("$") for key in others):
        return literal(actual)
    return {**kept, **{key: literal(value) for key, value in others.items()}}


def _accepts(key: str, value: Any, args: Mapping[str, Any]) -> bool:
    """Return whether arguments have an expected value; not if that depends on other calls, as with `$from`."""
    return call_pattern("tool", {key: value}, names=True).accepts(ToolCall("tool", args, None)) is True


_NOTHING_MEANT: Mapping[int, Sequence[int]] = {}


class Partners(msgspec.Struct, frozen=True):
    """The observed call for each expected one: one that satisfies it or, failing that, one of the same tool."""

    satisfying: dict[int, int]
    of_same_tool: dict[int, int]
    in_sequence: list[tuple[int, int]] = []
    """The satisfying pairs that are in the same order on both sides."""

    def expected_by_actual(self) -> dict[int, int]:
        """Return the expected call for each observed one."""
        return {actual: expected for expected, actual in (self.of_same_tool | self.satisfying).items()}

    @property
    def paired(self) -> dict[int, int]:
        """All pairs: satisfying ones, and those of the same tool."""
        return self.of_same_tool | self.satisfying


def find_partners(
    rows: Sequence[Row],
    expected: Sequence[str],
    actual: Sequence[str],
    *,
    ordered: bool,
    meant: Mapping[int, Sequence[int]] = _NOTHING_MEANT,
) -> Partners:
    """Pair expected calls with observed ones. `rows` has the observed calls that satisfy each expected call.

    If order matters, as many pairs as possible are in the same order on both sides. `meant` has the observed calls that
    an expected one is about, if more than the name decides that.
    """
    in_sequence = related_subsequence(rows, len(actual)) if ordered else []
    taken = {position for _, position in in_sequence}
    done = {number for number, _ in in_sequence}
    left = [
        () if number in done else [position for position in row if position not in taken]
        for number, row in enumerate(rows)
    ]
    others = {number: position for number, position in enumerate(maximum_pairing(left)) if position >= 0}
    satisfying = dict(in_sequence) | others
    used, waiting = set(satisfying.values()), defaultdict[str, deque[int]](deque)
    for position, name in enumerate(actual):
        if position not in used:
            waiting[name].append(position)
    of_same_tool: dict[int, int] = {}
    for number, name in enumerate(expected):
        if number in satisfying:
            continue
        others_of_it = (
            [each for each in meant[number] if each in waiting[actual[each]]] if number in meant else waiting[name]
        )
        if others_of_it:
            of_same_tool[number] = others_of_it[0]
            waiting[actual[others_of_it[0]]].remove(others_of_it[0])
    return Partners(satisfying, of_same_tool, in_sequence)


def wanted_in_order(partners: Partners, expected: int, actual: int) -> list[int]:
    """Return the indices of the observed calls to expect when other calls are allowed in between.

    These are the paired calls and, where an expected call has no partner, the calls that were made in its place.
    """
    wanted = set(partners.paired.values())
    # Between two pairs in sequence, an expected call without a partner stands for all observed calls in that gap.
    fences = [(-1, -1), *partners.in_sequence, (expected, actual)]
    for (before, first), (after, end) in pairwise(fences):
        if any(number not in partners.paired for number in range(before + 1, after)):
            wanted.update(range(first + 1, end))
    return sorted(wanted)
