"""Parts of calls that services run or offer: tools of OpenAI's Responses, MCP servers, Anthropic's managed agents."""

from __future__ import annotations

from rightcall.reading.conventions import ASKED_FOR, REFUSED, REFUSED_BY_USER, content_blocks

from ._agent_parts import UNFINISHED, call_row, result_row


def _of_server_call(kind: str) -> str:
    return kind.removesuffix("_call")


RUN_BY_SERVICE = frozenset(
    {"LibreChat", "OpenAI Responses, on the server", "OpenAI Responses, by MCP", "Anthropic, by code"}
)
"""Formats of calls that a service or code on it makes. Several in a row may be one after the other, or at once."""

SERVICE_PARTS = (
    # Voice agents, with the conversation of a call by telephone (ElevenLabs, "Get conversation details";
    # Retell, "Get call", `transcript_with_tool_calls`).
    call_row("ElevenLabs", {"tool_name": str, "params_as_json": None}, "tool_name", "request_id", "params_as_json"),
    result_row(
        "ElevenLabs",
        {"tool_name": str, "result_value": None, "request_id": str},
        "tool_name",
        "request_id",
        "result_value",
        failure=(("is_error", True),),
    ),
    call_row("Retell", {"role": "tool_call_invocation", "name": str}, "name", "tool_call_id", "arguments"),
    result_row(
        "Retell",
        {"role": "tool_call_result", "tool_call_id": str},
        "",
        "tool_call_id",
        "content",
        failure=(("successful", False),),
    ),
    # Tools of the server: the item is named by its type, and its arguments lie beside it.
    *(
        call_row(
            "OpenAI Responses, on the server",
            {"type": kind},
            "type",
            "id",
            args,
            failure=(("status", "failed"),),
            output=output,
            naming=_of_server_call,
        )
        for kind, args, output in (
            ("web_search_call", "action", ""),
            ("file_search_call", "{queries}", "results"),
            ("code_interpreter_call", "{code,container_id}", "outputs"),
            ("image_generation_call", "{}", "result"),
        )
    ),
    # Tools of OpenAI that run where the agent runs: the call is such an item, and its result another.
    *(
        call_row(
            "OpenAI Responses, built in",
            {"type": f"{name}_call", "call_id": str},
            "type",
            "call_id",
            args,
            refusal=(("status", "incomplete", UNFINISHED),),
            naming=_of_server_call,
        )
        for name, args in (
            ("computer", "action|{actions}"),
            ("local_shell", "action"),
            ("shell", "action"),
            ("apply_patch", "operation"),
        )
    ),
    *(
        result_row(
            "OpenAI Responses, built in",
            {"type": f"{name}_call_output"},
            "",
            "call_id|id",
            "output",
            failure=(("status", "failed"),),
        )
        for name in ("computer", "local_shell", "shell", "apply_patch")
    ),
    call_row(
        "OpenAI Responses, by MCP",
        {"type": "mcp_call", "name": str},
        "name",
        "approval_request_id|id",
        "arguments",
        failure=(("error", None),),
        message="error.message|error",
        output="output",
    ),
    call_row(
        "OpenAI Responses, by MCP",
        {"type": "mcp_approval_request"},
        "name",
        "id",
        "arguments",
        refusal=(("type", None, ASKED_FOR),),
    ),
    result_row(
        "OpenAI Responses, by MCP",
        {"type": "mcp_approval_response", "approve": False},
        "",
        "approval_request_id",
        "",
        message="reason",
        refusal=(("type", None, REFUSED),),
    ),
    call_row("Anthropic's managed agents", {"type": "agent.tool_use"}, "name", "id", "input"),
    call_row("Anthropic's managed agents, by MCP", {"type": "agent.mcp_tool_use"}, "name", "id", "input"),
    call_row("Anthropic's managed agents, custom", {"type": "agent.custom_tool_use"}, "name", "id", "input"),
    *(
        result_row(
            "Anthropic's managed agents",
            {"type": f"{kind}_result", key: str},
            "",
            key,
            "content",
            failure=(("is_error", True),),
            unwrap=(content_blocks,),
        )
        for kind, key in (("agent.mcp_tool", "mcp_tool_use_id"), ("user.custom_tool", "custom_tool_use_id"))
    ),
    result_row(
        "Anthropic's managed agents, refused",
        {"type": "user.tool_confirmation", "tool_use_id": str, "result": "deny"},
        "",
        "tool_use_id",
        "",
        message="deny_message",
        refusal=(("result", "deny", REFUSED_BY_USER),),
    ),
    result_row(
        "Claude, refused",
        {"tool_name": str, "tool_use_id": str, "tool_input": None},
        "tool_name",
        "tool_use_id",
        "",
        refusal=(("tool_use_id", None, REFUSED_BY_USER),),
    ),
)
