"""Rules as users write them, checks for mistakes, and their compiled form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args

import msgspec

from rightcall.errors import CriteriaError, ExpectationError, shown
from rightcall.judging.core import Bounds, Length, Mistakes, Place, UserModel, path_of, refuse, reject, text_of
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.matching.matchers import Pattern, call_pattern, named_tools
from rightcall.values.results import call_text

from ._judgement import Form, Relation

Failed: TypeAlias = Literal["count", "ignore", "ignore_suspected"]
_PARTS = {"args", "output", "status"}
_MOST_NAMED = 3
RELATIONS: tuple[str, ...] = get_args(Relation)
_OWN = {"since": ("only_after",), "before": ("followed_by", "at_most"), "after": ("at_most",)}
"""Keys that belong to certain relations."""
_WORDS = {
    "one_of": "a list of calls means any of them: [a, b]",
    "any_order": "a rule is about single calls; orders and groups belong to 'calls'",
    "at_once": "a rule is about single calls; orders and groups belong to 'calls'",
    "optional": "a rule only asks something of calls that were made, so every call may be left out",
    "repeat": "a rule is about every call that fits, however often it is made",
    "steps": "a rule is about single calls; sequences belong to 'calls'",
}
"""Keywords of `calls` that are not allowed in a rule, with a hint for each."""


class CallTest(msgspec.Struct, frozen=True):
    """One compiled call of a rule."""

    pattern: Pattern
    text: str
    nth: int | None = None
    status: Literal["ok", "error"] | None = None


class Role(msgspec.Struct, frozen=True):
    """The calls that a part of a rule names. Any of them counts."""

    tests: tuple[CallTest, ...] = ()

    @property
    def text(self) -> str:
        """The calls in words: `a`, or `a` or `b`."""
        names = [f"`{test.text}`" for test in self.tests]
        if len(names) > _MOST_NAMED:
            names = [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED:,} more"]
        return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


class RulePlan(msgspec.Struct, frozen=True):
    """One rule, compiled."""

    form: Form
    x: Role
    y: Role
    z: Role
    described: Pattern | None
    """The pattern that every call has to match, for `always`."""
    same: tuple[tuple[str, ...], tuple[str, ...]] | None
    per: Literal["turn", "agent"] | None
    why: str

    @property
    def spends(self) -> bool:
        """Whether comparing needs a budget."""
        tests = [*self.x.tests, *self.y.tests, *self.z.tests]
        patterns = [*[test.pattern for test in tests], *([self.described] if self.described is not None else [])]
        return any([pattern.spends for pattern in patterns]) or self.same is not None

    @property
    def names(self) -> list[str]:
        """The tool names in the rule, as written."""
        return [test.pattern.name for role in (self.x, self.y, self.z) for test in role.tests]


class RulesPlan(msgspec.Struct, frozen=True):
    """The rules of one criteria, compiled."""

    rules: tuple[RulePlan, ...]
    order: Literal["finished", "started"]
    failed: Failed
    names: Set[str]
    size: int
    spends: bool


def compile_rules(
    rules: Sequence[CallRule], order: Literal["finished", "started"], failed: Failed, limits: Limits
) -> RulesPlan:
    """Compile rules for fast judging. Raises `CriteriaError` with the path of the wrong part."""
    plans = tuple([_compiled(rule, number, limits) for number, rule in enumerate(rules)])
    names = named_tools([name for plan in plans for name in plan.names])
    return RulesPlan(plans, order, failed, names, len(plans), any([plan.spends for plan in plans]))


def _compiled(rule: CallRule, number: int, limits: Limits) -> RulePlan:
    relation, place = rule.relation, ("rules", number)
    subject = relation if relation in ("first", "last") else "call"
    partner = rule.window or relation
    barrier = {"only_after": "since", "followed_by": "before"}.get(relation, "")
    return RulePlan(
        Form(relation, rule.at_most or 0, rule.window, rule.directly, rule.must_apply),
        _role(rule.subject, (*place, subject), limits),
        _role(rule.partner, (*place, partner), limits),
        _role(rule.barrier, (*place, barrier), limits),
        _described(rule.always, (*place, "always"), limits) if relation == "always" else None,
        same_keys(rule.same),
        rule.per,
        rule.why,
    )


def _role(calls: AnyCall, place: tuple[str | int, ...], limits: Limits) -> Role:
    several = len(calls) > 1
    return Role(tuple([_test(call, (*place, index) if several else place, limits) for index, call in enumerate(calls)]))


def _test(call: RuleCall, place: tuple[str | int, ...], limits: Limits) -> CallTest:
    more = {"output": call.output} if call.has_output else {}
    with _at(place):
        pattern = call_pattern(
            call.name,
            call.args,
            status=call.status,
            agent=call.agent,
            turn=call.turn,
            where=_spelt(place),
            limits=limits,
            **more,
        )
    return CallTest(pattern, _call_text(call), call.nth, call.status)


def _described(written: Mapping[str, Any] | None, place: tuple[str | int, ...], limits: Limits) -> Pattern:
    """Return the pattern for `always`: arguments, or an object of arguments, output and status."""
    parts = dict(written or {})
    if not parts.keys() <= _PARTS:
        parts = {"args": parts}
    with _at(place):
        return call_pattern("*", parts.pop("args", None), where=_spelt(place), limits=limits, **parts)


@contextmanager
def _at(place: tuple[str | int, ...]) -> Iterator[None]:
    """Turn an `ExpectationError` into a `CriteriaError` with the path of the call."""
    try:
        yield
    except ExpectationError as problem:
        raise CriteriaError(str(problem), place) from None


def _spelt(place: tuple[str | int, ...]) -> str:
    return "".join([f"[{step}]" if isinstance(step, int) else f".{step}" for step in place]).lstrip(".")


def _call_text(call: RuleCall) -> str:
    parts = dict(call.args) if isinstance(call.args, dict) else {} if call.args is None else {"args": call.args}
    more = {"output": call.output} if call.has_output else {}
    fields = {key: value for key in ("status", "agent", "turn", "nth") if (value := getattr(call, key)) is not None}
    shown = {**parts, **more, **fields}
    return call_text(call.name, shown or None)


class RuleCall(UserModel):
    """The calls that a rule is about: the name of a tool, with `*` as a wildcard, and further conditions."""

    name: Annotated[str, Length(1, DEFAULT_LIMITS.name_length)]
    args: Any = None
    output: Any = None
    status: Literal["ok", "error"] | None = None
    agent: str | None = None
    turn: Annotated[int, Bounds(least=0)] | None = None
    nth: int | None = None
    """Which call of the tool is meant: 1 for the first, -1 for the last."""

    def check(self) -> None:
        if self.nth == 0:
            raise ValueError("'nth' counts from 1, or from -1 for the last call; there is no call 0")

    @property
    def has_output(self) -> bool:
        """Whether an output is expected; null counts as one."""
        return "output" in self.model_fields_set


class AnyCall(tuple[RuleCall, ...]):
    """One call or a list of calls, any of which counts."""

    __slots__ = ()

    @classmethod
    def check_value(cls, value: Any, place: Place, mistakes: Mistakes) -> Any:
        """Read calls that a user wrote: a name, an object, or a list of these."""
        if isinstance(value, cls):
            return value
        if not isinstance(value, (list, tuple)):
            return cls([_read_call(value, place, mistakes)])
        if not value:
            return refuse(place, mistakes, ValueError("is empty; name at least one call"))
        return cls([_read_call(item, (place, index), mistakes) for index, item in enumerate(value)])


def _read_call(value: Any, place: Place, mistakes: Mistakes) -> Any:
    if isinstance(value, RuleCall):
        return value
    if isinstance(value, str):
        return RuleCall.check_value({"name": value}, place, mistakes)
    if not isinstance(value, dict) or not value:
        return reject(place, mistakes, "a call is a name, or an object such as {name: search}", value)
    if isinstance(value.get("name"), str):
        return RuleCall.check_value(value, place, mistakes)
    if problem := _wrong_shape(value):
        return refuse(place, mistakes, ValueError(problem))
    [(name, args)] = value.items()
    if args is not None and not isinstance(args, dict):
        return reject((place, name), mistakes, f"the arguments of {name!r} are an object", args)
    return RuleCall.check_value({"name": name, "args": args}, place, mistakes)


def _wrong_shape(call: dict[str, Any]) -> str | None:
    """Return a hint for an object that is not a call; `None` if it is one."""
    if "name" in call and (len(call) > 1 or not isinstance(call["name"], dict) or _has_matcher(call["name"])):
        return f"'name' is the name of a tool, a string, not {shown(call['name'])}; a list of calls means any of them"
    for word, hint in _WORDS.items():
        if word in call and not isinstance(call[word], dict):
            return f"{word!r} is a word of 'calls', and this is a rule: {hint}"
    if matcher := next((key for key in call if str(key).startswith("$")), None):
        return f"{shown(matcher)} is a matcher, and a call begins with the name of its tool"
    if len(call) > 1:
        return f"a call is a name, {{name: …, args: …}}, or an object with one key, its name, not {shown(call)}"
    return None


def _has_matcher(value: Any) -> bool:
    return isinstance(value, dict) and any([str(key).startswith("$") for key in value])


class CallRule(UserModel):
    """One rule: the calls it is about, one relation, and options."""

    beside: ClassVar[tuple[str, ...]] = ("same", "directly", "per", "must_apply", "why")

    call: AnyCall | None = None
    only_after: AnyCall | None = None
    never_after: AnyCall | None = None
    followed_by: AnyCall | None = None
    only_with: AnyCall | None = None
    never_with: AnyCall | None = None
    at_most: Annotated[int, Bounds(least=0)] | None = None
    always: dict[str, Any] | None = None
    first: AnyCall | None = None
    last: AnyCall | None = None
    since: AnyCall | None = None
    before: AnyCall | None = None
    after: AnyCall | None = None
    same: Any = None
    directly: bool = False
    per: Literal["turn", "agent"] | None = None
    must_apply: bool = False
    why: str = ""

    @classmethod
    def check_value(cls, value: Any, place: Place, mistakes: Mistakes) -> Any:
        """Read a rule that a user wrote."""
        if not isinstance(value, (dict, cls)):
            return reject(place, mistakes, "a rule is an object such as {call: pay, only_after: confirm}", value)
        if isinstance(value, dict) and len(value) == 1 and (problem := _call_as_key(*value.items())):
            return refuse(place, mistakes, ValueError(problem))
        made = super().check_value(value, place, mistakes)
        if made is not None and not isinstance(value, cls):
            for key, problem in made.misuses():
                where: Place = (place, key) if key else place
                mistakes.append((path_of(where), f"{text_of(place)}: {problem}" if place else problem))
        return made

    @property
    def relation(self) -> Relation:
        """What the rule demands of its calls, such as `only_after`; a rule has exactly one relation."""
        return next(iter(self._relations()))

    @property
    def subject(self) -> AnyCall:
        """The calls that the rule is about."""
        found = self.call if self.relation not in ("first", "last") else getattr(self, self.relation)
        return found or AnyCall()

    @property
    def partner(self) -> AnyCall:
        """The calls that the subject is compared with."""
        found = getattr(self, self.window) if self.window else getattr(self, self.relation)
        return found if isinstance(found, AnyCall) and self.relation not in ("first", "last") else AnyCall()

    @property
    def barrier(self) -> AnyCall:
        """The calls that must not come in between."""
        found = self.since if self.relation == "only_after" else self.before if self.relation == "followed_by" else None
        return found or AnyCall()

    @property
    def window(self) -> Literal["", "before", "after"]:
        """For `at_most`, whether calls before or after another one are counted; empty for all."""
        if self.relation != "at_most":
            return ""
        return "before" if self.before is not None else "after" if self.after is not None else ""

    def misuses(self) -> Iterator[tuple[str, str]]:
        """Yield each wrong combination of keys, as the key and a message."""
        relations = self._relations()
        if len(relations) != 1:
            named = ", ".join(RELATIONS[:-1]) + f" and {RELATIONS[-1]}"
            found = "none" if not relations else " and ".join(relations) + "; write a rule for each"
            if not relations and (hint := self._likely_meant()):
                yield hint
                return
            yield (relations[1] if relations else ""), f"a rule has one of {named}; this one has {found}"
            return
        relation = relations[0]
        if (problem := self._subject_problem(relation)) is not None:
            yield problem
        for key, owners in _OWN.items():
            if key in self.model_fields_set and getattr(self, key) is not None and relation not in owners:
                yield key, f"{key!r} belongs to {' and '.join(map(repr, owners))}, not to {relation!r}"
        if self.before is not None and self.after is not None:
            yield "after", "calls are counted 'before' some call or 'after' one, not both; write two rules"
        if self.directly:
            yield from self._directly_problems(relation)
        if self.same is not None:
            yield from self._same_problems(relation)
        if relation == "always" and not self.always:
            yield "always", "'always' is empty; say what every call is like, such as {path: {$startsWith: /tmp/}}"

    def _likely_meant(self) -> tuple[str, str] | None:
        """Return the key and a hint for a rule that has only 'before' or 'after'; else None."""
        if self.after is not None:
            return "after", "'after' belongs to 'at_most'; did you mean 'only_after' or 'never_after'?"
        if self.before is not None:
            return (
                "before",
                "'before' is not a rule by itself; to say that a comes before b write {call: b, only_after: a}",
            )
        return None

    def _relations(self) -> Sequence[Any]:
        given = self.model_fields_set
        return [name for name in RELATIONS if name in given and getattr(self, name) is not None]

    def _subject_problem(self, relation: str) -> tuple[str, str] | None:
        if relation in ("first", "last"):
            problem = f"{relation!r} names the call itself; leave 'call' out"
            return ("call", problem) if self.call is not None else None
        return None if self.call is not None else ("", f"'call' is missing: which calls is {relation!r} about?")

    def _directly_problems(self, relation: str) -> Iterator[tuple[str, str]]:
        if relation not in ("only_after", "followed_by"):
            yield "directly", f"'directly' belongs to 'only_after' and 'followed_by', not to {relation!r}"
        elif between := next((key for key in ("since", "before") if getattr(self, key) is not None), None):
            yield between, f"nothing comes in between neighbours: 'directly' leaves nothing for {between!r} to say"

    def _same_problems(self, relation: str) -> Iterator[tuple[str, str]]:
        if not self.partner:
            other = "count calls with an argument by giving it: {call: {pay: {order: 1}}, at_most: 1}"
            hint = f"; {other}" if relation == "at_most" else ""
            yield "same", f"'same' compares two calls, and {relation!r} is about one{hint}"
        elif problem := _same_problem(self.same):
            yield "same", problem


def _call_as_key(item: tuple[Any, Any]) -> str | None:
    """Return a hint for a rule with its call as a key, `{pay: {only_after: confirm}}`; else None."""
    name, inside = item
    if name in RELATIONS or not isinstance(inside, dict):
        return None
    relation = next((key for key in inside if key in RELATIONS), None)
    return None if relation is None else f"write {{call: {str(name)[:80]}, {relation}: …}}"


def _same_problem(same: Any) -> str | None:
    if isinstance(same, str):
        return None if same else "'same' is empty; name the argument that both calls agree in"
    if isinstance(same, (list, tuple)):
        names: list[Any] = list(same)
    elif isinstance(same, dict):
        names = [name for pair in same.items() for name in pair]
    else:
        names = [None]
    if not same or not all([isinstance(name, str) and name for name in names]):
        return (
            "'same' is the name of an argument, a list of names, or {name in the one: name in the other}, "
            f"not {shown(same)}"
        )
    return None


def same_keys(same: Any) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the names of the arguments that have to be the same, for the one call and for the other."""
    if same is None:
        return None
    if isinstance(same, dict):
        return tuple(same), tuple(same.values())
    names = (same,) if isinstance(same, str) else tuple(same)
    return names, names
