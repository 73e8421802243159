"""Expectations updated from observed runs: updated cases pass, and passing ones are not touched."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.builders import call

from rightcall import ToolCall, Trajectory
from rightcall.cases.accepting import Acceptance, IgnoredArgument, Observed, accept, ignore, new_eval_set
from rightcall.cases.evalsets import dump_yaml, parse_eval_set
from rightcall.cases.verdicts import judge


def accepted(text: str, *trajectories: Trajectory, case_id: str = "a") -> Acceptance:
    return accept(text, parse_eval_set(text, "evals.yaml"), {case_id: Observed(list(trajectories))})


def case(expect: str, more: str = "") -> str:
    return f"# mine\n{more}cases:\n  - id: a\n    expect:  # all of it\n      {expect}\n    tags: [x]\n"


def changed(expect: str, *made: ToolCall | str, more: str = "", **trajectory: Any) -> str:
    """What becomes of an `expect`, everything around it being as it was."""
    before = case(expect, more)
    after = accepted(before, Trajectory.of(made, **trajectory)).after
    head, tail = before.split(expect)
    assert after.startswith(head)
    assert after.endswith(tail)
    return after[len(head) : -len(tail)]


@pytest.mark.parametrize(
    ("expect", "made", "after"),
    [
        pytest.param("calls: [a]", [call("b", x=1)], "calls: [{b: {x: 1}}]", id="another tool"),
        pytest.param(
            "calls: [{a: {x: {$lte: 5}, k: 'v'}}, b]",
            [call("a", x=6, k="v", n=1), call("b")],
            "calls: [{a: {x: 6, k: 'v'}}, b]",
            id="one argument, the others as they are written",
        ),
        pytest.param(
            "calls: [{a: {x: {$gt: 0}}}, b]",
            [call("b"), call("a", x=1)],
            "calls: [b, {a: {x: {$gt: 0}}}]",
            id="another order, matchers and all",
        ),
        pytest.param("calls: [a]", [], "calls: []", id="nothing called"),
        pytest.param(
            "args: [{name: a, args: {x: 1}, status: ok, turn: 0}]",
            [ToolCall("a", {"x": 1}, error="boom", turn=1)],
            "args: [{name: a, args: {x: 1}, status: error, turn: 1}]",
            id="parts beside the arguments",
        ),
        pytest.param(
            "args: [{name: a, args: {x: 2}, nth: -1}]",
            [call("a", x=1), call("a", x=3)],
            "args: [{name: a, args: {x: 3}, nth: -1}]",
            id="the call that a number means",
        ),
        pytest.param(
            "args: [{mcp__*: {x: 2}}, {mcp__a: {x: {$from: b}, y: 1}}]",
            [call("b"), call("mcp__b", x=3), call("mcp__a", x=4, y=1)],
            "args: [{mcp__*: {x: 3}}, {mcp__a: {x: 4, y: 1}}]",
            id="a name with a star, and a value that is from nowhere",
        ),
        pytest.param(
            "outputs: [{name: a, output: 2, nth: 1}]",
            [ToolCall("a", {}, 1), ToolCall("a", {}, 2)],
            "outputs: [{name: a, output: 1, nth: 1}]",
            id="the output of the call that a number means",
        ),
        pytest.param(
            "counts: {mcp__*: 1, b: '2..3', c: ['>= 1', '<= 2']}",
            ["mcp__x", "mcp__y", "b"],
            "counts: {mcp__*: 2, b: 1, c: 0}",
            id="counts of several tools, and with two bounds",
        ),
        pytest.param("order: [b*, a]", ["a", "b1"], "order: [a, b*]", id="order of a name with a star"),
        pytest.param("calls: [a]", ["a", "b"], "calls: [a, b]", id="arguments not recorded"),
        pytest.param(
            "calls: {criteria: [a], match: in_order, threshold: 0.9}",
            [call("b"), call("c")],
            "calls: {criteria: [b, c], match: in_order, threshold: 0.9}",
            id="full form",
        ),
        pytest.param(
            "calls: {criteria: {expected: [{name: a, args: {x: 1}}], match_type: UNORDERED}}",
            [call("a", x=2), call("b", z=1)],
            "calls: {criteria: {expected: [{name: a, args: {x: 2}}, {name: b, args: {z: 1}}], match_type: UNORDERED}}",
            id="spelt out",
        ),
        pytest.param(
            "calls: {criteria: [{a: {x: 1}}, c], match: in_order}",
            [call("log"), call("a", x=2), call("log"), call("c")],
            "calls: {criteria: [{a: {x: 2}}, c], match: in_order}",
            id="calls that were left out stay out",
        ),
        pytest.param(
            "calls: {criteria: [a, b], match: subset}",
            [call("b"), call("c")],
            "calls: {criteria: [a, b, c], match: subset}",
            id="what is allowed stays allowed",
        ),
        pytest.param(
            "calls: {criteria: [{a: {x: 1}}], match: any_order, args: exact}",
            [call("b"), call("a", x=1, z=2)],
            "calls: {criteria: [{a: {x: 1, z: 2}}], match: any_order, args: exact}",
            id="exact arguments",
        ),
        pytest.param(
            "calls: {criteria: [a, c], match: any_order, args: ignore}",
            [call("b", z=1), call("a")],
            "calls: {criteria: [a, b], match: any_order, args: ignore}",
            id="arguments that do not count",
        ),
        pytest.param(
            "calls: [a]", [call("b", x={"$ref": 1})], "calls: [{b: {x: {$literal: {$ref: 1}}}}]", id="no matcher"
        ),
        pytest.param(
            "calls: [{name: {p: 0}}]",
            [call("name", **{"$r": 1})],
            "calls: [{name: name, args: {$literal: {$r: 1}}}]",
            id="a tool called like a word",
        ),
        pytest.param("order: [a, b]", ["b", "log", "a"], "order: [b, a]", id="order"),
        pytest.param("order: [a, b]", ["a", "c"], "order: [a, c]", id="order, another tool"),
        pytest.param(
            "order: {criteria: [a, b], strict: true}",
            ["a", "c", "b"],
            "order: {criteria: [a, c, b], strict: true}",
            id="strict order",
        ),
        pytest.param(
            'counts: {a: "<= 1", b: 2,  c: ["<=", 1], d: "!= 1", e: ">= 1"}',
            ["a", "a", "c", "c", "d", "e"],
            'counts: {a: "<= 2", b: 0,  c: ["<=", 2], d: 1, e: ">= 1"}',
            id="counts",
        ),
        pytest.param(
            "args: [{a: {x: 1}}, {b: {x: {$any: true}}}, c]",
            [call("a", x=2, y=3), call("b", x=1)],
            "args: [{a: {x: 2}}, {b: {x: {$any: true}}}]",
            id="args",
        ),
        pytest.param(
            "outputs: [{a: {ok: true}}, {b: {$contains: x}}]",
            [ToolCall("a", {}, {"ok": False}), ToolCall("b", {}, "xyz")],
            "outputs: [{a: {ok: false}}, {b: {$contains: x}}]",
            id="outputs",
        ),
        pytest.param("outputs: {a: 1, b: 2}", [ToolCall("b", {}, 3)], "outputs: {b: 3}", id="outputs by name"),
    ],
)
def test_what_does_not_hold_is_changed_and_nothing_else(expect: str, made: list[ToolCall | str], after: str) -> None:
    assert changed(expect, *made) == after


def test_the_final_output_is_taken_over() -> None:
    assert changed("output: {$contains: x}", "a", output="abc") == "output: abc"
    assert changed("output: hi", "a", output={"agent": "x"}) == "output: {$literal: {agent: x}}"


def test_a_case_that_passes_is_not_touched() -> None:
    made = accepted(case("calls: [ a ]"), Trajectory.of(["a"]))

    assert made.after == made.before
    assert [outcome.kind for outcome in made.outcomes] == ["passes"]


def test_a_case_that_expects_nothing_gets_its_calls() -> None:
    made = accepted("cases:\n- id: a\n  input: hi\n", Trajectory.of([call("x", q=1), "z"]))

    assert made.after == "cases:\n- id: a\n  input: hi\n  expect:\n    calls:\n      - x: {q: 1}\n      - z\n"
    assert made.outcomes[0].unrecorded == 1


def test_the_turns_of_a_conversation_get_the_calls_of_each() -> None:
    text = "cases:\n  - id: a\n    turns:\n      - input: one\n        expect: {calls: [x]}\n      - input: two\n"

    made = accepted(text, Trajectory.of([ToolCall("x", {}, turn=0), ToolCall("z", {}, turn=1)]))

    assert made.after == text + "        expect: {calls: [z]}\n"


@pytest.mark.parametrize(
    ("expect", "trajectories", "code", "reason"),
    [
        ("never: [a]", [Trajectory.of(["a"])], "RC107", "'never' cannot be updated"),
        ("calls: [{a: {x: 1}}]", [Trajectory.of(["a"])], "RC301", "its arguments were not recorded"),
        ("calls: [a]", [Trajectory.of(["b"]), Trajectory.of(["c"])], "RC10", "its 2 traces disagree"),
        ("calls: [a]", [], "RC303", "no trace"),
        ("{calls: [a], output: done}", [Trajectory.of(["b"])], "RC301", "the final output was not recorded"),
        ("calls: [{a: {}}, {name: b, status: ok}]", [Trajectory.of(["b"])], "RC1", "other parts than arguments"),
        ("order: [a]", [Trajectory.of([])], "RC101", "no calls were made"),
        ("outputs: [{a: 1}]", [Trajectory.of([ToolCall("a", {}, error="boom")])], "RC106", "raised"),
    ],
)
def test_what_cannot_be_accepted_is_left_alone_and_named(
    expect: str, trajectories: list[Trajectory], code: str, reason: str
) -> None:
    made = accepted(case(expect), *trajectories)

    [outcome] = made.outcomes
    assert made.after == made.before
    assert outcome.kind == "left"
    assert outcome.code.startswith(code)
    assert reason in outcome.reason


def test_traces_that_one_expectation_suits_do_not_disagree() -> None:
    made = accepted(case("counts: {a: 1}"), Trajectory.of(["a", "a"]), Trajectory.of(["b", "a", "a"]))

    assert "counts: {a: 2}" in made.after


def test_a_case_behind_an_anchor_is_left_alone_and_the_others_are_not() -> None:
    text = "cases:\n  - {id: a, expect: &e {calls: [x]}}\n  - {id: b, expect: *e}\n  - {id: c, expect: {calls: [x]}}\n"
    observed = {name: Observed([Trajectory.of(["z"])]) for name in ("a", "c")}

    made = accept(text, parse_eval_set(text, "evals.yaml"), observed)

    assert [outcome.kind for outcome in made.outcomes] == ["left", "updated"]
    assert made.after == text.replace("id: c, expect: {calls: [x]}", "id: c, expect: {calls: [z]}")


names = st.sampled_from(["a", "b", "c", "name", "args"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["k", "$k", "x y"]), inner, max_size=2),
    max_leaves=4,
)
arguments = st.dictionaries(st.sampled_from(["p", "q", "$r"]), values, max_size=2)
made_calls = st.builds(ToolCall, names, arguments, values)
trajectories = st.builds(
    lambda calls, output: Trajectory.of(calls, output=output), st.lists(made_calls, max_size=5), values
)
matchers = st.sampled_from([{"$any": True}, {"$gt": 0}, {"$in": [1, "x"]}, {"$absent": True}])
plain = st.dictionaries(st.sampled_from(["p", "q"]), st.integers(0, 2) | matchers, max_size=2)
expected_calls = st.lists(names | st.builds(lambda name, args: {name: args}, names, plain), max_size=5)
calls_forms = expected_calls | st.builds(
    lambda calls, match, args: {"criteria": calls, "match": match, "args": args},
    expected_calls,
    st.sampled_from(["EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET"]),
    st.sampled_from(["subset", "exact", "superset", "ignore"]),
)
some_calls = st.lists(names | st.builds(lambda name, args: {name: args}, names, plain), min_size=1, max_size=4)
expectations = st.fixed_dictionaries(
    {},
    optional={
        "calls": calls_forms,
        "order": st.lists(names, min_size=1, max_size=5),
        "counts": st.dictionaries(names, st.integers(0, 3) | st.sampled_from(["<= 1", ">= 2", "!= 1"]), min_size=1),
        "args": some_calls,
        "outputs": st.lists(st.builds(lambda name, out: {name: out}, names, st.integers()), min_size=1, max_size=3),
        "output": st.integers() | matchers,
    },
)
styles = st.sampled_from(["block", "flow", "json", "line"])


def written(cases: list[dict[str, Any]], style: str) -> str:
    value = {"name": "mine", "cases": cases}
    if style == "block":
        return "# mine\n" + dump_yaml(value)
    if style == "flow":
        return "# mine\nname: mine\ncases:\n" + "".join(f"  - {json.dumps(each)}  # {each['id']}\n" for each in cases)
    return json.dumps(value, indent=2 if style == "json" else None)


@given(st.lists(st.tuples(expectations, trajectories), min_size=1, max_size=3), styles)
def test_every_case_that_is_updated_passes_and_the_others_are_as_they_were(
    drawn: list[tuple[dict[str, Any], Trajectory]], style: str
) -> None:
    cases = [{"id": f"case-{number}", "input": 1, "expect": expect} for number, (expect, _) in enumerate(drawn)]
    text = written(cases, style)
    eval_set = parse_eval_set(text, "evals")
    observed = {each.id: Observed([trajectory]) for each, (_, trajectory) in zip(eval_set.cases, drawn, strict=True)}

    made = accept(text, eval_set, observed)

    after = parse_eval_set(made.after, "evals")
    for old, new, outcome in zip(eval_set.cases, after.cases, made.outcomes, strict=True):
        [trajectory] = observed[old.id].trajectories
        assert judge(new, trajectory).passed == (outcome.kind != "left")
        assert judge(old, trajectory).passed == (outcome.kind == "passes")
        unmade = {"order", "args", "outputs", "output"} & {check.key for check in old.checks}
        assert outcome.kind != "left" or unmade, "calls and counts can always be taken over"
    again = accept(made.after, after, observed)
    assert again.after == made.after


@given(st.lists(trajectories, min_size=1, max_size=4), st.sampled_from(["evals.yaml", "evals.json"]))
def test_a_new_eval_set_is_one_that_its_traces_pass(made: list[Trajectory], path: str) -> None:
    collected = new_eval_set(made, path, "rightcall.case.id")

    eval_set = parse_eval_set(collected.text, path)
    assert [each.id for each in eval_set.cases] == [f"case-{number + 1}" for number in range(len(made))]
    assert all(judge(each, trajectory).passed for each, trajectory in zip(eval_set.cases, made, strict=True))


def test_cases_are_named_by_attribute_by_trace_and_by_input() -> None:
    made = [
        Trajectory.of(["a"], metadata={"rightcall.case.id": "one"}, trace_id="t1"),
        Trajectory.of(["a"], metadata={"rightcall.case.id": "one"}),
        Trajectory.of(["a"], trace_id="t2"),
        Trajectory.of(["a"], input="Find me a laptop!"),
        Trajectory.of(["b"], input="Find me a laptop!"),
        Trajectory.of(["a"], metadata={"rightcall.case.id": "two"}),
        Trajectory.of(["b"], metadata={"rightcall.case.id": "two"}),
    ]

    collected = new_eval_set(made, "evals.yaml", "rightcall.case.id")

    assert [(outcome.case_id, outcome.kind) for outcome in collected.outcomes] == [
        ("one", "updated"),
        ("t2", "updated"),
        ("find-me-a-laptop", "updated"),
        ("find-me-a-laptop-2", "updated"),
        ("two", "left"),
    ]


@pytest.mark.parametrize(
    ("before", "after", "turns"),
    [
        (
            "expect: {calls: [{any_order: [{reserve: {item: P001}}, {search: {query: laptop}}]}]}",
            "expect: {calls: [{any_order: [{reserve: {}}, {search: {query: laptop}}]}]}",
            (None, None),
        ),
        (
            "turns: [{input: a, expect: {calls: [search]}}, {input: b, expect: {calls: [{reserve: {item: P001}}]}}]",
            "turns: [{input: a, expect: {calls: [search]}}, {input: b, expect: {calls: [{reserve: {}}]}}]",
            (0, 1),
        ),
        (
            "turns: [{input: a, expect: {calls: [search]}},"
            " {input: b, expect: {calls: [{optional: [search]}, {steps: [{reserve: {item: P001}}]}]}}]",
            "turns: [{input: a, expect: {calls: [search]}},"
            " {input: b, expect: {calls: [{optional: [search]}, {steps: [{reserve: {}}]}]}}]",
            (0, 1),
        ),
    ],
    ids=["group", "turn", "group in a turn"],
)
def test_an_argument_of_a_call_in_a_group_or_a_turn_is_ignored(
    before: str, after: str, turns: tuple[int | None, ...]
) -> None:
    text = f"cases: [{{id: one, {before}}}]"
    named = [("search", {"query": "laptop"}), ("reserve", {"item": "P010"})]
    calls = [ToolCall(name, args, turn=turn) for (name, args), turn in zip(named, turns, strict=True)]
    ignored = IgnoredArgument("one", "calls", 1, "item")

    made = ignore(text, parse_eval_set(text, "shop.yaml"), ignored, Trajectory(calls=tuple(calls)))

    assert made.after == f"cases: [{{id: one, {after}}}]"
    assert [outcome.kind for outcome in made.outcomes] == ["updated"]
