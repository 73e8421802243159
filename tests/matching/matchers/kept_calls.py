"""What expected calls say of recorded ones: which satisfy them, where the others differ, and where values come from."""

from __future__ import annotations

import json
from functools import partial
from random import Random
from typing import Any

from tests.matching.matchers.kept_matches import near, some_expected, spent
from tests.snapshots import Drawn, drawn, line

from rightcall import ToolCall, Trajectory
from rightcall.errors import ExpectationError
from rightcall.limits import Limits
from rightcall.matching.matchers import (
    NOTHING,
    ArgsPolicy,
    CallMoment,
    CallPattern,
    ExpectedCalls,
    OutputPattern,
    Pattern,
    Relation,
    assignments,
    call_pattern,
    check_names,
    close_names,
    made_up_values,
    names_in,
    relate,
    seen_before,
    tool_names,
)

FILE = "calls.txt"
_NAMES = ("search", "search_all", "book", "pay")
_WRITTEN = (*_NAMES, "search*", "*a*", "*", "b*k", "pay*y", "")
_POLICIES: tuple[ArgsPolicy, ...] = ("exact", "subset", "superset", "ignore")
_ARGS: tuple[dict[str, Any], ...] = (
    *({}, {"city": "Rome"}, {"city": "Rome", "n": 1}, {"city": "Oslo", "n": True}, {"n": 1.0}, {"n": 0, "on": False}),
    *({"tags": ["a", 1]}, {"at": {"x": 1, "y": [True]}}, {"id": "LH1"}, {"id": 7}, {"n": float("nan")}),
)
_OUTPUTS: tuple[Any, ...] = (
    *(None, "ok", {"id": "LH1", "price": 120}, [{"id": "LH1"}, {"id": "TP2"}], '{"id": 7}', "{'id': 'LH1'}", "[1"),
    *({"content": "LH1"}, "booked LH1, seat 12 (Rome)", "7 left", 7, 7.0, True, {"a": [{"id": 7}, {"id": "x y"}]}),
)
_SOURCES: tuple[Any, ...] = (
    *("anywhere", "search", "search*", "nobody", {"input": "$"}, {"input": "$.id"}, {"call": "search"}),
    *[{"call": "search*", "output": path} for path in ("$.id", "$[*].id", "$..id", '$["id"]', "$.a[0].id", "$.*", "$")],
    *({"call": "book", "args": "$.id"}, {"call": "pay", "args": "$"}),
)
_WRONG_SOURCES: tuple[Any, ...] = (
    *("", 7, None, {}, {"call": ""}, {"call": "a", "input": "$"}, {"output": "$"}, {"call": "a", "outptu": "$"}),
    *({"call": "a", "output": "id"}, {"call": "a", "output": "$.[x"}, {"call": "a", "output": "$", "args": "$"}),
)


def groups() -> list[str]:
    """What calls are grouped by."""
    return list(_GROUPS)


def outcomes(group: str) -> dict[str, str]:
    """A line for each input of a group."""
    return drawn(_GROUPS, group)


def some_run(random: Random, calls: int) -> Trajectory:
    """Calls with values of which some come from one another, with times, turns, and parts that were not recorded."""
    turns = random.choice((1, 2))
    given = ("Find LH1 in Rome", {"id": 7, "to": ["Rome"]}, None)
    return Trajectory(
        calls=tuple([_some_call(random, place, place * turns // max(1, calls)) for place in range(calls)]),
        input=random.choice(given),
        turn_inputs=tuple([random.choice(given) for _ in range(turns)]) if turns > 1 else (),
        unordered=((0, 2),) if calls > 2 and random.random() < 0.2 else (),
        calls_recorded=random.random() < 0.9,
    )


def _some_call(random: Random, place: int, turn: int) -> ToolCall:
    hidden = frozenset([part for part in ("args", "output") if random.random() < 0.08])
    has_failed = random.random() < 0.15
    start = random.choice((None, 10 * place, 10 * place, 5 * place))
    return ToolCall(
        random.choice(_NAMES),
        None if "args" in hidden else random.choice(_ARGS),
        None if "output" in hidden or has_failed else random.choice(_OUTPUTS),
        error="boom" if has_failed else None,
        suspected_error=not has_failed and random.random() < 0.1,
        agent=random.choice((None, "planner", "booker")),
        turn=random.choice((None, turn, turn)),
        group=random.choice((None, None, f"g{place // 2}")),
        start_ns=start,
        end_ns=None if start is None else start + random.choice((5, 12)),
        unrecorded=hidden,
    )


def _differences(found: Any) -> list[tuple[str, str | None, str | None]]:
    return [(each.path, each.expected, each.actual) for each in found]


def _pattern(random: Random) -> str:
    """One expected call by any of its parts, compared with all calls of a run."""
    run = some_run(random, 8)
    like = random.choice(run.calls)
    parts: dict[str, Any] = {
        "args": some_expected(random, like.args or {}, random.choice((0, 1, 2))) if random.random() < 0.7 else None,
        "policy": random.choice(_POLICIES),
        "wildcards": random.random() < 0.8,
        "as_text": random.random() < 0.2,
    }
    if random.random() < 0.4:
        parts["output"] = some_expected(random, random.choice((like.output, near(random, like.output))), 1)
    for part, values in (
        ("status", ("ok", "error")),
        ("agent", ("planner", "x")),
        ("turn", (0, 1)),
        ("nth", (1, 2, -1)),
    ):
        if random.random() < 0.2:
            parts[part] = random.choice(values)
    name = random.choice(_WRITTEN)
    pattern = call_pattern(name, **parts)
    traits = [pattern.name, pattern.accepts_all, pattern.is_delicate, pattern.is_plain, pattern.spends, pattern.nth]
    found = [
        (pattern.takes(call.name), spent(partial(pattern.accepts, call)), _differences(pattern.differences_from(call)))
        for call in run.calls
    ]
    related, steps = spent(lambda: _related(relate(ExpectedCalls([pattern]), run.calls)))
    return line((name, parts), (traits, found, related, steps), related, name, json.dumps(parts)[:80])


def _related(relation: Relation) -> tuple[list[list[int]], list[list[int]], bool]:
    return [*map(list, relation.sure)], [*map(list, relation.possible)], relation.is_certain


def _relating(random: Random) -> str:
    """Many expected calls and many recorded ones, of few tools: what an index or columns answer."""
    run = some_run(random, random.choice((9, 30, 30)))
    whole = random.random() < 0.5  # nothing is missing, so that columns can be made
    calls = [call for call in run.calls if not whole or (call.args is not None and call.output is not None)]
    some_names = _NAMES[: random.choice((1, 2))]
    calls = [ToolCall(random.choice(some_names), call.args, call.output, unrecorded=call.unrecorded) for call in calls]
    by_output = random.random() < 0.4
    patterns = [_one_pattern(random, some_names, by_output) for _ in range(random.choice((12, 12, 30)))]
    expected = ExpectedCalls(patterns)
    names = tuple([call.name for call in calls])
    beginning = [_exactly(call) for call in calls[:4]]
    begins = [ExpectedCalls(each).is_beginning_of(calls, names) for each in (beginning, [*beginning[:2], patterns[0]])]
    traits = [sorted(expected.tools), expected.special, expected.names_only, expected.spends, expected.numbers_calls]
    found, steps = spent(lambda: _related(relate(expected, calls)), 100_000)
    refused, _ = spent(lambda: _related(relate(expected, calls, Limits(comparisons=random.choice((10, 150))))), 100_000)
    given = [each.name for each in patterns]
    return line(
        given, (found, steps, traits, begins, refused), sum(map(len, found[0])), sum(map(len, found[1])), begins
    )


def _exactly(call: ToolCall) -> Pattern:
    return CallPattern(call.name, call.args or {}, "exact")


def _one_pattern(random: Random, names: Any, by_output: bool) -> Pattern:
    name, depth = random.choice(names), random.choice((0, 0, 1))
    if by_output:
        return OutputPattern(name, some_expected(random, random.choice(_OUTPUTS), depth), text=random.random() < 0.2)
    policy: ArgsPolicy = random.choice(("subset", "subset", "exact", "superset"))
    return CallPattern(name, some_expected(random, random.choice(_ARGS), depth), policy)


def _source(random: Random) -> str:
    """Where the arguments of a call come from, in runs of which some leave that open."""
    run = some_run(random, random.choice((4, 7)))
    position = random.randrange(1, len(run.calls))
    call = run.calls[position]
    source: Any = {"$from": random.choice(_SOURCES)}
    shape = random.choice((source, source, {"$not": source}, {"$anyOf": [source, "Oslo"]}, {"$contains": source}))
    expected = dict.fromkeys(call.args or {"id": 1}, shape)
    expected = {"$from": source["$from"]} if random.random() < 0.1 else expected
    pattern = call_pattern(call.name, expected, random.choice(_POLICIES[:3]))
    moment = CallMoment(run, position)
    answers = spent(lambda: [pattern.accepts_at(each, CallMoment(run, at)) for at, each in enumerate(run.calls)])
    told = [str(each) for each in made_up_values(expected, call, moment)]
    others = [
        _differences(pattern.differences_at(call, moment)),
        [seen_before(run, position, value, tool) for value in ("LH1", 7, "Rome", 1) for tool in (None, "search*")],
        _related(relate(ExpectedCalls([pattern]), run.calls, moment_of=lambda at: CallMoment(run, at))),
    ]
    return line((position, expected), (answers, told, others), answers[0], json.dumps(expected)[:60], *told[:1])


def _shelved(random: Random) -> str:
    """A value looked for in many texts, so often that their words are indexed."""
    words = ("LH1", "LH12", "Rome", "Rom", "x_1", "7", "71", "1.5", "a", "b", "ab", "::", "\x00")
    shapes = ("{} {}", "{}{}", "<{}>, {}.", "{}{} " * 20, "{}:::{}")
    made = [random.choice(shapes).format(*random.choices(words, k=2) * 20) for _ in range(12)]
    calls = [ToolCall("search", {}, text) for text in made]
    given = random.choice((None, "a LH1", ["Rome", {"at": 71}]))
    run = Trajectory(calls=(*calls, ToolCall("book", {})), input=given)
    asked = [*words, 7, 1.5, 71.0, "Rome a", "", ":", ["LH1", 7], *[f"w{number}" for number in range(20)], "LH1", "b a"]
    pattern = call_pattern("book", {"id": {"$from": "anywhere"}})
    found = []
    for value in asked:
        call, moment = ToolCall("book", {"id": value}), CallMoment(run, random.randint(3, 12))
        found.append(spent(partial(pattern.accepts_at, call, moment)))
    return line(asked, found, "".join(["+" if seen else "-" for seen, _ in found]))


def _bound(random: Random) -> str:
    """Names for values of calls: which there are, and what stands for them."""
    run = some_run(random, random.choice((3, 6)))
    keys = ("city", "n", "id", "tags")
    steps: list[tuple[str, Any]] = [
        (random.choice(_NAMES[:3]), {random.choice(keys): {"$bind": "x"}}),
        (
            random.choice(_NAMES),
            {random.choice(keys): random.choice(({"$ref": "x"}, {"$not": {"$ref": "x"}}, [{"$ref": "x"}]))},
        ),
        (random.choice(_NAMES), {"at": [{"$bind": "y"}], "n": {"$ref": random.choice("yz")}}),
        (random.choice(_NAMES), {"id": {"$anyOf": [{"$bind": "z"}, 1]}}),
    ][: random.choice((1, 2, 2, 2, 2, 3, 4))]
    try:
        named = [(name, args, names_in(args, "args")) for name, args in steps]
        check_names([(f"calls[{n}]", names, random.random() < 0.1) for n, (_, _, names) in enumerate(named)])
    except ExpectationError as problem:
        return line(steps, str(problem), problem)
    patterns = [(call_pattern(name, args, names=True), names) for name, args, names in named]
    limits = Limits(combinations=random.choice((1, 1_000)))
    chosen, _ = spent(lambda: [*map(dict, assignments(patterns, run.calls, limits))])
    closed = chosen if isinstance(chosen, str) else [close_names([a for _, a, _ in named], each) for each in chosen]
    told = json.dumps(closed, default=lambda each: "nothing" if each is NOTHING else str(each))
    return line(steps, (told, [names for _, _, names in named]), told[:100])


def _wrong(random: Random) -> str:
    """A part of an expected call that is not what it should be, or a set of names."""
    written = tuple(random.choices(_WRITTEN, k=3))
    names = tool_names(written)
    held = [[name in names for name in (*_NAMES, "", "payy")], len(names), sorted(names)]
    parts: dict[str, Any] = {
        random.choice(("status", "agent", "turn", "nth")): random.choice(
            ("ok", "OK", "a*", 0, 1, -1, True, 1.0, "1", [])
        )
    }
    args = {"id": {"$from": random.choice(_WRONG_SOURCES)}} if random.random() < 0.5 else {}
    try:
        pattern = call_pattern("pay", args, **parts)
    except ExpectationError as problem:
        return line((written, args, parts), (held, str(problem)), problem)
    return line((written, args, parts), (held, pattern.nth, pattern.needs_moment), *written, parts)


_GROUPS: Drawn = {
    "pattern": (_pattern, 350),
    "relating": (_relating, 100),
    "source": (_source, 350),
    "shelved": (_shelved, 30),
    "bound": (_bound, 150),
    "wrong": (_wrong, 100),
}
