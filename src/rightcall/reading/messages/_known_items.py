"""Blocks, messages and events of known formats that are not calls, by the definitions of these formats.

Whatever stands beside known messages and is not in these tables may be a call that is not understood.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BLOCKS = _words("""
    text input_text output_text summary_text text_delta markdown reasoning_text reasoning thinking redacted_thinking
    thought reasoning_content refusal image image_url input_image image_file inline_data file input_file file_data
    document audio input_audio output_audio audio_url video video_url media blob uri url json source source_url
    source_document citation search_result cache_point guard_content container_upload step_start system_prompt
    user_prompt retry_prompt instruction resource resource_link compaction summary error message usage
    text_plain redacted_reasoning document_url reference binary uploaded_file
    text_reasoning data hosted_file hosted_vector_store
    annotation chat_message file_reference streaming_text streaming_annotation streaming_file_reference
    cache citable
    """)
"""Types of blocks of content, in the spelling of `redacted_thinking`."""

BLOCK_KEYS = _words("""
    text inlineData inline_data fileData file_data thought thoughtSignature thought_signature image document audio video
    reasoningContent cachePoint guardContent citationsContent searchResult content reasoning refusal image_url file json
    """)
"""Keys of blocks without a type: Gemini's parts, Converse's blocks."""

BLOCK_SHAPES = (_words("data"),)
"""All the keys of blocks that have neither a type nor a key of their own: AutoGen's image."""

BLOCK_WRAPPERS = {None: "message_content", "non_standard": "value"}
"""Where OpenInference (no type) and LangChain's `non_standard` hold the block that they are put around."""

ITEMS = _words("""
    user assistant system human ai model developer chat request response constructor remove aimessagechunk
    humanmessagechunk systemmessagechunk chatmessagechunk chatmessage removemessage
    chat_generation generation item_reference mcp_list_tools mcp_approval_response
    init result gemini info warning
    systemmessage humanmessage aimessage usermessage assistantmessage textmessage multimodalmessage stopmessage
    handoffmessage structuredmessage thoughtevent memoryqueryevent modelclientstreamingchunkevent selectspeakerevent
    selectorevent toolcallsummarymessage userinputrequestedevent taskresult task
    user.message user.interrupt user.define_outcome user.tool_confirmation agent.message agent.thinking
    agent.thread_context_compacted
    """)
"""Types of messages, events and lines: of chats, Gemini CLI, AutoGen, Anthropic's managed agents."""

LINES = _words("""
    system progress attachment summary queue_operation file_history_snapshot custom_title ai_title agent_name
    last_prompt permission_mode tag pr_link rate_limit_event auth_status tool_progress tool_use_summary
    prompt_suggestion
    """)
"""Types of lines that tell of a session (Claude Code): what its hooks run, say, is not what its agent calls."""

PIECES = _words("stream_event")
"""Types of lines with pieces of messages that the log has whole (Claude Code)."""

ROLES = _words("user human assistant ai model system developer agent")
"""Roles of messages of any format."""

ITEM_BEGINNINGS = ("session.", "span.")
"""Beginnings of types that say how a session goes (Anthropic's managed agents)."""

ITEM_KEYS = _words("""
    content parts message author lc task system_prompt plan facts model_input_messages final_answer output query
    finish_reason index delta event.name generation_info text logprobs response_metadata step_number
    model_output_message current_agent_name
    """)
"""Keys of messages and steps without a role or type."""

ADK_ACTIONS = _words("""
    skipsummarization statedelta artifactdelta transfertoagent escalate requestedauthconfigs
    requestedtoolconfirmations compaction endofagent agentstate rewindbeforeinvocationid renderuiwidgets
    """)
"""What events of ADK keep under `actions`: what an event brings about."""

DEFINITIONS = _words("""
    tools functions tool_definitions available_tools tool_choice toolChoice tool_config toolConfig function_declarations
    functionDeclarations
    """)
"""Keys under which a message or request tells the model of tools."""

NO_CALLS_INSIDE = _words("""
    content output result config info metadata usage usagemetadata custommetadata
    parsed parsedoutput properties statedelta agentstate
    """)
"""Keys whose objects have names of their own, as those of a schema, an answer, a state, in one spelling of all."""
