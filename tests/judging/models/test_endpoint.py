"""Judges behind an endpoint that is slow, busy, broken, or talks nonsense."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from tests.judging.models.server import Asked, Endpoint, Response, completion, judged

from rightcall import EvaluationResult, LlmJudgeOutput, LlmJudgeTrajectory, Trajectory
from rightcall.errors import install_command
from rightcall.judging.models import delay_before, retry_after

Listen = Callable[[Any], Endpoint]
RUN = Trajectory.of(
    [{"name": "search", "args": {"query": "laptop"}, "output": ["Pro"]}, "book"], input="a laptop", output="Booked."
)
BUSY = Response(429, b'{"error": {"message": "slow down"}}')
BROKEN = Response(500, b"oh no")


def trajectory_judged(**config: Any) -> EvaluationResult:
    return LlmJudgeTrajectory(config=config).evaluate(RUN, {"expected_agent_behavior": "search, then book"})


def in_turn(*responses: Response) -> Callable[[Asked], Response]:
    """A response after the other; the last one again and again."""
    left = list(responses)
    return lambda asked: left.pop(0) if len(left) > 1 else left[0]


def assert_error(result: EvaluationResult, code: str, *texts: str) -> None:
    assert (result.verdict, result.score, result.passed) == ("error", None, False)
    assert (result.error or "").startswith(f"{code} ")
    assert [finding.code for finding in result.findings] == [code]
    for text in texts:
        assert text in (result.error or "")
    assert "sk-secret" not in result.to_json()


def test_a_judgement_is_a_score_with_its_reason_its_call_and_what_it_took(
    listen: Listen, monkeypatch: pytest.MonkeyPatch
) -> None:
    listen(judged(80, "booked the wrong one", 2))
    monkeypatch.setenv("RIGHTCALL_JUDGE_INPUT_PRICE", "2.5")
    monkeypatch.setenv("RIGHTCALL_JUDGE_OUTPUT_PRICE", "10")

    result = trajectory_judged(threshold=0.9)

    assert (result.verdict, result.score) == ("failed", 0.8)
    assert [(one.code, one.message) for one in result.findings] == [
        ("RC110", "the judge gives 0.8: booked the wrong one")
    ]
    assert result.findings[0].actual is not None
    assert (result.findings[0].actual.position, result.findings[0].actual.text) == (1, "book")
    details = result.details
    assert (details.model, details.reason, details.agreement) == ("judge-1", "booked the wrong one", 1.0)
    assert (details.input_tokens, details.output_tokens, details.cost) == (100, 20, 0.00045)
    assert EvaluationResult.from_json(result.to_json()) == result


def test_the_request_asks_for_one_json_object_of_a_schema_at_temperature_0(listen: Listen) -> None:
    endpoint = listen(judged())

    assert trajectory_judged().passed

    [asked] = endpoint.asked
    assert (asked.body["model"], asked.body["temperature"]) == ("judge-1", 0.0)
    assert asked.body["response_format"]["type"] == "json_schema"
    assert asked.body["response_format"]["json_schema"]["strict"] is True
    assert asked.headers["authorization"] == "Bearer sk-secret"
    assert set(asked.blocks) == {"input", "expected_behavior", "calls", "output"}
    assert json.loads(asked.blocks["calls"]) == [
        {"number": 1, "tool": "search", "args": {"query": "laptop"}, "output": ["Pro"]},
        {"number": 2, "tool": "book", "not_recorded": ["args", "output"]},
    ]


def test_the_model_and_how_it_answers_are_configured(listen: Listen) -> None:
    endpoint = listen(judged())

    trajectory_judged(model="other", temperature=None, max_tokens=500)

    [asked] = endpoint.asked
    assert (asked.body["model"], asked.body["max_tokens"]) == ("other", 500)
    assert "temperature" not in asked.body


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529])
def test_who_is_busy_or_broken_is_asked_again(listen: Listen, status: int) -> None:
    endpoint = listen(in_turn(Response(status), Response(status), judged()))

    assert trajectory_judged().passed
    assert len(endpoint.asked) == 3


def test_attempts_come_to_an_end(listen: Listen) -> None:
    endpoint = listen(BROKEN)

    assert_error(trajectory_judged(), "RC602", "status 500: oh no (4 attempts)")
    assert len(endpoint.asked) == 4


def test_how_many_attempts_are_made_can_be_said(listen: Listen, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = listen(BUSY)
    monkeypatch.setenv("RIGHTCALL_JUDGE_ATTEMPTS", "2")

    assert_error(trajectory_judged(), "RC602", "status 429", "slow down", "(2 attempts)")
    assert len(endpoint.asked) == 2


@pytest.mark.parametrize("status", [301, 307, 400, 401, 403, 404, 422])
def test_who_rejects_the_request_is_not_asked_again(listen: Listen, status: int) -> None:
    endpoint = listen(Response(status, b"no such model", {"location": "http://127.0.0.1:1/v1"}))

    assert_error(trajectory_judged(), "RC603", f"status {status}: no such model")
    assert len(endpoint.asked) == 1


def test_waits_double_unless_the_endpoint_says_how_long() -> None:
    assert [delay_before(attempt, None, 0.5) for attempt in range(2, 10)] == [0.5, 1, 2, 4, 8, 16, 30, 30]
    assert delay_before(2, 7.0, 0.5) == 7.0
    assert retry_after({"retry-after": "3"}) == 3.0
    assert retry_after({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}) == 0.0
    for nonsense in ("", "soon", "nan", "inf", "1e999", "99 bottles"):
        assert retry_after({"retry-after": nonsense}) is None


def test_the_endpoint_is_left_alone_as_long_as_it_asks(listen: Listen) -> None:
    endpoint = listen(in_turn(Response(429, headers={"retry-after": "0.4"}), judged()))

    assert trajectory_judged().passed

    first, second = endpoint.asked
    assert second.at - first.at >= 0.4


def test_nobody_waits_longer_than_there_is_time(listen: Listen) -> None:
    endpoint = listen(Response(429, headers={"retry-after": "3600"}))
    began = monotonic()

    result = trajectory_judged(timeout=30)

    assert_error(result, "RC602", "no time is left for the next, in 3600 s")
    assert len(endpoint.asked) == 1
    assert monotonic() - began < 30


def test_a_body_that_comes_a_byte_a_second_is_given_up_in_time(listen: Listen, monkeypatch: pytest.MonkeyPatch) -> None:
    listen(judged()._replace(pause=1.0))
    monkeypatch.setenv("RIGHTCALL_JUDGE_TIMEOUT", "0.5")
    monkeypatch.setenv("RIGHTCALL_JUDGE_ATTEMPTS", "2")
    trajectory_judged(timeout=120)  # what is loaded with the first request takes its time, too
    began = monotonic()

    result = trajectory_judged(timeout=120)

    assert_error(result, "RC602", "no answer within 0.5 s (2 attempts)")
    assert monotonic() - began < 120


def test_the_time_of_all_attempts_together_is_bounded(listen: Listen) -> None:
    endpoint = listen(judged()._replace(pause=1.0))
    began = monotonic()

    result = trajectory_judged(timeout=3)

    assert result.verdict == "error"
    assert result.score is None
    assert monotonic() - began < 120
    assert len(endpoint.asked) <= 1


def test_a_slow_answer_that_comes_in_time_is_an_answer(listen: Listen) -> None:
    listen(judged(70)._replace(pause=0.001))

    assert trajectory_judged(threshold=0.5).score == 0.7


NONSENSE = {
    "broken_json": (Response(body=b'{"choices": [{"mess'), "RC604"),
    "html": (Response(body=b"<html>gateway</html>"), "RC604"),
    "empty_body": (Response(body=b""), "RC604"),
    "no_choices": (completion("x", choices=[]), "RC604"),
    "two_choices": (completion("x", choices=[{"message": {"content": "{}"}}] * 2), "RC604"),
    "no_content": (completion(None), "RC604"),
    "not_json": (completion("I would say 100."), "RC604"),
    "wrong_schema": (completion({"score": 100}), "RC604"),
    "score_98989": (judged(98989), "RC604"),
    "score_negative": (judged(-1), "RC604"),
    "nan": (completion('{"reason": "so", "call": null, "score": NaN}'), "RC604"),
    "two_verdicts": (
        completion('{"reason": "a", "call": null, "score": 0}{"reason": "b", "call": null, "score": 100}'),
        "RC604",
    ),
    "cut_by_the_model": (completion('{"reason": "so', finish_reason="length"), "RC604"),
    "tool_calls": (completion("{}", finish_reason="tool_calls"), "RC604"),
    "too_large": (judged(100, "x" * 300_000), "RC604"),
    "packed": (judged()._replace(headers={"content-encoding": "gzip"}), "RC604"),
    "refusal": (completion(None, refusal="I cannot help with that."), "RC605"),
    "content_filter": (completion("", finish_reason="content_filter"), "RC605"),
    "error_in_a_body": (Response(body=b'{"error": {"message": "overloaded"}}'), "RC604"),
}


@pytest.mark.parametrize(("response", "code"), NONSENSE.values(), ids=list(NONSENSE))
def test_nonsense_is_an_error_with_its_reason_never_a_score(listen: Listen, response: Response, code: str) -> None:
    endpoint = listen(response)

    assert_error(trajectory_judged(threshold=0.0), code)
    assert len(endpoint.asked) == 1


def test_a_response_that_is_cut_off_is_asked_for_again(listen: Listen) -> None:
    endpoint = listen(in_turn(judged()._replace(cut=True), judged(60)))

    assert trajectory_judged(threshold=0.5).score == 0.6
    assert len(endpoint.asked) == 2


def test_a_response_that_is_always_cut_off_is_an_error(listen: Listen) -> None:
    listen(judged()._replace(cut=True))

    assert_error(trajectory_judged(), "RC602", "the connection failed")


def test_an_error_with_an_endless_body_is_read_only_in_part(listen: Listen) -> None:
    listen(Response(400, b"x" * 5_000_000))

    result = trajectory_judged()

    assert_error(result, "RC603", "status 400: xxx")
    assert len(result.error or "") < 400


def test_nobody_there_is_an_error(listen: Listen, monkeypatch: pytest.MonkeyPatch) -> None:
    listen(judged()).close()

    assert_error(trajectory_judged(), "RC602", "the connection failed", "(4 attempts)")


@pytest.mark.parametrize("missing", ["BASE_URL", "MODEL", "API_KEY"])
def test_what_is_missing_is_named(listen: Listen, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    endpoint = listen(judged())
    monkeypatch.delenv(f"RIGHTCALL_JUDGE_{missing}")

    assert_error(trajectory_judged(), "RC601", f"set RIGHTCALL_JUDGE_{missing}")
    assert endpoint.asked == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TIMEOUT", "soon"),
        ("TIMEOUT", "0"),
        ("TIMEOUT", "nan"),
        ("CONCURRENCY", "0"),
        ("ATTEMPTS", "99"),
        ("INPUT_PRICE", "-1"),
    ],
)
def test_a_setting_that_is_wrong_is_told(
    listen: Listen, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    listen(judged())
    monkeypatch.setenv(f"RIGHTCALL_JUDGE_{name}", value)

    assert_error(trajectory_judged(), "RC601", f"RIGHTCALL_JUDGE_{name} is a number", value)


def test_an_address_with_a_password_is_told_without_it(listen: Listen, monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = listen(Response(401))
    address = endpoint.url.replace("http://", "http://user:hunter2@")
    monkeypatch.setenv("RIGHTCALL_JUDGE_BASE_URL", address)

    result = trajectory_judged()

    assert_error(result, "RC603", "status 401")
    assert "hunter2" not in result.to_json()


def test_without_the_extra_one_line_says_which(listen: Listen, monkeypatch: pytest.MonkeyPatch) -> None:
    listen(judged())
    monkeypatch.setitem(sys.modules, "openai", None)

    assert_error(trajectory_judged(), "RC601", f"asking a judge needs openai: {install_command('judge')}")


def test_what_is_too_large_is_not_shortened_but_refused(listen: Listen) -> None:
    endpoint = listen(judged())

    result = LlmJudgeOutput().evaluate(Trajectory.of([], output="x" * 500_000), {"expected_output": "y"})

    assert_error(result, "RC606", "the limit is 400,000")
    assert endpoint.asked == []


def test_the_environment_of_another_service_goes_nowhere(
    listen: Listen, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    endpoint = listen(judged())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-other")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-other")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-other")

    assert trajectory_judged().passed
    assert not [value for value in endpoint.asked[0].headers.values() if "other" in value]
