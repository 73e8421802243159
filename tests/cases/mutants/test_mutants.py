"""Faults put into trajectories, what cases notice of them, and the lines that would notice the rest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.sampling import examples

from rightcall import ToolCall, Trajectory
from rightcall.cases.evalsets import parse_eval_set
from rightcall.cases.mutants import OPERATORS, Pool, mutants_of, mutate
from rightcall.values.redaction import redacted_trajectory
from rightcall.values.results import MutationReport

SEARCH = ToolCall("search", {"query": "laptop"}, ["P1"])
CHECK = ToolCall("check", {"id": "P1"}, {"in_stock": True})
RESERVE = ToolCall("reserve", {"id": "P1", "quantity": 1}, {"ok": True})
MAIL = ToolCall("mail", {"to": "ann"}, None)
RUN = Trajectory(calls=(SEARCH, CHECK, RESERVE), output="I reserved the Pro Laptop.")

_NAMES = st.sampled_from(["search", "check", "reserve", "mail"])
_ARGS = st.dictionaries(
    st.sampled_from(["id", "n"]), st.one_of(st.integers(0, 3), st.text("ab", max_size=2)), max_size=2
)
_CALLS = st.lists(st.builds(ToolCall, _NAMES, _ARGS, st.none()), max_size=5)
TRAJECTORIES = st.builds(lambda calls, output: Trajectory(calls=tuple(calls), output=output), _CALLS, st.text("xy"))


def tried(expect: dict[str, Any], run: Trajectory = RUN, *others: Trajectory, **options: Any) -> MutationReport:
    """What an eval set notices whose first case expects this of a run; the others expect nothing."""
    cases = [{"id": "case", "expect": expect}]
    cases += [{"id": f"other{number}", "expect": {"counts": {"never_made": 0}}} for number, _ in enumerate(others)]
    text = json.dumps({"cases": cases})
    observed = {"case": [run], **{f"other{number}": [other] for number, other in enumerate(others)}}
    return mutate(parse_eval_set(text, "set.yaml"), observed, text=text, **options).report


def let_pass(report: MutationReport) -> dict[str, str]:
    """The faults of the first case that were let pass, each with the line that would notice it."""
    return {survivor.fault: survivor.line for survivor in report.cases[0].survivors}


@given(TRAJECTORIES, TRAJECTORIES)
@examples(30)
def test_every_mutant_differs_from_the_original_and_from_the_others(run: Trajectory, other: Trajectory) -> None:
    made = mutants_of(run, Pool.of({"run": run, "other": other}))

    seen = [(*[(c.name, c.args, c.output, c.error) for c in each.calls], each.output) for each in _trajectories(made)]
    original = (*[(call.name, call.args, call.output, call.error) for call in run.calls], run.output)
    assert original not in seen
    assert all(one not in seen[place + 1 :] for place, one in enumerate(seen))


@given(TRAJECTORIES)
@examples(30)
def test_a_stricter_case_never_notices_fewer_mutants(run: Trajectory) -> None:
    names = [call.name for call in run.calls]
    loose: dict[str, Any] = {"calls": {"expected": names, "match": "any_order"}}
    ordered = {"calls": {"expected": names, "match": "in_order"}}
    strict = {"calls": [{"name": call.name, "args": call.args} for call in run.calls], "output": run.output}

    noticed = [tried(expect, run, count_all=True).noticed for expect in (loose, ordered, strict)]

    assert noticed == sorted(noticed)


@given(TRAJECTORIES)
@examples(30)
def test_redaction_changes_no_figure(run: Trajectory) -> None:
    expect = {"calls": [call.name for call in run.calls]}
    hidden = redacted_trajectory(run)

    figures = [
        (report.noticed, report.counted, report.set_aside) for report in (tried(expect, run), tried(expect, hidden))
    ]

    assert figures[0] == figures[1]


def _trajectories(mutants: Any) -> list[Trajectory]:
    return [mutant.trajectory for mutant in mutants]


def test_each_operator_makes_the_fault_it_is_named_after() -> None:
    other = Trajectory(calls=(SEARCH, MAIL), output="Sent.")
    made = mutants_of(RUN, Pool.of({"run": RUN, "other": other}))

    told = {operator: next(each.description for each in made if each.operator == operator) for operator in OPERATORS}
    assert told == {
        "drop": "without `search`",
        "repeat": "`search` made twice",
        "swap": "`check` before `search`",
        "other-tool": "`check` instead of `search`",
        "extra": "`mail` called as well",
        "stop-early": "stops after 1 of 3 calls",
        "no-calls": "no calls at all",
        "other-case": "the path of `other`",
        "argument": "another `query` for `search`",
        "argument-missing": "no `query` for `search`",
        "argument-added": "an argument more for `search`",
        "answer": "another final answer",
        "tool-fails": "`search` fails",
        "tool-output": "`search` returns something else",
    }


def test_a_value_that_the_agent_uses_elsewhere_is_put_in() -> None:
    other = Trajectory(calls=(ToolCall("search", {"query": "phone"}, []),))

    assert 'another `query` for `search`: "phone"' in let_pass(tried({"order": ["search"]}, RUN, other))


@pytest.mark.parametrize(
    ("expect", "fault", "line"),
    [
        ({"order": ["search"]}, "no `query` for `search`", "args: [{search: {query: laptop}}]"),
        ({"calls": ["search", "check", "reserve"]}, "no `id` for `check`", "calls: [… {check: {id: P1}}]"),
        ({"args": [{"reserve": {"id": "P1"}}]}, "no `quantity` for `reserve`", "args: [… {reserve: {quantity: 1}}]"),
        ({"order": ["search", "reserve"]}, "`reserve` made twice", "counts: {reserve: 1}"),
        ({"order": ["search", "reserve"]}, "`reserve` before `check`", "rules: [{call: reserve, only_after: check}]"),
        ({"counts": {"search": 1}}, "`check` before `search`", "order: [search, check, reserve]"),
        ({"order": ["search"]}, "another final answer", "output: {$contains: reserved}"),
        ({"order": ["search"]}, "`mail` called as well", "never: [mail]"),
    ],
)
def test_a_survivor_has_the_line_that_notices_it(expect: dict[str, Any], fault: str, line: str) -> None:
    found = let_pass(tried(expect, RUN, Trajectory(calls=(MAIL,))))

    assert found[fault] == line


@pytest.mark.parametrize(
    ("expect", "reason"),
    [
        ({"calls": ["search", {"optional": "check"}, "reserve"]}, "the case says that it may be left out"),
        ({"calls": ["search", {"repeat": "check"}, "reserve"]}, "the case says that it may be repeated"),
        ({"order": ["search"], "counts": {"search": "<= 2"}}, "the case says that it may be repeated"),
        ({"calls": [{"any_order": ["search", "check"]}, "reserve"]}, "the case says that the order is free"),
        ({"calls": [{"search": {"query": {"$any": True}}}, "check", "reserve"]}, "the case lets the value vary"),
        ({"calls": {"expected": ["search"], "ignore_tools": ["check", "reserve"]}}, "the case ignores the tool"),
        ({"calls": {"expected": ["search"], "extra": "others"}}, "the case says that other tools do not matter"),
        ({"calls": ["search", "check", "reserve"]}, "arguments that the case does not name are allowed"),
    ],
)
def test_what_a_case_allows_in_so_many_words_is_set_aside(expect: dict[str, Any], reason: str) -> None:
    assert tried(expect).set_aside.get(reason, 0) > 0
    assert reason not in tried(expect, count_all=True).set_aside


def test_calls_asked_for_at_once_have_no_order_to_notice() -> None:
    both = [ToolCall("search", {}, None, group="g"), ToolCall("check", {}, None, group="g")]

    found = tried({"calls": ["search", "check"]}, Trajectory(calls=tuple(both)))

    assert found.set_aside["the calls were asked for at once"] == 1


def test_an_added_argument_counts_where_arguments_are_exact() -> None:
    expect = {"calls": {"expected": [{"search": {"query": "laptop"}}], "args": "exact"}}

    [case] = tried(expect, Trajectory(calls=(SEARCH,))).cases

    assert case.cells["argument-added"] == (1, 1)


def test_what_somebody_wrote_about_a_tool_is_not_made_stricter() -> None:
    found = let_pass(tried({"order": ["search"], "counts": {"reserve": ">= 1"}, "output": {"$any": True}}))

    assert found["`reserve` made twice"] == ""
    assert found["another final answer"] == ""


def test_faults_of_tools_are_shown_and_not_in_the_score() -> None:
    [case] = tried({"calls": ["search", "check", "reserve"]}).cases

    assert case.cells["tool-fails"] == (0, 3)
    assert case.counted == sum(of for name, (_, of) in case.cells.items() if not name.startswith("tool-"))


def test_a_mutant_that_cannot_be_measured_counts_neither_way() -> None:
    unrecorded = Trajectory(calls=(ToolCall("search"), CHECK))
    expect = {"calls": {"expected": ["search", "check"]}, "outputs": [{"check": {"in_stock": True}}]}

    [case] = tried(expect, unrecorded, operators=("other-tool",)).cases

    assert case.counted + case.unmeasured == 2


def test_two_hundred_mutants_are_drawn_of_more_and_always_the_same() -> None:
    long = Trajectory(calls=tuple(ToolCall(f"t{number}", {"n": number}, None) for number in range(60)))
    expect = {"calls": [call.name for call in long.calls]}

    first, second = tried(expect, long), tried(expect, long)

    assert first == second
    assert first.cases[0].left_out > 0
    made = sum(of for _, of in first.cases[0].cells.values()) + sum(first.set_aside.values())
    assert made == 200


def test_secrets_are_in_no_report() -> None:
    run = Trajectory(calls=(ToolCall("login", {"password": "hunter2-very-secret"}, None),))

    report = tried({"order": ["login"]}, run)

    assert "hunter2" not in repr([(each.fault, each.calls) for each in report.cases[0].survivors])
