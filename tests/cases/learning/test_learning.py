"""One expectation for many good runs: its structure, its values, and the laws that hold for all of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.sampling import examples

from rightcall import ToolCall, Trajectory
from rightcall.cases.accepting import Observed
from rightcall.cases.evalsets import parse_eval_set
from rightcall.cases.learning import DraftJudge, is_reading, learn, learn_at, learn_eval_set

_TOOLS = st.sampled_from(["search", "get_user", "book", "pay", "mail"])
_ARGS = st.dictionaries(st.sampled_from(["id", "n"]), st.one_of(st.integers(0, 2), st.sampled_from(["T-1", "T-22"])))
_CALLS = st.builds(
    ToolCall, _TOOLS, _ARGS, st.sampled_from([None, "T-1", ["T-22"]]), st.sampled_from([None, None, "no"])
)
RUNS = st.lists(
    st.builds(lambda calls: Trajectory(calls=tuple(calls)), st.lists(_CALLS, max_size=6)), min_size=1, max_size=5
)


def named(*paths: str) -> list[Trajectory]:
    """Runs of calls without arguments, each written as the names of its tools."""
    return [Trajectory(calls=tuple(ToolCall(name, {}, None) for name in path.split())) for path in paths]


def path_of(*paths: str) -> Any:
    """The whole path that is learned from such runs."""
    return learn_at(2, named(*paths)).expect["calls"]


@given(RUNS, st.sampled_from([0, 1, 2, None]))
@examples(60)
def test_what_was_learned_accepts_every_good_run(runs: list[Trajectory], strict: Any) -> None:
    lesson = learn(runs, strict=strict)

    if lesson is not None:
        assert DraftJudge({}).accepts(lesson.learned, runs)


@given(RUNS)
@examples(40)
def test_some_level_can_always_be_learned(runs: list[Trajectory]) -> None:
    assert learn(runs) is not None


@given(RUNS, st.randoms(use_true_random=False), st.sampled_from([0, 1, 2]))
@examples(40)
def test_the_order_of_the_runs_changes_nothing(runs: list[Trajectory], chance: Any, level: Any) -> None:
    shuffled = [*runs]
    chance.shuffle(shuffled)

    one, two = learn_at(level, runs), learn_at(level, shuffled)

    assert (one.expect, one.support) == (two.expect, two.support)


@given(RUNS)
@examples(40)
def test_the_support_of_each_call_is_the_number_of_runs_that_made_it(runs: list[Trajectory]) -> None:
    learned = learn_at(2, runs)

    everywhere = _tools(learned.expect["calls"])
    for path, count in learned.support.items():
        step: Any = learned.expect
        for key in path:
            step = step[key]
        made = sum(bool({*_tools(step)} & {*run.names}) for run in runs)
        assert count <= made
        if [everywhere.count(tool) for tool in _tools(step)] == [1]:
            assert count == made


def _tools(step: Any) -> list[str]:
    """The tools in steps, each as often as it is there."""
    if isinstance(step, str):
        return [step]
    if isinstance(step, list):
        return [tool for each in step for tool in _tools(each)]
    words = {"any_order", "optional", "one_of", "repeat"} & step.keys()
    return [tool for word in words for tool in _tools(step[word])] if words else list(step)


@given(RUNS)
@examples(25)
def test_learning_twice_changes_nothing_more(runs: list[Trajectory]) -> None:
    text = "cases:\n  - id: case\n    input: x\n"
    once = learn_eval_set(text, parse_eval_set(text, "set.yaml"), {"case": Observed(runs)})
    twice = learn_eval_set(once.after, parse_eval_set(once.after, "set.yaml"), {"case": Observed(runs)})

    assert (twice.after, twice.edits) == (once.after, [])


@pytest.mark.parametrize(
    ("paths", "steps"),
    [
        (("login a b c pay", "login c a b pay", "login b c a pay"), ["login", {"any_order": ["a", "b", "c"]}, "pay"]),
        (
            ("start a b c d end", "start c a d b end", "start c d a b end"),
            ["start", {"any_order": [["a", "b"], ["c", "d"]]}, "end"],
        ),
        (
            ("edit test commit", "edit test edit test edit test commit"),
            [{"repeat": ["edit", "test"], "at_least": 1, "at_most": 3}, "commit"],
        ),
        (("find refund done", "find exchange done"), ["find", {"one_of": ["exchange", "refund"]}, "done"]),
        (("a b c", "a c"), ["a", {"optional": "b"}, "c"]),
        (("a", ""), [{"optional": "a"}]),
        (("poll done", "poll poll poll done"), [{"repeat": "poll", "at_least": 1, "at_most": 3}, "done"]),
        (("a b a", "a b a"), ["a", "b", "a"]),
        (("",), []),
    ],
    ids=["any order", "branches", "loop", "choice", "optional", "nothing once", "repeat", "twice", "no calls"],
)
def test_the_structure_of_runs(paths: tuple[str, ...], steps: Any) -> None:
    assert path_of(*paths) == steps


def _values(*values: Any, output: Any = None) -> Any:
    """What is expected of an argument that had these values, one in each run, after a call with an output."""
    runs = [
        Trajectory(calls=(ToolCall("find", {}, output or [value]), ToolCall("book", {"id": value}, None)), input="go")
        for value in values
    ]
    [_, book] = learn_at(2, runs).expect["calls"]
    return book["book"]["id"] if isinstance(book, dict) else None


@pytest.mark.parametrize(
    ("values", "output", "expected"),
    [
        (("x", "x"), None, "x"),
        (("T-17", "T-4"), None, {"$from": "find"}),
        (("T-17", "T-4"), "nothing", {"$regex": "^T-\\d+$"}),
        (("2024-05-01", "2025-11-30"), "nothing", {"$regex": "^\\d{4}-\\d{2}-\\d{2}$"}),
        (("red", "blue", "red", "blue", "red"), "nothing", {"$in": ["blue", "red"]}),
        (("red", "blue"), "nothing", None),
        ((1, 2), "nothing", None),
        ((None, None), "nothing", {"$literal": None}),
        (({"$x": 1}, {"$x": 1}), "nothing", {"$literal": {"$x": 1}}),
    ],
    ids=["equal", "from", "shape", "date", "few", "differ", "numbers", "null", "looks like a matcher"],
)
def test_the_value_of_an_argument(values: tuple[Any, ...], output: Any, expected: Any) -> None:
    assert _values(*values, output=output) == expected


@pytest.mark.parametrize(
    ("tool", "reads"),
    [
        ("get_user", True),
        ("searchFlights", True),
        ("mcp__github__list_issues", True),
        ("think", True),
        ("book_flight", False),
        ("update_list", False),
        ("mcp__get__delete", False),
        ("", False),
    ],
)
def test_lookups_are_told_by_the_first_word_of_the_name(tool: str, reads: bool) -> None:
    assert is_reading(tool) is reads


USER, SEAT = ToolCall("get_user", {"id": 7}, "ann"), ToolCall("get_seat", {"id": 1}, 2)
BOOK = ToolCall("book", {"id": 9}, "ok")
LOOKED_UP = [Trajectory(calls=(USER, BOOK)), Trajectory(calls=(USER, SEAT, BOOK))]


def test_without_the_whole_path_lookups_of_all_runs_are_needed_and_others_allowed() -> None:
    learned = learn_at(1, LOOKED_UP)

    assert learned.expect == {
        "calls": {"expected": [{"book": {"id": 9}}], "ignore_tools": ["get_*"]},
        "args": [{"get_user": {"id": 7}}],
    }


def test_the_weakest_level_asks_for_what_changes_something() -> None:
    assert learn_at(0, LOOKED_UP).expect == {"calls": {"expected": [{"book": {"id": 9}}], "ignore_tools": ["get_*"]}}


def test_attempts_that_failed_are_left_out_below_the_whole_path() -> None:
    failed = ToolCall("book", {"id": 9}, None, "sold out")
    runs = [
        Trajectory(calls=(ToolCall("book", {"id": 9}, "ok"),)),
        Trajectory(calls=(failed, ToolCall("book", {"id": 9}, "ok"))),
    ]

    assert learn_at(1, runs).expect["calls"] == {"expected": [{"book": {"id": 9}}], "failed": "ignore_suspected"}


def test_few_runs_do_not_teach_the_whole_path_and_many_do() -> None:
    [few, many] = [learn(named(*["find_it book"] * count)) for count in (4, 5)]

    assert few is not None
    assert many is not None
    assert (few.learned.level, many.learned.level) == (1, 2)


def test_a_level_that_left_out_runs_do_not_meet_gives_way_to_the_next() -> None:
    runs = named("find book pay", "book find find pay", "find book get pay", "get book pay find", "book pay find")

    lesson = learn(runs)

    assert lesson is not None
    assert lesson.learned.level == 1
    assert lesson.weaker_than[0][0] == 2


def test_settings_are_written_out_where_the_eval_set_has_defaults() -> None:
    lesson = learn(named(*["a b"] * 5), around={"defaults": {"match": "in_order"}})

    assert lesson is not None
    assert lesson.learned.expect == {"calls": {"expected": ["a", "b"], "match": "exact"}}


def test_support_stands_behind_each_line_and_everything_else_stays() -> None:
    text = "cases:\n  - id: case   # mine\n    input: x\n    expect:\n      never: [delete]  # ever\n"
    runs = named("a b", "a", "a b", "a b", "a b")

    made = learn_eval_set(text, parse_eval_set(text, "set.yaml"), {"case": Observed(runs)}, golden="all")

    assert made.after == (
        "cases:\n  - id: case   # mine\n    input: x\n"
        "    expect:  # learned from 5 runs; left out, 4 of 5 are accepted\n"
        "      never: [delete]  # ever\n"
        "      calls:\n        - a  # 5 of 5 runs\n        - optional: b  # 4 of 5 runs\n"
    )


def test_an_eval_set_in_json_has_no_comments() -> None:
    text = json.dumps({"cases": [{"id": "case", "input": "x"}]}, indent=2)

    made = learn_eval_set(text, parse_eval_set(text, "set.json"), {"case": Observed(named("a", "a"))})

    assert json.loads(made.after)["cases"][0]["expect"] == {"calls": {"expected": ["a"]}}


def test_runs_that_fail_teach_nothing_unless_all_are_good() -> None:
    text = "cases:\n  - id: case\n    expect: {calls: [a]}\n"
    observed = {"case": Observed(named("a", "b"))}

    passed = learn_eval_set(text, parse_eval_set(text, "set.yaml"), observed)
    every = learn_eval_set(text, parse_eval_set(text, "set.yaml"), observed, golden="all")

    assert [len(each.cases[0].runs) for each in (passed, every)] == [1, 2]


def test_a_trace_without_all_calls_teaches_nothing() -> None:
    text = "cases:\n  - id: case\n"
    observed = {"case": Observed([Trajectory(calls_recorded=False)])}

    [found] = learn_eval_set(text, parse_eval_set(text, "set.yaml"), observed).cases

    assert (found.kind, found.is_failed) == ("left", False)


def test_an_expectation_on_one_line_gets_a_line_for_each_step() -> None:
    text = "cases:\n  - id: case\n    expect: {order: [a, b]}   # mine\n    tags: [x]\n"

    made = learn_eval_set(text, parse_eval_set(text, "set.yaml"), {"case": Observed(named(*["a b"] * 5))})

    assert made.after == (
        "cases:\n  - id: case\n"
        "    expect:  # learned from 5 runs; left out, 5 of 5 are accepted\n"
        "      order: [a, b]\n"
        "      calls: [a, b]   # mine  # 5 of 5 runs\n"
        "    tags: [x]\n"
    )


def test_runs_without_a_call_teach_that_there_is_none_however_few_they_are() -> None:
    [alone, few] = [learn(named(*[""] * count), tools=["get_user"]) for count in (1, 3)]

    assert alone is not None
    assert few is not None
    assert (alone.learned.expect, few.learned.expect) == ({"calls": []}, {"calls": []})
