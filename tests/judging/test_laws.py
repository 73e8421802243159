"""Laws that hold for every input."""

from typing import Any

from hypothesis import given, strategies as st
from tests.builders import judge
from tests.walls import for_each

from rightcall import EvaluationResult, RightcallError, Trajectory
from rightcall.judging import EVALUATORS

names = st.sampled_from("abc")
arguments = st.dictionaries(st.sampled_from("xy"), st.sampled_from([0, 1, True, "1", None]), max_size=2)
recorded = st.fixed_dictionaries({"name": names, "args": arguments, "output": st.sampled_from([0, 1, "1", {"t": 1}])})
made_calls = st.lists(recorded | st.fixed_dictionaries({"name": names}), max_size=5)
expected_calls = st.lists(st.fixed_dictionaries({"name": names, "args": arguments}), max_size=4)
some_calls = expected_calls.filter(bool)

ORDER_FREE = ("tool-call-args", "tool-precision", "tool-recall", "tool-f1")
KEYS = {"tool-call-args": "tool_calls"}
RECALL_LIKE = ("tool-call-args", "tool-recall")


def score(type_id: str, made: Any, wanted: Any, **config: Any) -> EvaluationResult:
    return judge(type_id, made, {KEYS.get(type_id, "expected"): wanted}, **config)


def outcome(result: EvaluationResult) -> tuple[str, float | None]:
    return result.verdict, result.score


@given(some_calls, made_calls, st.randoms())
@for_each("type_id", ORDER_FREE)
def test_scores_that_ignore_order_do_not_change_when_calls_change_places(
    type_id: str, wanted: list[Any], made: list[Any], random: Any
) -> None:
    shuffled_wanted, shuffled_made = list(wanted), list(made)
    random.shuffle(shuffled_wanted)
    random.shuffle(shuffled_made)

    assert outcome(score(type_id, shuffled_made, shuffled_wanted)) == outcome(score(type_id, made, wanted))


@given(expected_calls, st.lists(recorded, max_size=5), st.sampled_from(["exact", "subset", "superset", "ignore"]))
def test_exact_implies_in_order_implies_any_order(wanted: list[Any], made: list[Any], policy: str) -> None:
    exact, in_order, any_order, unordered, subset = (
        score("tool-trajectory", made, wanted, match_type=kind, args_match=policy).passed
        for kind in ("EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET")
    )

    assert exact <= in_order <= any_order
    assert exact <= unordered
    assert unordered == (any_order and subset and len(made) == len(wanted))


@given(expected_calls, made_calls)
@for_each("kind", ["EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET"])
def test_partial_credit_is_full_exactly_when_the_path_passes(kind: str, wanted: list[Any], made: list[Any]) -> None:
    plain = score("tool-trajectory", made, wanted, match_type=kind)
    graded = score("tool-trajectory", made, wanted, match_type=kind, partial_credit=True)

    assert graded.verdict == plain.verdict


@given(some_calls, made_calls, recorded, st.integers(0, 5))
@for_each("type_id", RECALL_LIKE)
def test_one_more_call_never_lowers_what_was_found(
    type_id: str, wanted: list[Any], made: list[Any], more: Any, place: int
) -> None:
    before = score(type_id, made, wanted)
    after = score(type_id, [*made[:place], more, *made[place:]], wanted)

    assert (after.score or 0.0) >= (before.score or 0.0) or after.verdict == "not_measured"
    assert not (before.passed and not after.passed)


@given(some_calls, st.lists(recorded, max_size=6))
def test_the_names_alone_agree_with_brute_force(wanted: list[Any], made: list[Any]) -> None:
    expected, actual = [each["name"] for each in wanted], [each["name"] for each in made]

    def longest(i: int, j: int) -> int:
        if i == len(expected) or j == len(actual):
            return 0
        if expected[i] == actual[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    result = judge("tool-call-order", actual, {"tool_calls_order": expected})

    assert result.score == longest(0, 0) / len(expected)
    assert len(result.details.lcs) == longest(0, 0)


@given(st.lists(names, min_size=1, max_size=6))
def test_every_sequence_is_itself(sequence: list[str]) -> None:
    for type_id, key in (("tool-call-order", "tool_calls_order"), ("execution-order", "expected_output")):
        assert judge(type_id, sequence, {key: sequence}).score == 1.0
    for type_id in ("tool-precision", "tool-recall", "tool-f1"):
        assert judge(type_id, sequence, {"expected": sequence}).score == 1.0
    for kind in ("EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET"):
        assert score("tool-trajectory", sequence, sequence, match_type=kind).score == 1.0


@given(some_calls, made_calls)
@for_each("type_id", [*ORDER_FREE, "tool-trajectory"])
def test_results_survive_json(type_id: str, wanted: list[Any], made: list[Any]) -> None:
    result = score(type_id, made, wanted)

    assert EvaluationResult.from_json(result.to_json()) == result


@given(some_calls, made_calls)
def test_every_call_stands_in_the_alignment_once(wanted: list[Any], made: list[Any]) -> None:
    steps = score("tool-trajectory", made, wanted).details.alignment.steps

    assert sorted(step.expected for step in steps if step.expected is not None) == list(range(len(wanted)))
    assert sorted(step.actual for step in steps if step.actual is not None) == list(range(len(made)))
    assert all(step.kind != "moved" or step.out_of_place for step in steps)
    assert all(bool(step.differences) <= (step.kind == "mismatch") for step in steps)


@given(some_calls, st.lists(recorded, max_size=5), st.data())
def test_what_is_hidden_can_turn_a_verdict_only_into_not_measured(
    wanted: list[Any], made: list[Any], data: st.DataObject
) -> None:
    hidden = [{"name": each["name"]} if data.draw(st.booleans()) else each for each in made]

    full = score("tool-call-args", made, wanted)
    partly = score("tool-call-args", hidden, wanted)

    assert partly.verdict in (full.verdict, "not_measured")


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(["name", "args", "$any", "$regex", "$gt"]), inner)
        | st.tuples(inner)
    ),
    max_leaves=8,
)
criteria_like = st.dictionaries(
    st.sampled_from(
        [
            "tool_calls_order",
            "tool_calls_count",
            "tool_calls",
            "tool_outputs",
            "expected",
            "expected_turns",
            "never",
            "expected_output",
            "parallel",
            "agent",
        ]
    ),
    anything | st.lists(st.fixed_dictionaries({"name": names, "args": anything, "output": anything}), max_size=2),
    max_size=2,
)


@given(criteria_like, anything | made_calls)
@for_each("type_id", list(EVALUATORS))
def test_nothing_but_our_own_errors_is_raised(type_id: str, criteria: dict[str, Any], made: Any) -> None:
    try:
        result = EVALUATORS[type_id]().evaluate(made, criteria)
    except RightcallError:
        return

    is_without_judge = (result.error or "").startswith("RC601")
    assert result.verdict in ("passed", "failed", "not_measured") or is_without_judge
    assert (result.score is None) == (result.verdict in ("not_measured", "error"))
    assert EvaluationResult.from_json(result.to_json()) == result


@given(made_calls)
def test_judging_changes_nothing(made: list[Any]) -> None:
    trajectory = Trajectory.of(made)
    before = repr(trajectory)

    score("tool-trajectory", trajectory, [{"name": "a", "args": {"x": 1}}]).to_json()

    assert repr(trajectory) == before
