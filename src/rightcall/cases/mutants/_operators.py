"""The fourteen faults: functions from a trajectory to copies of it that each differ in one thing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, TypeAlias, get_args

import msgspec
from msgspec.structs import replace

from rightcall.values.results import WORLD_OPERATORS
from rightcall.values.trajectory import ToolCall, Trajectory

Operator: TypeAlias = Literal[
    "drop",
    "repeat",
    "swap",
    "other-tool",
    "extra",
    "stop-early",
    "no-calls",
    "other-case",
    "argument",
    "argument-missing",
    "argument-added",
    "answer",
    "tool-fails",
    "tool-output",
]
Family: TypeAlias = Literal["path", "values", "answer", "world"]
OPERATORS: tuple[Operator, ...] = get_args(Operator)

UNKNOWN_TOOL = "some_other_tool"
"""A tool that no agent has, to find out whether a case accepts any call at all."""
_ADDED = "unexpected_argument"
_MOST_PATHS = 200
_MOST_LEAVES = 12


def family_of(operator: Operator) -> Family:
    """Return what an operator changes: the path, values, the answer, or what tools do."""
    if operator in WORLD_OPERATORS:
        return "world"
    if operator == "answer":
        return "answer"
    return "values" if operator.startswith("argument") else "path"


class Mutant(msgspec.Struct, frozen=True, kw_only=True):
    """A trajectory with one fault, and the fault in words."""

    operator: Operator
    description: str
    trajectory: Trajectory
    tool: str = ""
    """The tool that the fault is about. For an added call, the tool that is added."""
    position: int | None = None
    """The position of the changed call in the original."""
    path: tuple[str | int, ...] = ()
    """The path of the changed value in its arguments."""
    after: str = ""
    """For two swapped calls, the tool that now comes first."""


class Pool(msgspec.Struct, frozen=True):
    """Tools and values seen in all cases. Faults are made of these, so that they are realistic."""

    tools: tuple[str, ...] = ()
    """All tools, the most frequently called first."""
    calls: Mapping[str, ToolCall] = {}
    """An example call of each tool."""
    values: Mapping[tuple[str, str], tuple[Any, ...]] = {}
    """A few different values of each argument, by tool and argument."""
    paths: tuple[tuple[str, Trajectory], ...] = ()
    """Different paths, each with the id of the case that took it."""

    @classmethod
    def of(cls, trajectories: Mapping[str, Trajectory]) -> Pool:
        """Collect tools, values and paths from trajectories, one for each case."""
        counted: Counter[str] = Counter()
        calls: dict[str, ToolCall] = {}
        values: dict[tuple[str, str], list[Any]] = {}
        paths: dict[tuple[str, ...], tuple[str, Trajectory]] = {}
        for case_id, trajectory in trajectories.items():
            for call in _own_calls(trajectory):
                counted[call.name] += 1
                calls.setdefault(call.name, call)
                for key, value in (call.args or {}).items():
                    seen = values.setdefault((call.name, key), [])
                    if len(seen) < 5 and value not in seen:
                        seen.append(value)
            if len(paths) < _MOST_PATHS:
                paths.setdefault(trajectory.names, (case_id, trajectory))
        names = sorted(counted, key=lambda name: (-counted[name], name))
        return cls(tuple(names), calls, {key: tuple(seen) for key, seen in values.items()}, tuple(paths.values()))


def mutants_of(trajectory: Trajectory, pool: Pool, operators: Sequence[Operator] = OPERATORS) -> list[Mutant]:
    """Return a mutant for every fault that the trajectory can have, without duplicates."""
    seen = _Fingerprints()
    seen.is_new(trajectory)
    made = [mutant for operator in operators for mutant in _MAKERS[operator](trajectory, pool)]
    return [mutant for mutant in made if seen.is_new(mutant.trajectory)]


class _Fingerprints:
    """Trajectories seen so far, told apart by what can be judged: calls in order, arguments, outcomes, answers."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._known: dict[int, tuple[ToolCall, int]] = {}
        self._seen: set[Any] = set()

    def is_new(self, trajectory: Trajectory) -> bool:
        key = (*[self._number(call) for call in trajectory.calls], -1, repr(trajectory.output))
        if key in self._seen:
            return False
        self._seen.add(key)
        return True

    def _number(self, call: ToolCall) -> int:
        # Mutants share most call objects with the original. Keeping a reference stops Python from reusing the id.
        known = self._known.get(id(call))
        if known is None:
            content = (call.name, repr(call.args), repr(call.output), call.error, call.agent, call.turn)
            known = (call, self._numbers.setdefault(content, len(self._numbers)))
            self._known[id(call)] = known
        return known[1]


def _own_calls(trajectory: Trajectory) -> list[ToolCall]:
    return [call for call in trajectory.calls if not call.internal]


def _places(trajectory: Trajectory) -> list[int]:
    """Return the positions of the agent's own calls, without internal calls of its framework."""
    return [position for position, call in enumerate(trajectory.calls) if not call.internal]


def _drop(trajectory: Trajectory, pool: Pool) -> Iterator[Mutant]:
    for position in _places(trajectory):
        call = trajectory.calls[position]
        yield _mutant("drop", f"without `{call.name}`", without(trajectory, {position}), call.name, position)


def _repeat(trajectory: Trajectory, pool: Pool) -> Iterator[Mutant]:
    for position in _places(trajectory):
        call = trajectory.calls[position]
        yield _mutant("repeat", f"`{call.name}` made twice", repeated(trajectory, position), call.name, position)


def _swap(trajectory: Trajectory, pool: Pool) -> Iterator[Mutant]:
    places = _places(trajectory)
    for first, second in pairwise(places):
        one, two = trajectory.calls[first], trajectory.calls[second]
        # A call cannot come before its parent.
        if one.parent_id != two.parent_id:
            continue
        calls = list(trajectory.calls)
        calls[first], calls[second] = moved_to(two, one), moved_to(one, two)
        description = f"`{two.name}` before `{one.name}`"
        made = replace(trajectory, calls=tuple(calls))
        yield Mutant(
            operator="swap", description=description, trajectory=made, tool=one.name, position=first, after=two.name
        )


def _other_tool(trajectory: Trajectory, pool: Pool) -> Iterator[Mutant]:
    for position in _places(trajectory):
        call = trajectory.calls[position]
        other = next((name for name in pool.tools if name != call.name), UNKNOWN_TOOL)
        description = f"`{other}` instead of `{call.name}`"
        yield _mutant("other-tool", description, renamed(trajectory, position, other), call.name, position)


def _extra(trajectory: Trajectory, pool: Pool) -> Iterator[Mutant]:
    used = set(trajectory.names)
    other = next((name for name in pool.tools if name not in used), None)
    if other is not None:
        sample = pool.calls[other]
        last = trajectory.calls[-1] if trajectory.calls else None
        call = following(ToolCall(other, sample.args, sample.output), last)
        made = replace(trajectory, calls=(*trajectory.calls, call))
        yield _mutant("extra", f"`{other}` called as well", made, other)


def _stop_early(trajectory: Trajectory, pool: Pool) -> Iterator[Mutant]:
    places = _places(trajectory)
    kept = len(places) // 2
    if kept:
        description = f"stops after {kept} of {len(places)} calls"
        first_missing = trajectory.calls[places[kept]].name
        yield _mutant("stop-early", description, without(trajectory, set(places[kept:])), first_missing)


def _no_calls(trajectory: Trajectory, pool: Pool) -> Iterator[Mutant]:
    if places := _places(trajectory):
        first = trajectory.calls[places[0]].name
        yield _mutant("no-calls", "no calls at all", replace(trajectory, calls=(), unordered=()), first)


def _other_case(trajectory: Trajectory, pool: Pool) -> Iterator[Mutant]:
    others = [(case_id, other) for case_id, other in pool.paths if other.names != trajectory.names and other.calls]
    if others and trajectory.calls:
        from rapidfuzz.distance import Levenshtein

        case_id, other = min(others, key=lambda each: (Levenshtein.distance(each[1].names, trajectory.names), each[0]))
        missing = next((name for name in trajectory.names if name not in other.names), trajectory.names[0])
        made = replace(trajectory, calls=other.calls, unordered=other.unordered)
        yield _mutant("other-case", f"the path of `{case_id}`", made, missing)


def _argument(trajectory: Trajectory, pool: Pool) -> Iterator[Mutant]:
    for position in _places(trajectory):
        call = trajectory.calls[position]
        for path in leaves(call.args or {}):
            made = with_args(trajectory, position, replaced(call.args, path, _changed(call, path, pool)))
            description = f"another `{'.'.join(map(str, path))}` for `{call.name}`"
            yield _mutant("argument", description, made, call.name, position, path)


def _argument_missing(trajectory: Trajectory, pool: Pool) -> Iterator[Mutant]:
    for position in _places(trajectory):
        call = trajectory.calls[position]
        for key in call.args or {}:
            left = {other: value for other, value in (call.args or {}).items() if other != key}
            made = with_args(trajectory, position, left)
            yield _mutant("argument-missing", f"no `{key}` for `{call.name}`", made, call.name, position, (key,))


def _argument_added(trajectory: Trajectory, pool: Pool) -> Iterator[Mutant]:
    for position in _places(trajectory):
        call = trajectory.calls[position]
        if "args" not in call.unrecorded:
            made = with_args(trajectory, position, {**(call.args or {}), _ADDED: 1})
            description = f"an argument more for `{call.name}`"
            yield _mutant("argument-added", description, made, call.name, position, (_ADDED,))


def _answer(trajectory: Trajectory, pool: Pool) -> Iterator[Mutant]:
    if trajectory.output is not None:
        other = "Something else." if isinstance(trajectory.output, str) else {"answer": "something else"}
        turns = (*trajectory.turn_outputs[:-1], other) if trajectory.turn_outputs else ()
        yield _mutant("answer", "another final answer", replace(trajectory, output=other, turn_outputs=turns))


def _tool_fails(trajectory: Trajectory, pool: Pool) -> Iterator[Mutant]:
    for position in _places(trajectory):
        call = trajectory.calls[position]
        if call.error is None:
            failed = replace(call, output=None, error="the tool failed", unrecorded=call.unrecorded - {"output"})
            yield _mutant("tool-fails", f"`{call.name}` fails", put(trajectory, position, failed), call.name, position)


def _tool_output(trajectory: Trajectory, pool: Pool) -> Iterator[Mutant]:
    for position in _places(trajectory):
        call = trajectory.calls[position]
        if call.output is not None:
            path = next(leaves(call.output), ())
            output = replaced(call.output, path, other_value(value_at(call.output, path)))
            made = put(trajectory, position, replace(call, output=output))
            yield _mutant("tool-output", f"`{call.name}` returns something else", made, call.name, position)


_MAKERS: dict[Operator, Callable[[Trajectory, Pool], Iterator[Mutant]]] = {
    "drop": _drop,
    "repeat": _repeat,
    "swap": _swap,
    "other-tool": _other_tool,
    "extra": _extra,
    "stop-early": _stop_early,
    "no-calls": _no_calls,
    "other-case": _other_case,
    "argument": _argument,
    "argument-missing": _argument_missing,
    "argument-added": _argument_added,
    "answer": _answer,
    "tool-fails": _tool_fails,
    "tool-output": _tool_output,
}


def _mutant(
    operator: Operator,
    description: str,
    trajectory: Trajectory,
    tool: str = "",
    position: int | None = None,
    path: tuple[str | int, ...] = (),
) -> Mutant:
    return Mutant(
        operator=operator, description=description, trajectory=trajectory, tool=tool, position=position, path=path
    )


def _changed(call: ToolCall, path: tuple[str | int, ...], pool: Pool) -> Any:
    """Return another value for an argument: one that the agent uses elsewhere, if it is of the same type."""
    value = value_at(call.args, path)
    if isinstance(value, str) and len(path) == 1:
        seen = pool.values.get((call.name, str(path[0])), ())
        other = next((each for each in seen if isinstance(each, str) and each != value), None)
        if other is not None:
            return other
    return other_value(value)


def without(trajectory: Trajectory, positions: set[int]) -> Trajectory:
    """Return the trajectory without some calls and without their descendants."""
    gone = set(positions)
    spans = {trajectory.calls[position].span_id for position in gone} - {None}
    for position, call in enumerate(trajectory.calls):
        if call.parent_id is not None and call.parent_id in spans:
            gone.add(position)
            spans.add(call.span_id)
    calls = tuple([call for position, call in enumerate(trajectory.calls) if position not in gone])
    return replace(trajectory, calls=calls, unordered=_shifted(trajectory.unordered, gone))


def _shifted(unordered: Sequence[tuple[int, int]], gone: set[int]) -> tuple[tuple[int, int], ...]:
    """Adjust ranges of calls to the positions after some calls were removed."""
    if not unordered:
        return ()
    moved = [
        (first - sum(each < first for each in gone), end - sum(each < end for each in gone)) for first, end in unordered
    ]
    return tuple([(first, end) for first, end in moved if end - first > 1])


def repeated(trajectory: Trajectory, position: int, times: int = 1) -> Trajectory:
    """Return the trajectory with a call repeated a number of times."""
    call = trajectory.calls[position]
    added = [following(call, call)] * times
    calls = (*trajectory.calls[: position + 1], *added, *trajectory.calls[position + 1 :])
    ranges = [
        (first + times * (first > position), end + times * (end > position)) for first, end in trajectory.unordered
    ]
    return replace(trajectory, calls=calls, unordered=tuple(ranges))


def renamed(trajectory: Trajectory, position: int, name: str) -> Trajectory:
    """Return the trajectory with another tool name for one call."""
    return put(trajectory, position, replace(trajectory.calls[position], name=name))


def following(call: ToolCall, before: ToolCall | None) -> ToolCall:
    """Return a call as it would be recorded right after `before`."""
    moment = before.end_ns if before is not None and before.end_ns is not None else None
    if before is not None and moment is None:
        moment = before.start_ns
    turn = before.turn if before is not None else call.turn
    agent = before.agent if before is not None else call.agent
    return replace(call, start_ns=moment, end_ns=moment, group=None, span_id=None, call_id=None, turn=turn, agent=agent)


def moved_to(call: ToolCall, to: ToolCall) -> ToolCall:
    """Return a call with the time, group and turn of another one."""
    return replace(call, start_ns=to.start_ns, end_ns=to.end_ns, group=to.group, turn=to.turn)


def put(trajectory: Trajectory, position: int, call: ToolCall) -> Trajectory:
    """Return the trajectory with the call at a position replaced."""
    calls = (*trajectory.calls[:position], call, *trajectory.calls[position + 1 :])
    return replace(trajectory, calls=calls)


def with_args(trajectory: Trajectory, position: int, args: Any) -> Trajectory:
    """Return a trajectory with other arguments for one call."""
    return put(trajectory, position, replace(trajectory.calls[position], args=args))


def leaves(value: Any) -> Iterator[tuple[str | int, ...]]:
    """Yield the paths of the first few values that are neither objects nor lists, or are empty ones."""
    found = 0
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while waiting and found < _MOST_LEAVES:
        path, part = waiting.pop()
        if isinstance(part, dict) and part:
            waiting += [((*path, key), item) for key, item in reversed(part.items())]
        elif isinstance(part, list) and part:
            waiting += [((*path, index), item) for index, item in reversed(list(enumerate(part)))]
        elif path or not isinstance(part, (dict, list)):
            found += 1
            yield path


def other_value(value: Any) -> Any:
    """Return a value of the same type that is not equal to it."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return f"{value} changed" if value else "changed"
    if isinstance(value, list):
        return ["changed"]
    return {"changed": True} if isinstance(value, dict) else "changed"


def value_at(value: Any, path: Sequence[str | int]) -> Any:
    """Return the value at a path inside a value."""
    for step in path:
        value = value[step]
    return value


def replaced(value: Any, path: Sequence[str | int], new: Any) -> Any:
    """Return a copy of a value with the value at a path replaced."""
    if not path:
        return new
    copied: Any = dict(value) if isinstance(value, dict) else list(value)
    copied[path[0]] = replaced(value[path[0]], path[1:], new)
    return copied
