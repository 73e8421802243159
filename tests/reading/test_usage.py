"""What a run took, by its spans."""

from typing import Any

import pytest
from hypothesis import given as drawn, strategies as st
from tests.reading.corpus import recordings
from tests.reading.traces import call, request, span
from tests.sampling import examples
from tests.walls import for_each

from rightcall import read, read_messages
from rightcall.reading.runs._span_tree import ReadSpan
from rightcall.reading.runs._tokens import counts_in, stated_tokens, tokens_of
from rightcall.reading.spans import CallRecord
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


def seen_by(*seen: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """Spans, each with the name of the instrumentation that recorded it."""
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": name}, "spans": [each]} for name, each in seen]}]}


def lasting(number: int, end: int, *counts: Any, response: str = "", **more: Any) -> dict[str, Any]:
    made = model(number, *counts, endTimeUnixNano=str(end * 1000), **more)
    held = [{"key": "gen_ai.response.id", "value": {"stringValue": response}}] if response else []
    return {**made, "attributes": [*made["attributes"], *held]}


@pytest.mark.parametrize("instrumentations", [2, 3, 4])
def test_calls_of_models_that_several_instrumentations_saw_beside_one_another_are_counted_once(
    instrumentations: int,
) -> None:
    calls = [(f"by {which}", lasting(10 * turn + which, 10 * turn + 9)) for turn in range(2) for which in range(4)]

    seen = [(by, each) for by, each in calls if by < f"by {instrumentations}"]

    assert usage_in(seen_by(*seen)).input_tokens == 20


def test_equal_calls_at_once_are_told_apart_by_who_recorded_them_and_by_their_responses() -> None:
    beside = [(by, lasting(number, 9, parent=20)) for number, by in enumerate("aabb", 1)]
    at_once = seen_by(*beside, ("a", span(20)))
    others = seen_by(("a", lasting(1, 9, response="r1")), ("b", lasting(2, 9, response="r2")))
    the_same = seen_by(("a", lasting(1, 2, response="r1")), ("b", lasting(3, 4, response="r1")))
    # A scripted model gives each of its responses one id.
    times = [("a", 1, 4), ("b", 2, 3), ("a", 5, 8), ("b", 6, 7)]
    shared = [(by, lasting(start, end, response="r")) for by, start, end in times]

    assert [usage_in(each).input_tokens for each in (at_once, others, the_same)] == [20, 20, 10]
    assert [usage_in(seen_by(*each)).input_tokens for each in (shared, shared[::2])] == [20, 20]


@for_each("times", [(5, 8), (1, 2), (2, 4)])
def test_a_call_lasts_from_the_first_to_the_last_time_that_its_records_have(times: tuple[int, int]) -> None:
    one = [("a", lasting(1, 9, response="r1")), ("b", lasting(3, 4, response="r1"))]
    start, end = times

    assert (
        usage_in(seen_by(*one, ("c", {**lasting(20, end), "startTimeUnixNano": str(start * 1000)}))).input_tokens == 10
    )
    assert usage_in(seen_by(*one, ("c", lasting(10, 12)))).input_tokens == 20


def test_two_counts_of_one_response_leave_the_sum_unknown() -> None:
    both = seen_by(("a", lasting(1, 9, 10, response="r1")), ("b", lasting(2, 8, 7, response="r1")))

    assert (usage_in(both).input_tokens, usage_in(both).output_tokens) == (None, 5)


@pytest.mark.parametrize(("most", "counted"), [(1, 10), (0, None)])
def test_more_calls_than_can_be_compared_leave_the_sum_unknown(
    most: int, counted: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rightcall.reading.runs._tokens._MOST_COMPARISONS", most)

    both = seen_by(("a", lasting(1, 9, parent=20)), ("b", lasting(2, 8, parent=20)), ("a", span(20)))

    assert usage_in(both).input_tokens == counted


def test_calls_without_times_that_may_be_one_leave_the_sum_unknown() -> None:
    timeless = {key: held for key, held in model(2).items() if key != "startTimeUnixNano"}

    [trajectory] = read(seen_by(("a", model(1)), ("b", timeless)), grouping="file")

    assert trajectory.usage is None


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([model(3, None, None)], None),
        ([model(3, None, None, parent=2)], 10),
        ([model(3, None, None, parent=2), model(4, None, None, parent=2)], None),
        ([model(3, None, None), model(4, 7, parent=3)], 17),
        ([span(3, {"gen_ai.operation.name": "create_agent", "gen_ai.request.model": "m"})], 10),
        ([span(3, {"gen_ai.operation.name": "embeddings", "gen_ai.usage.input_tokens": 3})], 10),
        ([span(3, {"gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 1})], None),
        ([span(3, parent=4), span(4, parent=3)], None),
    ],
    ids=["beside", "inside", "two inside", "around", "no question", "embedding", "role lost", "a ring"],
)
def test_a_model_without_counts_leaves_the_sum_unknown_unless_another_span_has_them(
    others: list[dict[str, Any]], expected: int | None
) -> None:
    [trajectory] = read(request(model(2), *others), grouping="file")

    assert (trajectory.usage.input_tokens if trajectory.usage else None) == expected


@for_each(
    ("inside", "expected"),
    [
        ([model(2, None, None, parent=1), model(3, None, None, parent=1)], 30),
        ([model(2, 20, parent=1), model(3, None, None, parent=1)], 30),
        ([model(2, 40, parent=1), model(3, None, None, parent=1)], None),
        ([model(2, 20, parent=1)], None),
        ([model(2, 40, parent=1)], 40),
        ([model(2, 20, parent=1), call(3, parent=1), model(4, 10, parent=3)], 30),
        ([model(2, 30, parent=1), call(3, parent=1), model(4, 10, parent=3)], 40),
        ([call(3, parent=1), model(4, 10, parent=3)], None),
        ([call(3, parent=1), model(4, 40, parent=3)], 70),
    ],
)
def test_the_sum_of_an_agent_is_compared_with_what_is_inside(
    inside: list[dict[str, Any]], expected: int | None
) -> None:
    assert usage_of(agent(1, 30, 12), *inside).input_tokens == expected


def test_counts_of_one_kind_leave_those_of_the_other_unknown() -> None:
    used = usage_of(span(1, {"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 3}))

    assert (used.input_tokens, used.output_tokens) == (3, None)


def test_a_count_that_one_of_two_instrumentations_lost_leaves_the_sums_unknown() -> None:
    [trajectory] = read(seen_by(("a", lasting(1, 9)), ("b", lasting(2, 8, 10, None))), grouping="file")

    assert trajectory.usage is not None
    assert trajectory.usage.total_tokens is None


def test_a_model_around_the_tool_it_asked_for_counts_beside_the_agent_in_the_tool() -> None:
    assert usage_of(model(1, 10), call(2, parent=1), model(3, 7, parent=2)).input_tokens == 17
    assert usage_in(recordings()["vercel-ai/nested-v7-legacy"]["otlp.json"]).input_tokens == 6


def test_a_span_whose_parent_was_lost_may_be_part_of_an_agents_sum() -> None:
    around = agent(1, 30, 12, endTimeUnixNano="9000")
    lost = model(3, 10)

    [trajectory] = read(request(around, lost), grouping="file")

    assert trajectory.usage is not None
    assert trajectory.usage.input_tokens is None
    assert usage_of(around, model(10, 10)).input_tokens == 40
    whole = model(1, 30, 12, endTimeUnixNano="9000")
    assert usage_of(whole, lost, span(2)).input_tokens is None


@drawn(
    st.lists(st.tuples(st.integers(1, 3), st.booleans(), st.integers(1, 3)), min_size=1, max_size=4),
    st.sets(st.tuples(st.integers(1, 16), st.sampled_from(["kind", "times", "counts", "parent", "scope"])), max_size=3),
)
@examples(60)
def test_whatever_is_lost_the_sum_is_right_or_unknown(
    calls: list[tuple[int, bool, int]], lost: set[tuple[int, str]]
) -> None:
    total = sum([count for count, _, _ in calls])
    around = agent(1, total, total, endTimeUnixNano="999000")
    spans = [("agent", around)]
    for place, (count, is_nested, instrumentations) in enumerate(calls):
        first = 10 * (place + 1)
        for which in range(instrumentations):
            parent = first + which - 1 if which and is_nested else 1
            spans.append((f"by {which}", lasting(first + which, first + 9 - which, count, count, parent=parent)))
    kept = [_without(each, {kind for at, kind in lost if at == place + 1}) for place, each in enumerate(spans)]

    [trajectory] = read(seen_by(*kept), grouping="file")

    assert trajectory.usage is None or trajectory.usage.input_tokens in (None, total)


def _without(recorded: tuple[str, dict[str, Any]], lost: set[str]) -> tuple[str, dict[str, Any]]:
    scope, made = recorded
    gone = {"kind": "gen_ai.operation", "counts": "gen_ai.usage"}
    prefixes = tuple([gone[kind] for kind in lost if kind in gone])
    keys = {"times": {"startTimeUnixNano", "endTimeUnixNano"}, "parent": {"parentSpanId"}}
    dropped = {key for kind in lost for key in keys.get(kind, ())}
    left = {key: held for key, held in made.items() if key not in dropped}
    attributes = [each for each in made["attributes"] if not prefixes or not each["key"].startswith(prefixes)]
    return "" if "scope" in lost else scope, {**left, "attributes": attributes}


@for_each(
    ("keys", "expected"),
    [
        (("gen_ai.usage.prompt_tokens", "gen_ai.usage.completion_tokens"), (3, 4)),
        (("llm.token_count.prompt", "llm.token_count.completion"), (3, 4)),
        (("ai.usage.promptTokens", "ai.usage.completionTokens"), (3, 4)),
        (("ai.usage.inputTokens", "gen_ai.usage.output_tokens"), (3, 4)),
        (("tokens.in", "tokens.out"), (None, None)),
    ],
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


def counted(
    name: str,
    role: str = "model",
    given: Any = None,
    made: Any = None,
    parent: str | None = None,
    scope: str = "one",
    times: tuple[int | None, int | None] = (0, 9),
    **attributes: Any,
) -> tuple[ReadSpan, str]:
    """A span with its counts, and the role it has."""
    counts = {"gen_ai.usage.input_tokens": given, "gen_ai.usage.output_tokens": made, **attributes}
    held = {key: count for key, count in counts.items() if count is not None}
    call = CallRecord(name) if role == "call" else None
    return ReadSpan(name, "t", name, parent, *times, held, scope=scope, call=call), role


def tokens(*spans: tuple[ReadSpan, str]) -> tuple[int | None, int | None]:
    roles: Any = {id(span): role for span, role in spans if role in ("agent", "model")}
    return tokens_of([span for span, _ in spans], roles)


TOP = counted("top", "agent")


@pytest.mark.parametrize(
    ("spans", "sums"),
    [
        ([counted("a")], (None, None)),
        ([counted("a", "model", 10, 5)], (10, 5)),
        ([counted("a", "model", 0, 5)], (0, 5)),
        ([counted("a", "model", 10)], (10, None)),
        ([counted("a", "", 10, 5)], (None, None)),
        ([counted("a", "agent", 10, 5)], (10, 5)),
        ([counted("a", "model", 10, 5), counted("b", "model", 1, 2, times=(20, 29))], (11, 7)),
        ([counted("a", "model", 10, 5), counted("b", "model", 1, times=(20, 29))], (11, None)),
        ([counted("a", "model", 10, 5), counted("b", "model", 1, 2)], (None, None)),
        ([counted("a", "model", 10, 5), counted("b", times=(20, 29))], (None, None)),
        # The sum of an agent: repeated, too small, too large, of calls without counts, around one without.
        ([counted("a", "agent", 10, 5), counted("b", "model", 10, 5, "a")], (10, 5)),
        ([counted("a", "agent", 9, 5), counted("b", "model", 10, 5, "a")], (10, 5)),
        ([counted("a", "agent", 11, 5), counted("b", "model", 10, 5, "a")], (None, 5)),
        ([counted("a", "agent", 11, 5), counted("b", "model", None, None, "a")], (11, 5)),
        ([counted("a", "agent", 11, 5), counted("b", "model", 10, 5, "a"), counted("c", parent="a")], (11, 5)),
        ([counted("a", "agent", 9, 5), counted("b", "model", 10, 5, "a"), counted("c", parent="a")], (None, 5)),
        # A call of a model that another is inside of, once or twice.
        ([counted("a", "model", 10, 5), counted("b", parent="a")], (10, 5)),
        ([counted("a", "model", 10, 5), counted("b", parent="a"), counted("c", parent="a")], (None, None)),
        ([counted("a"), counted("b", "model", 10, 5, "a")], (10, 5)),
        # A tool in which an agent worked: the sum of the agent outside may have it or not.
        ([TOP, counted("t", "call", parent="top"), counted("b", "model", 10, 5, "t")], (10, 5)),
        (
            [counted("a", "agent", 10, 5), counted("t", "call", parent="a"), counted("b", "model", 4, 2, "t")],
            (None, None),
        ),
        (
            [counted("a", "agent", 3, 1), counted("t", "call", parent="a"), counted("b", "model", 4, 2, "t")],
            (7, 3),
        ),
        (
            [
                counted("a", "agent", 14, 7),
                counted("m", "model", 10, 5, "a"),
                counted("t", "call", parent="a"),
                counted("b", "model", 4, 2, "t"),
            ],
            (14, 7),
        ),
        (
            [
                counted("a", "agent", 15, 7),
                counted("m", "model", 10, 5, "a"),
                counted("t", "call", parent="a"),
                counted("b", "model", 4, 2, "t"),
            ],
            (None, 7),
        ),
        # Parents that form a ring, and parents that were lost.
        ([counted("a", "model", 1, 1, "b"), counted("b", "model", 1, 1, "a")], (None, None)),
        ([counted("a", "model", 1, 1, "a")], (1, 1)),
        ([counted("a", "agent", 10, 5), counted("b", "model", 10, 5, "lost", times=(1, 2))], (None, None)),
        ([counted("a", "agent", 9, 5), counted("b", "model", 10, 4, "lost", times=(1, 2))], (19, None)),
        ([counted("a", "agent", 10, 5), counted("b", "model", 10, 5, "lost", times=(1, 10))], (20, 10)),
        ([counted("a", "agent", 10, 5), counted("b", "model", 10, 5, "lost", times=(1, None))], (None, None)),
        ([counted("a", "model", 10, 5), counted("b", "model", 10, 5, "lost", times=(20, 29))], (20, 10)),
    ],
)
def test_tokens_are_those_of_all_calls_of_models_or_not_known(
    spans: list[tuple[ReadSpan, str]], sums: tuple[int | None, int | None]
) -> None:
    assert tokens(*spans) == sums


ID = "gen_ai.response.id"


@pytest.mark.parametrize(
    ("other", "given"),
    [
        (counted("b", "model", 10, 5, scope="two", times=(1, 8)), 10),
        (counted("b", "model", 10, 5, scope="two", times=(9, 12)), 20),
        (counted("b", "model", 10, 5, scope="two", times=(8, 12)), 10),
        (counted("b", "model", 11, 5, scope="two", times=(1, 8)), 21),
        (counted("b", "model", 10, 6, scope="two", times=(1, 8)), 20),
        (counted("b", "model", 10, None, scope="two", times=(1, 8)), None),
        (counted("b", "model", 10, 5, scope="two", times=(1, None)), None),
        (counted("b", "model", 10, 5, scope="", times=(1, 8)), 10),
        (counted("b", "model", 10, 5, scope="two", times=(1, 8), **{ID: "r"}), 10),
        (counted("b", "model", None, None, scope="two", times=(1, 8)), None),
    ],
)
def test_another_instrumentation_records_the_same_call_where_counts_and_times_agree(
    other: tuple[ReadSpan, str], given: int | None
) -> None:
    # Beside each other, so that neither is inside the other: the same parent, which was lost.
    assert tokens(counted("a", "model", 10, 5), other)[0] == given


def test_the_id_of_a_response_tells_which_records_are_of_one_call() -> None:
    def pair(first: Any, second: Any, scope: str = "two", given: int = 10) -> int | None:
        one = counted("a", "model", 10, 5, **{ID: first})
        return tokens(one, counted("b", "model", given, 5, scope=scope, times=(20, 29), **{ID: second}))[0]

    assert pair("r", "r") == 10
    assert pair("r", "s") == 20
    assert pair("r", None) == 20
    assert pair('""', '""') == 20
    assert pair("r", "r", given=11) is None
    assert pair("r", "r", scope="one") == 20


@for_each(
    ("attributes", "stated"),
    [
        ({}, (None, None)),
        ({"gen_ai.usage.input_tokens": 3}, (3, None)),
        ({"llm.token_count.completion": 3}, (None, 3)),
        ({"gen_ai.usage.input_tokens": "3", "ai.usage.outputTokens": 4.0}, (3, 4)),
        ({"gen_ai.usage.input_tokens": "x", "gen_ai.usage.prompt_tokens": 3}, (3, None)),
        ({"gen_ai.usage.input_tokens": True}, (None, None)),
        ({"gen_ai.usage.input_tokens": -1}, (None, None)),
        ({"gen_ai.usage.input_tokens": 0}, (0, None)),
        ({"gen_ai.usage.input_tokens": 10**15}, (10**15, None)),
        ({"gen_ai.usage.input_tokens": 10**15 + 1}, (None, None)),
        ({"gen_ai.usage.input_tokens": "1" * 15}, (int("1" * 15), None)),
        ({"gen_ai.usage.input_tokens": "1" * 16}, (None, None)),
        ({"gen_ai.usage.input_tokens": 3, "gen_ai.operation.name": "embeddings"}, (None, None)),
        ({"gen_ai.usage.input_tokens": 3, "mlflow.spanType": '"EMBEDDING"'}, (None, None)),
        ({"gen_ai.usage.input_tokens": 3, "gen_ai.operation.name": "chat"}, (3, None)),
    ],
)
def test_what_a_span_states_of_tokens(attributes: dict[str, Any], stated: Any) -> None:
    assert stated_tokens(ReadSpan("a", attributes=attributes)) == stated
    kept = counts_in({**attributes, "input.value": "long"})
    assert "input.value" not in kept
    assert stated_tokens(ReadSpan("a", attributes=kept)) == stated


def test_records_without_an_instrumentation_are_told_apart_by_the_names_of_their_counts() -> None:
    def beside(family: str) -> int | None:
        first = counted("a", "model", 10, 5, scope="")
        counts: dict[str, Any] = {f"{family}.prompt": 10, f"{family}.completion": 5}
        second = counted("b", "model", scope="", times=(5, 12), **counts)
        return tokens(first, second)[0]

    same = counted("b", "model", 10, 5, scope="", times=(5, 12))
    assert beside("llm.token_count") == 10
    assert tokens(counted("a", "model", 10, 5, scope=""), same)[0] is None
