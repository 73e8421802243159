"""Every matcher spends the steps of one budget: what takes too many is refused, and soon."""

from collections.abc import Callable
from itertools import permutations
from time import thread_time
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, strategies as st
from tests.matching.matchers.test_schema import VALUES
from tests.sampling import examples
from tests.walls import for_each

from rightcall import Trajectory
from rightcall.errors import LimitError
from rightcall.judging import EVALUATORS
from rightcall.limits import DEFAULT_LIMITS, Budget, Limits, current_budget
from rightcall.matching.matchers import MATCHERS, CallPattern, ExpectedCalls, compile_value, relate, value_differences
from rightcall.values.trajectory import ToolCall

SLOW = 2.0
"""How much slower than a quiet one a machine may be that runs the tests."""
LONG = "ab" * 500_000


def rows(size: int) -> list[Any]:
    return [{"i": number} for number in range(size)]


def deep(expected: Any, levels: int, key: str) -> Any:
    for _ in range(levels):
        expected = {key: expected}
    return expected


NASTY: dict[str, Callable[[], tuple[Any, Any]]] = {
    "$any": lambda: ({"$any": True}, rows(100_000)),
    "$regex": lambda: ({"$regex": "[ab]*a[ab]{900}c"}, LONG),
    "$approx": lambda: ({"$unordered": [{"$approx": number} for number in range(3_000)]}, list(range(3_000))),
    "$gt": lambda: ({"$contains": {"$contains": {"$gt": 5}}}, [[1] * 2_000] * 2_000),
    "$gte": lambda: ({"$unordered": [{"$gte": number} for number in range(3_000)]}, list(range(3_000))),
    "$lt": lambda: ({"$anyOf": [{"$contains": {"$lt": -number}} for number in range(2_000)]}, list(range(2_000))),
    "$lte": lambda: (
        {"$allOf": [{"$not": {"$contains": {"$lte": -number}}} for number in range(1, 2_000)]},
        [1] * 2_000,
    ),
    "$startsWith": lambda: ({"$contains": {"$contains": {"$startsWith": "x"}}}, [["a"] * 2_000] * 2_000),
    "$endsWith": lambda: ({"$contains": {"$endsWith": LONG}}, ["a" + LONG[1:]] * 100_000),
    "$ignoreCase": lambda: ({"$contains": {"$ignoreCase": LONG}}, [LONG] * 20_000 + [LONG.upper()]),
    "$sameWords": lambda: ({"$contains": {"$sameWords": "x"}}, [LONG + str(number) for number in range(50)] * 100),
    "$type": lambda: ({"$contains": {"$type": ["null"] * 100_000}}, [1] * 200_000),
    "$in": lambda: ({"$contains": {"$in": [f"x{number}" for number in range(2_000)]}}, ["a"] * 5_000),
    "$contains": lambda: ({"$contains": [[0] * 2_000, 1]}, [[[0] * 2_000, 0]] * 200_000),
    "$length": lambda: ({"$contains": {"$length": {"$in": list(range(5, 3_000))}}}, ["a"] * 5_000),
    "$subset": lambda: ({"$contains": {"$subset": {str(n): {"$any": True} for n in range(500)}}}, [{"a": 1}] * 9_000),
    "$unordered": lambda: ({"$unordered": [{"$contains": number} for number in range(800)]}, [list(range(800))] * 800),
    "$not": lambda: ({"$not": {"$contains": {"$not": {"$contains": 1}}}}, [[0] * 2_000 + [1]] * 2_000),
    "$allOf": lambda: ({"$allOf": [{"$contains": {"$gte": 0}}] * 3_000}, [-1] * 3_000 + [0]),
    "$anyOf": lambda: ({"$anyOf": [{"$unordered": [{"$gt": n}] * 30} for n in range(3_000)]}, [0] * 30),
    "$schema": lambda: (
        {"$schema": {"items": {"anyOf": [{"minimum": n} for n in range(1_000)]}}},
        [-1] * 1 + [-1] * 5_000,
    ),
    "$present": lambda: ({"$contains": {"$contains": {"a": {"$present": True}}}}, [[{}] * 2_000] * 2_000),
    "$absent": lambda: ({"$contains": {"$contains": {"a": {"$absent": True}}}}, [[{"a": 1}] * 2_000] * 2_000),
    "$literal": lambda: ({"$contains": {"$literal": rows(2_000)}}, [rows(1_999)] * 60_000),
}


def test_there_is_a_nasty_case_for_each_matcher() -> None:
    # A name is closed to a literal; what `$from` may be asked is in test_sources.py.
    assert set(NASTY) | {"$from", "$bind", "$ref"} == set(MATCHERS)


@pytest.mark.parametrize("name", NASTY)
def test_a_nasty_value_takes_a_bounded_time(name: str) -> None:
    expected, actual = NASTY[name]()
    evaluator = EVALUATORS["final-output"]()
    criteria = evaluator.criteria({"output": expected})
    # Not by `Trajectory.of`, which copies: most of these values have one list in them many times.
    trajectory = msgspec.structs.replace(Trajectory.of([]), output=actual)

    began = thread_time()
    result = evaluator.evaluate(trajectory, criteria)
    findings = result.findings
    seconds = thread_time() - began

    assert seconds < 2 * SLOW
    assert result.verdict in ("passed", "failed") or (result.error or "").startswith("RC401 limit exceeded"), (
        result.error
    )
    assert result.passed or findings


def keyed(size: int, value: Any = 1) -> dict[str, Any]:
    return {str(number): value for number in range(size)}


SIZE = 400
STEPS: dict[str, tuple[Any, Any, float]] = {
    "$sameWords": ({"$sameWords": "x"}, "ab " * SIZE, 0.19 * SIZE),
    "$contains in a list": ({"$contains": {"$gt": 5}}, [1] * SIZE, 0.5 * SIZE),
    "$contains in a text": ({"$contains": "x"}, "ab" * 1_000 * SIZE, SIZE / 2),
    "$unordered without a pair": ({"$unordered": [{"$gt": 5}] * SIZE}, [1] * SIZE, SIZE**2 / 2),
    "$unordered, values": ({"$unordered": [*range(SIZE)]}, [*range(SIZE)][::-1], 3 * SIZE),
    "$regex": ({"$regex": "[ab]*a[ab]{90}c"}, "ab " * SIZE, 4.27 * SIZE),
    "a list": ([{"$gt": 0}] * SIZE, [1] * SIZE, SIZE),
    "an object": (keyed(SIZE, {"$gt": 0}), keyed(SIZE), SIZE),
    "$anyOf": ({"$anyOf": [{"$gt": 1}] * SIZE}, 0, SIZE),
    "$in": ({"$in": [f"x{number}" for number in range(SIZE)]}, "y", SIZE),
    "required": ({"$schema": {"required": [*keyed(SIZE)]}}, keyed(SIZE), SIZE / 8),
    "dependentRequired, one": ({"$schema": {"dependentRequired": {"0": [*keyed(SIZE)]}}}, keyed(SIZE), SIZE / 8),
    "dependentRequired, many": ({"$schema": {"dependentRequired": keyed(SIZE, [])}}, {}, SIZE),
    "properties": ({"$schema": {"properties": keyed(SIZE, {})}}, {}, SIZE / 4),
    "patternProperties": ({"$schema": {"patternProperties": {"x": {}, "y": {}}}}, keyed(SIZE), 2 * SIZE),
    "additionalProperties": (
        {"$schema": {"patternProperties": {"x": {}}, "additionalProperties": {"type": "integer"}}},
        keyed(SIZE),
        5 * SIZE,
    ),
    "dependentSchemas": ({"$schema": {"dependentSchemas": keyed(SIZE, {})}}, {}, SIZE / 4),
    "propertyNames": ({"$schema": {"propertyNames": {"minLength": 1}}}, keyed(SIZE), 2 * SIZE),
    "items": ({"$schema": {"items": {"type": "integer"}}}, [1] * SIZE, 2 * SIZE),
    "contains": ({"$schema": {"contains": {"type": "string"}}}, [1] * SIZE, 2 * SIZE),
    "unevaluatedItems": ({"$schema": {"unevaluatedItems": {"type": "integer"}}}, [1] * SIZE, 3 * SIZE),
    "unevaluatedProperties": ({"$schema": {"unevaluatedProperties": {"type": "integer"}}}, keyed(SIZE), 3 * SIZE),
    "unevaluatedProperties, of a choice": (
        {"$schema": {"anyOf": [{"properties": keyed(SIZE, {})}], "unevaluatedProperties": False}},
        keyed(SIZE),
        3.25 * SIZE,
    ),
    "unevaluatedProperties, of a reference": (
        {"$schema": {"$ref": "#/$defs/a", "$defs": {"a": {"properties": keyed(SIZE, {})}}}},
        keyed(SIZE),
        1.25 * SIZE,
    ),
    "unevaluatedItems, of a reference": (
        {
            "$schema": {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"items": {}}},
                "unevaluatedItems": False,
            }
        },
        [1] * SIZE,
        4 * SIZE,
    ),
    "uniqueItems": ({"$schema": {"uniqueItems": True}}, rows(SIZE), 5 * SIZE),
}
"""What is compared, and how many steps that takes: a change of an estimate changes them here, too."""


@for_each("name", list(STEPS))
def test_steps_are_spent_by_the_size_of_what_is_compared(name: str) -> None:
    expected, actual, steps = STEPS[name]
    expectation = compile_value(expected)

    with Budget(10**9) as budget:
        expectation.matches(actual)

    assert budget.most - budget.left == pytest.approx(steps, rel=0.05, abs=5)


SCHEMAS: dict[str, Callable[[], tuple[Any, Any, str]]] = {
    "unique items": lambda: ({"type": "array", "uniqueItems": True}, rows(10_000), "passed"),
    "many unique items": lambda: ({"type": "array", "uniqueItems": True}, rows(300_000), "error"),
    "unevaluated properties": lambda: (
        {"allOf": [{"properties": {"c": {"$ref": "#"}}}], "unevaluatedProperties": False},
        deep({}, 30, "c"),
        "passed",
    ),
    "a bomb of references": lambda: (
        {
            "$ref": "#/$defs/d0",
            "$defs": {
                **{f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(24)},
                "d24": {"type": "integer"},
            },
        },
        1,
        "passed",
    ),
    "a bomb of schemas": lambda: (
        {"$ref": "#/$defs/x", "$defs": {"x": {"items": {"oneOf": [{"$ref": "#/$defs/x"}, {"maxItems": 0}]}}}},
        [[[]] * 30] * 30,
        "failed",
    ),
    "numbers of one hash": lambda: (
        {"uniqueItems": True},
        [number * (2**61 - 1) for number in range(20_000)],
        "passed",
    ),
    "a value that is large and a schema that is, too": lambda: (
        {"items": {"not": {"enum": rows(1_000)}}},
        [rows(1_000)] * 1_000,
        "error",
    ),
    "many patterns": lambda: (
        {"patternProperties": {f"{number}$": {} for number in range(1_100)}},
        dict.fromkeys(map(str, range(1_100))),
        "error",
    ),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_json_schema_takes_a_bounded_time(name: str) -> None:
    schema, actual, verdict = SCHEMAS[name]()
    evaluator = EVALUATORS["final-output"]()
    criteria = evaluator.criteria({"output": {"$schema": schema}})
    # Not by `Trajectory.of`, which copies: most of these values have one list in them many times.
    trajectory = msgspec.structs.replace(Trajectory.of([]), output=actual)

    began = thread_time()
    result = evaluator.evaluate(trajectory, criteria)
    seconds = thread_time() - began

    assert result.verdict == verdict, result.error
    assert seconds < 2 * SLOW


def test_an_evaluation_that_takes_too_many_steps_is_an_error_without_a_score() -> None:
    evaluator = EVALUATORS["tool-call-args"](limits=Limits(steps=100))
    made = [{"name": "a", "args": {"x": list(range(20))}}] * 20
    wanted = [{"name": "a", "args": {"x": {"$contains": -1}}}] * 20

    result = evaluator.evaluate(made, {"tool_calls": wanted})

    assert (result.verdict, result.score) == ("error", None)
    assert result.error == "RC401 limit exceeded: comparing with what is expected takes more than 100 steps"
    assert [finding.code for finding in result.findings] == ["RC401"]
    assert current_budget() is None


def test_an_evaluation_that_looks_for_objects_leaves_no_budget_behind() -> None:
    made = [{"name": "a", "output": {"id": {"x": 1}}}, {"name": "b", "args": {"id": {"x": 1}}}]
    wanted = [{"name": "b", "args": {"id": {"$from": {"call": "a", "output": "$.id"}}}}]

    assert EVALUATORS["tool-call-args"]().evaluate(made, {"tool_calls": wanted}).verdict == "passed"
    assert current_budget() is None


def test_each_evaluation_has_a_budget_of_its_own() -> None:
    evaluator = EVALUATORS["final-output"](limits=Limits(steps=60))
    criteria = evaluator.criteria({"output": {"$contains": 99}})
    trajectory = Trajectory.of([], output=list(range(100)))

    assert [evaluator.evaluate(trajectory, criteria).verdict for _ in range(10)] == ["passed"] * 10


def test_all_matchers_of_an_evaluation_share_one_budget() -> None:
    evaluator = EVALUATORS["tool-call-args"](limits=Limits(steps=60))
    made = [{"name": "a", "args": {"x": list(range(100))}}]

    def verdict(times: int) -> str:
        wanted = {"name": "a", "args": {"x": {"$allOf": [{"$contains": 99}] * times}}}
        return evaluator.evaluate(made, {"tool_calls": [wanted]}).verdict

    assert (verdict(1), verdict(2)) == ("passed", "error")


def test_outside_of_an_evaluation_a_matcher_has_a_budget_of_its_own() -> None:
    expectation = compile_value({"$contains": {"$contains": 5}}, Limits(steps=1_000))

    assert not expectation.matches([[1] * 50] * 20)
    with pytest.raises(LimitError, match="more than 1,000 steps"):
        expectation.matches([[1] * 50] * 200)
    assert not expectation.matches([[1] * 50] * 20)


def test_a_budget_inside_of_another_leaves_that_as_it_was() -> None:
    with Budget(10) as outer:
        with Budget(5) as inner:
            inner.spend(5)
            assert current_budget() is inner
        assert current_budget() is outer
        assert outer.left == 10

    assert current_budget() is None


def test_differences_that_take_too_long_to_find_are_told_as_one() -> None:
    expected, actual = [list(range(1_000)) for _ in range(2)], [[*range(999), -1] for _ in range(2)]

    assert [each.path for each in value_differences(expected, actual)] == ["$[0][999]", "$[1][999]"]
    with Budget(1_500):
        assert [each.path for each in value_differences(expected, actual)] == ["$"]


MATCHER = st.sampled_from([{"$gt": 0}, {"$type": "string"}, {"$any": True}, {"$contains": 1}, {"$not": 1}])


def by_trying(expected: list[Any], actual: list[Any]) -> bool:
    tests: list[Callable[[Any], bool]] = [compile_value(item).matches for item in expected]
    return len(expected) == len(actual) and any(
        all(test(value) for test, value in zip(tests, order, strict=True)) for order in permutations(actual)
    )


@examples(200)
@given(st.lists(VALUES | MATCHER, max_size=5), st.lists(VALUES, max_size=5))
@example([1, {"$gt": 0}], [True, 1])
@example([{"$any": True}, 1], [1.0, 2])
@example([float("nan")], [float("nan")])
def test_a_list_in_any_order_is_one_of_its_orders(expected: list[Any], actual: list[Any]) -> None:
    assert compile_value({"$unordered": expected}).matches(actual) == by_trying(expected, actual)


@given(st.lists(VALUES | MATCHER, max_size=6), st.randoms())
def test_a_list_is_itself_in_any_order(expected: list[Any], random: Any) -> None:
    plain = [item for item in expected if not isinstance(item, dict)]
    shuffled = random.sample(plain, len(plain))

    assert compile_value({"$unordered": plain}).matches(shuffled)
    assert not compile_value({"$unordered": [*plain, "more"]}).matches([*shuffled, "less"])


def test_the_steps_of_an_evaluation_are_a_limit_among_the_others() -> None:
    assert DEFAULT_LIMITS.steps == 1_000_000


@pytest.mark.parametrize(
    ("each", "value"),
    [
        ([{"$type": "number"}] * 100, [1] * 100),
        ({f"k{n}": {"$type": "number"} for n in range(100)}, {f"k{n}": 1 for n in range(100)}),
    ],
    ids=["a long list", "a large object"],
)
def test_an_expectation_of_many_parts_is_paid_for_each_time_it_is_tried(each: Any, value: Any) -> None:
    def judged(times: int) -> Any:
        limits = msgspec.structs.replace(DEFAULT_LIMITS, steps=50_000)
        evaluator = EVALUATORS["final-output"](limits=limits)
        trajectory = msgspec.structs.replace(Trajectory.of([]), output=[value] * times + [None])
        return evaluator.evaluate(trajectory, evaluator.criteria({"output": {"$contains": {"$allOf": [each, None]}}}))

    assert judged(10).verdict == "failed"
    assert (judged(1_000).error or "").startswith("RC401")


def test_some_hundred_matchers_in_any_order_are_judged() -> None:
    expected = {"$unordered": [{"$gte": number} for number in range(900)]}

    assert compile_value(expected).matches(list(range(900)))


def test_a_wide_pattern_in_a_long_text_is_refused() -> None:
    evaluator = EVALUATORS["final-output"]()
    trajectory = msgspec.structs.replace(Trajectory.of([]), output=LONG)
    result = evaluator.evaluate(trajectory, evaluator.criteria({"output": {"$regex": "[ab]{900}c"}}))

    assert (result.error or "").startswith("RC401")


def test_a_list_with_nan_is_looked_for_among_many() -> None:
    nan = float("nan")

    assert not compile_value({"$contains": [nan] * 10}).matches([[0] * 10] * 100_000)
    assert compile_value({"$contains": [nan] * 10}).matches([*[[0] * 10] * 100_000, [nan] * 10])


def test_a_large_object_is_spent_for_among_many_calls_too() -> None:
    wanted = {f"key {number}": {"$gte": 0} for number in range(100)}
    expected = ExpectedCalls([CallPattern("a", wanted, "subset") for _ in range(20)])
    calls = [ToolCall("a", {**dict.fromkeys(wanted, 1), "more": number}) for number in range(20)]

    with Budget(45_000):
        assert [len(row) for row in relate(expected, calls).sure] == [20] * 20
    with Budget(40_000), pytest.raises(LimitError):
        relate(expected, calls)


@pytest.mark.parametrize(
    "expected", [{"$unordered": list(range(90))}, {"$schema": {"items": {"enum": list(range(90))}}}]
)
def test_an_expectation_as_large_as_the_limits_allow_is_compiled(expected: Any) -> None:
    limits = msgspec.structs.replace(DEFAULT_LIMITS, nodes=100)

    assert compile_value(expected, limits).matches(list(range(90)))


def test_the_words_of_a_long_text_take_a_fraction_of_a_step_each() -> None:
    text = "word " * 20_000

    with Budget(10_000):
        assert compile_value({"$sameWords": text.upper()}).matches(text)
