"""Which calls satisfy which expected ones: the same as asking each pair, however it is found out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st
from msgspec.structs import replace

from rightcall import ToolCall
from rightcall.errors import LimitError
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.matching.alignment import only_pairing
from rightcall.matching.matchers import CallPattern, ExpectedCalls, OutputPattern, Pattern, relate
from rightcall.values.decoding import decode_text

NAMES = st.sampled_from(["a", "b"])
VALUES = st.sampled_from([0, False, 1, True, 2, 2.0, "x", "é", "y\ud800", None, [1], [True], {"k": [1]}, float("nan")])
ARGS = st.dictionaries(st.sampled_from("pq"), VALUES, max_size=2)
MATCHERS = VALUES | st.sampled_from(
    [{"$gt": 0}, {"$lte": 1.5}, {"$gte": "x"}, {"$regex": "^x|é$"}, {"$absent": True}, {"$contains": 1}, {"k": [1]}]
)
EXPECTED_ARGS = ARGS | st.just({"$any": True}) | st.dictionaries(st.sampled_from("pq"), MATCHERS, max_size=2)
EXPECTED_OUTPUTS = MATCHERS | st.sampled_from([{"$any": True}, {"$type": "number"}, {"content": 2}, "[1]"])
BY_ARGS = st.builds(CallPattern, NAMES, EXPECTED_ARGS, st.sampled_from(["exact", "subset", "superset", "ignore"]))
BY_OUTPUT = st.builds(OutputPattern, NAMES, EXPECTED_OUTPUTS, text=st.booleans())


def _call(name: str, args: Any, output: Any, hidden: frozenset[str], error: str | None) -> ToolCall:
    return ToolCall(
        name,
        None if "args" in hidden else args,
        None if "output" in hidden else output,
        error=error,
        unrecorded=hidden,
    )


HIDDEN = st.sampled_from([frozenset[str]()] * 4 + [frozenset({"args"}), frozenset({"output"})])
CALLS = st.builds(_call, NAMES, ARGS, VALUES | st.just("[1]"), HIDDEN, st.sampled_from([None, None, "broke"]))


def one_by_one(patterns: Sequence[Pattern], calls: Sequence[ToolCall], *accepted: bool | None) -> list[list[int]]:
    """For each pattern the calls of its name of which it says one of these."""
    return [
        [place for place, call in enumerate(calls) if call.name == pattern.name and pattern.accepts(call) in accepted]
        for pattern in patterns
    ]


@pytest.mark.parametrize("most", [4, 40], ids=["few", "many"])
@pytest.mark.parametrize("kind", [BY_ARGS, BY_OUTPUT], ids=["arguments", "outputs"])
@given(data=st.data())
def test_a_relation_is_what_each_pair_says(kind: Any, most: int, data: Any) -> None:
    least = most // 2
    # The same values again and again: so many calls of one name are looked up in an index.
    patterns = data.draw(st.lists(kind, min_size=1, max_size=5)) * (most // 4)
    calls = data.draw(st.lists(CALLS, min_size=min(least, 8), max_size=8)) * (most // 4)

    relation = relate(ExpectedCalls(patterns), calls)

    assert [list(row) for row in relation.sure] == one_by_one(patterns, calls, True)
    assert [list(row) for row in relation.possible] == one_by_one(patterns, calls, True, None)
    assert relation.is_certain == (one_by_one(patterns, calls, None) == [[]] * len(patterns))
    assert relation.only == only_pairing(relation.sure)
    if relation.left is not None:
        assert relation.left == [place for place in range(len(calls)) if place not in (relation.only or ())]


@pytest.mark.parametrize("size", [2, 20])
def test_an_output_or_its_content_is_accepted_among_many_calls_too(size: int) -> None:
    patterns = [OutputPattern("a", {"content": {"$gte": number}}) for number in range(size)]
    calls = [ToolCall("a", {}, output) for number in range(size) for output in ({"content": number}, number)]

    relation = relate(ExpectedCalls(patterns), calls)

    assert [list(row) for row in relation.sure] == [list(range(2 * number, 2 * size)) for number in range(size)]


@pytest.mark.parametrize("size", [2, 20])
def test_an_argument_that_some_calls_lack_is_looked_for_among_many_too(size: int) -> None:
    patterns = [CallPattern("a", {"p": {"$gte": number}, "q": {"$gte": 0}}, "subset") for number in range(size)]
    calls = [ToolCall("a", args) for number in range(size) for args in ({"p": number, "q": 1}, {"p": number})]

    relation = relate(ExpectedCalls(patterns), calls)

    assert [list(row) for row in relation.sure] == [list(range(2 * number, 2 * size, 2)) for number in range(size)]


@pytest.mark.parametrize("beside", [{}, {"q": 1}], ids=["as expected", "with another argument"])
@pytest.mark.parametrize("size", [2, 20])
def test_arguments_beside_the_expected_ones_are_looked_over_among_many_calls_too(size: int, beside: Any) -> None:
    patterns = [CallPattern("a", {"p": number}, "subset") for number in range(size)]
    calls = [ToolCall("a", {"p": number, **beside}) for number in range(size)]

    assert [list(row) for row in relate(ExpectedCalls(patterns), calls).sure] == [[place] for place in range(size)]


@pytest.mark.parametrize("kind", [BY_ARGS, BY_OUTPUT], ids=["arguments", "outputs"])
@given(data=st.data())
def test_calls_begin_with_the_expected_ones_where_each_is_surely_satisfied(kind: Any, data: Any) -> None:
    patterns = data.draw(st.lists(kind, max_size=3))
    calls = data.draw(st.lists(CALLS, max_size=4))
    if data.draw(st.booleans()):  # so that it is often true
        calls = [_satisfying(pattern) for pattern in patterns] + calls

    begins = ExpectedCalls(patterns).is_beginning_of(calls, tuple([call.name for call in calls]))

    pairs = zip(patterns, calls, strict=False)
    assert begins == (
        len(calls) >= len(patterns)
        and all(pattern.name == call.name and pattern.accepts(call) is True for pattern, call in pairs)
    )


def _satisfying(pattern: Any) -> ToolCall:
    held = pattern.args if isinstance(pattern, CallPattern) else pattern.output
    return ToolCall(pattern.name, held if isinstance(held, dict) else {}, held)


def limited(comparisons: int) -> Limits:
    return replace(DEFAULT_LIMITS, comparisons=comparisons)


def test_trying_matchers_is_paid_for_and_looking_values_up_is_not() -> None:
    calls = [ToolCall("a", {"p": 2}) for _ in range(10)] + [ToolCall("other", {"p": 2})] * 5
    matchers = ExpectedCalls([CallPattern("a", {"p": {"$gt": 1}})] * 3 + [CallPattern("a", {"$any": True})])
    values = ExpectedCalls([CallPattern("a", {"p": 2})] * 3)

    assert [len(row) for row in relate(matchers, calls, limited(30)).sure] == [10, 10, 10, 10]
    with pytest.raises(LimitError):
        relate(matchers, calls, limited(29))
    assert [len(row) for row in relate(values, calls, limited(0)).sure] == [10, 10, 10]


def test_joining_what_is_sure_with_what_is_possible_is_paid_for() -> None:
    unknown = ToolCall("a", None, unrecorded=frozenset({"args"}))
    calls = [unknown, ToolCall("a", {"p": 2}), unknown]
    expected = ExpectedCalls([CallPattern("a", {"p": 2})])

    assert [list(row) for row in relate(expected, calls, limited(3)).possible] == [[0, 1, 2]]
    with pytest.raises(LimitError):
        relate(expected, calls, limited(2))


def test_expected_calls_know_their_names_and_whether_they_expect_more() -> None:
    names = ExpectedCalls([CallPattern("b"), CallPattern("a", {"$any": True}), CallPattern("b")])

    assert (names.names, names.name_set, names.names_only, len(names)) == (
        ("b", "a", "b"),
        frozenset({"a", "b"}),
        True,
        3,
    )
    assert not ExpectedCalls([CallPattern("b"), CallPattern("a", {"p": 1})]).names_only


@pytest.mark.parametrize(
    ("pattern", "call"),
    [
        (OutputPattern("a", None), ToolCall("a", {}, None, unrecorded=frozenset({"output"}))),
        (OutputPattern("a", None), ToolCall("a", {}, None, error="broke")),
        (OutputPattern("a", 1), ToolCall("a", {}, True)),
        (CallPattern("a", {"p": {"$gt": 0}}), ToolCall("a", {"p": {"$gt": 0}})),
        (CallPattern("a", {"p": [1]}), ToolCall("a", {"p": [True]})),
        (CallPattern("a", {"p": float("nan")}), ToolCall("a", {"p": 0})),
    ],
    ids=["an unknown output", "an error", "a boolean", "the text of a matcher", "a boolean inside", "not a number"],
)
@pytest.mark.parametrize("number", [1, 20])
def test_what_python_calls_equal_is_looked_at_again(pattern: Pattern, call: ToolCall, number: int) -> None:
    expected, calls = ExpectedCalls([pattern] * number), [call] * number

    assert not expected.is_beginning_of(calls, ("a",) * number)
    assert [list(row) for row in relate(expected, calls).sure] == [[]] * number


@pytest.mark.parametrize("policy", ["exact", "subset"])
def test_lists_and_objects_are_found_among_many(policy: Any) -> None:
    values = [[number] for number in range(10)] + [{"k": [number]} for number in range(10)]
    patterns = [CallPattern("a", {"p": value}, policy) for value in values]
    calls = [ToolCall("a", {"p": value, **more}) for value in values for more in ({}, {"q": 1})]
    calls += [ToolCall("a", {"q": 1}), ToolCall("b", {"p": [1]})]

    relation = relate(ExpectedCalls(patterns), calls)

    assert [list(row) for row in relation.sure] == one_by_one(patterns, calls, True)
    assert {len(row) for row in relation.sure} == {2 if policy == "subset" else 1}


def test_a_call_that_failed_has_no_output_that_reads_as_null_however_many_there_are() -> None:
    expected = ExpectedCalls([OutputPattern("a", None, text=True)] * 9)

    relation = relate(expected, [ToolCall("a", {}, None, error="broke", unrecorded=frozenset())] * 9)

    assert [list(row) for row in relation.possible] == [[]] * 9


@pytest.mark.parametrize(
    ("policy", "expected", "made", "met"),
    [
        ("subset", [{"p": 1}, {"q": 2}], {"p": 1, "q": 2}, [[0], [0]]),
        ("subset", [{"p": 2}, {"p": 2}], {"p": 2}, [[0], [0]]),
        ("exact", [{"p": 1}, {"p": True}], {"p": True}, [[], [0]]),
        ("exact", [{"p": 2}, {"p": 3}], {"p": 3}, [[], [0]]),
        ("exact", [{"p": {"$gt": 1}}, {"p": 3}], {"p": 3}, [[0], [0]]),
    ],
)
def test_a_call_satisfies_every_expectation_that_it_fits(policy: Any, expected: Any, made: Any, met: Any) -> None:
    patterns = [CallPattern("a", args, policy) for args in expected]

    assert [list(row) for row in relate(ExpectedCalls(patterns), [ToolCall("a", made)]).sure] == met


def test_an_output_that_is_a_text_is_read_once_for_all_expectations(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def decoded(text: str, limits: Limits) -> Any:
        read.append(text)
        return decode_text(text, limits)

    monkeypatch.setattr("rightcall.matching.matchers._patterns.decode_text", decoded)
    expected = ExpectedCalls([OutputPattern("a", [number]) for number in range(2, 6)])

    relation = relate(expected, [ToolCall("a", {}, "[5]"), ToolCall("a", {}, "[2]")])

    assert [list(row) for row in relation.sure] == [[1], [], [], [0]]
    assert read == ["[5]", "[2]"]
