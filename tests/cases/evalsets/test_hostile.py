"""Any file loads, or is a mistake with a position."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.cases.evalsets import adk_files, uipath_files
from tests.sampling import examples

from rightcall import DocumentError, Trajectory
from rightcall.cases.evalsets import EvalSet, convert_eval_set, load_eval_set
from rightcall.cases.verdicts import judge
from rightcall.values.decoding import decode_document

ROOT = Path(__file__).parents[3]
MOCKING = {
    "type": "mockito",
    "behaviors": [
        {
            "function": "book",
            "arguments": {"args": [1], "kwargs": {"n": 1}},
            "then": [{"type": "return", "value": 1}, {"type": "raise", "value": {"_target_": "builtins.KeyError"}}],
        }
    ],
}
UIPATH = uipath_files.eval_set(
    uipath_files.evaluation(
        {
            "Counts": {"toolCallsCount": {"a": ["=", 1]}},
            "Args": {"toolCalls": [{"name": "a", "args": {"x": 1}}]},
            "Exact": {"expectedOutput": {"total": 1}},
        },
        mockingStrategy=MOCKING,
    ),
    evaluatorConfigs=["Counts", {"ref": "Args", "weight": 2}, "Exact"],
)
ADK = adk_files.eval_set(
    adk_files.eval_case(adk_files.invocation("a", "b", ("t", {"x": 1})), adk_files.invocation("c", None)),
    {"eval_id": "two", "conversation_scenario": {"starting_prompt": "x", "conversation_plan": "y"}},
)
EVENTS = json.loads((adk_files.DATA / "from_web.evalset.json").read_text(encoding="utf-8"))
OLDER = [{"name": "a", "data": [{"query": "q", "expected_tool_use": [{"tool_name": "t", "tool_input": {}}]}]}]
CONFIG = {
    "criteria": {"tool_trajectory_avg_score": {"threshold": 1, "match_type": "EXACT"}, "response_match_score": 0.5}
}
NATIVE = decode_document((ROOT / "docs" / "examples" / "shop.yaml").read_bytes()).value
VALUES: Any = st.sampled_from(
    [
        *(None, True, 0, -1, 2.5, 10**30, float("nan"), "", "x", "*", "file://x.py:Y", "\ud800"),
        *([], [1], [[]], ["a"], [{}], {}, {"a": 1}, {"$regex": "("}, {"$any": True}),
        *({"name": "x"}, {"type": "mockito"}, {"criteria": None}),
    ]
)


@st.composite
def damaged(draw: Any, document: Any) -> Any:
    """A document with one value replaced, renamed or taken out, anywhere in it."""
    changed = copy.deepcopy(document)
    place = changed
    while True:
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        inside = place[key]
        if isinstance(inside, (dict, list)) and inside and draw(st.booleans()):
            place = inside
            continue
        if isinstance(place, dict) and draw(st.integers(0, 3)) == 0:
            place[draw(st.sampled_from([key + "x", key[:-1], "criteria", "name"]))] = place.pop(key)
        else:
            place[key] = draw(VALUES)
        return changed


def check(path: Path) -> None:
    """The file loads, judges and converts, or is refused with a place."""
    try:
        loaded = load_eval_set(path)
    except DocumentError as problem:
        reported, place = str(problem), f":{problem.line}:{problem.column}: "
    else:
        check_loaded(path, loaded)
        return

    assert place in reported


def check_loaded(path: Path, loaded: EvalSet) -> None:
    """The file keeps its verdicts when it is converted."""
    trajectory = Trajectory.of([{"name": "t", "args": {"x": 1}, "turn": 0}], output="x")
    verdicts = [judge(case, trajectory).verdict for case in loaded.cases]
    path.with_suffix(".yaml").write_text(convert_eval_set(path), encoding="utf-8")
    twin = load_eval_set(path.with_suffix(".yaml"))

    assert [judge(case, trajectory).verdict for case in twin.cases] == verdicts


@pytest.mark.parametrize("document", [NATIVE, ADK, EVENTS, OLDER], ids=["native", "adk", "events", "older"])
@examples(60)
@given(data=st.data())
def test_a_damaged_file_loads_or_is_refused_with_a_place(tmp_path_factory: Any, document: Any, data: Any) -> None:
    check(adk_files.write(tmp_path_factory.mktemp("sets"), data.draw(damaged(document))))


@examples(60)
@given(damaged(UIPATH), st.sampled_from(sorted(uipath_files.EVALUATORS)), st.data())
def test_a_damaged_file_of_uipath_loads_or_is_refused_with_a_place(
    tmp_path_factory: Any, changed: Any, name: str, data: Any
) -> None:
    evaluator = uipath_files.EVALUATORS[name]
    if data.draw(st.booleans()):
        evaluator = data.draw(damaged(evaluator))

    check(uipath_files.write(tmp_path_factory.mktemp("sets"), changed, {**uipath_files.EVALUATORS, name: evaluator}))


@examples(60)
@given(damaged(CONFIG))
def test_a_damaged_configuration_is_taken_or_refused_with_a_place(tmp_path_factory: Any, config: Any) -> None:
    check(adk_files.write(tmp_path_factory.mktemp("sets"), ADK, config))
