"""Find, for each call that a rule is about, a call in the required relation to it.

All of these take calls by their positions, sort them and bisect: calls may be hundreds of thousands. A relation that
goes by who made whom walks up from each call, whose makers together the timeline has limited.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeAlias

from ._between import Partners, Scene, unbroken

Find: TypeAlias = Callable[[Sequence[int], Sequence[int], Scene], Partners]


def same_call(xs: Sequence[int], ys: Sequence[int], scene: Scene) -> Partners:
    """Each call that is one of the others itself."""
    return {call: call for call in set(xs).intersection(ys)}


def any_other(xs: Sequence[int], ys: Sequence[int], scene: Scene) -> Partners:
    """For each call, the first of the others, wherever it is."""
    first, second = _two(ys)
    found = {x: first if first != x else second for x in xs}
    return {x: y for x, y in found.items() if y >= 0}


def earlier(xs: Sequence[int], ys: Sequence[int], scene: Scene) -> Partners:
    """For each call, the one before it that ended first."""
    if scene.between:
        return unbroken(xs, ys, scene, backwards=False)
    begin, end = scene.near.begin, scene.near.end
    first, second = _two(sorted(ys, key=lambda y: (end[y], y))[:2])
    found = {}
    for x in xs:
        y = first if first != x else second
        if y >= 0 and end[y] <= begin[x]:
            found[x] = y
    return found | _makers_among(xs, ys, scene, found)


def later(xs: Sequence[int], ys: Sequence[int], scene: Scene) -> Partners:
    """For each call, the one after it that began last."""
    if scene.between:
        return unbroken(xs, ys, scene, backwards=True)
    begin, end = scene.near.begin, scene.near.end
    first, second = _two(sorted(ys, key=lambda y: (-begin[y], y))[:2])
    found = {}
    for x in xs:
        y = first if first != x else second
        if y >= 0 and end[x] <= begin[y]:
            found[x] = y
    return _made_among(xs, ys, scene) | found


def not_later(xs: Sequence[int], ys: Sequence[int], scene: Scene) -> Partners:
    """For each call, one that it is not before: that began while it was running or earlier, or is the call itself."""
    # What is strictly so here is that a call is not even possibly before the other.
    begin, end = scene.far.begin, scene.far.end
    ordered = sorted(ys, key=lambda y: begin[y])
    selves = set(ys)
    found = {}
    for x in xs:
        for y in ordered:
            if begin[y] >= end[x]:
                break
            if x not in scene.timeline.makers(y):
                found[x] = y
                break
        else:
            if x in selves:
                found[x] = x
    return found


def right_before(xs: Sequence[int], ys: Sequence[int], scene: Scene) -> Partners:
    """For each call, its neighbour before it."""
    return _beside(xs, ys, scene, -1)


def right_after(xs: Sequence[int], ys: Sequence[int], scene: Scene) -> Partners:
    """For each call, its neighbour after it."""
    return _beside(xs, ys, scene, 1)


def _two(ys: Sequence[int]) -> tuple[int, int]:
    """The first two calls: a call is not its own partner."""
    return (ys[0] if ys else -1), (ys[1] if len(ys) > 1 else -1)


def _makers_among(xs: Iterable[int], ys: Collection[int], scene: Scene, found: Collection[int]) -> Partners:
    """For calls that have no partner yet, the nearest of the others that made it."""
    if scene.timeline.parents is None:
        return {}
    among = set(ys)
    makers = {x: next((y for y in scene.timeline.makers(x) if y in among), -1) for x in xs if x not in found}
    return {x: y for x, y in makers.items() if y >= 0}


def _made_among(xs: Collection[int], ys: Iterable[int], scene: Scene) -> Partners:
    """For each call, one of the others that it made."""
    if scene.timeline.parents is None:
        return {}
    among = set(xs)
    return {x: y for y in ys for x in scene.timeline.makers(y) if x in among}


def _beside(xs: Sequence[int], ys: Sequence[int], scene: Scene, step: int) -> Partners:
    among, timeline = set(ys), scene.timeline
    found = {}
    for x in xs:
        beside = timeline.neighbours(scene.order, x, step)
        fits = [y for y in beside.calls if y in among and _is_apart(x, y, scene, step)]
        if scene.strict:
            certain = len(fits) == len(beside.calls) and not beside.may_be_none and not beside.too_many
            fits = fits if certain else []
        elif beside.too_many and not fits:
            fits = list(beside.calls[:1])
        if fits:
            found[x] = fits[0]
    return found


def _is_apart(x: int, y: int, scene: Scene, step: int) -> bool:
    first, second = (y, x) if step < 0 else (x, y)
    return scene.near.end[first] <= scene.near.begin[second] or first in scene.timeline.makers(second)
