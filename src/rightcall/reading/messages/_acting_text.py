"""Calls and results in text and in steps, for agents whose models do not use tool calling."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rightcall._lazy import lazy_pattern
from rightcall.reading.spans import CallRecord, outcome

from ._parts import part_of, read_part
from ._unknown_calls import unknown_block

_USER = frozenset({"user", "human"})
_MODEL = frozenset({"assistant", "model", "ai", "agent"})

# Every repetition is bounded or of one class of characters, so the pattern takes linear time on hostile text.
_ACTING_TEXT = lazy_pattern(
    r"<tool_calls?>|<tool_use>|<function_calls>|<invoke name=|<function=|\[TOOL_CALLS\]|<\|tool_call|<\|python_tag\|>"
    # DeepSeek, gpt-oss, FunctionGemma, MiniMax and others, GLM, Nemotron: the tokens of their chat templates.
    r"|<\uff5ctool[\u2581_]|<\uff5cDSML\uff5c|to=functions\.\w|<start_function_call>|<\w{1,20}[:_]tool_call>|<arg_key>|<TOOLCALL>"
    # InternLM, Apertus, Step, Functionary, Command R and A, NexusRaven, Llama 4.
    r"|<\|START_ACTION\|>|<\|python_start\|>"
    r"|<\|action_start\|>|<\|tools_prefix\|>|<steptml:invoke |^>>>[A-Za-z_]\w{0,80}\n\{"
    r"|^Action:\s{0,4}```json|^Call: [A-Za-z_][\w.]{0,80}\("
    # LangChain's XML agent; Search-R1, and models that were trained like it.
    r"|</tool>\s{0,4}<tool_input>|(?:\A|</think>)\s{0,9}<(?:search|python)>|</search>\s{0,9}<(?:information|result)"
    r"|<execute(?:_bash|_ipython|_command)?>|<use_mcp_tool>|^<{5,9} SEARCH\b"
    r"|^<(?:read_file|write_to_file|replace_in_file|apply_diff|insert_content|search_and_replace|search_files|list_files"
    r"|list_code_definition_names|browser_action|access_mcp_resource|new_task|switch_mode|attempt_completion)>[ \t]*\n<"
    r'|<functioncall>|<details type="tool_calls"|^Tool Calls:[ \t]{0,4}\n[ \t]{1,8}\S{1,80} \('
    r"|\Aexitcode: -?\d{1,6} \(execution"
    # Calls of the SDKs of OpenAI and Anthropic as Python shows them (OpenLLMetry's spans of OpenAI Agents).
    r"|\A\[?(?:[A-Z]\w{0,60}ToolCall|ToolUseBlock|FunctionCall)\(\w{1,40}="
    r"|^[ \t]*Action:[^\n]+\n[ \t\n]{0,8}Action Input:|^Function Name:[^\n]+\n[ \t\n]{0,8}Function Input:"
    r"|```(?:mswea_bash_command|tool_code|tool_call)\b"
    r"|<action>\s{0,4}[a-z]\w{0,60}\(|```\s{0,4}(?:click|dblclick|fill|type|press|hover|scroll|goto|go_back|noop|stop"
    r"|select_option|send_msg_to_user|report_infeasible|new_tab|tab_focus|keyboard_press|mouse_click) ?[(\[]"
    r'|(?:\[\[ ## |<)next_tool_(?:name|args)(?: ## \]\]|>)|"next_tool_(?:name|args)"\s{0,4}:'
    r'|"action"\s{0,4}:\s{0,4}"[^"\n]+"\s{0,8},\s{0,8}"action_input"\s{0,4}:'
    r'|^[ \t]*Action:\s{0,8}\{\s{0,8}"name"|"commands"\s{0,4}:\s{0,4}\[\s{0,8}\{\s{0,8}"keystrokes"'
    r'|\A\s{0,9}(?:```(?:json)?\s{0,4})?\{[^`]{0,4000}?"(?:action|command|tool_call|function_call|function)"\s{0,4}:'
    r'\s{0,4}\{\s{0,8}"(?:name|tool|tool_name|function)"\s{0,4}:'
    r'|\A\s*\{\s{0,8}"(?:tool_calls|function_calls)"\s{0,4}:\s{0,4}\[\s{0,8}\{'
    r'|\A\s{0,9}(?:```(?:json)?\s{0,4})?\[?\s{0,8}\{\s{0,8}(?:"(?:type|id)"\s{0,4}:\s{0,4}"[^"\n]+"\s{0,8},\s{0,8}){0,2}'
    r'"(?:name|tool|tool_name|function|command)"\s{0,4}:\s{0,4}"[^"\n]+"\s{0,8},'
    r'\s{0,8}"(?:arguments|parameters|args|tool_input|input|params|kwargs)"\s{0,4}:',
    re.M,
)
"""How models ask for calls in text: tags of chat templates, ReAct, DSPy, JSON of LangChain's agents, Terminus, edits
of Aider, actions of BrowserGym and WebArena."""

_PYTHON_CALLS = lazy_pattern(r"\s*\[\s{0,8}[A-Za-z_][\w.]{0,99}\(\s{0,8}(?:\)|\w{1,60}\s{0,4}=)")
"""The beginning of a text that is a list of Python calls (Llama, ToolACE, BFCL)."""

_THOUGHT = lazy_pattern(r"^[ \t]*(?:Thought|THOUGHT|Think)(?: \d+)?:", re.M)
_ACTION = lazy_pattern(r"^[ \t]*(?:Action|ACTION|Act)(?: \d+)?:", re.M)
_BARE_ACTION = lazy_pattern(
    r"\AACTION: [a-z]|^Act: (?:answer|bash|finish)\b|^Action: (?:Operation\s{0,4}```|[a-z]\w{0,60}\()", re.M
)
"""An action without a thought before it: ALFWorld, and the tasks of AgentBench."""
_COMMAND = lazy_pattern(r"\s*(?:THOUGHT:|DISCUSSION\b|Think:)[^`]*```")
"""A command in a block of text, after the thought that leads to it (mini-SWE-agent, SWE-agent, AgentBench)."""
_OBSERVATION = lazy_pattern(
    r"\s*(?:<returncode>|<tool_(?:response|result|output)|<\uff5ctool\u2581output|<function_results>|OBSERVATION:"
    r"|```tool_output\b"
    r"|Observation:|API output:|exitcode: -?\d+ \(execution|New Terminal Output:|The output of the OS:|Output:\n```"
    r"|\[[^\]\n]{1,200}\] Result:)|.*\nbash-\$\s*\Z",
    re.S,
)
"""How results are given in text: ReAct, tau-bench, AutoGen, Terminus, AgentBench, AppWorld, Cline, SWE-agent, ADK."""
_TRAJECTORY = "tool_name_"
_STEP_IN_TRAJECTORY = lazy_pattern(r"(?:\[\[ ## |<)tool_name_\d{1,4}(?: ## \]\]|>)")
"""An earlier step in a prompt of DSPy, as its chat and XML adapters write it."""


_ACTING_MARKS = (
    "<",
    "[",
    "{",
    "`",
    "Act",
    "ACTION",
    "Call",
    ">>>",
    "exitcode: ",
    "to=functions.",
    '"action"',
    "ToolUseBlock(",
    "Function Name:",
)
"""A text without any of these matches no pattern for texts of models."""
_OBSERVATION_BEGINNINGS = frozenset("<OAeNT[`")
_PROMPT = "bash-$"
"""A text is not an observation unless it begins with one of `_OBSERVATION_BEGINNINGS` or contains this prompt."""
_STEP_RESULT = "Observation:\n"
_INTERPRETER = "python_interpreter"
IN_CODE = "smolagents, code"
"""The format of a call that runs the model's code. Tools called by that code are not listed in any step."""


_FIELDS = frozenset(
    ["step_number", "model_output_message", "code_action", "observations", "observations_images", "action_output"]
)
_FEWEST = 3
_HOLDERS = ("content", "contents", "parts", "blocks", "text")
"""Keys of the content of a message. OpenInference has each block of `contents` under `message_content`."""
_WITHOUT_ANSWER = "AgentGenerationError"
"""The error of a step in which the model gave no answer."""


def acts(message: Mapping[str, Any], role: str) -> bool:
    """Whether the text of a message asks for a call, or is the result of such a call."""
    if role in _USER:
        return any([observes_by_text(text) for text in _texts(message)])
    return role in _MODEL and any([acts_by_text(text) for text in _texts(message)])


def _texts(message: Mapping[str, Any]) -> Iterator[str]:
    """Yield the texts in a message: its content, or the blocks of it."""
    for holder in (message, *[message.get(key) for key in ("message", "data")]):
        held = [holder[key] for key in _HOLDERS if key in holder] if isinstance(holder, dict) else []
        for block in [block for value in held for block in (value if isinstance(value, list) else [value])]:
            inner = block.get("message_content", block) if isinstance(block, dict) else block
            text = inner.get("text", inner.get("content")) if isinstance(inner, dict) else inner
            if isinstance(text, str):
                yield text


def acts_by_text(text: str) -> bool:
    """Whether a text of a model asks for a call, as in agents that do not use tool calling."""
    if not any([mark in text for mark in _ACTING_MARKS]):
        return False  # most texts are plain words; this finds out faster than the patterns
    if _COMMAND.match(text) or (_ACTION.search(text) and _THOUGHT.search(text)):
        return True
    if _BARE_ACTION.search(text):
        return True
    if _PYTHON_CALLS.match(text) and text.rstrip().endswith(")]"):
        return True
    return _ACTING_TEXT.search(text) is not None


def observes_by_text(text: str) -> bool:
    """Whether a text in the role of the user is the result of a call that a text asked for."""
    if _TRAJECTORY in text and _STEP_IN_TRAJECTORY.search(text):
        return True
    if text.lstrip()[:1] not in _OBSERVATION_BEGINNINGS and _PROMPT not in text:
        return False
    return _OBSERVATION.match(text) is not None


def is_step(message: Mapping[str, Any]) -> bool:
    """Whether an object is a step of smolagents, even if some of its fields are missing."""
    if "step_number" in message and ("observations" in message or "model_output_message" in message):
        return True
    return "observations" in message and len(_FIELDS & message.keys()) >= _FEWEST


def read_step(step: Mapping[str, Any]) -> tuple[list[CallRecord], list[CallRecord]]:
    """Return the calls of a step, and its result if that belongs to one call.

    Several calls share one text of observations, which is not split; an error may name the call that failed.
    """
    calls = _calls(step.get("tool_calls"))
    output = step.get("model_output_message")
    if not calls and isinstance(output, dict):
        # A step that raised an error has no list of calls, but still has the message that asked for them.
        calls = _calls(output.get("tool_calls"))
    if isinstance(step.get("code_action"), str) or [call.name for call in calls] == [_INTERPRETER]:
        for call in calls:
            call.format = IN_CODE
    return calls, _results(step, calls) if calls and len(_asked(step)) <= len(calls) else []


def unknown_step(step: Mapping[str, Any], count: int) -> str:
    """Describe a call that a step has beside the `count` calls that were read; otherwise return an empty text."""
    items, output = _asked(step), step.get("model_output_message")
    if count and len(items) <= count:
        return ""
    told = next((sign for item in items if (sign := unknown_block("tool_calls", item))), "")
    if told or count:
        return told or "a call of a step that cannot be read"
    if step.get("observations"):
        return "a step without a call, in which something was observed"
    # A step and the message in it always have a key for calls, which may be null. If the step raised an error, only
    # the message has the calls.
    error = step.get("error")
    is_answered = isinstance(output, dict) or (isinstance(error, dict) and error.get("type") == _WITHOUT_ANSWER)
    holders = [step, output] if isinstance(output, dict) and step.get("tool_calls") is None else [step]
    is_lost = not is_answered or not all(["tool_calls" in holder for holder in holders])
    is_done = bool(error) or step.get("action_output") is not None
    return "a step without its calls, in which something was done" if is_lost and is_done else ""


def _asked(step: Mapping[str, Any]) -> list[Any]:
    """Return the calls listed in a step, or else in the message that asked for them."""
    output = step.get("model_output_message")
    asked = step.get("tool_calls") or (output.get("tool_calls") if isinstance(output, dict) else None)
    return [item for item in (asked if isinstance(asked, list) else [asked]) if item]


def _calls(value: Any) -> list[CallRecord]:
    calls = []
    for item in value if isinstance(value, list) else ():
        part = part_of(item) if isinstance(item, dict) else None
        record = read_part(item, part) if part and part.kind == "call" else None
        if record:
            calls.append(record)
    return calls


def _results(step: Mapping[str, Any], calls: list[CallRecord]) -> list[CallRecord]:
    error = step.get("error")
    message = error.get("message") if isinstance(error, dict) else error
    if len(calls) > 1:
        # The text of an error names the tool that raised it.
        calls = [call for call in calls if error and f"'{call.name}'" in str(message)]
        if len(calls) != 1:
            return []
    result = CallRecord(calls[0].name)
    result.call_id = calls[0].call_id
    if error:
        result.failed = True
        result.error = message if isinstance(message, str) else None
    elif isinstance(step.get("observations"), str):
        result.output = outcome(step["observations"].removeprefix(_STEP_RESULT))
    elif step.get("action_output") is not None:
        result.output = step["action_output"]
    return [result]
