"""What each line of a stream, row of a data set or step of an agent becomes, message by message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.walls import for_each

from rightcall.reading.messages import (
    _agent_results as results,
    _coding_agents as agents,
    _conversation_lists as lists,
    _event_lines as lines,
)
from rightcall.reading.messages._coding_agents import (
    _of_openhands_sdk,
    gemini_event_logs,
    gemini_line_logs,
    gemini_prompt_logs,
    is_gemini_chat,
    is_gemini_event,
    is_gemini_line,
    is_gemini_prompt,
    is_openhands_evaluation,
    is_openhands_event,
    openhands_evaluation_logs,
    openhands_logs,
)
from rightcall.reading.messages._conversation_lists import (
    atif_logs,
    inspect_logs,
    is_atif,
    is_inspect_log,
    is_tau2_results,
    tau2_logs,
)
from rightcall.reading.messages._log import Log, unused_in

ODD: dict[str, Any] = {"odd": 1}


def short(message: Any) -> Any:
    """A message in few letters: a call, a result, words, or what was passed on as it was."""
    held = message if isinstance(message, dict) else {}
    if held.get("role") == "assistant" and isinstance(held.get("content"), list):
        return [short(each) for each in held["content"]]
    if held.get("type") == "tool_use":
        return "call", held["id"], held["name"], held["input"]
    if held.get("type") == "tool_result":
        told = "error" if "error" in held else "failed" if held["is_error"] else "result"
        return told, held["tool_use_id"], held.get("error", held["content"])
    if held.get("type") == "user.tool_confirmation":
        return "refused", held["tool_use_id"], held["deny_message"]
    return (held["role"], held["content"]) if held.keys() == {"role", "content"} else message


def told(logs: list[Log]) -> list[Any]:
    [log] = logs
    return [short(message) for message in log.messages]


def copilot(kind: str, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data}


def cursor(held: dict[str, Any], subtype: str = "completed", call_id: str = "1") -> dict[str, Any]:
    return {"type": "tool_call", "subtype": subtype, "call_id": call_id, "tool_call": held}


def opencode(**part: Any) -> dict[str, Any]:
    return {"type": "x", "sessionID": "s", "part": part}


def langchain(event: str, run: str = "1", **data: Any) -> dict[str, Any]:
    return {"event": event, "run_id": run, "name": "look", "data": data}


def bedrock(**step: Any) -> dict[str, Any]:
    return {"sessionId": "s", "trace": {"orchestrationTrace": step}}


def asked(kind: str, **held: Any) -> dict[str, Any]:
    return bedrock(invocationInput={"invocationType": kind, "traceId": "1", **held})


def observed(kind: str, **held: Any) -> dict[str, Any]:
    return bedrock(observation={"type": kind, "traceId": "1", **held})


LINES: list[tuple[Callable[[list[Any]], list[Log]], Any, list[Any]]] = [
    (agents.copilot_logs, copilot("user.message", content="Go."), [("user", "Go.")]),
    (agents.copilot_logs, copilot("assistant.message", content="Gone."), [("assistant", "Gone.")]),
    (agents.copilot_logs, copilot("assistant.message", content=""), []),
    (
        agents.copilot_logs,
        copilot("tool.execution_start", toolCallId="1", toolName="look", arguments={"x": 1}),
        [("call", "1", "look", {"x": 1})],
    ),
    (
        agents.copilot_logs,
        copilot("tool.execution_complete", toolCallId="1", result={"content": "ok"}, success=True),
        [("result", "1", "ok")],
    ),
    (
        agents.copilot_logs,
        copilot("tool.execution_complete", toolCallId="1", result={"detailedContent": "ok"}),
        [("result", "1", "ok")],
    ),
    (
        agents.copilot_logs,
        copilot("tool.execution_complete", toolCallId="1", error={"message": "no"}, success=False),
        [("error", "1", "no")],
    ),
    (agents.copilot_logs, copilot("hook.start"), []),
    (agents.copilot_logs, copilot("odd"), [copilot("odd")]),
    (agents.copilot_logs, {"type": "user.message"}, [{"type": "user.message"}]),
    (agents.copilot_logs, 3, [3]),
    (
        lines.cursor_logs,
        cursor({"lookToolCall": {"args": {"x": 1}, "result": {"success": "ok"}}}),
        [("call", "1", "look", {"x": 1}), ("result", "1", "ok")],
    ),
    (
        lines.cursor_logs,
        cursor({"function": {"name": "look", "arguments": "{}", "result": {"error": "no"}}}),
        [("call", "1", "look", "{}"), ("failed", "1", "no")],
    ),
    (
        lines.cursor_logs,
        cursor({"lookToolCall": {"args": {}, "result": {"success": "ok", "time": 1}}}),
        [("call", "1", "look", {}), ("result", "1", {"success": "ok", "time": 1})],
    ),
    (
        lines.cursor_logs,
        cursor({"lookToolCall": {"args": {}, "result": {}}}),
        [("call", "1", "look", {}), ("result", "1", {})],
    ),
    (lines.cursor_logs, cursor({"lookToolCall": {"args": {}}}), [("call", "1", "look", {})]),
    (lines.cursor_logs, cursor({"lookToolCall": {"args": {}}}, "started"), [("call", "1", "look", {})]),
    (lines.cursor_logs, cursor({"a": {}, "b": {}}), [cursor({"a": {}, "b": {}})]),
    (lines.cursor_logs, ODD, [ODD]),
    (lines.opencode_logs, opencode(type="text", text="Gone."), [("assistant", "Gone.")]),
    (lines.opencode_logs, opencode(type="step-start"), []),
    (lines.opencode_logs, opencode(type="tool", tool="look"), [{"type": "tool", "tool": "look"}]),
    (lines.opencode_logs, {"type": "error"}, []),
    (lines.opencode_logs, ODD, [ODD]),
    (lines.langchain_logs, langchain("on_tool_start", input={"x": 1}), [("call", "1", "look", {"x": 1})]),
    (lines.langchain_logs, langchain("on_tool_end", output="ok"), [("result", "1", "ok")]),
    (lines.langchain_logs, langchain("on_tool_end", output={"content": "ok"}), [("result", "1", "ok")]),
    (lines.langchain_logs, langchain("on_tool_end", output={"kwargs": {"content": "ok"}}), [("result", "1", "ok")]),
    (
        lines.langchain_logs,
        langchain("on_tool_end", output={"content": "no", "status": "error"}),
        [("failed", "1", "no")],
    ),
    (lines.langchain_logs, langchain("on_tool_error", error="no"), [("error", "1", "no")]),
    (lines.langchain_logs, langchain("on_chat_model_end", output={"content": "Gone."}), [{"content": "Gone."}]),
    (lines.langchain_logs, langchain("on_chat_model_end"), [langchain("on_chat_model_end")]),
    (lines.langchain_logs, langchain("on_chain_end"), []),
    (lines.langchain_logs, ODD, [ODD]),
    (
        lines.inspect_event_logs,
        {"event": "tool", "id": "1", "function": "look", "arguments": {"x": 1}, "result": "ok"},
        [("call", "1", "look", {"x": 1}), ("result", "1", "ok")],
    ),
    (
        lines.inspect_event_logs,
        {"event": "tool", "id": "1", "function": "look", "arguments": {}, "error": {"message": "no"}},
        [("call", "1", "look", {}), ("error", "1", "no")],
    ),
    (lines.inspect_event_logs, {"event": "tool", "id": "1", "function": "look", "pending": True}, []),
    (lines.inspect_event_logs, {"event": "odd"}, []),
    (lines.inspect_event_logs, ODD, [ODD]),
    (
        lines.bedrock_logs,
        asked(
            "ACTION_GROUP", actionGroupInvocationInput={"function": "look", "parameters": [{"name": "x", "value": 1}]}
        ),
        [("call", "1", "look", {"x": 1})],
    ),
    (
        lines.bedrock_logs,
        asked(
            "ACTION_GROUP",
            actionGroupInvocationInput={
                "apiPath": "/look",
                "requestBody": {"content": {"application/json": [{"name": "x", "value": 1}]}},
            },
        ),
        [("call", "1", "/look", {"x": 1})],
    ),
    (
        lines.bedrock_logs,
        asked("KNOWLEDGE_BASE", knowledgeBaseLookupInput={"text": "a"}),
        [("call", "1", "knowledge_base", {"text": "a"})],
    ),
    (
        lines.bedrock_logs,
        asked("ACTION_GROUP_CODE_INTERPRETER", codeInterpreterInvocationInput={"code": "a"}),
        [("call", "1", "code_interpreter", {"code": "a"})],
    ),
    (
        lines.bedrock_logs,
        asked(
            "AGENT_COLLABORATOR",
            agentCollaboratorInvocationInput={"agentCollaboratorName": "billing", "input": {"text": "a"}},
        ),
        [("call", "1", "billing", {"input": "a"})],
    ),
    (
        lines.bedrock_logs,
        asked("ACTION_GROUP", actionGroupInvocationInput={"verb": "get"}),
        [
            {
                "tool_calls": [
                    {
                        "invocationType": "ACTION_GROUP",
                        "traceId": "1",
                        "actionGroupInvocationInput": {"verb": "get"},
                    }
                ]
            }
        ],
    ),
    (lines.bedrock_logs, asked("ODD"), [{"tool_calls": [{"invocationType": "ODD", "traceId": "1"}]}]),
    (
        lines.bedrock_logs,
        observed("ACTION_GROUP", actionGroupInvocationOutput={"text": "ok"}),
        [("result", "1", "ok")],
    ),
    (
        lines.bedrock_logs,
        observed("KNOWLEDGE_BASE", knowledgeBaseLookupOutput={"refs": []}),
        [("result", "1", {"refs": []})],
    ),
    (
        lines.bedrock_logs,
        observed(
            "ACTION_GROUP_CODE_INTERPRETER",
            codeInterpreterInvocationOutput={"executionOutput": "no", "executionError": "x"},
        ),
        [("failed", "1", "no")],
    ),
    (lines.bedrock_logs, observed("FINISH", finalResponse={"text": "Gone."}), [("assistant", "Gone.")]),
    (lines.bedrock_logs, observed("REPROMPT"), []),
    (lines.bedrock_logs, observed("ODD"), [{"tool_calls": [{"type": "ODD", "traceId": "1"}]}]),
    (lines.bedrock_logs, bedrock(rationale={}), []),
    (lines.bedrock_logs, ODD, [ODD]),
]


@for_each(("read", "line", "messages"), LINES)
def test_what_a_line_becomes(read: Callable[[list[Any]], list[Log]], line: Any, messages: list[Any]) -> None:
    assert told(read([line])) == messages


def test_a_call_of_cursor_is_read_once_where_its_end_is_told() -> None:
    started = cursor({"lookToolCall": {"args": {}}}, "started")
    ended = cursor({"lookToolCall": {"args": {}, "result": {"success": "ok"}}})
    other = cursor({"findToolCall": {"args": {}}}, "started", "2")

    assert told(lines.cursor_logs([started, ended, other])) == [
        ("call", "1", "look", {}),
        ("result", "1", "ok"),
        ("call", "2", "find", {}),
    ]


def test_a_call_of_cursor_without_an_id_is_not_given_the_arguments_of_another() -> None:
    started = cursor({"lookToolCall": {"args": {"x": 1}}}, "started", "")
    ended = cursor({"lookToolCall": {"result": {"success": "ok"}}}, call_id="")

    assert told(lines.cursor_logs([started, ended])) == [("call", "", "look", None), ("result", "", "ok")]


def test_what_a_model_answers_is_words_where_tools_are_told_themselves() -> None:
    answers = [langchain("on_chat_model_end", output={"content": text, "tool_calls": [1]}) for text in ("", "Gone.")]

    assert told(lines.langchain_logs([langchain("on_tool_start", input={}), *answers])) == [
        ("call", "1", "look", {}),
        ("assistant", "Gone."),
    ]


def test_a_call_that_a_model_of_inspect_asked_for_is_answered_by_its_tool() -> None:
    message = {"role": "assistant", "tool_calls": [{"id": "1"}]}
    model = {"event": "model", "output": {"choices": [{"message": message}, {"message": ODD}]}}
    tool = {"event": "tool", "id": "1", "function": "look", "result": "ok"}

    assert told(lines.inspect_event_logs([model, tool])) == [message, ("result", "1", "ok")]


@for_each(
    ("held", "session"),
    [
        ([{"session_id": "s"}], "s"),
        ([ODD, {"sessionID": "s"}], "s"),
        ([{"data": {"sessionId": "s"}}], "s"),
        ([ODD] * 99 + [{"session_id": "s"}], "s"),
        ([ODD] * 100 + [{"session_id": "s"}], None),
        ([{"session_id": 3}], None),
    ],
)
def test_lines_name_their_session(held: list[Any], session: str | None) -> None:
    assert agents.copilot_logs(held)[0].id == session


@for_each(
    ("known", "line", "is_known"),
    [
        (agents.is_copilot_event, copilot("tool.execution_start"), True),
        (agents.is_copilot_event, copilot("user.message"), False),
        (agents.is_copilot_event, {"type": "tool.execution_start"}, False),
        (lines.is_cursor_event, cursor({}), True),
        (lines.is_cursor_event, cursor({}, "odd"), False),
        (lines.is_cursor_event, {**cursor({}), "type": "odd"}, False),
        (lines.is_cursor_event, {**cursor({}), "tool_call": 3}, False),
        (lines.is_opencode_event, opencode(), True),
        (lines.is_opencode_event, {"type": "x", "part": {}}, False),
        (lines.is_opencode_event, {"sessionID": "s", "part": {}}, False),
        (lines.is_opencode_event, {"type": "x", "sessionID": "s", "part": 3}, False),
        (lines.is_langchain_event, langchain("on_x"), True),
        (lines.is_langchain_event, langchain("x"), False),
        (lines.is_langchain_event, {"event": "on_x", "data": {}}, False),
        (lines.is_langchain_event, {"event": "on_x", "run_id": "1"}, False),
        (lines.is_inspect_event, {"event": "tool", "function": "look"}, True),
        (lines.is_inspect_event, {"event": "tool"}, False),
        (lines.is_inspect_event, {"event": "model", "output": {}}, True),
        (lines.is_inspect_event, {"event": "model"}, False),
        (lines.is_inspect_event, {"function": "look", "output": {}}, False),
        (lines.is_bedrock_trace, bedrock(), True),
        (lines.is_bedrock_trace, {"trace": {"failureTrace": {}}}, True),
        (lines.is_bedrock_trace, {"trace": {"odd": {}}}, False),
        (lines.is_bedrock_trace, {"trace": {"failureTrace": 3}}, False),
        (is_openhands_event, {"source": "agent", "kind": "ActionEvent"}, True),
        (is_openhands_event, {"source": "odd", "kind": "ActionEvent"}, False),
        (is_openhands_event, {"source": "agent", "kind": "odd"}, False),
        (is_openhands_event, {"source": "user", "action": "run", "args": {}}, True),
        (is_openhands_event, {"source": "user", "observation": "run", "extras": {}}, True),
        (is_openhands_event, {"source": "user", "observation": "run", "timestamp": 1}, True),
        (is_openhands_event, {"source": "user", "observation": "run"}, False),
        (is_openhands_event, {"source": "user", "args": {}}, False),
        (
            is_openhands_evaluation,
            {"instance_id": "1", "history": [[{"source": "agent", "kind": "ActionEvent"}]]},
            True,
        ),
        (is_openhands_evaluation, {"instance_id": "1", "history": [ODD]}, False),
        (is_openhands_evaluation, {"history": [{"source": "agent", "kind": "ActionEvent"}]}, False),
        (is_openhands_evaluation, {"instance_id": "1", "history": {}}, False),
        (lists.is_run_steps, {"data": [ODD, {"object": "thread.run.step"}]}, True),
        (lists.is_run_steps, {"data": [ODD]}, False),
        (lists.is_batch_answer, {"custom_id": "1", "response": {"body": {}}}, True),
        (lists.is_batch_answer, {"custom_id": 1, "response": {"body": {}}}, False),
        (lists.is_batch_answer, {"custom_id": "1", "response": {}}, False),
        (lists.is_item_page, {"object": "list", "data": [{"role": "user"}]}, True),
        (lists.is_item_page, {"data": [{"role": "user"}]}, False),
        (lists.is_item_page, {"object": "list", "data": [{"role": "user", "object": "response"}]}, False),
        (lists.is_item_page, {"object": "list", "data": [ODD]}, False),
        (lists.is_query_and_response, {"query": "Go.", "response": [{"role": "user"}]}, True),
        (lists.is_query_and_response, {"query": "Go.", "response": [ODD]}, False),
        (lists.is_query_and_response, {"query": "Go.", "response": [{"role": "user"}], "messages": []}, False),
        (lists.is_query_and_response, {"response": [{"role": "user"}]}, False),
        (lists.is_sharegpt, {"conversations": [ODD, {"from": "human", "value": "Go."}]}, True),
        (lists.is_sharegpt, {"conversations": [{"from": "human"}]}, False),
        (results.is_executor_result, {"output": "", "intermediate_steps": []}, True),
        (
            results.is_executor_result,
            {"output": "", "intermediateSteps": [ODD, [{"tool": "a", "toolInput": 1}, 2]]},
            True,
        ),
        (results.is_executor_result, {"output": "", "intermediate_steps": [ODD]}, False),
        (results.is_executor_result, {"intermediate_steps": []}, False),
        (results.is_executor_result, {"output": "", "intermediate_steps": [], "messages": []}, False),
        (results.is_executor_result, {"output": "", "intermediate_steps": [], "question": ""}, False),
        (results.is_gaia_row, {"question": "", "prediction": "", "agent_memory": []}, True),
        (results.is_gaia_row, {"question": "", "prediction": ""}, False),
        (results.is_gaia_row, {"question": "", "agent_memory": []}, False),
        (results.is_deepeval, {"input": "", "tools_called": []}, True),
        (results.is_deepeval, {"testCases": [ODD, {"input": "", "toolsCalled": []}]}, True),
        (results.is_deepeval, {"testCases": [ODD]}, False),
        (results.is_deepeval, {"tools_called": []}, False),
        (results.is_deepeval, {"input": "", "tools_called": [], "messages": []}, False),
        (results.is_query_and_answers, {"query": "", "tools": "", "answers": ""}, True),
        (results.is_query_and_answers, {"query": "", "tools": "", "answers": "", "messages": []}, False),
        (results.is_query_and_answers, {"query": "", "answers": ""}, False),
        (results.is_bfcl_result, {"id": "1", "result": "a", "latency": 1}, True),
        (results.is_bfcl_result, {"id": "1", "result": [{"look": "{}"}]}, True),
        (results.is_bfcl_result, {"id": "1", "result": [{"look": 3}]}, False),
        (results.is_bfcl_result, {"id": "1", "result": [{"look": "{}"}], "jsonrpc": "2.0"}, False),
        (results.is_bfcl_result, {"id": "1", "latency": 1}, False),
        (results.is_chat_result, {"chat_history": [], "summary": "", "cost": {}}, True),
        (results.is_chat_result, {"chat_history": [], "summary": ""}, False),
        (results.is_chat_result, {"chat_history": {}, "summary": "", "cost": {}}, False),
        (results.is_ragas_sample, {"user_input": [ODD, {"type": "human"}]}, True),
        (results.is_ragas_sample, {"user_input": [{"type": "odd"}]}, False),
        (results.is_ragas_sample, {"user_input": "Go."}, False),
        (is_inspect_log, {"eval": {}, "samples": []}, True),
        (is_inspect_log, {"eval": {}}, False),
        (is_inspect_log, {"samples": []}, False),
        (is_inspect_log, {"id": 1, "epoch": 1, "messages": [], "target": ""}, True),
        (is_inspect_log, {"id": 1, "epoch": 1, "messages": []}, False),
        (is_inspect_log, {"id": 1, "epoch": 1, "target": ""}, False),
        (is_tau2_results, {"simulations": [ODD, {"messages": []}]}, True),
        (is_tau2_results, {"simulations": [ODD]}, False),
    ],
)
def test_what_tells_a_format(known: Callable[[Any], bool], line: Any, is_known: bool) -> None:
    assert known(line) is is_known
    assert not known("a text")


STEP = {"object": "thread.run.step", "run_id": "r"}


def steps(*calls: Any) -> list[Any]:
    return told(lists.run_step_logs({"data": [{**STEP, "step_details": {"tool_calls": list(calls)}}]}))


def test_steps_of_an_assistant_are_read_by_their_times() -> None:
    function = {"name": "look", "arguments": "{}"}
    assert steps({"id": "1", "type": "function", "function": function}) == [("call", "1", "look", "{}")]
    assert steps({"id": "1", "type": "function", "function": {**function, "output": "ok"}})[1] == ("result", "1", "ok")
    assert steps({"id": "1", "type": "code_interpreter", "code_interpreter": {"input": "a"}}) == [
        ("call", "1", "code_interpreter", {"input": "a"})
    ]
    assert steps({"id": "1", "type": "code_interpreter", "code_interpreter": {"input": "a", "outputs": [1]}})[1] == (
        "result",
        "1",
        [1],
    )
    assert steps({"id": "1", "type": "file_search", "file_search": {"results": [1]}}) == [
        ("call", "1", "file_search", None),
        ("result", "1", [1]),
    ]
    assert steps({"id": "1", "type": "odd"}) == [{"tool_calls": [{"id": "1", "type": "odd"}]}]
    assert steps({}) == [{"tool_calls": ["an empty call"]}]

    def at(time: Any, name: str) -> dict[str, Any]:
        calls = [{"id": name, "type": "function", "function": {"name": name}}]
        return {**STEP, "run_id": name, "created_at": time, "step_details": {"tool_calls": calls}}

    said = {**STEP, "created_at": 0, "step_details": {"type": "message_creation"}}
    [log] = lists.run_step_logs({"data": [at(2, "b"), at(1, "a"), said]})
    assert [message["name"] for message in log.messages] == ["a", "b"]
    assert log.id == "r"
    [unordered] = lists.run_step_logs({"data": [at(2, "b"), at(None, "a"), ODD]})
    assert unordered.messages[2] == ODD
    assert [message["name"] for message in unordered.messages[:2]] == ["b", "a"]


def test_rows_of_data_sets_are_read_message_by_message() -> None:
    pair = [{"tool": "look", "tool_input": {"x": 1}}, "ok"]
    half = {"action": {"tool": "look", "toolInput": {}, "toolCallId": "c"}}
    dumped = {"type": "constructor", "lc": 1, "kwargs": {"tool": "look", "tool_input": {}}}
    unparsed = [{"tool": "_Exception", "tool_input": "", "log": "Hm."}, "no"]
    executed = {"input": "Go.", "output": "Gone.", "intermediate_steps": [pair, half, [dumped, "ok"], unparsed, ODD, 0]}
    assert told(results.executor_logs(executed)) == [
        ("user", "Go."),
        ("call", "step-0", "look", {"x": 1}),
        ("result", "step-0", "ok"),
        ("call", "c", "look", {}),
        ("call", "step-2", "look", {}),
        ("result", "step-2", "ok"),
        ("assistant", "Hm."),
        {"tool_calls": [ODD]},
        {"tool_calls": ["an empty step"]},
        ("assistant", "Gone."),
    ]
    assert told(results.executor_logs({"input": 3, "output": {"x": 1}, "intermediate_steps": []})) == []

    case = {
        "input": "Go.",
        "actual_output": "Gone.",
        "tools_called": [{"name": "look", "output": "ok"}, {"name": "a"}, 3],
    }
    assert told(results.deepeval_logs({"test_cases": [case]})) == [
        ("user", "Go."),
        ("call", "call-0", "look", None),
        ("result", "call-0", "ok"),
        ("call", "call-1", "a", None),
        {"tool_calls": [3]},
        ("assistant", "Gone."),
    ]
    assert results.deepeval_logs(case)[0].nested == ""
    assert results.deepeval_logs({"testCases": [{"input": 3}]})[0].nested.startswith("the called tools")

    calls = '[{"name": "look", "arguments": {"x": 1}}, {"name": "look"}]'
    assert told(results.answer_logs({"query": "Go.", "answers": calls})) == [
        ("user", "Go."),
        ("call", "call-0", "look", {"x": 1}),
        {"tool_calls": [{"name": "look"}]},
    ]
    assert told(results.answer_logs({"query": "Go.", "answers": {"name": "a", "arguments": 1}}))[1] == (
        "call",
        "call-0",
        "a",
        1,
    )

    [log] = results.bfcl_logs({"id": "7", "result": [{"look": '{"x": 1}'}, {"find": {}}]})
    assert [short(call) for call in log.messages[0]["content"]] == [
        ("call", "call-0", "look", {"x": 1}),
        ("call", "call-1", "find", {}),
    ]
    assert (log.about["case_id"], log.nested) == ("7", "")
    [text] = results.bfcl_logs({"id": "7", "result": "look()"})
    assert (text.messages, text.nested) == (
        [{"role": "assistant", "content": "look()"}],
        "a result that is not a list of calls",
    )

    gaia = {"question": "Go.", "prediction": "Gone.", "intermediate_steps": [{"step": 1}]}
    assert told(results.gaia_logs(gaia)) == [("user", "Go."), {"step": 1}, ("assistant", "Gone.")]
    assert told(results.gaia_logs({**gaia, "intermediate_steps": [{"task": "Go."}], "prediction": None})) == [
        {"task": "Go."}
    ]
    unread: list[dict[str, Any]] = [
        {},
        {"intermediate_steps": []},
        {"agent_error": "x"},
        {"intermediate_steps": ["text"]},
    ]
    assert [results.gaia_logs({**gaia, **each})[0].nested[:36] for each in unread] == [
        "",
        "the steps of the agent, which the ro",
        "the steps of the agent, which the ro",
        "the steps of the agent, which are te",
    ]


@for_each(
    ("action", "tool"),
    [
        ({"tool": "a", "tool_input": 1}, "a"),
        ({"type": "constructor", "lc": 1, "kwargs": {"tool": "a", "tool_input": 1}}, "a"),
        ({"type": "constructor", "tool": "a", "tool_input": 1}, "a"),
        ({"lc": 1, "tool": "a", "toolInput": 1}, "a"),
        ({"tool": "", "tool_input": 1}, None),
        ({"tool": "a"}, None),
    ],
)
def test_the_action_of_a_step_is_opened_where_langchain_dumped_it(action: dict[str, Any], tool: str | None) -> None:
    for step in ({"action": action, "observation": "ok"}, [action, "ok"]):
        found = results._action_and_observation(step)
        assert (found and (found[0]["tool"], found[1])) == (tool and (tool, "ok"))
    assert results._action_and_observation([action, "ok", "more"]) is None


@for_each(
    ("event", "found"),
    [
        ({"kind": "MessageEvent", "llm_message": {"role": "user"}}, [{"role": "user"}]),
        ({"kind": "MessageEvent", "llm_message": "x"}, [{"kind": "MessageEvent", "llm_message": "x"}]),
        (
            {"kind": "ActionEvent", "tool_call_id": "1", "tool_name": "a", "action": {}, "llm_message": {}},
            [("call", "1", "a", {})],
        ),
    ],
)
def test_an_event_of_openhands_holds_a_message_where_it_says_so(event: dict[str, Any], found: list[Any]) -> None:
    assert [short(each) for each in _of_openhands_sdk(event, event["kind"])] == found


def test_results_of_one_turn_of_sharegpt_are_read_if_there_are_as_many_calls() -> None:
    calls = [{"name": name, "arguments": {}} for name in "ab"]
    two = "<tool_response>1</tool_response><tool_response>2</tool_response>"

    def read(made: list[Any], value: str) -> list[Any]:
        turns = [{"from": "function_call", "value": made}, {"from": "tool", "value": value}]
        return told(lists.sharegpt_logs({"conversations": turns}))[1:]

    assert read(calls, two) == [("result", "0.0", 1), ("result", "0.1", 2)]
    assert read(calls[:1], "<tool_response>1</tool_response>") == [("result", "0.0", 1)]
    assert read(calls[:1], "plain") == [("result", "0.0", "plain")]
    assert read(calls[:1], two) == [{"role": "tool", "content": two, "turn": {"from": "tool", "value": two}}]


def test_results_of_ragas_and_sharegpt_answer_the_calls_before_them_in_order() -> None:
    sample = [
        {"type": "human", "content": "Go."},
        {"type": "ai", "tool_calls": [{"name": "a"}, {"name": "b"}, 3]},
        {"type": "tool", "content": "1"},
        {"type": "tool", "content": "2", "tool_call_id": "own"},
        {"type": "tool", "content": "3"},
        {"type": "ai", "tool_calls": [{"name": "c", "id": "own"}]},
        {"type": "tool", "content": "4"},
        {"type": "tool", "content": "5"},
    ]
    found = told(results.ragas_logs({"user_input": sample}))
    assert found[1] == {"type": "ai", "tool_calls": [{"name": "a", "id": "1.0"}, {"name": "b", "id": "1.1"}, 3]}
    assert [found[place] for place in (0, 3, 5, 7)] == [sample[place] for place in (0, 3, 5, 7)]
    assert [found[place] for place in (2, 4, 6)] == [
        ("result", "1.0", "1"),
        ("result", "1.1", "3"),
        ("result", "1.2", "4"),
    ]

    turns = [
        {"from": "human", "value": "Go."},
        {"from": "function_call", "value": '[{"name": "a", "arguments": {}}, {"name": "b", "arguments": 1}]'},
        {"from": "observation", "value": "1"},
        {"from": "tool", "value": "2"},
        {"from": "tool", "value": "3"},
        {"from": "function_call", "value": '{"name": "a"}'},
        {"from": "gpt", "value": "Gone."},
        {"value": "x"},
    ]
    assert told(lists.sharegpt_logs({"id": "7", "conversations": turns})) == [
        ("user", "Go."),
        [("call", "1.0", "a", {}), ("call", "1.1", "b", 1)],
        ("result", "1.0", "1"),
        ("result", "1.1", "2"),
        {"role": "tool", "content": "3", "turn": turns[4]},
        {"tool_calls": [turns[5]]},
        ("assistant", "Gone."),
        {"role": "tool", "content": "x", "turn": turns[7]},
    ]


def test_pages_of_items_are_read_oldest_first() -> None:
    asks = [{"type": "function_call", "call_id": each, "name": "look", "arguments": ""} for each in "12"]
    gives = [{"type": "function_call_output", "call_id": each, "output": "ok"} for each in "12"]

    def read(*items: Any) -> list[Any]:
        return lists.item_page_logs([{"object": "list", "data": list(items)}])[0].messages

    assert read(asks[0], gives[0]) == [asks[0], gives[0]]
    assert read(gives[0], asks[0]) == [asks[0], gives[0]]
    assert read(gives[1], asks[0], gives[0], asks[1]) == [gives[1], asks[0], gives[0], asks[1]]
    assert read(*asks) == asks
    timed = [{**each, "created_at": time} for each, time in zip([*asks, *gives], (1, 2, 3, 4), strict=True)]
    assert read(*timed) == timed
    assert read(*timed[::-1]) == timed
    assert read(*timed[2:], *asks) == [*asks[::-1], *timed[:1:-1]]
    assert lists.item_page_logs([{"object": "list", "data": [{"role": "user"}]}, ODD])[0].messages == [
        {"role": "user"},
        ODD,
    ]
    assert lists.query_logs({"query": "Go.", "response": [ODD]})[0].messages == [
        {"role": "user", "content": "Go."},
        ODD,
    ]
    assert lists.query_logs({"query": [ODD], "response": [ODD]})[0].messages == [ODD, ODD]
    [batch] = lists.batch_logs({"custom_id": "7", "response": {"body": {"choices": [ODD]}}})
    assert (batch.messages, batch.id, batch.about) == ([ODD], "7", {"case_id": "7"})


def test_events_of_openhands_are_read_message_by_message() -> None:
    def of(*events: Any) -> list[Any]:
        return told(openhands_logs(list(events)))

    asked_for = {"tool_call_id": "1", "function_name": "look"}
    given = {
        "model_response": {"choices": [{"message": {"tool_calls": [{"id": "1", "function": {"arguments": "{}"}}]}}]}
    }
    args = {"args": {"x": 1, "thought": "Hm."}}
    assert of({"source": "user", "action": "message", "args": {"content": "Go."}}) == [("user", "Go.")]
    assert of({"source": "agent", "action": "finish", "args": {"final_thought": "Gone."}}) == [("assistant", "Gone.")]
    assert of({"source": "agent", "action": "finish", "message": "Gone."}) == [("assistant", "Gone.")]
    assert of({"source": "agent", "action": "recall", **args}) == []
    assert of({"source": "user", "action": "run", **args}) == []
    assert of({"source": "agent", "action": "run", "id": 7, **args}) == [("call", "7", "run", {"x": 1})]
    assert of({"source": "agent", "action": "run", "tool_call_metadata": asked_for, **args}) == [
        ("call", "1", "look", {"x": 1})
    ]
    assert of({"source": "agent", "action": "run", "tool_call_metadata": {**asked_for, **given}, **args}) == [
        ("call", "1", "look", "{}")
    ]
    finished = {"source": "agent", "action": "finish", "tool_call_metadata": asked_for, "args": {"content": "Gone."}}
    assert of(finished) == [("call", "1", "look", {"content": "Gone."}), ("assistant", "Gone.")]
    assert of({"source": "agent", "observation": "run", "cause": 7, "content": "ok"}) == [("result", "7", "ok")]
    assert of({"source": "agent", "observation": "error", "cause": 7, "content": "no"}) == [("failed", "7", "no")]
    assert of({"source": "user", "observation": "run", "cause": 7, "content": "ok"}) == []
    assert of({"source": "agent", "observation": "run", "content": "ok"}) == []
    assert of({"source": "agent", "observation": "recall", "cause": 7}) == []
    assert of({"source": "user", "observation": "user_rejected", "cause": 7, "content": "no"}) == [
        ("refused", "7", "no")
    ]
    named = {"source": "agent", "id": 7, "action": "run", "tool_call_metadata": asked_for}
    assert of(named, {"source": "agent", "observation": "run", "cause": 7, "content": "ok"})[1] == ("result", "1", "ok")
    assert of(3, ODD) == [3, ODD]

    def sdk(kind: str, **held: Any) -> list[Any]:
        return of({"source": "agent", "kind": kind, "tool_call_id": "1", "tool_name": "look", **held})

    assert sdk("MessageEvent", llm_message=ODD) == [ODD]
    assert sdk("ActionEvent", tool_call={"arguments": "{}"}) == [("call", "1", "look", "{}")]
    assert sdk("ActionEvent", tool_call={"function": {"arguments": "{}"}}) == [("call", "1", "look", "{}")]
    assert sdk("ActionEvent", action={"kind": "k", "x": 1}) == [("call", "1", "look", {"x": 1})]
    assert sdk("ObservationEvent", observation={"content": "ok"}) == [("result", "1", "ok")]
    assert sdk("ObservationEvent", observation={"output": "no", "is_error": True}) == [("failed", "1", "no")]
    assert sdk("ObservationEvent", observation={"kind": "k", "x": 1, "is_error": 1}) == [
        ("result", "1", {"x": 1, "is_error": 1})
    ]
    assert sdk("AgentErrorEvent", error="no") == [("error", "1", "no")]
    assert sdk("UserRejectObservation", rejection_reason="no") == [("refused", "1", "no")]
    assert sdk("PauseEvent") == []
    assert len(sdk("OddEvent")) == 1
    [log] = openhands_evaluation_logs({"instance_id": "7", "history": [[{"source": "user", "action": "message"}, ODD]]})
    assert (log.id, log.messages[1]) == ("7", ODD)


def test_samples_of_inspect_and_simulations_of_tau2_tell_their_case_and_score() -> None:
    sample = {
        "id": 7,
        "epoch": 2,
        "uuid": "u",
        "target": "",
        "messages": ["attachment://a"],
        "attachments": {"a": "long"},
    }
    [log] = inspect_logs({**sample, "scores": {"exact": {"value": 1}}})
    assert (log.messages, log.id) == (["long"], "u")
    assert log.about == {"case_id": 7, "epoch": 2, "scores": {"exact": 1}}
    [plain] = inspect_logs({"samples": [{"messages": [], "events": [{"event": "tool", "id": "1", "result": "ok"}]}]})
    assert told([plain]) == [("call", "1", None, None), ("result", "1", "ok")]
    assert plain.id is None
    assert inspect_logs({"samples": [3]})[0].messages == [3]

    asked = {"role": "assistant", "tool_calls": [{"id": "1", "function": "look", "arguments": {}}]}
    used = {"event": "tool", "id": "1", "function": "look"}
    for events, is_whole in (
        ([used], True),
        ([used, {**used, "id": "2"}], False),
        ([{**used, "events": [{**used, "id": "2"}]}], False),
        ([{"event": "model", "id": "2"}], True),
    ):
        [run] = inspect_logs({"samples": [{"messages": [asked], "events": events}]})
        assert bool(run.nested) != is_whole

    block = {"type": "tool_use", "id": "1", "name": "look", "arguments": {}, "result": "ok"}
    [run] = inspect_logs({"samples": [{"messages": [{"content": [block, {**block, "error": "no"}, ODD]}]}]})
    assert [short(each) for each in run.messages[0]["content"]] == [
        ("call", "1", "look", {}),
        ("result", "1", "ok"),
        ("call", "1", "look", {}),
        ("error", "1", "no"),
        ODD,
    ]
    [failed] = inspect_logs({"samples": [{"messages": [{"role": "tool", "tool_error": "no"}]}]})
    assert failed.messages == [{"role": "tool", "tool_error": "no", "error": {"message": "no"}}]

    simulation = {"id": "7", "reward_info": {"reward": 0.5}, "messages": [ODD, {"tool_messages": [ODD, 3]}]}
    [log, empty] = tau2_logs({"simulations": [simulation, 3]})
    assert (log.messages, log.id, log.about["reward"]) == ([ODD, ODD, 3], "7", 0.5)
    assert (empty.messages, empty.id, empty.about["reward"]) == ([], None, None)


def test_keys_that_nobody_looks_at_are_named() -> None:
    document = {"messages": [1], "id": "7", "empty": [], "odd": 1, "steps": [1], "x" * 41: 1}

    assert unused_in(document, "steps") == ("odd", "x" * 40)
    assert len(unused_in({f"key {number}": 1 for number in range(30)})) == 20
    assert unused_in([1]) == ()


def item(**held: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": held}


def event(**held: Any) -> dict[str, Any]:
    return {"type": "event_msg", "payload": held}


def done(**held: Any) -> dict[str, Any]:
    return {"type": "item.completed", "item": {"id": "1", **held}}


def gemini(**call: Any) -> dict[str, Any]:
    return {"type": "gemini", "content": "Hm.", "toolCalls": [{"id": "1", "name": "look", "args": {}, **call}]}


ASKED_FOR: tuple[Any, ...] = ("model", "Hm."), ("call", "1", "look", {})
RAN = ("call", "1", "command_execution", {"command": "ls"})


@for_each(
    ("read", "line", "messages"),
    [
        (agents.codex_logs, {"type": "turn_context", "payload": {}}, []),
        (agents.codex_logs, ODD, [ODD]),
        (agents.codex_logs, 3, [3]),
        (agents.codex_logs, item(type="compaction"), []),
        (agents.codex_logs, item(type="odd"), [{"type": "odd"}]),
        (agents.codex_logs, {"type": "response_item"}, [{"type": "response_item"}]),
        (
            agents.codex_logs,
            item(type="local_shell_call", call_id="1", action={"type": "exec", "command": ["ls"], "env": None}),
            [("call", "1", "local_shell", {"command": ["ls"]})],
        ),
        (
            agents.codex_logs,
            item(type="local_shell_call", id="2", action={}),
            [("call", "2", "local_shell", {})],
        ),
        (
            agents.codex_logs,
            item(type="web_search_call", id="1", call_id="2", action={"type": "search", "query": "a"}),
            [("call", "1", "web_search", {"query": "a"})],
        ),
        (
            agents.codex_logs,
            item(type="tool_search_call", call_id="2", arguments={"query": "a", "n": None}),
            [("call", "2", "tool_search", {"query": "a"})],
        ),
        (
            agents.codex_logs,
            item(type="web_search_call", id="1"),
            [{"type": "web_search_call", "id": "1"}],
        ),
        (
            agents.codex_logs,
            item(type="custom_tool_call", call_id="1", name="patch", input="x"),
            [("call", "1", "patch", {"input": "x"})],
        ),
        (agents.codex_logs, item(type="function_call_output", call_id="1", output="ok"), [("result", "1", "ok")]),
        (
            agents.codex_logs,
            item(type="custom_tool_call_output", call_id="1", output="Exit code: 2\nno"),
            [("failed", "1", "Exit code: 2\nno")],
        ),
        (
            agents.codex_logs,
            item(type="function_call_output", call_id="1", output="Process exited with code 0"),
            [("result", "1", "Process exited with code 0")],
        ),
        (
            agents.codex_logs,
            item(type="function_call_output", call_id="1", output='{"output":"no","metadata":{"exit_code":1}}'),
            [("failed", "1", '{"output":"no","metadata":{"exit_code":1}}')],
        ),
        (
            agents.codex_logs,
            item(type="function_call_output", call_id="1", output={"content": "no", "success": False}),
            [("failed", "1", "no")],
        ),
        (
            agents.codex_logs,
            item(type="function_call_output", call_id="1", output={"content": "ok", "success": True}),
            [("result", "1", "ok")],
        ),
        (agents.codex_logs, event(type="x"), []),
        (agents.codex_logs, event(type="x", call_id="1"), [{"type": "x", "call_id": "1"}]),
        (agents.codex_logs, event(type="x", call_id="1", source="user_shell"), []),
        (agents.codex_event_logs, {"type": "thread.started", "thread_id": "t"}, []),
        (agents.codex_event_logs, {"type": "turn.started"}, []),
        (agents.codex_event_logs, {"type": "error"}, []),
        (agents.codex_event_logs, ODD, [ODD]),
        (agents.codex_event_logs, done(type="agent_message", text="Gone."), [("assistant", "Gone.")]),
        (agents.codex_event_logs, done(item_type="assistant_message", text="Gone."), [("assistant", "Gone.")]),
        (agents.codex_event_logs, done(type="reasoning"), []),
        (agents.codex_event_logs, done(), [{"tool_calls": [{"id": "1"}]}]),
        (agents.codex_event_logs, done(type="odd"), [{"id": "1", "type": "odd"}]),
        (agents.codex_event_logs, {"type": "item.started", "item": ODD}, [{"tool_calls": [ODD]}]),
        (
            agents.codex_event_logs,
            done(type="command_execution", command="ls", aggregated_output="ok"),
            [RAN, ("result", "1", "ok")],
        ),
        (
            agents.codex_event_logs,
            done(type="command_execution", command="ls", aggregated_output="no", status="failed"),
            [RAN, ("failed", "1", "no")],
        ),
        (
            agents.codex_event_logs,
            done(type="command_execution", command="ls", error={"message": "why"}),
            [RAN, ("error", "1", "why")],
        ),
        (agents.codex_event_logs, done(type="command_execution", command="ls", status="in_progress"), [RAN]),
        (
            agents.codex_event_logs,
            done(type="command_execution", command="ls", status="declined"),
            [RAN, ("refused", "1", "declined")],
        ),
        (agents.codex_event_logs, done(type="command_execution"), [{"id": "1", "type": "command_execution"}]),
        (
            agents.codex_event_logs,
            done(type="file_change", changes=[]),
            [("call", "1", "file_change", {"changes": []}), ("result", "1", None)],
        ),
        (
            agents.codex_event_logs,
            done(type="web_search", query="a"),
            [("call", "1", "web_search", {"query": "a"}), ("result", "1", None)],
        ),
        (
            agents.codex_event_logs,
            done(type="mcp_tool_call", tool="look", arguments={}, result={"content": "ok"}),
            [("call", "1", "look", {}), ("result", "1", "ok")],
        ),
        (
            agents.codex_event_logs,
            done(type="collab_tool_call", tool="spawn", prompt="Go.", agents_states={}),
            [("call", "1", "spawn", {"prompt": "Go."}), ("result", "1", {})],
        ),
        (gemini_line_logs, {"type": "user", "content": "Go."}, [("user", "Go.")]),
        (gemini_line_logs, {"type": "info", "content": "x"}, []),
        (gemini_line_logs, {"projectHash": "p"}, []),
        (gemini_line_logs, {"$set": {}}, []),
        (gemini_line_logs, {"$set": {}, "x": 1}, [{"$set": {}, "x": 1}]),
        (gemini_line_logs, ODD, [ODD]),
        (
            gemini_line_logs,
            {"type": "gemini", "content": "Hm.", "toolCalls": {}},
            [("model", "Hm."), {"tool_calls": "not a list"}],
        ),
        (
            gemini_line_logs,
            {"type": "gemini", "content": "Hm.", "toolCalls": [3]},
            [("model", "Hm."), {"tool_calls": [3]}],
        ),
        (gemini_line_logs, gemini(resultDisplay="ok"), [*ASKED_FOR, ("result", "1", "ok")]),
        (gemini_line_logs, gemini(status="Cancelled", resultDisplay="no"), [*ASKED_FOR, ("refused", "1", "no")]),
        (gemini_line_logs, gemini(status="error", resultDisplay="no"), [*ASKED_FOR, ("failed", "1", "no")]),
        (
            gemini_line_logs,
            gemini(result=[{"functionResponse": {"response": {"output": "ok"}}}]),
            [*ASKED_FOR, ("result", "1", "ok")],
        ),
        (
            gemini_line_logs,
            gemini(result=[{"functionResponse": {"response": {"x": 1, "y": 2}}}, ODD]),
            [*ASKED_FOR, ("result", "1", {"x": 1, "y": 2})],
        ),
        (
            gemini_line_logs,
            gemini(result=[{"functionResponse": {"response": each}} for each in (1, 2)]),
            [*ASKED_FOR, ("result", "1", [1, 2])],
        ),
        (
            gemini_event_logs,
            {"type": "tool_use", "tool_id": "1", "tool_name": "look", "parameters": {}},
            [("call", "1", "look", {})],
        ),
        (gemini_event_logs, {"type": "tool_result", "tool_id": "1", "output": "ok"}, [("result", "1", "ok")]),
        (
            gemini_event_logs,
            {"type": "tool_result", "tool_id": "1", "status": "error", "error": {"message": "no"}},
            [("error", "1", "no")],
        ),
        (gemini_event_logs, {"type": "init"}, []),
        (gemini_event_logs, 3, [3]),
        (gemini_prompt_logs, {"message": "Go."}, [("user", "Go.")]),
    ],
)
def test_what_a_line_of_codex_or_gemini_becomes(
    read: Callable[[list[Any]], list[Log]], line: Any, messages: list[Any]
) -> None:
    assert told(read([line])) == messages


def test_pieces_of_one_message_of_gemini_follow_one_another() -> None:
    pieces = [{"type": "message", "role": "assistant", "content": text, "delta": True} for text in ("Go", "ne.")]
    other = {"type": "message", "role": "user", "content": "Go.", "delta": True}

    assert told(gemini_event_logs([other, *pieces])) == [other, ("assistant", "Gone.")]
    assert told(gemini_event_logs([pieces[0], {**pieces[1], "delta": False}])) == [
        pieces[0],
        {**pieces[1], "delta": False},
    ]


def test_what_codex_tells_the_model_in_the_name_of_the_user_is_not_his() -> None:
    def message(text: str) -> dict[str, Any]:
        return item(type="message", role="user", content=[{"type": "input_text", "text": text}])

    lines_ = [message("<environment>"), message("Go."), event(type="user_message", message="Go.")]
    meta = {"type": "session_meta", "payload": {"id": "s"}}
    [log] = agents.codex_logs([meta, *lines_])
    assert ([each["role"] for each in log.messages], log.id) == (["developer", "user"], "s")
    assert [each["role"] for each in agents.codex_logs(lines_[:2])[0].messages] == ["user", "user"]


def test_an_item_of_codex_is_read_as_it_was_last_reported_where_it_was_first() -> None:
    started = {"type": "item.started", "item": {"id": "1", "type": "command_execution", "command": "ls"}}
    words = {"type": "item.completed", "item": {"id": "2", "type": "agent_message", "text": "Hm."}}
    ended = done(type="command_execution", command="ls", aggregated_output="ok")
    [log] = agents.codex_event_logs([{"type": "thread.started", "thread_id": "t"}, started, words, ended])

    assert ([short(each) for each in log.messages], log.id) == ([RAN, ("result", "1", "ok"), ("assistant", "Hm.")], "t")


def test_steps_of_atif_are_read_with_their_results() -> None:
    def read(*steps_: Any, **more: Any) -> Log:
        [log] = atif_logs({"schema_version": "ATIF-v1", "steps": list(steps_), **more})
        return log

    call, result = {"tool_call_id": "1", "function_name": "look"}, {"content": "ok"}
    step = {"source": "agent", "message": "Hm.", "tool_calls": [call], "observation": {"results": [result]}}
    assert read({"source": "user", "message": "Go."}).messages == [{"role": "user", "content": "Go."}]
    assert read(step).messages[1] == {"content": "ok", "source_call_id": "1"}
    assert len(read({**step, "tool_calls": [call, call]}).messages) == 1
    assert len(read({**step, "observation": {"results": [{**result, "source_call_id": "7"}]}}).messages) == 2
    assert read({**step, "is_copied_context": True}).messages == []
    assert read(ODD).messages == [ODD]
    assert read(trajectory_id="t", session_id="s").id == "t"
    assert read(session_id="s").id == "s"
    assert read(subagent_trajectories=[ODD]).nested == ""
    assert read(subagent_trajectories=[{"schema_version": "ATIF", "steps": []}]).nested


@for_each(
    ("known", "line", "is_known"),
    [
        (agents.is_codex_line, {"type": "session_meta", "payload": {}}, True),
        (agents.is_codex_line, {"type": "session_meta"}, False),
        (agents.is_codex_line, {"type": "odd", "payload": {}}, False),
        (agents.is_early_codex_line, {"record_type": "state"}, True),
        (agents.is_early_codex_line, {"id": 1, "timestamp": 1, "instructions": 1}, True),
        (agents.is_early_codex_line, {"id": 1, "timestamp": 1}, False),
        (agents.is_early_codex_line, {"record_type": "state", "type": "x"}, False),
        (agents.is_early_codex_line, {"record_type": "state", "role": "x"}, False),
        (agents.is_first_codex_session, {"session": {}, "items": []}, True),
        (agents.is_first_codex_session, {"session": {}, "items": [], "messages": []}, False),
        (agents.is_first_codex_session, {"session": {}}, False),
        (agents.is_codex_event, {"type": "thread.started"}, True),
        (agents.is_codex_event, {"type": "item.started", "item": {}}, True),
        (agents.is_codex_event, {"type": "item.started"}, False),
        (agents.is_codex_event, {"type": "odd", "item": {}}, False),
        (is_gemini_chat, {"projectHash": "p", "messages": []}, True),
        (is_gemini_chat, {"messages": []}, False),
        (is_gemini_chat, {"projectHash": "p"}, False),
        (is_gemini_line, {"type": "gemini", "content": ""}, True),
        (is_gemini_line, {"type": "gemini"}, False),
        (is_gemini_line, {"type": "user", "content": ""}, False),
        (is_gemini_prompt, {"sessionId": 1, "messageId": 1, "type": 1, "message": "Go."}, True),
        (is_gemini_prompt, {"sessionId": 1, "messageId": 1, "type": 1, "message": 3}, False),
        (is_gemini_prompt, {"sessionId": 1, "type": 1, "message": "Go."}, False),
        (is_gemini_event, {"type": "tool_use", "tool_id": 1}, True),
        (is_gemini_event, {"type": "tool_use"}, False),
        (is_gemini_event, {"type": "odd", "tool_id": 1}, False),
        (is_atif, {"schema_version": "ATIF-v1", "steps": []}, True),
        (is_atif, {"schema_version": "1", "steps": []}, False),
        (is_atif, {"schema_version": "ATIF-v1"}, False),
    ],
)
def test_what_tells_codex_gemini_and_atif(known: Callable[[Any], bool], line: Any, is_known: bool) -> None:
    assert known(line) is is_known
    assert not known("a text")


def test_texts_that_inspect_keeps_apart_are_put_in_place_twenty_levels_deep() -> None:
    def nested(held: Any, depth: int, as_list: bool) -> Any:
        for _ in range(depth):
            held = [held] if as_list else {"x": held}
        return held

    for as_list in (True, False):
        for depth, text in ((0, "long"), (19, "long"), (20, "attachment://a")):
            sample = {"messages": [nested("attachment://a", depth, as_list)], "attachments": {"a": "long"}}
            [log] = inspect_logs({"samples": [sample]})
            assert log.messages == [nested(text, depth, as_list)]
    kept = {"messages": ["attachment://b", "a", 3], "attachments": {"a": "long", "b": 3}}
    assert inspect_logs({"samples": [kept]})[0].messages == ["attachment://b", "a", 3]


def test_an_early_session_of_codex_is_named_by_its_header_and_not_by_an_item() -> None:
    header, reply = {"id": "s", "timestamp": "", "instructions": None}, {"type": "message", "id": "m"}
    [log] = agents.early_codex_logs([{"record_type": "state"}, reply, header])

    assert (log.id, log.messages, log.about) == ("s", [reply], header)
    assert agents.early_codex_logs([reply, {"record_type": "state"}])[0].id is None
