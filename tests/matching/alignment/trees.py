"""Trees of steps for the tests of readings: drawn at random, as an eval set writes them, read by trying everything."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, permutations, product
from math import prod
from random import Random
from typing import Any

from rightcall.matching.alignment import AnyOrder, AtOnce, InOrder, OneCall, OneOf, Perhaps, Repeat, StepNode

Rows = list[list[int]]
Range = tuple[int, int]
Best = tuple[int, int, int]
"""How many calls are paired, steps missing, and calls extra."""

_GROUPS: dict[str, Any] = {"any_order": AnyOrder, "at_once": AtOnce, "one_of": OneOf, "steps": InOrder}


def tree_of(steps: Any, names: list[str]) -> StepNode:
    """The tree of steps as they are written; the name of each leaf goes to `names`."""
    if isinstance(steps, str):
        names.append(steps)
        return OneCall(len(names) - 1)
    if isinstance(steps, list):
        return InOrder(tuple([tree_of(step, names) for step in steps]))
    if "optional" in steps:
        return Perhaps(tree_of(steps["optional"], names))
    if "repeat" in steps:
        return Repeat(tree_of(steps["repeat"], names), steps.get("at_least", 1), steps.get("at_most"))
    [(word, items)] = steps.items()
    made: StepNode = _GROUPS[word](tuple([tree_of(item, names) for item in items]))
    return made


def rows_of(names: list[str], made: list[str] | str) -> Rows:
    """For each name the places of the calls that have it."""
    return [[place for place, other in enumerate(made) if other == name] for name in names]


def some_steps(random: Random, depth: int, names: str = "abcd", *, in_batch: bool = False) -> Any:
    """One step, at random; inside of calls at once, one of those that may stand there."""
    words = (
        ["call"] if depth == 0 else ["call", "call", "optional", "one_of", "repeat", "any_order", "at_once", "steps"]
    )
    word = random.choice(words[:5] if in_batch and depth else words)
    if word == "call":
        return random.choice(names)
    if word in ("optional", "repeat"):
        held = some_steps(random, 0 if in_batch else depth - 1, names)
        return {word: held} if word == "optional" else {word: held, **_bounds(random)}
    inside = 0 if in_batch else depth - 1
    number = random.randint(1, 3)
    return {word: [some_steps(random, inside, names, in_batch=word == "at_once") for _ in range(number)]}


def _bounds(random: Random) -> dict[str, int]:
    least = random.randint(0, 2)
    most = random.choice([None, max(1, least), least + 1])
    return {"at_least": least} | ({} if most is None else {"at_most": most})


def nearly(random: Random, steps: Any) -> list[str]:
    """Calls that nearly fit: those that steps name, in order, some of them more often, never, or elsewhere."""
    names: list[str] = []
    tree_of(steps, names)
    calls = [name for name in names[:9] for _ in range(random.choice((0, 1, 1, 1, 2)))]
    for _ in range(random.randint(0, 2)):
        calls.insert(random.randint(0, len(calls)), random.choice("abcdx"))
    if random.random() < 0.5 and calls:
        calls.append(calls.pop(random.randrange(len(calls))))
    return calls[:9]


def some_batches(random: Random, calls: int) -> list[Range]:
    """Ranges of calls made at once, at random; some of them share calls."""
    ranges = some_ranges(random, calls)
    if random.random() < 0.3 and calls > 2:
        ranges += [(1, calls)]
    return [each for each in ranges if each[1] - each[0] > 1]


def some_ranges(random: Random, calls: int) -> list[Range]:
    """Ranges that cover all calls, at random."""
    cuts = sorted({0, calls, *[random.randint(0, calls) for _ in range(2)]})
    return list(pairwise(cuts))


def choices(node: StepNode, calls: int) -> int:
    """How many choices there are in a tree, at most: each of them is tried."""
    if isinstance(node, OneCall):
        return 1
    if isinstance(node, Perhaps):
        return 1 + choices(node.item, calls)
    if isinstance(node, OneOf):
        return sum([choices(item, calls) for item in node.items])
    if isinstance(node, Repeat):
        most = max(node.at_least, calls if node.at_most is None else node.at_most)
        return sum([choices(node.item, calls) ** number for number in range(node.at_least, most + 1)])
    return prod([choices(item, calls) for item in node.items])


def best_by_trying(
    tree: StepNode,
    rows: Rows,
    calls: int,
    *,
    extras: bool,
    batches: list[Range],
    free: list[Range],
) -> Best:
    """The best reading, by every choice and every pairing in every order of the free calls."""
    batch_of = _batches_of(batches, calls)
    found = set()
    for order in _orders(calls, free):
        place_of = {call: place for place, call in enumerate(order)}
        for leaves, before, at_once in _expansions(tree, calls):
            most = _most(leaves, before, at_once, rows, place_of, batch_of)
            found.add((most, len(leaves)))
    matched, size = max(found, key=lambda each: _rank(each[0], each[1], calls, extras=extras))
    return matched, size - matched, 0 if extras else calls - matched


def _batches_of(batches: list[Range], calls: int) -> list[set[int]]:
    """For each call the batches it belongs to; one of its own where it is in none."""
    held = [{place for place, (first, end) in enumerate(batches) if first <= call < end} for call in range(calls)]
    return [places or {-1 - call} for call, places in enumerate(held)]


def _rank(matched: int, size: int, calls: int, *, extras: bool) -> tuple[Fraction, int, int]:
    over, under = (matched, size) if extras else (2 * matched, size + calls)
    return Fraction(over, under) if under else Fraction(1), matched, -size


def _orders(calls: int, free: list[Range]) -> list[list[int]]:
    inside = {call for first, end in free for call in range(first, end)}
    pieces = [[[call]] for call in range(calls) if call not in inside]
    pieces += [[list(order) for order in permutations(range(first, end))] for first, end in free]
    pieces.sort(key=lambda piece: min(piece[0]))
    return [[call for piece in chosen for call in piece] for chosen in product(*pieces)]


_Expansion = tuple[list[int], set[Range], list[list[int]]]
"""The leaves, the pairs of them of which one has to come before the other, and those made at once."""


def _expansions(node: StepNode, calls: int) -> list[_Expansion]:
    if isinstance(node, OneCall):
        return [([node.leaf], set(), [])]
    if isinstance(node, Perhaps):
        return [([], set(), []), *_expansions(node.item, calls)]
    if isinstance(node, OneOf):
        return [each for item in node.items for each in _expansions(item, calls)]
    if isinstance(node, Repeat):
        most = max(node.at_least, min(calls, calls if node.at_most is None else node.at_most))
        rounds = [InOrder((node.item,) * number) for number in range(node.at_least, most + 1)]
        return [each for chain in rounds for each in _expansions(chain, calls)]
    joined: list[_Expansion] = [([], set(), [])]
    for item in node.items:
        inside = _expansions(item, calls)
        joined = [_join(one, other, ordered=isinstance(node, InOrder)) for one in joined for other in inside]
    if isinstance(node, AtOnce):
        return [(leaves, before, [*together, list(range(len(leaves)))]) for leaves, before, together in joined]
    return joined


def _join(one: _Expansion, other: _Expansion, *, ordered: bool) -> _Expansion:
    shift = len(one[0])
    before = one[1] | {(first + shift, second + shift) for first, second in other[1]}
    if ordered:
        before |= {(first, second + shift) for first in range(shift) for second in range(len(other[0]))}
    return [*one[0], *other[0]], before, [*one[2], *[[place + shift for place in places] for places in other[2]]]


def _most(
    leaves: list[int],
    before: set[Range],
    at_once: list[list[int]],
    rows: Rows,
    place_of: dict[int, int],
    batch_of: list[set[int]],
) -> int:
    chosen: list[int] = []

    def clash(place: int, other: int, call: int) -> bool:
        here = len(chosen)
        out_of_order = (place, here) in before and place_of[other] > place_of[call]
        return other == call or out_of_order

    def together(call: int) -> bool:
        made = [*chosen, call]
        for places in at_once:
            batches = [batch_of[made[place]] for place in places if place < len(made) and made[place] >= 0]
            if batches and not set.intersection(*batches):
                return False
        return True

    def fits(call: int) -> bool:
        clashes = any(other >= 0 and clash(place, other, call) for place, other in enumerate(chosen))
        return not clashes and together(call)

    def most_from(left: int) -> int:
        if not left:
            return 0
        best = 0
        for call in [*[call for call in rows[leaves[len(chosen)]] if fits(call)], -1]:
            chosen.append(call)
            best = max(best, (call >= 0) + most_from(left - 1))
            chosen.pop()
            if best == left:
                break
        return best

    return most_from(len(leaves))


def is_valid(tree: StepNode, rows: Rows, calls: int, steps: Any, batches: list[Range], free: list[Range]) -> bool:
    """Whether some choice and some order of the free calls allow for exactly these steps and pairs."""
    batch_of = _batches_of(batches, calls)
    given = sorted([(step.leaf, step.call) for step in steps])
    if any([call >= 0 and call not in rows[leaf] for leaf, call in given]):
        return False
    orders = [{call: place for place, call in enumerate(order)} for order in _orders(calls, free)]
    most = max([calls, *[step.rounds[0] + 1 for step in steps if step.rounds]])
    for leaves, before, at_once in _expansions(tree, most):
        if sorted(leaves) != [leaf for leaf, _ in given]:
            continue
        for held in _assignments(leaves, given):
            if _together(held, at_once, batch_of) and any([_in_order(held, before, order) for order in orders]):
                return True
    return False


def _assignments(leaves: list[int], given: list[tuple[int, int]]) -> set[tuple[int, ...]]:
    """Every way to give the calls of a leaf to its occurrences."""
    by_leaf = {leaf: set(permutations([call for other, call in given if other == leaf])) for leaf in set(leaves)}
    found = set()
    for choice in product(*by_leaf.values()):
        waiting = {leaf: list(calls) for leaf, calls in zip(by_leaf, choice, strict=True)}
        found.add(tuple([waiting[leaf].pop(0) for leaf in leaves]))
    return found


def _together(held: tuple[int, ...], at_once: list[list[int]], batch_of: list[set[int]]) -> bool:
    batches = [[batch_of[held[place]] for place in places if held[place] >= 0] for places in at_once]
    return all([not each or bool(set.intersection(*each)) for each in batches])


def _in_order(held: tuple[int, ...], before: set[Range], place_of: dict[int, int]) -> bool:
    pairs = [(held[first], held[second]) for first, second in before]
    return all([first < 0 or second < 0 or place_of[first] < place_of[second] for first, second in pairs])
