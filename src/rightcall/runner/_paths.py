"""From what was captured to the trajectory of a case."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rightcall.agents import Answer
from rightcall.readers import read
from rightcall.tracing import Captured, tools_are_marked
from rightcall.trajectory import Trajectory, WithheldCall, in_order, summed_usage

_ELSEWHERE = "the agent started Python processes of its own: calls of tools inside them were not seen"


def path_of(captured: Captured, answer: Answer | None, turn: int | None, has_others: bool) -> Trajectory:
    """What the agent did in one turn: by the spans of this process, its messages, and what it sent.

    Where it `has_others`, processes that it started meanwhile, no calls seen here are not no calls.

    Raises:
        InputError: what it sent cannot be read.
        LimitError: there were more spans than are kept.
    """
    path = captured.trajectory(None if answer is None else answer.messages)
    if answer is not None and answer.documents:
        path = _merged([path, *read(list(answer.documents), grouping="file")])
    if has_others:
        path = msgspec.structs.replace(path, warnings=(*path.warnings, _ELSEWHERE))
    elif not (path.calls_recorded or captured.spans or path.calls or path.not_understood) and tools_are_marked():
        path = Trajectory(input=path.input, output=path.output)  # its tools would have been seen
    if turn is None:
        return path
    calls = tuple([msgspec.structs.replace(call, turn=turn) for call in path.calls])
    return msgspec.structs.replace(path, calls=calls)


def joined(parts: Sequence[Trajectory]) -> Trajectory:
    """The turns of a case, one after the other."""
    calls = tuple([call for part in parts for call in part.calls])
    unordered, before = [], 0
    for part in parts:
        unordered += [(before + first, before + end) for first, end in part.unordered]
        before += len(part.calls)
    return Trajectory(
        calls=calls,
        trace_id=next((part.trace_id for part in parts if part.trace_id is not None), None),
        metadata={key: value for part in parts for key, value in part.metadata.items()},
        warnings=tuple(dict.fromkeys([warning for part in parts for warning in part.warnings])),
        unordered=tuple(unordered),
        calls_recorded=all([part.calls_recorded for part in parts]) if parts else True,
        usage=summed_usage([part.usage for part in parts]),
        withheld=tuple([call for place, part in enumerate(parts) for call in _left(part, parts[place + 1 :])]),
    )


def _left(part: Trajectory, later: Sequence[Trajectory]) -> list[WithheldCall]:
    """The calls withheld in a part that were not made in a later one, once they were approved."""
    made = [(call.name, call.args) for other in later for call in other.calls] if part.withheld else []
    return [call for call in part.withheld if (call.name, call.args) not in made]


def _merged(parts: list[Trajectory]) -> Trajectory:
    """What different witnesses saw of one turn, in the order it happened.

    Each of them measured the turn for itself, so what the turn took is not the sum: it is not known.
    """
    seen = [part for part in parts if part.calls or part.withheld or part.not_understood]
    if len(seen) <= 1:
        return seen[0] if seen else parts[-1]
    path = joined(seen)
    calls = tuple([path.calls[place] for place in in_order(path.calls)])
    return msgspec.structs.replace(path, calls=calls, unordered=(), usage=None)
