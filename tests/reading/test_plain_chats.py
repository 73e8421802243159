"""A chat in a known format without any sign of a call has no calls: nothing in it is "not understood"."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.reading.logs import ANSWERED, ASKED
from tests.reading.traces import request, span
from tests.walls import for_each

from rightcall.reading import read, read_messages
from rightcall.values.trajectory import Trajectory

LOOK = {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {"a": {}}}}
"""The definition of a tool."""


def said(*blocks: Any, role: str = "assistant", key: str = "content", **more: Any) -> dict[str, Any]:
    """A message of blocks."""
    return {"role": role, key: list(blocks), **more}


MESSAGES: dict[str, list[dict[str, Any]]] = {
    "OpenAI chat": [
        {"role": "system", "content": "Be brief.", "name": "s"},
        {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
        said(
            {"type": "text", "text": "x"},
            {"type": "image_url", "image_url": {"url": "data:,", "detail": "low"}},
            {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
            {"type": "file", "file": {"file_id": "f", "filename": "a.pdf"}},
            {"type": "video_url", "video_url": {"url": "data:,"}},
            role="user",
        ),
        said({"type": "refusal", "refusal": "No."}),
        {
            "role": "assistant",
            "content": "x",
            "refusal": None,
            "tool_calls": None,
            "function_call": None,
            "audio": {"id": "a", "data": "", "expires_at": 1, "transcript": "x"},
            "annotations": [{"type": "url_citation", "url_citation": {"url": "u", "title": "t", "start_index": 0}}],
            "reasoning_content": "x",
            "reasoning_details": [{"type": "reasoning.text", "text": "x", "index": 0}],
            "thinking_blocks": [{"type": "thinking", "thinking": "x", "signature": "s"}],
            "provider_specific_fields": {"citations": [["x"]]},
            "images": [{"type": "image_url", "image_url": {"url": "data:,"}}],
        },
        {"role": "assistant", "content": "x", "parsed": {"action": "buy", "calls": [1]}},
        {"role": "assistant", "content": '[{"city": "Rome", "days": 3}, {"city": "Oslo"}]'},
        {"role": "user", "content": '[{"id": 7, "items": [1]}]'},
        {"role": "assistant", "content": '{"action": "buy"}'},
    ],
    "OpenAI Responses": [
        {"role": "user", "content": [{"type": "input_text", "text": "x"}, {"type": "input_image", "file_id": "f"}]},
        said({"type": "input_file", "file_id": "f"}, {"type": "input_audio", "data": ""}, role="user", type="message"),
        {"type": "item_reference", "id": "i"},
        {"type": "reasoning", "id": "r", "summary": [], "content": [{"type": "reasoning_text", "text": "x"}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "x"}], "encrypted_content": "e"},
        {"type": "mcp_list_tools", "server_label": "s", "tools": [{"name": "look", "input_schema": {}}]},
        {"type": "mcp_approval_response", "approve": True, "approval_request_id": "r"},
        said(
            {"type": "output_text", "text": "x", "annotations": [{"type": "file_citation", "file_id": "f"}]},
            {"type": "refusal", "refusal": "No."},
            type="message",
            status="completed",
        ),
    ],
    "Anthropic": [
        {"role": "system", "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}]},
        said(
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ""}},
            {"type": "document", "source": {"type": "url", "url": "u"}, "title": "t", "citations": {"enabled": True}},
            {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "x"}]},
            {"type": "container_upload", "file_id": "f"},
            role="user",
        ),
        said(
            {"type": "thinking", "thinking": "x", "signature": "s"},
            {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "x", "citations": [{"type": "char_location", "cited_text": "x"}]},
            type="message",
            model="m",
            stop_reason="end_turn",
            usage={"input_tokens": 1, "server_tool_use": {"web_search_requests": 0}},
        ),
    ],
    "Gemini": [
        said(
            {"text": "x"},
            {"inlineData": {"mimeType": "image/png", "data": ""}, "mediaResolution": {"level": "LOW"}},
            {"fileData": {"fileUri": "u"}, "videoMetadata": {"fps": 1}},
            {"inline_data": {"mime_type": "image/png", "data": ""}},
            {"file_data": {"file_uri": "u"}, "video_metadata": {"fps": 1}},
            role="user",
            key="parts",
        ),
        said({"text": "x", "thought": True}, {"thoughtSignature": "s"}, {"text": ""}, role="model", key="parts"),
        {
            "content": {"role": "model", "parts": [{"text": "x"}]},
            "finishReason": "STOP",
            "groundingMetadata": {"webSearchQueries": ["x"]},
            "safetyRatings": [{"category": "c"}],
        },
    ],
    "ADK": [
        {
            "author": "a",
            "content": {"role": "model", "parts": [{"text": "x", "thought": True}]},
            "usage_metadata": {"tool_use_prompt_tokens_details": [{"modality": "TEXT", "token_count": 1}]},
            "actions": {"state_delta": {"n": 1}, "artifact_delta": {}, "requested_auth_configs": {}},
            "grounding_metadata": {"web_search_queries": ["x"]},
            "long_running_tool_ids": [],
            "custom_metadata": {"a": 1},
        },
        {
            "author": "a",
            "content": {"role": "model", "parts": [{"text": "x"}]},
            "usageMetadata": {"toolUsePromptTokensDetails": [{"modality": "TEXT", "tokenCount": 1}]},
            "actions": {"stateDelta": {}, "transferToAgent": "b"},
        },
        {
            "author": "a",
            "content": {"role": "model", "parts": [{"text": "x"}]},
            "actions": {"state_delta": {"command": "buy", "actions": [1]}, "agent_state": {"a": {"calls": [1]}}},
        },
        {
            "author": "a",
            "content": {"role": "model", "parts": [{"text": "x"}]},
            "actions": {"transfer_reason": "asked", "route": "b", "set_model_response": {"n": 1}, "later": None},
        },
    ],
    "LangChain": [
        {"type": "system", "data": {"content": "x", "additional_kwargs": {}}},
        {"type": "human", "content": [{"type": "text", "text": "x"}, {"type": "image", "url": "u"}]},
        {"type": "human", "content": [{"type": "text-plain", "text": "x"}, {"type": "media", "data": ""}]},
        {
            "type": "ai",
            "content": [
                {"type": "reasoning", "reasoning": "x"},
                {"type": "non_standard", "value": {"type": "compaction", "content": "x"}},
                {"type": "text", "text": "x", "annotations": [{"type": "citation", "url": "u"}]},
                {"type": "audio", "base64": ""},
                {"type": "video", "url": "u"},
                {"type": "file", "file_id": "f"},
            ],
            "tool_calls": [],
            "invalid_tool_calls": [],
            "usage_metadata": {"input_tokens": 1, "input_token_details": {"cache_read": 0}},
            "response_metadata": {"usage": {"server_tool_use": {"web_search_requests": 0}}, "model_provider": "p"},
        },
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "messages", "AIMessage"],
            "kwargs": {"content": "x", "tool_calls": [], "additional_kwargs": {"refusal": None}},
        },
        {"type": "chat", "role": "critic", "content": "x"},
        {"type": "remove", "id": "1", "content": ""},
        *[{"type": f"{kind}MessageChunk", "content": "x"} for kind in ("AI", "Human", "System", "Chat")],
    ],
    "Vercel AI": [
        {"role": "system", "content": "x", "providerOptions": {"anthropic": {"cacheControl": {"type": "ephemeral"}}}},
        said(
            {"type": "text", "text": "x"},
            {"type": "image", "image": "data:,"},
            {"type": "file", "data": "", "mediaType": "text/plain"},
            role="user",
        ),
        said(
            {"type": "reasoning", "text": "x", "providerOptions": {}},
            {"type": "redacted-reasoning", "data": "x"},
            {"type": "source", "sourceType": "url", "id": "s", "url": "u"},
            {"type": "text", "text": "x"},
        ),
        said(
            {"type": "step-start"},
            {"type": "reasoning", "text": "x", "state": "done"},
            {"type": "source-url", "sourceId": "s", "url": "u"},
            {"type": "source-document", "sourceId": "s", "title": "t"},
            {"type": "data-weather", "data": {"a": 1}},
            {"type": "file", "url": "u"},
            key="parts",
            toolInvocations=[],
            experimental_attachments=[{"url": "u"}],
            metadata={"totalUsage": {"inputTokens": 1}},
        ),
    ],
    "OpenInference": [
        {"message": {"role": "system", "content": "x"}},
        {
            "message": {
                "role": "user",
                "contents": [
                    {"message_content": {"type": "text", "text": "x"}},
                    {"message_content": {"type": "image", "image": {"image": {"url": "u"}}}},
                    {"message_content": {"type": "audio", "audio": {"audio": {"url": "u"}}}},
                ],
            }
        },
        {"message": {"role": "assistant", "contents": [{"message_content": {"type": "reasoning", "text": "x"}}]}},
    ],
    "OpenLLMetry": [
        {
            "role": "user",
            "content": json.dumps([{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {}}]),
        },
        {"role": "assistant", "content": "x", "finish_reason": "stop", "reasoning": "x"},
        {"role": "assistant", "content": "x", "content_filter_results": {"hate": {"filtered": False}}},
    ],
    "OpenTelemetry": [
        said({"type": "text", "content": "x"}, role="system", key="parts"),
        said(
            {"type": "text", "content": "x"},
            {"type": "blob", "modality": "image", "mime_type": "image/png", "content": ""},
            {"type": "file", "modality": "image", "file_id": "f"},
            {"type": "uri", "modality": "image", "uri": "u"},
            role="user",
            key="parts",
            name="n",
        ),
        said({"type": "reasoning", "content": "x"}, key="parts", finish_reason="stop"),
    ],
    "Bedrock Converse": [
        said(
            {"text": "x"},
            {"image": {"format": "png", "source": {"bytes": ""}}},
            {"document": {"format": "pdf", "name": "d", "source": {"bytes": ""}}},
            {"video": {"format": "mp4", "source": {}}},
            {"audio": {"format": "mp3", "source": {}}},
            {"cachePoint": {"type": "default"}},
            {"guardContent": {"text": {"text": "x"}}},
            {"searchResult": {"source": "s", "title": "t", "content": [{"text": "x"}]}},
            role="user",
        ),
        said(
            {"reasoningContent": {"reasoningText": {"text": "x", "signature": "s"}}},
            {"citationsContent": {"content": [{"text": "x"}], "citations": [{"title": "t"}]}},
            {"text": "x"},
        ),
    ],
    "Pydantic AI": [
        {
            "kind": "request",
            "parts": [
                {"part_kind": "system-prompt", "content": "x"},
                {"part_kind": "user-prompt", "content": ["x", {"kind": "image-url", "url": "u"}]},
                {"part_kind": "user-prompt", "content": [{"kind": "binary", "data": "", "media_type": "image/png"}]},
                {
                    "part_kind": "user-prompt",
                    "content": [{"kind": "document-url", "url": "u"}, {"kind": "cache-point"}],
                },
                {"part_kind": "retry-prompt", "content": "x", "tool_name": None},
            ],
            "instructions": "x",
        },
        {
            "kind": "response",
            "parts": [
                {"part_kind": "thinking", "content": "x"},
                {"part_kind": "text", "content": "x"},
                {"part_kind": "file", "content": {"kind": "binary", "data": ""}},
            ],
            "usage": {"input_tokens": 1, "details": {}},
            "provider_details": {"finish_reason": "stop"},
        },
    ],
    "AutoGen": [
        {"source": "user", "type": "MultiModalMessage", "content": ["x", {"data": "iVBORw0KGgo="}]},
        {"source": "a", "type": "TextMessage", "content": "x", "models_usage": {"prompt_tokens": 1}},
    ],
    "Semantic Kernel": [
        said({"content_type": "text", "text": "x"}, {"content_type": "image", "uri": "u"}, key="items"),
        said({"content_type": "annotation", "quote": "x"}, {"content_type": "file_reference"}, key="items"),
    ],
    "Agent Framework": [
        said({"type": "text_reasoning", "text": "x"}, {"type": "data", "uri": "u"}, key="contents"),
        said({"type": "hosted_file", "file_id": "f"}, {"type": "usage", "details": {}}, key="contents"),
    ],
    "LlamaIndex": [
        {"role": "user", "blocks": [{"block_type": "text", "text": "x"}, {"block_type": "image", "url": "u"}]},
        {"role": "assistant", "blocks": [{"block_type": "thinking", "content": "x"}], "additional_kwargs": {}},
    ],
    "Claude Code": [
        {"type": "system", "subtype": "init", "tools": ["Bash"], "mcp_servers": [], "slash_commands": ["x"]},
        {"type": "user", "message": {"role": "user", "content": "x"}, "uuid": "1"},
        {
            "type": "assistant",
            "uuid": "2",
            "message": said(
                {"type": "thinking", "thinking": "x"},
                {"type": "text", "text": "x"},
                usage={"server_tool_use": {"web_search_requests": 0}},
            ),
        },
        {"type": "progress", "data": {"type": "hook_progress", "hookEvent": "Stop", "command": "lint"}},
        {"type": "attachment", "attachment": {"type": "hook_success", "command": "lint", "toolUseID": "t"}},
        {"type": "attachment", "attachment": {"type": "queued_command", "prompt": "x"}},
        {"type": "system", "subtype": "stop_hook_summary", "hookInfos": [{"command": "lint"}]},
        {"type": "stream_event", "event": {"type": "content_block_start", "content_block": {"type": "text"}}},
        {"type": "queue-operation", "operation": "enqueue", "content": "x"},
        {"type": "result", "subtype": "success", "result": "x", "permission_denials": [], "usage": {}},
    ],
    "Qwen Code": [
        {"type": "user", "message": {"role": "user", "parts": [{"text": "x"}]}, "uuid": "1"},
        {"type": "assistant", "message": {"role": "model", "parts": [{"text": "x", "thought": True}]}, "uuid": "2"},
        {"type": "system", "subtype": "ui_telemetry", "systemPayload": {"uiEvent": {"event.name": "api_response"}}},
        {"type": "system", "subtype": "slash_command", "systemPayload": {"phase": "result", "rawCommand": "/x"}},
        {"type": "system", "subtype": "chat_compression", "systemPayload": {"compressedHistory": []}},
    ],
    "Gemini CLI": [
        {"id": "1", "type": "user", "content": "x"},
        {"id": "2", "type": "gemini", "content": "x", "thoughts": [{"subject": "s"}], "tokens": {"tool": 0}},
        {"id": "3", "type": "info", "content": "x"},
        {"id": "4", "type": "warning", "content": "x"},
    ],
}
"""Messages of every format that are no calls, as their definitions have them."""


CASES = {f"{name} {place}": message for name, held in MESSAGES.items() for place, message in enumerate(held, 1)}


def assert_no_calls(trajectory: Trajectory) -> None:
    assert (trajectory.not_understood, trajectory.calls, trajectory.calls_recorded) == ("", (), True)


@pytest.mark.parametrize("name", CASES)
def test_a_log_has_no_calls_beside(name: str) -> None:
    assert_no_calls(read_messages([ASKED, CASES[name], ANSWERED]))


CARRIERS: dict[str, Callable[[Any], str]] = {
    "gen_ai.input.messages": json.dumps,
    "llm.input_messages": json.dumps,
    "ai.prompt.messages": json.dumps,
    "langfuse.observation.input": json.dumps,
    "mlflow.spanInputs": lambda messages: json.dumps({"messages": messages, "tools": [LOOK], "tool_choice": "auto"}),
}


def model_span(attributes: dict[str, Any]) -> dict[str, Any]:
    """A span of a model that answered with a text."""
    return request(span(1, {"gen_ai.operation.name": "chat", "output.value": "Sure.", **attributes}, name="chat"))


@pytest.mark.parametrize("carrier", CARRIERS)
@for_each("name", CASES)
def test_a_model_span_has_no_calls_beside(name: str, carrier: str) -> None:
    [trajectory] = read(model_span({carrier: CARRIERS[carrier]([ASKED, CASES[name]])}))

    assert_no_calls(trajectory)


def leaves(place: str, value: Any) -> dict[str, Any]:
    """The leaves below an attribute, each with its path for a name."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if items is None:
        return {} if value is None else {place: value}
    return {name: held for key, inner in items for name, held in leaves(f"{place}.{key}", inner).items()}


BY_LEAF = ("OpenAI chat", "Anthropic", "OpenInference", "OpenLLMetry", "Bedrock Converse")


@pytest.mark.parametrize("carrier", ["llm.input_messages", "gen_ai.prompt"])
@pytest.mark.parametrize("name", [name for name in CASES if name.startswith(BY_LEAF)])
def test_attributes_of_a_leaf_each_have_no_calls_beside(name: str, carrier: str) -> None:
    [trajectory] = read(model_span(leaves(carrier, [ASKED, CASES[name]])))

    assert_no_calls(trajectory)


def test_a_dataframe_of_phoenix_has_no_calls_in_its_texts() -> None:
    block = {"message_content.type": "text", "message_content.text": "x"}
    [trajectory] = read(
        model_span({"llm.input_messages": json.dumps([{"message.role": "user", "message.contents": [block]}])})
    )

    assert_no_calls(trajectory)


TAKES_A_COMMAND = {"type": "object", "properties": {"command": {"type": "string"}, "action": {"type": "string"}}}
REQUESTS: dict[str, dict[str, Any]] = {
    "OpenAI chat": {
        "model": "m",
        "messages": [ASKED, ANSWERED],
        "tools": [{"type": "function", "function": {**LOOK, "parameters": TAKES_A_COMMAND}}],
        "functions": [{**LOOK, "parameters": TAKES_A_COMMAND}],
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "parallel_tool_calls": True,
        "response_format": {"type": "json_schema", "json_schema": {"schema": TAKES_A_COMMAND}},
        "usage": {"total_tokens": 1},
    },
    "Anthropic": {
        "model": "m",
        "system": [{"type": "text", "text": "x"}],
        "messages": [ASKED, ANSWERED],
        "tools": [{"name": "look", "description": "x", "input_schema": TAKES_A_COMMAND}],
        "mcp_servers": [{"type": "url", "url": "u", "name": "n", "tool_configuration": {"enabled": True}}],
    },
    "Gemini": {
        "contents": [{"role": "user", "parts": [{"text": "x"}]}, {"role": "model", "parts": [{"text": "x"}]}],
        "systemInstruction": {"parts": [{"text": "x"}]},
        "tools": [{"functionDeclarations": [{**LOOK, "parameters": TAKES_A_COMMAND}]}],
        "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
        "generationConfig": {"responseSchema": TAKES_A_COMMAND},
    },
    "Bedrock Converse": {
        "messages": [said({"text": "x"}, role="user"), said({"text": "x"})],
        "system": [{"text": "x"}],
        "toolConfig": {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": TAKES_A_COMMAND}}}]},
    },
    "OpenAI Responses": {
        "object": "response",
        "output": [said({"type": "output_text", "text": "x"}, type="message")],
        "tools": [{"type": "function", **LOOK, "parameters": TAKES_A_COMMAND}],
        "tool_choice": "auto",
    },
}


@pytest.mark.parametrize("name", REQUESTS)
def test_what_a_request_tells_the_model_of_tools_is_no_call_in_the_format_of(name: str) -> None:
    [logged] = read(REQUESTS[name])
    assert_no_calls(logged)

    for attribute in ("mlflow.spanInputs", "langfuse.observation.input", "gcp.vertex.agent.llm_request"):
        [carried] = read(model_span({attribute: json.dumps(REQUESTS[name])}))
        assert_no_calls(carried)


@pytest.mark.parametrize("held", [{"prompt": "x"}, [{"prompt": "x"}], {"question": {"id": 1}}], ids=str)
def test_what_a_model_was_given_that_is_no_message_is_no_call(held: Any) -> None:
    [trajectory] = read(model_span({"mlflow.spanInputs": json.dumps(held), "mlflow.spanOutputs": json.dumps("x")}))

    assert_no_calls(trajectory)


@pytest.mark.parametrize(
    "held", [{"toolCalls": [{"fn": "look"}]}, [{"text": "x", "tool_calls": [{"fn": "look"}]}]], ids=str
)
def test_what_is_called_like_a_call_is_a_sign_in_what_is_no_message_too(held: Any) -> None:
    [trajectory] = read(model_span({"mlflow.spanOutputs": json.dumps(held)}))

    assert not trajectory.calls_recorded


def test_what_is_told_of_a_prompt_beside_its_messages_hides_no_call() -> None:
    asked = [ASKED, {"role": "assistant", "tool_calls": [{"id": "c", "name": "look", "arguments": "{}"}]}]
    filtered = {"gen_ai.prompt.prompt_filter_results": "[]"}
    [trajectory] = read(model_span({**leaves("gen_ai.prompt", asked), **filtered}))

    assert (trajectory.names, trajectory.calls_recorded) == (("look",), True)


@pytest.mark.parametrize(
    "block", [{"message_content": {"type": "call_v2"}}, {"type": "non_standard", "value": {"fn": "x"}}], ids=str
)
def test_a_block_of_no_known_format_is_a_sign_inside_of_another_too(block: dict[str, Any]) -> None:
    assert not read_messages([ASKED, said(block), ANSWERED]).calls_recorded


@pytest.mark.parametrize(
    "text",
    ['[{"type": "call_v2", "fn": "look"}]', '[{"toolUseV2": {"fn": "look"}}]', '[{"fn": "look", "type": "x"}]'],
    ids=str,
)
def test_a_block_of_no_known_format_is_a_sign_in_json_text_too(text: str) -> None:
    assert not read_messages([ASKED, {"role": "assistant", "content": text}, ANSWERED]).calls_recorded
