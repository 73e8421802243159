"""Expected calls in groups: what may be written, how it is scored, and what is told of it."""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.builders import call, judge
from tests.sampling import examples
from tests.walls import for_each

from rightcall import EvaluationResult, ToolCall, ToolTrajectoryEvaluator, Trajectory
from rightcall.errors import CriteriaError, shown
from rightcall.judging.calls._steps import WORDS, placed_calls, read_steps
from rightcall.limits import Limits
from rightcall.values.results import ToolTrajectoryEvaluatorJustification

VECTORS = Path(__file__).parents[1] / "data" / "path_vectors.jsonl.gz"


def path(made: Any, steps: list[Any], match: str = "exact", **config: Any) -> EvaluationResult:
    return judge("tool-trajectory", made, {"expected": steps, "wildcards": True}, match_type=match, **config)


def told(result: EvaluationResult) -> list[tuple[str, str, str | None]]:
    return [(finding.code, finding.message, finding.path) for finding in result.findings]


def aligned(result: EvaluationResult) -> ToolTrajectoryEvaluatorJustification:
    assert isinstance(result.details, ToolTrajectoryEvaluatorJustification)
    return result.details


def test_every_vector_has_its_share_its_f1_and_its_verdict() -> None:
    wrong = []
    for line in gzip.decompress(VECTORS.read_bytes()).splitlines():
        vector = json.loads(line)
        made = [ToolCall(each["name"], {}, None, group=each["group"]) for each in vector["calls"]]
        scores = [
            path(made, vector["expected"], vector["match"], partial_credit=credit).score
            for credit in (True, "f1", False)
        ]
        expected = [float(Fraction(vector["share"])), float(Fraction(vector["f1"])), float(vector["met"])]
        if scores != expected:
            wrong.append((vector, scores))

    assert wrong == []


@for_each("parallel", ["recorded", "overlap"])
def test_calls_within_the_time_of_one_that_may_have_made_them_are_not_measured(parallel: str) -> None:
    def ran(inner: dict[str, Any]) -> list[ToolCall]:
        outer = ToolCall("research", span_id="1", start_ns=0, end_ns=9)
        return [outer, ToolCall("lookup", start_ns=1, end_ns=2, **inner)]

    def verdict(inner: dict[str, Any], expected: list[Any]) -> str:
        criteria = {"expected": expected, "parallel": parallel}
        return judge("tool-trajectory", ran(inner), criteria, match_type="in_order").verdict

    steps = [{"at_once": ["lookup", "research"]}] if parallel == "recorded" else ["lookup", "research"]
    unknown = {"unrecorded": frozenset({"parent_id"})}

    assert [verdict(inner, steps) for inner in ({}, {"parent_id": "1"}, unknown)] == [
        "passed",
        "failed",
        "not_measured",
    ]
    assert verdict(unknown, ["research", "lookup"]) == "passed"


@given(
    st.lists(st.sampled_from("abc"), max_size=5),
    st.lists(st.sampled_from("abcx"), max_size=6),
    st.sampled_from(["EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET"]),
    st.booleans(),
)
@examples(1000)
def test_a_plain_list_scores_the_same_with_a_group_around_one_call(
    expected: list[str], made: list[str], match: str, credit: bool
) -> None:
    grouped: list[Any] = [{"steps": [name]} for name in expected]

    assert (
        path(made, grouped, match, partial_credit=credit).score
        == path(made, expected, match, partial_credit=credit).score
    )


@pytest.mark.parametrize(
    ("extra", "made", "score"),
    [
        ("forbid", ["poll", "log", "done"], 2 / 3),
        ("allow", ["poll", "log", "poll", "done"], 1.0),
        ("others", ["poll", "log", "done"], 1.0),
        ("others", ["poll", "log", "poll", "poll", "poll", "done"], 4 / 5),
    ],
)
def test_extra_says_what_becomes_of_calls_that_no_step_takes(extra: str, made: list[str], score: float) -> None:
    steps = [{"repeat": "poll", "at_most": 3}, "done"]

    assert path(made, steps, partial_credit=True, extra=extra).score == score


def test_a_name_with_a_star_takes_every_tool_that_fits() -> None:
    assert path(["mcp__github__list", "mcp__fs__read"], ["mcp__github__*", "mcp__*__read"]).passed
    assert path(["github"], ["mcp__*"]).score == 0.0


def test_a_step_may_ask_for_status_output_agent_and_turn() -> None:
    failed = ToolCall("pay", {}, None, error="timeout", agent="billing", turn=0)
    paid = ToolCall("pay", {}, {"state": "done"}, agent="billing", turn=1)
    steps = [
        {"name": "pay", "status": "error", "turn": 0},
        {"steps": [{"name": "pay", "output": {"state": "done"}}], "agent": "billing"},
    ]

    assert path([failed, paid], steps).passed
    assert path([paid, failed], steps).verdict == "failed"
    assert path([ToolCall("pay", {}, {"state": "done"})] * 2, steps).verdict == "failed"


def test_what_was_not_recorded_makes_the_score_open() -> None:
    result = path([ToolCall("pay", {}, None)], [{"optional": "log"}, {"name": "pay", "agent": "billing"}])

    assert result.verdict == "not_measured"


def test_calls_at_once_are_open_where_neither_groups_nor_times_were_recorded() -> None:
    assert path(["h", "w"], [{"at_once": ["w", "h"]}]).verdict == "not_measured"
    assert path(
        [ToolCall("h", {}, None, group="1"), ToolCall("w", {}, None, group="1")], [{"at_once": ["w", "h"]}]
    ).passed


@pytest.mark.parametrize(
    "choice", [{"one_of": [{"repeat": "a"}, "c"]}, {"optional": {"repeat": {"one_of": ["a", "c"]}}}]
)
@pytest.mark.parametrize(
    ("made", "groups", "passes"),
    [("ab", "11", True), ("aab", "111", True), ("cb", "11", True), ("ab", "12", False), ("aab", "112", False)],
)
def test_calls_at_once_may_be_chosen_and_repeated(choice: Any, made: str, groups: str, passes: bool) -> None:
    calls = [ToolCall(name, {}, None, group=group) for name, group in zip(made, groups, strict=True)]

    assert path(calls, [{"at_once": [choice, "b"]}]).passed == passes


def test_a_recorded_group_is_a_fact_also_where_agents_differ() -> None:
    made = [ToolCall("b", {}, None, group="1", agent="A"), ToolCall("c", {}, None, group="1", agent="B")]
    open_call = ToolCall("c", {}, None, agent="B")

    assert path(made, [{"at_once": ["b", {"name": "c", "turn": 1}]}]).verdict == "not_measured"
    assert path([*made, open_call], [{"at_once": ["b", "c"]}, {"name": "c", "turn": 1}]).verdict == "not_measured"


def test_the_least_share_is_exact_to_the_last_digit() -> None:
    made = [ToolCall("a", {}, None), ToolCall("c", {}, None)]
    steps = [{"steps": ["a", "c"], "agent": "B"}, "c", "c"]

    assert "between 0.2 and 0.6667" in " ".join(path(made, steps, partial_credit=True).warnings)
    # One of five steps and calls is sure: at exactly that threshold the run passes.
    assert path(made, steps, partial_credit=True, threshold=0.2).passed


def test_two_readings_with_the_same_figures_leave_nothing_open() -> None:
    made = [ToolCall("a", {}, None, agent="A"), ToolCall("b", {}, None)]
    steps = ["a", {"any_order": ["c", {"one_of": ["b", {"name": "b", "agent": "B"}]}]}]

    result = path(made, steps, partial_credit=True)

    assert (result.score, result.warnings) == (2 / 3, ())


def test_calls_in_an_unknown_order_are_judged_in_the_worst_and_the_best() -> None:
    made = Trajectory(calls=(call("a"), call("b"), call("c")), unordered=((0, 2),))

    assert path(made, ["a", {"any_order": ["b", "c"]}]).verdict == "not_measured"
    assert path(made, [{"any_order": ["b", "a"]}, "c"]).passed


def test_calls_of_one_group_have_no_order_with_parallel_any_order() -> None:
    made = [ToolCall("b", {}, None, group="1"), ToolCall("a", {}, None, group="1"), ToolCall("c", {}, None, group="2")]
    criteria = {"expected": ["a", {"optional": "x"}, "b", "c"], "parallel": "any_order"}

    assert judge("tool-trajectory", made, criteria).passed
    assert not judge("tool-trajectory", made, {**criteria, "parallel": "in_order"}).passed


def test_turns_take_groups() -> None:
    made = [ToolCall(name, {}, None, turn=turn) for name, turn in (("b", 0), ("a", 0), ("c", 1), ("x", 2))]
    criteria = {"expected_turns": [[{"any_order": ["a", "b"]}], [{"one_of": ["c", "d"]}]]}

    assert judge("tool-trajectory", made[:3], criteria).passed
    assert judge("tool-trajectory", made, criteria).score == 2 / 3


TURNS = {"expected_turns": [[{"any_order": ["a", "b"]}], [{"one_of": ["c", "d"]}]]}


@for_each(
    ("made", "turns", "verdict", "bounds"),
    [
        ("abc", (0, None, 1), "not_measured", "between 0.5 and 1"),
        ("abx", (0, None, 1), "failed", "between 0.1667 and 0.5"),
        ("abc" * 4, (None,) * 12, "not_measured", "between 0 and 1"),
        ("abz" * 4, (None,) * 12, "failed", "between 0 and 0.5"),
        ("abcxxxxxxx", (0, 0, 1, *[None] * 7), "not_measured", "between 0.03858 and 1"),
    ],
)
def test_calls_of_unknown_turns_leave_open_what_their_turns_take(
    made: str, turns: tuple[int | None, ...], verdict: str, bounds: str
) -> None:
    calls = [ToolCall(name, {}, None, turn=turn) for name, turn in zip(made, turns, strict=True)]

    result = judge("tool-trajectory", calls, TURNS, partial_credit=True)

    assert (result.verdict, [finding.code for finding in result.findings]) == (verdict, ["RC301"])
    assert bounds in " ".join(result.warnings)


@for_each(("unknown", "bounds"), [(4, "between 0 and 0.3333"), (5, "between 0 and 0.6667")])
def test_each_choice_of_turns_is_judged_up_to_256_of_them(unknown: int, bounds: str) -> None:
    made = [ToolCall(name, {}, None) for name in "a" + "x" * (unknown - 1)]
    turns = {"expected_turns": [["a"], ["a"], ["b"]]}

    result = judge("tool-trajectory", made, turns, match_type="in_order", partial_credit=True)

    assert bounds in " ".join(result.warnings)


LONG = "abcdefghi"  # so many calls in an unknown order are not tried in each of them


@for_each(
    ("made", "steps", "config", "verdict", "bounds"),
    [
        (LONG, [{"any_order": [*LONG]}], {}, "not_measured", "between 0 and 1"),
        (LONG, [{"any_order": [*LONG]}], {"partial_credit": True}, "not_measured", "between 0.05882 and 1"),
        (LONG, [{"any_order": [*LONG]}], {"partial_credit": "f1"}, "not_measured", "between 0.1111 and 1"),
        (
            LONG,
            ["a", {"any_order": [*LONG[1:]]}],
            {"match": "in_order", "partial_credit": True},
            "not_measured",
            "between 0.1111 and 1",
        ),
        (
            LONG,
            ["a", {"repeat": "b"}, *LONG[2:]],
            {"match": "in_order", "partial_credit": True},
            "not_measured",
            "between 0.1111 and 1",
        ),
        (LONG[:-1] + "x", [{"any_order": [*LONG]}], {"partial_credit": True}, "failed", "between 0.05882 and 0.8889"),
        (LONG, [{"any_order": ["x", "y"]}], {"match": "in_order"}, "failed", ""),
        (LONG, [{"optional": "x"}, {"repeat": "a"}], {"match": "in_order"}, "passed", ""),
        (
            LONG,
            [{"a": {"n": {"$bind": "n"}}}, {"b": {"n": {"$ref": "n"}}}],
            {"match": "in_order", "partial_credit": True},
            "not_measured",
            "between 0 and 1",
        ),
    ],
)
def test_calls_in_an_unknown_order_that_are_too_many_to_try_have_bounds_that_hold(
    made: str, steps: list[Any], config: dict[str, Any], verdict: str, bounds: str
) -> None:
    result = path(
        Trajectory(calls=tuple([call(name, n=1) for name in made]), unordered=((0, len(made)),)), steps, **config
    )

    assert result.verdict == verdict
    assert bounds in " ".join(result.warnings)


@for_each(
    ("agents", "steps", "config", "verdict"),
    [
        ("1" * 9, [{"any_order": ["a", "b"]}], {"match": "in_order"}, "passed"),
        ("1?" + "1" * 7, [{"any_order": ["a", "b"]}], {"match": "in_order"}, "not_measured"),
        ("11" + "?" * 12, [{"any_order": ["a", "b"]}], {"match": "in_order"}, "passed"),
        ("11" + "?" * 12, [{"any_order": ["a", "b"]}], {}, "not_measured"),
        ("12" + "?" * 12, [{"any_order": ["a", "b"]}], {"match": "in_order"}, "failed"),
        ("?" * 14, [{"any_order": ["a", "b"]}], {"match": "in_order"}, "not_measured"),
    ],
)
def test_calls_of_unknown_agents_count_for_a_group_as_far_as_they_may(
    agents: str, steps: list[Any], config: dict[str, Any], verdict: str
) -> None:
    made = [
        ToolCall(name, {}, None, agent=None if agent == "?" else agent)
        for name, agent in zip("ab" + "x" * 12, agents, strict=False)
    ]
    criteria = {"expected": steps, "agent": "1"}

    assert judge("tool-trajectory", made, criteria, match_type=config.get("match", "exact")).verdict == verdict


@for_each(
    ("match", "made", "verdict"),
    [
        ("exact", "ab", "not_measured"),
        ("exact", "a", "not_measured"),
        ("in_order", "ab", "passed"),
        ("in_order", "a", "not_measured"),
    ],
)
def test_calls_that_may_be_missing_may_be_those_of_a_group(match: str, made: str, verdict: str) -> None:
    trajectory = Trajectory(calls=tuple(map(call, made)), calls_recorded=False)

    assert path(trajectory, [{"any_order": ["a", "b"]}], match).verdict == verdict


def test_a_search_that_takes_too_long_is_an_error_with_its_size() -> None:
    evaluator = ToolTrajectoryEvaluator(limits=Limits(alignment_steps=500))
    steps = [
        {"any_order": ["x", "y"]},
        {"any_order": [["a", "b", "c", "a"], ["b", "c", "a", "b"], ["c", "a", "b", "c"]]},
    ]

    result = evaluator.evaluate(["a", "b", "c", "b"] * 10, {"expected": steps})

    assert (result.verdict, result.score) == ("error", None)
    assert result.error is not None
    assert "RC401" in result.error
    assert "takes too long: 3 branches of 4 steps over 40 calls of 3 tools" in result.error


@pytest.mark.parametrize(
    ("made", "steps", "expected"),
    [
        pytest.param(
            ["login", "price"],
            ["login", {"any_order": ["seats", "price"]}],
            [
                (
                    "RC101",
                    "`seats` was never called; it is one of 2 calls expected in any order",
                    "expected[1].any_order[0]",
                )
            ],
            id="one of a group",
        ),
        pytest.param(
            ["login", "price"],
            ["login", {"any_order": ["price", "price"]}],
            [
                (
                    "RC101",
                    "`price` is missing: its calls are paired with other expectations; it is one of 2 calls expected "
                    "in any order",
                    "expected[1].any_order[1]",
                )
            ],
            id="one of a group, called too rarely",
        ),
        pytest.param(
            ["login", "price"],
            ["login", {"any_order": ["book", {"one_of": ["price", "stock"]}, {"optional": "note"}]}],
            [
                (
                    "RC101",
                    "`book` was never called; it is one of 2 calls expected in any order",
                    "expected[1].any_order[0]",
                )
            ],
            id="one of a group with alternatives",
        ),
        pytest.param(
            ["a", "b", "a"],
            [{"repeat": {"any_order": ["a", {"optional": "b"}, "c"]}, "at_least": 2}],
            [
                (
                    "RC101",
                    "`c` was never called; it is one of 3 calls expected in any order",
                    "expected[0].repeat.any_order[2]",
                ),
                (
                    "RC101",
                    "`c` was never called; it is one of 2 calls expected in any order",
                    "expected[0].repeat.any_order[2]",
                ),
            ],
            id="one of a group in each of two rounds",
        ),
        pytest.param(
            ["find"],
            ["find", {"one_of": ["exchange", "return"]}],
            [("RC101", "none of `exchange`, `return` was called", "expected[1].one_of[0]")],
            id="no alternative",
        ),
        pytest.param(
            ["find"],
            ["find", {"one_of": ["return", "find"]}],
            [
                (
                    "RC101",
                    "one of `return`, `find` is missing: their calls are paired with other expectations",
                    "expected[1].one_of[0]",
                )
            ],
            id="no alternative beside a call of the same tool",
        ),
        pytest.param(
            ["find"],
            ["find", {"one_of": ["a", "b", "c", "d", "e"]}],
            [("RC101", "none of `a`, `b`, `c` and 2 more was called", "expected[1].one_of[0]")],
            id="none of many alternatives",
        ),
        pytest.param(
            ["b", "c", "e"],
            [{"one_of": ["a", ["b", "c", "d", "e"]]}],
            [
                (
                    "RC101",
                    "`d` was never called; of 2 alternatives the 2nd is nearest (3 of 4)",
                    "expected[0].one_of[1][2]",
                )
            ],
            id="the nearest alternative",
        ),
        pytest.param(
            ["edit", "test", "edit"],
            [{"repeat": ["edit", "test"], "at_least": 2}],
            [("RC101", "`test` is missing in the 2nd of 2 rounds", "expected[0].repeat[1]")],
            id="a round",
        ),
        pytest.param(
            ["edit", "test", "test", "push", "edit", "test", "test"],
            [{"repeat": ["edit", {"repeat": "test"}, "push"], "at_least": 2}],
            [("RC101", "`push` is missing in the 2nd of 2 rounds", "expected[0].repeat[2]")],
            id="a round with rounds inside",
        ),
        pytest.param(
            [call("a"), call("b"), call("pay", n=3), call("c")],
            [{"optional": "z"}, "a", {"pay": {"n": 1}}, "b", "c"],
            [
                (
                    "RC104",
                    "`pay` was called with n 3, expected 1; it was called after `b`, expected before it",
                    "expected[2]",
                )
            ],
            id="after the next of two steps that follow",
        ),
        pytest.param(
            [call("a"), call("pay", n=3), call("b"), call("c")],
            [{"optional": "z"}, "a", "b", {"pay": {"n": 1}}, "c"],
            [
                (
                    "RC104",
                    "`pay` was called with n 3, expected 1; it was called before `b`, expected after it",
                    "expected[3]",
                )
            ],
            id="before the last of two steps that precede",
        ),
        pytest.param(
            [call("pay", n=4), call("a"), call("pay", n=2), call("b"), call("pay", n=3)],
            [{"optional": "z"}, "a", {"pay": {"n": 1}}, "b"],
            [
                ("RC102", "`pay(n=4)` was called, but not expected", None),
                ("RC104", "`pay` was called with n 2, expected 1", "expected[2]"),
                ("RC102", "`pay(n=3)` was called, but not expected", None),
            ],
            id="the call at its place among others of its name",
        ),
        pytest.param(
            [call("a"), call("pay", n=2), call("b"), call("a"), call("pay", n=1), call("b")],
            [{"repeat": ["a", {"pay": {"n": 1}}, "b"]}],
            [("RC104", "`pay` was called with n 2, expected 1", "expected[0].repeat[1]")],
            id="other arguments in the first round",
        ),
        pytest.param(
            [call("a"), call("pay", n=1), call("b"), call("a"), call("pay", n=2), call("b")],
            [{"repeat": ["a", {"pay": {"n": 1}}, "b"]}],
            [("RC104", "`pay` was called with n 2, expected 1", "expected[0].repeat[1]")],
            id="other arguments in the second round",
        ),
        pytest.param(
            [*"abdec"],
            [{"any_order": ["a", "b"]}, "c", {"any_order": ["d", "e"]}],
            [("RC103", "`c` was called after the group of `d`, `e`, expected before it", "expected[1]")],
            id="after a group",
        ),
        pytest.param(
            [*"cabx"],
            [{"any_order": ["a", ["b", "x"]]}, "c"],
            [("RC103", "`c` was called before the group of `a`, `b`, `x`, expected after it", "expected[1]")],
            id="before a group with a branch",
        ),
        pytest.param(
            [*"abcabcbbc"],
            [{"repeat": ["a", {"repeat": ["b", "c"]}]}],
            [("RC101", "`c` is missing in the 2nd of 3 rounds", "expected[0].repeat[1].repeat[1]")],
            id="a round inside of a round",
        ),
        pytest.param(
            [*"ababc"],
            [{"repeat": ["a", {"repeat": ["b", "c"]}]}],
            [
                (
                    "RC101",
                    "`c` is missing: its calls are paired with other expectations",
                    "expected[0].repeat[1].repeat[1]",
                )
            ],
            id="the only round inside of a round",
        ),
        pytest.param(
            [*"abacdcd"],
            [{"repeat": ["a", "b"]}, {"repeat": ["c", "d"]}],
            [("RC101", "`b` is missing in the 2nd of 2 rounds", "expected[0].repeat[1]")],
            id="a round beside other rounds",
        ),
        pytest.param(
            ["poll", "poll", "poll"],
            [{"repeat": "poll", "at_most": 2}],
            [("RC102", "`poll` was called a 3rd time, at most 2 are expected here", None)],
            id="a round too many",
        ),
        pytest.param(
            ["price", "login", "seats"],
            ["login", {"any_order": ["seats", "price"]}],
            [("RC103", "`price` was called before `login`, expected after it", "expected[1].any_order[1]")],
            id="before its group",
        ),
        pytest.param(
            ["login", "pay"],
            ["pay", {"optional": "quote"}, "login"],
            [("RC103", "`pay` was called after `login`, expected before it", "expected[0]")],
            id="after the first call",
        ),
        pytest.param(
            [ToolCall("w", {"city": "Paris"}, None, group="1"), ToolCall("w", {"city": "Berlin"}, None, group="2")],
            [{"at_once": [{"w": {"city": "Paris"}}, {"w": {"city": "Berlin"}}]}],
            [
                (
                    "RC119",
                    '`w(city="Berlin")` was called one turn after `w(city="Paris")`, expected at once',
                    "expected[0].at_once[1]",
                )
            ],
            id="one after the other",
        ),
        pytest.param(
            [ToolCall("charge", {}, None, error="timeout")],
            [{"name": "charge", "status": "ok"}],
            [("RC120", "`charge` failed ('timeout'), expected to succeed", "expected[0]")],
            id="failed",
        ),
        pytest.param(
            [call("pay", amount=2)],
            [{"optional": "quote"}, {"pay": {"amount": 1}}],
            [("RC104", "`pay` was called with amount 2, expected 1", "expected[1]")],
            id="other arguments",
        ),
        pytest.param(
            [call("find"), call("pay", amount=2)],
            [{"any_order": [{"pay": {"amount": 1}}, "find"]}],
            [("RC104", "`pay` was called with amount 2, expected 1", "expected[0].any_order[0]")],
            id="other arguments, in a group",
        ),
    ],
)
def test_each_way_to_go_wrong_has_its_sentence(
    made: Any, steps: list[Any], expected: list[tuple[str, str, str | None]]
) -> None:
    assert told(path(made, steps)) == expected


@for_each(
    ("made", "steps", "match", "code", "message"),
    [
        ("ba", [["a", "b"]], "any_order", "RC103", "`a` was called after `b`, expected before it"),
        ("bca", [["a", "b"], "c"], "unordered", "RC103", "`a` was called after `b`, expected before it"),
        ("a", [["b", "a"]], "subset", "RC101", "`b` was never called"),
        ("a", [{"repeat": "a", "at_least": 2}], "subset", "RC101", "`a` is missing in the 2nd of 2 rounds"),
    ],
)
def test_what_is_wrong_inside_of_a_group_is_told_whatever_the_match_type(
    made: str, steps: list[Any], match: str, code: str, message: str
) -> None:
    result = path(list(made), steps, match)

    assert (result.verdict, [(each.code, each.message) for each in result.findings]) == ("failed", [(code, message)])


def test_a_failure_that_cannot_be_explained_says_so() -> None:
    result = path(Trajectory(calls=(call("a"),) * 9, unordered=((0, 9),)), [["a", "b"]])

    assert (result.verdict, result.findings) == ("failed", ())
    assert "too many ways to fill in what was not recorded to give details" in " ".join(result.warnings)


def test_only_a_call_that_differs_has_differences_in_the_alignment() -> None:
    made = [call("a", n=1), call("pay", n=2)]
    [turn] = aligned(path(made, [{"optional": "z"}, {"a": {"n": 1}}, {"pay": {"n": 1}}])).turns

    assert [(step.kind, len(step.differences)) for step in turn.alignment.steps] == [
        ("skipped", 0),
        ("match", 0),
        ("mismatch", 1),
    ]


@for_each(
    ("made", "rounds"),
    [
        ("acbadb", [(0,), (1,), (0,), (1,), (), ()]),
        ("acbadbab", [(0,), (1,), (0,), (1,), (), (), (), ()]),
        ("abcd", [(0,), (0,), (), ()]),
    ],
)
def test_rounds_in_a_branch_are_counted_while_other_branches_go_on(made: str, rounds: list[tuple[int, ...]]) -> None:
    [turn] = aligned(path([*made], [{"any_order": [{"repeat": ["a", "b"], "at_most": 2}, ["c", "d"]]}])).turns

    assert [step.rounds for step in turn.alignment.steps] == rounds


def test_a_name_stands_for_one_value_and_the_best_one_counts() -> None:
    steps = [{"hold": {"seat": {"$bind": "s"}}}, {"pay": {"seat": {"$ref": "s"}}}]

    assert path([call("hold", seat="1A"), call("hold", seat="2B"), call("pay", seat="2B")], steps, "in_order").passed
    wrong = path([call("hold", seat="1A"), call("pay", seat="2B")], steps, "in_order", partial_credit=True)
    assert wrong.score == 1 / 2
    assert (
        path([call("hold", seat="1A"), call("pay", seat="2B")], steps, "in_order", partial_credit="f1").score == 2 / 3
    )


def test_a_name_whose_one_value_fails_for_sure_may_have_another_that_is_open() -> None:
    steps = [{"hold": {"seat": {"$bind": "s"}}}, {"name": "pay", "args": {"seat": {"$ref": "s"}}, "agent": "till"}]
    made = [call("hold", seat="1A"), call("hold", seat="2B"), call("pay", seat="2B")]

    assert path(made, steps, "in_order").verdict == "not_measured"
    assert path(made[:2], steps, "in_order").verdict == "failed"


def test_a_value_that_no_output_has_is_made_up() -> None:
    made = [ToolCall("search", {}, {"flights": [{"id": "TP2"}]}), ToolCall("book", {"id": "TP9"}, None)]
    steps = ["search", {"book": {"id": {"$from": {"call": "search", "output": "$.flights[*].id"}}}}]

    [(code, message, place)] = told(path(made, steps))

    assert (code, place) == ("RC117", "expected[1]")
    assert message.startswith('`book`: id "TP9"')
    assert '"TP2"' in message


@pytest.mark.parametrize("more", [{}, {"status": "ok"}], ids=["arguments alone", "with a status"])
def test_a_made_up_value_does_not_hide_other_arguments_that_differ(more: dict[str, Any]) -> None:
    made = [ToolCall("search", {}, ["TP2"]), ToolCall("book", {"id": "TP9", "seats": 4}, None)]
    steps = ["search", {"name": "book", "args": {"id": {"$from": "search"}, "seats": 2}, **more}]

    [(code, message, _)] = told(path(made, steps))

    assert code == "RC117"
    assert message.startswith('`book`: id "TP9"')
    assert message.endswith("; also called with seats 4, expected 2")


def test_the_alignment_has_groups_rounds_and_what_was_left_out() -> None:
    steps = [{"repeat": ["edit", "test"]}, {"one_of": ["push", "open"]}, {"optional": "log"}]

    [turn] = aligned(path(["edit", "test", "edit", "test", "open"], steps)).turns

    assert [(step.kind, step.path, step.rounds) for step in turn.alignment.steps] == [
        ("match", "expected[0].repeat[0]", (0,)),
        ("match", "expected[0].repeat[1]", (0,)),
        ("match", "expected[0].repeat[0]", (1,)),
        ("match", "expected[0].repeat[1]", (1,)),
        ("skipped", "expected[1].one_of[0]", ()),
        ("match", "expected[1].one_of[1]", ()),
        ("skipped", "expected[2].optional", ()),
    ]
    groups = turn.alignment.groups
    assert [(group.word, group.path, group.first, group.end, group.depth) for group in groups] == [
        ("repeat", "expected[0]", 0, 2, 0),
        ("steps", "expected[0].repeat", 0, 2, 1),
        ("one_of", "expected[1]", 2, 4, 0),
        ("optional", "expected[2]", 4, 5, 0),
    ]
    assert [(group.rounds, group.taken) for group in groups] == [(2, None), (None, None), (None, 1), (None, None)]


def nested(depth: int, word: str = "") -> Any:
    step: Any = "a"
    for _ in range(depth):
        step = {word: step} if word else [step]
    return step


def test_steps_are_nested_twenty_deep_by_lists_as_by_words() -> None:
    for word in ("", "optional", "repeat"):
        assert path(["a"], [nested(19, word)]).passed
        with pytest.raises(CriteriaError, match="nested more than 20 deep"):
            path(["a"], [nested(20, word)])


@pytest.mark.parametrize(
    ("step", "message", "place"),
    [
        ({"any_ordr": ["a"]}, "unknown word 'any_ordr'; did you mean 'any_order'?", (0, "any_ordr")),
        ({"any_order": ["a"], "optional": "b"}, "put one into the other: {any_order: {optional: …}}", (0,)),
        (
            {"any_order": ["a"], "optional": "b", "repeat": "c"},
            "'any_order' and 'optional' in one step; put one into the other: {any_order: {optional: …}}",
            (0,),
        ),
        ({"hold": {"seat": {"$bind": "s"}}}, "expected[0].args: $bind 's' is never used", ()),
        ({"any_order": []}, "expected[0].any_order is empty", (0, "any_order")),
        ({"any_order": "a"}, "any_order takes a list of steps, not 'a'", (0, "any_order")),
        ({"one_of": ["a", []]}, "expected[0].one_of[1] is empty", (0, "one_of", 1)),
        ({"repeat": "a", "at_least": 3, "at_most": 2}, "2 is less than at_least, 3", (0, "at_most")),
        ({"repeat": "a", "at_most": 0}, "a whole number from 1 to 1,000 is expected, not 0", (0, "at_most")),
        ({"repeat": "a", "at_least": True}, "a whole number from 0 to 1,000", (0, "at_least")),
        ({"any_order": ["a"], "at_most": 2}, "'at_most' belongs to 'repeat', not to any_order", (0, "at_most")),
        ({"name": "a", "at_most": 2}, "'at_most' belongs to 'repeat', not to a call", (0, "at_most")),
        (
            {"any_order": ["a"], "args": {"x": 1}},
            "'args' belongs to a call: put it into a step of 'any_order'",
            (0, "args"),
        ),
        ({"any_order": ["a"], "agent": "b"}, "'agent' belongs to 'steps', not to any_order", (0, "agent")),
        (
            {"at_once": ["a", ["b", "c"]]},
            "calls made at once have no order; put the sequence into any_order",
            (0, "at_once", 1),
        ),
        ({"name": "a", "optional": True}, "'optional' goes around a call", (0,)),
        ({"name": {"$in": ["a", "b"]}}, "use one_of", (0,)),
        ({"$in": ["a", "b"]}, "'$in' is a matcher", (0,)),
        ({"name": "a", "nth": 1}, "'nth' has no place in a list of calls", (0, "nth")),
        ({"name": "a", "status": "fine"}, "expected[0].status", (0, "status")),
        ({"name": "a", "turn": -1}, "expected[0].turn", (0, "turn")),
        ({"name": "a", "agnt": "b"}, "unknown key 'expected[0].agnt'; did you mean 'agent'?", (0, "agnt")),
        ({"any_order": [{"a": {"$rgx": 1}}]}, "expected[0].any_order[0].args", ()),
        (nested(25), "nested more than 20 deep", (0, *[0] * 20)),
        (5, "a step is a name, an object or a list, not 5", (0,)),
    ],
)
def test_a_mistake_is_told_with_its_place_and_the_right_word(step: Any, message: str, place: tuple[Any, ...]) -> None:
    with pytest.raises(CriteriaError) as problem:
        path(["a"], [step])

    assert message in str(problem.value)
    assert problem.value.path == (("expected", *place) if place else ())


@pytest.mark.parametrize("word", ["any-order", "anyOrder", "any_order"])
def test_words_may_be_spelt_in_other_ways(word: str) -> None:
    assert path(["b", "a"], [{word: ["a", "b"]}]).passed


def test_a_tool_that_is_named_like_a_word_is_written_with_name() -> None:
    assert path(["optional"], [{"name": "optional"}]).passed


@pytest.mark.parametrize(
    ("written", "hint"),
    [
        ("search", "; write [search]"),
        ({"search": {"query": "tv"}}, "; write [{search: …}]"),
        ({"repeat": "poll", "at_most": 2}, "; write [{repeat: …}]"),
        ({"search": {}, "book": {}}, ""),
        ({"calls": ["a"], "match": "exact"}, "; did you mean 'expected' instead of 'calls'?"),
        ({}, ""),
        (5, ""),
    ],
    ids=str,
)
def test_what_is_no_list_of_calls_is_told_with_how_it_would_be_one(written: Any, hint: str) -> None:
    with pytest.raises(CriteriaError) as problem:
        read_steps(written)

    assert str(problem.value) == f"a list of calls is expected, not {shown(written)}{hint}"


def test_steps_are_written_back_as_they_were_written() -> None:
    def names(step: Any) -> Any:
        if isinstance(step, list):
            return [names(each) for each in step]
        if "name" in step:
            return step["name"]
        return {key: names(held) if key in WORDS else held for key, held in step.items()}

    steps: list[Any] = [
        ["m", "n"],
        {"one_of": [["a", "b"], "c"]},
        {"repeat": ["x", "y"], "at_least": 0, "at_most": 2},
        {"optional": "o"},
        {"steps": ["p"], "agent": "q"},
    ]

    criteria = ToolTrajectoryEvaluator().criteria({"expected": steps})

    assert names(criteria.model_dump()["expected"]) == steps
    assert json.loads(criteria.model_dump_json()) == criteria.model_dump()


def test_calls_in_groups_have_the_paths_that_they_are_written_at() -> None:
    steps = ["a", {"any_order": ["b", ["c", "d"]]}, {"repeat": "e"}, {"optional": {"one_of": ["f", "g"]}}]
    read_so = ToolTrajectoryEvaluator().criteria({"expected": steps}).expected

    assert [(call.name, place) for place, call in placed_calls(read_so or (), "expected")] == [
        ("a", "expected[0]"),
        ("b", "expected[1].any_order[0]"),
        ("c", "expected[1].any_order[1][0]"),
        ("d", "expected[1].any_order[1][1]"),
        ("e", "expected[2].repeat"),
        ("f", "expected[3].optional.one_of[0]"),
        ("g", "expected[3].optional.one_of[1]"),
    ]
