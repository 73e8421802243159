"""What rules of every form say of runs of every kind, and the mistakes that are found in rules."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.judging.kept_verdicts import entangled, some_trajectory, told
from tests.snapshots import Drawn, drawn

from rightcall.judging import EVALUATORS

FILE = "rules.txt"
_PAIRED = ("only_after", "never_after", "followed_by", "only_with", "never_with")
_CALLS: tuple[Any, ...] = (
    *(
        "search",
        "book",
        "pay",
        "pay_later",
        "pay*",
        "*",
        "never_called",
        ["search", "book"],
        {"book": {"city": "Rome"}},
    ),
    *({"name": "pay*", "status": "ok"}, {"name": "search", "agent": "planner"}, {"name": "book", "nth": 1}),
    *({"name": "*", "turn": 1}, {"name": "pay", "nth": -1}, {"name": "*", "args": {"n": {"$gte": 1}}}),
    *(
        {"name": "search", "output": {"id": 7}},
        {"name": "*", "status": "error"},
        {"book": {"city": {"$from": "search"}}},
    ),
)
_OFTEN = (*_CALLS, *_CALLS[:3] * 6)
_SAME: tuple[Any, ...] = ("city", "n", "id", "id", ["city", "n"], {"city": "city"}, {"n": "city"})
_ALWAYS: tuple[Any, ...] = (
    *(
        {"args": {"city": "Rome"}},
        {"args": {"n": {"$lt": 2}}},
        {"status": "ok"},
        {"output": "ok"},
        {"agent": "planner"},
    ),
    *({"turn": 0}, {"city": {"$in": ["Rome", "Oslo"]}}, {"n": 1}, {"city": {"$from": "search"}}),
)
_WRONG: tuple[dict[str, Any], ...] = (
    *(
        {},
        {"call": "pay"},
        {"call": []},
        {"call": 7, "at_most": 1},
        {"call": {"name": 7}, "at_most": 1},
        {"pay": {"only_after": "a"}},
    ),
    *(
        {"same": ""},
        {"same": 7},
        {"same": []},
        {"same": {"a": 1}},
        {"per": "day"},
        {"at_most": -1},
        {"at_most": 1, "first": "a"},
    ),
    *(
        {"before": "book"},
        {"after": "book"},
        {"since": "book"},
        {"before": "a", "after": "b", "at_most": 1},
        {"directly": True},
    ),
    *(
        {"always": {}},
        {"always": {"args": {"$grt": 1}}},
        {"call": {"one_of": ["a"]}},
        {"call": {"a": 1}},
        {"call": {"$any": True}},
    ),
    *(
        {"first": "a", "call": "b"},
        {"call": {"a": {}, "b": {}}},
        {"call": {"name": "a", "nth": 0}},
        {"only_aftr": "a"},
        {"why": 7},
    ),
    *(
        {"must_apply": "yes"},
        {"call": {"name": "a", "status": "fine"}},
        {"call": {"repeat": "a"}},
        {"last": [], "call": None},
    ),
)


def groups() -> list[str]:
    """What rules are grouped by."""
    return list(_GROUPS)


def outcomes(group: str) -> dict[str, str]:
    """A line for each rule of a group."""
    return drawn(_GROUPS, group)


def _rule(random: Random) -> str:
    """One rule, or two."""
    return _judged(random, [_some_rule(random) for _ in range(random.choice((1, 1, 1, 2)))])


def _wrong(random: Random) -> str:
    """A rule with a mistake in it, or with keys that do not go together."""
    rule = {**random.choice((_some_rule(random), {})), **random.choice(_WRONG), **random.choice((*_WRONG, {}, {}))}
    return _judged(random, [rule])


def _judged(random: Random, rules: list[dict[str, Any]]) -> str:
    more: tuple[dict[str, Any], ...] = (
        {},
        {},
        {"parallel": "any_order"},
        {"parallel": "recorded"},
        {"failed": "ignore"},
        {"agent": "planner"},
    )
    order = {"order": "started"} if random.random() < 0.25 else {}
    criteria = {"rules": rules, **order, **random.choice((*more, {"turn": 0}, {"top_level": True}))}
    evaluator = EVALUATORS["call-rules"](config={"threshold": random.choice((1.0, 1.0, 0.4))})
    made = some_trajectory(random)
    made = entangled(random, made) if random.random() < 0.6 else made
    return told(evaluator, made, criteria)


def _some_rule(random: Random) -> dict[str, Any]:
    relation = random.choice((*_PAIRED, *_PAIRED, "at_most", "at_most", "always", "first", "last"))
    rule: dict[str, Any] = {}
    if relation in ("first", "last"):
        rule[relation] = random.choice(_OFTEN)
    else:
        rule["call"] = random.choice(_OFTEN)
    if relation in _PAIRED:
        rule[relation] = random.choice(_OFTEN)
        rule |= random.choice(({}, {}, {"same": random.choice(_SAME)}))
    if relation in ("only_after", "followed_by"):
        between = "since" if relation == "only_after" else "before"
        rule |= random.choice(({}, {}, {"directly": True}, {between: random.choice(_OFTEN)}))
    if relation == "at_most":
        rule["at_most"] = random.choice((0, 1, 2))
        rule |= random.choice(({}, {random.choice(("before", "after")): random.choice(_OFTEN)}))
        rule |= {"same": random.choice(_SAME)} if len(rule) > 2 and random.random() < 0.4 else {}
    if relation == "always":
        rule["always"] = random.choice(_ALWAYS)
    rule |= random.choice(({}, {}, {"per": "turn"}, {"per": "agent"}, {"must_apply": True}, {"why": "it is the law"}))
    return rule


_GROUPS: Drawn = {"rule": (_rule, 700), "wrong": (_wrong, 150)}
