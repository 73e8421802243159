"""Notes on rules that pass because no tool has the name they forbid."""

from pathlib import Path

from rightcall.cases.evalsets import load_eval_set
from rightcall.cases.verdicts import AllCases, ToolNames
from rightcall.values.trajectory import ToolCall, Trajectory, WithheldCall


def notes(folder: Path, cases: str, *made: str) -> list[str]:
    """The notes of cases, where these tools were called."""
    path = folder / "evals.yaml"
    path.write_text(f"cases:\n{cases}")
    names = ToolNames(load_eval_set(path).cases)
    names.add(names.seen_in(made))
    return list(names.notes())


def test_a_forbidden_tool_that_no_trace_has_is_noted_with_the_nearest_name(tmp_path: Path) -> None:
    found = notes(tmp_path, "- {id: a, expect: {never: [Search_KB]}}", "search_kb", "pay")

    assert found == ["note: no trace shows a tool `Search_KB`, which `never` names; did you mean `search_kb`?"]


def test_a_count_that_holds_without_calls_is_noted_and_no_other(tmp_path: Path) -> None:
    counts = '{drop: 0, wipe: "<= 2", pay: ">= 1", book: 1}'

    found = notes(tmp_path, f"- {{id: a, expect: {{counts: {counts}}}}}", "search")

    assert [note.split("`")[1] for note in found] == ["drop", "wipe"]


def test_a_tool_that_was_called_anywhere_is_known(tmp_path: Path) -> None:
    assert notes(tmp_path, "- {id: a, expect: {never: [pay]}}", "pay") == []


def test_a_tool_that_is_mocked_or_expected_in_another_case_is_known(tmp_path: Path) -> None:
    cases = """
- {id: a, expect: {never: [pay, refund]}}
- {id: b, expect: {calls: [pay]}}
- {id: c, expect: {order: [search]}, mocks: {refund: {returns: 1}}}
"""
    assert notes(tmp_path, cases, "search") == []


def test_of_many_unknown_names_ten_are_told_and_the_others_counted(tmp_path: Path) -> None:
    names = ", ".join([f"tool_{number}" for number in range(13)])

    found = notes(tmp_path, f"- {{id: a, expect: {{never: [{names}]}}}}", "search")

    assert len(found) == 11
    assert found[-1] == "note: no trace shows 3 more tools that such rules name"


def test_where_no_call_was_seen_nothing_is_known_about_the_names_of_tools(tmp_path: Path) -> None:
    assert notes(tmp_path, "- {id: a, expect: {never: [pay]}, mocks: {refund: {returns: 1}}}") == []


def test_a_tool_that_is_left_out_and_that_no_trace_has_is_noted_once(tmp_path: Path) -> None:
    cases = """
- {id: a, expect: {calls: {expected: [pay], ignore_tools: [loger]}, steps: {criteria: 1, ignore_tools: [loger, think]}}}
"""

    found = notes(tmp_path, cases, "pay", "logger", "think")

    assert found == ["note: no trace shows a tool `loger`, which `ignore_tools` names; did you mean `logger`?"]


def test_a_step_that_may_be_left_out_is_noted_where_a_similar_tool_was_called(tmp_path: Path) -> None:
    steps = "[login, {optional: receit}, {one_of: [push, pul_request]}, {repeat: pol, at_least: 0}, {repeat: test}]"

    found = notes(
        tmp_path, f"- {{id: a, expect: {{calls: {steps}}}}}", "login", "receipt", "push", "pull_request", "test"
    )

    assert found == ["note: no trace shows a tool `receit`, which `calls` names; did you mean `receipt`?"]


def test_a_step_that_may_be_left_out_and_that_another_rule_names_is_noted(tmp_path: Path) -> None:
    optional, never = "calls: [pay, {optional: wipe}]", "never: [wipe]"

    for cases in (f"{{{optional}, {never}}}", f"{{{never}, {optional}}}"):
        found = notes(tmp_path, f"- {{id: a, expect: {cases}}}", "pay")

        assert found == ["note: no trace shows a tool `wipe`, which `never` names"]


def test_an_alternative_that_no_trace_took_is_not_noted(tmp_path: Path) -> None:
    assert notes(tmp_path, "- {id: a, expect: {calls: [{one_of: [by_mail, by_name]}]}}", "by_name") == []


def test_a_hint_never_names_a_tool_that_the_eval_set_expects(tmp_path: Path) -> None:
    cases = "- {id: a, expect: {calls: [find_by_name, {optional: find_by_game}]}}"

    assert notes(tmp_path, cases, "find_by_name") == []
    assert len(notes(tmp_path, cases, "find_by_names")) == 1


def test_a_call_that_may_be_made_is_noted_where_no_trace_has_its_tool(tmp_path: Path) -> None:
    found = notes(tmp_path, "- {id: a, expect: {calls: {expected: [pay, refnd], match: subset}}}", "pay", "refund")

    assert found == ["note: no trace shows a tool `refnd`, which `calls` names; did you mean `refund`?"]


def test_a_name_with_a_star_is_noted_if_no_tool_fits_it(tmp_path: Path) -> None:
    never = '- {id: a, expect: {never: ["delete_*", "pay_*", "*"]}}'

    found = notes(tmp_path, never, "delete_user", "search")

    assert [note.split("`")[1] for note in found] == ["pay_*"]


def test_a_tool_whose_calls_were_withheld_is_known(tmp_path: Path) -> None:
    path = tmp_path / "evals.yaml"
    path.write_text("cases:\n- {id: a, expect: {never: [pay]}}")
    made = Trajectory(calls=(ToolCall("search"),), withheld=(WithheldCall("pay", {}, "approval was refused"),))

    assert AllCases(load_eval_set(path).cases).tools_in(made) == ("pay", "search")


def test_an_object_in_a_forbidden_call_that_may_be_a_matcher_is_noted(tmp_path: Path) -> None:
    found = notes(tmp_path, "- {id: a, expect: {never: [{refund: {order: {total: {gt: 500}}}}]}}", "refund")

    assert found == ['note: `never` compares {"gt": 500} as an object; did you mean {"$gt": 500}?']


def test_other_objects_in_a_forbidden_call_are_not_noted(tmp_path: Path) -> None:
    calls = "[{find: {type: hotel}}, {find: {by: {type: hotel, in: Rome}}}, {pay: {by: {$literal: {type: card}}}}]"

    assert notes(tmp_path, f"- {{id: a, expect: {{never: {calls}}}}}", "find", "pay") == []
