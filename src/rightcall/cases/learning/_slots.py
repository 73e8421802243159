"""Line up the calls of several runs: which call of one is the same step as which call of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from rightcall.matching.matchers import equal
from rightcall.values.trajectory import ToolCall, Trajectory

from ._structure import Run
from ._values import Sighting

_LONGEST_PERIOD = 4


class Slot(msgspec.Struct, frozen=True):
    """One step: a call that some runs have in common, or a block of calls that is repeated."""

    tool: str
    sightings: tuple[Sighting, ...]
    block: tuple[Slot, ...] = ()
    """The steps that are repeated, if it is a loop."""
    rounds: tuple[int, int] = (1, 1)
    """The least and the most rounds that were seen."""


class Lined(msgspec.Struct, frozen=True):
    """Runs as sequences of slots."""

    slots: tuple[Slot, ...]
    runs: tuple[Run, ...]


Positions = Sequence[tuple[Trajectory, Sequence[int]]]
"""Runs, each with the positions of the calls that are looked at."""


def line_up(runs: Positions, *, folds: bool = True) -> Lined:
    """Return which calls are the same step. With `folds`, blocks that are repeated now more, now less often are one."""
    slots, places = _placed(runs, folds)
    return Lined(tuple(slots), tuple([tuple([labels[place] for place in sorted(labels)]) for labels in places]))


_Placed = tuple[list[Slot], list[dict[int, int]]]
"""Slots, and for each run the slot of each position."""


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
    """Return the calls of one tool, those that are the same step together, as numbers of runs and positions."""
    calls = [[position for position in positions if _name(run, position) == tool] for run, positions in runs]
    slots: list[list[tuple[int, int]]] = []
    # The run with most calls comes first, so that every other one finds a place for each of its calls.
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
    """Return the share of arguments that a call has in common with the calls of a slot."""
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
    """Return the names of calls that are repeated, one block after the other, in numbers that differ between runs.

    The tools of the block are called nowhere else, or the loop would not be all there is to them.
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
    """Return how often a block is repeated in one row; `None` if its tools are called outside of that row, too."""
    places = [place for place, name in enumerate(names) if name in block]
    if not places:
        return 0
    row = names[places[0] : places[-1] + 1]
    count = len(row) // len(block)
    return count if list(row) == list(block) * count else None


def _folded(runs: Positions, block: tuple[str, ...]) -> _Placed:
    """Return runs in which the row of a block is one step, at the place of its first call."""
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
    """Return the positions of calls that are the agent's own."""
    return [position for position, call in enumerate(run.calls) if not call.internal]


def is_failed(call: ToolCall) -> bool:
    """Whether a call failed, or reads as if it had."""
    return call.error is not None or call.suspected_error
