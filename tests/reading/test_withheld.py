"""Calls that were asked for and not carried out, and calls that were not the agent's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading.logs import ASKED, asks, gives, told_again
from tests.reading.traces import request, span
from tests.walls import for_each

from rightcall.reading import read, read_messages, read_spans
from rightcall.values.trajectory import Trajectory, WithheldCall

DEFERRAL = "pydantic_ai.tool.deferral.name"
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund", "gen_ai.tool.call.arguments": '{"n": 7}'}


def tool_spans(*attributes: dict[str, Any]) -> Trajectory:
    spans = [span(number, held, name="execute_tool refund") for number, held in enumerate(attributes, 1)]
    [trajectory] = read(request(*spans))
    return trajectory


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("ApprovalRequired", "approval was asked for"),
        ("CallDeferred", "deferred: the tool is run elsewhere"),
        ("Postponed", "deferred: Postponed"),
    ],
)
def test_a_span_of_a_deferred_call_is_no_call(name: str, reason: str) -> None:
    trajectory = tool_spans({**TOOL, DEFERRAL: name})

    assert trajectory.calls == ()
    assert trajectory.withheld == (WithheldCall("refund", {"n": 7}, reason),)
    assert trajectory.calls_recorded


@pytest.mark.parametrize("call_id", [{"gen_ai.tool.call.id": "c"}, {}])
def test_a_call_that_was_deferred_and_then_made_is_one_call(call_id: dict[str, str]) -> None:
    trajectory = tool_spans({**TOOL, **call_id, DEFERRAL: "ApprovalRequired"}, {**TOOL, **call_id})

    assert trajectory.names == ("refund",)
    assert trajectory.withheld == ()


def test_a_deferred_call_does_not_hide_another_one_that_was_made() -> None:
    deferred = {**TOOL, "gen_ai.tool.call.id": "c1", DEFERRAL: "ApprovalRequired"}
    trajectory = tool_spans(deferred, {**TOOL, "gen_ai.tool.call.id": "c2"})

    assert (trajectory.names, len(trajectory.withheld)) == (("refund",), 1)


def model_span(number: int, shown: list[dict[str, Any]], said: dict[str, Any]) -> dict[str, Any]:
    messages = {"gen_ai.input.messages": json.dumps(shown), "gen_ai.output.messages": json.dumps([said])}
    return span(number, {"gen_ai.operation.name": "chat", **messages}, name="chat gpt-4o")


def interrupted_tool(number: int, exception: str = "langgraph.errors.GraphInterrupt") -> dict[str, Any]:
    """A tool of LangGraph or LlamaIndex that asks a person, as OpenInference records it."""
    kind = {"key": "exception.type", "value": {"stringValue": exception}}
    return graph_tool(number, events=[{"name": "exception", "attributes": [kind]}])


def graph_tool(number: int, **more: Any) -> dict[str, Any]:
    held = {"openinference.span.kind": "TOOL", "tool.name": "refund", "input.value": '{"n": 7}'}
    return span(number, held, name="refund", **more)


@pytest.mark.parametrize(
    "exception", ["langgraph.errors.GraphInterrupt", "workflows.runtime.types.results.WaitingForEvent"]
)
def test_a_tool_that_interrupts_its_graph_or_workflow_was_not_made(exception: str) -> None:
    [trajectory] = read(request(interrupted_tool(1, exception)))

    assert trajectory.calls == ()
    assert trajectory.withheld == (WithheldCall("refund", {"n": 7}, "approval was asked for"),)


def test_a_tool_that_interrupted_its_graph_and_was_called_again_is_one_call_with_the_id_of_the_model() -> None:
    log = [ASKED, asks(("refund", "c1", '{"n": 7}')), gives("c1", "paid")]
    trajectory = read_spans([request(interrupted_tool(1), graph_tool(2))], messages=log)

    [call] = trajectory.calls
    assert (call.call_id, call.span_id, call.output) == ("c1", f"{2:016x}", "paid")
    assert trajectory.withheld == ()


@pytest.mark.parametrize(("output", "made"), [(None, ()), ("paid", ("refund",))], ids=["open", "answered"])
def test_a_span_without_a_result_is_of_no_call_where_the_log_says_that_it_waits(
    output: str | None, made: tuple[str, ...]
) -> None:
    note = {"type": "user.tool_confirmation", "tool_use_id": "c1", "result": "deny", "deny_message": "no"}
    held = {**TOOL, "gen_ai.tool.call.id": "c1", **({} if output is None else {"gen_ai.tool.call.result": output})}
    log = [ASKED, asks(("refund", "c1", '{"n": 7}')), note]

    trajectory = read_spans([request(span(1, held, name="execute_tool refund"))], messages=log)

    assert (trajectory.names, len(trajectory.withheld)) == (made, 1 - len(made))


def test_a_graph_that_was_interrupted_inside_of_a_tool_tells_by_spans_which_calls_were_made() -> None:
    state = {"messages": [ASKED, asks(("refund", "c1", '{"n": 7}'))], "__interrupt__": [{"value": "Which card?"}]}
    trajectory = read_spans([request(interrupted_tool(1))], messages=state)

    assert (trajectory.calls, [call.name for call in trajectory.withheld]) == ((), ["refund"])
    assert trajectory.calls_recorded


APPROVAL = "(Interrupt(value={'action_requests': [{'name': 'refund', 'args': {'n': 7}}]}, id='a'),)"
QUESTION = "(Interrupt(value='Which card?', id='a'),)"


def raised(text: str, kind: str = "langgraph.errors.GraphInterrupt") -> dict[str, Any]:
    told = {"exception.type": kind, "exception.message": text}
    held = [{"key": key, "value": {"stringValue": value}} for key, value in told.items()]
    return {"events": [{"name": "exception", "attributes": held}]}


def node(number: int, told: str = "", **more: Any) -> dict[str, Any]:
    """A node of a graph, with what OpenInference or Langfuse write of it."""
    langfuse = {"langfuse.observation.status_message": told} if told else {}
    return span(number, {"input.value": "{}", **langfuse}, name="HumanInTheLoopMiddleware.after_model", **more)


def asking(*later: dict[str, Any]) -> Trajectory:
    """A model asks for a call, and then comes what spans show."""
    call = {"type": "tool_call", "id": "c1", "name": "refund", "arguments": {"n": 7}}
    question = {"role": "user", "parts": [{"type": "text", "content": "Refund 7"}]}
    [trajectory] = read(request(model_span(1, [question], {"role": "assistant", "parts": [call]}), *later))
    return trajectory


@for_each(
    ("name", "span"),
    [
        ("OpenInference", node(2, **raised(APPROVAL))),
        ("LangSmith", node(2, **raised(f"GraphInterrupt({APPROVAL})Traceback (most", "Exception"))),
        ("Langfuse", node(2, APPROVAL)),
        ("OpenLLMetry", node(2, status={"code": 2, "message": APPROVAL})),
    ],
)
def test_calls_before_which_a_graph_asked_for_approval_wait_by_the_spans_of(name: str, span: dict[str, Any]) -> None:
    trajectory = asking(span)

    assert trajectory.calls == ()
    assert trajectory.withheld == (WithheldCall("refund", {"n": 7}, "approval was asked for"),)
    assert trajectory.calls_recorded


@for_each(
    ("why", "spans"),
    [
        ("another question may come from inside a tool", [node(2, **raised(QUESTION))]),
        (
            "the graph has gone on",
            [
                node(2, **raised(APPROVAL)),
                model_span(3, [], {"role": "assistant", "parts": [{"type": "text", "content": "x"}]}),
            ],
        ),
    ],
)
def test_calls_that_an_interrupted_graph_may_have_made_are_not_understood(why: str, spans: list[Any]) -> None:
    trajectory = asking(*spans)

    assert not trajectory.calls_recorded
    assert "refund" in trajectory.not_understood


def test_calls_that_were_asked_for_after_a_graph_was_interrupted_were_made() -> None:
    assert asking(node(0, **raised(APPROVAL))).names == ("refund",)


@for_each(
    ("name", "held"),
    [
        ("Langfuse", {"langfuse.observation.type": "tool", "langfuse.observation.status_message": QUESTION}),
        ("LangSmith", {"langsmith.span.kind": "tool"}),
    ],
)
def test_a_tool_that_asks_a_person_was_not_made_by_the_spans_of(name: str, held: dict[str, str]) -> None:
    asked = raised(f"GraphInterrupt({QUESTION})", "Exception") if name == "LangSmith" else {}
    args = {"langfuse.observation.input": '{"n": 7}', "gen_ai.tool.name": "refund", "gen_ai.prompt": '{"n": 7}'}
    [trajectory] = read(request(span(1, {**args, **held}, name="refund", **asked)))

    assert trajectory.calls == ()
    assert trajectory.withheld == (WithheldCall("refund", {"n": 7}, "approval was asked for"),)


ASKED_BY_HAYSTACK = "haystack.agent.hook.human_in_the_loop.strategy"


def haystack_spans(decision: str | None, *, is_made: bool = False) -> Trajectory:
    """A person is asked about a call in a span of Haystack; the call has one of its own if it is made."""
    prefix = ASKED_BY_HAYSTACK
    question = {"tool_name": "refund", "tool_description": "Pay back.", "tool_params": {"n": 7}}
    asked = {"haystack.tool.name": "refund", "haystack.tool.call.id": "c1", f"{prefix}.input": json.dumps(question)}
    decided = {} if decision is None else {f"{prefix}.decision": decision}
    made = {"haystack.tool.name": "refund", "haystack.agent.step.tool.input": '{"n": 7}'}
    spans = [span(1, {**asked, f"{prefix}.type": "Blocking", **decided}, name=prefix)]
    spans += [span(2, {**made, "haystack.agent.step.tool.output": "paid"}, name="haystack.agent.step.tool")] * is_made
    [trajectory] = read(request(*spans))
    return trajectory


def test_a_question_of_haystack_that_was_rejected_is_a_call_that_was_refused() -> None:
    trajectory = haystack_spans("reject")

    assert trajectory.calls == ()
    assert trajectory.withheld == (WithheldCall("refund", {"n": 7}, "approval was refused"),)
    assert trajectory.calls_recorded


@pytest.mark.parametrize("decision", ["confirm", "modify"])
def test_a_question_of_haystack_that_was_allowed_is_not_a_second_call(decision: str) -> None:
    trajectory = haystack_spans(decision, is_made=True)

    assert [(call.name, call.args, call.output) for call in trajectory.calls] == [("refund", {"n": 7}, "paid")]
    assert (trajectory.withheld, trajectory.calls_recorded) == ((), True)


@pytest.mark.parametrize("decision", [None, "postpone"])
def test_a_question_of_haystack_without_a_known_answer_is_not_understood(decision: str | None) -> None:
    trajectory = haystack_spans(decision)

    assert (trajectory.calls, trajectory.calls_recorded) == ((), False)
    assert "does not say what was decided" in trajectory.not_understood


def test_a_question_of_haystack_that_lost_all_about_the_question_is_not_a_call() -> None:
    asked = {"haystack.tool.name": "refund", "haystack.tool.call.id": "c1"}
    made = {"haystack.tool.name": "refund", "haystack.tool.description": "Pay back."}
    [trajectory] = read(request(span(1, asked), span(2, made)))

    assert ([call.span_id for call in trajectory.calls], trajectory.calls_recorded) == ([span(2)["spanId"]], False)


def microsoft_log(*answers: dict[str, Any]) -> list[dict[str, Any]]:
    """A call that a person is asked about, as Microsoft's Agent Framework keeps it in a session, and what follows."""
    call = {"type": "function_call", "call_id": "c1", "name": "refund", "arguments": '{"n": 7}', "id": "af-call-1"}
    asked = {"type": "function_approval_request", "id": "af-call-1", "user_input_request": True, "function_call": call}
    said = [
        {"type": "function_approval_response", "id": "af-call-1", "function_call": call, **answer}
        if "approved" in answer
        else {"type": "function_result", "call_id": "c1", **answer}
        for answer in answers
    ]
    roles = ["user" if "approved" in answer else "tool" for answer in answers]
    answered = [{"role": role, "contents": [part]} for role, part in zip(roles, said, strict=True)]
    return [{"role": "user", "contents": [{"type": "text", "text": "Refund 7"}]}, asks_in(call, asked), *answered]


def asks_in(*contents: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "contents": list(contents)}


APPROVALS: list[tuple[list[dict[str, Any]], tuple[str, ...], list[str]]] = [
    ([], (), ["approval was asked for"]),
    ([{"approved": False}, {"result": "Error: rejected by user."}], (), ["approval was refused"]),
    ([{"approved": True}, {"result": "paid"}], ("refund",), []),
    ([{"approved": True}], ("refund",), []),
]
"""What follows on a question of Agent Framework, the calls that were made, and why others were not."""


@pytest.mark.parametrize(
    ("answers", "made", "reasons"), APPROVALS, ids=["asked", "refused", "approved and made", "approved"]
)
def test_a_call_of_agent_framework_is_made_once_a_person_approved_it(
    answers: list[dict[str, Any]], made: tuple[str, ...], reasons: list[str]
) -> None:
    trajectory = read_messages(microsoft_log(*answers))

    assert (trajectory.names, [call.reason for call in trajectory.withheld]) == (made, reasons)
    assert trajectory.calls_recorded


@for_each(("answers", "made", "reasons"), APPROVALS)
def test_a_call_of_agent_framework_stays_approved_or_refused_in_logs_of_later_turns(
    answers: list[dict[str, Any]], made: tuple[str, ...], reasons: list[str]
) -> None:
    for trajectory in told_again(microsoft_log(*answers)):
        assert (trajectory.names, [call.reason for call in trajectory.withheld]) == (made, reasons)


@pytest.mark.parametrize("call_id", ["c1", None])
def test_a_refused_call_was_not_made_though_its_result_lost_its_id_and_more_calls_follow(call_id: str | None) -> None:
    log = microsoft_log({"approved": False}, {"call_id": call_id, "result": "Error: rejected by user."})
    more = {"role": "user", "contents": [{"type": "text", "text": "Then look."}]}
    trajectory = read_messages([*log, more, asks(("look", "c2", "{}")), gives("c2", "ok")])

    assert (trajectory.names, len(trajectory.withheld)) == (("look",), 1)


@pytest.mark.parametrize(("approved", "made"), [(True, ("refund",)), (False, ())])
def test_spans_of_agent_framework_say_whether_a_call_was_approved(approved: bool, made: tuple[str, ...]) -> None:
    question, asked, answer = [
        {"role": message["role"], "parts": message["contents"]} for message in microsoft_log({"approved": approved})
    ]
    given = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "as was said"}]}
    turns = [([question], [asked]), ([answer], [given])]
    spans = [
        span(
            number,
            {
                "gen_ai.operation.name": "invoke_agent",
                "gen_ai.input.messages": json.dumps(shown),
                "gen_ai.output.messages": json.dumps(said),
            },
            name="invoke_agent shop",
        )
        for number, (shown, said) in enumerate(turns, 1)
    ]

    [trajectory] = read(request(*spans))

    assert (trajectory.names, len(trajectory.withheld)) == (made, 1 - len(made))


def adk_span(number: int, response: dict[str, Any], call_id: str = "adk-1") -> dict[str, Any]:
    held = {**TOOL, "gen_ai.tool.call.id": call_id, "gen_ai.tool.call.result": json.dumps(response)}
    return span(number, held, name="execute_tool refund")


ADK = "gcp.vertex.agent"
ASKS_FIRST = {"error": "This tool call requires confirmation, please approve or reject."}
REJECTED = {"error": "This tool call is rejected."}


def adk_event(part: dict[str, Any], role: str = "model", **actions: Any) -> dict[str, Any]:
    return {"author": "shop", "content": {"role": role, "parts": [part]}, "actions": actions}


def adk_events(*responses: dict[str, Any]) -> list[dict[str, Any]]:
    """The events of a call that a person is asked to confirm."""
    call = adk_event({"function_call": {"id": "adk-1", "name": "refund", "args": {"n": 7}}})
    given = [{"function_response": {"id": "adk-1", "name": "refund", "response": each}} for each in responses]
    first = adk_event(given[0], "user", requested_tool_confirmations={"adk-1": None})
    return [call, first, *[adk_event(each, "user") for each in given[1:]]]


def test_a_call_of_adk_that_was_confirmed_is_made_once() -> None:
    [trajectory] = read(request(adk_span(1, ASKS_FIRST), adk_span(2, {"result": "paid"}), scope=ADK))

    assert [(call.output, call.error) for call in trajectory.calls] == [("paid", None)]


def test_a_call_of_adk_that_had_to_be_confirmed_and_was_rejected_was_not_made() -> None:
    [trajectory] = read(request(adk_span(1, ASKS_FIRST), adk_span(2, REJECTED), scope=ADK))

    assert trajectory.calls == ()
    assert trajectory.withheld == (WithheldCall("refund", {"n": 7}, "approval was refused"),)
    assert trajectory.calls_recorded


@pytest.mark.parametrize(
    "spans",
    [
        [adk_span(1, REJECTED)],
        [adk_span(1, REJECTED), adk_span(2, REJECTED)],
        [adk_span(1, {"error": "no such order"}), adk_span(2, REJECTED)],
    ],
    ids=["once", "twice", "after another error"],
)
def test_a_tool_of_adk_that_says_it_was_rejected_and_had_not_to_be_confirmed_was_called(
    spans: list[dict[str, Any]],
) -> None:
    [trajectory] = read(request(*spans, scope=ADK))

    assert trajectory.calls[-1].error == REJECTED["error"]
    assert trajectory.withheld == ()


def test_two_calls_of_adk_that_wait_for_confirmation_are_two() -> None:
    [trajectory] = read(request(adk_span(1, ASKS_FIRST), adk_span(2, ASKS_FIRST, "adk-2"), scope=ADK))

    assert [call.reason for call in trajectory.withheld] == ["approval was asked for"] * 2


@pytest.mark.parametrize(
    ("responses", "reason"),
    [([ASKS_FIRST], "approval was asked for"), ([ASKS_FIRST, REJECTED], "approval was refused")],
    ids=["open", "rejected"],
)
def test_a_call_of_adk_that_its_events_say_was_not_confirmed_is_withheld(
    responses: list[dict[str, Any]], reason: str
) -> None:
    spans = [adk_span(number, each) for number, each in enumerate(responses, 1)]
    trajectory = read_spans([request(*spans, scope=ADK)], messages=adk_events(*responses))

    assert trajectory.calls == ()
    assert trajectory.withheld == (WithheldCall("refund", {"n": 7}, reason),)


def waiting(output: str, *answers: dict[str, Any]) -> Trajectory:
    """A run of Pydantic AI that ended with an output, after a model had asked for a call."""
    asked = {"type": "tool_call", "id": "c1", "name": "refund", "arguments": '{"n": 7}'}
    said = [{"role": "user", "parts": [{"type": "text", "content": "Go"}]}, {"role": "assistant", "parts": [asked]}]
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "support", "final_result": output}
    held = {**agent, "pydantic_ai.all_messages": json.dumps([*said, *answers])}
    [trajectory] = read(request(span(1, held, name="invoke_agent support")))
    return trajectory


def requests_of(**calls: list[str]) -> str:
    parts = {key: [{"tool_name": "refund", "tool_call_id": each} for each in ids] for key, ids in calls.items()}
    return json.dumps({"calls": [], "approvals": [], "metadata": {}, **parts})


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (requests_of(approvals=["c1"]), "approval was asked for"),
        (requests_of(calls=["c1"]), "deferred: the tool is run elsewhere"),
    ],
)
def test_a_call_that_an_agent_of_pydantic_ai_ended_to_wait_for_is_withheld(output: str, reason: str) -> None:
    trajectory = waiting(output)

    assert trajectory.calls == ()
    assert trajectory.withheld == (WithheldCall("refund", {"n": 7}, reason),)


@pytest.mark.parametrize(
    "output",
    ["done", requests_of(approvals=["c2"]), '{"approvals": ["c1"]}', '{"calls": 1, "approvals": 2}'],
    ids=["text", "other id", "other object", "other types"],
)
def test_any_other_output_of_an_agent_withholds_nothing(output: str) -> None:
    assert waiting(output).names == ("refund",)


def test_a_call_that_waited_for_approval_and_has_a_result_but_no_span_may_have_been_refused() -> None:
    result = {"type": "tool_call_response", "id": "c1", "name": "refund", "result": "too risky"}

    trajectory = waiting(requests_of(approvals=["c1"]), {"role": "user", "parts": [result]})
    assert "a call of refund, which may have been made" in trajectory.not_understood


def test_a_call_that_was_run_elsewhere_is_made_once_it_has_a_result() -> None:
    result = {"type": "tool_call_response", "id": "c1", "name": "refund", "result": "paid"}

    trajectory = waiting(requests_of(calls=["c1"]), {"role": "user", "parts": [result]})
    assert [(each.name, each.output) for each in trajectory.calls] == [("refund", "paid")]
    assert trajectory.calls_recorded


def test_a_tool_that_deferred_its_call_was_called_once_the_call_has_a_result() -> None:
    asked = {"type": "tool_call", "id": "c1", "name": "refund", "arguments": "{}"}
    result = {"type": "tool_call_response", "id": "c1", "name": "refund", "result": "paid"}
    raised = {"exception.type": "pydantic_ai.exceptions.CallDeferred", "exception.message": "CallDeferred()"}
    event = {"name": "exception", "attributes": [{"key": key, "value": {"stringValue": raised[key]}} for key in raised]}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund", "gen_ai.tool.call.id": "c1"}
    deferred = span(2, tool, name="execute_tool refund", events=[event], status={"code": 2})
    model = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    first = span(1, {**model, "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [asked]}])})
    given = [{"role": "assistant", "parts": [asked]}, {"role": "user", "parts": [result]}]

    [waiting_run] = read(request(first, deferred))
    [run] = read(request(first, deferred, span(3, {**model, "gen_ai.input.messages": json.dumps(given)})))

    assert [each.reason for each in waiting_run.withheld] == ["deferred: the tool is run elsewhere"]
    assert ([(each.output, each.error) for each in run.calls], run.withheld) == ([("paid", None)], ())


def test_requests_that_wait_are_no_answer_in_any_version_of_pydantic_ai() -> None:
    trajectory = waiting(json.dumps({**json.loads(requests_of(approvals=["c1"])), "_kinds": {}}))

    assert (trajectory.names, trajectory.output) == ((), None)


TRIPPED = "Tool input guardrail ToolInputGuardrail triggered tripwire"


@pytest.mark.parametrize(
    "message",
    [
        TRIPPED,
        f"Error running tool: {{'tool_name': 'pay', 'error': '{TRIPPED}'}}",
        f"{{'message': 'Error running tool', 'data': {{'tool_name': 'pay', 'error': '{TRIPPED}'}}}}",
    ],
    ids=["logfire", "openinference", "openllmetry"],
)
def test_a_call_before_which_a_guardrail_ended_the_run_is_withheld(message: str) -> None:
    tool = {"openinference.span.kind": "TOOL", "tool.name": "pay", "input.value": "{}"}
    failed = span(1, tool, name="pay", status={"code": 2, "message": message})
    inner = span(2, {"openinference.span.kind": "AGENT"}, parent=1)

    [refused] = read(request(failed))
    [asked_another] = read(request(failed, inner))

    assert (refused.names, refused.withheld) == ((), (WithheldCall("pay", {}, "refused by a guardrail"),))
    assert asked_another.names == ("pay",)


def test_a_second_hand_off_of_one_answer_is_withheld() -> None:
    calls = [
        {"type": "function_call", "call_id": name, "name": f"transfer_to_{name}", "arguments": "{}"}
        for name in ("billing", "closer")
    ]
    results = [
        {
            "type": "function_call_output",
            "call_id": "closer",
            "output": "Multiple handoffs detected, ignoring this one.",
        },
        {"type": "function_call_output", "call_id": "billing", "output": '{"assistant": "billing"}'},
    ]

    trajectory = read_messages([{"role": "user", "content": "Go"}, *calls, *results])

    assert trajectory.names == ("transfer_to_billing",)
    assert [(each.name, each.reason) for each in trajectory.withheld] == [
        ("transfer_to_closer", "another hand-off was made instead")
    ]


INTERRUPT = "v1:{}:c1:5cf56bed-067e-5438-a1ef-dbfa3405e45d"


def interrupted(
    kind: str = "before_tool_call", *spans: dict[str, Any], reason: str = "interrupt", ids: tuple[str, ...] = ("c1",)
) -> Trajectory:
    """An agent of Strands that ended to ask a person about a call; an id that is empty was lost."""
    call = {"type": "tool_call", "name": "refund"}
    parts = [
        {**call, "arguments": {"n": 7 + place}, **({"id": each} if each else {})} for place, each in enumerate(ids)
    ]
    asked = [{"role": "assistant", "parts": parts}]
    answer = str([{"id": INTERRUPT.format(kind), "name": "approve", "reason": None, "response": None}])
    held = (
        {"key": "message", "value": {"stringValue": answer}},
        {"key": "finish_reason", "value": {"stringValue": reason}},
    )
    agent = span(
        1,
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"},
        name="invoke_agent shop",
        endTimeUnixNano="6000",
        events=[{"name": "gen_ai.choice", "attributes": list(held)}],
    )
    model = span(
        2, {"gen_ai.operation.name": "chat", "gen_ai.output.messages": json.dumps(asked)}, name="chat", parent=1
    )
    [trajectory] = read(request(agent, model, *spans, scope="strands.telemetry.tracer"))
    return trajectory


def strands_tool(number: int, **more: str) -> dict[str, Any]:
    return span(number, {**TOOL, "gen_ai.tool.call.id": "c1", **more}, name="execute_tool refund", parent=1)


@pytest.mark.parametrize(
    ("kind", "spans"),
    [
        ("before_tool_call", []),
        ("middleware_execute_tool", []),
        ("tool_call", [strands_tool(3)]),
    ],
    ids=["before a tool", "around a tool", "inside of a tool"],
)
def test_a_call_at_which_an_agent_of_strands_was_interrupted_waits(kind: str, spans: list[dict[str, Any]]) -> None:
    trajectory = interrupted(kind, *spans)

    assert trajectory.calls == ()
    assert trajectory.withheld == (WithheldCall("refund", {"n": 7}, "approval was asked for"),)
    assert trajectory.calls_recorded


def test_a_call_that_lost_its_id_is_the_one_that_an_agent_of_strands_waits_for_if_there_is_no_other() -> None:
    alone, one_of_two = interrupted(ids=("",)), interrupted(ids=("", ""))

    assert (alone.names, alone.calls_recorded) == ((), True)
    assert alone.withheld == (WithheldCall("refund", {"n": 7}, "approval was asked for"),)
    assert not one_of_two.calls_recorded
    assert interrupted(ids=("", "c1")).names == ("refund",)


@pytest.mark.parametrize(
    ("kind", "spans", "reason"),
    [
        ("before_tool_call", [strands_tool(8)], "interrupt"),
        ("tool_call", [strands_tool(3), strands_tool(8, **{"gen_ai.tool.call.result": "paid"})], "interrupt"),
        ("before_tool_call", [strands_tool(3, **{"gen_ai.tool.call.result": "paid"})], "interrupt"),
        ("before_node_call", [], "interrupt"),
        ("before_tool_call", [], "end_turn"),
    ],
    ids=["later", "again", "with a result", "of a node", "in words"],
)
def test_a_call_of_strands_that_a_span_shows_or_nobody_was_asked_about_was_made(
    kind: str, spans: list[dict[str, Any]], reason: str
) -> None:
    trajectory = interrupted(kind, *spans, reason=reason)

    assert (trajectory.names, trajectory.withheld) == (("refund",), ())


PYDANTIC_AI = "pydantic-ai"
DENIED_BY_DEFAULT = "The tool call was denied."


def answered_in_spans(answer: str, scope: str, *spans: dict[str, Any]) -> Trajectory:
    """A model asks for a call, and is shown what came of it, in spans of a framework."""
    call = {"type": "tool_call", "id": "c1", "name": "refund", "arguments": {"n": 7}}
    asked = {"role": "assistant", "parts": [call]}
    given = {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "name": "refund", "result": answer}]}
    question = {"role": "user", "parts": [{"type": "text", "content": "Refund 7"}]}
    done = {"role": "assistant", "parts": [{"type": "text", "content": "Done."}]}
    models = [model_span(1, [question], asked), model_span(9, [question, asked, given], done)]
    [trajectory] = read(request(*models, *spans, scope=scope))
    return trajectory


@for_each(
    ("scope", "sentence"),
    [
        (PYDANTIC_AI, DENIED_BY_DEFAULT),
        ("openinference.instrumentation.openai_agents", "Tool execution was not approved."),
        ("openinference.instrumentation.agno", "Function call was rejected by the user"),
        ("openinference.instrumentation.agno", "Tool call was rejected"),
        ("openinference.instrumentation.langchain", "User rejected the tool call for `refund` with reason: no"),
        ("openinference.instrumentation.langchain", "Tool call limit exceeded. Do not make additional tool calls."),
        ("langsmith", "Tool call limit exceeded. Do not call 'refund' again."),
        ("strands.telemetry.tracer", "tool cancelled by user"),
        ("agent_framework", "Error: Tool call invocation was rejected by user."),
        ("", DENIED_BY_DEFAULT),
        ("my.own", DENIED_BY_DEFAULT),
    ],
)
def test_a_call_that_spans_answer_with_the_refusal_of_a_framework_was_not_made(scope: str, sentence: str) -> None:
    trajectory = answered_in_spans(sentence, scope)

    assert trajectory.calls == ()
    assert [(call.name, call.args) for call in trajectory.withheld] == [("refund", {"n": 7})]
    assert trajectory.calls_recorded


@for_each(
    ("scope", "answer"),
    [
        (PYDANTIC_AI, f"{DENIED_BY_DEFAULT} "),
        (PYDANTIC_AI, f"Error: {DENIED_BY_DEFAULT}"),
        (PYDANTIC_AI, "paid"),
        (PYDANTIC_AI, "tool cancelled by user: too dear"),
        ("", "paid"),
    ],
)
def test_any_other_answer_in_spans_is_the_result_of_a_call(scope: str, answer: str) -> None:
    trajectory = answered_in_spans(answer, scope)

    assert [(call.name, call.output) for call in trajectory.calls] == [("refund", answer)]
    assert trajectory.withheld == ()


def test_a_tool_whose_span_has_a_result_was_called_whatever_it_says() -> None:
    held = {**TOOL, "gen_ai.tool.call.id": "c1", "gen_ai.tool.call.result": DENIED_BY_DEFAULT}
    made = span(5, held, name="execute_tool refund")

    assert answered_in_spans(DENIED_BY_DEFAULT, PYDANTIC_AI, made).names == ("refund",)


def test_a_span_without_a_result_is_of_no_call_where_the_model_was_told_of_a_refusal() -> None:
    begun = span(5, TOOL, name="execute_tool refund")
    trajectory = answered_in_spans("Tool execution was not approved.", "logfire.openai_agents", begun)

    assert (trajectory.calls, [call.reason for call in trajectory.withheld]) == ((), ["refused by the user"])


OPENAI_AGENTS = "openinference.instrumentation.openai_agents"


def approved_tool(number: int, output: str | None, n: int = 7) -> dict[str, Any]:
    """A tool of OpenAI Agents: its span has no id, and no output while it waits for approval."""
    held = {"openinference.span.kind": "TOOL", "tool.name": "refund", "input.value": json.dumps({"n": n})}
    return span(number, held if output is None else {**held, "output.value": output}, name="refund")


@pytest.mark.parametrize("scope", [OPENAI_AGENTS, ""])
def test_a_call_of_openai_agents_that_was_approved_is_made_once(scope: str) -> None:
    trajectory = answered_in_spans("paid", scope, approved_tool(3, None), approved_tool(5, "paid"))

    assert [(call.span_id, call.call_id, call.output) for call in trajectory.calls] == [(f"{5:016x}", "c1", "paid")]
    assert trajectory.withheld == ()
    # Without a scope they may be of another framework, where both are calls.
    assert trajectory.calls_recorded is bool(scope)


def logfire_tool(number: int, output: str) -> dict[str, Any]:
    """A tool of OpenAI Agents as Logfire records it: the output is `null` where the span has none."""
    held = {"logfire.msg_template": "Function: {name}", "name": "refund", "input": '{"n": 7}', "output": output}
    return span(number, held, name="Function: {name}")


def test_a_call_of_openai_agents_that_waits_has_no_output_by_the_spans_of_logfire() -> None:
    scope = "logfire.openai_agents"
    [waits] = read(request(span(1, {"gen_ai.operation.name": "chat"}), logfire_tool(3, "null"), scope=scope))
    approved = answered_in_spans("paid", scope, logfire_tool(3, "null"), logfire_tool(5, "paid"))

    assert (waits.calls, waits.calls_recorded) == ((), False)
    assert "may only have waited for a person" in waits.not_understood
    assert [(call.span_id, call.output) for call in approved.calls] == [(f"{5:016x}", "paid")]


def test_one_of_two_spans_without_a_result_may_be_a_question() -> None:
    trajectory = answered_in_spans("paid", OPENAI_AGENTS, approved_tool(3, None), approved_tool(5, None))

    assert trajectory.names == ("refund",)
    assert "may only have waited for a person" in trajectory.not_understood


@pytest.mark.parametrize(
    ("scope", "spans"),
    [
        (OPENAI_AGENTS, [approved_tool(3, "paid"), approved_tool(5, "paid")]),
        ("openinference.instrumentation.langchain", [approved_tool(3, None), approved_tool(5, "paid")]),
        ("openinference.instrumentation.langchain", [approved_tool(3, None), approved_tool(5, None)]),
    ],
    ids=["both returned", "another framework", "another framework, none returned"],
)
def test_other_spans_of_one_request_are_calls_of_their_own(scope: str, spans: list[dict[str, Any]]) -> None:
    trajectory = answered_in_spans("paid", scope, *spans)

    assert (trajectory.names, trajectory.calls_recorded) == (("refund", "refund"), True)


@pytest.mark.parametrize(
    "spans",
    [
        [approved_tool(3, "paid"), approved_tool(5, None)],
        [approved_tool(3, None, 8), approved_tool(5, "paid")],
    ],
    ids=["the last", "other arguments"],
)
def test_a_span_without_a_result_that_no_call_follows_may_be_a_call_that_lost_it(spans: list[dict[str, Any]]) -> None:
    trajectory = answered_in_spans("paid", OPENAI_AGENTS, *spans)

    assert (trajectory.names, trajectory.calls_recorded) == (("refund",), False)


NOT_RUN = "Tool not executed - a final result was already processed."


def answered_beside(*results: tuple[str, str, str]) -> Trajectory:
    """A log of Pydantic AI, whose model asked for tools together with the final answer."""
    ids = [{"tool_name": tool, "tool_call_id": call_id} for tool, call_id, _ in results]
    asked = [{"part_kind": "tool-call", "args": {"n": 7}, **each} for each in ids]
    given = [
        {"part_kind": "tool-return", "content": text, **each} for each, (_, _, text) in zip(ids, results, strict=True)
    ]
    said = {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "Go"}]}
    return read_messages([said, {"kind": "response", "parts": asked}, {"kind": "request", "parts": given}])


def test_a_tool_that_was_asked_for_together_with_the_final_answer_was_not_made() -> None:
    found = answered_beside(("final_result", "1", "Final result processed."), ("refund", "2", NOT_RUN))

    assert found.names == ("final_result",)
    assert found.withheld == (WithheldCall("refund", {"n": 7}, "a final result was already given"),)


def test_the_text_alone_does_not_say_that_a_tool_was_not_made() -> None:
    assert answered_beside(("look", "1", "found"), ("refund", "2", NOT_RUN)).names == ("look", "refund")


def claude(use: dict[str, Any], result: dict[str, Any], **beside: Any) -> list[dict[str, Any]]:
    return [
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "tool_use", **use}]}},
        {"type": "user", "message": {"role": "user", "content": [{"type": "tool_result", **result}]}, **beside},
    ]


def qwen(did: str, status: str = "cancelled") -> list[dict[str, Any]]:
    response = {"error": f"[Operation Cancelled] Reason: User {did}"}
    return [
        {
            "type": "assistant",
            "message": {
                "role": "model",
                "parts": [{"functionCall": {"id": "t", "name": "refund", "args": {"n": 7}}}],
            },
        },
        {
            "type": "tool_result",
            "message": {
                "role": "user",
                "parts": [{"functionResponse": {"id": "t", "name": "refund", "response": response}}],
            },
            "toolCallResult": {"callId": "t", "status": status},
        },
    ]


BASH = {"id": "t", "name": "refund", "input": {"n": 7}}
DENIED = {"tool_use_id": "t", "is_error": True, "content": "The user does not want this."}
REFUSALS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "Pydantic AI": (
        [
            {
                "kind": "response",
                "parts": [{"part_kind": "tool-call", "tool_name": "refund", "args": {"n": 7}, "tool_call_id": "t"}],
            },
            {
                "kind": "request",
                "parts": [
                    {
                        "part_kind": "tool-return",
                        "tool_name": "refund",
                        "content": "Not today.",
                        "tool_call_id": "t",
                        "outcome": "denied",
                    }
                ],
            },
        ],
        "Not today.",
    ),
    "Vercel": (
        [
            {
                "role": "assistant",
                "content": [{"type": "tool-call", "toolCallId": "t", "toolName": "refund", "input": {"n": 7}}],
            },
            {
                "role": "tool",
                "content": [
                    {
                        "type": "tool-result",
                        "toolCallId": "t",
                        "toolName": "refund",
                        "output": {"type": "execution-denied", "reason": "Not today."},
                    }
                ],
            },
        ],
        "Not today.",
    ),
    "Claude Code": (claude(BASH, DENIED, toolUseResult="User rejected tool use"), "refused by the user"),
    "Claude Agent SDK": (
        [
            *claude(BASH, DENIED),
            {
                "type": "result",
                "subtype": "success",
                "permission_denials": [{"tool_name": "refund", "tool_use_id": "t", "tool_input": {"n": 7}}],
            },
        ],
        "refused by the user",
    ),
    "Anthropic's managed agents": (
        [
            {"type": "agent.tool_use", **BASH, "evaluated_permission": "ask"},
            {"type": "user.tool_confirmation", "tool_use_id": "t", "result": "deny", "deny_message": "Not today."},
            {"type": "agent.tool_result", "tool_use_id": "t", "is_error": True, "content": []},
        ],
        "Not today.",
    ),
    "Qwen Code": (qwen("did not allow tool call"), "refused by the user"),
    "OpenAI Responses": (
        [{"type": "mcp_approval_request", "id": "t", "name": "refund", "arguments": '{"n": 7}', "server_label": "s"}],
        "approval was asked for",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refused_call_is_withheld_in_the_format_of(name: str) -> None:
    messages, reason = REFUSALS[name]
    trajectory = read_messages([ASKED, *messages])

    assert trajectory.calls == ()
    assert trajectory.withheld == (WithheldCall("refund", {"n": 7}, reason),)
    assert trajectory.calls_recorded


@for_each("name", list(REFUSALS))
def test_a_refused_call_is_withheld_however_the_log_of_a_later_turn_repeats_it_in_the_format_of(name: str) -> None:
    messages, reason = REFUSALS[name]

    for trajectory in told_again([ASKED, *messages]):
        assert (trajectory.calls, [call.reason for call in trajectory.withheld]) == ((), [reason])


def test_a_text_that_reads_like_a_refusal_withholds_nothing() -> None:
    trajectory = read_messages([ASKED, asks(("refund", "c", "{}")), gives("c", "The tool call was denied.")])

    assert (trajectory.names, trajectory.withheld) == (("refund",), ())


@pytest.mark.parametrize(
    "messages",
    [qwen("cancelled tool execution."), qwen("did not allow tool call", "error")],
    ids=["while it ran", "text"],
)
def test_a_call_is_withheld_only_where_the_user_refused_it_and_the_log_says_so(messages: list[dict[str, Any]]) -> None:
    trajectory = read_messages([ASKED, *messages])

    assert (trajectory.names, trajectory.withheld) == (("refund",), ())


def chat(number: int, given: list[Any], gave: list[Any], **more: Any) -> dict[str, Any]:
    """A request to a model."""
    said = {"gen_ai.input.messages": json.dumps(given), "gen_ai.output.messages": json.dumps(gave)}
    return span(number, {"gen_ai.operation.name": "chat", **said}, **more)


def test_a_call_of_an_answer_whose_request_failed_was_not_made_where_the_model_was_asked_again() -> None:
    """A stream that breaks off is recorded as far as it came, and the client or the framework repeats the request."""
    failed = chat(1, [ASKED], [asks(("delete", "c0", "{}"))], status={"code": 2})
    again = asks(("refund", "c1", "{}"))
    repeated = chat(3, [ASKED], [again])
    whole = [failed, repeated, chat(7, [ASKED, again, gives("c1", "ok")], [{"role": "assistant", "content": "Done."}])]

    [found] = read(request(*whole))
    assert (found.names, found.calls_recorded) == (("refund",), True)
    assert found.withheld == (WithheldCall("delete", {}, "the request to the model failed"),)
    [made] = read(request(failed | {"status": {}}, *whole[1:]))
    assert made.names == ("delete", "refund")


def test_a_call_of_an_answer_whose_request_failed_may_have_been_made_unless_something_shows_it() -> None:
    asked = asks(("delete", "c0", "{}"))
    failed = chat(1, [ASKED], [asked], status={"code": 2})
    later = chat(7, [ASKED, asked, gives("c0", "ok")], [{"role": "assistant", "content": "Done."}])
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "delete", "gen_ai.tool.call.id": "c0"}

    [alone] = read(request(failed))
    assert (alone.names, alone.calls_recorded) == ((), False)
    assert "delete, which a model asked for in a request that failed" in alone.not_understood
    for shown in (later, span(3, tool)):
        [found] = read(request(failed, shown))
        assert (found.names, found.calls_recorded) == (("delete",), True)


def test_calls_of_a_simulated_user_are_not_the_agents() -> None:
    call = {"id": "u", "name": "toggle_data", "arguments": {}, "requestor": "user"}
    trajectory = read_messages(
        [
            {"role": "assistant", "content": "Please toggle your data."},
            {"role": "user", "content": None, "tool_calls": [call]},
            {"role": "tool", "id": "u", "content": "on", "requestor": "user", "error": False},
            {
                "role": "assistant",
                "tool_calls": [{"id": "a", "name": "look", "arguments": {}, "requestor": "assistant"}],
            },
            {"role": "tool", "id": "a", "content": "no such user", "requestor": "assistant", "error": True},
        ]
    )

    assert [(call.name, call.error) for call in trajectory.calls] == [("look", "no such user")]
    assert trajectory.calls_recorded
    assert "calls of the user were left out: toggle_data" in trajectory.warnings


def test_calls_in_a_message_of_the_user_are_not_the_agents() -> None:
    asked = {"role": "user", "content": None, "tool_calls": [{"id": "u", "name": "toggle", "arguments": {}}]}
    trajectory = read_messages([ASKED, asked, gives("u", "on"), asks(("look", "c", "{}")), gives("c", "ok")])

    assert (trajectory.names, trajectory.calls_recorded) == (("look",), True)


@pytest.mark.parametrize("author", ["role", "source", "kind"])
@pytest.mark.parametrize("wrapping", ["message", "data", "content"])
def test_calls_of_the_user_are_not_the_agents_in_whatever_they_are_wrapped(wrapping: str, author: str) -> None:
    asked = {wrapping: {author: "user", "tool_calls": [{"id": "u", "name": "toggle", "arguments": {}}]}}
    trajectory = read_messages([ASKED, asked, asks(("look", "c", "{}")), gives("c", "ok")])

    assert (trajectory.names, trajectory.calls_recorded) == (("look",), True)


def test_a_deferred_call_whose_result_was_lost_may_have_been_made_once_its_agent_went_on() -> None:
    raised = {"exception.type": "pydantic_ai.exceptions.CallDeferred"}
    event = {"name": "exception", "attributes": [{"key": key, "value": {"stringValue": raised[key]}} for key in raised]}
    tool = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "refund", "gen_ai.tool.call.id": "c1"}
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop"}
    ended = [span(1, agent), span(2, tool, name="execute_tool refund", parent=1, events=[event], status={"code": 2})]

    [waits] = read(request(*ended))
    [went_on] = read(request(*ended, span(3, agent)))

    assert (waits.calls_recorded, [each.name for each in waits.withheld]) == (True, ["refund"])
    assert "a call of refund, which may have been made" in went_on.not_understood
