"""The `$` matchers: their operands, a builder for each, and the table of all of them."""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any
from unicodedata import normalize

import msgspec

from rightcall.errors import ExpectationError, nearest, shown
from rightcall.limits import DEFAULT_LIMITS, Budget, Limits, current_budget, spend
from rightcall.matching.alignment import maximum_pairing
from rightcall.values.results import Difference

from ._equality import canonical, equal
from ._expectations import (
    TEXT,
    Column,
    Compiler,
    Expectation,
    Literal,
    NanLiteral,
    Several,
    holds_foreign,
    is_matcher,
    literal_of,
    made_of,
)

Test = Callable[[Any], bool]
ColumnTest = Callable[[Column], list[bool]]
SpendingTest = Callable[[Any, Budget], bool]
_SURROGATE = re.compile("[\ud800-\udfff]")
_TOKEN = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\\\]])*\]|\{(\d+)(?:,(\d*))?\}|.", re.DOTALL)
_WIDE = re.compile(r"\.|\[|\\[dDwWsSpP]")
_PLACES = 64
"""Positions of a pattern that the engine tracks for one character per step of the budget, at its slowest."""
_CHARACTERS = 4096
"""Characters that it reads per step, at its fastest."""
_NUMBERS = frozenset({int, float})
_TRIES = 2
"""Tries of one small expectation per step."""
_FOLDED = 16
"""Characters to normalize per step."""
_EDGES = 8
"""Pairs that one round of the pairing checks per step."""


class Operand(msgspec.Struct, frozen=True):
    """The operand of a matcher: its value, the keys beside it, and its path for errors."""

    value: Any
    where: str
    compiler: Compiler
    companions: dict[str, Any] = {}

    def wrong(self, wanted: str, found: Any) -> ExpectationError:
        """Return the error for an operand that the matcher does not take."""
        return ExpectationError(f"{self.where} takes {wanted}, not {shown(found)}")

    def text(self) -> str:
        """Return the operand as a string."""
        if not isinstance(self.value, str):
            raise self.wrong("a string", self.value)
        return self.value

    def flag(self) -> bool:
        """Return the operand as a boolean."""
        if not isinstance(self.value, bool):
            raise self.wrong("true or false", self.value)
        return self.value

    def expectation(self) -> Expectation:
        """Compile the operand as an expectation of its own."""
        return self.compiler.compile(self.value, self.where)

    def expectations(self) -> list[Expectation]:
        """Compile the operand as a list of expectations."""
        if not isinstance(self.value, list):
            raise self.wrong("a list", self.value)
        return [self.compiler.compile(item, f"{self.where}[{n}]") for n, item in enumerate(self.value)]


class Matcher(Expectation):
    """A `$` matcher whose cost does not depend on the size of the actual value."""

    __slots__ = ("_absence", "_each", "_test", "cost")

    def __init__(self, test: Test, *, absence: bool = False, cost: int = 1, each: ColumnTest | None = None) -> None:
        self._test = test
        self._each = each
        self._absence = absence
        self.cost = cost

    def matches(self, actual: Any) -> bool:
        return self._test(actual)

    def matches_each(self, column: Column) -> list[bool]:
        return list(map(self._test, column.values)) if self._each is None else self._each(column)

    def matches_absence(self) -> bool:
        return self._absence


class SpendingMatcher(Expectation):
    """A `$` matcher whose cost depends on the size of the actual value: it spends steps of the budget.

    Outside of an evaluation, the outermost one makes a budget of its own.
    """

    __slots__ = ("_limits", "_test")

    def __init__(self, test: SpendingTest, limits: Limits) -> None:
        self._test = test
        self._limits = limits

    def matches(self, actual: Any) -> bool:
        budget = current_budget()
        if budget is not None:
            return self._test(actual, budget)
        with Budget(self._limits.steps) as own:
            return self._test(actual, own)


class Combination(Several):
    """Several expectations of one value, combined by `any` or `all`."""

    __slots__ = ("_decide", "_parts")

    def __init__(self, decide: Callable[[Iterable[bool]], bool], parts: list[Expectation], limits: Limits) -> None:
        super().__init__(parts, limits)
        self._decide = decide
        self._parts = parts

    def matches(self, actual: Any) -> bool:
        if self._steps:
            spend(self._steps, self._limits)
        return self._decide(part.matches(actual) for part in self._parts)

    def matches_absence(self) -> bool:
        # `all` of nothing is true, but a matcher without parts does not ask for a missing key.
        return bool(self._parts) and self._decide(part.matches_absence() for part in self._parts)


Build = Callable[[Operand], Expectation]


def is_number(value: Any) -> bool:
    """Return whether a value is a JSON number, which booleans are not."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    """Return whether a value is a number without a fraction: `2` and `2.0` are, NaN and infinity are not."""
    return is_number(value) and (isinstance(value, int) or value.is_integer())


JSON_TYPES: dict[str, Test] = {
    "string": lambda value: isinstance(value, str),
    "number": is_number,
    "integer": is_whole,
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}
"""The types of JSON Schema (draft 2020-12, validation, section 6.1.1), for `$type` and for `$schema`."""


class Search:
    """A test of whether a string contains a match of a pattern."""

    __slots__ = ("_free", "_holds", "_limits", "_width")

    def __init__(self, holds: Callable[[Any], bool], pattern: str, limits: Limits) -> None:
        self._holds = holds
        self._limits = limits
        self._width = width = _width(pattern)
        self._free = min(_CHARACTERS, _PLACES * regex_cost(pattern) // width if width else _CHARACTERS)

    def test(self, actual: Any) -> bool:
        """Return whether a value is a string that contains a match."""
        if not isinstance(actual, str):
            return False
        if len(actual) > self._free:
            spend(len(actual) * self._width // _PLACES + len(actual) // _CHARACTERS, self._limits)
        return self._holds(_encodable(actual))

    def test_each(self, column: Column) -> list[bool]:
        """Return `test` for each value of a column."""
        texts, longest = column.texts(_encodable)
        # In strict mode, the engine returns False for every value that is not a string.
        return list(map(self._holds, texts)) if longest <= self._free else list(map(self.test, column.values))


def _encodable(text: str) -> str:
    # The engine works on UTF-8, which has no form for a lone surrogate.
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def compile_regex(pattern: str, where: str, limits: Limits = DEFAULT_LIMITS) -> Search:
    """Return a search for `pattern` that runs in time linear in the text, so no pattern can hang it.

    The price is that there are no backreferences and no lookaround.

    Raises:
        ExpectationError: the pattern is malformed, too long, or needs something that a linear engine cannot do.
    """
    if len(pattern) > limits.pattern_length:
        raise ExpectationError(f"{where}: a pattern of {len(pattern):,} characters; at most {limits.pattern_length:,}")
    # pydantic-core carries Rust's regex crate; pydantic itself is not loaded for it.
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        validator = SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex", strict=True))
    except (SchemaError, UnicodeError) as problem:
        reason = str(problem).replace("SchemaError: ", "").strip().splitlines()
        raise ExpectationError(f"{where}: the pattern {pattern!r:.80} is not usable: {reason[-1]}") from None
    return Search(validator.isinstance_python, pattern, limits)


def regex_cost(pattern: str) -> int:
    """Return the steps that a search in a short string takes."""
    return 1 + _width(pattern) // 8


def _width(pattern: str) -> int:
    """Estimate how many positions of a pattern the engine may track per character: the factor of the linear time.

    Literal characters are not counted, because the engine tracks few of them at once. A set repeated 5,000 times has
    5,000 positions, which may all be active at once: 35 µs per character.
    """
    totals, last = [0], 0
    for token in _TOKEN.finditer(pattern):
        text = token[0]
        if text == "(":
            totals.append(0)
        elif text == ")" and len(totals) > 1:
            last = totals.pop()
            totals[-1] += last
        elif token[1] is not None:
            times = max(int(token[2] or token[1]), int(token[1]), 1)
            totals[-1] += max(last, 1) * (times - 1)
            last = max(last, 1) * times
        else:
            last = 1 if _WIDE.match(text) else 0
            totals[-1] += last
    return sum(totals)


def _regex(operand: Operand) -> Matcher:
    pattern = operand.text()
    search = compile_regex(pattern, operand.where, operand.compiler.limits)
    return Matcher(search.test, cost=regex_cost(pattern), each=search.test_each)


def _approx(operand: Operand) -> Matcher:
    target = operand.value
    if not is_number(target):
        raise operand.wrong("a number", target)
    for name, tolerance in operand.companions.items():
        if not is_number(tolerance) or not tolerance >= 0:
            raise operand.wrong(f"a {name!r} that is a number and not negative", tolerance)
    tolerances = operand.companions or {"abs": 1e-12, "rel": 1e-6}
    try:
        margin = max(tolerances.get("abs", 0), tolerances.get("rel", 0) * abs(target))
        is_finite = math.isfinite(target)
    except OverflowError:
        raise operand.wrong("a number that a float can hold", target) from None
    if not is_finite:
        return Matcher(lambda actual: equal(target, actual))
    return Matcher(lambda actual: is_number(actual) and _is_near(actual, target, margin))


def _is_near(actual: float, target: float, margin: float) -> bool:
    # 21.5 - 21.4 is a little more than 0.1 in binary, so allow for the last bits of floats.
    inexact = margin > 0 and (isinstance(actual, float) or isinstance(target, float))
    try:
        return actual == target or abs(actual - target) <= margin + (2 * math.ulp(target) if inexact else 0)
    except OverflowError:  # an integer too large for a float is near to none
        return False


def _comparison(holds: Callable[[Any, Any], bool]) -> Build:
    def build(operand: Operand) -> Matcher:
        bound = operand.value
        if is_number(bound):
            return Matcher(
                lambda actual: is_number(actual) and holds(actual, bound),
                each=lambda column: [
                    holds(value, bound) if value.__class__ in _NUMBERS else is_number(value) and holds(value, bound)
                    for value in column.values
                ],
            )
        if isinstance(bound, str):
            return Matcher(lambda actual: isinstance(actual, str) and holds(actual, bound), cost=1 + len(bound) // TEXT)
        raise operand.wrong("a number or a string", bound)

    return build


def _text_test(holds: Callable[[str, str], bool]) -> Build:
    def build(operand: Operand) -> Matcher:
        wanted = operand.text()
        cost = 1 + len(wanted) // TEXT
        return Matcher(lambda actual: isinstance(actual, str) and holds(actual, wanted), cost=cost)

    return build


def _ignore_case(operand: Operand) -> Matcher:
    folded = operand.text().casefold()
    size = len(folded)
    # Case folding never makes a string shorter, so a longer string cannot match and is not folded.
    return Matcher(
        lambda actual: isinstance(actual, str) and len(actual) <= size and actual.casefold() == folded,
        cost=1 + size // TEXT,
    )


def _same_words(operand: Operand) -> Expectation:
    wanted = _letters_and_digits(operand.text())
    if not wanted:
        raise operand.wrong("a string with a letter or a digit in it", operand.value)

    def test(actual: Any, budget: Budget) -> bool:
        if not isinstance(actual, str):
            return False
        budget.spend(1 + len(actual) // _FOLDED)
        return _letters_and_digits(actual) == wanted

    return SpendingMatcher(test, operand.compiler.limits)


def _letters_and_digits(text: str) -> str:
    # Case folding may decompose characters, so normalize again afterwards.
    folded = normalize("NFKC", normalize("NFKC", text).casefold())
    return "".join(filter(str.isalnum, folded))


def _type(operand: Operand) -> Matcher:
    names = operand.value if isinstance(operand.value, list) else [operand.value]
    for name in names:
        if not isinstance(name, str) or name not in JSON_TYPES:
            raise operand.wrong(f"one of {', '.join(JSON_TYPES)}", name)
    tests = [JSON_TYPES[name] for name in dict.fromkeys(names)]
    return Matcher(lambda actual: any(test(actual) for test in tests))


def _unordered_test(items: Sequence[Expectation], limits: Limits) -> SpendingTest:
    """Return a test of whether a list has exactly these items, in any order.

    Items without matchers are counted, not paired: whichever of several equal values they take, the same values remain
    for the matchers.
    """
    # The size of the expectation is already limited, so this budget never runs out.
    ample = Budget(4 * limits.nodes)
    literals = Counter([canonical(item.value, ample) for item in items if isinstance(item, (Literal, NanLiteral))])
    matchers = [item for item in items if not isinstance(item, (Literal, NanLiteral))]
    cost = sum([item.cost for item in matchers])

    def test(actual: Any, budget: Budget) -> bool:
        if not isinstance(actual, list) or len(actual) != len(items):
            return False
        left = _left(actual, literals, budget) if literals else actual
        if left is None or not matchers:
            return left is not None
        budget.spend(cost * len(left) // _TRIES)
        rows = [[position for position, value in enumerate(left) if item.matches(value)] for item in matchers]
        edges = sum(map(len, rows))
        return -1 not in maximum_pairing(rows, each_round=lambda: budget.spend(edges // _EDGES))

    return test


def _left(actual: list[Any], wanted: Counter[str], budget: Budget) -> list[Any] | None:
    """Return the values of a list that remain after removing the wanted ones; `None` if one of those is missing."""
    missing = wanted.copy()
    left = []
    for value in actual:
        key = canonical(value, budget)
        if missing[key] > 0:
            missing[key] -= 1
        else:
            left.append(value)
    return None if any(missing.values()) else left


def compile_matcher(value: dict[str, Any], where: str, compiler: Compiler) -> Expectation:
    """Compile an object with a `$` key to its matcher.

    Raises:
        ExpectationError: the key is unknown, has companions it does not take, or its operand is wrong.
    """
    name = next(key for key in value if key.startswith("$"))
    if name not in _BUILDERS:
        hint = nearest(name, MATCHERS)
        stop = "" if hint.endswith("?") else "."
        raise ExpectationError(
            f'{where}: unknown matcher {shown(name)}; {hint}{stop} To expect the object itself, write {{"$literal": …}}'
        )
    companions = {key: item for key, item in value.items() if key != name}
    if not companions.keys() <= _COMPANIONS.get(name, frozenset()):
        beside = ", ".join(sorted(repr(key) for key in companions))
        raise ExpectationError(f"{where}: {name} must be the only key of its object, but {beside:.200} is there, too")
    if name in _BEYOND and name not in compiler.allows:
        raise ExpectationError(f"{where}: {name} does not belong here; it belongs {_BEYOND[name]}")
    return _BUILDERS[name](Operand(value[name], f"{where}.{name}", compiler, companions))


def _any(operand: Operand) -> Matcher:
    if operand.value is not True:
        raise operand.wrong("true", operand.value)
    return Matcher(lambda actual: True)


def _present(operand: Operand) -> Matcher:
    return _presence(operand.flag())


def _absent(operand: Operand) -> Matcher:
    return _presence(not operand.flag())


def _presence(present: bool) -> Matcher:
    return Matcher(lambda actual: present, absence=not present)


def _literal(operand: Operand) -> Expectation:
    if holds_foreign(operand.value):
        return Matcher(lambda actual: equal(operand.value, actual))
    return literal_of(operand.value)


def _any_of(operand: Operand) -> Expectation:
    return made_of(operand.expectations(), lambda parts: Combination(any, parts, operand.compiler.limits))


def _all_of(operand: Operand) -> Expectation:
    return made_of(operand.expectations(), lambda parts: Combination(all, parts, operand.compiler.limits))


def _not(operand: Operand) -> Expectation:
    return made_of([operand.expectation()], _denied, negates=True)


def _denied(parts: list[Expectation]) -> Expectation:
    [refused] = parts
    return Matcher(lambda actual: not refused.matches(actual), cost=refused.cost)


def _contains(operand: Operand) -> Expectation:
    return made_of([operand.expectation()], lambda parts: _containing(parts[0], operand))


def _containing(wanted: Expectation, operand: Operand) -> Expectation:
    def test(actual: Any, budget: Budget) -> bool:
        if isinstance(actual, list):
            budget.spend(1 + len(actual) * wanted.cost // 2)
            return any(wanted.matches(item) for item in actual)
        if not isinstance(operand.value, str):
            return False
        if isinstance(actual, str):
            budget.spend(1 + len(actual) // TEXT)
            return operand.value in actual
        return isinstance(actual, dict) and operand.value in actual

    return SpendingMatcher(test, operand.compiler.limits)


def _length(operand: Operand) -> Expectation:
    if not is_matcher(operand.value) and not (is_whole(operand.value) and operand.value >= 0):
        raise operand.wrong("a whole number or a matcher", operand.value)
    return made_of([operand.expectation()], _of_length)


def _of_length(parts: list[Expectation]) -> Expectation:
    [wanted] = parts
    return Matcher(
        lambda actual: isinstance(actual, (str, list, dict)) and wanted.matches(len(actual)), cost=wanted.cost
    )


def _subset(operand: Operand) -> Expectation:
    if not isinstance(operand.value, (dict, list)):
        raise operand.wrong("an object or a list", operand.value)
    return operand.compiler.compile_open(operand.value, operand.where)


def _unordered(operand: Operand) -> Expectation:
    limits = operand.compiler.limits
    return made_of(operand.expectations(), lambda items: SpendingMatcher(_unordered_test(items, limits), limits))


def _schema(operand: Operand) -> Expectation:
    from ._schema import compile_schema

    return SpendingMatcher(compile_schema(operand), operand.compiler.limits)


def _from(operand: Operand) -> Expectation:
    from ._sources import FromSource, source_of

    return FromSource(source_of(operand))


def _named(operand: Operand) -> Matcher:
    # The value of the name is not known yet. Once it is, `close_names` replaces this matcher with it.
    if not operand.text():
        raise operand.wrong("a name", operand.value)
    return Matcher(lambda actual: True)


_BUILDERS: dict[str, Build] = {
    "$any": _any,
    "$regex": _regex,
    "$approx": _approx,
    "$gt": _comparison(operator.gt),
    "$gte": _comparison(operator.ge),
    "$lt": _comparison(operator.lt),
    "$lte": _comparison(operator.le),
    "$startsWith": _text_test(str.startswith),
    "$endsWith": _text_test(str.endswith),
    "$ignoreCase": _ignore_case,
    "$sameWords": _same_words,
    "$type": _type,
    "$in": _any_of,
    "$contains": _contains,
    "$length": _length,
    "$subset": _subset,
    "$unordered": _unordered,
    "$not": _not,
    "$allOf": _all_of,
    "$anyOf": _any_of,
    "$schema": _schema,
    "$present": _present,
    "$absent": _absent,
    "$literal": _literal,
    "$from": _from,
    "$bind": _named,
    "$ref": _named,
}
_BEYOND: dict[str, str] = {
    "$from": "in the arguments of an expected or forbidden call, which the agent may have from earlier ones",
    "$bind": "in the arguments of a call under 'calls'",
    "$ref": "in the arguments of a call under 'calls'",
}
"""Matchers that depend on more than the value itself, and where they are allowed."""
_COMPANIONS: dict[str, frozenset[str]] = {"$approx": frozenset({"abs", "rel"})}
MATCHERS = tuple(_BUILDERS)
_BARE = re.compile(r'\{"(\w+)": ')


def meant_matcher(differences: Iterable[Difference]) -> str | None:
    """Return advice if an expected object has the name of a matcher without its `$`, and no object was there.

    `{"contains": "x"}` is an object like any other: an argument may have these keys.
    """
    for each in differences:
        if each.expected is None or each.expected[:1] != "{" or each.actual is None or each.actual[:1] == "{":
            continue  # most differences; the pattern would be a tenth of the time of a finding
        bare = _BARE.match(each.expected)
        if bare and f"${bare[1]}" in _BUILDERS:
            return f'did you mean {{"${bare[1]}": …}}?'
    return None


def bare_matcher(value: Any) -> dict[str, Any] | None:
    """Return the first object in a value that has one key, the name of a matcher without its `$`."""
    if isinstance(value, dict):
        if len(value) == 1 and f"${next(iter(value))}" in _BUILDERS:
            return value
        # What is below `$literal` is meant as it is.
        value = [item for key, item in value.items() if key != "$literal"]
    found = (bare_matcher(item) for item in value) if isinstance(value, (list, tuple)) else ()
    return next((each for each in found if each is not None), None)
