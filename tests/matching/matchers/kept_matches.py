"""What expected values say of actual ones that nearly fit: whether they match, where they differ, and what it took."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any

from tests.snapshots import Drawn, drawn, line

from rightcall.errors import ExpectationError, LimitError
from rightcall.limits import Budget
from rightcall.matching.matchers import MATCHERS, compile_value, equal, value_differences
from rightcall.matching.matchers._expectations import Column
from rightcall.matching.matchers._operators import compile_regex, regex_cost

FILE = "matches.txt"
_STEPS = 3_000
_TEXTS = ("", "a", "Rome", "rome", "Rome, Oslo", "2026-11-18", "Straße", "ﬀ", "x" * 5_000, "a b " * 3_000)
_NUMBERS = (0, 1, -1, 2, 2.0, 2.5, 1e-7, 10**400, float("nan"), float("inf"))
_LEAVES = (*_TEXTS, *_NUMBERS, True, False, None)
_KINDS = ("string", "number", "integer", "boolean", "array", "object", "null")


def groups() -> list[str]:
    """What expectations are grouped by."""
    return list(_GROUPS)


def outcomes(group: str) -> dict[str, str]:
    """A line for each expectation of a group."""
    return drawn(_GROUPS, group)


def _short(value: Any) -> str:
    return json.dumps(value)[:80]


def _matching(random: Random) -> str:
    """An expectation with matchers in matchers, tried on the value it was made from and on others like it."""
    value = some_value(random, 2)
    expected = some_expected(random, value, random.choice((1, 2, 2, 3)))
    values = [value, near(random, value), near(random, near(random, value)), random.choice(_LEAVES)]
    expectation = compile_value(expected)
    answers = [spent(partial(expectation.matches, each)) for each in values]
    others = [
        spent(lambda: expectation.matches_each(Column(values))),
        expectation.matches_absence(),
        expectation.cost,
        [[(each.path, each.expected, each.actual) for each in value_differences(expected, other)] for other in values],
        [equal(value, other) for other in values],
    ]
    return line((expected, values), (answers, others), *[str(holds) for holds, _ in answers], _short(expected))


def spent(work: Callable[[], Any], steps: int = _STEPS) -> tuple[Any, int]:
    """What some work returns, or why it was refused, and the steps it took."""
    with Budget(steps) as budget:
        try:
            return work(), budget.most - budget.left
        except LimitError as problem:
            return str(problem), -1


def _pattern(random: Random) -> str:
    """A regular expression, and about how many places of it are looked at for one character."""
    atoms = ("a", "b", ".", "[ab]", "[^a]", r"\d", r"\.", r"\w", "(a|.)", "(b.)", "((a.){2}b)", "^", "$")
    times = ("", "", "*", "+", "{3}", "{2,}", "{0,40}", "{700}", "?")
    pattern = "".join([random.choice(atoms) + random.choice(times) for _ in range(random.randint(1, 4))])
    pattern = random.choice((pattern, pattern, f"({pattern}", f"({pattern}){{2}}"))
    try:
        search = compile_regex(pattern, "expected")
    except ExpectationError:
        return line(pattern, "refused", pattern, "refused")
    texts = ["", "a", "ab.b", "b" * 60, "x1 é\ud800", 7, "ab" * 1_000, "ba." * 4_000]
    found = [spent(partial(search.test, text), 50_000) for text in texts]
    each = spent(partial(search.test_each, Column(texts)), 50_000)
    cost = regex_cost(pattern)
    return line(pattern, (found, each, cost), pattern, cost, *[steps for _, steps in found[-2:]])


def _wrong(random: Random) -> str:
    """A matcher with an operand, and perhaps a companion, that it does not take, or that it does."""
    name = random.choice((*MATCHERS, "$matches", "$Regex"))
    operand = random.choice((*_LEAVES[:4], *_NUMBERS, True, [], ["string"], ["strin"], {"a": 1}, "[", {"$any": False}))
    expected = {
        name: operand,
        **({random.choice(("abs", "rel", "flags")): random.choice((0, -1, 0.5, "x"))} if random.random() < 0.3 else {}),
    }
    try:
        compiled = compile_value({"a": [expected]}, where="expected")
    except ExpectationError as problem:
        told = str(problem).partition(" is not usable: ")[0]  # what follows is in the words of the engine
        return line(expected, told, told[:160])
    found = [spent(partial(compiled.matches, {"a": [each]}))[0] for each in _LEAVES]
    return line(expected, found, str(found.count(True)), _short(expected))


def some_value(random: Random, depth: int) -> Any:
    """A JSON value, at random."""
    kind = random.choice(("leaf", "list", "object")) if depth else "leaf"
    if kind == "leaf":
        return random.choice(_LEAVES)
    size = random.choice((0, 1, 2, 3, 3, 25))
    if kind == "list":
        return [some_value(random, depth - 1) for _ in range(size)]
    return {key: some_value(random, depth - 1) for key in ("a", "b", "the key", *[f"k{n}" for n in range(22)])[:size]}


def near(random: Random, value: Any) -> Any:
    """A value like another: one thing in it is changed, missing, or more."""
    if isinstance(value, list) and value:
        place = random.randrange(len(value))
        changed = [near(random, item) if at == place else item for at, item in enumerate(value)]
        return random.choice((changed, value[::-1], value[1:], [*value, 1]))
    if isinstance(value, dict) and value:
        key = random.choice(list(value))
        without = {name: item for name, item in value.items() if name != key}
        return random.choice((value | {key: near(random, value[key])}, without, value | {"more": 1}))
    if isinstance(value, str):
        return random.choice((value.upper(), value[:-1], f"{value}!", f" {value}", "b"))
    if isinstance(value, bool) or value is None:
        return random.choice((0, 1, None, not value))
    if isinstance(value, (int, float)):
        return random.choice(
            (value + 1, -value, value * (1 + 1e-9), str(value), bool(value)) if abs(value) < 9 else (1,)
        )
    return random.choice(_LEAVES)


def some_expected(random: Random, value: Any, depth: int) -> Any:
    """An expectation that a value satisfies, or nearly."""
    if not depth:
        return value
    if isinstance(value, list) and random.random() < 0.4:
        return [some_expected(random, item, depth - 1) if random.random() < 0.5 else item for item in value]
    if isinstance(value, dict) and random.random() < 0.4:
        held = {key: some_expected(random, item, depth - 1) for key, item in value.items() if random.random() < 0.9}
        return held | ({"gone": {random.choice(("$absent", "$present")): True}} if random.random() < 0.4 else {})
    wanted = some_expected(random, value, depth - 1)
    other = some_expected(random, near(random, value), depth - 1)
    several = [wanted, other, *([some_value(random, 1)] * random.choice((0, 1, 40)))]
    return random.choice(
        [
            {"$not": other},
            {"$in": several},
            {"$anyOf": several[::-1]},
            {"$allOf": [wanted, wanted, {"$not": other}]},
            {"$allOf": several[: random.randint(0, 2)]},
            {"$type": random.choice(_KINDS)},
            {"$type": random.sample(_KINDS, 3)},
            {"$literal": value},
            {"$any": True},
            *_of_kind(random, value, depth) * 4,
        ]
    )


def _of_kind(random: Random, value: Any, depth: int) -> list[Any]:
    if isinstance(value, str):
        part = value[random.randint(0, 2) : 4_200 + random.randint(0, 3)]
        texts: list[Any] = [{name: part} for name in ("$startsWith", "$endsWith", "$contains", "$gte", "$lt")]
        texts += [
            {"$regex": f"^{re.escape(part[:20])}"},
            {"$regex": random.choice(("[a-z]{2,40}", "(a|.b)*$", "o\\b"))},
        ]
        return [*texts, {"$ignoreCase": value.swapcase()}, {"$sameWords": f"-{value}a"}, *_of_length(random, value)]
    if isinstance(value, bool) or value is None:
        return [{"$present": True}, {"$absent": random.random() < 0.5}]
    if isinstance(value, (int, float)):
        bound = random.choice((value, value, value + 1, value - 1))
        tolerance = random.choice(({}, {"abs": 1}, {"rel": 0.5}, {"abs": 0.1, "rel": 1e-9}, {"abs": 0}))
        approx = [{"$approx": bound, **tolerance}] if abs(value) != 10**400 else []
        return [*[{name: bound} for name in ("$gt", "$gte", "$lt", "$lte")], *approx]
    if isinstance(value, list):
        items = [some_expected(random, item, depth - 1) if random.random() < 0.3 else item for item in value]
        held = random.choice(items) if items else 1
        mixed = random.sample(items, len(items))
        return [{"$unordered": mixed}, {"$contains": held}, {"$subset": items}, *_of_length(random, value)]
    some = {key: item for key, item in value.items() if random.random() < 0.7}
    return [{"$subset": some}, {"$contains": random.choice([*value, "a"])}, *_of_length(random, value)]


def _of_length(random: Random, value: Any) -> list[Any]:
    return [{"$length": len(value) + random.choice((0, 0, 1))}, {"$length": {"$gte": len(value)}}]


_GROUPS: Drawn = {"matching": (_matching, 600), "pattern": (_pattern, 120), "wrong": (_wrong, 150)}
