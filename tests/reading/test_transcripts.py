"""Transcripts of agents and benchmarks: OpenHands, Gemini CLI, Inspect, τ-bench, τ²-bench, ToolBench, ATIF."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.reading.logs import ANSWERED, ASKED, asks, refund

from rightcall.reading import read
from rightcall.values.trajectory import Trajectory


def read_all(document: Any) -> list[Trajectory]:
    return list(read(json.dumps(document).encode()))


def only(document: Any) -> Trajectory:
    [trajectory] = read_all(document)
    return trajectory


def shown(trajectory: Trajectory) -> list[tuple[Any, ...]]:
    return [(call.name, call.args, call.output) for call in trajectory.calls]


REFUND = [("refund", {"order": 7}, "ok")]


# OpenHands


def event(number: int, source: str = "agent", **held: Any) -> dict[str, Any]:
    return {"id": number, "timestamp": "2025-01-27T22:44:56", "source": source, "message": "", **held}


def metadata(call_id: str = "c1") -> dict[str, Any]:
    message = asks(("refund", call_id, '{"order": 7}'))
    response = {"id": "r1", "choices": [{"message": message, "finish_reason": "tool_calls"}]}
    return {"function_name": "refund", "tool_call_id": call_id, "model_response": response}


QUESTION = event(0, "user", action="message", args={"content": "Refund order 7."})
DONE = event(9, action="finish", args={"final_thought": "Done."}, message="Done.")
STEPS = [
    QUESTION,
    event(1, action="edit", args={"path": "x", "thought": "…"}, tool_call_metadata=metadata()),
    event(2, observation="edit", content="ok", cause=1, extras={}, tool_call_metadata=metadata()),
    DONE,
]


def test_a_trajectory_of_openhands_shows_what_the_model_called() -> None:
    made = only(STEPS)

    assert shown(made) == REFUND
    assert (made.input, made.output) == ("Refund order 7.", "Done.")


def test_each_line_of_an_evaluation_of_openhands_is_a_trajectory() -> None:
    line = {"instance_id": "django-1", "instruction": "…", "history": STEPS, "test_result": {}}
    pairs = {
        **line,
        "instance_id": "django-2",
        "history": [STEPS[:1], STEPS[1:3], [DONE, event(10, observation="null")]],
    }

    made = read_all([line, pairs])

    assert [(each.trace_id, shown(each)) for each in made] == [("django-1", REFUND), ("django-2", REFUND)]


def test_actions_of_openhands_without_a_tool_call_are_calls_by_their_cause() -> None:
    made = only(
        [
            QUESTION,
            event(1, action="run", args={"command": "ls", "thought": "look", "hidden": False}),
            event(2, observation="run", content="a.txt", cause=1, extras={"exit_code": 0}),
            event(3, "user", action="run", args={"command": "rm a.txt"}),
            event(4, "environment", action="change_agent_state", args={"agent_state": "running"}),
            event(5, observation="agent_state_changed", content="", extras={"agent_state": "running"}),
        ]
    )

    assert shown(made) == [("run", {"command": "ls"}, "a.txt")]
    assert made.calls_recorded


def test_an_error_and_a_refusal_in_openhands_are_told() -> None:
    failed = only(
        [*STEPS[:2], event(2, observation="error", content="no such file", cause=1, tool_call_metadata=metadata())]
    )
    refused = only(
        [*STEPS[:2], event(2, observation="user_rejected", content="no", cause=1, tool_call_metadata=metadata())]
    )

    assert failed.calls[0].error == "no such file"
    assert refused.calls == ()
    assert [call.name for call in refused.withheld] == ["refund"]


def sdk(kind: str, source: str = "agent", **held: Any) -> dict[str, Any]:
    return {"kind": kind, "id": "e", "timestamp": "2025-11-27T22:44:56", "source": source, **held}


def test_events_of_the_sdk_of_openhands_are_read() -> None:
    call = {"id": "c1", "name": "refund", "arguments": '{"order": 7}', "origin": "completion"}
    text = [{"type": "text", "text": "Refund order 7."}]
    made = only(
        [
            sdk("SystemPromptEvent", system_prompt={"type": "text", "text": "…"}, tools=[]),
            sdk("MessageEvent", "user", llm_message={"role": "user", "content": text}),
            sdk("ActionEvent", tool_name="refund", tool_call_id="c1", tool_call=call, action={"kind": "RefundAction"}),
            sdk(
                "ObservationEvent",
                "environment",
                tool_name="refund",
                tool_call_id="c1",
                observation={"kind": "RefundObservation", "content": [{"type": "text", "text": "ok"}]},
            ),
            sdk("ConversationStateUpdateEvent", "environment", key="execution_status", value="finished"),
        ]
    )

    assert shown(made) == REFUND
    assert made.calls_recorded


def test_an_event_of_openhands_of_a_new_kind_is_not_understood() -> None:
    assert not only([sdk("MessageEvent", llm_message=ANSWERED), sdk("TeleportEvent", where="Paris")]).calls_recorded


# Gemini CLI


def test_a_chat_of_gemini_cli_is_read() -> None:
    called: dict[str, Any] = {"id": "c1", "name": "refund", "args": {"order": 7}, "status": "success"}
    called["result"] = [{"functionResponse": {"id": "c1", "name": "refund", "response": {"output": "ok"}}}]
    messages = [
        {"id": "1", "type": "user", "content": "Refund order 7."},
        {"id": "2", "type": "gemini", "content": "", "toolCalls": [called], "thoughts": [], "model": "gemini-3"},
        {"id": "3", "type": "info", "content": "Update available"},
        {"id": "4", "type": "gemini", "content": "Done."},
    ]
    about = {"sessionId": "s1", "projectHash": "abc", "startTime": "2025-11-27T22:44:56Z"}
    changed = {"$set": {"lastUpdated": "2025-11-27T22:45:01Z"}}

    for made in (only({**about, "messages": messages}), only([about, *messages, changed])):
        assert shown(made) == REFUND
        assert (made.input, made.output, made.trace_id) == ("Refund order 7.", "Done.", "s1")
        assert made.calls_recorded


def test_the_stream_of_gemini_cli_is_read() -> None:
    made = only(
        [
            {"type": "init", "session_id": "s1", "model": "gemini-3"},
            {"type": "message", "role": "user", "content": "Refund order 7."},
            {"type": "message", "role": "assistant", "content": "I will ", "delta": True},
            {"type": "message", "role": "assistant", "content": "look.", "delta": True},
            {"type": "tool_use", "tool_name": "refund", "tool_id": "c1", "parameters": {"order": 7}},
            {"type": "tool_result", "tool_id": "c1", "status": "success", "output": "ok"},
            {"type": "message", "role": "assistant", "content": "Do", "delta": True},
            {"type": "message", "role": "assistant", "content": "ne.", "delta": True},
            {"type": "result", "status": "success", "stats": {"tool_calls": 1}},
        ]
    )

    assert shown(made) == REFUND
    assert made.output == "Done."


# Inspect


def sample(number: int = 1, epoch: int = 1, **held: Any) -> dict[str, Any]:
    call = {"id": "c1", "function": "refund", "arguments": {"order": 7}}
    messages = [
        ASKED,
        {"role": "assistant", "content": "", "tool_calls": [call], "source": "generate"},
        {"role": "tool", "content": "ok", "tool_call_id": "c1", "function": "refund"},
        ANSWERED,
    ]
    scores = {"includes": {"value": "C", "answer": "Done."}}
    made = {"id": number, "epoch": epoch, "input": "…", "target": "", "messages": messages, "scores": scores}
    return {**made, "uuid": f"u{number}-{epoch}", **held}


def inspect_log(*samples: dict[str, Any]) -> dict[str, Any]:
    return {"version": 2, "status": "success", "eval": {"task": "shop", "model": "m"}, "samples": list(samples)}


def test_each_sample_of_inspect_is_a_trajectory() -> None:
    made = read_all(inspect_log(sample(1), sample(1, 2), sample(2)))

    assert [shown(each) for each in made] == [REFUND] * 3
    assert [each.trace_id for each in made] == ["u1-1", "u1-2", "u2-1"]


def test_an_error_of_a_tool_in_inspect_is_told() -> None:
    messages = sample()["messages"]
    messages[2] = {**messages[2], "error": {"type": "timeout", "message": "took too long"}}

    assert only(inspect_log(sample(messages=messages))).calls[0].error == "took too long"


def test_a_tool_that_the_server_of_the_model_ran_is_a_call_in_inspect() -> None:
    ran = {"type": "tool_use", "tool_type": "web_search", "id": "c1", "name": "refund", "arguments": '{"order": 7}'}
    answer = {"role": "assistant", "content": [{**ran, "result": "ok"}, {"type": "text", "text": "Done."}]}

    assert shown(only(inspect_log(sample(messages=[ASKED, answer])))) == REFUND


def test_texts_that_inspect_keeps_apart_are_put_in_place() -> None:
    messages = sample()["messages"]
    messages[2] = {**messages[2], "content": "attachment://abc"}

    assert shown(only(inspect_log(sample(messages=messages, attachments={"abc": "ok"})))) == REFUND


def test_a_sample_without_messages_has_the_calls_of_its_events() -> None:
    ran = {"event": "tool", "id": "c1", "function": "refund", "arguments": {"order": 7}, "result": "ok"}

    assert shown(only(inspect_log(sample(messages=[], events=[{"event": "sample_init"}, ran])))) == REFUND


def test_a_sample_with_nothing_recorded_cannot_show_calls() -> None:
    assert not only(inspect_log(sample(messages=[], events=[]))).calls_recorded


# Benchmarks


def test_each_simulation_of_tau2_is_a_trajectory_without_the_calls_of_the_user() -> None:
    call = {"id": "c1", "name": "refund", "arguments": {"order": 7}, "requestor": "assistant"}
    phone = {"id": "u1", "name": "toggle_data", "arguments": {}, "requestor": "user"}
    results = [{"id": "c1", "role": "tool", "content": "ok", "requestor": "assistant", "error": False}]
    messages = [
        {"role": "assistant", "content": "Hi! How can I help?"},
        {"role": "user", "content": "Refund order 7."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_messages": results},
        {"role": "user", "content": None, "tool_calls": [phone]},
        {"role": "tool", "id": "u1", "content": "on", "requestor": "user", "error": False},
        {"role": "assistant", "content": "Done."},
    ]
    held = {"id": "s1", "task_id": "7", "trial": 0, "reward_info": {"reward": 1.0}, "messages": messages}

    made = read_all({"timestamp": "…", "info": {}, "tasks": [{"id": "7"}], "simulations": [held, {**held, "id": "s2"}]})

    assert [(each.trace_id, shown(each)) for each in made] == [("s1", REFUND), ("s2", REFUND)]
    assert all("toggle_data" in " ".join(each.warnings) for each in made)


def test_an_answer_of_toolbench_is_the_path_that_was_accepted() -> None:
    asked = {"role": "assistant", "content": "…", "function_call": {"name": "refund", "arguments": '{"order": 7}'}}
    path = [ASKED, asked, {"role": "function", "name": "refund", "content": "ok"}]
    answer = {"query": "…", "final_answer": "…", "train_messages": [path[:2], path], "chain": [{"node_type": "Action"}]}

    assert shown(only({"answer_generation": answer, "win": True, "tree": {"tree": {}}})) == REFUND


def test_an_answer_of_toolbench_that_was_not_accepted_is_not_an_answer_without_calls() -> None:
    answer = {"query": "…", "train_messages": [], "chain": []}

    assert not only({"answer_generation": answer, "win": False, "tree": {"tree": {}}}).calls_recorded


def test_a_trajectory_of_atif_is_read() -> None:
    steps = [
        {"step_id": 1, "source": "user", "message": "Refund order 7."},
        {
            "step_id": 2,
            "source": "agent",
            "message": "",
            "tool_calls": [{"tool_call_id": "c1", "function_name": "refund", "arguments": {"order": 7}}],
            "observation": {"results": [{"source_call_id": "c1", "content": "ok"}]},
        },
        {"step_id": 3, "source": "agent", "message": "Done."},
    ]
    made = only(
        {"schema_version": "ATIF-v1.5", "session_id": "s1", "agent": {"name": "a", "version": "1"}, "steps": steps}
    )

    assert shown(made) == REFUND
    assert (made.input, made.output, made.trace_id) == ("Refund order 7.", "Done.", "s1")


@pytest.mark.parametrize(
    ("results", "outputs"),
    [
        ([{"content": "ok"}], ["ok"]),
        ([{"content": "ok"}, {"content": "The shop is closed."}], [None]),
        ([{"source_call_id": "c1", "content": "ok"}, {"content": "The shop is closed."}], ["ok"]),
    ],
    ids=["the only one", "none of two", "one of two"],
)
def test_the_only_result_of_the_only_call_in_a_step_of_atif_need_not_name_it(
    results: list[Any], outputs: list[Any]
) -> None:
    calls = [{"tool_call_id": "c1", "function_name": "refund", "arguments": {"order": 7}}]
    step = {"step_id": 1, "source": "agent", "message": "", "tool_calls": calls, "observation": {"results": results}}

    made = only({"schema_version": "ATIF-v1.5", "steps": [step]})

    assert [call.output for call in made.calls] == outputs


def test_steps_of_atif_that_were_copied_from_another_trajectory_are_no_calls_of_this_one() -> None:
    call = {"tool_call_id": "c1", "function_name": "refund", "arguments": {"order": 7}}
    copied = {"step_id": 1, "source": "agent", "message": "", "tool_calls": [call], "is_copied_context": True}
    made = only({"schema_version": "ATIF-v1.5", "steps": [copied, {"step_id": 2, "source": "agent", "message": "Hi"}]})

    assert made.calls == ()
    assert made.calls_recorded


def test_agents_below_a_trajectory_of_atif_are_not_left_out_in_silence() -> None:
    inner = {"schema_version": "ATIF-v1.7", "steps": [{"step_id": 1, "source": "agent", "message": "Hi"}]}

    assert not only({**inner, "subagent_trajectories": [inner]}).calls_recorded


@pytest.mark.parametrize("key", ["messages", "conversation", "traj"])
def test_messages_beside_keys_of_their_own_are_read(key: str) -> None:
    made = only({"task_id": 3, "model": "m", "cost": 0.1, key: refund(), "info": {"note": "…"}})

    assert shown(made) == REFUND


def test_a_step_of_swe_agent_that_acts_by_text_cannot_be_told() -> None:
    steps = [{"action": "ls\n", "observation": "a.txt", "thought": "look", "state": "{}"}]
    history = [
        {"role": "user", "content": "Fix it"},
        {"role": "assistant", "content": "look\n```\nls\n```", "action": "ls\n"},
    ]

    assert not only({"environment": "swe_main", "trajectory": steps, "history": history}).calls_recorded


def test_calls_in_the_history_of_swe_agent_are_read() -> None:
    asked = {**asks(("refund", "c1", '{"order": 7}')), "thought": "…", "action": "refund 7", "message_type": "action"}
    result = {
        "role": "tool",
        "content": [{"type": "text", "text": "ok"}],
        "tool_call_ids": ["c1"],
        "tool_call_id": "c1",
    }
    steps = [{"action": "refund 7", "observation": "ok", "thought": "…"}]

    assert shown(only({"trajectory": steps, "history": [ASKED, asked, result], "info": {}})) == REFUND
