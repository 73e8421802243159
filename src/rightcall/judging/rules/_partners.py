"""Find, for each call that a rule is about, a call in the required relation to it.

All of these take calls by their positions, sort them and bisect: calls may be hundreds of thousands. A relation that
goes by who made whom walks up from each call, whose makers together the timeline has limited.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from heapq import heappop, heappush
from itertools import accumulate
from math import inf
from typing import TypeAlias

import msgspec

from ._timeline import Order, Timeline, Times

Partners: TypeAlias = dict[int, int]
"""For each call that has one, its partner."""
Pairs: TypeAlias = Iterable[tuple[int, int]]


class Scene(msgspec.Struct, frozen=True):
    """What partners are looked for in.

    Strictly, only what is surely so makes a partner; otherwise what is possibly so does. What would come in between
    is judged the other way around.
    """

    timeline: Timeline
    order: Order
    strict: bool
    between: Sequence[int] = ()
    """The calls that must not come in between."""

    @property
    def near(self) -> Times:
        """The times by which partners are found."""
        return self.timeline.sure if self.strict else self.timeline.possible

    @property
    def far(self) -> Times:
        """The times by which something comes in between."""
        return self.timeline.possible if self.strict else self.timeline.sure


def unbroken(xs: Sequence[int], ys: Sequence[int], scene: Scene, *, backwards: bool) -> Partners:
    """For each call X, a Y before it such that nothing of `between` is after Y and before X.

    Backwards, a Y after it such that nothing is after X and before Y: the same in a mirror.
    """
    # Before in time and made by are two relations that need not agree in a trace: a tool may return while what it
    # started goes on. Pairs of the second kind are few and tried one by one; the first kind is swept.
    way = _Way(scene, backwards)
    near, far = way.times(scene.near), way.times(scene.far)
    barriers = way.barriers(far)
    found = {x: y for x, y in way.nested(xs, ys) if barriers.let(y, x)}
    waiting = sorted(ys, key=near.end.__getitem__)
    taken = 0
    reached: list[tuple[int, int]] = []
    for x in sorted(xs, key=lambda x: (near.begin[x], far.begin[x])):
        while taken < len(waiting) and near.end[waiting[taken]] <= near.begin[x]:
            heappush(reached, (-far.end[waiting[taken]], waiting[taken]))
            taken += 1
        # Of the partners that ended in time, the last to end counts: what comes after it comes after the others.
        y = _last_open(reached, x, way, barriers)
        if y >= 0 and barriers.let(y, x):
            found[x] = y
    return found


def _last_open(reached: list[tuple[int, int]], x: int, way: _Way, barriers: _Barriers) -> int:
    """The partner that ended last, without those that something they made has closed by now; -1 for none."""
    tried = []
    last = -1
    while reached and last < 0:
        y = reached[0][1]
        if barriers.closes[y] <= barriers.far.begin[x]:
            heappop(reached)  # calls come from early to late, so it is closed for all that follow, too
        elif way.is_nested(x, y):
            tried.append(heappop(reached))
        else:
            last = y
    for each in tried:
        heappush(reached, each)
    return last


class _Barriers(msgspec.Struct, frozen=True):
    """What must not come in between: when it ended and began, and what of it calls made or were made by."""

    far: Times
    ends: list[int]
    latest: list[float]
    """For the number of those that ended, the latest beginning among them."""
    above: dict[int, int]
    """For a call that was made by some of it, the latest beginning of those."""
    closes: list[float]
    """For each call, the earliest end of what it made of it."""

    def let(self, y: int, x: int) -> bool:
        """Return whether nothing comes between a call and one before it, as far as time shows."""
        now = self.far.begin[x]
        latest = max(self.latest[bisect_right(self.ends, now)], self.above.get(x, -inf))
        return self.far.end[y] > latest and self.closes[y] > now


class _Way(msgspec.Struct, frozen=True):
    """The direction in which partners are looked for: before a call, or backwards, after it."""

    scene: Scene
    backwards: bool

    def times(self, times: Times) -> Times:
        if not self.backwards:
            return times
        return Times([-end for end in times.end], [-begin for begin in times.begin])

    def barriers(self, far: Times) -> _Barriers:
        ordered = sorted(self.scene.between, key=far.end.__getitem__)
        latest = list(accumulate([far.begin[z] for z in ordered], max, initial=-inf))
        above: dict[int, int] = {}
        closes: list[float] = [inf] * len(far.begin)
        makers, made = self._makers(), self._made()
        for call, z in made if self.backwards else makers:
            above[call] = max(above.get(call, far.begin[z]), far.begin[z])
        for call, z in makers if self.backwards else made:
            closes[call] = min(closes[call], far.end[z])
        return _Barriers(far, [far.end[z] for z in ordered], latest, above, closes)

    def nested(self, xs: Sequence[int], ys: Sequence[int]) -> Pairs:
        """Yield calls and their partners where one made the other, with nothing of `between` on the way."""
        if self.scene.timeline.parents is None:
            return
        lower, upper = (ys, set(xs)) if self.backwards else (xs, set(ys))
        between = set(self.scene.between)
        for call in lower:
            for maker in self.scene.timeline.makers(call):
                if maker in upper:
                    yield (maker, call) if self.backwards else (call, maker)
                if maker in between:
                    break

    def is_nested(self, x: int, y: int) -> bool:
        """Return whether one made the other, so that `nested` has tried them."""
        timeline = self.scene.timeline
        if timeline.parents is None:
            return False
        return x in timeline.makers(y) if self.backwards else y in timeline.makers(x)

    def _makers(self) -> Pairs:
        """Each call with what of `between` made it."""
        timeline, between = self.scene.timeline, set(self.scene.between)
        calls = range(timeline.size) if timeline.parents is not None else ()
        return ((call, z) for call in calls for z in timeline.makers(call) if z in between)

    def _made(self) -> Pairs:
        """Each call with what of `between` it made."""
        return ((call, z) for z in self.scene.between for call in self.scene.timeline.makers(z))


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
    found = {}
    for x in xs:
        for y in ordered:
            if begin[y] >= end[x]:
                break
            if x not in scene.timeline.makers(y):
                found[x] = y
                break
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
