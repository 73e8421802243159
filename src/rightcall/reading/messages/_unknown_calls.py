"""Find the calls and results in a message, and signs of a call in a message of no known format.

A log with such a sign does not show which calls were made. Anything beside known messages that is neither a call nor
listed in the tables below may be a call that was not understood.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from rightcall._lazy import lazy_pattern
from rightcall.errors import InputError
from rightcall.reading import formats
from rightcall.values.decoding import decode_json

from ._log import decoded
from ._parts import PartRow, constructed, is_text, part_of, partial_part

_WRAPPERS = ("message", "data", "kwargs", "content", "body", "tool_call", "root", "observation", "toolInvocation")
_HOLDERS = (
    "tool_calls",
    "toolCalls",
    "content",
    "parts",
    "blocks",
    "contents",
    "items",
    "tool_call_results",
    "tool.result",
    "message",
    "function",
    "results",
    "permission_denials",
    "tool_responses",
    "toolInvocations",
    "invalid_tool_calls",
    "tool_returns",
    "approvals",
    "toolResults",
    "tool_results",
    "responses",
)
_LISTED = frozenset({"tool_calls", "toolCalls", "invalid_tool_calls"})
_SPEAKING = frozenset({"content", "parts"})
_DEPTH_OF_LISTS = 6
_STEP_BEGINS = "step-start"
"""The type of the part that begins a step, in messages with several steps (Vercel's AI SDK 5, OpenCode)."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


BLOCKS = _words("""
    text input_text output_text summary_text text_delta markdown reasoning_text reasoning thinking redacted_thinking
    thought reasoning_content refusal image image_url input_image image_file inline_data file input_file file_data
    document audio input_audio output_audio audio_url video video_url media blob uri url json source source_url
    source_document citation search_result cache_point guard_content container_upload step_start system_prompt
    user_prompt retry_prompt instruction resource resource_link compaction summary error message usage text_plain
    redacted_reasoning document_url reference binary uploaded_file text_reasoning data hosted_file
    hosted_vector_store annotation chat_message file_reference streaming_text streaming_annotation
    streaming_file_reference cache citable step_finish snapshot patch retry tool_confirmation_request
    summarization_requested conversation_compacted context_length_exceeded system_notification action_required
    approval tool_approval_response tool_availability_delta subtask tool_reference tool_file
    """)
"""Types of blocks of content, in the spelling of `redacted_thinking`."""

BLOCK_KEYS = _words("""
    text inlineData inline_data fileData file_data thought thoughtSignature thought_signature image document audio
    video reasoningContent cachePoint guardContent citationsContent searchResult content reasoning refusal image_url
    file json
    """)
"""Keys of blocks without a type: parts of Gemini, blocks of Converse."""

BLOCK_SHAPES = (_words("data"),)
"""Complete sets of keys of blocks without a type or a distinctive key: AutoGen's image."""

BLOCK_WRAPPERS = {None: "message_content", "non_standard": "value"}
"""Keys of the inner block in OpenInference's wrapper (no type) and in LangChain's `non_standard`."""

ITEMS = _words("""
    user assistant system human ai model developer chat request response constructor remove aimessagechunk
    humanmessagechunk systemmessagechunk chatmessagechunk chatmessage removemessage chat_generation generation
    item_reference mcp_list_tools mcp_approval_response init result gemini info warning systemmessage humanmessage
    aimessage usermessage assistantmessage textmessage multimodalmessage stopmessage handoffmessage
    structuredmessage thoughtevent memoryqueryevent modelclientstreamingchunkevent selectspeakerevent selectorevent
    toolcallsummarymessage userinputrequestedevent taskresult task user.message user.interrupt user.define_outcome
    user.tool_confirmation agent.message agent.thinking agent.thread_context_compacted user_message
    assistant_message system_message reasoning_message hidden_reasoning_message event_message summary_message
    approval_response_message start finish start_step finish_step abort text_start text_end reasoning_start
    reasoning_delta reasoning_end message_metadata agent_handoff agent.handoff
    """)
"""Types of messages, events and lines: of chats, Gemini CLI, AutoGen, Anthropic's managed agents, LiveKit, Mistral."""

LINES = _words("""
    system progress attachment summary queue_operation file_history_snapshot custom_title ai_title agent_name
    last_prompt permission_mode tag pr_link rate_limit_event auth_status tool_progress tool_use_summary
    prompt_suggestion session model_change thinking_level_change branch_summary session_info label mode agent_color
    agent_setting worktree_state attribution_snapshot task_summary
    """)
"""Types of lines about a session (Claude Code): its hooks, for example, run commands that the agent did not call."""

PIECES = _words("stream_event")
"""Types of lines with fragments of messages that the log also has whole (Claude Code)."""

ROLES = _words("user human assistant ai model system developer agent")
"""Roles of messages of any format."""

ITEM_BEGINNINGS = ("session.", "span.")
"""Prefixes of types about the state of a session (Anthropic's managed agents)."""

ITEM_KEYS = _words("""
    content parts message author lc task system_prompt plan facts model_input_messages final_answer output query
    finish_reason index delta event.name generation_info text logprobs response_metadata step_number
    model_output_message current_agent_name instructions record_type working_dir
    """)
"""Keys of messages and steps without a role or type."""

ADK_ACTIONS = _words("""
    skipsummarization statedelta artifactdelta transfertoagent escalate requestedauthconfigs
    requestedtoolconfirmations compaction endofagent agentstate rewindbeforeinvocationid renderuiwidgets
    transferreason route setmodelresponse
    """)
"""Keys of `actions` in events of ADK, which are effects of an event and not calls."""

DEFINITIONS = _words("""
    tools functions tool_definitions available_tools tool_choice toolChoice tool_config toolConfig
    function_declarations functionDeclarations
    """)
"""Keys under which a message or request describes tools to the model."""

NO_CALLS_INSIDE = _words("""
    content output result config info metadata usage usagemetadata custommetadata parsed parsedoutput properties
    statedelta agentstate
    """)
"""Keys, without separators, of objects whose own keys are arbitrary, such as a schema, an answer or a state."""


_HUMP = lazy_pattern(r"(?<=[a-z0-9])(?=[A-Z])")
_MOST_KEYS = 12
_LONGEST_KEY = 40
_DEPTH_OF_SIGNS = 3
_STEPS = frozenset({"action", "observation"})

CALL_HOLDERS = _words("""
    tool_calls toolCalls tool_call_results tool.result tool_responses tool_returns permission_denials toolInvocations
    """)
"""Keys whose lists hold calls or results and nothing else."""

_TOOL_ROLES = lazy_pattern(
    r"tool|function|observation|ipython|^(?:environment|action|command|terminal|shell|computer)$", re.I
)
_SIGN_BEGINNINGS = ("toolcall", "tooluse", "functioncall", "toolinvocation", "toolrequest", "invalidtoolcall")
_SIGN_KEYS = _words("actions action calls call apicall apicalls commands command invocations")
_BESIDE_TEXT = frozenset({"content", "parts", "metadata", "usage", "extra", "info"})
"""Keys that may hold objects even in a message that is only text."""
_CALL_KEYS = frozenset({"toolcalls", "functioncall", "functioncalls", "tooluse", "toolinput", "toolargs"})
"""Keys that are a sign of a call with almost any value; `_NO_CALLS` lists the exceptions."""
_NO_CALLS = ("auto", "none", "required", "[]", "null", "None")  # values of `tool_choice`; empty cells of tables
_DEFINED = frozenset({"parameters", "input_schema", "inputSchema", "description"})
"""Keys of a tool's definition."""
_CALL_DEPTH = 6
_MOST_INSIDE = 1000  # values looked at per level, so that a wide message costs no more than a deep one
_MOST_STEPS = 100
_CALLED = (
    *("toolcalls", "toolscalled", "toolsused", "usedtools", "tooluses", "intermediatesteps"),
    *("executedtools", "toolexecutions", "toolinvocations", "skillcalls", "plugincalls", "mcpcalls"),
)
"""Suffixes of keys, beside the messages, of lists of the calls that were made: DeepEval, LangChain, Groq and others."""
_WANTED = lazy_pattern(r"expect|reference|gold|ideal|target|truth|reward|score|evaluat|^tasks?$", re.I)
"""Keys, beside the messages, of what the agent was expected to do (tau-bench)."""
_RECORDED = frozenset({"result", "tool_args", "tool_call_id"})
"""Keys that only a call has, in a list that in other formats holds definitions of tools (Agno)."""
_RESULT_IDS = frozenset({"call_id", "tool_call_id", "tool_use_id", "toolUseId", "toolCallId"})
"""Keys of results; an item of no known format with one of them is a result, or a call."""
_STEP_LISTS = frozenset({"steps", "trace", "trajectory"})
_BARE_SIGN_KEYS = frozenset({"tool", "toolname"})
"""Keys that are a sign only in an item without a role."""
_ABOUT_A_CALL = ("id", "ids", "index", "count", "type", "name", "result", "results", "output", "outputs", "error")
"""Suffixes of keys about a call that is recorded elsewhere: `tool_call_id`, `toolUseResult`."""


def unknown_block(key: str, item: Any) -> str:
    """Describe an item of a message's list that may be an unknown call; otherwise return an empty text."""
    if key == "results":
        return ""
    if not isinstance(item, dict):
        return f"`{key}`, which holds {type(item).__name__}" if key in CALL_HOLDERS and item else ""
    if len(item) == 1 and isinstance(item.get("message_content"), Mapping):
        return unknown_block(key, item["message_content"])  # OpenInference wraps each block
    if key in CALL_HOLDERS:
        return f"an item of `{key}` {_keys(item)}"
    return _unknown_content(_unwrapped(item))


def _unknown_content(block: Mapping[str, Any]) -> str:
    kind = _kind(block)
    if kind is not None:
        # Vercel lets an application add parts of type `data-…` (AI SDK, "Streaming custom data").
        plain = _plain(kind)
        known = plain in BLOCKS or plain.startswith("data_") or "role" in block
        return "" if known else f"a block of type {_short(kind)} {_keys(block)}"
    if not block or BLOCK_KEYS & block.keys() or "role" in block or block.keys() in BLOCK_SHAPES:
        return ""
    return f"a block {_keys(block)}"


def is_data(key: str, item: Any) -> bool:
    """Whether an item in JSON text is data, not a block: it has no type, and is not one object under one key."""
    if key in CALL_HOLDERS or not isinstance(item, Mapping) or _kind(item) is not None:
        return False
    return len(item) != 1 or not isinstance(next(iter(item.values())), Mapping)


def _unwrapped(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the block inside a format's wrapper."""
    inner = block.get(BLOCK_WRAPPERS.get(_kind(block), ""))
    return inner if isinstance(inner, dict) else block


def _holds_objects(message: Mapping[str, Any]) -> bool:
    """Whether a message holds more than texts and numbers."""
    return any(
        [value and isinstance(value, (dict, list)) and key not in _BESIDE_TEXT for key, value in message.items()]
    )


def unnamed_call(part: Mapping[str, Any]) -> str:
    """Describe a call of a known format without a tool's name."""
    return f"a call without a name, {_keys(part)}"


def unknown_item(message: Mapping[str, Any]) -> str:
    """Describe a message that may be an unknown call or result; otherwise return an empty text."""
    role, kind = message.get("role"), _kind(message)
    plain = "" if kind is None or (role and isinstance(role, str)) else _plain(kind)
    if plain in PIECES:
        return ""
    sign = (hidden_call(message) if plain in LINES else sign_of(message)) or _of_own_kind(message)
    if sign:
        return sign
    if isinstance(role, str) and role:
        return _unknown_role(role, message)
    if kind is None and _RESULT_IDS.isdisjoint(message):
        return "" if not message or ITEM_KEYS & message.keys() else f"an item {_keys(message)}"
    if kind is None:
        return f"an item {_keys(message)}"
    return "" if _is_known_item(plain) else f"an item of type {_short(kind)} {_keys(message)}"


def _of_own_kind(message: Mapping[str, Any]) -> str:
    """Describe a message that is a call by its type or recipient, or of a format without calls; otherwise empty."""
    recipient = message.get("recipient")
    if isinstance(recipient, str) and recipient not in _PEOPLE and ("." in recipient or "channel" in message):
        return f"a message to {_short(recipient)} {_keys(message)}"
    if message.get("type") == "code" and "role" in message:  # Open Interpreter runs it
        return f"a message of code {_keys(message)}"
    return _tells_no_calls(message)


_PEOPLE = ("", "all", "user", "assistant")
"""Recipients of messages of gpt-oss that are not calls."""


def _tells_no_calls(message: Mapping[str, Any]) -> str:
    """Describe a message of a format that never contains calls, so that nothing is known about them."""
    if message.get("object") == "thread.message":
        return "a message of a thread, whose calls are in the steps of its runs"
    is_a2a = message.get("kind") == "message" or str(message.get("role")).startswith("ROLE_")
    return "a message of A2A, in which agents do not show their calls" if is_a2a and "messageId" in message else ""


def _unknown_role(role: str, message: Mapping[str, Any]) -> str:
    if _only_decides(message.get("content")):
        return ""
    is_odd = role.lower() not in ROLES and _holds_objects(message)
    return f"a message of role {_short(role)} {_keys(message)}" if is_of_tool(role, message) or is_odd else ""


def _only_decides(content: Any) -> bool:
    """Whether the content of a message is what a person decided about calls (Vercel's AI SDK 6)."""
    decisions = [isinstance(each, dict) and each.get("type") == _DECISION for each in _parts(content)]
    return bool(decisions) and all(decisions)


def _parts(content: Any) -> list[Any]:
    return content if isinstance(content, list) else []


_DECISION = "tool-approval-response"


def is_of_tool(role: str, message: Mapping[str, Any]) -> bool:
    """Whether a message is a call or a result by its role."""
    return _TOOL_ROLES.search(role) is not None and not _is_definition(message.get("content"))


def _is_known_item(kind: str) -> bool:
    known = kind in ITEMS or kind in LINES or kind in BLOCKS
    return known or kind.startswith(ITEM_BEGINNINGS) or kind.replace("_", "") in ITEMS


def sign_of(document: Mapping[str, Any]) -> str:
    """Describe the first thing in an object that is a call or has the name of one; otherwise return an empty text."""
    return _sign_in(document) or hidden_call(document)


def call_in_line(line: Mapping[str, Any]) -> str:
    """Describe the sign of a call in a line of no known format: what it has, or its type; empty if there is none."""
    kind = _kind(line)
    is_named = kind is not None and _without_signs(kind).startswith(_SIGN_BEGINNINGS)
    return f"an item of type {_short(kind)} {_keys(line)}" if kind and is_named else sign_of(line)


def is_wanted(key: Any) -> bool:
    """Whether a key names what the agent was expected to do, not what it did."""
    return _WANTED.search(str(key)) is not None


def steps_beside(document: Mapping[str, Any], messages: Any) -> str:
    """Describe steps or calls of an agent beside its messages (SWE-agent's `trajectory`); empty if there are none."""
    for key, value in document.items():
        if value is messages or not value or is_wanted(key):
            continue
        sign = _step_in(str(key), value) or _call_in(str(key), value)
        if sign:
            return f"beside the messages there is {sign}"
    return ""


def spans_beside(document: Mapping[str, Any], messages: Any) -> str:
    """Describe spans beside the messages, which may be of calls; empty if there are none."""
    others = [key for key, value in document.items() if value is not messages and not is_wanted(key)]
    found = next((str(key) for key in others if has_spans({"": document[key]})), "")
    return f"beside the messages there are spans in `{found[:40]}`" if found else ""


def has_spans(value: Mapping[str, Any]) -> bool:
    """Whether an object has spans of a known container below one of its keys, or among the values there."""
    held = [each for each in value.values() if isinstance(each, (dict, list))]
    inner = [each for value in held for each in (value.values() if isinstance(value, dict) else value)]
    return any([formats.format_of(each) for each in [*held, *inner[:_MOST_SPANS]] if isinstance(each, (dict, list))])


_MOST_SPANS = 1_000


def _step_in(key: str, value: Any) -> str:
    """Describe the first item of a list that is a step or a call that was made."""
    items = [each for item in value[:_MOST_STEPS] for each in _listed(item)] if isinstance(value, list) else []
    for item in items:
        is_step = not _STEPS.isdisjoint(item) or bool(call_in_line(item))
        if not _RECORDED.isdisjoint(item) if key in DEFINITIONS else is_step:
            return f"`{_short(key)}`, with an item {_keys(item)}"
    return ""


def _listed(item: Any) -> list[Mapping[str, Any]]:
    """Return the objects of an item: itself, what an event holds, or a pair of action and observation (LangChain)."""
    if isinstance(item, Mapping) and "event" in item:
        item = [item, item.get("data")]
    return [each for each in (item if isinstance(item, list) else [item]) if isinstance(each, Mapping)]


def _call_in(key: str, value: Any) -> str:
    if key in DEFINITIONS or not isinstance(value, (list, dict)):
        return ""
    plain = _without_signs(key)
    if plain.endswith(_CALLED) or "tool_name_0" in value:  # the latter are steps of DSPy
        return f"`{_short(key)}`"
    if plain not in NO_CALLS_INSIDE:
        return hidden_call({key: value})
    inside = value if isinstance(value, dict) else {}
    return next((f"`{_short(key)}.{_short(str(at))}`" for at in inside if _lists_calls(at, inside[at])), "")


def _lists_calls(key: Any, value: Any) -> bool:
    is_list = isinstance(value, list) and bool(value) and all([isinstance(each, dict) for each in value])
    return is_list and not is_wanted(key) and _without_signs(str(key)).endswith(_CALLED)


def _sign_in(message: Mapping[Any, Any], depth: int = 0) -> str:
    """Find a key that is named like a call and holds something, in a message or in what it wraps."""
    is_bare = depth == 0 and "role" not in message
    for key, value in message.items():
        if not isinstance(key, str) or not value or value is True or key in DEFINITIONS:
            continue
        plain = _without_signs(key)
        if _is_sign(plain, value) or (is_bare and plain in _BARE_SIGN_KEYS):
            return f"`{_short(key)}` of an unknown shape, in an item {_keys(message)}"
        if value.__class__ is str or depth >= _DEPTH_OF_SIGNS:
            continue
        if plain in _STEP_LISTS and _step_in(key, value):
            return f"{_step_in(key, value)}, in an item {_keys(message)}"
        if (
            plain == "content"
            and isinstance(value, Mapping)
            and not _BARE_SIGN_KEYS.isdisjoint(map(_without_signs, value))
        ):
            return f"`content` of an unknown shape, in an item {_keys(message)}"
        if isinstance(value, Mapping):
            found = _call_in(key, value) if plain in NO_CALLS_INSIDE else _sign_in(value, depth + 1)
            if found:
                return found
    return ""


def hidden_call(message: Mapping[Any, Any]) -> str:
    """Describe a call or result of a known format in a place where no format has one; empty if there is none."""
    found = next(hidden_parts(message), None)
    return "" if found is None else f"a call or result below `{_short(found[0])}` {_keys(found[1])}"


def hidden_parts(message: Mapping[Any, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the calls and results of known formats in an object, each with the key that it is below."""
    # Level by level with a bound, so that neither a deep nor a wide message takes long.
    level: list[tuple[str, Any]] = [
        (str(key), held) for key, held in message.items() if isinstance(held, (dict, list)) and key not in DEFINITIONS
    ]
    for _ in range(_CALL_DEPTH):
        if not level:
            return
        for place, held in level:
            if isinstance(held, dict) and part_of(held) is not None and _DEFINED.isdisjoint(held):
                yield place, held
        below = [(place, each) for place, held in level for each in _inside(held)][:_MOST_INSIDE]
        level = [pair for pair in below if isinstance(pair[1], (dict, list))]


def hidden_in_event(body: Mapping[str, Any], attributes: Mapping[str, Any]) -> str:
    """Describe a call or result in an event of no known name. Span events have their body as text in an attribute."""
    if body is attributes:
        text = attributes.get("gen_ai.event.content")
        body = {"body": decoded(text)} if isinstance(text, str) else {}
    return f"an event with {found}" if (found := hidden_call(body)) else ""


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return [each for key, each in value.items() if key not in DEFINITIONS]
    return value if isinstance(value, list) else ()


def _is_sign(plain: str, value: Any) -> bool:
    """Whether a key, given without separators, has the name of a call, and a value that could be one."""
    if plain == "actions" and isinstance(value, Mapping):
        # `Event.model_dump()` writes every field, also those that later versions have and that say nothing.
        return not {_without_signs(str(name)) for name, held in value.items() if held is not None} <= ADK_ACTIONS
    if plain in _SIGN_KEYS:
        return isinstance(value, (str, list, Mapping))
    if plain in _CALL_KEYS:
        return value not in _NO_CALLS
    is_named = plain.endswith(_CALLED) or (plain.startswith(_SIGN_BEGINNINGS) and not plain.endswith(_ABOUT_A_CALL))
    return is_named and (isinstance(value, (list, Mapping)) or str(value)[:2] == "[{")


def _without_signs(key: str) -> str:
    return _known_without_signs(key) if len(key) <= _LONGEST_KEY else key.replace("_", "").replace("-", "").lower()


@lru_cache(maxsize=1024)
def _known_without_signs(key: str) -> str:
    return key.replace("_", "").replace("-", "").lower()


def _is_definition(content: Any) -> bool:
    """Whether a message describes a tool instead of holding a result (Langfuse)."""
    function = content.get("function") if isinstance(content, Mapping) else None
    return isinstance(function, Mapping) and "parameters" in function


def _kind(item: Mapping[str, Any]) -> str | None:
    for key in ("type", "part_kind", "content_type", "kind", "block_type", "message_type"):
        value = item.get(key)
        if isinstance(value, str) and value:
            return value
    return None


_NAMESPACE = "Microsoft.Extensions.AI."


def _plain(kind: str) -> str:
    """Return a type in snake case: `redactedThinking` and `redacted-thinking` become `redacted_thinking`.

    .NET writes the name of a class with its namespace (`Microsoft.Extensions.AI.TextReasoningContent`).
    """
    if kind.startswith(_NAMESPACE):
        kind = kind.removeprefix(_NAMESPACE).removesuffix("Content")
    return _known_plain(kind) if len(kind) <= _LONGEST_KEY else _HUMP.sub("_", kind).replace("-", "_").lower()


@lru_cache(maxsize=1024)
def _known_plain(kind: str) -> str:
    return _HUMP.sub("_", kind).replace("-", "_").lower()


def _keys(item: Mapping[str, Any]) -> str:
    names: Iterable[str] = [_short(str(key)) for key in list(item)[:_MOST_KEYS]]
    more = f" and {len(item) - _MOST_KEYS} more" if len(item) > _MOST_KEYS else ""
    return f"with the keys {', '.join(names)}{more}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_KEY else f"{text[: _LONGEST_KEY - 1]}…"


class FoundPart(NamedTuple):
    """A call or result in a message, its format, and where it is."""

    document: Mapping[str, Any]
    part: PartRow
    listed: bool
    """Whether it is in the message's list of calls."""
    among: int
    """The number of the list that it is an item of, counted within the message."""
    step: int
    """The number of its step, in a message of several steps."""


class FoundParts:
    """The calls and results found in a message, and the first item of no known format that may be one."""

    __slots__ = ("lists", "number", "parts", "step", "unread")

    def __init__(self) -> None:
        self.parts: list[FoundPart] = []
        self.unread = ""
        self.lists = 0
        self.step = 0
        self.number: Any = None

    def add(self, document: Mapping[str, Any], part: PartRow, listed: bool, among: int) -> None:
        """Add a part. A call after a result, or with another step number, is of a later step."""
        number = document.get("step")  # of Vercel's AI SDK 4, whose messages hold several steps
        if part.kind == "result" or number != self.number:
            self.step, self.number = self.step + 1, number
        self.parts.append(FoundPart(document, part, listed, among, self.step))


def find_parts(message: Mapping[str, Any]) -> FoundParts:
    """Find the calls and results in a message, however deep they are."""
    found = FoundParts()
    _find_parts(message, found, 0, False, 0)
    return found


def _find_parts(document: Mapping[str, Any], found: FoundParts, depth: int, listed: bool, among: int) -> None:
    """Add the calls and results in an object to `found`, looking under known keys down to a limited depth."""
    if "lc" in document:
        document = constructed(document)
    part = part_of(document)
    if part is not None and not _has_list_beside(document):
        found.add(document, part, listed, among)
        return
    holders, wrappers = _inner_keys(tuple(document))
    if depth >= _DEPTH_OF_LISTS:
        if any([document[key] and document[key].__class__ in (dict, list) for key in (*holders, *wrappers)]):
            found.unread = found.unread or "a message that is wrapped more often than messages are"
        return
    for key in holders:
        held = _opened(document[key])
        if held.__class__ is list:
            _find_in_list(key, held, found, depth, held is not document[key])
    for key in wrappers:
        held = document[key]
        if held.__class__ is dict:
            _find_parts(held, found, depth + 1, listed, among)
    # Langfuse writes messages of LangChain with what the provider returned, and without LangChain's own list of calls.
    if not found.parts and document.get("additional_kwargs").__class__ is dict:
        _find_parts(document["additional_kwargs"], found, depth + 1, listed, among)


@lru_cache(maxsize=4096)
def _inner_keys(keys: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return which keys of an object may hold lists of parts, and which may wrap the message itself."""
    return tuple([key for key in _HOLDERS if key in keys]), tuple([key for key in _WRAPPERS if key in keys])


def _has_list_beside(document: Mapping[str, Any]) -> bool:
    """Whether a message has a list of its calls or results, and repeats the first (Letta) or all as text (AG2)."""
    if document.get("tool_responses"):
        return True
    return "message_type" in document and bool(document.get("tool_calls") or document.get("tool_returns"))


def _find_in_list(key: str, items: list[Any], found: FoundParts, depth: int, written: bool) -> None:
    """Find the parts in a list. If it was `written` as JSON text, it may also be data that the model answered with."""
    found.lists += 1
    among = found.lists
    for item in items:
        if key in _SPEAKING and is_text(item):
            continue
        if item.__class__ is str and key == "function":
            item = _opened(item)  # OpenInference's AutoGen: each result as JSON text
        before = len(found.parts)
        if item.__class__ is dict:
            found.step += item.get("type") == _STEP_BEGINS
            _find_parts(item, found, depth + 1, key in _LISTED, among)
        if len(found.parts) > before or (written and is_data(key, item)):
            continue
        part = partial_part(key, item)
        if part is not None:
            found.add(item, part, key == "tool_calls", among)
        else:
            found.unread = found.unread or unknown_block(key, item)


def _opened(value: Any) -> Any:
    # OpenLLMetry and Strands keep blocks of content as JSON text.
    if isinstance(value, str) and value[:2] in ("[{", '{"'):
        try:
            return decode_json(value)
        except InputError:
            return None
    return value
