"""Find the structure of several sequences: what comes in order, in any order, instead of another, or not always.

The cuts are those of the inductive miner (Leemans, Fahland and van der Aalst, 2013): choice, sequence, concurrency.
Loops are folded before, so a label is at most once in a sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Literal, TypeAlias

import msgspec

Label: TypeAlias = int
Run: TypeAlias = tuple[Label, ...]


class Tree(msgspec.Struct, frozen=True):
    """A call, or a group of calls."""

    kind: Literal["call", "sequence", "any_order", "one_of"]
    items: tuple[Tree, ...] = ()
    label: Label = -1
    support: int = 0
    """In how many of the sequences it occurs."""
    is_optional: bool = False
    """Whether a sequence that reaches it may go on without it."""


def structure(runs: Sequence[Run]) -> Tree | None:
    """Return the structure that all runs have; `None` if none of them has a label."""
    labels = sorted({label for run in runs for label in run})
    return _learned(labels, runs) if labels else None


def unordered(runs: Sequence[Run]) -> Tree | None:
    """Return the structure that runs have if their order is free: alternatives, and labels in any order."""
    labels = sorted({label for run in runs for label in run})
    present = [run for run in runs if run]
    choice = _choice(labels, present, unordered) if len(present) == len(runs) else None
    return choice or _flat(runs)


def _flat(runs: Sequence[Run]) -> Tree | None:
    """Return all labels in any order, those that some run lacks as optional."""
    labels = sorted({label for run in runs for label in run})
    calls = tuple([_call(label, runs) for label in labels])
    if len(calls) < 2:
        return calls[0] if calls else None
    return Tree("any_order", calls, support=len(runs))


def _call(label: Label, runs: Sequence[Run]) -> Tree:
    support = sum([label in run for run in runs])
    return Tree("call", label=label, support=support, is_optional=support < len(runs))


def _learned(labels: Sequence[Label], runs: Sequence[Run]) -> Tree:
    """Return the structure of some labels; it is optional where a run has none of them."""
    if len(labels) == 1:
        return _call(labels[0], runs)
    present = [run for run in runs if run]
    made = _choice(labels, present) or _sequence(labels, present) or _concurrency(labels, present) or _flat(present)
    assert made is not None, "there is at least one label"  # noqa: S101
    return msgspec.structs.replace(made, support=len(present), is_optional=len(present) < len(runs))


def _choice(
    labels: Sequence[Label], runs: Sequence[Run], learned: Callable[[Sequence[Run]], Tree | None] | None = None
) -> Tree | None:
    """Labels that are never together are alternatives."""
    together = {pair for run in runs for pair in combinations(sorted(run), 2)}
    groups = _components(labels, lambda one, two: (one, two) in together)
    if len(groups) < 2:
        return None
    # A run has labels of one group only, or the groups would be one.
    members = [[run for run in runs if run[0] in group] for group in groups]
    items = [(learned or structure)(each) for each in members]
    return Tree("one_of", tuple([item for item in items if item is not None]), support=len(runs))


def _sequence(labels: Sequence[Label], runs: Sequence[Run]) -> Tree | None:
    """Groups of labels between which the order is always the same."""
    before = _reachable(labels, runs)
    groups = _components(labels, lambda one, two: before(one, two) == before(two, one))
    groups = _untangled(groups, before)
    if len(groups) == 1:
        return None
    ordered = sorted(groups, key=lambda group: sum([before(other[0], group[0]) for other in groups]))
    return Tree("sequence", tuple([_learned(group, _projected(runs, group)) for group in ordered]))


def _untangled(groups: list[list[Label]], before: Callable[[Label, Label], bool]) -> list[list[Label]]:
    """Join groups until all labels of one are on the same side of all labels of another."""
    for first, second in combinations(groups, 2):
        sides = {before(one, two) for one in first for two in second}
        if len(sides) > 1:
            rest = [group for group in groups if group is not first and group is not second]
            return _untangled([*rest, sorted([*first, *second])], before)
    return groups


def _concurrency(labels: Sequence[Label], runs: Sequence[Run]) -> Tree | None:
    """Groups of labels between which both orders were seen: branches."""
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
    """Return whether one label is before another, in some run or by way of labels in between."""
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
