"""Eval sets of other tools, converted to the native format."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.cases.evalsets import adk_files, uipath_files
from tests.sampling import examples

from rightcall import DocumentError, ToolCall, Trajectory
from rightcall.cases.evalsets import Case, EvalSet, convert_eval_set, dump_yaml, load_eval_set
from rightcall.cases.verdicts import judge
from rightcall.matching.matchers import equal
from rightcall.values.decoding import decode_document

TEXTS = st.text() | st.sampled_from(
    ["no", "12:30", "~", "1e3", "0x1f", "a: b", "- x", "#", "{", "\x85\u2028", "\t", "it's"]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=15,
)
ARGS = st.dictionaries(st.sampled_from(["city", "n"]), st.sampled_from(["Oslo", 1, 2, True]), max_size=2)
CALLS = st.lists(st.tuples(st.sampled_from(["look_up", "book"]), ARGS), max_size=3)
WORDS = st.lists(st.sampled_from(["the", "laptop", "is", "in", "stock", "cats", "running"]), max_size=6).map(" ".join)
TRAJECTORIES = st.builds(
    lambda calls, outputs: Trajectory.of(
        [ToolCall(name, args, 1, turn=number % 3) for number, (name, args) in enumerate(calls)],
        output=outputs[-1],
        turn_outputs=outputs,
    ),
    CALLS,
    st.lists(WORDS | st.fixed_dictionaries({"total": st.sampled_from([8, "8.0", 9])}), min_size=3, max_size=3),
)


def converted(path: Path) -> EvalSet:
    target = path.parent / "converted.yaml"
    target.write_text(convert_eval_set(path), encoding="utf-8")
    return load_eval_set(target)


def outcome(case: Case, trajectory: Trajectory) -> Any:
    result = judge(case, trajectory)
    findings = [(each.expectation, each.finding.code, each.finding.message) for each in result.findings]
    return result.verdict, result.score, [(each.verdict, each.score) for each in result.results], findings


def assert_same(original: EvalSet, twin: EvalSet, trajectory: Trajectory) -> None:
    assert twin.format == "native"
    for before, after in zip(original.cases, twin.cases, strict=True):
        for field in ("id", "name", "description", "input", "turns", "session", "tags", "metadata", "mocks"):
            assert getattr(before, field) == getattr(after, field), field
        assert [(check.key, check.weight) for check in before.checks] == [(c.key, c.weight) for c in after.checks]
        assert outcome(before, trajectory) == outcome(after, trajectory)
    assert original.metadata == twin.metadata


@examples(40)
@given(
    st.lists(st.lists(st.tuples(WORDS, CALLS, WORDS), min_size=1, max_size=3), min_size=1, max_size=3),
    st.sampled_from(
        [None, {"tool_trajectory_avg_score": 0.5}, {"response_match_score": {"threshold": 0.4}, "safety_v1": 1}]
    ),
    st.sampled_from(["EXACT", "IN_ORDER", "ANY_ORDER"]),
    TRAJECTORIES,
)
def test_adk_files_keep_their_verdicts(
    tmp_path_factory: Any, talks: Any, criteria: Any, match_type: str, trajectory: Trajectory
) -> None:
    cases = [
        adk_files.eval_case(*[adk_files.invocation(query, reply, *calls) for query, calls, reply in talk])
        | {
            "eval_id": f"case {number}",
            "session_input": {"app_name": "x", "user_id": query_of(talk)},
            "rubrics": [number],
        }
        for number, talk in enumerate(talks)
    ]
    if criteria is not None:
        criteria = {"tool_trajectory_avg_score": {"threshold": 0.7, "match_type": match_type}, **criteria}
    config = None if criteria is None else {"criteria": criteria}
    path = adk_files.write(tmp_path_factory.mktemp("adk"), adk_files.eval_set(*cases, creation_timestamp=1.5), config)

    assert_same(load_eval_set(path), converted(path), trajectory)


def query_of(talk: Any) -> str:
    return str(talk[0][0])


@examples(40)
@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "Counts": st.none() | st.just({"toolCallsCount": {"look_up": [">=", 1], "book": ["=", 1]}}),
                "OrderEvaluator": st.just({"toolCallsOrder": ["look_up", "book"]}),
                "Args": CALLS.filter(bool).map(
                    lambda calls: {"toolCalls": [{"name": name, "args": args} for name, args in calls]}
                ),
                "Exact": st.sampled_from([{"expectedOutput": {"total": "8.0"}}, {"expectedOutput": {"total": 9}}]),
                "Judge": st.none(),
                "Mine": st.just({"x": 1}),
            },
        ),
        min_size=1,
        max_size=3,
    ),
    TRAJECTORIES,
)
def test_uipath_files_keep_their_verdicts(tmp_path_factory: Any, criterias: Any, trajectory: Trajectory) -> None:
    mocking = {
        "type": "mockito",
        "behaviors": [{"function": "book", "then": [{"type": "return", "value": {"a": None}}]}],
    }
    evaluations = [
        uipath_files.evaluation(
            each, id=f"case {number}", expectedAgentBehavior="No: be 'good'", mockingStrategy=mocking
        )
        for number, each in enumerate(criterias)
    ]
    configs = ["Counts", "Args", {"ref": "Order", "weight": 2.5}, "Exact", "Judge", "Mine"]
    path = uipath_files.write(
        tmp_path_factory.mktemp("uipath"), uipath_files.eval_set(*evaluations, evaluatorConfigs=configs)
    )

    assert_same(load_eval_set(path), converted(path), trajectory)


@pytest.mark.parametrize(
    "name", ["shopping_set.evalset.json", "from_web.evalset.json", "tests_pass/shopping_pass.test.json"]
)
def test_recorded_files_of_adk_convert(tmp_path: Path, name: str) -> None:
    shutil.copytree(adk_files.DATA, tmp_path / "adk")
    path = tmp_path / "adk" / name

    assert_same(load_eval_set(path), converted(path), Trajectory.of([], output="Hello! How can I help you shop today?"))


def test_a_converted_file_reads_like_one_written_by_hand(tmp_path: Path) -> None:
    turn = adk_files.invocation("Find me a laptop", "Found: one", ("search", {"query": "laptop"}), ("stock", {}))
    path = adk_files.write(tmp_path, adk_files.eval_set(adk_files.eval_case(turn)))

    assert (
        convert_eval_set(path)
        == """\
name: Shop
defaults: {parallel: in_order}
evaluators:
  tool_trajectory_avg_score:
    type: tool-trajectory
    config: {match_type: EXACT, args_match: exact, threshold: 1.0}
  response_match_score:
    type: response-match
    config: {threshold: 0.8}
cases:
  - id: one
    input: Find me a laptop
    expect:
      tool_trajectory_avg_score:
        - search: {query: laptop}
        - stock: {}
      response_match_score: "Found: one"
metadata:
  adk: {eval_set_id: shop}
"""
    )


def test_a_native_file_converts_to_itself(tmp_path: Path) -> None:
    shop = Path(__file__).parents[3] / "docs" / "examples" / "shop.yaml"
    (tmp_path / "shop.yaml").write_text(convert_eval_set(shop), encoding="utf-8")

    assert decode_document((tmp_path / "shop.yaml").read_bytes()).value == decode_document(shop.read_bytes()).value


def test_a_file_that_is_wrong_is_not_converted(tmp_path: Path) -> None:
    path = uipath_files.write(tmp_path, uipath_files.eval_set(uipath_files.evaluation({"Nobody": None})))

    with pytest.raises(DocumentError, match="'Nobody' names no evaluator"):
        convert_eval_set(path)


def test_what_yaml_cannot_say_is_written_as_json(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text('{"cases": [{"id": "a", "input": "\\ud800"}]}', encoding="utf-8")

    text = convert_eval_set(path)

    assert json.loads(text)["cases"][0]["input"] == "\ud800"


@given(JSON)
def test_yaml_is_read_back_as_the_same_value(value: Any) -> None:
    assert equal(decode_document(dump_yaml({"key": value}).encode()).value, {"key": value})
