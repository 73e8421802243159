"""Which calls are paired with which expectations, in many small tables and a few large ones, and what that took."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.matching.alignment.trees import nearly, rows_of, some_batches, some_ranges, some_steps, tree_of
from tests.snapshots import Drawn, drawn, line

from rightcall.errors import LimitError
from rightcall.matching.alignment import (
    MarkedRow,
    Reader,
    SearchBudget,
    arrange,
    best_assignment,
    common_length,
    common_subsequence,
    fits_every_order,
    least_common,
    least_met,
    longest_run,
    maximum_pairing,
    only_pairing,
    related_subsequence,
)

FILE = "alignments.txt"
_BUDGET = 20_000
Rows = list[list[int]]


def groups() -> list[str]:
    """What alignments are grouped by: the function that is asked."""
    return list(_GROUPS)


def outcomes(group: str) -> dict[str, str]:
    """A line for each input of a group."""
    return drawn(_GROUPS, group)


def _reading(random: Random) -> str:
    """Steps of every kind, in one another, read against calls of which some are missing, extra or turned round."""
    steps = [some_steps(random, random.choice((1, 2, 3))) for _ in range(random.randint(1, 3))]
    calls = nearly(random, steps)
    return _read(steps, calls, random)


def _long_reading(random: Random) -> str:
    """One group of many calls: single ones, which are counted or compete, or branches that are interleaved."""
    items = [some_steps(random, random.choice((0, 0, 1)), "abcdef") for _ in range(random.randint(4, 7))]
    steps = ["a", {random.choice(("any_order", "at_once")): items}, {"optional": "b"}]
    return _read(steps, random.choices("abcdefx", k=random.randint(12, 24)), random)


def _read(steps: Any, calls: list[str], random: Random) -> str:
    names: list[str] = []
    reader, budget = Reader(tree_of(steps, names)), SearchBudget(_BUDGET)
    batches = some_batches(random, len(calls)) if random.random() < 0.7 else []
    free = some_ranges(random, len(calls)) if random.random() < 0.4 else []
    rows, extras = rows_of(names, calls), random.random() < 0.5
    if random.random() < 0.3:  # a leaf that takes calls of two names competes with others
        rows = [sorted({*row, *random.choice(rows)}) for row in rows]
    given = (steps, rows, batches, free, extras)
    try:
        reading = reader.read(rows, len(calls), extras=extras, budget=budget, batches=batches, free=free)
    except LimitError as problem:
        return line(given, str(problem), problem)
    counted = (reading.matched, reading.missing, reading.extra)
    pairs = [(step.leaf, step.rounds, step.call) for step in reading.steps]
    spent = _BUDGET - budget.left
    return line(given, (counted, pairs, spent), *counted, "in", spent, "steps")


def _some_rows(random: Random, height: int, width: int, share: float) -> Rows:
    return [[column for column in range(width) if random.random() < share] for _ in range(height)]


def _some_shape(random: Random) -> tuple[int, int, Rows]:
    height, width = random.randint(0, 8), random.randint(0, 8)
    rows = _some_rows(random, height, width, random.choice((0.15, 0.3, 0.6)))
    return height, width, rows


def _pairing(random: Random) -> str:
    _, _, rows = _some_shape(random)
    return _paired(rows, random)


def _dense_pairing(random: Random) -> str:
    """So many calls that rows are kept as bits: those before a bound, which make way for one another, or any."""
    height = random.randint(100, 120)
    if random.random() < 0.7:
        rows = [list(range(random.randint(height - row, height))) for row in range(height)]
    else:
        rows = _some_rows(random, height, height, 0.5)
    return _paired(rows, random)


def _paired(rows: Rows, random: Random) -> str:
    seed = [(row, rows[row][0]) for row in range(min(1, len(rows))) if rows[row] and random.random() < 0.3]
    rounds: list[int] = []
    shared = [random.choice(rows) for _ in rows] if random.random() < 0.3 and not seed else rows
    choice = maximum_pairing(shared, seed, each_round=lambda: rounds.append(1))
    only = only_pairing(rows)
    pairs = None if only is None else {row: column for row, column in enumerate(only) if column >= 0}
    found = (choice, len(rounds), pairs)
    return line((shared, seed), found, len(choice) - choice.count(-1), "pairs in", len(rounds), "rounds")


def _assignment(random: Random) -> str:
    height, width = random.randint(0, 6), random.randint(1, 6)
    worth = [[random.choice((0.0, 0.25, 0.5, random.random())) for _ in range(width)] for _ in range(height)]
    found = best_assignment(worth)
    return line(worth, found, round(sum([worth[row][column] for row, column in enumerate(found) if column >= 0]), 3))


def _arranging(random: Random) -> str:
    """The best order of columns that are free, and what every order has; with a budget that is too small for some."""
    height, width, rows = _some_shape(random)
    blocks = [each for each in some_ranges(random, width) if each[1] - each[0] > 1]
    some = [block for block in blocks if random.random() < 0.5]
    others = [block for block in blocks if block not in some]
    try:
        order: Any = arrange(rows, width, blocks, random.choice((10, 60, 200, 10_000)))
    except LimitError as problem:
        order = str(problem)
    least = (least_met(rows, width, some, others), least_common(rows, width, blocks))
    square = _some_rows(random, width, width, 0.8)
    return line((rows, blocks, square), (order, least, fits_every_order(square, some, others)), height, order, *least)


def _subsequence(random: Random) -> str:
    _, width, rows = _some_shape(random)
    marked = [MarkedRow([column in row for column in range(width)]) for row in rows]
    whole, halved = related_subsequence(rows, width), related_subsequence(rows, width, largest_table=6)
    same = related_subsequence(marked, width), related_subsequence(marked, width, largest_table=6)
    return line((rows, width), (whole, halved, same), len(whole), whole == same[0], halved == same[1])


def _common(random: Random) -> str:
    expected, actual = (random.choices(range(4), k=random.randint(0, 12)) for _ in "ab")
    found = (common_length(expected, actual), common_subsequence(expected, actual))
    values = random.sample(range(30), random.randint(0, 12))
    run = [values.index(value) for value in sorted(longest_run(values))]
    return line((expected, actual), (*found, run), found[0], len(found[1]), len(run))


_GROUPS: Drawn = {
    "reading": (_reading, 700),
    "long reading": (_long_reading, 100),
    "pairing": (_pairing, 80),
    "dense pairing": (_dense_pairing, 8),
    "assignment": (_assignment, 60),
    "arranging": (_arranging, 150),
    "subsequence": (_subsequence, 80),
    "common": (_common, 50),
}
