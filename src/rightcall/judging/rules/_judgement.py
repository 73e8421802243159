"""Judge one rule: which calls play which part, does it hold, which calls break it, did it apply, can the trace tell?

Each rule is judged twice, with everything that is not known as bad as can be and as good as can be. What both say is so
in every way to fill in what the trace leaves open.

The partner of a call is found by positions, sorted and bisected, because there may be hundreds of thousands of calls. A
relation that goes by who made whom walks up from each call, whose makers together the timeline has limited.
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
"""For each call that has one, its partner."""
Pairs: TypeAlias = Iterable[tuple[int, int]]
Relation: TypeAlias = Literal[
    "only_after", "never_after", "followed_by", "only_with", "never_with", "at_most", "always", "first", "last"
]
Status: TypeAlias = Literal["holds", "broken", "never_applied", "open"]


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


class Breach(msgspec.Struct, frozen=True):
    """A call that breaks a rule, and the call it breaks it with; -1 for none."""

    call: int
    partner: int = -1


class RuleOutcome(msgspec.Struct, frozen=True):
    """What was found about a rule: its status, and the calls that break it, or may."""

    status: Status
    breaches: tuple[Breach, ...] = ()
    """The calls that break it; where it is open, those that may."""
    applied: bool | None = True
    """Whether it applied; `None` where the trace does not say."""


class Form(msgspec.Struct, frozen=True):
    """The form of a rule: how calls and their partners are related."""

    relation: Relation
    most: int = 0
    """For `at_most`, how many there may be."""
    window: Literal["", "before", "after"] = ""
    """For `at_most`, which calls count: those before the first Y, or after it."""
    directly: bool = False
    must_apply: bool = False

    @property
    def find(self) -> Find | None:
        """How partners are found; none where calls are counted whatever else was called."""
        if self.directly:
            return {"only_after": right_before, "followed_by": right_after}[self.relation]
        if self.relation == "at_most":
            return {"": None, "before": not_later, "after": earlier}[self.window]
        return _FIND[self.relation]

    @property
    def needs_partner(self) -> bool:
        """Whether a call without a partner is the one that breaks the rule, or counts."""
        return self.relation in ("only_after", "followed_by", "only_with", "always") or self.window == "before"

    @property
    def spares_partners(self) -> bool:
        """Whether a call that may be a partner is not asked to have one."""
        return self.relation in ("only_after", "followed_by")

    @property
    def needs_order(self) -> bool:
        """Whether it is about places in the order of calls."""
        return self.directly or self.relation in ("first", "last")

    @property
    def always_applies(self) -> bool:
        """Whether it applies whatever was called."""
        return self.relation in ("first", "last") or (self.relation == "at_most" and self.window != "after")

    @property
    def stays_broken(self) -> bool:
        """Whether further calls, which the trace may lack, could not fix it."""
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
    """Judge a rule; where there are classes of calls, in each of them apart.

    For `first` and `last`, the calls that are X are X if they are selected at all; else only those that surely are
    selected surely play a part.
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
    """Return whether a rule applied; `None` where the trace does not say."""
    if form.always_applies:
        return True
    x = cast.spared_x() if form.spares_partners else cast.x
    parts = {"never_with": (x, cast.y), "never_after": (cast.y,), "at_most": (cast.y,)}.get(form.relation, (x,))
    if any([part.sure for part in parts]):
        return True
    return None if any([part.possible for part in parts]) else False


def _cannot_apply_well(form: Form, cast: Cast, timeline: Timeline, classes: Sequence[Sequence[int]] | None) -> bool:
    """Return whether every call that the rule may be about would break it: then it is broken or never applied."""
    if not form.needs_partner or classes is not None:
        return False
    xs = cast.spared_x().possible if form.spares_partners else cast.x.possible
    supposed = Cast(RulePart(xs, xs), cast.y, cast.z, RulePart(), cast.agreement)
    order = _order(form, timeline, range(timeline.size))
    return len(_breaches(form, supposed, timeline, order, bad=False)) == len(xs)


def _breaches(form: Form, cast: Cast, timeline: Timeline, order: Order, *, bad: bool) -> list[Breach]:
    """The calls that break a rule, with everything that is not known as bad as can be, or as good."""
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
    """The calls that surely play a part, and those that possibly do; both in ascending order."""

    sure: Sequence[int] = ()
    possible: Sequence[int] = ()

    @classmethod
    def of(cls, answers: Iterable[bool | None]) -> RulePart:
        """Return the part of the calls for which the answers are true, or not known."""
        sure, possible = [], []
        for call, answer in enumerate(answers):
            if answer is not False:
                possible.append(call)
                if answer:
                    sure.append(call)
        return cls(sure, possible)

    def among(self, calls: frozenset[int]) -> RulePart:
        """Return the part of these calls alone."""
        return RulePart(
            [each for each in self.sure if each in calls], [each for each in self.possible if each in calls]
        )


class ArgumentKey(Enum):
    """A value that is not there, and agrees with nothing; and one that is not known, and may agree with any."""

    ABSENT = "absent"
    UNKNOWN = "unknown"


Keys: TypeAlias = Mapping[int, Hashable]
"""For each call that plays a part, the values that have to agree as one key; or one of the two above."""


class SameArguments(msgspec.Struct, frozen=True):
    """What calls and their partners have to agree in."""

    x: Keys
    y: Keys

    @property
    def is_certain(self) -> bool:
        """Whether all keys are known."""
        return ArgumentKey.UNKNOWN not in self.x.values() and ArgumentKey.UNKNOWN not in self.y.values()

    def groups(
        self, xs: Sequence[int], ys: Sequence[int], *, strict: bool
    ) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
        """Yield calls with those that agree with them: surely or, if not strict, possibly."""
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
    """The parts of one rule.

    `x` are the calls it is about, `y` those they are compared with, `z` those that must not come in between. `spared`
    are the calls that Y's pattern takes, whatever their outcome, where these are not asked to come after themselves.
    """

    x: RulePart = RulePart()
    y: RulePart = RulePart()
    z: RulePart = RulePart()
    spared: RulePart = RulePart()
    agreement: SameArguments | None = None

    @property
    def is_certain(self) -> bool:
        """Whether the trace says of every call which parts it plays."""
        parts = (self.x, self.y, self.z, self.spared)
        return all([len(part.sure) == len(part.possible) for part in parts]) and (
            self.agreement is None or self.agreement.is_certain
        )

    def spared_x(self) -> RulePart:
        """Return the calls it is about, without those that are spared."""
        if not self.spared.possible:
            return self.x
        surely, possibly = set(self.spared.sure), set(self.spared.possible)
        return RulePart(
            [each for each in self.x.sure if each not in possibly],
            [each for each in self.x.possible if each not in surely],
        )

    def among(self, calls: frozenset[int]) -> Cast:
        """Return the parts that these calls play."""
        x, y, z, spared = [part.among(calls) for part in (self.x, self.y, self.z, self.spared)]
        return Cast(x, y, z, spared, self.agreement)
