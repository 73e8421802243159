"""Eval sets in UiPath's format."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cases.evalsets.uipath_files import EVALUATORS, eval_set, evaluation, write

from rightcall import (
    CriteriaError,
    DocumentError,
    ToolCall,
    ToolCallArgsEvaluator,
    ToolCallOrderEvaluator,
    Trajectory,
)
from rightcall.cases.evalsets import Case, load_eval_set
from rightcall.cases.verdicts import judge

MADE = Trajectory.of(
    [{"name": "look_up", "args": {"city": "Oslo"}, "output": 1}, {"name": "book", "args": {"n": 2}, "output": 2}],
    output={"total": 8},
)


def the_case(folder: Path, *evaluations: dict[str, Any], **changes: Any) -> Case:
    return load_eval_set(write(folder, eval_set(*evaluations, **changes))).cases[0]


def problem(folder: Path, document: Any, evaluators: dict[str, Any] | None = None) -> str:
    path = write(folder, document, evaluators)
    with pytest.raises(DocumentError) as caught:
        load_eval_set(path)
    return str(caught.value).replace(f"{path.parents[1]}/", "")


def test_criteria_are_judged_by_the_evaluators_beside_the_eval_set(tmp_path: Path) -> None:
    criterias = {
        "Counts": {"toolCallsCount": {"look_up": ["=", 1], "book": [">=", 1]}},
        "Order": {"toolCallsOrder": ["look_up", "book"]},
        "Args": {"toolCalls": [{"name": "look_up", "args": {"city": "Oslo"}}]},
        "Exact": {"expectedOutput": {"total": "8.0"}},
    }
    loaded = load_eval_set(write(tmp_path, eval_set(evaluation(criterias))))
    [case] = loaded.cases

    result = judge(case, MADE)

    assert (loaded.format, loaded.name) == ("uipath", "Bookings")
    assert (case.id, case.name, case.input) == ("one", "One", {"city": "Oslo"})
    assert [(each.evaluator, each.verdict) for each in result.results] == [(key, "passed") for key in criterias]


def test_an_evaluator_is_named_by_its_id_or_by_its_name(tmp_path: Path) -> None:
    case = the_case(tmp_path, evaluation({"CountEvaluator": None, "ExactEvaluator": {"expectedOutput": {"total": 8}}}))

    assert [check.key for check in case.checks] == ["Counts", "Exact"]
    assert judge(case, MADE).passed


@pytest.mark.parametrize("criteria", [None, {}])
def test_null_and_an_empty_object_stand_for_the_default(tmp_path: Path, criteria: Any) -> None:
    case = the_case(tmp_path, evaluation({"Counts": criteria}))

    result = judge(case, Trajectory.of(["book"]))

    assert result.verdict == "failed"
    assert result.findings[0].source.file.endswith("count.json")
    assert result.findings[0].source.excerpt.strip().startswith('"look_up"')


def test_an_empty_default_is_none_and_matters_only_where_it_is_used(tmp_path: Path) -> None:
    message = problem(tmp_path, eval_set(evaluation({"Order": None})))

    assert message == "eval-sets/default.json:19:9: 'Order' was given no criteria, and its configuration has no default"


def test_the_expected_output_of_a_case_serves_the_evaluators_of_answers(tmp_path: Path) -> None:
    case = the_case(tmp_path, evaluation({"Exact": None, "Counts": None}, expectedOutput={"total": 8}))
    other = the_case(tmp_path, evaluation({"Exact": {"expectedOutput": {"total": 9}}}, expectedOutput={"total": 8}))

    assert judge(case, MADE).passed
    assert not judge(other, MADE).passed
    assert case.metadata == {"uipath": {"expectedOutput": {"total": 8}}}


def test_a_call_without_a_tool_id_is_matched_by_name(tmp_path: Path) -> None:
    criterias = {"Args": {"toolCalls": [{"name": "look_up", "args": {"city": "Oslo"}, "id": "7f3c"}]}}

    assert judge(the_case(tmp_path, evaluation(criterias)), MADE).passed


@pytest.mark.parametrize(
    ("expected", "tool_id", "verdict"),
    [
        ({"name": "look_up", "id": "7f3c"}, "7f3c", "passed"),
        ({"name": "renamed since", "id": "7f3c"}, "7f3c", "passed"),
        ({"name": "7f3c"}, "7f3c", "passed"),
        ({"name": "look_up", "id": "7f3c"}, "9a1b", "failed"),
        ({"name": "look_up"}, "9a1b", "failed"),
    ],
    ids=["same id", "another name", "the id as a name", "another id", "a name, not an id"],
)
def test_a_call_with_a_tool_id_is_matched_by_it_alone(
    tmp_path: Path, expected: dict[str, Any], tool_id: str, verdict: str
) -> None:
    case = the_case(tmp_path, evaluation({"Args": {"toolCalls": [{"args": {}, **expected}]}}))
    made = Trajectory.of([ToolCall("look_up", {}, 1, tool_id=tool_id)])

    assert judge(case, made).verdict == verdict


@pytest.mark.parametrize(
    ("written", "called"),
    [("Web Search", "Web_Search"), ("Web  Search (v2)", "Web_Search_v2"), ("x" * 70, "x" * 64)],
    ids=["blanks", "other signs", "long names"],
)
def test_names_are_compared_as_the_runtime_cleans_them(tmp_path: Path, written: str, called: str) -> None:
    order = the_case(tmp_path, evaluation({"Order": {"toolCallsOrder": [written]}}))
    counts = the_case(tmp_path, evaluation({"Counts": {"toolCallsCount": {written: ["=", 1]}}}))

    for case in (order, counts):
        assert judge(case, Trajectory.of([called])).passed
        assert not judge(case, Trajectory.of([f"{called[:-1]}-"])).passed


def test_a_tool_with_one_name_and_two_ids_is_a_mistake(tmp_path: Path) -> None:
    calls: list[Any] = [{"name": "look_up", "args": {}, "id": each} for each in ("7f3c", "9a1b")]

    message = problem(tmp_path, eval_set(evaluation({"Args": {"toolCalls": calls}})))

    assert "'look_up' is expected with different tool ids; give each tool its own name" in message


def test_names_of_our_own_files_stay_exact() -> None:
    evaluator = ToolCallOrderEvaluator()

    assert not evaluator.evaluate(["Web_Search"], {"tool_calls_order": ["Web Search"]}).passed
    with pytest.raises(CriteriaError, match="'id' needs 'tool_names: uipath'"):
        ToolCallArgsEvaluator().criteria({"tool_calls": [{"name": "a", "args": {}, "id": "7f3c"}]})


def test_weights_come_with_the_references(tmp_path: Path) -> None:
    criterias = {"Counts": None, "Order": {"toolCallsOrder": ["look_up", "pay"]}}
    case = the_case(
        tmp_path, evaluation(criterias), evaluatorRefs=[], evaluatorConfigs=["Counts", {"ref": "Order", "weight": 3}]
    )

    assert judge(case, MADE).score == pytest.approx((1 + 3 * 0.5) / 4)


def test_judges_code_and_older_evaluators_are_errors_by_name_and_import_nothing(tmp_path: Path) -> None:
    case = the_case(
        tmp_path, evaluation({"Judge": None, "Mine": {"x": 1}, "Older": None}), evaluatorRefs=["Judge", "Mine", "Older"]
    )

    result = judge(case, MADE)

    assert result.verdict == "error"
    assert [each.finding.message for each in result.findings] == [
        "the judge is not configured: set RIGHTCALL_JUDGE_BASE_URL, RIGHTCALL_JUDGE_API_KEY",
        "'Mine' (file://../evaluators/custom/mine.py:MineEvaluator) was not judged: it is custom code, "
        "which is not imported here",
        "'Older' (legacy-evaluator) is not yet available: it is in UiPath's older form, without a version",
    ]


def test_whatever_has_no_counterpart_is_kept(tmp_path: Path) -> None:
    loaded = load_eval_set(
        write(
            tmp_path,
            eval_set(
                evaluation({"Exact": {"expectedOutput": {"total": 1}}}, evalSetId="7", expectedAgentBehavior="Be good")
            ),
        )
    )

    kept = loaded.metadata["uipath"]

    assert (kept["id"], kept["version"], kept["createdAt"]) == ("set-1", "1.0", "2026-01-01T00:00:00Z")
    assert kept["evaluators"]["Exact"]["evaluatorConfig"] == {"classes": ["a"]}
    assert kept["evaluators"]["Order"]["evaluatorConfig"] == {"defaultEvaluationCriteria": {"toolCallsOrder": []}}
    assert loaded.cases[0].metadata == {"uipath": {"evalSetId": "7"}}
    assert loaded.cases[0].expected_behavior == "Be good"


def mocked(folder: Path, *behaviors: dict[str, Any], key: str = "behaviors") -> Any:
    return the_case(folder, evaluation({}, mockingStrategy={"type": "mockito", key: list(behaviors)})).mocks


def behavior(*then: Any, arguments: Any = None) -> dict[str, Any]:
    answers = [{"type": kind, "value": value} for kind, value in then]
    return {"function": "book", "then": answers} | ({} if arguments is None else {"arguments": arguments})


def test_mocks_become_native_rules(tmp_path: Path) -> None:
    assert mocked(tmp_path, behavior(("return", {"ok": True}), arguments={"args": [], "kwargs": {}})) == {
        "book": [{"returns": {"ok": True}}]
    }
    assert mocked(tmp_path, behavior(("return", 1), ("return", 2)), key="config") == {
        "book": [{"then": [{"returns": 1}, {"returns": 2}]}]
    }
    assert mocked(tmp_path, behavior(("raise", {"_target_": "builtins.KeyError"}), arguments={"kwargs": {"n": 1}})) == {
        "book": [{"when": {"n": 1}, "raises": {"type": "KeyError"}}]
    }
    mixed = behavior(("return", 1), ("raise", {"_target_": "shop.SoldOut"}), arguments={"args": ["P1"]})
    assert mocked(tmp_path, mixed) == {
        "book": [{"positional": ["P1"], "then": [{"returns": 1}, {"raises": {"type": "shop.SoldOut"}}]}]
    }
    assert mocked(tmp_path, behavior(("raise", "no luck"))) == {
        "book": [{"raises": {"type": "Exception", "message": "no luck"}}]
    }


def test_the_last_behaviour_that_fits_comes_first(tmp_path: Path) -> None:
    anything = {"kwargs": {"n": {"_target_": "mockito.any_"}}}
    rules = mocked(tmp_path, behavior(("return", 1)), behavior(("return", 2), arguments=anything))

    assert rules == {"book": [{"when": {"n": {"$any": True}}, "returns": 2}, {"returns": 1}]}


def test_a_tool_that_a_model_should_simulate_is_never_run(tmp_path: Path) -> None:
    strategy = {"type": "llm", "prompt": "Make it up", "toolsToSimulate": [{"name": "book"}]}
    case = the_case(
        tmp_path,
        evaluation({"Counts": None}, mockingStrategy=strategy, inputMockingStrategy={"prompt": "Make it up, too"}),
    )

    result = judge(case, MADE)

    assert case.mocks["book"]["raises"]["type"] == "NotImplementedError"
    assert result.verdict == "error"
    assert [each.expectation for each in result.findings] == ["llm-mocking", "input-mocking"]
    assert case.metadata["uipath"]["mockingStrategy"] == strategy


def with_order(**changes: Any) -> dict[str, Any]:
    return {"order.json": {**EVALUATORS["order.json"], **changes}}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            eval_set(evaluation({"Ordr": {"toolCallsOrder": ["a"]}})),
            "19:9: 'Ordr' names no evaluator of this eval set; did you mean 'Order'?",
        ),
        (
            eval_set(evaluation({"Order": {"toolCallsOrdr": ["a"]}})),
            "20:11: unknown key 'toolCallsOrdr'; did you mean 'tool_calls_order'?",
        ),
        (
            eval_set(evaluation({"Order": {"toolCallsOrder": [5]}})),
            "21:13: criteria of 'Order': tool_calls_order[0]: a string is expected, not 5",
        ),
        (
            eval_set(evaluation({"Order": None, "OrderEvaluator": {"toolCallsOrder": ["a"]}})),
            "20:9: 'OrderEvaluator' already has criteria",
        ),
        (eval_set(evaluation({"Order": 5})), "19:9: criteria are an object or null, not 5"),
        (eval_set(evaluation({}), evaluatorRefs=["Ordr"]), "6:5: no evaluator in"),
        (eval_set(evaluation({}), evaluatorRefs=["Order", "Order"]), "7:5: the evaluator 'Order' is referred to twice"),
        (
            eval_set(evaluation({}), evaluatorConfigs=[{"ref": "Order", "weight": -1}]),
            "23:5: a weight is a number of 0 or more, not -1",
        ),
        (
            eval_set(evaluation({}), evaluatorConfigs=[{"reff": "Order"}]),
            "24:7: unknown key 'reff'; did you mean 'ref'?",
        ),
        (eval_set(evaluation({}), evaluation({})), "21:7: the id 'one' is already used by the case on line 13"),
        (
            eval_set({"id": "a", "name": "a", "inputs": {}, "evaluationCriteria": {}}),
            "16:7: unknown key 'evaluationCriteria'; did you mean 'evaluationCriterias'?",
        ),
        (eval_set({"id": "a", "inputs": {}}), "12:5: 'evaluationCriterias' is missing"),
        (eval_set({"name": "a", "inputs": {}}), "12:5: 'id' is missing"),
        (eval_set({"id": "a", "input": {}, "evaluationCriterias": {}}), "14:7: unknown key 'input'; did you mean"),
        (eval_set(evaluations=[5]), "12:5: an object is expected, not 5"),
        (eval_set(version="2.0"), "2:3: the version is '2.0'; only \"1.0\" is supported"),
        ({"evaluations": []}, "1:1: UiPath's older eval sets"),
        (eval_set(), "11:3: 'cases' is empty"),
        (
            eval_set(evaluation({}, mockingStrategy={"type": "magic"})),
            "20:9: a mocking strategy is 'mockito' or 'llm', not 'magic'",
        ),
        (
            eval_set(
                evaluation({}, mockingStrategy={"type": "mockito", "behaviors": [behavior(("give", 1))]}),
            ),
            "26:17: a mock returns or raises, it cannot 'give'",
        ),
        (
            eval_set(
                evaluation(
                    {},
                    mockingStrategy={"type": "mockito", "behaviors": [behavior(("return", {"_target_": "os.system"}))]},
                ),
            ),
            "'_target_' names code to run, 'os.system'",
        ),
    ],
    ids=lambda value: value[:60] if isinstance(value, str) else "",
)
def test_a_mistake_is_told_with_line_and_column(tmp_path: Path, document: Any, message: str) -> None:
    reported = problem(tmp_path, document)

    assert reported.startswith("eval-sets/default.json:")
    assert message in reported


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"evaluatorTypeId": "uipath-tool-cal-order"}, "order.json:4:3: no evaluator has the type id"),
        ({"evaluatorConfig": {"strct": True}}, "order.json:6:5: unknown key 'strct'; did you mean 'strict'?"),
        ({"evaluatorConfig": {"strict": "yes"}}, "order.json:5:3: configuration of 'Order': strict: true or false"),
        ({"evaluatorSchema": "file://nowhere.py:X"}, "order.json:12:3: no file 'nowhere.py' in"),
        ({"evaluatorSchema": "file://mine.py"}, "order.json:12:3: code is named as file://x.py:Class"),
        ({"id": 5}, "order.json:3:3: id: a string is expected, not 5"),
    ],
)
def test_a_mistake_in_an_evaluator_is_told_in_its_own_file(tmp_path: Path, changes: Any, message: str) -> None:
    document = eval_set(evaluation({"Order": {"toolCallsOrder": ["a"]}}), evaluatorRefs=["Order"])

    assert problem(tmp_path, document, with_order(**changes)).startswith(f"evaluators/{message}")


def test_two_evaluators_with_one_id_are_refused(tmp_path: Path) -> None:
    twice = {**EVALUATORS, "z.json": EVALUATORS["order.json"]}

    assert "z.json:3:3: the id 'Order' is already used by the evaluator in" in problem(tmp_path, eval_set(), twice)


def test_a_missing_folder_of_evaluators_is_told_at_the_references(tmp_path: Path) -> None:
    path = tmp_path / "sets" / "default.json"
    path.parent.mkdir()
    path.write_text(json.dumps(eval_set(evaluation({})), indent=2))

    with pytest.raises(
        DocumentError, match=r"default\.json:5:3: the folder of the evaluators is missing: .*evaluators"
    ):
        load_eval_set(path)


def test_an_eval_set_without_evaluators_needs_no_folder(tmp_path: Path) -> None:
    path = tmp_path / "default.json"
    path.write_text(json.dumps(eval_set(evaluation({}), evaluatorRefs=[])))

    [case] = load_eval_set(path).cases

    assert judge(case, MADE).verdict == "not_measured"
