"""What a run took, by its spans."""

from typing import Any

import pytest
from tests.reading.corpus import recordings
from tests.reading.traces import call, request, span

from rightcall import read, read_messages
from rightcall.values.trajectory import Usage


def model(number: int, given: Any = 10, made: Any = 5, **more: Any) -> dict[str, Any]:
    counts = {"gen_ai.usage.input_tokens": given, "gen_ai.usage.output_tokens": made}
    attributes = {key: count for key, count in counts.items() if count is not None}
    return span(number, {"gen_ai.operation.name": "chat", **attributes}, **more)


def agent(number: int, given: int, made: int, **more: Any) -> dict[str, Any]:
    counts = {"gen_ai.usage.input_tokens": given, "gen_ai.usage.output_tokens": made}
    return span(number, {"gen_ai.operation.name": "invoke_agent", **counts}, **more)


def usage_in(document: Any) -> Usage:
    [trajectory] = read(document, grouping="file")
    assert trajectory.usage is not None
    return trajectory.usage


def usage_of(*spans: dict[str, Any]) -> Usage:
    return usage_in(request(*spans))


def test_time_is_that_of_the_agent_and_tokens_are_added_up() -> None:
    around = span(1, {"gen_ai.operation.name": "invoke_agent"})
    used = usage_of(around, model(2, parent=1), call(3, parent=1), model(4, 20, 7, parent=1))

    assert used == Usage(duration_ns=3_500, input_tokens=30, output_tokens=12)
    assert used.total_tokens == 42


def test_what_a_server_took_around_the_agent_does_not_count() -> None:
    server = span(1, name="POST /chat", endTimeUnixNano="90000")

    assert usage_of(server, model(2, parent=1), model(4, parent=1)).duration_ns == 2_500
    assert usage_of(server, call(2, parent=1)).duration_ns == 89_000


def test_the_sum_that_an_agent_repeats_is_not_counted_again() -> None:
    used = usage_of(agent(1, 30, 12), model(2, parent=1), span(3, parent=1), model(4, 20, 7, parent=3))

    assert (used.input_tokens, used.output_tokens) == (30, 12)
    alone = usage_of(agent(1, 30, 12), span(2, parent=1))
    assert (alone.input_tokens, alone.output_tokens) == (30, 12)


def test_a_call_of_a_model_that_begins_when_another_ends_is_another() -> None:
    both = [request(model(1, endTimeUnixNano="2000"), scope="one"), request(model(2), scope="two")]
    document = {"resourceSpans": [each["resourceSpans"][0] for each in both]}

    assert usage_in(document).input_tokens == 20


def test_a_call_of_a_model_that_two_instrumentations_saw_is_counted_once() -> None:
    first = request(model(1, endTimeUnixNano="9000"), model(20), scope="one")
    second = request(model(2, endTimeUnixNano="9500"), model(30), scope="two")

    assert usage_in([first, second]).input_tokens == 30


def test_a_call_of_a_model_that_two_of_three_instrumentations_saw_is_counted_once() -> None:
    seen = [("a", model(1)), ("b", model(1, spanId="f" * 16)), ("c", model(3, 20, 7))]
    spans = [{"scope": {"name": scope}, "spans": [each]} for scope, each in seen]

    assert usage_in({"resourceSpans": [{"scopeSpans": spans}]}).input_tokens == 30


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (("gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens"), (3, 4)),
        (("llm.token_count.prompt", "llm.token_count.completion"), (3, 4)),
        (("ai.usage.promptTokens", "ai.usage.completionTokens"), (3, 4)),
        (("ai.usage.inputTokens", "gen_ai.usage.output_tokens"), (3, 4)),
        (("tokens.in", "tokens.out"), (None, None)),
    ],
    ids=str,
)
def test_tokens_have_many_names(keys: tuple[str, str], expected: tuple[Any, Any]) -> None:
    used = usage_of(span(1, {"gen_ai.request.model": "m", keys[0]: 3, keys[1]: 4}))

    assert (used.input_tokens, used.output_tokens) == expected


@pytest.mark.parametrize("count", [None, -1, "many", True, 10**16], ids=str)
def test_a_count_that_is_missing_or_none_leaves_the_sum_unknown(count: Any) -> None:
    used = usage_of(model(1), model(2, given=count))

    assert (used.input_tokens, used.output_tokens, used.total_tokens) == (None, 10, None)


def test_calls_of_tools_alone_do_not_tell_how_long_the_run_took() -> None:
    [trajectory] = read(request(call(1), call(2)), grouping="file")

    assert trajectory.usage is None


@pytest.mark.parametrize("lost", ["startTimeUnixNano", "endTimeUnixNano"])
def test_a_span_without_times_leaves_the_time_unknown(lost: str) -> None:
    timeless = {key: held for key, held in call(2).items() if key != lost}

    [trajectory] = read(request(span(1), timeless), grouping="file")

    assert trajectory.usage is None


def test_messages_tell_neither_time_nor_tokens() -> None:
    assert read_messages([{"role": "user", "content": "hello"}]).usage is None


@pytest.mark.parametrize(
    "run",
    [
        "agent-framework/trip",
        "openai-agents-logfire/trip-chat",
        "openai-agents-openinference/trip-responses",
        "openai-agents-dup-oi+v2/trip-chat",
        "raw-chat-openllmetry/trip-0.40.14",
        "semantic-kernel/trip-sensitive",
    ],
)
def test_recorded_runs_of_the_same_model_took_the_same_tokens(run: str) -> None:
    used = usage_in(recordings()[run]["otlp.json"])

    assert (used.input_tokens, used.output_tokens) == (60, 30)
    assert used.duration_ns
