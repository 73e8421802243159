"""Hand-offs and final answers, and tools that are only named like them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.builders import judge
from tests.reading.traces import call, request, span
from tests.walls import for_each

from rightcall import ToolCall, Trajectory, read, read_messages
from rightcall.reading.runs._own_calls import agents_in, is_internal
from rightcall.reading.runs._span_calls import _is_schema
from rightcall.reading.spans import NOTHING, CallRecord, Span
from rightcall.scale.columns import Plan, score_batch, trajectories_batch, trajectory_of


def said(tool: str, args: dict[str, Any], output: str | None, **author: str) -> Trajectory:
    """A conversation in which `look_up` and then one other tool were called."""
    asked = {"function": {"name": "look_up", "arguments": "{}"}, "id": "1"}
    handing = {"function": {"name": tool, "arguments": json.dumps(args)}, "id": "2"}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "tool_calls": [asked]},
        {"role": "tool", "tool_call_id": "1", "content": "found"},
        {"role": "assistant", "tool_calls": [handing]},
    ]
    if output is not None:
        messages.append({"role": "tool", "tool_call_id": "2", "content": output})
    return read_messages([*messages, {"role": "assistant", "content": "Done.", **author}])


def agent(number: int, name: str, **more: Any) -> dict[str, Any]:
    return span(number, {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}, **more)


@pytest.mark.parametrize(
    ("tool", "args", "output", "expected"),
    [
        ("transfer_to_savings", {"amount": 100}, "ok, 100 moved", False),
        ("transfer_to_savings", {"amount": 100}, '{"balance": 3}', False),
        ("transfer_to_human_agents", {"summary": "angry"}, "Transfer successful", False),
        ("transfer_to_savings", {"amount": 100}, "100 transferred to savings", None),
        ("transfer_to_savings", {}, "Transfer successful", None),
        ("transfer_to_savings", {}, "", None),
        ("transfer_to_savings", {}, None, None),
        ("transfer_to_agent", {"agent_name": "billing"}, "null", None),
        ("transfer_to_billing", {}, "Successfully transferred to savings", None),
        ("transfer_to_billing", {"reason": "refund"}, '{"assistant": "Billing"}', True),
        ("transfer_to_billing_desk", {}, "Successfully transferred to Billing desk", True),
        (
            "transfer_to_agent",
            {"agent": "billing", "target": "queue 7"},
            "Successfully transferred to billing",
            True,
        ),
        ("transfer_back_to_supervisor", {}, "Successfully transferred back to supervisor", True),
        ("transfer_to_billing", {}, "Transferred to billing, adopting the role of billing immediately.", True),
        ("handoff_to_billing", {}, '{"handoff_to": "billing"}', True),
        ("final_answer", {"answer": 1}, "1", True),
        ("final_result_Answer", {"answer": 1}, "Final result processed.", True),
        ("final_result_of_match", {"answer": 1}, "3:1", False),
        ("final_result_Answer", {"answer": 1}, None, None),
        ("set_model_response", {"answer": 1}, '{"answer": 1}', True),
        ("transfer_to_billing", {}, '{"graph": "__parent__", "update": {}, "goto": "billing"}', True),
        ("transfer_to_billing", {}, '{"graph": "__parent__", "update": {}, "goto": "savings"}', None),
        ("transfer_to_billing", {}, '{"graph": null, "update": {}, "goto": "billing"}', False),
        ("Answer", {"order": 1}, "Returning structured response: order=1", True),
        ("Answer", {"order": 1}, "It is a structured response: order=1", False),
        ("transfer", {}, '{"assistant": "Billing"}', False),
    ],
    ids=str,
)
def test_a_name_alone_makes_no_hand_off(tool: str, args: dict[str, Any], output: str, expected: bool | None) -> None:
    made = said(tool, args, output).calls[1]

    assert made.internal is expected
    assert ("internal" in made.unrecorded) == (expected is None)


@pytest.mark.parametrize("author", ["name", "author", "source"])
def test_an_agent_that_writes_messages_was_handed_over_to(author: str) -> None:
    assert said("transfer_to_billing_desk", {}, "ok", **{author: "Billing Desk"}).calls[1].internal is True
    assert said("transfer_to_agent", {"agent_name": "billing"}, "ok", **{author: "billing"}).calls[1].internal is True
    assert said("transfer_to_billing", {}, "ok", **{author: "savings"}).calls[1].internal is None


def test_what_is_no_message_and_what_the_user_wrote_name_no_agent_that_was_handed_over_to() -> None:
    handing = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "transfer_to_billing"}}]}
    done = {"role": "tool", "tool_call_id": "1", "content": "ok"}

    for odd in ("billing", {"role": "user", "name": "billing", "content": "Hello"}):
        assert [call.internal for call in read_messages([odd, handing, done]).calls] == [None]


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([agent(3, "billing")], True),
        ([agent(3, "Billing")], True),
        ([agent(3, "savings")], None),
        ([], None),
        ([agent(3, "triage", parent=None)], None),
        ([span(3, {"gen_ai.operation.name": "invoke_agent", "handoffs": '["billing"]'})], True),
        ([span(3, {"gen_ai.operation.name": "invoke_agent", "handoffs": "billing"})], None),
    ],
    ids=["an agent", "other letters", "another agent", "none", "the caller", "listed", "listed wrongly"],
)
def test_an_agent_of_that_name_in_the_trace_makes_a_hand_off(others: list[Any], expected: bool | None) -> None:
    [found] = read(request(call(2, "transfer_to_billing"), *others), grouping="file")

    assert [made.internal for made in found.calls] == [expected]


@pytest.mark.parametrize(
    ("internal", "alone", "named"),
    [(False, "failed", "passed"), (None, "not_measured", "passed"), (True, "passed", "passed")],
    ids=str,
)
def test_a_call_that_may_be_a_hand_off_is_not_left_out_of_strict_expectations(
    internal: bool | None, alone: str, named: str
) -> None:
    unknown = frozenset({"internal"}) if internal is None else frozenset()
    handing = ToolCall("transfer_to_savings", internal=internal, unrecorded=unknown)
    run = Trajectory(calls=(ToolCall("look_up"), handing))

    verdicts = [
        judge("tool-trajectory", run, {"expected": [{"name": name} for name in names]}).verdict
        for names in (["look_up"], ["look_up", "transfer_to_savings"])
    ]

    assert verdicts == [alone, named]
    assert judge("step-count", run, {"at_most": 1}).verdict == alone


def test_the_doubt_is_told() -> None:
    run = said("transfer_to_savings", {}, "Transfer successful")

    result = judge("tool-trajectory", run, {"expected": [{"name": "look_up"}]})

    assert "whether `transfer_to_savings` is a tool or a hand-off was not recorded" in str(result.findings)


def test_the_doubt_survives_a_table() -> None:
    batch = trajectories_batch([run := said("transfer_to_savings", {}, "Transfer successful")])

    assert trajectory_of(batch.to_pylist()[0]).calls == run.calls
    for expected in ({"steps": 1}, {"calls": ["look_up"]}):
        assert score_batch(batch, Plan.of_expectation(expected)).to_pylist()[0]["verdict"] == "not_measured"


@pytest.mark.parametrize(
    ("held", "defines"),
    [
        ('{"type": "object", "properties": {}}', True),
        ('{"properties": {}, "required": []}', True),
        ('{"city": {"type": "string"}}', True),
        ('{"city": {"type": "string"}, "days": 3}', False),
        ('{"city": "Paris"}', False),
        ("{}", False),
        ("[1]", False),
        ("{'city", False),
    ],
)
def test_the_definition_of_a_tool_is_told_from_the_arguments_of_a_call(held: str, defines: bool) -> None:
    assert _is_schema(held) is defines


HANDED = "Successfully transferred to billing"


@for_each(
    ("record", "agents", "internal"),
    [
        (CallRecord("search"), [], False),
        (CallRecord("final_answer"), [], True),
        (CallRecord("adk_request_input"), [], True),
        (CallRecord("transfer_to_billing", convention="openai-agents, hand-off"), [], True),
        (CallRecord("transfer_to_billing", Span("handoff to billing")), [], True),
        (CallRecord("transfer_to_billing", Span("a tool")), [], None),
        (CallRecord("transfer_to_billing"), ["billing"], True),
        (CallRecord("transfer_back_to_billing"), ["billing"], True),
        (CallRecord("transfer_to_billing"), ["sales"], None),
        (CallRecord("transfer_to_agent", args={"agent_name": "Billing"}), ["billing"], True),
        (CallRecord("transfer_to_agent", args={"agent_name": 7}), ["billing"], None),
        (CallRecord("transfer_to_agent", args={"other": "billing"}), ["billing"], None),
        (CallRecord("handoff_to_agent", args={"target": "billing"}), ["billing"], True),
        (CallRecord("transfer_to_billing", output=None), [], None),
        (CallRecord("transfer_to_billing", output="null"), [], None),
        (CallRecord("transfer_to_billing", output=""), [], None),
        (CallRecord("transfer_to_billing", output=HANDED), [], True),
        (CallRecord("transfer_to_billing", output=HANDED, failed=True), [], None),
        (CallRecord("transfer_to_billing", output="Successfully transferred to sales"), [], None),
        (CallRecord("transfer_to_billing", output="Adopt the role of billing"), [], True),
        (CallRecord("transfer_to_billing", output={"assistant": "billing"}), [], True),
        (CallRecord("transfer_to_billing", output='{"assistant": "billing"}'), [], True),
        (CallRecord("transfer_to_billing", output=' {"assistant": "billing"}'), [], True),
        (CallRecord("transfer_to_billing", output='{"assistant": "billing", "sum": 3}'), [], False),
        (CallRecord("transfer_to_billing", output='{"sum": 3}'), [], False),
        (CallRecord("transfer_to_billing", output=3), [], False),
        (CallRecord("transfer_to_billing", args={"sum": 3}, output="done"), [], False),
        (CallRecord("transfer_to_billing", args={"reason": "x"}, output="done"), [], None),
        (CallRecord("transfer_to_billing", args={"sum": 3}, output="delegated to billing"), [], None),
        (CallRecord("transfer_to_billing", args={"sum": 3}, output="delegated to sales"), [], False),
        (
            CallRecord(
                "transfer_to_agent",
                args={"agent": "billing", "target": "sales", "sum": 3},
                output="delegated to billing",
            ),
            [],
            None,
        ),
    ],
)
def test_a_call_is_a_hand_off_by_what_is_known_of_it(
    record: CallRecord, agents: list[str], internal: bool | None
) -> None:
    assert is_internal(record, frozenset(agents)) is internal


def test_agents_are_known_by_their_spans_their_calls_and_what_they_write() -> None:
    handing = [CallRecord("transfer_to_x", agent="Front Desk")]
    spans = [
        Span("a", attributes={"gen_ai.agent.name": "Billing", "handoffs": '["Sales", 7]'}),
        Span("b", attributes={"gen_ai.agent.name": "not an agent"}),
        Span("c", attributes={"handoffs": "["}),
    ]
    roles: dict[int, Any] = {id(spans[0]): "agent", id(spans[2]): "agent"}

    assert agents_in(spans, roles, handing, []) == {"frontdesk", "billing", "sales"}
    assert agents_in(spans, roles, [CallRecord("search")], []) == frozenset()


@pytest.mark.parametrize(
    "output",
    [
        "Final result processed.",
        "Returning structured response: status='ok'",
        "Error: Failed to parse structured output for tool 'Status': no status.\n Please fix your mistakes.",
        "Error: Model incorrectly returned multiple structured responses (Status, Status) when only one is expected.",
    ],
    ids=["Pydantic AI", "LangChain", "LangChain, unparsed", "LangChain, several"],
)
def test_a_call_by_which_an_agent_answers_is_internal_whatever_its_name(output: str) -> None:
    [_, answer] = said("Status", {"status": "ok"}, output).calls

    assert answer.internal is True
    assert said("Status", {"status": "ok"}, "ok").calls[1].internal is False


@for_each(
    ("tool", "args", "output", "expected"),
    [
        ("Weather", {"temp": 4}, "Successfully validated Weather structured output", True),
        ("Weather", {"temp": 4}, "Successfully validated Order structured output", False),
        (
            "handoff",
            {"to_agent": "billing", "reason": "a refund"},
            "Agent billing is now handling the request due",
            True,
        ),
        ("handoff", {"to_agent": "billing"}, "Agent savings is now handling the request", False),
        ("handoff", {"to_agent": "billing"}, NOTHING, None),
        ("handoff", {"parcel": 7}, "done", False),
    ],
)
def test_answers_of_strands_and_hand_offs_of_llamaindex_are_the_frameworks_own(
    tool: str, args: dict[str, Any], output: Any, expected: bool | None
) -> None:
    assert is_internal(CallRecord(tool, args=args, output=output), frozenset()) is expected
