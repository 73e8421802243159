"""Where a value comes from: outputs, arguments and inputs that the agent had seen before a call."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.sampling import examples
from tests.walls import for_each

from rightcall import ToolCall, Trajectory
from rightcall.errors import ExpectationError, LimitError
from rightcall.limits import Budget, Limits
from rightcall.matching.matchers import (
    CallMoment,
    CallPattern,
    call_pattern,
    compile_value,
    made_up_values,
    seen_before,
)
from rightcall.matching.matchers._sources import ValuePath

FLIGHTS = {"flights": [{"id": "LH1", "price": 120}, {"id": "TP2", "price": 99.5}], "note": "cheapest is TP2, 3 left"}


def asked(source: Any, value: Any, *before: ToolCall, **run: Any) -> bool | None:
    """Whether the last of some calls has an argument from a source."""
    calls = (*before, ToolCall("book", {"id": value}))
    trajectory = Trajectory(calls=calls, **run)
    pattern = call_pattern("book", {"id": {"$from": source}})
    return pattern.accepts_at(calls[-1], CallMoment(trajectory, len(before)))


def search(output: Any = FLIGHTS, **more: Any) -> ToolCall:
    return ToolCall("search", {"to": "LIS"}, output, **more)


HELD = ["LH1", 120, 120.0, 99.5, "TP2", 3, "cheapest", "cheapest is", "TP2, 3", ["LH1", {"n": 120}], [], FLIGHTS]
NOT_HELD = ["LH", "TP9", "cheap", 12, "120", True, None, "", "flights", ["LH1", "LH9"], "left of"]


@for_each("value", HELD)
def test_a_value_is_held_that_is_inside_of_an_output_or_a_word_of_it(value: Any) -> None:
    assert asked("search", value, search()) is True


@for_each("value", NOT_HELD)
def test_a_value_is_not_held_that_is_neither(value: Any) -> None:
    assert asked("search", value, search()) is False


def test_text_that_reads_as_json_is_read_first() -> None:
    text = json.dumps({"a\nb": "x\ny", "id": 7})

    assert asked("search", "x\ny", search(text)) is True
    assert asked({"call": "search", "output": "$.id"}, 7, search(text)) is True


def test_output_of_another_tool_is_no_source() -> None:
    assert asked("search", "LH1", ToolCall("lookup", {}, FLIGHTS)) is False
    assert asked("l*", "LH1", ToolCall("lookup", {}, FLIGHTS)) is True


def test_a_value_was_surely_seen_before_or_nothing_is_claimed() -> None:
    run = Trajectory(calls=(search(), ToolCall("lost", {}), ToolCall("book", {"id": "LH1"})), input="to LIS")

    assert seen_before(run, 2, "LH1", "search")
    assert seen_before(run, 2, "LIS", None)
    assert not seen_before(run, 2, "LIS", "search")
    assert not seen_before(run, 0, "LH1", "search")
    assert not seen_before(run, 2, "x", "lost")


def test_a_value_must_have_been_there_before() -> None:
    calls = (ToolCall("book", {"id": "LH1"}), search())
    pattern = call_pattern("book", {"id": {"$from": "search"}})

    assert pattern.accepts_at(calls[0], CallMoment(Trajectory(calls=calls), 0)) is False


def test_calls_asked_for_at_once_do_not_know_each_others_outputs() -> None:
    calls = (search(group="g"), ToolCall("book", {"id": "LH1"}, group="g"))
    pattern = call_pattern("book", {"id": {"$from": "search"}})

    assert pattern.accepts_at(calls[1], CallMoment(Trajectory(calls=calls), 1)) is False


def test_a_call_that_still_ran_is_no_source() -> None:
    def answer(end: int) -> bool | None:
        calls = (search(start_ns=0, end_ns=end), ToolCall("book", {"id": "LH1"}, start_ns=5, end_ns=9))
        return call_pattern("book", {"id": {"$from": "search"}}).accepts_at(
            calls[1], CallMoment(Trajectory(calls=calls), 1)
        )

    assert [answer(5), answer(6)] == [True, False]


def test_a_tool_is_no_source_for_what_it_calls() -> None:
    calls = (search(span_id="1"), ToolCall("book", {"id": "LH1"}, parent_id="1"))
    pattern = call_pattern("book", {"id": {"$from": "search"}})

    assert pattern.accepts_at(calls[1], CallMoment(Trajectory(calls=calls), 1)) is False


def test_a_source_whose_order_is_not_known_is_unknown() -> None:
    calls = (ToolCall("book", {"id": "LH1"}), search(), ToolCall("other"))
    run = Trajectory(calls=calls, unordered=((0, 2),))
    pattern = call_pattern("book", {"id": {"$from": "search"}})

    assert pattern.accepts_at(calls[0], CallMoment(run, 0)) is None


def test_a_source_among_calls_in_an_unknown_order_is_known_to_those_after_all_of_them() -> None:
    calls = (search(), ToolCall("other"), ToolCall("book", {"id": "LH1"}))
    pattern = call_pattern("book", {"id": {"$from": "search"}})

    assert pattern.accepts_at(calls[2], CallMoment(Trajectory(calls=calls, unordered=((0, 2),)), 2)) is True


def test_the_order_of_calls_is_known_across_ranges_in_which_it_is_not() -> None:
    calls = (ToolCall("other"), search(), ToolCall("book", {"id": "LH1"}), ToolCall("book", {"id": "LH1"}), search())
    run = Trajectory(calls=calls, unordered=((0, 2), (3, 5)))
    pattern = call_pattern("book", {"id": {"$from": "search"}})
    late = Trajectory(calls=(ToolCall("other"), ToolCall("other"), *calls[2:]), unordered=((0, 2), (3, 5)))

    assert [pattern.accepts_at(calls[at], CallMoment(run, at)) for at in (2, 3)] == [True, True]
    assert [pattern.accepts_at(calls[at], CallMoment(late, at)) for at in (2, 3)] == [False, None]


def test_a_failed_call_is_a_source_if_it_left_an_output() -> None:
    assert asked("search", "LH1", search(error="late")) is True
    assert asked("search", "LH1", ToolCall("search", error="late")) is False


def test_an_output_that_was_not_recorded_is_unknown_unless_another_source_has_the_value() -> None:
    assert asked("search", "LH1", ToolCall("search")) is None
    assert asked("search", "LH1", ToolCall("search"), search()) is True
    assert asked("search", "LH1", ToolCall("other"), search({})) is False


def test_calls_that_the_trace_does_not_have_may_be_sources() -> None:
    assert asked("search", "LH1", search({}), calls_recorded=False) is None
    assert asked({"input": "$"}, "x", input="y", calls_recorded=False) is False


PATHS: list[tuple[str, Any, bool]] = [
    ("$.flights[*].id", "LH1", True),
    ("$.flights[*].id", "LH", False),
    ("$.flights[0].id", "TP2", False),
    ("$.flights[1].id", "TP2", True),
    ("$.flights[7].id", "TP2", False),
    ('$["flights"][0]["id"]', "LH1", True),
    ("$['note']", FLIGHTS["note"], True),
    ("$.note", "TP2", False),
    ("$..id", "TP2", True),
    ("$..price", 99.5, True),
    ("$.flights.*.price", 120, True),
    ("$.*", FLIGHTS["flights"], True),
    ("$", FLIGHTS, True),
    ("$.flights", ["LH1"], False),
]


@for_each("case", PATHS)
def test_with_a_path_a_value_equals_one_of_those_there(case: tuple[str, Any, bool]) -> None:
    path, value, held = case

    assert asked({"call": "search", "output": path}, value, search()) is held


def test_a_key_below_another_is_found_once() -> None:
    path = ValuePath.of("$..a..b", "$from", Limits())

    assert path.values_in({"a": {"a": {"b": 1}, "b": 2}}) == [2, 1]
    assert path.values_in({"a": [{"a": {"b": 1}}, {"b": "x"}]}) == [1, "x"]


def test_arguments_and_inputs_are_sources_too() -> None:
    assert asked({"call": "search", "args": "$.to"}, "LIS", search()) is True
    assert asked({"call": "search", "args": "$.to"}, "LIS", ToolCall("search", output=1)) is None
    assert asked({"input": "$.user.id"}, 7, input={"user": {"id": 7}}) is True
    assert asked({"input": "$.user.id"}, 8, input={"user": {"id": 7}}) is False
    assert asked({"input": "$.user.id"}, 8) is None


def test_anywhere_is_every_output_and_every_input_so_far() -> None:
    assert asked("anywhere", "LH1", search(), input="x") is True
    assert asked("anywhere", "Lisbon", search(), input="to Lisbon, please") is True
    assert asked("anywhere", "Rome", search(), input="to Lisbon, please") is False
    assert asked("anywhere", "Rome", search()) is None


def test_inputs_of_later_turns_are_not_known_yet() -> None:
    def answer(turn: int | None) -> bool | None:
        calls = (ToolCall("book", {"id": "Rome"}, turn=turn),)
        run = Trajectory(calls=calls, input="hello", turn_inputs=("hello", "to Rome"))
        return call_pattern("book", {"id": {"$from": "anywhere"}}).accepts_at(calls[0], CallMoment(run, 0))

    assert [answer(0), answer(1), answer(None)] == [False, True, None]


def test_the_input_of_a_turn_that_was_not_recorded_may_have_any_value() -> None:
    calls = (ToolCall("book", {"id": "Rome"}, turn=1),)
    run = Trajectory(calls=calls, input="hello", turn_inputs=("hello", None))

    assert call_pattern("book", {"id": {"$from": "anywhere"}}).accepts_at(calls[0], CallMoment(run, 0)) is None


def both_ways(expected: Any, *before: ToolCall) -> bool | None:
    calls = (*before, ToolCall("book", {"id": "LH1", "list": ["LH1", "x"]}))
    return call_pattern("book", expected).accepts_at(calls[-1], CallMoment(Trajectory(calls=calls), len(before)))


@pytest.mark.parametrize(
    ("expected", "seen", "unseen"),
    [
        ({"id": {"$not": {"$from": "search"}}}, False, True),
        ({"id": {"$anyOf": ["none", {"$from": "search"}]}}, True, False),
        ({"id": {"$allOf": [{"$type": "string"}, {"$from": "search"}]}}, True, False),
        ({"list": {"$contains": {"$from": "search"}}}, True, False),
        ({"list": {"$unordered": ["x", {"$from": "search"}]}}, True, False),
        ({"list": [{"$from": "search"}, "x"]}, True, False),
        ({"$subset": {"list": [{"$from": "search"}, "x"]}}, True, False),
        ({"id": {"$not": {"$not": {"$from": "search"}}}}, True, False),
    ],
    ids=["not", "any of", "all of", "contains", "unordered", "list", "all arguments", "not not"],
)
def test_it_stands_inside_of_other_matchers(expected: Any, seen: bool, unseen: bool) -> None:
    assert both_ways(expected, search()) is seen
    assert both_ways(expected, search({})) is unseen
    assert both_ways(expected, ToolCall("search")) is None


@pytest.mark.parametrize("policy", ["subset", "exact", "superset"])
def test_it_stands_under_every_policy(policy: Any) -> None:
    calls = (search(), ToolCall("book", {"id": "LH1"}), ToolCall("book", {"id": "LH9"}))
    pattern = call_pattern("book", {"id": {"$from": "search"}}, policy)

    assert [pattern.accepts_at(calls[at], CallMoment(Trajectory(calls=calls), at)) for at in (1, 2)] == [True, False]


def test_arguments_that_were_not_recorded_come_from_nowhere_that_is_known() -> None:
    pattern = call_pattern("book", {"id": {"$from": "search"}})
    for unrecorded, expected in ((frozenset(["args"]), None), (frozenset[str](), False)):
        calls = (search(), ToolCall("book", None, "ok", unrecorded=unrecorded))

        assert pattern.accepts_at(calls[1], CallMoment(Trajectory(calls=calls), 1)) is expected


def test_a_text_that_only_python_can_read_takes_a_step_for_two_characters() -> None:
    text = "{'id': 7, 'note': '" + "x" * 2_000 + "'}"
    calls = (search(text), ToolCall("book", {"id": 7}))
    pattern = call_pattern("book", {"id": {"$from": {"call": "search", "output": "$.id"}}})

    with Budget(len(text) // 2), pytest.raises(LimitError):
        pattern.accepts_at(calls[1], CallMoment(Trajectory(calls=calls), 1))
    with Budget(len(text)):
        assert pattern.accepts_at(calls[1], CallMoment(Trajectory(calls=calls), 1)) is True


def test_without_its_moment_a_call_is_unknown() -> None:
    assert call_pattern("book", {"id": {"$from": "search"}}).accepts(ToolCall("book", {"id": 1})) is None


MISTAKES: list[tuple[Any, str]] = [
    (7, "expected.args.id.$from takes the name of a tool, 'anywhere', or an object"),
    ("", "expected.args.id.$from takes the name of a tool, not ''"),
    ({"tool": "a"}, "expected.args.id.$from: unknown key 'tool'; did you mean 'call'?"),
    ({"call": "a", "outputs": "$"}, "expected.args.id.$from: unknown key 'outputs'; did you mean 'output'?"),
    ({"call": "a", "output": "$", "args": "$"}, "expected.args.id.$from takes one of output, args, input, not"),
    ({"call": "a", "input": "$"}, "expected.args.id.$from: 'call' names the tool; without it, 'input'"),
    ({"output": "$"}, "expected.args.id.$from: 'call' names the tool"),
    ({"call": "a", "output": "id"}, "expected.args.id.$from.output takes a path such as $.flights[*].id, not 'id'"),
    ({"call": "a", "output": "$.a[?(@.b)]"}, "expected.args.id.$from.output: '[?(@.b)]' in the path '$.a[?(@.b)]'"),
    ({"call": "a", "output": "$.a[-1]"}, "expected.args.id.$from.output: '[-1]' in the path"),
    ({"call": "a", "output": "$.." + "a" * 10_000}, "expected.args.id.$from.output: a path of 10,003 characters"),
]


@for_each("case", MISTAKES)
def test_a_source_that_is_none_is_an_error_at_its_place(case: tuple[Any, str]) -> None:
    source, told = case

    with pytest.raises(ExpectationError) as raised:
        call_pattern("book", {"id": {"$from": source}})

    assert str(raised.value).startswith(told)


def test_where_there_is_no_call_it_is_an_error_that_says_where_it_may_stand() -> None:
    told = r"\$: \$from does not belong here; it belongs in the arguments of an expected or forbidden call"

    with pytest.raises(ExpectationError, match=told):
        compile_value({"$from": "search"})
    with pytest.raises(ExpectationError, match="does not belong here"):
        call_pattern("book", output={"id": {"$from": "search"}})
    with pytest.raises(ExpectationError, match="does not belong here"):
        CallPattern("book", {"id": {"$from": "search"}})


def told(expected: Any, args: dict[str, Any], *before: ToolCall, **run: Any) -> list[str]:
    calls = (*before, ToolCall("book", args))
    moment = CallMoment(Trajectory(calls=calls, **run), len(before))
    return [str(each) for each in made_up_values(expected, calls[-1], moment)]


def test_a_value_made_up_is_told_with_what_was_there() -> None:
    path = {"id": {"$from": {"call": "search", "output": "$.flights[*].id"}}}

    assert told(path, {"id": "TP9"}, search()) == [
        'id "TP9" is in no output of `search` before it at $.flights[*].id (2 values there: "LH1", "TP2")'
    ]
    assert told({"id": {"$from": "search"}}, {"id": "TP9"}, search("TP2")) == [
        'id "TP9" is in no output of `search` before it (1 value there: "TP2")'
    ]
    assert told({"ids": [{"$from": "search"}]}, {"ids": [["TP2", 8]]}, search({"a": [1, 2, 3, 4], "b": "TP2"})) == [
        "ids[0] 8 is in no output of `search` before it (5 values there: 1, 2, 3, …)"
    ]
    assert told({"id": {"$from": "search"}}, {"id": 1}) == [
        "id 1 is in no output of `search` before it (no call of it came before)"
    ]
    assert told({"id": {"$from": {"call": "search", "output": "$.id"}}}, {"id": 1}, search("TP2")) == [
        "id 1 is in no output of `search` before it at $.id (nothing there)"
    ]
    assert told({"id": {"$from": "anywhere"}}, {"id": 1}, input="two") == [
        'id 1 is in no output before it and not in the input (1 value there: "two")'
    ]


def test_a_value_that_was_seen_or_may_have_been_is_not_told() -> None:
    assert told({"id": {"$from": "search"}}, {"id": "LH1"}, search()) == []
    assert told({"id": {"$from": "search"}}, {"id": "LH1"}, ToolCall("search")) == []


def test_differences_say_which_argument_it_is() -> None:
    calls = (search(), ToolCall("book", {"id": "TP9", "n": 1}))
    pattern = call_pattern("book", {"id": {"$from": "search"}, "n": {"$gt": 0}})

    found = pattern.differences_at(calls[1], CallMoment(Trajectory(calls=calls), 1))

    assert [str(each) for each in found] == ['$.id: "TP9" does not satisfy {"$from": "search"}']


LEAVES = st.sampled_from([None, True, 0, 1, 1.0, 2.5, 21, "", "a", "b", "a b", "1", "ab", "a-b", "x\x00a", "\x00"])
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.just("k"), inner))


def held(value: Any, outputs: list[Any]) -> bool:
    """The twin: every value against every value, every text at every place."""
    if isinstance(value, (list, dict)):
        return all(held(item, outputs) for item in (value.values() if isinstance(value, dict) else value))
    return any(_in(value, output) for output in outputs)


def _in(value: Any, output: Any) -> bool:
    if isinstance(output, (list, dict)):
        return any(_in(value, item) for item in (output.values() if isinstance(output, dict) else output))
    if type(value) is bool or type(output) is bool or value is None or output is None:
        return value is output
    if value == output:
        return True
    if not isinstance(output, str) or value == "":
        return False
    words = (
        [value] if isinstance(value, str) else [str(value), str(int(value))] if value == int(value) else [str(value)]
    )
    return any(_stands(word, output) for word in words)


def _stands(word: str, text: str) -> bool:
    return any(
        text[at : at + len(word)] == word
        and not text[max(at - 1, 0) : at].isalnum()
        and not text[at + len(word) : at + len(word) + 1].isalnum()
        for at in range(len(text))
    )


@examples(800)
@given(st.lists(VALUES, max_size=3), st.lists(VALUES, min_size=1, max_size=3))
def test_values_are_held_as_looking_everywhere_says(outputs: list[Any], values: list[Any]) -> None:
    calls = (*[search(output) for output in outputs], *[ToolCall("book", {"id": value}) for value in values])
    run = Trajectory(calls=calls)
    pattern = call_pattern("book", {"id": {"$from": "search"}})

    for at in range(len(outputs), len(calls)):
        assert pattern.accepts_at(calls[at], CallMoment(run, at)) is held(calls[at].args["id"], outputs)  # type: ignore[index]


@examples(100)
@given(st.lists(st.text("ab1 -é", max_size=12), min_size=1, max_size=6), st.text("ab1 -é", min_size=1, max_size=3))
def test_many_questions_are_answered_by_an_index_as_one_is(texts: list[str], word: str) -> None:
    asked_before = [f"q{number}" for number in range(40)]
    calls = (*[search(text) for text in texts], *[ToolCall("book", {"id": each}) for each in (*asked_before, word)])
    run = Trajectory(calls=calls)
    pattern = call_pattern("book", {"id": {"$from": "search"}})

    answers = [pattern.accepts_at(calls[at], CallMoment(run, at)) for at in range(len(texts), len(calls))]

    assert answers[:-1] == [False] * 40
    assert answers[-1] is held(word, list(texts))


def test_questions_about_huge_texts_end_at_a_limit() -> None:
    # 200 texts of 200,000 characters: more than an index is made for. Every question reads all of them.
    calls = [search("lorem ipsum " * 17_000 + str(number)) for number in range(200)]
    calls += [ToolCall("book", {"id": [f"none{number}" for number in range(200)]})]
    pattern = call_pattern("book", {"id": {"$from": "search"}})

    with Budget(), pytest.raises(LimitError):
        pattern.accepts_at(calls[-1], CallMoment(Trajectory(calls=tuple(calls)), 200))


def test_many_questions_about_many_short_texts_stay_far_below_the_limit() -> None:
    calls = [search(f"order {number} was sent") for number in range(5_000)]
    calls += [ToolCall("book", {"id": [f"{number}" for number in range(5_000)]})]
    pattern = call_pattern("book", {"id": {"$from": "search"}})

    with Budget(100_000):
        assert pattern.accepts_at(calls[-1], CallMoment(Trajectory(calls=tuple(calls)), 5_000))


@pytest.mark.parametrize(("text", "held"), [("3 left", True), ("3.0 left", True), ("3rd", False), ("33", False)])
def test_a_whole_number_is_found_in_a_text_with_and_without_its_point(text: str, held: bool) -> None:
    assert asked("search", 3.0, search(text)) is held
