"""Eval sets and test files in ADK's formats."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cases.evalsets.adk_files import DATA, content, eval_case, eval_set, invocation, write

from rightcall import CaseResult, DocumentError, Trajectory
from rightcall.cases.evalsets import Case, load_eval_set
from rightcall.cases.verdicts import judge

SEARCH, DETAILS, STOCK = (
    ("search_products", {"query": "laptop"}),
    ("get_product_details", {"product_id": "P001"}),
    ("check_inventory", {"product_id": "P001"}),
)
CASES = {
    "exact match": [SEARCH, DETAILS, STOCK],
    "extra tool in between": [SEARCH, ("search_products", {"query": "gaming laptop"}), DETAILS, STOCK],
    "wrong order": [SEARCH, STOCK, DETAILS],
    "missing tool": [SEARCH, STOCK],
    "wrong argument": [("search_products", {"query": "phone"}), DETAILS, STOCK],
}
ANSWER = "I found the Pro Laptop for $1299. It is in stock."


def made(*calls: tuple[str, dict[str, Any]], output: Any = ANSWER, turn: int | None = None) -> Trajectory:
    return Trajectory.of([{"name": name, "args": args, "turn": turn} for name, args in calls], output=output)


def the_case(folder: Path, document: Any, config: Any = None, name: str = "shop.evalset.json") -> Case:
    return load_eval_set(write(folder, document, config, name)).cases[0]


def problem(folder: Path, document: Any, config: Any = None) -> str:
    path = write(folder, document, config)
    with pytest.raises(DocumentError) as caught:
        load_eval_set(path)
    return str(caught.value).replace(f"{path.parent}/", "")


def verdicts(result: CaseResult) -> dict[str, str]:
    return {each.evaluator: each.verdict for each in result.results}


@pytest.mark.parametrize(
    ("config", "passing"),
    [
        ("exact", ["exact match"]),
        ("bare_float", ["exact match"]),
        ("in_order", ["exact match", "extra tool in between"]),
        ("any_order", ["exact match", "extra tool in between", "wrong order"]),
        ("exact_ignore_args", ["exact match", "wrong argument"]),
    ],
)
def test_the_five_situations_have_the_verdicts_of_each_match_type(
    tmp_path: Path, config: str, passing: list[str]
) -> None:
    shutil.copy(DATA / "configs" / f"{config}.json", tmp_path / "test_config.json")
    case = the_case(tmp_path, eval_set(eval_case(invocation("Find me a laptop", ANSWER, SEARCH, DETAILS, STOCK))))

    passed = [name for name, calls in CASES.items() if judge(case, made(*calls)).passed]

    assert passed == passing


def test_without_a_configuration_calls_are_exact_and_words_reach_four_fifths(tmp_path: Path) -> None:
    case = the_case(tmp_path, eval_set(eval_case(invocation("Find me a laptop", ANSWER, SEARCH))))

    assert [(check.key, check.evaluator.config.threshold) for check in case.checks] == [
        ("tool_trajectory_avg_score", 1.0),
        ("response_match_score", 0.8),
    ]
    assert judge(case, made(SEARCH)).passed
    assert not judge(case, made(("search_products", {"query": "laptop", "limit": 5}))).passed
    assert verdicts(judge(case, made(SEARCH, output="Yes, the Pro Laptop is in stock."))) == {
        "tool_trajectory_avg_score": "passed",
        "response_match_score": "failed",
    }


def test_one_turn_is_an_input_and_several_are_turns(tmp_path: Path) -> None:
    session = {"app_name": "shop", "user_id": "u1", "state": {"day": "Monday"}}
    single = the_case(tmp_path, eval_set(eval_case(invocation("Hi", "Hello"), session_input=session)))
    several = the_case(tmp_path, eval_set(eval_case(invocation("Hi", "Hello"), invocation("Find", ANSWER, SEARCH))))

    assert (single.input, single.turns, single.session) == ("Hi", (), session)
    assert (several.input, several.turns) == (None, ("Hi", "Find"))


def test_the_score_is_the_mean_over_the_turns(tmp_path: Path) -> None:
    talk = eval_case(invocation("Hi", "Hello"), invocation("Find", ANSWER, SEARCH), invocation("Bye", "Goodbye"))
    case = the_case(
        tmp_path, eval_set(talk), {"criteria": {"tool_trajectory_avg_score": 0.6, "response_match_score": 0.6}}
    )
    calls = [{"name": "search_products", "args": {"query": "phone"}, "turn": 1}]

    result = judge(case, Trajectory.of(calls, turn_outputs=["Hello", "Sorry", "Goodbye"]))

    assert [each.score for each in result.results] == [pytest.approx(2 / 3)] * 2
    assert result.passed


def test_a_finding_points_at_the_call_or_the_answer_it_is_about(tmp_path: Path) -> None:
    case = the_case(tmp_path, eval_set(eval_case(invocation("Hi", "Hello"), invocation("Find", ANSWER, SEARCH, STOCK))))

    result = judge(
        case,
        Trajectory.of(
            [{"name": "search_products", "args": {"query": "laptop"}, "turn": 1}], turn_outputs=["Hello", "Sorry"]
        ),
    )

    places = [(each.finding.code, each.source.excerpt.strip()) for each in result.findings]
    assert places == [
        ("RC101", '"name": "check_inventory", "args": {"product_id": "P001"}'),
        ("RC108", '"final_response": {'),
    ]
    assert "turn 2: `check_inventory" in result.findings[0].finding.message


def test_events_and_camel_case_are_understood(tmp_path: Path) -> None:
    events = {
        "invocationEvents": [
            {
                "author": "shop",
                "content": {"role": "model", "parts": [{"functionCall": {"name": "a", "args": {"x": 1}}}]},
            },
            {"author": "shop", "content": {"role": "user", "parts": [{"functionResponse": {"name": "a"}}]}},
            {"author": "shop"},
            {"author": "shop", "content": {"role": "model", "parts": [{"text": "…"}, {"functionCall": {"name": "b"}}]}},
        ]
    }
    turn = {"userContent": content("Go"), "finalResponse": content("Done", "model"), "intermediateData": events}
    document = {"evalSetId": "s", "evalCases": [{"evalId": "one", "conversation": [turn]}]}

    case = the_case(tmp_path, document, {"criteria": {"tool_trajectory_avg_score": {"threshold": 1, "matchType": 1}}})

    assert case.id == "one"
    assert judge(case, made(("a", {"x": 1}), ("c", {}), ("b", {}))).passed
    assert not judge(case, made(("a", {"x": 1}), ("b", {"y": 1}))).passed
    assert (
        case.metadata["adk"]["conversation"][0]["intermediate_data"]["invocation_events"] == events["invocationEvents"]
    )


def test_contents_that_are_more_than_a_text_are_kept_whole(tmp_path: Path) -> None:
    user = {
        "role": "user",
        "parts": [{"text": "What is this?"}, {"inline_data": {"mime_type": "image/png", "data": ""}}],
    }
    answer = {"role": "model", "parts": [{"text": "A laptop"}, {"text": "A fine one"}, {"thought": True}]}
    case = the_case(tmp_path, eval_set(eval_case({"user_content": user, "final_response": answer})))

    assert case.input == user
    assert case.metadata["adk"]["conversation"][0]["final_response"] == answer
    assert judge(case, made(output="A laptop, a fine one")).passed


def test_nothing_expected_of_calls_means_no_calls_and_no_answer_an_empty_one(tmp_path: Path) -> None:
    case = the_case(tmp_path, eval_set(eval_case({"user_content": content("Hi")})))

    assert verdicts(judge(case, made(SEARCH))) == {
        "tool_trajectory_avg_score": "failed",
        "response_match_score": "failed",
    }
    assert judge(case, made(output="")).passed


OLD_TURN = {
    "query": "Find me a laptop",
    "expected_tool_use": [{"tool_name": "search_products", "tool_input": {"query": "laptop"}, "mock_tool_output": 1}],
    "expected_intermediate_agent_responses": [{"author": "a", "text": "…"}],
    "reference": ANSWER,
}


@pytest.mark.parametrize(
    ("document", "case_id"),
    [
        ([OLD_TURN], "shop"),
        ([{"name": "laptop", "data": [OLD_TURN], "initial_session": {"state": {"a": 1}, "app_name": "x"}}], "laptop"),
    ],
    ids=["test file", "eval set"],
)
def test_both_older_lists_are_read(tmp_path: Path, document: Any, case_id: str) -> None:
    loaded = load_eval_set(write(tmp_path, document, name="shop.test.json"))
    [case] = loaded.cases

    assert (loaded.format, case.id, case.input) == ("adk", case_id, "Find me a laptop")
    assert judge(case, made(SEARCH)).passed
    assert not judge(case, made(STOCK)).passed
    [kept] = case.metadata["adk"]["conversation"]
    assert kept["expected_tool_use"] == OLD_TURN["expected_tool_use"]
    assert kept["expected_intermediate_agent_responses"] == [{"author": "a", "text": "…"}]
    assert case.session == (None if case_id == "shop" else {"state": {"a": 1}, "app_name": "x"})


@pytest.mark.parametrize(
    ("name", "cases", "checks"),
    [
        ("shopping_set.evalset.json", 9, 18),
        ("from_web.evalset.json", 1, 2),
        ("tests_pass/shopping_pass.test.json", 2, 4),
    ],
)
def test_files_that_adk_wrote_load_as_they_are(name: str, cases: int, checks: int) -> None:
    loaded = load_eval_set(DATA / name)

    assert loaded.format == "adk"
    assert (len(loaded.cases), sum(len(case.checks) for case in loaded.cases)) == (cases, checks)


@pytest.mark.parametrize(
    ("metric", "reason"),
    [
        ("safety_v1", "it needs a service in the cloud"),
        ("hallucinations_v1", "it needs a judge of its own"),
        ("token_usage_v1", "it reports a figure, and takes no threshold"),
    ],
)
def test_a_metric_that_is_not_available_is_an_error_that_says_so(tmp_path: Path, metric: str, reason: str) -> None:
    config = {"criteria": {"tool_trajectory_avg_score": 1.0, metric: {"threshold": 0.5, "judge_model_options": {}}}}
    case = the_case(tmp_path, eval_set(eval_case(invocation("a", "b"), invocation("c", "d"))), config)

    result = judge(case, Trajectory.of([]))

    assert (result.verdict, result.score) == ("error", None)
    assert [each.finding.message for each in result.findings] == [f"{metric!r} is not yet available: {reason}"]


def test_metrics_of_the_users_own_and_simulated_users_are_not_available_either(tmp_path: Path) -> None:
    config = {"criteria": {"mine": 0.5}, "custom_metrics": {"mine": {"code_config": {"name": "os.system"}}}}
    scenario = {"eval_id": "two", "conversation_scenario": {"starting_prompt": "Hi", "conversation_plan": "…"}}
    loaded = load_eval_set(write(tmp_path, eval_set(eval_case(invocation("a", "b")), scenario), config))

    results = [judge(case, Trajectory.of([])) for case in loaded.cases]

    assert [result.verdict for result in results] == ["error", "error"]
    assert [result.findings[0].expectation for result in results] == ["mine", "user-simulation"]
    assert loaded.cases[1].input == "Hi"
    assert loaded.metadata["adk"]["test_config"] == config


GOOD = eval_case(invocation("Hi", "Hello", SEARCH))


@pytest.mark.parametrize(
    ("document", "config", "message"),
    [
        (eval_set(GOOD, GOOD), None, "shop.evalset.json:39:7: the id 'one' is already used by the case on line 6"),
        (eval_set({"eval_idd": "x", "conversation": []}), None, "6:7: unknown key 'eval_idd'; did you mean"),
        (eval_set({"conversation": []}), None, "5:5: 'eval_id' is missing"),
        (eval_set({"eval_id": "x"}), None, "5:5: a case has either 'conversation' or 'conversation_scenario'"),
        (eval_set({"eval_id": "x", "conversation": []}), None, "7:7: 'conversation' is empty"),
        (eval_set({"eval_id": "x", "conversation": [{}]}), None, "8:9: 'user_content' is missing"),
        (
            eval_set({"eval_id": "x", "conversation": [{"user_contents": {}}]}),
            None,
            "9:11: unknown key 'user_contents'",
        ),
        (
            eval_set(eval_case(invocation("Hi", "a", ("", {})))),
            None,
            "tool_trajectory_avg_score[0].name: a tool's name",
        ),
        (
            eval_set(eval_case(invocation("Hi", "a", intermediate_data={"tool_uses": [{"name": "a", "args": 5}]}))),
            None,
            "29:17: arguments are an object, not 5",
        ),
        (
            eval_set(eval_case(invocation("Hi", "a", intermediate_data={"tool_uses": [{"nam": "a"}]}))),
            None,
            "28:17: unknown key 'nam'; did you mean 'name'?",
        ),
        (eval_set(eval_cases=5), None, "4:3: eval_cases: a list is expected, not 5"),
        ({"eval_set_id": "x", "eval_case": []}, None, "3:3: unknown key 'eval_case'; did you mean 'eval_cases'?"),
        ([{"query": 5}], None, "3:5: query: a string is expected, not 5"),
        ([{"name": "a", "data": [{"quer": "x"}]}], None, "6:9: unknown key 'quer'; did you mean 'query'?"),
        (
            eval_set(GOOD),
            {"criteria": {"tool_trajectory_avg_scor": 1}},
            "test_config.json:3:5: no metric is called 'tool_trajectory_avg_scor'; did you mean 'tool_trajectory",
        ),
        (eval_set(GOOD), {"criteria": {"response_match_score": 2}}, "test_config.json:3:5: a threshold is a number"),
        (eval_set(GOOD), {"criteria": {"response_match_score": {}}}, "test_config.json:3:5: 'threshold' is missing"),
        (
            eval_set(GOOD),
            {"criteria": {"response_match_score": {"threshold": 1, "match_type": "EXACT"}}},
            "test_config.json:5:7: unknown key 'match_type'; known: threshold",
        ),
        (
            eval_set(GOOD),
            {"criteria": {"tool_trajectory_avg_score": {"threshold": 1, "match_type": "SIDEWAYS"}}},
            "test_config.json:5:7: unknown match type 'SIDEWAYS'; known: EXACT, IN_ORDER, ANY_ORDER",
        ),
        (
            eval_set(GOOD),
            {"criteria": {"tool_trajectory_avg_score": {"threshold": 1, "ignore_args": "yes"}}},
            "test_config.json:5:7: ignore_args is true or false, not 'yes'",
        ),
        (
            eval_set(GOOD),
            {"criteria": {"tool_trajectory_avg_score": {"threshold": 1, "ignore_arg": True}}},
            "test_config.json:5:7: unknown key 'ignore_arg'; did you mean",
        ),
        (eval_set(GOOD), {"criterias": {}}, "test_config.json:2:3: unknown key 'criterias'; did you mean 'criteria'?"),
        (eval_set(GOOD), "{", "test_config.json:1:2:"),
    ],
    ids=lambda value: value[:70] if isinstance(value, str) else "",
)
def test_a_mistake_is_told_with_file_line_and_column(tmp_path: Path, document: Any, config: Any, message: str) -> None:
    assert message in problem(tmp_path, document, config)


OTHER_THAN_ADK = {
    "int vs bool 1 / true",  # true is not 1
    "NaN vs NaN (distinct objects)",  # NaN is NaN
    "list vs tuple",  # a tuple is a list in JSON
    "expected args missing (None), actual {}",  # no arguments are no arguments, however written
}


@pytest.mark.parametrize(("ignored", "verdict"), [(False, "adk"), (True, "adk_ignore_args")])
@pytest.mark.parametrize("match_type", ["EXACT", "IN_ORDER", "ANY_ORDER"])
def test_verdicts_of_files_are_those_of_adk(tmp_path: Path, match_type: str, ignored: bool, verdict: str) -> None:
    pairs = json.loads((DATA.parent / "adk_edge_cases.json").read_text(encoding="utf-8"))
    turns = [{"user_content": content("x"), "intermediate_data": {"tool_uses": pair["expected"]}} for pair in pairs]
    document = eval_set(*[eval_case(turn) | {"eval_id": str(number)} for number, turn in enumerate(turns)])
    criterion = {"threshold": 1.0, "match_type": match_type, "ignore_args": ignored}
    loaded = load_eval_set(write(tmp_path, document, {"criteria": {"tool_trajectory_avg_score": criterion}}))

    calls = [[(call["name"], call.get("args") or {}) for call in pair["actual"]] for pair in pairs]
    passed = [judge(case, made(*actual)).passed for case, actual in zip(loaded.cases, calls, strict=True)]
    wrong = [pair["label"] for pair, ours in zip(pairs, passed, strict=True) if ours != pair[verdict][match_type]]

    assert len(pairs) == 42
    assert set(wrong) <= (set() if ignored else OTHER_THAN_ADK)


def test_judged_responses_are_right_or_wrong_by_the_majority_of_five(tmp_path: Path) -> None:
    options = {"judge_model": "some-model", "num_samples": 4}
    config = {"criteria": {"final_response_match_v2": {"threshold": 0.5, "judge_model_options": options}}}
    case = the_case(tmp_path, eval_set(eval_case(invocation("a", "b"), invocation("c", "d"))), config)

    [check] = case.checks

    assert check.evaluator.type_id == "llm-judge-output"
    assert (check.evaluator.config.model, check.evaluator.config.samples) == ("some-model", 5)
    assert [rubric.id for rubric in check.evaluator.config.rubrics] == ["same"]
    assert check.criteria.expected_turns == ("b", "d")


@pytest.mark.parametrize("turns", [1, 2])
@pytest.mark.parametrize(
    ("metric", "type_id"),
    [
        ("rubric_based_final_response_quality_v1", "llm-judge-output"),
        ("rubric_based_tool_use_quality_v1", "llm-judge-trajectory"),
    ],
)
def test_rubrics_judge_the_whole_conversation(tmp_path: Path, metric: str, type_id: str, turns: int) -> None:
    rubrics = [{"rubric_id": "polite", "rubric_content": {"text_property": "It is polite."}}]
    config = {"criteria": {"response_match_score": 0.8, metric: {"threshold": 0.9, "rubrics": rubrics}}}
    said = [invocation("a", "b"), invocation("c", "d")][:turns]
    case = the_case(tmp_path, eval_set(eval_case(*said)), config)

    [judge] = [check.evaluator for check in case.checks if check.key == metric]

    assert len(case.checks) == 2
    assert (judge.type_id, judge.config.threshold, judge.config.samples) == (type_id, 0.9, 5)
    assert [(rubric.id, rubric.text) for rubric in judge.config.rubrics] == [("polite", "It is polite.")]


@pytest.mark.parametrize(
    ("criterion", "message"),
    [
        ({"threshold": 0.5}, "'rubrics' is missing"),
        ({"threshold": 0.5, "rubrics": []}, "'rubrics' is empty"),
        ({"threshold": 0.5, "rubrics": [{"rubric_id": "a"}]}, "'rubric_content' is missing"),
        ({"threshold": 0.5, "rubrics": [], "judge_model_options": {"num_samples": 0}}, "num_samples is a number"),
        ({"rubrics": []}, "a threshold is a number"),
    ],
)
def test_mistakes_in_the_criteria_of_judges_are_told(tmp_path: Path, criterion: dict[str, Any], message: str) -> None:
    config = {"criteria": {"rubric_based_tool_use_quality_v1": criterion}}

    with pytest.raises(DocumentError, match=message):
        the_case(tmp_path, eval_set(eval_case(invocation("a", "b"))), config)
