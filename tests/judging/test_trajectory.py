"""Did the agent take the expected path?"""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.builders import call, calls, expected, judge
from tests.walls import for_each

from rightcall import ConfigurationError, CriteriaError, ToolCall, ToolTrajectoryEvaluator, Trajectory
from rightcall.judging.core import CallScope, NameScope

MATCH_TYPES = ("EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET")
EDGE_CASES = json.loads((Path(__file__).parents[1] / "data" / "adk_edge_cases.json").read_text())

SHOPPING = [
    expected("search_products", query="laptop"),
    expected("get_product_details", product_id="P001"),
    expected("check_inventory", product_id="P001"),
]
SEARCH, DETAILS, INVENTORY = SHOPPING


def trajectory(made: Any, wanted: Any, **config: Any) -> float | None:
    return judge("tool-trajectory", made, {"expected": wanted}, **config).score


@pytest.mark.parametrize(
    ("made", "scores"),
    [
        (SHOPPING, (1, 1, 1, 1, 1)),
        ([SEARCH, expected("search_products", query="gaming laptop"), DETAILS, INVENTORY], (0, 1, 1, 0, 0)),
        ([SEARCH, INVENTORY, DETAILS], (0, 0, 1, 1, 1)),
        ([SEARCH, INVENTORY], (0, 0, 0, 0, 1)),
        ([expected("search_products", query="phone"), DETAILS, INVENTORY], (0, 0, 0, 0, 0)),
        ([], (0, 0, 0, 0, 1)),
    ],
    ids=["as expected", "an extra call", "another order", "a call missing", "another argument", "nothing"],
)
def test_each_match_type_has_its_own_verdict(made: list[Any], scores: tuple[int, ...]) -> None:
    assert tuple(trajectory(made, SHOPPING, match_type=kind) for kind in MATCH_TYPES) == scores


OTHER_THAN_ADK = {
    "int vs bool 1 / true": ("failed", "true is not 1"),
    "NaN vs NaN (distinct objects)": ("passed", "NaN is NaN"),
    "list vs tuple": ("passed", "a tuple is a list in JSON"),
    "expected args missing (None), actual {}": ("passed", "no arguments are no arguments, however written"),
    "expected args missing, actual args missing": ("not_measured", "missing arguments were not recorded"),
}
"""Where our verdict is another one than ADK's, for all its match types, and why."""


def without_ids(made: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in each.items() if key != "id"} for each in made]


@for_each(("case", "kind"), list(product(EDGE_CASES, ["EXACT", "IN_ORDER", "ANY_ORDER"])))
def test_verdicts_equal_those_of_adk_but_for_known_reasons(case: dict[str, Any], kind: str) -> None:
    made, criteria = without_ids(case["actual"]), {"expected": without_ids(case["expected"])}
    adk = "passed" if case["adk"][kind] else "failed"

    verdict = judge("tool-trajectory", made, criteria, match_type=kind, args_match="exact").verdict

    assert verdict == OTHER_THAN_ADK.get(case["label"], (adk, ""))[0]


@for_each(("case", "kind"), list(product(EDGE_CASES, ["EXACT", "IN_ORDER", "ANY_ORDER"])))
def test_verdicts_that_ignore_arguments_equal_those_of_adk(case: dict[str, Any], kind: str) -> None:
    made, criteria = without_ids(case["actual"]), {"expected": without_ids(case["expected"])}

    result = judge("tool-trajectory", made, criteria, match_type=kind, args_match="ignore")

    assert result.passed is case["adk_ignore_args"][kind]


@pytest.mark.parametrize(
    ("policy", "verdicts"),
    [("subset", (1, 1, 0, 0)), ("exact", (1, 0, 0, 0)), ("superset", (1, 0, 1, 0)), ("ignore", (1, 1, 1, 1))],
)
def test_each_argument_policy_has_its_own_verdict(policy: str, verdicts: tuple[int, ...]) -> None:
    wanted = [expected("a", x=1, y=2)]
    made = [call("a", y=2, x=1), call("a", x=1, y=2, z=3), call("a", x=1), call("a", x=9, y=2)]

    assert tuple(trajectory(calls(one), wanted, args_match=policy) for one in made) == verdicts


def test_nothing_expected_means_that_nothing_may_be_called() -> None:
    assert tuple(trajectory(["a"], [], match_type=kind) for kind in MATCH_TYPES) == (0, 1, 1, 0, 0)
    assert tuple(trajectory([], [], match_type=kind) for kind in MATCH_TYPES) == (1, 1, 1, 1, 1)


def test_an_expected_name_alone_expects_no_arguments_where_they_must_be_exact() -> None:
    assert trajectory(calls(call("a", x=1)), ["a"]) == 1.0
    assert trajectory(calls(call("a", x=1)), ["a"], args_match="exact") == 0.0
    assert trajectory(calls(call("a")), ["a"], args_match="exact") == 1.0


@pytest.mark.parametrize("written", ["IN_ORDER", "in_order", "in-order", "In Order"])
def test_match_types_are_read_in_any_spelling(written: str) -> None:
    assert trajectory(["a", "x", "b"], ["a", "b"], match_type=written) == 1.0


def test_criteria_override_the_configuration() -> None:
    made = calls(call("a", x=1), call("b"))
    criteria = {"expected": [expected("b"), expected("a", x=2)], "matchType": "ANY_ORDER", "argsMatch": "ignore"}

    assert judge("tool-trajectory", made, criteria).score == 1.0


TURNS = {"expected_turns": [["a"], ["b", "c"]]}


def turns(*made: tuple[str, int | None]) -> Trajectory:
    return Trajectory.of([ToolCall(name, {}, None, turn=turn) for name, turn in made])


@pytest.mark.parametrize(
    ("made", "score"),
    [
        (turns(("a", 0), ("b", 1), ("c", 1)), 1.0),
        (turns(("a", 0), ("b", 1)), 0.5),
        (turns(("b", 0), ("a", 1)), 0.0),
        (turns(("a", 0), ("b", 1), ("c", 1), ("d", 2)), 2 / 3),
        (Trajectory.of([]), 0.0),
    ],
    ids=["both turns", "one turn", "no turn", "a turn too many", "nothing"],
)
def test_the_score_of_a_conversation_is_the_mean_over_its_turns(made: Trajectory, score: float) -> None:
    assert judge("tool-trajectory", made, TURNS).score == pytest.approx(score)


def test_calls_in_a_turn_too_many_are_extra_calls() -> None:
    made = turns(("a", 0), ("b", 1), ("c", 1), ("d", 2))

    assert judge("tool-trajectory", made, TURNS, match_type="IN_ORDER").score == 1.0
    assert judge("tool-trajectory", made, TURNS, match_type="SUBSET").score == pytest.approx(2 / 3)


def test_turns_that_were_not_recorded_are_not_measured() -> None:
    result = judge("tool-trajectory", turns(("a", None), ("b", None), ("c", None)), TURNS)

    assert result.verdict == "not_measured"
    assert result.findings[-1].message == "the trace does not say which turn each call belongs to"


def test_one_expected_turn_holds_all_calls_of_a_trace_without_turns() -> None:
    assert judge("tool-trajectory", ["a"], {"expected_turns": [["a"]]}).score == 1.0


def test_findings_of_a_conversation_name_the_turn() -> None:
    result = judge("tool-trajectory", turns(("a", 0), ("b", 1)), TURNS)

    assert [finding.message for finding in result.findings] == ["turn 2: `c` was never called"]
    assert result.findings[0].path == "expected_turns[1][1]"


@pytest.mark.parametrize(
    ("made", "scores"),
    [
        ("abc", (1, 1, 1, 1, 1)),
        ("ac", (2 / 3, 2 / 3, 2 / 3, 2 / 3, 1)),
        ("abxc", (3 / 4, 1, 1, 3 / 4, 3 / 4)),
        ("cba", (1 / 3, 1 / 3, 1, 1, 1)),
        ("", (0, 0, 0, 0, 1)),
    ],
)
def test_partial_credit_grades_the_path(made: str, scores: tuple[float, ...]) -> None:
    graded = [trajectory(list(made), list("abc"), match_type=kind, partial_credit=True) for kind in MATCH_TYPES]

    assert graded == pytest.approx(scores)


def test_a_partial_path_passes_from_the_threshold_on() -> None:
    result = judge("tool-trajectory", ["a"], {"expected": ["a", "b"]}, partial_credit=True, threshold=0.5)

    assert (result.verdict, result.score, result.threshold) == ("passed", 0.5, 0.5)


@pytest.mark.parametrize("kind", MATCH_TYPES)
def test_unrecorded_arguments_leave_only_what_does_not_depend_on_them(kind: str) -> None:
    wanted = {"expected": [expected("a", x=1), {"name": "b"}]}

    assert judge("tool-trajectory", ["a", "b"], wanted, match_type=kind).verdict == "not_measured"
    assert judge("tool-trajectory", ["a", "c"], wanted, match_type=kind).verdict == "failed"
    assert judge("tool-trajectory", ["a", "b"], wanted, match_type=kind, args_match="ignore").verdict == "passed"


@pytest.mark.parametrize("kind", ["EXACT", "IN_ORDER"])
def test_calls_whose_order_is_not_known_pass_only_where_every_order_would(kind: str) -> None:
    made = Trajectory(calls=calls(call("a", x=2), call("a", x=1), call("b")).calls, unordered=((0, 2),))
    wanted = [expected("a", x=1), expected("a", x=2), expected("b")]

    def verdict(*expected: Any) -> str:
        return judge("tool-trajectory", made, {"expected": expected}, match_type=kind).verdict

    assert verdict(*wanted) == "not_measured"
    assert verdict(expected("a"), expected("a"), expected("b")) == "passed"
    assert verdict(expected("b"), *wanted[:2]) == "failed"


def test_the_alignment_shows_every_kind_of_difference() -> None:
    made = calls(
        call("search", query="laptop"), call("check", id="P001"), call("details", id="P010"), call("cart", qty=1)
    )
    wanted = [
        expected("search", query="laptop"),
        expected("details", id="P001"),
        expected("check", id="P001"),
        expected("reserve", id="P001"),
    ]
    result = judge("tool-trajectory", made, {"expected": wanted})

    steps = result.details.alignment.steps
    assert [(step.kind, step.expected, step.actual) for step in steps] == [
        ("match", 0, 0),
        ("mismatch", 1, 2),
        ("moved", 2, 1),
        ("missing", 3, None),
        ("extra", None, 3),
    ]
    assert str(steps[1].differences[0]) == '$.id: "P001" ≠ "P010"'
    assert [finding.code for finding in result.findings] == ["RC104", "RC103", "RC101", "RC102"]


@pytest.mark.parametrize(
    ("criteria", "message"),
    [
        ({}, "give either"),
        ({"expected": [], "expected_turns": [[]]}, "give either"),
        ({"expected_turns": []}, "at least one turn"),
        ({"expcted": []}, "did you mean 'expected'"),
        ({"expected": [{"name": "a", "arg": {}}]}, r"'expected\[0\]\.arg'; did you mean 'args'"),
        ({"expected": [{"args": {}}]}, "name' is missing"),
        ({"expected": [5]}, "expected"),
        ({"expected": [{"name": "a", "args": "x"}]}, "arguments are an object"),
        ({"expected": [{"name": "a", "args": {"x": {"$rgx": 1}}}]}, r"expected\[0\]\.args\.x: unknown matcher"),
        ({"expected": [], "match_type": "INORDER"}, "did you mean 'IN_ORDER'"),
        ({"expected": [], "args_match": "loose"}, "unknown argument policy"),
    ],
)
def test_wrong_criteria_are_refused(criteria: dict[str, Any], message: str) -> None:
    with pytest.raises(CriteriaError, match=message):
        ToolTrajectoryEvaluator().evaluate([], criteria)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"matchtype": "EXACT"}, "did you mean 'match_type'"),
        ({"threshold": 1.5}, "at most 1"),
        ({"threshold": float("nan")}, "threshold"),
        ({"threshold": "0.5"}, "a number is expected"),
        ({"partial_credit": "yes"}, "true or false is expected"),
        ("EXACT", "expected an object"),
    ],
)
def test_wrong_configuration_is_refused(config: Any, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ToolTrajectoryEvaluator(config=config)


@pytest.mark.parametrize(
    ("criteria", "scope"),
    [
        ({"expected": ["a", "b"], "args_match": "ignore"}, NameScope(("a", "b"), "equal", extras=True)),
        ({"expected": ["a"], "args_match": "ignore", "match_type": "IN_ORDER"}, NameScope(("a",), "in order")),
        ({"expected_turns": [["a"], ["b"]]}, None),
        ({"expected": [{"any_order": ["a", "b"]}]}, None),
    ],
    ids=str,
)
def test_only_a_plain_list_is_judged_by_names_alone(criteria: dict[str, Any], scope: NameScope | None) -> None:
    evaluator = ToolTrajectoryEvaluator()

    assert evaluator.scope(evaluator.criteria(criteria)) == scope


@pytest.mark.parametrize(
    ("match_type", "others", "order"),
    [
        ("EXACT", True, True),
        ("IN_ORDER", False, True),
        ("ANY_ORDER", False, False),
        ("UNORDERED", True, False),
        ("SUBSET", True, False),
    ],
)
def test_which_calls_and_whether_their_order_counts_depends_on_the_match_type(
    match_type: str, others: bool, order: bool
) -> None:
    evaluator = ToolTrajectoryEvaluator()
    scope = evaluator.scope(evaluator.criteria({"expected": [expected("a", x=1)], "match_type": match_type}))

    assert isinstance(scope, CallScope)
    assert (scope.names, scope.others, scope.order) == (frozenset("a"), others, order)
