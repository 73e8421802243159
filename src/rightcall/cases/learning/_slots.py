"""Align the calls of several runs, generalise the arguments of calls that are the same step, and find the structure.

The structure says which steps come in order, in any order, as alternatives, or only sometimes. The cuts are those of
the inductive miner (Leemans, Fahland and van der Aalst, 2013): choice, sequence, concurrency. Loops are folded first,
so a label occurs at most once in a sequence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Any, Literal, TypeAlias

import msgspec

from rightcall.cases.accepting import literal
from rightcall.matching.matchers import equal, freeze, seen_before
from rightcall.values.trajectory import ToolCall, Trajectory

_LONGEST_PERIOD = 4
_ENOUGH = 5
"""Fewest values from which to conclude that the few different ones are all there are."""
_FEW = 3
_DIGITS = re.compile(r"\d+")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LONGEST_SHAPE = 60
Label: TypeAlias = int
Run: TypeAlias = tuple[Label, ...]


class Slot(msgspec.Struct, frozen=True):
    """One step: a call that some runs have in common, or a loop over a block of calls."""

    tool: str
    sightings: tuple[Sighting, ...]
    block: tuple[Slot, ...] = ()
    """The steps of the loop; empty for a single call."""
    rounds: tuple[int, int] = (1, 1)
    """The fewest and the most rounds of the loop in a run."""


class Lined(msgspec.Struct, frozen=True):
    """Runs as sequences of slots."""

    slots: tuple[Slot, ...]
    runs: tuple[Run, ...]


Positions = Sequence[tuple[Trajectory, Sequence[int]]]
"""Runs, each with the positions of the calls to consider."""


def line_up(runs: Positions, *, folds: bool = True) -> Lined:
    """Return which calls are the same step. With `folds`, a block repeated a varying number of times is one step."""
    slots, places = _placed(runs, folds)
    return Lined(tuple(slots), tuple([tuple([labels[place] for place in sorted(labels)]) for labels in places]))


_Placed = tuple[list[Slot], list[dict[int, int]]]
"""Slots, and for each run the number of the slot at each position."""


def _placed(runs: Positions, folds: bool) -> _Placed:
    block = _varying_block(runs) if folds else None
    if block is not None:
        return _folded(runs, block)
    places: list[dict[int, int]] = [{} for _ in runs]
    slots: list[Slot] = []
    for tool in sorted({_name(run, position) for run, positions in runs for position in positions}):
        for members in _slots_of(tool, runs):
            for number, position in members:
                places[number][position] = len(slots)
            slots.append(Slot(tool, tuple([Sighting(runs[number][0], position) for number, position in members])))
    return slots, places


def _slots_of(tool: str, runs: Positions) -> list[list[tuple[int, int]]]:
    """Group the calls of one tool by step. A call is a pair of run number and position."""
    calls = [[position for position in positions if _name(run, position) == tool] for run, positions in runs]
    slots: list[list[tuple[int, int]]] = []
    # The run with the most calls comes first, so that there is a slot for each call of the others.
    for number in sorted(range(len(runs)), key=lambda each: -len(calls[each])):
        pairs = [
            (-_likeness(runs, number, position, slot), abs(place - index), place, index)
            for place, position in enumerate(calls[number])
            for index, slot in enumerate(slots)
        ]
        taken: dict[int, int] = {}
        for _, _, place, index in sorted(pairs):
            if place not in taken and index not in taken.values():
                taken[place] = index
        for place, position in enumerate(calls[number]):
            if place in taken:
                slots[taken[place]].append((number, position))
            else:
                slots.append([(number, position)])
    return [sorted(slot) for slot in slots]


def _likeness(runs: Positions, number: int, position: int, slot: Sequence[tuple[int, int]]) -> float:
    """Return the share of arguments that a call has in common with the calls of a slot, on average."""
    args = runs[number][0].calls[position].args or {}
    shares = []
    for other, place in slot:
        seen = runs[other][0].calls[place].args or {}
        keys = args.keys() | seen.keys()
        same = sum([key in args and key in seen and equal(args[key], seen[key]) for key in keys])
        shares.append(same / len(keys) if keys else 1.0)
    return sum(shares) / len(shares)


def _name(run: Trajectory, position: int) -> str:
    return run.calls[position].name


def _varying_block(runs: Positions) -> tuple[str, ...] | None:
    """Return the tool names of a block that runs repeat back to back, not all equally often; else None.

    The tools of the block must not be called outside of it, because the loop would not account for those calls.
    """
    names = [[_name(run, position) for position in positions] for run, positions in runs]
    candidates: Counter[tuple[str, ...]] = Counter()
    for run in names:
        for period in range(1, _LONGEST_PERIOD + 1):
            for start in range(len(run) - 2 * period + 1):
                block = tuple(run[start : start + period])
                if block == tuple(run[start + period : start + 2 * period]) and _is_primitive(block):
                    candidates[block] += 1
    for block in sorted(candidates, key=lambda each: (-len(each), each)):
        rounds = [_rounds(run, block) for run in names]
        if None not in rounds and len(set(rounds)) > 1:
            return block
    return None


def _is_primitive(block: tuple[str, ...]) -> bool:
    return len(block) == 1 or len(set(block)) > 1


def _rounds(names: Sequence[str], block: tuple[str, ...]) -> int | None:
    """Return how often a block is repeated in a row; `None` if its tools are also called outside of that row."""
    places = [place for place, name in enumerate(names) if name in block]
    if not places:
        return 0
    row = names[places[0] : places[-1] + 1]
    count = len(row) // len(block)
    return count if list(row) == list(block) * count else None


def _folded(runs: Positions, block: tuple[str, ...]) -> _Placed:
    """Return runs in which all rounds of a block are one step, at the position of its first call."""
    others = [(run, [each for each in positions if _name(run, each) not in block]) for run, positions in runs]
    rows = [(run, [each for each in positions if _name(run, each) in block]) for run, positions in runs]
    slots, places = _placed(others, folds=True)
    inside = [
        Slot(tool, tuple([Sighting(run, position) for run, row in rows for position in row[place :: len(block)]]))
        for place, tool in enumerate(block)
    ]
    rounds = [len(row) // len(block) for _, row in rows if row]
    firsts = tuple([Sighting(run, row[0]) for run, row in rows if row])
    for labels, (_, row) in zip(places, rows, strict=True):
        if row:
            labels[row[0]] = len(slots)
    return [*slots, Slot(block[0], firsts, tuple(inside), (min(rounds), max(rounds)))], places


def calls_of(run: Trajectory) -> list[int]:
    """Return the positions of the agent's own calls, without internal calls of its framework."""
    return [position for position, call in enumerate(run.calls) if not call.internal]


def is_failed(call: ToolCall) -> bool:
    """Return whether a call failed, or its output looks like an error."""
    return call.error is not None or call.suspected_error


class Sighting(msgspec.Struct, frozen=True):
    """A call, as a run and a position in it."""

    trajectory: Trajectory
    position: int

    @property
    def call(self) -> ToolCall:
        """The call itself."""
        return self.trajectory.calls[self.position]


def common_args(sightings: Sequence[Sighting], runs: int) -> dict[str, Any]:
    """Return expected arguments that all these calls satisfy, with matchers where the values differ.

    Of several runs, a call that only one run made is left without arguments: they may differ next time.
    """
    calls = [each.call for each in sightings]
    if any([not call.args for call in calls]) or (len(calls) == 1 < runs):
        return {}
    shared = [key for key in calls[0].args or {} if all([key in (call.args or {}) for call in calls])]
    found = {key: _common_value(sightings, key) for key in shared}
    return {key: value for key, value in found.items() if value is not None and not key.startswith("$")}


def _common_value(sightings: Sequence[Sighting], key: str) -> Any:
    """Return an expectation that all values of one argument satisfy; `None` if there is no useful one."""
    values = [(each.call.args or {})[key] for each in sightings]
    if all([equal(values[0], value) for value in values]):
        return literal(values[0]) if values[0] is not None else {"$literal": None}
    return _source(sightings, values) or _shape(values) or _few(values)


def _source(sightings: Sequence[Sighting], values: Sequence[Any]) -> Any:
    """Return `$from` a tool whose earlier outputs contain every value, or `anywhere` if all were seen before."""
    if any([value in (None, "", 0, 1) or isinstance(value, bool) for value in values]):
        return None  # such values occur in any output by chance
    names = [set(each.trajectory.names[: each.position]) for each in sightings]
    for tool in sorted(set.intersection(*names)):
        if _is_seen(sightings, values, tool):
            return {"$from": tool}
    return {"$from": "anywhere"} if _is_seen(sightings, values, None) else None


def _is_seen(sightings: Sequence[Sighting], values: Sequence[Any], tool: str | None) -> bool:
    return all(
        [
            seen_before(each.trajectory, each.position, value, tool)
            for each, value in zip(sightings, values, strict=True)
        ]
    )


def _shape(values: Sequence[Any]) -> Any:
    r"""Return the pattern of strings that differ only in their digits, such as `^T-\d+$`."""
    if not all([isinstance(value, str) and len(value) <= _LONGEST_SHAPE for value in values]):
        return None
    if all([_UUID.fullmatch(value) for value in values]):
        return {"$regex": f"^{_UUID.pattern}$"}
    shapes = {_DIGITS.sub("0", value) for value in values}
    if len(shapes) > 1 or not _DIGITS.search(values[0]):
        return None
    lengths = [[len(found) for found in _DIGITS.findall(value)] for value in values]
    widths = [
        f"\\d{{{each[0]}}}" if len(set(each)) == 1 and each[0] > 1 else "\\d+" for each in zip(*lengths, strict=True)
    ]
    parts = [re.escape(part).replace("\\-", "-").replace("\\ ", " ") for part in _DIGITS.split(values[0])]
    pieces = [piece for pair in zip(parts, [*widths, ""], strict=True) for piece in pair]
    return {"$regex": f"^{''.join(pieces)}$"}


def _few(values: Sequence[Any]) -> Any:
    """Return `$in` for a few different values, if each occurs at least twice: then they are probably all."""
    if len(values) < _ENOUGH:
        return None
    counted = Counter([freeze(value) for value in values])
    if len(counted) > _FEW or min(counted.values()) < 2:
        return None
    different: list[Any] = []
    for value in values:
        if not any([equal(value, other) for other in different]):
            different.append(value)
    return {"$in": [literal(value) for value in sorted(different, key=repr)]}


class Tree(msgspec.Struct, frozen=True):
    """A call, or a group of calls."""

    kind: Literal["call", "sequence", "any_order", "one_of"]
    items: tuple[Tree, ...] = ()
    label: Label = -1
    support: int = 0
    """How many of the runs contain it."""
    is_optional: bool = False
    """Whether some runs do not contain it."""


def structure(runs: Sequence[Run]) -> Tree | None:
    """Return the structure of all runs; `None` if all are empty."""
    labels = sorted({label for run in runs for label in run})
    return _learned(labels, runs) if labels else None


def unordered(runs: Sequence[Run]) -> Tree | None:
    """Return the structure of runs when order does not matter: alternatives, and labels in any order."""
    labels = sorted({label for run in runs for label in run})
    present = [run for run in runs if run]
    choice = _choice(labels, present, unordered) if len(present) == len(runs) else None
    return choice or _flat(runs)


def _flat(runs: Sequence[Run]) -> Tree | None:
    """Return all labels in any order; those that some run lacks are optional."""
    labels = sorted({label for run in runs for label in run})
    calls = tuple([_call(label, runs) for label in labels])
    if len(calls) < 2:
        return calls[0] if calls else None
    return Tree("any_order", calls, support=len(runs))


def _call(label: Label, runs: Sequence[Run]) -> Tree:
    support = sum([label in run for run in runs])
    return Tree("call", label=label, support=support, is_optional=support < len(runs))


def _learned(labels: Sequence[Label], runs: Sequence[Run]) -> Tree:
    """Return the structure of some labels; it is optional if a run has none of them."""
    if len(labels) == 1:
        return _call(labels[0], runs)
    present = [run for run in runs if run]
    made = _choice(labels, present) or _sequence(labels, present) or _concurrency(labels, present) or _flat(present)
    assert made is not None, "there is at least one label"  # noqa: S101
    return msgspec.structs.replace(made, support=len(present), is_optional=len(present) < len(runs))


def _choice(
    labels: Sequence[Label], runs: Sequence[Run], learned: Callable[[Sequence[Run]], Tree | None] | None = None
) -> Tree | None:
    """Split labels that never occur in the same run into alternatives; `None` if there is one group only."""
    together = {pair for run in runs for pair in combinations(sorted(run), 2)}
    groups = _components(labels, lambda one, two: (one, two) in together)
    if len(groups) < 2:
        return None
    # Labels of one run are in one group, by construction.
    members = [[run for run in runs if run[0] in group] for group in groups]
    items = [(learned or structure)(each) for each in members]
    return Tree("one_of", tuple([item for item in items if item is not None]), support=len(runs))


def _sequence(labels: Sequence[Label], runs: Sequence[Run]) -> Tree | None:
    """Split labels into groups that always come in the same order; `None` if there is one group only."""
    before = _reachable(labels, runs)
    groups = _components(labels, lambda one, two: before(one, two) == before(two, one))
    groups = _untangled(groups, before)
    if len(groups) == 1:
        return None
    ordered = sorted(groups, key=lambda group: sum([before(other[0], group[0]) for other in groups]))
    return Tree("sequence", tuple([_learned(group, _projected(runs, group)) for group in ordered]))


def _untangled(groups: list[list[Label]], before: Callable[[Label, Label], bool]) -> list[list[Label]]:
    """Merge groups until all labels of one are on the same side of all labels of another."""
    for first, second in combinations(groups, 2):
        sides = {before(one, two) for one in first for two in second}
        if len(sides) > 1:
            rest = [group for group in groups if group is not first and group is not second]
            return _untangled([*rest, sorted([*first, *second])], before)
    return groups


def _concurrency(labels: Sequence[Label], runs: Sequence[Run]) -> Tree | None:
    """Split labels into groups that come in both orders, as branches; `None` if there is one group only."""
    orders = _orders(runs)
    groups = _components(labels, lambda one, two: not ((one, two) in orders and (two, one) in orders))
    if len(groups) == 1:
        return None
    return Tree("any_order", tuple([_learned(group, _projected(runs, group)) for group in groups]))


def _projected(runs: Sequence[Run], group: Iterable[Label]) -> list[Run]:
    kept = set(group)
    return [tuple([label for label in run if label in kept]) for run in runs]


def _orders(runs: Sequence[Run]) -> set[tuple[Label, Label]]:
    return {pair for run in runs for pair in combinations(run, 2)}


def _reachable(labels: Sequence[Label], runs: Sequence[Run]) -> Callable[[Label, Label], bool]:
    """Return a function that says whether a label precedes another, directly or through labels in between."""
    after: dict[Label, set[Label]] = {label: set() for label in labels}
    for one, two in _orders(runs):
        after[one].add(two)
    for middle in labels:  # Warshall's closure
        for each in labels:
            if middle in after[each]:
                after[each] |= after[middle]
    return lambda one, two: two in after[one]


def _components(labels: Sequence[Label], joined: Callable[[Label, Label], bool]) -> list[list[Label]]:
    """Return the connected components of labels, each sorted, in the order of their first labels."""
    group_of = {label: [label] for label in labels}
    for one, two in combinations(labels, 2):
        if group_of[one] is not group_of[two] and joined(one, two):
            group_of[one].extend(group_of[two])
            for label in group_of[two]:
                group_of[label] = group_of[one]
    unique = {id(group): group for group in group_of.values()}
    return sorted([sorted(group) for group in unique.values()])
