"""Judge one rule: which calls it is about, whether it holds or applied, which calls break it, and what is unknown.

Each rule is judged twice: with everything unknown counted against it, and with everything unknown counted for it. If
both agree, the outcome holds however the gaps of the trace are filled.

Partners of calls are found by sorting and bisection, because there may be hundreds of thousands of calls. Parents are
followed upwards from each call; the timeline has limited the total number of ancestors.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from heapq import heappop, heappush
from itertools import accumulate
from math import inf
from typing import Literal, TypeAlias

import msgspec

from ._timeline import NO_ORDER, Neighbours, Order, Timeline, Times

Partners: TypeAlias = dict[int, int]
"""The partner of each call that has one."""
Pairs: TypeAlias = Iterable[tuple[int, int]]
Relation: TypeAlias = Literal[
    "only_after", "never_after", "followed_by", "only_with", "never_with", "at_most", "always", "first", "last"
]
Status: TypeAlias = Literal["holds", "broken", "never_applied", "open"]


class Scene(msgspec.Struct, frozen=True):
    """The settings of a search for partners.

    With `strict`, only what is certain makes a partner; otherwise what is possible does. Calls in between are judged
    the other way around.
    """

    timeline: Timeline
    order: Order
    strict: bool
    between: Sequence[int] = ()
    """The calls that must not come between a call and its partner."""

    @property
    def near(self) -> Times:
        """The times by which partners are found."""
        return self.timeline.sure if self.strict else self.timeline.possible

    @property
    def far(self) -> Times:
        """The times by which a call comes in between."""
        return self.timeline.possible if self.strict else self.timeline.sure


def unbroken(xs: Sequence[int], ys: Sequence[int], scene: Scene, *, backwards: bool) -> Partners:
    """Find for each call X a Y before it such that no call of `between` is after Y and before X.

    With `backwards`, find a Y after X such that none is after X and before Y: the mirror image.
    """
    # "Earlier" and "ancestor" need not agree in a trace: a tool may return while what it started goes on. Pairs of
    # ancestor and descendant are few and tried one by one; earlier calls are found by one sweep over time.
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
        # Of the partners that ended in time, try the last to end: whatever comes after it comes after the others, too.
        y = _last_open(reached, x, way, barriers)
        if y >= 0 and barriers.let(y, x):
            found[x] = y
    return found


def _last_open(reached: list[tuple[int, int]], x: int, way: _Way, barriers: _Barriers) -> int:
    """Return the partner that ended last and is not yet cut off by a barrier among its descendants; else -1."""
    tried = []
    last = -1
    while reached and last < 0:
        y = reached[0][1]
        if barriers.closes[y] <= barriers.far.begin[x]:
            heappop(reached)  # calls come in order of time, so it is cut off for all later ones, too
        elif way.is_nested(x, y):
            tried.append(heappop(reached))
        else:
            last = y
    for each in tried:
        heappush(reached, each)
    return last


class _Barriers(msgspec.Struct, frozen=True):
    """The calls that must not come in between: their times, and which of them are ancestors or descendants."""

    far: Times
    ends: list[int]
    latest: list[float]
    """The latest start among the first n to end, by n."""
    above: dict[int, int]
    """The latest start of the barriers that are ancestors of a call."""
    closes: list[float]
    """The earliest end of the barriers that are descendants of each call."""

    def let(self, y: int, x: int) -> bool:
        """Return whether no barrier comes between a call and an earlier one, by their times."""
        now = self.far.begin[x]
        latest = max(self.latest[bisect_right(self.ends, now)], self.above.get(x, -inf))
        return self.far.end[y] > latest and self.closes[y] > now


class _Way(msgspec.Struct, frozen=True):
    """The direction of the search for partners: before a call or, backwards, after it."""

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
        """Yield pairs of a call and a partner that is its ancestor (backwards, descendant), with no barrier between."""
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
        """Return whether the two calls are ancestor and descendant, so that `nested` has tried them."""
        timeline = self.scene.timeline
        if timeline.parents is None:
            return False
        return x in timeline.makers(y) if self.backwards else y in timeline.makers(x)

    def _makers(self) -> Pairs:
        """Return pairs of a call and a barrier that is its ancestor."""
        timeline, between = self.scene.timeline, set(self.scene.between)
        calls = range(timeline.size) if timeline.parents is not None else ()
        return ((call, z) for call in calls for z in timeline.makers(call) if z in between)

    def _made(self) -> Pairs:
        """Return pairs of a call and a barrier that is its descendant."""
        return ((call, z) for z in self.scene.between for call in self.scene.timeline.makers(z))


Find: TypeAlias = Callable[[Sequence[int], Sequence[int], Scene], Partners]


def same_call(xs: Sequence[int], ys: Sequence[int], scene: Scene) -> Partners:
    """Pair each call with itself if it is also among the others."""
    return {call: call for call in set(xs).intersection(ys)}


def any_other(xs: Sequence[int], ys: Sequence[int], scene: Scene) -> Partners:
    """Pair each call with the first other call, wherever that is."""
    first, second = _two(ys)
    found = {x: first if first != x else second for x in xs}
    return {x: y for x, y in found.items() if y >= 0}


def earlier(xs: Sequence[int], ys: Sequence[int], scene: Scene) -> Partners:
    """Pair each call with the earlier call that ended first."""
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
    """Pair each call with the later call that began last."""
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
    """Pair each call with one that is not after it: one that began before it ended, or the call itself."""
    # Here, strict means that the call is not even possibly before the other.
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
    """Pair each call with its neighbour before it."""
    return _beside(xs, ys, scene, -1)


def right_after(xs: Sequence[int], ys: Sequence[int], scene: Scene) -> Partners:
    """Pair each call with its neighbour after it."""
    return _beside(xs, ys, scene, 1)


def _two(ys: Sequence[int]) -> tuple[int, int]:
    """Return the first two calls, or -1: a call that is the first itself takes the second as its partner."""
    return (ys[0] if ys else -1), (ys[1] if len(ys) > 1 else -1)


def _makers_among(xs: Iterable[int], ys: Collection[int], scene: Scene, found: Collection[int]) -> Partners:
    """Pair calls that have no partner yet with their nearest ancestor among the others."""
    if scene.timeline.parents is None:
        return {}
    among = set(ys)
    makers = {x: next((y for y in scene.timeline.makers(x) if y in among), -1) for x in xs if x not in found}
    return {x: y for x, y in makers.items() if y >= 0}


def _made_among(xs: Collection[int], ys: Iterable[int], scene: Scene) -> Partners:
    """Pair each call with a descendant among the others."""
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


class Breach(msgspec.Struct, frozen=True):
    """A call that breaks a rule, and the call that it breaks it with, or -1."""

    call: int
    partner: int = -1


class RuleOutcome(msgspec.Struct, frozen=True):
    """The outcome of a rule: its status, and the calls that break it, or may break it."""

    status: Status
    breaches: tuple[Breach, ...] = ()
    """The calls that break it; if it is open, those that may."""
    applied: bool | None = True
    """Whether it applied; `None` if the trace did not record enough."""


class Form(msgspec.Struct, frozen=True):
    """The form of a rule: how calls and their partners are related."""

    relation: Relation
    most: int = 0
    """For `at_most`, the allowed number of calls."""
    window: Literal["", "before", "after"] = ""
    """For `at_most`, which calls count: those before the first Y, or after it."""
    directly: bool = False
    must_apply: bool = False

    @property
    def find(self) -> Find | None:
        """The function that finds partners; `None` if calls are counted whatever else was called."""
        if self.directly:
            return {"only_after": right_before, "followed_by": right_after}[self.relation]
        if self.relation == "at_most":
            return {"": None, "before": not_later, "after": earlier}[self.window]
        return _FIND[self.relation]

    @property
    def needs_partner(self) -> bool:
        """Whether a call without a partner breaks the rule, or is counted."""
        return self.relation in ("only_after", "followed_by", "only_with", "always") or self.window == "before"

    @property
    def spares_partners(self) -> bool:
        """Whether calls that may be partners need no partner themselves."""
        return self.relation in ("only_after", "followed_by")

    @property
    def needs_order(self) -> bool:
        """Whether the rule is about positions in the order of calls."""
        return self.directly or self.relation in ("first", "last")

    @property
    def always_applies(self) -> bool:
        """Whether the rule applies whatever was called."""
        return self.relation in ("first", "last") or (self.relation == "at_most" and self.window != "after")

    @property
    def stays_broken(self) -> bool:
        """Whether a broken rule stays broken if the trace lacks calls."""
        return self.relation in ("never_after", "never_with", "always") or (
            self.relation == "at_most" and self.window != "before"
        )


_FIND: dict[str, Find] = {
    "only_after": earlier,
    "never_after": earlier,
    "followed_by": later,
    "only_with": any_other,
    "never_with": any_other,
    "always": same_call,
}


def judge(form: Form, cast: Cast, timeline: Timeline, classes: Sequence[Sequence[int]] | None = None) -> RuleOutcome:
    """Judge a rule; with `classes`, in each class of calls separately.

    For `first` and `last`, a call that may not be selected still counts as a match; for other relations, only calls
    that are certainly selected count as certain.
    """
    parts = [range(timeline.size)] if classes is None else classes or [()]
    rulings = [
        _judged(form, cast if classes is None else cast.among(frozenset(calls)), timeline, calls) for calls in parts
    ]
    ruling = rulings[0] if len(rulings) == 1 else _together(rulings)
    if form.must_apply and ruling.status != "broken" and ruling.applied is not True:
        is_broken = ruling.applied is False or _cannot_apply_well(form, cast, timeline, classes)
        return RuleOutcome(
            "broken" if is_broken else "open", () if ruling.applied is False else ruling.breaches, ruling.applied
        )
    return ruling


def _together(rulings: Sequence[RuleOutcome]) -> RuleOutcome:
    applied = [ruling.applied for ruling in rulings]
    ever = True if True in applied else None if None in applied else False
    for status in ("broken", "open"):
        if found := [ruling for ruling in rulings if ruling.status == status]:
            return RuleOutcome(status, tuple([breach for ruling in found for breach in ruling.breaches]), ever)
    return RuleOutcome("never_applied" if ever is False else "holds", (), ever)


def _judged(form: Form, cast: Cast, timeline: Timeline, calls: Sequence[int]) -> RuleOutcome:
    order = _order(form, timeline, calls)
    applied = _applied(form, cast)
    if best := _breaches(form, cast, timeline, order, bad=False):
        return RuleOutcome("broken", tuple(best), applied)
    if not (cast.is_certain and timeline.is_certain) and (worst := _breaches(form, cast, timeline, order, bad=True)):
        return RuleOutcome("open", tuple(worst), applied)
    return RuleOutcome("never_applied" if applied is False else "holds", (), applied)


def _order(form: Form, timeline: Timeline, calls: Sequence[int]) -> Order:
    if not form.needs_order:
        return NO_ORDER
    if timeline.is_certain and not form.directly:
        calls = calls[:1] if form.relation == "first" else calls[-1:]
    return timeline.order_of(calls)


def _applied(form: Form, cast: Cast) -> bool | None:
    """Return whether a rule applied; `None` if the trace did not record enough."""
    if form.always_applies:
        return True
    x = cast.spared_x() if form.spares_partners else cast.x
    parts = {"never_with": (x, cast.y), "never_after": (cast.y,), "at_most": (cast.y,)}.get(form.relation, (x,))
    if any([part.sure for part in parts]):
        return True
    return None if any([part.possible for part in parts]) else False


def _cannot_apply_well(form: Form, cast: Cast, timeline: Timeline, classes: Sequence[Sequence[int]] | None) -> bool:
    """Return whether every call that the rule may be about would break it: it is broken or never applied."""
    if not form.needs_partner or classes is not None:
        return False
    xs = cast.spared_x().possible if form.spares_partners else cast.x.possible
    supposed = Cast(RulePart(xs, xs), cast.y, cast.z, RulePart(), cast.agreement)
    order = _order(form, timeline, range(timeline.size))
    return len(_breaches(form, supposed, timeline, order, bad=False)) == len(xs)


def _breaches(form: Form, cast: Cast, timeline: Timeline, order: Order, *, bad: bool) -> list[Breach]:
    """Return the calls that break a rule, with everything unknown counted against it (`bad`), or for it."""
    if form.relation in ("first", "last"):
        return _breaches_at_the_end(cast.x, timeline.outermost(order, 1 if form.relation == "first" else -1), bad)
    x = cast.spared_x() if form.spares_partners else cast.x
    xs = x.possible if bad else x.sure
    partners = _partners(form, cast, xs, timeline, order, strict=bad == form.needs_partner)
    if partners is None:
        found = [Breach(x) for x in xs]
    elif form.needs_partner:
        found = [Breach(x) for x in xs if x not in partners]
    else:
        found = [Breach(x, partners[x]) for x in xs if x in partners]
    return found[form.most :] if form.relation == "at_most" else found


def _partners(
    form: Form, cast: Cast, xs: Sequence[int], timeline: Timeline, order: Order, *, strict: bool
) -> Partners | None:
    find = form.find
    if find is None:
        return None
    ys, between = (cast.y.sure, cast.z.possible) if strict else (cast.y.possible, cast.z.sure)
    scene = Scene(timeline, order, strict, between)
    if cast.agreement is None:
        return find(xs, ys, scene)
    found: Partners = {}
    for callers, partners in cast.agreement.groups(xs, ys, strict=strict):
        found |= find(callers, partners, scene)
    return found


def _breaches_at_the_end(x: RulePart, ends: Neighbours, bad: bool) -> list[Breach]:
    others = [call for call in ends.calls if call not in (x.sure if bad else x.possible)]
    may_be_another = bool(others) or ends.may_be_none
    must_be_another = len(others) == len(ends.calls) and not ends.too_many
    return [Breach(others[0] if others else -1)] if (may_be_another if bad else must_be_another) else []


class RulePart(msgspec.Struct, frozen=True):
    """The calls that certainly have a role in a rule, and those that possibly do; both in ascending order."""

    sure: Sequence[int] = ()
    possible: Sequence[int] = ()

    @classmethod
    def of(cls, answers: Iterable[bool | None]) -> RulePart:
        """Return the role of the calls for which the answer is true, or unknown."""
        sure, possible = [], []
        for call, answer in enumerate(answers):
            if answer is not False:
                possible.append(call)
                if answer:
                    sure.append(call)
        return cls(sure, possible)

    def among(self, calls: frozenset[int]) -> RulePart:
        """Return the role restricted to these calls."""
        return RulePart(
            [each for each in self.sure if each in calls], [each for each in self.possible if each in calls]
        )


class ArgumentKey(Enum):
    """Stand-ins for a value that is absent, which equals nothing, and one that is unknown, which may equal any."""

    ABSENT = "absent"
    UNKNOWN = "unknown"


Keys: TypeAlias = Mapping[int, Hashable]
"""For each call with a role, a key for the values that have to be the same, or an `ArgumentKey`."""


class SameArguments(msgspec.Struct, frozen=True):
    """The arguments that have to be the same in a call and its partner."""

    x: Keys
    y: Keys

    @property
    def is_certain(self) -> bool:
        """Whether all keys are known."""
        return ArgumentKey.UNKNOWN not in self.x.values() and ArgumentKey.UNKNOWN not in self.y.values()

    def groups(
        self, xs: Sequence[int], ys: Sequence[int], *, strict: bool
    ) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
        """Yield calls with the calls that have the same arguments: certainly or, if not strict, possibly."""
        callers, partners = _by_key(xs, self.x), _by_key(ys, self.y)
        unknown = partners.pop(ArgumentKey.UNKNOWN, [])
        partners.pop(ArgumentKey.ABSENT, None)
        callers.pop(ArgumentKey.ABSENT, None)
        open_callers = callers.pop(ArgumentKey.UNKNOWN, [])
        for key, calls in callers.items():
            if key in partners:
                yield calls, partners[key]
        if not strict:
            if unknown:
                yield [x for calls in callers.values() for x in calls], unknown
            if open_callers:
                yield open_callers, [y for y in ys if self.y[y] is not ArgumentKey.ABSENT]


def _by_key(calls: Sequence[int], keys: Keys) -> dict[Hashable, list[int]]:
    groups: dict[Hashable, list[int]] = {}
    for call in calls:
        groups.setdefault(keys[call], []).append(call)
    return groups


class Cast(msgspec.Struct, frozen=True):
    """The calls in each role of one rule.

    `x` are the calls that the rule is about, `y` those they are compared with, `z` those that must not come in between.
    `spared` are the calls that match Y, whatever their outcome, if these need not come after another Y.
    """

    x: RulePart = RulePart()
    y: RulePart = RulePart()
    z: RulePart = RulePart()
    spared: RulePart = RulePart()
    agreement: SameArguments | None = None

    @property
    def is_certain(self) -> bool:
        """Whether the trace shows the roles of every call."""
        parts = (self.x, self.y, self.z, self.spared)
        return all([len(part.sure) == len(part.possible) for part in parts]) and (
            self.agreement is None or self.agreement.is_certain
        )

    def spared_x(self) -> RulePart:
        """Return the calls that the rule is about, without spared ones."""
        if not self.spared.possible:
            return self.x
        surely, possibly = set(self.spared.sure), set(self.spared.possible)
        return RulePart(
            [each for each in self.x.sure if each not in possibly],
            [each for each in self.x.possible if each not in surely],
        )

    def among(self, calls: frozenset[int]) -> Cast:
        """Return the roles restricted to these calls."""
        x, y, z, spared = [part.among(calls) for part in (self.x, self.y, self.z, self.spared)]
        return Cast(x, y, z, spared, self.agreement)
