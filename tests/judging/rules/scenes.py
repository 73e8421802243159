"""Small random scenes for rules, with all that a trace may leave open, and what every rule means by its definition."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import permutations, product
from random import Random
from typing import Any

import msgspec

from rightcall.judging.rules import ArgumentKey, Cast, Form, RulePart, SameArguments, Timeline, Times

RELATIONS = (
    "only_after",
    "never_after",
    "followed_by",
    "only_with",
    "never_with",
    "at_most",
    "always",
    "first",
    "last",
)
PAIRED = ("only_after", "never_after", "followed_by", "only_with", "never_with")


class World(msgspec.Struct, frozen=True):
    """A run about which everything is known: who plays which part, and which calls are before which."""

    calls: tuple[int, ...]
    """The calls in order."""
    x: frozenset[int]
    y: frozenset[int]
    z: frozenset[int]
    spared: frozenset[int]
    before: frozenset[tuple[int, int]]
    agree: frozenset[tuple[int, int]] | None
    """Pairs of X and Y that agree; `None` where they need not."""


def breakers(form: Form, world: World) -> list[int]:
    """The calls that break a rule, by its definition over all pairs of calls; -1 for a call that is missing."""
    if form.relation in ("first", "last"):
        end = world.calls[:1] if form.relation == "first" else world.calls[-1:]
        return [] if world.x.issuperset(end) and end else [*end] or [-1]
    x = [call for call in world.calls if call in world.x]
    if form.relation == "at_most":
        return [call for call in x if is_counted(form, world, call)][form.most :]
    if form.relation in ("only_after", "followed_by"):
        x = [call for call in x if call not in world.spared]
    return [call for call in x if not DEFINITIONS[form.relation](form, world, call)]


def is_counted(form: Form, world: World, call: int) -> bool:
    others = [other for other in world.y if agree(world, call, other)]
    if form.window == "before":
        return all((call, other) in world.before for other in others)
    return not form.window or any((other, call) in world.before for other in others)


def comes_after(form: Form, world: World, call: int) -> bool:
    before, place = world.before, world.calls.index(call)
    beside = world.calls[max(0, place - 1) : place] if form.directly else world.y
    return any(
        (other, call) in before
        and agree(world, call, other)
        and not any((other, stop) in before and (stop, call) in before for stop in world.z)
        for other in world.y.intersection(beside)
    )


def is_followed(form: Form, world: World, call: int) -> bool:
    before, place = world.before, world.calls.index(call)
    beside = world.calls[place + 1 : place + 2] if form.directly else world.y
    return any(
        (call, other) in before
        and agree(world, call, other)
        and not any((call, stop) in before and (stop, other) in before for stop in world.z)
        for other in world.y.intersection(beside)
    )


def comes_with(form: Form, world: World, call: int) -> bool:
    return any(other != call and agree(world, call, other) for other in world.y)


def agree(world: World, one: int, other: int) -> bool:
    return world.agree is None or (one, other) in world.agree


DEFINITIONS: dict[str, Callable[[Form, World, int], bool]] = {
    "only_after": comes_after,
    "never_after": lambda form, world, call: not comes_after(form, world, call),
    "followed_by": is_followed,
    "only_with": comes_with,
    "never_with": lambda form, world, call: not comes_with(form, world, call),
    "always": lambda form, world, call: call in world.y,
}


def applies(form: Form, world: World) -> bool:
    """Whether a rule applied, by its definition."""
    match form.relation:
        case "first" | "last":
            return True
        case "never_after":
            return bool(world.y)
        case "never_with":
            return bool(world.x | world.y)
        case "at_most":
            return form.window != "after" or bool(world.y)
        case "only_after" | "followed_by":
            return bool(world.x - world.spared)
    return bool(world.x)


class Scene(msgspec.Struct, frozen=True):
    """What is known of a run: answers of three values, and times."""

    form: Form
    x: tuple[bool | None, ...]
    taken: tuple[bool | None, ...]
    """Whether Y's pattern takes each call."""
    went_well: tuple[bool | None, ...]
    z: tuple[bool | None, ...]
    keys: tuple[tuple[Any, Any], ...] | None
    """The key of each call as an X and as a Y."""
    timeline: Timeline

    def cast(self) -> Cast:
        """The parts as the kernel is given them."""
        members = self.timeline.members if self.form.relation not in ("first", "last") else frozenset()
        done = [_and(*both) for both in zip(self.taken, self.went_well, strict=True)]
        x, y, z = [
            RulePart.of([_and(answer, None if place in members else True) for place, answer in enumerate(part)])
            for part in (self.x, done, self.z)
        ]
        spared = RulePart.of(self.taken) if self.form.relation in ("only_after", "followed_by") else RulePart()
        keys = [dict(enumerate([key[side] for key in self.keys or ()])) for side in (0, 1)]
        agreement = None if self.keys is None else SameArguments(*keys)
        return Cast(x, y, z, spared, agreement)

    def worlds(self) -> Iterator[World]:
        """Every way to fill in what is not known."""
        size = self.timeline.size
        parts = (self.x, self.taken, self.went_well, self.z)
        unknown = [(part, place) for part in range(4) for place in range(size) if parts[part][place] is None]
        doubtful = self._doubtful_pairs()
        for filled in product((True, False), repeat=len(unknown) + len(doubtful)):
            answers = [list(part) for part in parts]
            for (part, place), answer in zip(unknown, filled, strict=False):
                answers[part][place] = answer
            agreed = [pair for pair, answer in zip(doubtful, filled[len(unknown) :], strict=True) if answer]
            for calls, before in self._orders():
                yield self._world(answers, calls, before, agreed)

    def _world(
        self, answers: list[list[Any]], calls: tuple[int, ...], before: frozenset[tuple[int, int]], agreed: list[Any]
    ) -> World:
        x, taken, well, z = [{place for place in calls if answer[place]} for answer in answers]
        agree = None
        if self.keys is not None:
            sure = [(one, other) for one in calls for other in calls if self._surely_agree(one, other)]
            agree = frozenset([*sure, *agreed])
        return World(calls, frozenset(x), frozenset(taken & well), frozenset(z), frozenset(taken), before, agree)

    def _surely_agree(self, one: int, other: int) -> bool:
        keys = self.keys or ()
        return not isinstance(keys[one][0], ArgumentKey) and keys[one][0] == keys[other][1]

    def _doubtful_pairs(self) -> list[tuple[int, int]]:
        if self.keys is None:
            return []
        places = range(self.timeline.size)
        pairs = [(one, other, self.keys[one][0], self.keys[other][1]) for one in places for other in places]
        return [
            (one, other)
            for one, other, left, right in pairs
            if ArgumentKey.UNKNOWN in (left, right)
            and ArgumentKey.ABSENT not in (left, right)
            and self._matters(one, other)
        ]

    def _matters(self, one: int, other: int) -> bool:
        return self.x[one] is not False and _and(self.taken[other], self.went_well[other]) is not False

    def _orders(self) -> Iterator[tuple[tuple[int, ...], frozenset[tuple[int, int]]]]:
        timeline, size = self.timeline, self.timeline.size
        places = range(size)
        members = sorted(timeline.members)
        for chosen in product((True, False), repeat=len(members)):
            left_out = {call for call, kept in zip(members, chosen, strict=True) if not kept}
            for order in _arranged(size, timeline.unordered):
                times = timeline.sure
                if timeline.unordered:
                    place_of = {call: place for place, call in enumerate(order)}
                    times = Times([place_of[call] for call in places], [place_of[call] + 1 for call in places])
                before = {
                    (one, other)
                    for one in places
                    for other in places
                    if times.end[one] <= times.begin[other] or one in timeline.makers(other)
                }
                yield tuple([call for call in order if call not in left_out]), frozenset(before)


def _arranged(size: int, unordered: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    pieces: list[list[tuple[int, ...]]] = []
    place = 0
    for first, end in unordered:
        pieces += [[(call,)] for call in range(place, first)]
        pieces.append(list(permutations(range(first, end))))
        place = end
    pieces += [[(call,)] for call in range(place, size)]
    yield from ([call for piece in order for call in piece] for order in product(*pieces))


def _and(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def random_form(random: Random, relations: Sequence[str] = RELATIONS, *, directly: bool = True) -> Form:
    """A rule of one of these relations."""
    relation: Any = random.choice(relations)
    window: Any = random.choice(["", "before", "after"]) if relation == "at_most" else ""
    is_direct = directly and relation in ("only_after", "followed_by") and random.random() < 0.2
    return Form(relation, random.randrange(3) if relation == "at_most" else 0, window, is_direct)


def random_scene(
    random: Random,
    form: Form,
    *,
    unknown: int = 0,
    apart: bool = False,
    members: bool = False,
    unordered: bool = False,
    nested: bool = False,
    most: int = 7,
) -> Scene:
    """A scene of a few calls, with at most so many answers that are not known.

    `nested`: most calls were made by others, and something may come in between. `apart`: no call is both X and Y.
    `members`, `unordered`: it is not known of some calls whether they are selected, or in which order they were made.
    """
    size = random.randrange(most + 1)
    parts = [[random.random() < 0.45 for _ in range(size)] for _ in range(4)]
    parts[2] = [random.random() < 0.75 for _ in range(size)]
    if apart:
        parts[1] = [taken and not x for x, taken in zip(parts[0], parts[1], strict=True)]
    if form.directly or form.relation not in ("only_after", "followed_by") or (random.random() < 0.5 and not nested):
        parts[3] = [False] * size
    answers: list[list[bool | None]] = [list(part) for part in parts]
    keys = _random_keys(random, size, unknown > 0) if form.relation in PAIRED and random.random() < 0.4 else None
    for _ in range(unknown if size else 0):
        part = random.randrange(4 if any(parts[3]) else 3)
        answers[part][random.randrange(size)] = None
    x, taken, well, z = [tuple(part) for part in answers]
    timeline = _random_timeline(random, size, members=members, unordered=unordered, nested=nested)
    return Scene(form, x, taken, well, z, keys, timeline)


def _random_keys(random: Random, size: int, unknown: bool) -> tuple[tuple[Any, Any], ...]:
    values = [1, 1, 2, 2, 3, ArgumentKey.ABSENT]
    keys = [(random.choice(values), random.choice(values)) for _ in range(size)]
    if unknown and size and random.random() < 0.3:
        keys[random.randrange(size)] = (ArgumentKey.UNKNOWN, ArgumentKey.UNKNOWN)
    return tuple(keys)


def _random_timeline(random: Random, size: int, *, members: bool, unordered: bool, nested: bool) -> Timeline:
    doubtful = frozenset([call for call in range(size) if random.random() < 0.3]) if members else frozenset()
    parents = [random.randrange(-1, call) if random.random() < 0.4 + nested else -1 for call in range(size)]
    is_nested = any([parent >= 0 for parent in parents]) and (nested or random.random() < 0.5)
    if unordered and size > 1:
        first = random.randrange(size - 1)
        ranges = ((first, random.randrange(first + 2, min(size, first + 3) + 1)),)
        return _unordered_timeline(size, ranges, doubtful)
    if random.random() < 0.4:
        times = Times(list(range(size)), list(range(1, size + 1)))
    else:
        begins = sorted([random.randrange(10) for _ in range(size)])
        times = Times(begins, [begin + random.randrange(1, 6) for begin in begins])
    return Timeline(times, times, parents if is_nested else None, doubtful)


def _unordered_timeline(size: int, ranges: tuple[tuple[int, int], ...], members: frozenset[int]) -> Timeline:
    from rightcall import ToolCall
    from rightcall.judging.rules import timeline_of

    return timeline_of([ToolCall(name="tool")] * size, {}, ranges, members, most=1_000)
