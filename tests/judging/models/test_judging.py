"""Judges as evaluators: rubrics, samples, what is kept, functions as judges."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.judging.models.server import Asked, Endpoint, Response, completion, judged

from rightcall import (
    ConfigurationError,
    CriteriaError,
    EvaluationResult,
    LlmJudgeOutput,
    LlmJudgeTrajectory,
    ToolCall,
    Trajectory,
)
from rightcall.cases.evalsets import Case, Check
from rightcall.cases.verdicts import Judging
from rightcall.judging.models import Question, calls_of
from rightcall.values.results import Source

Listen = Callable[[Any], Endpoint]
RUN = Trajectory.of(["search", "book"], input="a laptop", output={"text": "Booked.", "id": 7})
EXPECTED = {"expected_agent_behavior": "search, then book"}


def scores(*given: float) -> Callable[[Asked], Response]:
    left = list(given)
    return lambda asked: judged(left.pop(0), f"the {len(left)}th from the end")


def met(**verdicts: bool) -> Response:
    rubrics = [{"id": name, "reason": f"{name} or not", "met": value} for name, value in verdicts.items()]
    return completion({"reason": "all in all", "call": 1, "rubrics": rubrics})


def evaluated(config: dict[str, Any], criteria: dict[str, Any] = EXPECTED) -> EvaluationResult:
    return LlmJudgeTrajectory(config=config).evaluate(RUN, criteria)


def test_rubrics_of_the_evaluator_and_of_the_case_are_judged_together(listen: Listen) -> None:
    endpoint = listen(met(polite=True, once=False))
    config = {"rubrics": [{"id": "polite", "text": "The agent is polite."}]}
    criteria = {"rubrics": [{"id": "once", "text": "It books once."}]}

    result = evaluated(config, criteria)

    assert (result.verdict, result.score) == ("failed", 0.5)
    [finding] = result.findings
    assert finding.message == "the rubric 'It books once.' is not met: once or not"
    assert (finding.path, finding.actual.text if finding.actual else "") == ("rubrics[0]", "search")
    assert [(one.id, one.text, one.met) for one in result.details.rubrics] == [
        ("polite", "The agent is polite.", True),
        ("once", "It books once.", False),
    ]
    schema = endpoint.asked[0].body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["rubrics"]["items"]["properties"]["id"]["enum"] == ["polite", "once"]
    assert "score" not in schema["properties"]


def test_rubrics_may_be_texts_which_are_numbered(listen: Listen) -> None:
    listen(met(**{"1": True, "2": True}))

    assert evaluated({"rubrics": ["It is polite."]}, {"rubrics": ["It books once."]}).passed


def test_the_median_of_the_samples_counts_and_so_the_majority_decides(listen: Listen) -> None:
    endpoint = listen(scores(100, 20, 90, 95, 0))

    result = evaluated({"samples": 5, "threshold": 0.9})

    assert (result.verdict, result.score) == ("passed", 0.9)
    assert result.details.agreement == 0.6
    assert [sample.score for sample in result.details.samples] == [1.0, 0.2, 0.9, 0.95, 0.0]
    assert result.details.input_tokens == 500
    assert len(endpoint.asked) == 5


def test_of_each_rubric_the_majority_decides(listen: Listen) -> None:
    left = [met(a=True, b=False), met(a=False, b=False), met(a=True, b=True)]
    listen(lambda asked: left.pop(0))

    result = evaluated({"samples": 3, "rubrics": [{"id": "a", "text": "A."}, {"id": "b", "text": "B."}]})

    assert [(one.id, one.met, round(one.agreement, 2)) for one in result.details.rubrics] == [
        ("a", True, 0.67),
        ("b", False, 0.67),
    ]
    assert result.score == 0.5


def test_one_answer_among_several_that_is_none_leaves_no_score(listen: Listen) -> None:
    listen(scores(100, 98989, 100))

    result = evaluated({"samples": 3})

    assert (result.verdict, result.score) == ("error", None)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"samples": 2}, "an odd number is expected"),
        ({"samples": 0}, "at least 1"),
        ({"samples": True}, "samples"),
        ({"temperature": 3}, "temperature"),
        ({"api_key": "sk"}, "unknown key 'api_key'"),
        ({"base_url": "http://127.0.0.1"}, "unknown key 'base_url'"),
        ({"judge": "me"}, "a function is expected, or its name as file.py:function"),
        ({"judge": 3}, "a function is expected"),
        ({"rubrics": "polite"}, "a list of rubrics is expected"),
        ({"rubrics": [{"id": "a"}]}, "text"),
    ],
)
def test_mistakes_in_the_configuration_are_told(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        LlmJudgeTrajectory(config=config)


def test_two_rubrics_of_one_name_are_an_error(listen: Listen) -> None:
    listen(met(a=True))
    rubric = {"id": "a", "text": "A."}

    assert (evaluated({"rubrics": [rubric]}, {"rubrics": [rubric]}).error or "").startswith(
        "RC601 two rubrics are called"
    )


@pytest.mark.parametrize("evaluator", [LlmJudgeTrajectory(), LlmJudgeOutput()], ids=lambda one: one.type_id)
def test_nothing_expected_is_an_error(listen: Listen, evaluator: Any) -> None:
    endpoint = listen(judged())

    assert (evaluator.evaluate(RUN, {}).error or "").startswith("RC601 nothing says what is expected")
    assert endpoint.asked == []


def test_an_unchanged_case_is_not_judged_twice(listen: Listen, tmp_path: Path) -> None:
    endpoint = listen(judged(80))
    config = {"samples": 3, "threshold": 0.5}
    before = os.umask(0)
    try:
        first = evaluated(config)
    finally:
        os.umask(before)

    second = evaluated(config)

    assert len(endpoint.asked) == 3
    assert (second.score, second.details.samples) == (first.score, first.details.samples)
    assert (first.details.cached, second.details.cached) == (0, 3)
    assert (second.details.input_tokens, second.details.output_tokens) == (0, 0)
    kept = list((tmp_path / ".rightcall").rglob("*"))
    assert {stat.S_IMODE(path.stat().st_mode) for path in kept} == {0o700, 0o600}
    assert stat.S_IMODE((tmp_path / ".rightcall").stat().st_mode) == 0o700
    assert "sk-secret" not in "".join(path.read_text() for path in kept if path.is_file())


@pytest.mark.parametrize(
    ("config", "criteria"),
    [
        ({"model": "other"}, EXPECTED),
        ({"temperature": 1}, EXPECTED),
        ({"prompt": "Judge."}, EXPECTED),
        ({}, {"expected_agent_behavior": "search"}),
        ({}, EXPECTED | {"ignore_tools": ["book"]}),
    ],
    ids=["model", "temperature", "prompt", "criteria", "calls"],
)
def test_what_changed_is_judged_again(listen: Listen, config: dict[str, Any], criteria: dict[str, Any]) -> None:
    endpoint = listen(judged(80))
    evaluated({})

    evaluated(config, criteria)

    assert len(endpoint.asked) == 2


def test_another_threshold_needs_no_new_answer(listen: Listen) -> None:
    endpoint = listen(judged(80))

    assert [evaluated({"threshold": threshold}).verdict for threshold in (0.9, 0.7)] == ["failed", "passed"]
    assert len(endpoint.asked) == 1


def test_errors_are_not_kept_and_what_somebody_changed_is_not_believed(listen: Listen, tmp_path: Path) -> None:
    left = [judged(98989), judged(80), judged(70)]
    listen(lambda asked: left.pop(0))

    first, second = evaluated({}), evaluated({"threshold": 0.5})
    [file] = (tmp_path / ".rightcall").rglob("*.json")
    file.write_text(json.dumps({"content": '{"reason": "", "call": null, "score": 98989}'}))
    third = evaluated({"threshold": 0.5})

    assert (first.verdict, second.score, third.score) == ("error", 0.8, 0.7)


def test_answers_are_not_kept_where_that_is_not_wanted_or_not_possible(
    listen: Listen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    endpoint = listen(judged())
    monkeypatch.setenv("RIGHTCALL_JUDGE_CACHE", "off")
    evaluated({})
    assert not (tmp_path / ".rightcall").exists()
    (tmp_path / "file").touch()
    monkeypatch.setenv("RIGHTCALL_JUDGE_CACHE", str(tmp_path / "file"))

    result = evaluated({})

    assert result.passed
    assert "the judge's answer was not kept" in result.warnings[0]
    assert len(endpoint.asked) == 2


def test_a_part_of_the_output_is_judged(listen: Listen) -> None:
    endpoint = listen(completion({"reason": "same", "score": 100}))
    evaluator = LlmJudgeOutput(config={"target_output_key": "text"})

    assert evaluator.evaluate(RUN, {"expected_output": {"text": "It is booked."}}).passed
    assert endpoint.asked[0].blocks["output"] == '"Booked."'
    assert endpoint.asked[0].blocks["expected_output"] == '"It is booked."'
    absent = evaluator.evaluate(Trajectory.of([], output={"other": 1}), {"expected_output": {"text": "x"}})
    assert (absent.verdict, absent.score) == ("failed", 0.0)
    with pytest.raises(CriteriaError, match="no 'text'"):
        evaluator.evaluate(RUN, {"expected_output": {"words": 1}})


def test_what_was_not_recorded_is_not_judged(listen: Listen) -> None:
    endpoint = listen(judged())

    assert LlmJudgeOutput().evaluate(Trajectory.of([]), {"expected_output": "x"}).verdict == "not_measured"
    assert LlmJudgeTrajectory().evaluate(Trajectory(calls_recorded=False), EXPECTED).verdict == "not_measured"
    assert endpoint.asked == []


@pytest.mark.parametrize(
    ("run", "turns"),
    [
        (Trajectory.of([], output="Bye", turn_inputs=["Hi", "Go"]), ["Hello"]),
        (Trajectory.of([ToolCall("book", {}, "ok", turn=1)], output="Bye"), ["Hello"]),
        (Trajectory.of([], output="Bye"), ["Hello", "Bye"]),
    ],
    ids=["other questions", "calls of another turn", "several answers"],
)
def test_the_answer_of_a_run_is_not_judged_as_that_of_one_of_its_turns(
    listen: Listen, run: Trajectory, turns: list[str]
) -> None:
    endpoint = listen(judged())

    assert LlmJudgeOutput().evaluate(run, {"expected_turns": turns}).verdict == "not_measured"
    assert endpoint.asked == []


def strict(question: Question) -> dict[str, Any]:
    return {"reason": "counted", "call": 1, "score": 100 if question.calls == 2 else 0}


async def strict_later(question: Question) -> str:
    await asyncio.sleep(0)
    return json.dumps(strict(question))


@pytest.mark.parametrize("judge", [strict, strict_later])
def test_a_function_may_be_the_judge(judge: Any) -> None:
    result = evaluated({"judge": judge, "samples": 3})

    assert (result.verdict, result.score, result.details.model) == ("passed", 1.0, judge.__name__)


@pytest.mark.parametrize("given", [None, 1.0, "100", {"score": 100}, {"reason": "", "call": None, "score": 101}])
def test_a_function_has_to_give_a_judgement_too(given: Any) -> None:
    assert (evaluated({"judge": lambda question: given}).error or "").startswith("RC604")


def test_a_function_that_never_answers_is_given_up() -> None:
    over = threading.Event()

    def judge(question: Question) -> Any:
        over.wait(60)

    result = evaluated({"judge": judge, "timeout": 0.2})
    over.set()

    assert (result.error or "").startswith("RC404")


def test_a_function_that_raises_is_a_fault() -> None:
    def judge(question: Question) -> Any:
        raise ValueError("no idea")

    result = evaluated({"judge": judge})

    assert (result.error or "").startswith("RC402 ValueError while judging: no idea")


def test_calls_are_shown_with_errors_and_what_ran_at_the_same_time() -> None:
    made = Trajectory.of(
        [
            ToolCall("a", {}, 1, start_ns=0, end_ns=2_000_000),
            ToolCall("b", {}, None, error="broke", start_ns=1_000_000, end_ns=3_000_000),
            ToolCall("c", {}, None, start_ns=5_000_000, end_ns=6_000_000, agent="helper", turn=1),
        ]
    )

    assert calls_of(made) == [
        {"number": 1, "tool": "a", "args": {}, "output": 1, "at_the_same_time_as": [2]},
        {
            "number": 2,
            "tool": "b",
            "args": {},
            "output": None,
            "error": "broke",
            "at_the_same_time_as": [1],
        },
        {"number": 3, "tool": "c", "args": {}, "output": None, "agent": "helper", "turn": 1},
    ]


def test_only_so_many_ask_at_once(listen: Listen, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    pair = threading.Barrier(2)

    def slow(asked: Asked) -> Response:
        pair.wait(60)
        time.sleep(0.1)  # so that a third would be seen
        return judged()

    endpoint = listen(slow)
    monkeypatch.setenv("RIGHTCALL_JUDGE_CONCURRENCY", "2")
    monkeypatch.setenv("RIGHTCALL_JUDGE_CACHE", "off")
    evaluator = LlmJudgeTrajectory()
    check = Check("judge", evaluator, evaluator.criteria(EXPECTED), lambda path: Source("x", 1, 1))

    with Judging() as judging:
        cases = [Case(id=str(number), source=Source("x", 1, 1), checks=(check,)) for number in range(12)]
        results = [judging.submit(case, RUN) for case in cases]
        assert all(result.result(60).passed for result in results)

    assert endpoint.most_at_once == 2


@pytest.mark.parametrize(("score", "verdict"), [(50, "passed"), (90, "passed"), (40, "failed")])
def test_a_grade_without_rubrics_passes_from_one_half_on(listen: Listen, score: float, verdict: str) -> None:
    listen(judged(score))

    result = evaluated({})

    assert (result.verdict, result.threshold) == (verdict, 0.5)
