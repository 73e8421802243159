"""Changes of a path: calls added, removed, moved, or made with other arguments."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, Literal

import msgspec

from rightcall.limits import DEFAULT_LIMITS
from rightcall.matching.alignment import common_subsequence
from rightcall.matching.matchers import equal
from rightcall.values.results import Difference, text_pair, value_text
from rightcall.values.trajectory import ToolCall, Trajectory

_MOST_DIFFERENCES = 20
_VALUE_WIDTH = 40
# Sorted keys: the order in which a model writes arguments is not a change.
_plain_text = json.JSONEncoder(sort_keys=True, default=repr).encode

Pairs = list[tuple[int, int]]


class ComparedCall(msgspec.Struct, frozen=True):
    """The part of a call that is compared: its tool and its arguments, `None` if they were not recorded."""

    name: str
    args: Mapping[str, Any] | None = None
    ignored: tuple[str, ...] = ()
    """Arguments of this call that are not compared. They stay in `args`, where redaction finds its secrets."""

    @property
    def compared(self) -> Mapping[str, Any] | None:
        """The arguments that are compared."""
        if not self.ignored or self.args is None:
            return self.args
        return {name: value for name, value in self.args.items() if name not in self.ignored}


class PathChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change of a path.

    `swapped`: the call and `other` changed places. `earlier`: the call is made before `other` now; `later`: after it.
    `removed` and `added`: calls in one path only, with their number in `times`. `arguments`: the same
    call with other arguments; `differences` has the old values as expected.
    """

    kind: Literal["swapped", "earlier", "later", "removed", "added", "arguments"]
    name: str
    other: str = ""
    times: int = 1
    differences: tuple[Difference, ...] = ()


Calls = Sequence[ComparedCall]


def compared_call(call: ToolCall, ignored: Collection[str] = ()) -> ComparedCall:
    """Return what is compared of a call. `ignored` has arguments of all tools, `key`, or of one, `search.key`."""
    args = None if "args" in call.unrecorded else call.args
    if not ignored:
        return ComparedCall(call.name, args)
    left_out = [name for name in args or () if name in ignored or f"{call.name}.{name}" in ignored]
    return ComparedCall(call.name, args, tuple(left_out))


def compared_calls(trajectory: Trajectory | None, ignored: Collection[str] = ()) -> tuple[ComparedCall, ...]:
    """Return the path of a trajectory. Calls whose order was not recorded are sorted by what is compared of them."""
    if trajectory is None:
        return ()
    made = [compared_call(call, ignored) for call in trajectory.calls]
    for first, end in trajectory.unordered:
        made[first:end] = sorted(made[first:end], key=_text)
    return tuple(made)


def path_changes(before: Calls, after: Calls) -> tuple[PathChange, ...]:
    """Return the changes from one path to another: moves, removed calls, added calls, then arguments.

    Equal calls are lined up first, then calls of one name. Arguments that one side did not record are not compared.
    Paths with more calls than `limits.aligned_calls` are compared by how often each tool was called.
    """
    if list(map(_text, before)) == list(map(_text, after)):
        return ()
    # Alignment takes time and memory proportional to the product of the lengths.
    if max(len(before), len(after)) > DEFAULT_LIMITS.aligned_calls:
        return (*_counted("removed", _names(before), _names(after)), *_counted("added", _names(after), _names(before)))
    in_place = _in_place(before, after)
    moved = _leftovers(in_place, before, after)
    pairs = sorted([*in_place, *moved])
    gone = Counter(_names(before)) - Counter([before[first].name for first, _ in pairs])
    new = Counter(_names(after)) - Counter([after[second].name for _, second in pairs])
    return (
        *dict.fromkeys(_moves(in_place, moved, before)),
        *[PathChange("removed", name, times=times) for name, times in gone.items()],
        *[PathChange("added", name, times=times) for name, times in new.items()],
        *_other_arguments(pairs, before, after),
    )


def _names(path: Sequence[ComparedCall]) -> list[str]:
    return [call.name for call in path]


def _counted(kind: Literal["removed", "added"], these: Sequence[str], others: Sequence[str]) -> list[PathChange]:
    return [PathChange(kind, name, times=times) for name, times in (Counter(these) - Counter(others)).items()]


def _text(call: ComparedCall) -> str:
    return _plain_text([call.name, call.compared])


def _in_place(before: Calls, after: Calls) -> Pairs:
    """Return pairs of positions that rise on both sides: equal calls, and between them calls of the same name."""
    anchors = _common([_text(call) for call in before], [_text(call) for call in after])
    pairs = list(anchors)
    for (first, second), (end, other_end) in pairwise([(-1, -1), *anchors, (len(before), len(after))]):
        if end > first + 1 and other_end > second + 1:
            between = _common(_names(before[first + 1 : end]), _names(after[second + 1 : other_end]))
            pairs += [(first + 1 + one, second + 1 + two) for one, two in between]
    return sorted(pairs)


def _common(before: Sequence[str], after: Sequence[str]) -> Pairs:
    ids: dict[str, int] = {}
    numbered = [ids.setdefault(text, len(ids)) for text in before]
    return common_subsequence(numbered, [ids.setdefault(text, len(ids)) for text in after])


def _leftovers(in_place: Pairs, before: Calls, after: Calls) -> Pairs:
    """Return pairs of the calls that are not in place: equal calls first, then calls of the same name in order."""
    left = set(range(len(before))) - {first for first, _ in in_place}
    free = set(range(len(after))) - {second for _, second in in_place}
    pairs: Pairs = []
    for key in (_text, lambda call: call.name):
        waiting: dict[str, list[int]] = {}
        for position in sorted(free, reverse=True):
            waiting.setdefault(key(after[position]), []).append(position)
        for position in sorted(left):
            if places := waiting.get(key(before[position])):
                pairs.append((position, places.pop()))
        left -= {first for first, _ in pairs}
        free -= {second for _, second in pairs}
    return sorted(pairs)


def _moves(in_place: Pairs, moved: Pairs, before: Sequence[ComparedCall]) -> Iterator[PathChange]:
    """Yield, for each call out of place, the calls it was moved past."""
    firsts, seconds = [first for first, _ in in_place], [second for _, second in in_place]
    for first, second in moved:
        old, new = bisect_left(firsts, first), bisect_left(seconds, second)
        passed = [before[place].name for place in firsts[min(old, new) : max(old, new)]]
        name = before[first].name
        if len(passed) == 1:
            yield PathChange("swapped", *((name, passed[0]) if new > old else (passed[0], name)))
        elif passed:
            yield PathChange("later", name, passed[-1]) if new > old else PathChange("earlier", name, passed[0])


def _other_arguments(pairs: Pairs, before: Calls, after: Calls) -> Iterator[PathChange]:
    for first, second in pairs:
        old, new = before[first].compared, after[second].compared
        if old is not None and new is not None:
            found = tuple(islice(_differences(dict(old), dict(new), ""), _MOST_DIFFERENCES))
            if found:
                yield PathChange("arguments", before[first].name, differences=found)


def _differences(old: Any, new: Any, path: str) -> Iterator[Difference]:
    """Yield where two values differ, leaf by leaf. Both are plain data: a `$` in them has no meaning."""
    if equal(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            below = f"{path}.{key}" if path else key
            if key not in new:
                yield Difference(below, value_text(old[key], _VALUE_WIDTH), None)
            elif key not in old:
                yield Difference(below, None, value_text(new[key], _VALUE_WIDTH))
            else:
                yield from _differences(old[key], new[key], below)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _differences(one, other, f"{path}[{index}]")
    else:
        yield Difference(path, *text_pair(old, new))
