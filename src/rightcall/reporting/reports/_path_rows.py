"""The rows of an expected path as people read them: rounds of a loop side by side, and brackets around groups.

Terminal, pytest, pages, Markdown and JUnit draw these rows, so that a group looks the same wherever it is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rightcall.values.results import AlignedGroup, Step

_BRACKETED = ("any_order", "at_once", "one_of", "repeat", "optional")
_PHRASES = {"any_order": "any order", "at_once": "at once", "optional": "optional"}
_FINE = ("match", "skipped")
_MOST_ROUNDS = 6
"""Rounds whose calls one row names; more of them are counted."""


class PathRow(msgspec.Struct, frozen=True):
    """One row: a step, or the same step in each round of a loop, and the groups around it, the outermost first."""

    steps: tuple[Step, ...]
    groups: tuple[AlignedGroup, ...] = ()
    """Those that are worth a bracket."""
    words: tuple[str, ...] = ()
    """The words of all groups around it."""

    @property
    def step(self) -> Step:
        """The step that matters most: the first that is not as expected, else the first."""
        return next((step for step in self.steps if step.kind not in _FINE), self.steps[0])

    @property
    def left_out(self) -> str:
        """Why nothing had to match it; empty where something had to."""
        if self.step.kind != "skipped":
            return ""
        inner = next((word for word in reversed(self.words) if word in ("one_of", "optional", "repeat")), "")
        return {"one_of": "not taken", "repeat": "no round"}.get(inner, "optional, left out")


class Bracket(msgspec.Struct, frozen=True):
    """Where a group begins (`label` says what it is) or ends, and how many others are around it."""

    depth: int
    label: str = ""
    group: AlignedGroup | None = None
    first: Step | None = None
    """The first step in it."""

    @property
    def opens(self) -> bool:
        """Whether it is the beginning of a group."""
        return self.group is not None


def path_rows(steps: Sequence[Step], groups: Sequence[AlignedGroup], *, rounds: bool = True) -> list[PathRow]:
    """Return the rows of steps, each with the groups that are worth a bracket.

    With `rounds`, those of a loop are in one row; else every step has its own, in the order it was read.
    """
    around = _Around(groups)
    rows: list[PathRow] = []
    place = 0
    while place < len(steps):
        loop = around.loop(steps[place]) if rounds else None
        end = place + 1
        while loop is not None and end < len(steps) and around.is_in(steps[end], loop):
            end += 1
        if loop is not None and _is_foldable(steps[place:end]):
            rows += [around.row(same) for same in _by_leaf(steps[place:end])]
        else:
            rows += [around.row((step,)) for step in steps[place:end]]
        place = end
    return _with_extras_inside(rows)


def with_brackets(rows: Sequence[PathRow], every: Sequence[PathRow]) -> Iterator[PathRow | Bracket]:
    """Yield rows with a bracket wherever a group begins or ends. `every` are all rows, which labels are about."""
    labels = group_labels(every)
    held: tuple[AlignedGroup, ...] = ()
    for row in rows:
        shared = _shared(held, row.groups)
        yield from [Bracket(depth) for depth in reversed(range(shared, len(held)))]
        for depth, group in enumerate(row.groups[shared:], shared):
            yield Bracket(depth, labels.get(group.path, group.word), group, row.steps[0])
        held = row.groups
        yield row
    yield from [Bracket(depth) for depth in reversed(range(len(held)))]


def group_labels(rows: Sequence[PathRow]) -> dict[str, str]:
    """Return each group in a few words, by its path: `any order, 2 of 3 made`, `1 of 2`, `2 rounds (at least 1)`."""
    groups: dict[str, AlignedGroup] = {}
    inside: dict[str, list[Step]] = {}
    for row in rows:
        for group in row.groups:
            groups[group.path] = group
            inside.setdefault(group.path, []).extend([step for step in row.steps if step.expected is not None])
    return {path: _label(group, inside[path]) for path, group in groups.items()}


def _label(group: AlignedGroup, steps: Sequence[Step]) -> str:
    if group.word == "one_of":
        inside = f"{group.path}.one_of["
        parts = {(step.path or "").removeprefix(inside).partition("]")[0] for step in steps}
        return f"1 of {len(parts):,}" if len(parts) > 1 else "one of"
    if group.word == "repeat":
        return _rounds_text(group)
    made = sum([step.kind in ("match", "moved") for step in steps])
    phrase = _PHRASES.get(group.word, group.word)
    is_whole = made in (0, len(steps)) or group.word == "optional"
    return phrase if is_whole else f"{phrase}, {made:,} of {len(steps):,} made"


def _rounds_text(group: AlignedGroup) -> str:
    rounds = group.rounds or 0
    least, most = group.at_least if group.at_least is not None else 1, group.at_most
    if most is None:
        bounds = f"at least {least:,}"
    else:
        bounds = f"exactly {least:,}" if least == most else f"{least:,} to {most:,}"
    return f"{rounds:,} {'round' if rounds == 1 else 'rounds'} ({bounds})"


def rounds_named(row: PathRow) -> tuple[tuple[Step, ...], int]:
    """Return the rounds of a row to name one by one, and the number of the others."""
    return row.steps[:_MOST_ROUNDS], max(0, len(row.steps) - _MOST_ROUNDS)


class _Around:
    """The groups around each expected call that are worth a bracket."""

    def __init__(self, groups: Sequence[AlignedGroup]) -> None:
        self._groups = groups
        self._known: dict[int, tuple[AlignedGroup, ...]] = {}

    def row(self, steps: tuple[Step, ...]) -> PathRow:
        """The row of a step, or of its rounds."""
        around = self._of(steps[0])
        return PathRow(
            steps, tuple([each for each in around if _is_bracketed(each)]), tuple([each.word for each in around])
        )

    def _of(self, step: Step) -> tuple[AlignedGroup, ...]:
        if step.expected is None:
            return ()
        if step.expected not in self._known:
            self._known[step.expected] = tuple([group for group in self._groups if self._has(group, step)])
        return self._known[step.expected]

    def loop(self, step: Step) -> AlignedGroup | None:
        """The outermost loop around a step."""
        return next((group for group in self._of(step) if group.word == "repeat"), None)

    def is_in(self, step: Step, group: AlignedGroup) -> bool:
        """Return whether a step is in a group."""
        return step.expected is not None and self._has(group, step)

    def _has(self, group: AlignedGroup, step: Step) -> bool:
        return step.expected is not None and group.first <= step.expected < group.end


def _is_bracketed(group: AlignedGroup) -> bool:
    """Whether a group is worth a bracket: there are several calls in it, and a word about them."""
    return group.word in _BRACKETED and group.end - group.first > 1


def _is_foldable(steps: Sequence[Step]) -> bool:
    """Whether rounds can stand side by side: there are several, and each step is there once in each."""
    numbers = [(step.expected, step.rounds) for step in steps]
    return len({step.rounds for step in steps}) > 1 and len(set(numbers)) == len(numbers)


def _by_leaf(steps: Sequence[Step]) -> list[tuple[Step, ...]]:
    found: dict[int, list[Step]] = {}
    for step in steps:
        found.setdefault(step.expected if step.expected is not None else -1, []).append(step)
    return [tuple(found[leaf]) for leaf in sorted(found)]


def _with_extras_inside(rows: Sequence[PathRow]) -> list[PathRow]:
    """Put extra calls into the groups that both of their neighbours are in: a bracket is drawn once."""
    shown = list(rows)
    before: tuple[AlignedGroup, ...] = ()
    after: tuple[AlignedGroup, ...] = ()
    following: list[tuple[AlignedGroup, ...]] = []
    for row in reversed(shown):
        after = row.groups if row.steps[0].expected is not None else after
        following.append(after)
    for place, row in enumerate(shown):
        if row.steps[0].expected is not None:
            before = row.groups
        else:
            next_one = following[len(shown) - 1 - place]
            shown[place] = PathRow(row.steps, before[: _shared(before, next_one)], row.words)
    return shown


def _shared(one: Sequence[AlignedGroup], other: Sequence[AlignedGroup]) -> int:
    """How many groups two rows have in common, from the outermost on."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (first, second) in enumerate(pairs) if first != second), min(len(one), len(other)))
