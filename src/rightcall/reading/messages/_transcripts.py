"""The table of transcripts: logs that wrap messages in envelopes of their own, and how each is read.

A reader takes off the envelopes and turns calls and results into messages. It passes on unchanged what it does not
know, which then counts as not understood (RC304).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from rightcall.reading.formats import is_chat_message

from ._agent_results import (
    answer_logs,
    autogen_logs,
    bfcl_logs,
    case_logs,
    chat_result_logs,
    deepeval_logs,
    executor_logs,
    flowise_logs,
    gaia_logs,
    is_autogen_state,
    is_bfcl_result,
    is_case_row,
    is_chat_result,
    is_deepeval,
    is_executor_result,
    is_flowise,
    is_gaia_row,
    is_query_and_answers,
    is_ragas_sample,
    is_react_result,
    is_respelled,
    is_run_state,
    is_workflow_context,
    ragas_logs,
    react_logs,
    respelled_logs,
    run_state_logs,
    workflow_logs,
)
from ._coding_agents import (
    codex_event_logs,
    codex_logs,
    copilot_logs,
    early_codex_logs,
    first_codex_logs,
    gemini_chat_logs,
    gemini_event_logs,
    gemini_line_logs,
    gemini_prompt_logs,
    is_codex_event,
    is_codex_line,
    is_copilot_event,
    is_early_codex_line,
    is_first_codex_session,
    is_gemini_chat,
    is_gemini_event,
    is_gemini_line,
    is_gemini_prompt,
    is_openhands_evaluation,
    is_openhands_event,
    openhands_evaluation_logs,
    openhands_logs,
)
from ._conversation_lists import (
    agno_logs,
    atif_logs,
    batch_logs,
    chatgpt_logs,
    claude_chat_logs,
    glaive_logs,
    hermes_chat_logs,
    hermes_logs,
    inspect_logs,
    is_agno_session,
    is_atif,
    is_batch_answer,
    is_chatgpt,
    is_claude_chat,
    is_glaive,
    is_hermes_chat,
    is_hermes_message,
    is_inspect_log,
    is_item_page,
    is_query_and_response,
    is_run_steps,
    is_sharegpt,
    is_tau2_results,
    is_toolbench_answer,
    item_page_logs,
    query_logs,
    run_step_logs,
    sharegpt_logs,
    tau2_logs,
    toolbench_logs,
)
from ._event_lines import (
    ag_ui_logs,
    bedrock_logs,
    cursor_logs,
    inspect_event_logs,
    is_ag_ui_event,
    is_bedrock_trace,
    is_cursor_event,
    is_inspect_event,
    is_langchain_event,
    is_opencode_event,
    is_piece,
    is_response_event,
    is_rpc_line,
    langchain_logs,
    opencode_logs,
    piece_logs,
    response_logs,
    rpc_logs,
)
from ._framework_states import graph_logs, is_graph_state, is_graph_update
from ._log import Log, unused_in
from ._message_exchange import exchanges_of, has_messages
from ._proxy_logs import cassette_rows, is_proxy_row, proxy_logs
from ._unknown_calls import DEFINITIONS, is_wanted

_LOOKED_AT = 1_000  # a log of a million lines is recognised by its first thousand


class Transcript(msgspec.Struct, frozen=True):
    """One format of transcripts."""

    name: str
    recognises: Callable[[Any], bool]
    """Whether a document, or a line, has this format."""
    logs: Callable[[Any], list[Log]]
    """The logs in a document, or in all lines."""
    told_by: str
    """The keys that mark the format, as the reference documentation lists them."""
    conversation: str = "all lines together"
    """What holds one conversation, as the reference documentation says it."""
    used: tuple[str, ...] = ()
    """The keys of a document that are read, in addition to those that are read in every log."""


DOCUMENTS = (
    Transcript(
        "Gemini CLI, chat",
        is_gemini_chat,
        gemini_chat_logs,
        "`projectHash` and `messages`",
        "a document",
        ("projectHash", "sessionId"),
    ),
    Transcript(
        "Inspect",
        is_inspect_log,
        inspect_logs,
        "`eval` and `samples`; `id`, `epoch`, `target` and `messages`",
        "a sample",
        ("samples", "attachments", "uuid"),
    ),
    Transcript(
        "OpenHands, evaluation",
        is_openhands_evaluation,
        openhands_evaluation_logs,
        "`instance_id` and `history`",
        "a line",
        ("history",),
    ),
    Transcript(
        "ATIF",
        is_atif,
        atif_logs,
        "`schema_version` and `steps`",
        "a document",
        ("schema_version", "steps", "trajectory_id", "subagent_trajectories"),
    ),
    Transcript("τ²-bench", is_tau2_results, tau2_logs, "`simulations`", "a simulation", ("simulations",)),
    Transcript(
        "ToolBench",
        is_toolbench_answer,
        toolbench_logs,
        "`answer_generation`",
        "a document",
        ("answer_generation", "win"),
    ),
    Transcript(
        "Codex CLI, early session",
        is_first_codex_session,
        first_codex_logs,
        "`session` and `items`",
        "a document",
        ("session", "items"),
    ),
    Transcript(
        "OpenAI assistants, steps",
        is_run_steps,
        run_step_logs,
        "`data` with `object` = `thread.run.step`",
        "a document",
        ("data", "object", "has_more", "first_id", "last_id"),
    ),
    Transcript(
        "OpenAI and Anthropic, batches",
        is_batch_answer,
        batch_logs,
        "`custom_id`, and `response.body` or `result.message`",
        "a line",
        ("custom_id", "response", "result"),
    ),
    Transcript(
        "Agno, session",
        is_agno_session,
        agno_logs,
        "`session_id`, and `runs` with `messages`",
        "a document",
        ("session_id", "runs"),
    ),
    Transcript(
        "ChatGPT, export",
        is_chatgpt,
        chatgpt_logs,
        "`mapping` of nodes with `message` and `parent`",
        "a document",
        ("mapping", "current_node"),
    ),
    Transcript(
        "Claude.ai, export",
        is_claude_chat,
        claude_chat_logs,
        "`chat_messages` with `sender`",
        "a document",
        ("chat_messages", "uuid"),
    ),
    Transcript(
        "Azure AI evaluation",
        is_query_and_response,
        query_logs,
        "`query`, and messages in `response`",
        "a line",
        ("query", "response", "tool_definitions"),
    ),
    Transcript(
        "ShareGPT",
        is_sharegpt,
        sharegpt_logs,
        "`conversations` of `from` and `value`",
        "a document or line",
        ("conversations", "tools", "system"),
    ),
    Transcript(
        "Hermes",
        is_hermes_chat,
        hermes_chat_logs,
        "`messages` of nothing but text, with `<tool_call>` in one of the model",
        "a document or line",
        ("messages", "tools"),
    ),
    Transcript("Glaive", is_glaive, glaive_logs, "`system`, and a `chat` of one text", "a row", ("system", "chat")),
    Transcript(
        "LangChain, `AgentExecutor`",
        is_executor_result,
        executor_logs,
        "`output` and `intermediate_steps` of actions and observations",
        "a document or line",
        ("input", "output", "intermediate_steps", "intermediateSteps"),
    ),
    Transcript(
        "DSPy, `ReAct`",
        is_react_result,
        react_logs,
        "`trajectory` with `tool_name_0`",
        "a document or line",
        ("trajectory", "question", "reasoning"),
    ),
    Transcript(
        "OpenAI Agents, state of a run",
        is_run_state,
        run_state_logs,
        "`$schemaVersion`, and `generated_items` or `generatedItems`",
        "a document",
        ("generated_items", "generatedItems", "session_items", "original_input", "originalInput"),
    ),
    Transcript(
        "LlamaIndex, context of a workflow",
        is_workflow_context,
        workflow_logs,
        "`state` with a `memory` in its `_data`; `globals` with one",
        "a document",
        ("state", "globals"),
    ),
    Transcript(
        "Flowise, answer",
        is_flowise,
        flowise_logs,
        "`question`, `text` and `usedTools`",
        "a document or line",
        ("question", "text", "usedTools"),
    ),
    Transcript(
        "AutoGen, state",
        is_autogen_state,
        autogen_logs,
        "`type` = `…State`, and a `message_thread` or an `llm_context` inside",
        "a document",
        ("type", "version", "agent_states", "llm_context", "message_thread"),
    ),
    Transcript(
        "AutoGen 0.2, result",
        is_chat_result,
        chat_result_logs,
        "`chat_history`, `summary` and `cost`",
        "a document",
        ("chat_history", "summary", "cost"),
    ),
    Transcript(
        "smolagents, open deep research",
        is_gaia_row,
        gaia_logs,
        "`question`, `prediction`, and `intermediate_steps` or `agent_memory`",
        "a line",
        ("question", "prediction", "intermediate_steps", "agent_memory"),
    ),
    Transcript(
        "DeepEval",
        is_deepeval,
        deepeval_logs,
        "`input` and `tools_called`; `testCases` of these",
        "a test case",
        ("input", "actual_output", "actualOutput", "tools_called", "toolsCalled", "testCases", "test_cases"),
    ),
    Transcript(
        "xLAM",
        is_query_and_answers,
        answer_logs,
        "`query`, `tools` and `answers`; no call was carried out",
        "a row",
        ("query", "tools", "answers"),
    ),
    Transcript(
        "BFCL, results",
        is_bfcl_result,
        bfcl_logs,
        "`id` and `result` of calls by name; no call was carried out",
        "a line",
        ("result",),
    ),
    Transcript(
        "cases",
        is_case_row,
        case_logs,
        "`input`, `question`, `prompt` or `query` in text, and `tool_calls`",
        "a row",
        ("input", "question", "prompt", "query", "output", "answer", "response", "tool_calls"),
    ),
    Transcript(
        "ragas, multi-turn",
        is_ragas_sample,
        ragas_logs,
        "messages in `user_input`",
        "a sample",
        ("user_input",),
    ),
)
"""Transcripts in which one document, or one line, holds whole conversations."""

LINES = (
    Transcript("Codex CLI, session", is_codex_line, codex_logs, "`payload`; `type` = `session_meta` and others"),
    Transcript("Codex CLI, `exec --json`", is_codex_event, codex_event_logs, "`type` = `thread.started`; `item`"),
    Transcript("Gemini CLI, lines", is_gemini_line, gemini_line_logs, "`type` = `gemini`"),
    Transcript("Gemini CLI, prompts", is_gemini_prompt, gemini_prompt_logs, "`messageId`, and a text under `message`"),
    Transcript("Gemini CLI, `stream-json`", is_gemini_event, gemini_event_logs, "`type` = `tool_use`, `tool_id`"),
    Transcript(
        "OpenHands",
        is_openhands_event,
        openhands_logs,
        "`source`, and a text under `action` or `observation`, or a `kind`",
    ),
    Transcript(
        "Codex CLI, early lines", is_early_codex_line, early_codex_logs, "`record_type`; `instructions` and `timestamp`"
    ),
    Transcript("GitHub Copilot CLI", is_copilot_event, copilot_logs, "`type` = `tool.execution_start`, `data`"),
    Transcript("Cursor, `stream-json`", is_cursor_event, cursor_logs, "`type` = `tool_call`, `subtype`, `tool_call`"),
    Transcript("OpenCode, `run --format json`", is_opencode_event, opencode_logs, "`sessionID` and `part`"),
    Transcript("LangChain, `astream_events`", is_langchain_event, langchain_logs, "`event` = `on_…`, `run_id`, `data`"),
    Transcript(
        "LangGraph, states",
        is_graph_state,
        graph_logs,
        "`values.messages` or `channel_values.messages`; `event` = `values`",
    ),
    Transcript(
        "LangGraph, updates", is_graph_update, graph_logs, "`messages` below the names of nodes; `event` = `updates`"
    ),
    Transcript(
        "Inspect, events", is_inspect_event, inspect_event_logs, "`event` = `tool`, `function`; `event` = `model`"
    ),
    Transcript("Bedrock agents, traces", is_bedrock_trace, bedrock_logs, "`trace.orchestrationTrace`"),
    Transcript("AG-UI", is_ag_ui_event, ag_ui_logs, "`type` = `RUN_STARTED`, `TOOL_CALL_START` and others"),
    Transcript("MCP", is_rpc_line, rpc_logs, "`jsonrpc`, `method` = `tools/call`; the same in `message`"),
    Transcript(
        "OpenAI Responses and Realtime, events",
        is_response_event,
        response_logs,
        "`type` = `response.output_item.done` or `conversation.item.created`, `item`; `type` = `response.done`",
    ),
    Transcript(
        "answers in pieces",
        is_piece,
        piece_logs,
        "`choices` with a `delta`; `type` = `content_block_start` and others; `contentBlockDelta` and others",
    ),
    Transcript(
        "messages of Spring AI, LangChain4j, Semantic Kernel for .NET, Haystack 2.9; items of OpenAI Agents, steps of "
        "Vercel's `generateText`, events of LangGraph's server and of LlamaIndex, histories of fast-agent",
        is_respelled,
        respelled_logs,
        "`messageType`; `type` = `AI` and others in capitals; `Role` and `Items`; `_role` and `_content`; `raw_item`; "
        "`finishReason` and `content`; `event` = `messages/complete`; `qualified_name` and `value`; `is_template`",
    ),
    Transcript(
        "Hermes, messages",
        is_hermes_message,
        hermes_logs,
        "text of the model with `<tool_call>`, and nothing beside it",
    ),
    Transcript(
        "requests and responses",
        is_proxy_row,
        proxy_logs,
        "`request` and `response`; `request_body` and `response_body`; `full_request` and `full_response`; `messages` "
        "or `prompt`, and `response`, `completion`, `output` or `choices`; `inputBodyJson`; `inputs` or `input`, and "
        "`output`; `entries` of HAR; `interactions` of VCR; messages in `input` and `output`",
        "requests that continue one another",
    ),
    Transcript(
        "pages of items",
        is_item_page,
        item_page_logs,
        "`data` beside `has_more`, `next_page` or `object`; `entries` or `outputs`, and `object` = `conversation.…`",
    ),
)
"""Transcripts that are read from all their lines together: one conversation, unless the row says otherwise."""


def transcript_logs(documents: list[Any]) -> tuple[list[Log], list[Any]]:
    """Return the logs in the documents of a source that are transcripts, and the other documents."""
    if len(documents) == 1 and isinstance(documents[0], list):
        documents = documents[0]
    found: list[Log] = []
    others: list[Any] = []
    for document in documents:
        known = None if is_chat_message(document) else _transcript_of(document)
        if known is None:
            others.append(document)
        else:
            unused = unused_in(document, *known.used)
            found += [msgspec.structs.replace(log, unused=unused) for log in _checked(known.logs(document), known)]
    lists = [(lines, known) for lines in _lines_in(others) if (known := _lines_of(lines)) is not None]
    # Where one object has several lists of lines, each may be a conversation: then none is read as lines.
    if len(lists) == 1 or (lists and lists[0][0] is others):
        lines, known = lists[0]
        logs = _checked(known.logs(lines), known)
        beside = "" if lines is others else _calls_beside(others[0], lines, logs)
        return [*found, *[msgspec.structs.replace(log, nested=log.nested or beside) for log in logs]], []
    return found, others


def _calls_beside(document: dict[str, Any], lines: list[Any], logs: list[Log]) -> str:
    """Describe a conversation beside the lines of a transcript with calls that are not in it; otherwise empty."""
    for key, value in document.items():
        if isinstance(value, list) and value is not lines and key not in DEFINITIONS and not is_wanted(key):
            asked = _calls_in(value)
            if asked and asked - {call for log in logs for call in _calls_in(log.messages)}:
                return f"beside the events there is a conversation with calls in `{str(key)[:40]}`"
    return ""


def _calls_in(messages: list[Any]) -> set[tuple[str | None, str]]:
    exchanges = exchanges_of(messages) if has_messages(messages) else []
    return {(call.call_id, call.name) for exchange in exchanges for call in exchange.calls}


def is_transcript(document: Any) -> bool:
    """Whether a document is a transcript that holds whole conversations."""
    return _transcript_of(document) is not None


def _transcript_of(document: Any) -> Transcript | None:
    return next((each for each in DOCUMENTS if each.recognises(document)), None)


def are_lines(documents: list[Any]) -> bool:
    """Whether documents are the lines of a transcript."""
    return _lines_of(documents) is not None


def _lines_of(documents: list[Any]) -> Transcript | None:
    return next((each for each in LINES if any([each.recognises(line) for line in documents[:_LOOKED_AT]])), None)


def _checked(logs: list[Log], transcript: Transcript) -> list[Log]:
    """Return logs with the name of their format, and a note on the first item that is not an object or is empty."""
    return [msgspec.structs.replace(log, format=transcript.name, nested=log.nested or _odd(log)) for log in logs]


def _odd(log: Log) -> str:
    for place, message in enumerate(log.messages, 1):
        if not message or not isinstance(message, dict):
            return f"item {place} of the transcript, which is empty or not an object"
    return ""


def _lines_in(documents: list[Any]) -> list[list[Any]]:
    """Return the lists that may be the lines of a transcript: the documents, and lists in the only document."""
    only = documents[0] if len(documents) == 1 else None
    held = only.values() if isinstance(only, dict) else ()
    return [documents, *[each for each in (*held, cassette_rows(only)) if each and isinstance(each, list)]]
